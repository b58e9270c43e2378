"""What Grid Engine says of outcomes and victims beyond the sentences of their codes."""

from __future__ import annotations

from typing import Final

from evenhand.systems.gridengine.letters import LETTERS
from evenhand.systems.reason import Clause

__all__ = ["MODE_OF", "SAYS"]

#: Letter of each action to its mode, in the order of `evenhand.reasons.MODES`.
MODE_OF: Final = {
    "T": "terminate",
    "R": "requeue",
    "C": "checkpoint",
    "P": "preempt",
    "N": "enhanced_suspend",
    "S": "suspend",
}

_ACTIONS = (*MODE_OF, "advisor")
_PREEMPTIONS = ("manual_preemption", "semi_automatic_preemption", "automatic_preemption")
_STAYS = ("room", "left_out", "reserved")
_PLACE = ("place", "candidates")
_CAP = ("wanted", "preemptees", "max_preemptees", "enough")
_OTHER = (("other_allocation", "other"),)
_QUEUE_SUSPENDED = "its queue {queue:name} is suspended{list:part}"
_FEWEST = "as few jobs leave as can be"
_RANK = "the lowest priority comes first, of equal ones the last that started"
_KEEPS = "a stopped job would keep something that is wanted"
_ENOUGH = "what is wanted of it is free once its processes have stopped"
_NO_GENTLER = "no gentler one of `actions` frees what is wanted"
#: In the order of the core's numbers, from 1.
_CHOSEN_BY = (
    *("asked", "queue", "configured", "checkpointable", "only_slots", "swapped_and_released"),
    *("keeps_resources", "rerunnable", "not_rerunnable"),
)
_GONE = {"outcome": "no_room_even_with_victims"}

_TOO_MANY = (
    Clause("{too_many:part}, so only {victims} {victims:one leaves|leave}", (*_PLACE, "wanted", "victims")),
    Clause("{too_many:part}, so none is", (*_PLACE, "wanted")),
)


def _barred(sentence: str, tags: str = "{%s.node_tags:tags}") -> tuple[Clause, ...]:
    """Return what bars a request from every node, or another one of its job."""
    return (
        Clause(
            f"of its job request {{other}} cannot start: {sentence.format(tags=tags % 'other')}",
            (("other_request", "other"),),
        ),
        Clause(sentence.format(tags=tags % "row")),
    )


def _whole(keeps: str) -> tuple[Clause, ...]:
    return (Clause(f"its job is preempted as a whole, and allocation {{other}} of it {keeps}", _OTHER),)


def _stood(one: str, several: str) -> tuple[Clause, ...]:
    return (Clause(f"{{count}} {one}", where={"count": 1}), Clause(f"{{count}} {several}"))


def _by(chosen_by: str, sentence: str, **where: int) -> Clause:
    """Return why a job is preempted in the way that it is."""
    why = _CHOSEN_BY.index(chosen_by) + 1
    return Clause(sentence, where={"why_mode": why, **where}, says={"chosen_by": chosen_by})


