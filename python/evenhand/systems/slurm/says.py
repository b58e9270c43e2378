"""What Slurm says of outcomes and victims beyond the sentences of their codes."""

from __future__ import annotations

from typing import Any, Final

from evenhand.systems.reason import Clause
from evenhand.systems.slurm.letters import LETTERS
from evenhand.systems.slurm.says_of_limits import SAYS_OF_LIMITS

__all__ = ["SAYS"]

_WITHOUT = "even if all gave way that may be preempted for it, "
_MISSING = " would be missing"
_IN_ORDER = "taken in that order until the request fits"
_IN_TURN, _ITS_TURN = (("partition", "turn"),), (("partition_of_{asks}", "turn"),)
_PLACED, _FATE = ("placed_on",), ("fate",)
_COUNTED = ("place", "candidates", ("victim_jobs", "victims"))
_BY_QOS = {"PreemptType": "preempt/qos"}
_TIERS = (("tier_of_{operation}", "tier"), ("tier_of_{asks}", "tier_of_asking"))
_PRIORITIES = (("priority_of_{operation}", "priority"), ("priority_of_{asks}", "priority_of_asking"))
_ITS_QOS, _ASKING_QOS = ("QOS_of_{operation}", "its_qos"), ("QOS_of_{asks}", "qos_of_asking")
_ITS, _OTHER = "{priority:exact}", "{priority_of_asking:exact}"
#: By the rule alone, which does not ask what other requests would take.
_SPARED = "it could not be preempted for this request"
_VICTIMS = ("higher_partition_tier", "higher_priority_in_qos", "qos_preempts")

#: How running jobs stand that may not be preempted for one, in the order of codes.
_STANDING: Final = {
    "already_preempting": "leaving for others",
    "not_preemptible_flag": "marked as not preemptible",
    "not_lower_priority": "of no lower priority",
    "ran_too_short": "younger than `PreemptExemptTime`",
    "same_operation": "of the job itself",
    "tier_not_lower": "in no lower tier",
    "qos_not_listed": "of a QOS that its own may not preempt",
    "preempt_mode_off": "whose `PreemptMode` is OFF",
    "above_min_exempt_priority": "above `min_exempt_priority`",
    "suspend_not_allowed": "whose partition lets none be suspended",
    "outside_partition": "on other nodes",
}


def _with_qos(sentence: str, *known: tuple[str, str], **where: Any) -> Clause:
    """Return a clause whose numbers are both jobs' QOS, None of one that has none."""
    none = {one[0]: None for one in (_ITS_QOS, _ASKING_QOS) if one not in known}
    return Clause(sentence, known, where, none)