#: By kind and code: the first clause whose facts are known is said.
SAYS: Final = {
    **LETTERS,
    # Why a request waits.
    ("request", "node_not_schedulable"): _barred("no node on which it may run takes new work"),
    ("request", "wrong_tags"): _barred("no node on which it may run has {tags}"),
    ("request", "subordinate_queue_suspended"): (
        Clause(f"where there is room for it, {_QUEUE_SUSPENDED}", ("queue",)),
    ),
    ("part", "starts"): (Clause("", ("starts_at",)),),
    ("part", "list"): (
        Clause(
            ": `subordinate_list` of queue {by_queue:name} suspends it from {slots} slots in use there on",
            ("by_queue", "slots"),
        ),
    ),
    ("request", "no_room_even_with_victims"): (
        Clause(
            f"where there would be room with all gone that it may preempt, {_QUEUE_SUSPENDED}", ("queue",)
        ),
        Clause("{room:part}{starts:part}", then=("left_out", "reserved")),
    ),
    ("request", "no_free_room"): (Clause("{room:part}{starts:part}", then=("unreserved", "unplanned")),),
    ("request", "no_lower_priority"): (
        Clause(
            "of the jobs that the request for preemption names none may be preempted: {named}{starts:part}",
            ("priority", "named"),
            then=_STAYS,
        ),
        Clause(
            "no job of lower priority than {priority:exact} runs that may be preempted for it{starts:part}",
            ("priority",),
            then=_STAYS,
        ),
    ),
    ("request", "no_job_allows_action"): (
        Clause(
            "of the jobs that the request for preemption names none allows its action: {named}{starts:part}",
            ("priority", "named"),
            then=_STAYS,
        ),
        Clause(
            "no job of lower priority than {priority:exact} allows the action by which it would"
            " leave{starts:part}",
            ("priority",),
            then=_STAYS,
        ),
    ),
    ("request", "max_preemptees"): (
        Clause("{too_many_for_it:part}{starts:part}", then=("room", "leave_now", "reserved")),
    ),
    ("request", "within_preemption_distance"): (
        Clause(
            "it starts at {starts_at} without preemption, within `preemption_distance`"
            " ({preemption_distance:span})",
            ("starts_at", "preemption_distance"),
            then=("room",),
        ),
    ),
    ("request", "waits_for_reservation"): (
        Clause("its reservation begins at {starts_at}", ("starts_at",), then=("room", "within")),
    ),
    ("request", "waits_for_victims"): (
        Clause(
            "it fits once {victims} {victims:one has|have} left for it{starts:part}",
            ("victims",),
            then=("room",),
        ),
    ),
    ("part", "room"): (
        Clause(
            "{missing} on {node} would be free with all gone that may be preempted for it, and planned for"
            " {planner:part} while {what:part} would run{lasting:part}",
            ("planned",),
            _GONE,
        ),
        Clause(
            "{without:part}{missing} on {node} is free now and planned for {planner:part} while {what:part}"
            " would run{lasting:part}",
            ("planned",),
        ),
        Clause(
            "on {node}{closest:part} {missing} is missing for {what:part}, even with all gone that may be"
            " preempted for it",
            where=_GONE,
        ),
        Clause("{without:part}on {node}{closest:part} {missing} is missing for {what:part}"),
    ),
    ("part", "without"): (Clause("until then, ", where={"outcome": "waits_for_victims"}),),
    ("part", "closest"): (Clause(", which comes closest,", where={"tried_several": 1}),),
    ("part", "what"): (
        Clause("request {other} of the same job", (("other_request", "other"),)),
        Clause("it", where={"row.count": 1}),
        Clause("one of its {row.count} copies"),
    ),
    ("part", "planner"): (
        Clause("operation {planned_for} and {planned_more} more", ("planned_for",)),
        Clause("operation {planned_for}", ("planned_for",)),
        Clause("a reservation that begins later"),
    ),
    ("part", "lasting"): (Clause(" ({lasts:span})", ("lasts",)),),
    ("part", "left_out"): (Clause("of the jobs that run, {stood:all}", (("spared", "stood"),)),),
    ("stood", "not_lower_priority"): _stood("has no lower priority", "have no lower priority"),
    ("stood", "not_preemptible_flag"): _stood(
        "is marked as not preemptible", "are marked as not preemptible"
    ),
    ("stood", "action_not_allowed"): _stood(
        "does not allow the action by which it would leave",
        "do not allow the action by which they would leave",
    ),
    ("stood", "already_preempting"): _stood("leaves already", "leave already"),
    ("stood", "spared_run_time"): _stood(
        "has run for less than `spare_if_ran_less_than` ({spare_if_ran_less_than:span})",
        "have run for less than `spare_if_ran_less_than` ({spare_if_ran_less_than:span})",
    ),
    ("stood", "spared_ends_soon"): _stood(
        "ends within `spare_if_ends_within` ({spare_if_ends_within:span})",
        "end within `spare_if_ends_within` ({spare_if_ends_within:span})",
    ),
    ("stood", "victim_cooldown"): _stood(
        "was preempted within `victim_cooldown` ({victim_cooldown:span})",
        "were preempted within `victim_cooldown` ({victim_cooldown:span})",
    ),
    ("stood", "pool_immune"): _stood(
        "stands in a pool with `immune_hours` now", "stand in a pool with `immune_hours` now"
    ),
    ("stood", "pool_victims_per_hour"): _stood(
        "stands in a pool that would give more than its `max_victims_per_hour`",
        "stand in a pool that would give more than its `max_victims_per_hour`",
    ),
    ("part", "reserved"): (Clause("room is reserved for it on {reserved_on:nodes} from {since} on"),),
    ("part", "unreserved"): (
        Clause(
            "it asks for no reservation, so no room is planned and no job is preempted for it",
            where={"reserve": 0},
        ),
        Clause(
            "`max_reservation` is 0: no job gets a reservation, and none is preempted",
            where={"max_reservation": 0},
        ),
        Clause(
            "as many jobs before it have a reservation as `max_reservation` {max_reservation} allows, so it"
            " gets none and preempts no job",
            ("max_reservation",),
            {"full": 1},
        ),
        Clause(
            "it has no reservation: so far as ends are planned, there is never enough room for it",
            where={"never": 1},
        ),
    ),
    ("part", "unplanned"): tuple(
        Clause(sentence, where={"reserve": 1, "full": 0, "never": 1, **off})
        for sentence, off in (
            (
                "`automatic_preemption` is off: no job is preempted for it unless someone requests it",
                {"automatic_preemption": False},
            ),
            ("`max_preemptees` is 0: no job is preempted", {"max_preemptees": 0}),
        )
    ),
    ("part", "within"): (
        Clause(
            "`automatic_preemption` is off: no job is preempted for it unless someone requests it",
            where={"automatic_preemption": False},
        ),
        Clause("`max_preemptees` is 0: no job is preempted", where={"max_preemptees": 0}),
        Clause(
            "that is within `preemption_distance` ({preemption_distance:span}), so no job is preempted for"
            " it",
            ("preemption_distance",),
        ),
    ),
    ("part", "too_many_for_it"): (Clause("{jobs:part} would have to be preempted for it{cap:part}", _CAP),),
    ("part", "too_many"): (
        Clause("{jobs:part} would have to be preempted for {asker:part}{cap:part}", _CAP),
    ),
    ("part", "jobs"): (Clause("{wanted} {wanted:one job|jobs}"),),
    ("part", "cap"): (
        Clause(", more than `max_preemptees` {max_preemptees} allows", where={"preemptees": 0}),
        Clause(
            " beside the {preemptees} that {preemptees:one is|are} preempted, more than `max_preemptees`"
            " {max_preemptees} allows"
        ),
    ),
    ("part", "leave_now"): (Clause("for it {victims} {victims:one leaves|leave} now", ("victims",)),),
    # Why an allocation stays.
    ("part", "asker"): (Clause("request {request:name} of operation {asks}"),),
    ("allocation", "no_free_room"): (
        Clause(
            "its job resumes as a whole, and for allocation {other} {lacks:part}",
            _OTHER,
            then=("begins", "turn"),
        ),
        Clause("{lacks:part}", then=("begins", "turn")),
    ),
    ("part", "lacks"): (
        Clause("{missing} on {at} is free now and planned for {planner:part}", ("planned",)),
        Clause("{missing} is missing on {at}"),
    ),
    ("part", "begins"): (Clause("its reservation begins at {starts_at}", ("starts_at",)),),
    ("part", "turn"): (
        Clause(
            "with `prioritize_preemptees` it comes next behind operation {behind}, for which it was"
            " preempted",
            (("behind_operation", "behind"),),
        ),
    ),
    ("allocation", "subordinate_queue_suspended"): (
        Clause(
            "its job resumes as a whole, and the queue of allocation {other} is suspended on {at}", _OTHER
        ),
    ),
    ("allocation", "not_preemptible_flag"): _whole("is marked as not preemptible"),
    ("allocation", "not_running"): _whole("does not run"),
    ("allocation", "already_preempting"): _whole("has been asked to leave already"),
    ("allocation", "not_lower_priority"): (
        Clause(
            "its job's priority {priority:beside beneficiary_priority} is not lower than"
            " {beneficiary_priority:beside priority} of {asker:part}, which looked for jobs to preempt",
            (("priority_of_{operation}", "priority"), ("priority_of_{asks}", "beneficiary_priority")),
        ),
    ),
    ("allocation", "action_not_allowed"): (Clause("{says:part}, and {forbids:part}"),),
    ("part", "says"): tuple(
        Clause(f"{who} {action}", numbers, {"asked": asked, **where}, {"action": action})
        for asked, action in enumerate(_ACTIONS, 1)
        for who, numbers, where in (
            ("the request for preemption says", (), {"requested": 1}),
            ("{setting:part} is", (), {}),
        )
    ),
    ("part", "setting"): (
        Clause("`preemption_action` of queue {action_queue}"),
        Clause("`preemption_action`"),
    ),
    ("part", "forbids"): tuple(
        Clause(sentence, where={"not_allowed": why})
        for why, sentence in enumerate(
            (
                "none of `actions` would do",
                "`actions` does not have it",
                "it has no checkpoint environment",
                "neither it nor its queue is rerunnable",
            )
        )
    ),
    ("allocation", "max_preemptees"): _TOO_MANY,
    ("allocation", "no_start_in_stage"): (
        *_TOO_MANY,
        Clause("{asker:part} would not fit even with it gone", _PLACE, {"remaining": 1}),
        Clause(
            "{asker:part} would not fit even with all {remaining} jobs gone that may be preempted for it,"
            " so none is",
            _PLACE,
        ),
    ),
    ("allocation", "pool_victims_per_hour"): (
        Clause(
            "with it {pool} would give more victims within an hour than `max_victims_per_hour`"
            " ({max_victims_per_hour}): it has given {victims}{again:part}",
            ("pool", "victims", "max_victims_per_hour"),
        ),
    ),
    ("part", "again"): (Clause("; again from {again_from} on", ("again_from",)),),
    ("allocation", "spared_fits_without"): (
        Clause(
            "{asker:part} fits on {placed_on:nodes} once {victims} {victims:one has|have} left",
            (*_PLACE, "placed_on", "victims"),
            then=("order",),
        ),
    ),
    # Why no job was looked for that could leave.
    ("unseen", "not_considered"): (
        Clause("", where={"what": "request"}),
        Clause(
            "`max_reservation` is 0: no job gets a reservation, and none is preempted",
            where={"max_reservation": 0},
        ),
        Clause("`max_preemptees` is 0: no job is preempted", where={"max_preemptees": 0}),
        Clause(
            "`automatic_preemption` is off, and no request for preemption was accepted",
            where={"automatic_preemption": False, "requested": 0},
        ),
        Clause(
            "for request {served} of operation {served_operation} {victims} {victims:one leaves|leave}"
            " already, so no more is preempted for it",
            ("served", "served_operation", "victims"),
        ),
        Clause(
            "the reservation of request {served} of operation {served_operation} is within"
            " `preemption_distance` ({preemption_distance:span}), so no job is preempted for it",
            ("served", "served_operation", "preemption_distance"),
        ),
        Clause("no request waits for room", where={"refused": 0}),
    ),
    # What chose a victim.
    **{
        ("victim", code): (
            Clause(
                "; at priority {beneficiary_priority:exact} or above, operation {operation}, which has"
                " {priority:exact}, could not be preempted for operation {asks}",
                ("priority", "beneficiary_priority"),
                then=("distance", "order", "action", "leave", "grace"),
            ),
        )
        for code in _PREEMPTIONS
    },
    **{
        ("lacking", code): (
            Clause("what it gives back is a part of what is needed", where={"placed": 0}),
            Clause("{missing} more is needed there", ("missing",), {"uses_node": 1}),
            Clause("{missing} more is needed in the cluster", ("missing",)),
            Clause(
                "what is free there is too little for all of it, or planned for others,",
                where={"uses_node": 1},
            ),
        )
        for code in _PREEMPTIONS
    },
    ("part", "distance"): (
        Clause(
            "without preemption there is never enough room for operation {asks}, so far as ends are planned",
            ("preemption_distance",),
            {"never": 1},
        ),
        Clause(
            "without preemption operation {asks} would start at {starts_at}{compared:part}",
            ("starts_at", "preemption_distance"),
        ),
    ),
    ("part", "compared"): (
        Clause(
            "; `preemption_distance` is 0, so no reservation is near enough",
            where={"preemption_distance": 0},
        ),
        Clause(
            ", within `preemption_distance` ({preemption_distance:span}), which the request overrode by"
            " force",
            where={"near": 1},
        ),
        Clause("; the request for preemption was by force, which asks for no distance", where={"forced": 1}),
        Clause("; {away:span} is farther away than `preemption_distance` ({preemption_distance:span})"),
    ),
    ("part", "order"): (
        Clause(
            "operation {operation} is the only job that may be preempted for it",
            _PLACE,
            {"candidates": 1},
        ),
        Clause(
            "{rule:part}: operation {operation} is number {place} of {candidates} that may be preempted for"
            " it",
            _PLACE,
        ),
    ),
    ("part", "rule"): (
        Clause(f"{_FEWEST}; {_RANK}", where={"order": 0}),
        Clause(
            f"{_FEWEST}; of as many on one host those whose highest priority is lowest, on the first host;"
            f" {_RANK}",
            where={"order": 1},
        ),
        Clause(
            "jobs leave in the order in which the request for preemption names them, as far as they are"
            " needed"
        ),
    ),
    ("part", "action"): (Clause("its action is {letter:part}, as {chosen:part}"),),
    ("part", "letter"): tuple(
        Clause(f"{letter} ({mode.replace('_', ' ')})", where={"mode": mode}, says={"action": letter})
        for letter, mode in MODE_OF.items()
    ),
    ("part", "chosen"): (
        _by("asked", "the request for preemption says"),
        _by("queue", "{setting:part} says"),
        _by("configured", "{setting:part} says"),
        Clause("the advisor chooses ({setting:part}): {advised:part}"),
    ),
    # What the advisor saw, and what would have led to another action; where there are not all actions, less.
    ("part", "advised"): (
        _by("checkpointable", "it has a checkpoint environment"),
        _by("only_slots", "nothing but slots and managed licences is wanted, and it has nothing else"),
        _by(
            "swapped_and_released",
            "its memory has room in the free swap of its nodes, and the rest is released when it is stopped",
        ),
        _by(
            "keeps_resources",
            f"{_ENOUGH}; with as much free swap as its memory, and all else released on suspension, it would"
            " be P",
            all_actions=1,
        ),
        _by("keeps_resources", _ENOUGH),
        _by("rerunnable", f"{_KEEPS}, and it can be run again", all_actions=1),
        _by("rerunnable", f"{_NO_GENTLER}, and it can be run again"),
        _by(
            "not_rerunnable",
            f"{_KEEPS}, and neither it nor its queue is rerunnable; else it would be R",
            all_actions=1,
        ),
        _by("not_rerunnable", _NO_GENTLER),
    ),
    ("part", "leave"): (
        Clause("{leaving:part} for it{beside:part}; `max_preemptees` is {max_preemptees}", _CAP[:3]),
    ),
    ("part", "leaving"): (
        Clause("{wanted} jobs would have to leave", where={"too_many": 1}),
        Clause("{wanted} {wanted:one job leaves|jobs leave}"),
    ),
    ("part", "beside"): (
        Clause("", where={"preemptees": 0}),
        Clause(", beside {preemptees} preempted before"),
    ),
    ("part", "grace"): (Clause("its processes have {grace:span} to end, as `notify` says", ("notify",)),),
    ("victim", "subordinate_threshold"): (Clause("", then=("stops_first",)),),
    ("part", "stops_first"): tuple(
        Clause(f"of queue {{own_queue}} the job that has run {which} stops first", where={"longest": longest})
        for longest, which in enumerate(("shortest (sr)", "longest (lr)"))
    ),
}