#: By kind and code: the first clause whose facts are known is said.
SAYS: Final = {
    **LETTERS,
    ("part", "asked"): (Clause("request {request:name} of operation {asks}"),),
    # In which of several partitions.
    ("part", "in_turn"): (Clause("in partition {turn}, ", _IN_TURN),),
    ("part", "is_in_turn"): (Clause("", _IN_TURN),),
    ("part", "there"): (Clause(" in partition {turn}", _ITS_TURN),),
    ("part", "its_partition"): (Clause("partition {partition}"), Clause("no partition")),
    ("part", "asking_partition"): (Clause("partition {partition_of_asking}"), Clause("no partition")),
    ("part", "where"): (Clause("partition {partition}"), Clause("the cluster")),
    ("part", "lacks_there"): (Clause("{missing}"), Clause("nothing")),
    ("part", "placed"): (Clause("{placed_on:nodes}", _PLACED), Clause("no node", says={"placed_on": []})),
    ("part", "on"): (Clause(" on {placed_on:nodes}", _PLACED),),
    # Why a request waits.
    ("request", "no_eligible_victims"): tuple(
        Clause(f"{{in_turn:part}}there is too little free room, and {said}", numbers, where)
        for said, numbers, where in (
            ("no job runs that might be preempted for it", (), {"running": 0}),
            ("the job that runs may not be preempted for it{standing:part}", ("running",), {"running": 1}),
            (
                "none of the {running} jobs that run may be preempted for it{standing:part}",
                ("running",),
                {},
            ),
        )
    ),
    ("part", "standing"): (Clause(" ({stood:each})", ("stood",)),),
    **{("stood", code): (Clause(f"{{count}} {how}"),) for code, how in _STANDING.items()},
    ("request", "no_room_even_with_victims"): (
        *(
            Clause(
                f"{{in_turn:part}}{_WITHOUT}{lacks}{{at_once:part}}",
                ("nodes_needed", "nodes_with_room"),
                {"in_use": in_use},
            )
            for in_use, lacks in (
                (
                    1,
                    "other jobs would stay on {node}, and not all of them share it: {lacks_there:part}"
                    + _MISSING,
                ),
                (0, "{lacks_there:part}" + _MISSING + " on {node}"),
            )
        ),
        Clause(f"{{in_turn:part}}{_WITHOUT}{{lacks_there:part}}{_MISSING}"),
    ),
    ("part", "at_once"): (
        Clause("", where={"nodes_needed": 1}),
        Clause(
            "; it needs {nodes_needed} nodes at once, and none would have room", where={"nodes_with_room": 0}
        ),
        Clause("; it needs {nodes_needed} nodes at once, and {nodes_with_room} would have room"),
    ),
    ("request", "behind_first_waiting"): (
        Clause("{in_turn:part}operation {behind}, which waits, has its nodes", ("behind",)),
    ),
    ("request", "waits_for_next_pass"): (
        Clause(
            "only a backfill pass was asked for, and with `SchedulerType` {SchedulerType} there is none",
            ("SchedulerType",),
            {"no_pass": 1},
        ),
        Clause(
            "{in_turn:part}operation {behind}, for which others leave, has its nodes until they have left",
            ("behind",),
        ),
        Clause(
            "{in_turn:part}jobs are still ending on {ending_on:nodes}: it is considered in a later pass",
            ("ending_on",),
        ),
    ),
    ("request", "preemption_backoff"): (
        Clause(
            "others were asked to leave for its job at {since}; no more are until {until}, `KillWait`"
            " {KillWait:span} and `MessageTimeout` {MessageTimeout:span} later in whole seconds",
            ("since", "until"),
        ),
    ),
    ("request", "not_eligible_yet"): (
        Clause("its job may not start before {eligible_time}", ("now", "eligible_time")),
    ),
    ("request", "partition_down"): (
        Clause(
            "its partition {partition} is {partition.State}",
            ("partition", ("state", "partition.State")),
        ),
    ),
    ("request", "partition_time_limit"): (
        Clause(
            "its job asks for {time_limit:span}, and `MaxTime` of its {its_partition:part} is {MaxTime:span}",
            ("time_limit", "MaxTime", "partition"),
        ),
    ),
    **SAYS_OF_LIMITS,
    ("request", "larger_than_nodes"): (
        Clause("{in_turn:part}its job asks for more resources, or more nodes, than exist where it may run"),
    ),
    ("request", "licenses_missing"): (
        Clause(
            "too few licences are free for all of its job: {licences} is missing{reclaims:part}",
            ("reclaim_licenses",),
        ),
    ),
    ("part", "reclaims"): (
        Clause(", even if all gave way that may be preempted for it", where={"reclaim_licenses": True}),
    ),
    ("request", "preemption_disabled"): (
        Clause("there is too little free room, and `PreemptType` is none: nothing is preempted"),
    ),
    ("request", "dry_run_omits_victims"): (
        Clause(
            "it fits if others share their cpus with it, and with `victim_selection` test_only none is"
            " listed",
            ("victim_selection",),
        ),
    ),
    ("request", "other_request_waits"): (
        Clause(
            "request {lacking} of the same job cannot start, and all of them start together",
            (("other_request", "lacking"),),
        ),
    ),
    ("request", "waits_for_victims"): (
        Clause("it fits once {leaving:listed} {leaving:one has|have} left{by:part}", ("leaving",)),
    ),
    ("part", "by"): (Clause(", by {until}", ("until",), {"is_ahead": 1}), Clause("", ("until",))),
    ("request", "node_outside_partition"): (
        Clause(
            "{is_in_turn:part}it may run on node {row.required_node} only, which is not in {where:part}",
            (("required_node", "row.required_node"),),
        ),
    ),
    ("request", "wrong_tags"): (
        Clause(
            "{is_in_turn:part}no node of {where:part} on which it might run has the tags {row.node_tags}",
            (("node_tags", "row.node_tags"),),
        ),
    ),
    ("request", "node_not_schedulable"): (
        Clause("{is_in_turn:part}too few nodes of {where:part} take anything new on which it would fit"),
    ),
    # Why an allocation stays.
    ("allocation", "preemption_disabled"): (
        Clause(
            "preemption is switched off (`PreemptType` is preempt/none)",
            says={"PreemptType": "preempt/none"},
        ),
    ),
    ("allocation", "same_operation"): (
        Clause("{asked:part} is of the same job, and no job preempts itself"),
    ),
    ("allocation", "room_held"): (
        Clause(
            "room on {stopped_on:part} is held for a job whose victims are leaving: beside it"
            " {lacks_there:part} is missing"
        ),
    ),
    ("allocation", "whole_node_in_use"): (
        Clause(
            "other jobs run on {stopped_on:part}, and not all of them share it: {lacks_there:part} is missing"
            " for it to resume"
        ),
    ),
    ("allocation", "no_room_to_resume"): (
        Clause("{lacks_there:part} is missing on {stopped_on:part} for all of its job to resume"),
    ),
    ("part", "stopped_on"): (Clause("node {node:name}"), Clause("the cluster")),
    ("allocation", "tier_not_lower"): (
        Clause(
            "its {its_partition:part} has tier {tier:name}, not below tier {tier_of_asking:name} of"
            " {asking_partition:part}, in which {asked:part} waits{with_lower:part}",
            _TIERS,
        ),
    ),
    ("part", "with_lower"): (
        Clause("", where={"tier_of_asking": 0}),
        Clause("", where={"in_one_partition": 1}),
        Clause("", where={"partition": None}),
        Clause("; with a `PriorityTier` below {tier_of_asking:name} it might be preempted"),
    ),
    ("allocation", "not_lower_priority"): tuple(
        Clause(f"its priority {_ITS} is {than} {_OTHER} of {{asked:part}} ({why})", _PRIORITIES, where)
        for than, why, where in (
            (
                "not below",
                "within a QOS, only lower priorities are preempted",
                {**_BY_QOS, "in_one_qos": 1},
            ),
            ("not below", "`PreemptMode` has the flag PRIORITY", _BY_QOS),
            ("above", "`PreemptMode` has the flag PRIORITY", {}),
        )
    ),
    ("allocation", "qos_not_listed"): (
        _with_qos("it has no QOS, and jobs without one are not preempted", its_qos=None, qos_of_asking=None),
        _with_qos("it has no QOS, and jobs without one are not preempted", _ASKING_QOS, its_qos=None),
        _with_qos("{asked:part} has no QOS, and may preempt nothing", _ITS_QOS, qos_of_asking=None),
        _with_qos(
            "it has the same QOS {its_qos} as {asked:part}, and `PreemptMode` does not say WITHIN",
            *(_ITS_QOS, _ASKING_QOS),
            in_one_qos=1,
        ),
        _with_qos(
            "its QOS {its_qos} is not in `Preempt` of QOS {qos_of_asking} of {asked:part}",
            *(_ITS_QOS, _ASKING_QOS),
        ),
    ),
    ("allocation", "preempt_mode_off"): (
        Clause("`PreemptMode` of its QOS {its_qos} is OFF", (("QOS", "its_qos"),), _BY_QOS),
        Clause("`PreemptMode` of its partition {partition} is OFF", ("partition",)),
    ),
    ("allocation", "above_min_exempt_priority"): (
        Clause(
            "its priority {priority:beside min_exempt_priority} is above `min_exempt_priority`"
            " {min_exempt_priority:beside priority}",
            (("priority_of_{operation}", "priority"), "min_exempt_priority"),
        ),
    ),
    ("allocation", "ran_too_short"): (
        Clause(
            "its job has run for {seconds:span} of {PreemptExemptTime:span} `PreemptExemptTime`: it is no"
            " victim until {until}",
            ("seconds", "PreemptExemptTime", "until"),
        ),
    ),
    ("allocation", "not_preemptible_flag"): (
        Clause(
            "{marked:one allocation|allocations} {marked} of its job {marked:one is|are} marked as not"
            " preemptible, and a job is preempted as a whole",
            ("marked",),
        ),
    ),
    ("allocation", "suspend_not_allowed"): (
        Clause(
            "it would be suspended, and `OverSubscribe` of its partition {partition} is"
            " {partition.OverSubscribe}: jobs are suspended under FORCE and YES only",
            (("OverSubscribe", "partition.OverSubscribe"),),
        ),
    ),
    ("allocation", "outside_partition"): (
        Clause(
            "it runs on no node of {asking_partition:part}, in which {asked:part} waits{is_turn:part}",
        ),
    ),
    ("part", "is_turn"): (Clause("", _ITS_TURN),),
    ("allocation", "off_chosen_nodes"): (
        Clause("{asked:part} is placed{there:part} on {placed:part}, where its job does not run"),
    ),
    ("allocation", "given_back"): (
        Clause(
            "it was chosen for {asked:part}{there:part} and given back: that fits on {placed:part} without it"
            " (`victim_selection` is irreducible)"
        ),
    ),
    ("allocation", "spared_fits_without"): (
        Clause(
            "{asked:part} fits{there:part}{on:part} once {leaving:listed} {leaving:one has|have} left, asked"
            " to leave for it before",
            ("leaving",),
        ),
        Clause("{asked:part} fits{there:part}{on:part} beside it{gave_way:part}", _COUNTED, {"gang": 1}),
        Clause(
            "{asked:part} fits{there:part}{on:part} once {others:part} left; of {candidates} that might, it"
            " is wanted as number {place}{elsewhere:part}",
            _COUNTED,
        ),
    ),
    ("part", "others"): (Clause("{victims} other {victims:one job|jobs}"),),
    ("part", "gave_way"): (Clause("", where={"victims": 0}), Clause(", once {others:part} gave way")),
    ("part", "elsewhere"): (Clause(", and it does not run there", where={"runs_there": 0}),),
    ("allocation", "frees_nothing_useful"): (
        *(
            Clause(f"its job would be suspended, and {why}{{is_turn:part}}", (), where, {"mode": "SUSPEND"})
            for why, where in (
                (
                    "the dry run starts {asked:part} over none that is",
                    {"suspended": 1, "victim_selection": "test_only"},
                ),
                ("{asked:part} cannot start over it without the flag GANG", {"suspended": 1}),
            )
        ),
        Clause(
            "no node is open to {asked:part}{there:part} now: others are ending there, or jobs before it have"
            " them",
            ("open",),
            {"open": []},
        ),
        Clause(
            "its job runs on none of the nodes where {asked:part} might be placed{there:part} now: {open}",
            ("open",),
        ),
    ),
    ("allocation", "no_start_in_stage"): (
        Clause(
            "{asked:part} fits over jobs that share their cpus, and the dry run lists none of those"
            "{is_turn:part}",
            ("candidates",),
            {"unsaid": 1},
        ),
        Clause(
            "{pass:part}it alone might be preempted for {asked:part}{there:part}, and that is not enough",
            ("candidates",),
            {"candidates": 1},
        ),
        Clause(
            "{pass:part}all {candidates} jobs that might be preempted for {asked:part}{there:part} are not"
            " enough together",
            ("candidates",),
        ),
    ),
    ("part", "pass"): (Clause("in the backfill pass ", where={"stage": "backfill"}),),
    # By which rule a victim leaves, and what would have spared it.
    ("victim", "higher_partition_tier"): (
        Clause(
            " ({tier_of_asking:name} of {asking_partition:part}, {tier:name} of {its_partition:part})"
            "{by_priority:part}{with_higher:part}",
            _TIERS,
            then=_FATE,
        ),
    ),
    ("part", "by_priority"): (
        Clause(f" and whose priority {_OTHER} is not below its {_ITS}", _PRIORITIES, {"asks_priority": 1}),
    ),
    ("part", "with_higher"): (
        Clause(
            "; with a `PriorityTier` of {tier_of_asking:name} or more of partition {partition} " + _SPARED,
            where={"turn": None},
        ),
    ),
    ("victim", "higher_priority_in_qos"): (
        Clause(
            f" (QOS {{its_qos}}, priority {_OTHER} above {_ITS}); with a priority of {_OTHER} or more"
            f" {_SPARED}",
            (_ITS_QOS, _ASKING_QOS, *_PRIORITIES),
            then=_FATE,
        ),
    ),
    ("victim", "qos_preempts"): tuple(
        Clause(
            f" (`Preempt` of QOS {{qos_of_asking}} lists {{its_qos}}); {what} {_SPARED}",
            (_ITS_QOS, _ASKING_QOS, *more),
            where,
            then=_FATE,
        )
        for what, more, where in (
            (f"with a priority of {_OTHER} or more", _PRIORITIES, {"asks_priority": 1}),
            ("if that did not list it,", (), {}),
        )
    ),
    # Why it leaves a node of which nothing was lacking.
    **dict.fromkeys(
        [("lacking", code) for code in _VICTIMS],
        (
            Clause(
                "{licences} more of the cluster's, which its job holds, is needed", where={"needed": None}
            ),
            Clause("", where={"needed": None}),
            Clause(
                "the node is needed, and not both of them share it,", where={"lacks": None, "takes_node": 1}
            ),
            Clause("it runs on a node that was chosen", where={"lacks": None}),
        ),
    ),
    # Its place among others.
    ("allocation", "taken"): (
        Clause("no other job might be preempted for {asked:part}", _COUNTED, {"candidates": 1}),
        Clause(
            "of {candidates} jobs that might be preempted for {asked:part} it is wanted as number {place}"
            " ({order:part}); {victims} of them {victims:one leaves|leave}, {how:part}",
            (*_COUNTED, "victim_selection"),
        ),
    ),
    ("part", "order"): (
        Clause(
            "`youngest_first`, the last start first; it started at {start_time}",
            ("start_time",),
            {"youngest": 1},
        ),
        *(
            Clause(
                f"the lowest {by} first, then the fewest nodes; its {by} is {{rank:name}}, on {{nodes}}"
                " {nodes:one node|nodes}",
                ((by, "rank"), "nodes"),
                where,
            )
            for by, where in (("QOS priority", _BY_QOS), ("tier", {}))
        ),
    ),
    ("part", "how"): (
        Clause("those that do not fit beside it", where={"gang": 1, "PreemptType": "preempt/partition_prio"}),
        *(
            Clause(f"{how} (`victim_selection` is {{victim_selection}})", where=where)
            for how, where in (
                ("the fewest", {"victim_selection": "minimum", "victim_cost": "victims"}),
                ("the cheapest by `victim_cost` {victim_cost}", {"victim_selection": "minimum"}),
                (
                    _IN_ORDER
                    + ", and reordered {reorder_count:name} {reorder_count:one time|times} (`reorder_count`)",
                    {"victim_selection": "reorder"},
                ),
                ("all that run on the chosen nodes", {"victim_selection": "test_only"}),
                (_IN_ORDER, {"victim_selection": "prefix"}),
                (_IN_ORDER + ", without those that it does not need", {}),
            )
        ),
    ),
    # What becomes of it, by which setting.
    ("part", "fate"): (
        Clause(
            "its job is {becomes:part}: `PreemptMode` of {says_mode:part} is {PreemptMode}{anew:part}"
            "{grace_time:part}",
            ("PreemptMode",),
        ),
    ),
    ("part", "becomes"): tuple(
        Clause(word, where={"mode": mode})
        for mode, word in (("terminate", "cancelled"), ("requeue", "requeued"), ("suspend", "suspended"))
    ),
    ("part", "says_mode"): (
        Clause("the cluster", where={**_BY_QOS, "its_qos.PreemptMode": None}),
        Clause("QOS {its_qos}", where=_BY_QOS),
        Clause("the cluster", where={"partition.PreemptMode": None}),
        Clause("partition {partition}"),
    ),
    ("part", "anew"): (
        Clause(
            ", and only batch jobs are requeued: its `kind` is {operation.kind}",
            where={"mode": "terminate", "PreemptMode": "REQUEUE", "is_batch": 0},
        ),
        Clause(
            ", and it is not to be requeued (`requeue` of its row, or `JobRequeue`)",
            where={"mode": "terminate", "PreemptMode": "REQUEUE"},
        ),
        Clause(", and its `signal` has the flag R", where={"mode": "terminate", "PreemptMode": "SUSPEND"}),
    ),
    ("part", "grace_time"): (
        Clause("", where={"mode": "suspend"}),
        Clause("; `GraceTime` of {gives_grace:part} is {GraceTime:span}", ("GraceTime",)),
    ),
    ("part", "gives_grace"): (Clause("QOS {its_qos}", where=_BY_QOS), Clause("{its_partition:part}")),
}
