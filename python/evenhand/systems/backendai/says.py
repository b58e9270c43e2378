"""What Backend.AI says of outcomes and victims beyond the sentences of their codes."""

from __future__ import annotations

from typing import Final

from evenhand.systems.backendai.letters import LETTERS
from evenhand.systems.reason import Clause

__all__ = ["SAYS"]

_RANK = ("{preemption_key}_of_{operation}", "rank")
_RANK_OF_ASKS = ("{preemption_key}_of_{asks}", "rank_of_asks")
_PRIORITY = ("priority_of_{operation}", "priority")
_KIND = ("kind_of_{operation}", "operation.kind")
_PLACE = ("place", "candidates", "preemption_order")
_KEY = "{preemption_key:words}"
_OWNERS = ("user", "project", "domain")


def _scopes() -> tuple[Clause, ...]:
    """Return clauses of sessions of different owners."""
    found: list[Clause] = []
    for scope in _OWNERS:
        own, asks = f"operation.{scope}", f"asks.{scope}"
        of_own, of_asks = f"{scope}_of_{{operation}}", f"{scope}_of_{{asks}}"
        where, rule = {"victim_scope": scope}, f"and victim_scope is {scope}"
        found += [
            Clause(
                f"it is of {scope} {{{own}}}, operation {{asks}} of {scope} {{{asks}}}, {rule}",
                ((of_own, own), (of_asks, asks), "victim_scope"),
                where,
            ),
            Clause(
                f"operation {{asks}} names no {scope}, {rule}",
                ((of_own, own), "victim_scope"),
                where,
                {of_asks: None},
            ),
            Clause(
                f"its session names no {scope}, {rule}",
                ((of_asks, asks), "victim_scope"),
                where,
                {of_own: None},
            ),
            Clause(
                f"neither its session nor operation {{asks}} names a {scope}, {rule}",
                ("victim_scope",),
                where,
                {of_own: None, of_asks: None},
            ),
        ]
    return tuple(found)


def _stood(phrase: str, **where: object) -> tuple[Clause, ...]:
    """Return clauses that count sessions: the first of them says what is counted."""
    return tuple(
        Clause(f"{{count}}{of} {verb} {phrase}", where={**where, **one, **first})
        for of, first in ((" of the sessions that run", {"first": True}), ("", {}))
        for verb, one in (("has", {"count": 1}), ("have", {}))
    )


_LACKING = "{lacking:part}"
_DISABLED = (Clause(f"{_LACKING}preemption is switched off (enabled false)", ("enabled",)),)
_NOT_FIRST = (
    Clause(
        f"{_LACKING}only operation {{front}}, which is first in the queue, may preempt"
        " (preemptors {preemptors})",
        ("front", "preemptors"),
    ),
)
_ASKS_NOTHING = (
    Clause(
        f"{_LACKING}operation {{asks}} is of kind system, which preempts nothing",
        (("kind_of_{asks}", "asks.kind"),),
    ),
)
_CONTAINERS = (
    Clause(
        "every node where it could run has as many allocations as max_containers allows ({max_containers}),"
        " those that would leave included",
        ("max_containers",),
    ),
)
_BEHIND = (
    Clause(
        "operation {reserved_before} has reserved room on the same node since earlier and has not started"
        " yet",
        (("behind", "reserved_before"),),
    ),
    Clause(
        "what is suspended of operation {operation} resumes first, and cannot yet",
        ("behind", "blocked_by"),
        {"behind_itself": 1},
    ),
    Clause(
        "operation {behind} (priority {priority_of_behind}) is before it in the queue{tie:part} and cannot"
        " start yet; operation {operation} has priority {priority}",
        ("behind", "blocked_by", ("priority_of_{behind}", "priority_of_behind"), _PRIORITY),
    ),
)
_TIE = (
    Clause(", as what is suspended is first of equal priority,", where={"suspended_first": 1}),
    Clause(
        ", submitted later (at {before_time}, this one at {own_time}; sequencer {sequencer}),",
        ("before_time", "own_time", "sequencer"),
        {"sequence_decides": 1, "sequencer": "lifo"},
    ),
    Clause(
        ", of a user who has less of the cluster ({part_of_before}, this one's {part_of_own}; sequencer"
        " {sequencer}),",
        ("part_of_before", "part_of_own", "sequencer"),
        {"sequence_decides": 1},
    ),
    Clause(
        ", as its session is older (of {before_time}, this one of {own_time}),",
        ("before_time", "own_time"),
        {"time_decides": 1, "both_suspended": 1},
    ),
    Clause(
        ", submitted earlier (at {before_time}, this one at {own_time}),",
        ("before_time", "own_time"),
        {"time_decides": 1},
    ),
    Clause(
        ", in canonical order, as they have the same priority and time,",
        where={"time_decides": 0},
    ),
)
_PACE = {
    ("allocation", "victim_cooldown"): (
        Clause(
            "its session was preempted too recently, at {last_preempted}, and victim_cooldown is"
            " {victim_cooldown:span}, which spares it until {until}",
            ("last_preempted", "victim_cooldown", "until", "now"),
        ),
    ),
    ("allocation", "spared_run_time"): (
        Clause(
            "its session began at {began}, and spare_if_ran_less_than is {spare_if_ran_less_than:span}, which"
            " spares it until {until}",
            ("began", "spare_if_ran_less_than", "until", "now"),
        ),
    ),
    ("allocation", "spared_ends_soon"): (
        Clause(
            "its session is planned to end at {planned_end}, within spare_if_ends_within"
            " ({spare_if_ends_within:span})",
            ("planned_end", "spare_if_ends_within", "now"),
        ),
    ),
    ("allocation", "pool_immune"): (
        Clause("{immune} has immune_hours until {until}", ("immune", "until", "now")),
    ),
    ("allocation", "pool_victims_per_hour"): tuple(
        Clause(
            "with it {pool} would give more victims within an hour than max_victims_per_hour"
            f" ({{max_victims_per_hour}}): it has given {{victims}} {noun}{{again:part}}",
            ("pool", "victims", "max_victims_per_hour"),
            where,
        )
        for noun, where in (("victim", {"victims": 1}), ("victims", {}))
    ),
    ("part", "again"): (Clause("; again from {again_from} on", ("again_from",)),),
}

#: By kind and code: the first clause whose facts are known is said.
SAYS: Final = {
    **LETTERS,
    # Why an allocation stays.
    ("part", "asks"): (Clause("request {request} of operation {asks}"),),
    ("allocation", "not_lower_priority"): (
        Clause("it is of the session that asks, which preempts nothing of its own", where={"asks_itself": 1}),
        Clause(
            f"its {_KEY} ({{rank}}) is not lower than that of operation {{asks}} ({{rank_of_asks}}); only a"
            f" session of a higher {_KEY} may preempt it",
            (_RANK, _RANK_OF_ASKS),
        ),
    ),
    ("allocation", "above_threshold"): (
        Clause(
            "its priority ({priority}) is above preemptible_priority ({preemptible_priority}); it may be"
            " preempted only where that is {priority} or more",
            (_PRIORITY, "preemptible_priority"),
        ),
    ),
    ("allocation", "system_work"): (
        Clause("it is of a session of kind system, which is never preempted", (_KIND,)),
    ),
    ("allocation", "not_preemptible_flag"): (
        Clause(
            "its session has opted out (is_preemptible false)",
            (("is_preemptible_of_{operation}", "is_preemptible"),),
            {"is_preemptible": False},
        ),
        Clause(
            "it is marked as not preemptible",
            where={"marked_itself": 1},
            says={"preemptible_of_{marked}": False},
        ),
        Clause(
            "allocation {marked} of its session is marked as not preemptible",
            where={"marked_itself": 0},
            says={"preemptible_of_{marked}": False},
        ),
        Clause(
            "it is of kind {operation.kind}, which is not preemptible (inference_preemptible false) unless"
            " its session says so (is_preemptible)",
            (_KIND, "inference_preemptible"),
        ),
    ),
    ("allocation", "not_running"): (
        Clause(
            "allocation {stopped} of its session was stopped before (state {stopped.state}), and only"
            " sessions of which nothing is stopped are preempted",
            (("state_of_{stopped}", "stopped.state"),),
        ),
        Clause("it does not run"),
    ),
    ("allocation", "not_suspendable"): (
        Clause(
            "it is of kind {operation.kind}, which cannot resume later: with preemption_mode suspend and"
            " suspend_fallback not_a_victim only batch sessions are preempted",
            (_KIND, "preemption_mode", "suspend_fallback"),
        ),
    ),
    ("allocation", "ran_too_short"): (
        Clause(
            "its session has never run, and preemption_min_runtime is {preemption_min_runtime:span}",
            (("started_of_{operation}", "started"), "preemption_min_runtime"),
            {"started": False},
        ),
        Clause(
            "its session has run for {seconds}, less than preemption_min_runtime"
            " ({preemption_min_runtime:span}), which spares it until {until}",
            ("seconds", "preemption_min_runtime", "until"),
        ),
    ),
    ("allocation", "other_scope"): _scopes(),
    ("allocation", "frees_nothing_useful"): (
        Clause("it holds nothing that operation {asks} needs on a node where that could be placed"),
    ),
    ("allocation", "no_start_in_stage"): (
        Clause(
            "all that may be preempted for operation {asks} together does not make enough room, so nothing"
            " leaves"
        ),
    ),
    ("allocation", "spared_fits_without"): (
        Clause(
            "the sessions that leave for operation {asks} suffice, and were chosen as they cost least"
            " (victim_selection minimum, victim_cost {victim_cost}){numbered:part}",
            ("victim_selection", "victim_cost"),
            {"victim_selection": "minimum"},
        ),
        Clause(
            "others that leave make enough room for operation {asks} on {placed_on:nodes}{placed:part}",
            ("placed_on",),
        ),
    ),
    ("allocation", "given_back"): (
        Clause(
            "it was wanted for operation {asks} first and then given back, as the others suffice"
            " (victim_selection {victim_selection}){placed:part}",
            ("victim_selection",),
        ),
    ),
    ("part", "numbered"): (Clause("", _PLACE),),
    ("part", "placed"): (
        Clause(
            "; it was number {place} of {candidates} {candidates:one candidate|candidates}{chosen_node:part}"
            " ({order:part})",
            _PLACE,
        ),
    ),
    ("part", "chosen_node"): (Clause(" on the node that was chosen", where={"victim_area": "agent"}),),
    ("part", "order"): (
        Clause(f"lowest {_KEY} first{{never_ran:part}}, then by preemption_order {{preemption_order}}"),
    ),
    ("part", "never_ran"): (Clause(", those that never ran first", where={"any_never_ran": 1}),),
    ("allocation", "preemption_disabled"): _DISABLED,
    ("allocation", "not_first_in_queue"): _NOT_FIRST,
    ("allocation", "system_does_not_preempt"): _ASKS_NOTHING,
    ("allocation", "no_free_room"): (Clause("{missing} is missing on the node that comes nearest"),),
    ("allocation", "behind_first_waiting"): _BEHIND,
    ("allocation", "max_containers"): _CONTAINERS,
    **_PACE,
    # Why a request waits.
    ("part", "lacking"): (Clause("{missing} is missing on the node that comes nearest, and "),),
    ("request", "preemption_disabled"): _DISABLED,
    ("request", "not_first_in_queue"): _NOT_FIRST,
    ("request", "system_does_not_preempt"): _ASKS_NOTHING,
    ("request", "no_lower_priority"): (
        Clause(
            f"{_LACKING}nothing that runs may be preempted for its {_KEY} ({{rank}}){{spared:part}}", (_RANK,)
        ),
    ),
    ("part", "spared"): (Clause(": {stood:each}", (("sessions", "stood"),), {"runs_nothing": 1}),),
    ("stood", "not_lower_priority"): _stood(f"no lower {_KEY}"),
    ("stood", "above_threshold"): _stood("a priority above preemptible_priority ({preemptible_priority})"),
    ("stood", "other_scope"): (
        *_stood("another {victim_scope} or none (victim_scope {victim_scope})", names_owner=1),
        *_stood("no {victim_scope} in common with it, as it names none (victim_scope {victim_scope})"),
    ),
    ("stood", "not_preemptible_flag"): _stood("opted out of it"),
    ("stood", "system_work"): _stood("the kind system"),
    ("stood", "not_suspendable"): _stood("a kind that is not suspended (suspend_fallback not_a_victim)"),
    ("stood", "ran_too_short"): _stood(
        "not run for preemption_min_runtime ({preemption_min_runtime:span}) yet"
    ),
    ("request", "no_room_even_with_victims"): (
        Clause(
            "{missing} is missing on the node that comes nearest, beside what is reserved there and with what"
            " {candidates} {candidates:one session|sessions} would give back that may be preempted for it",
            ("candidates",),
            {"preemptor_room": "reserved"},
        ),
        Clause(
            "{missing} is missing on the node that comes nearest, with what {candidates}"
            " {candidates:one session|sessions} would give back that may be preempted for it and"
            " {candidates:one counts|count} for max_containers ({max_containers}) until gone",
            ("candidates", "max_containers"),
        ),
        Clause(
            "even if the one session left that may be preempted for it, {missing} would be missing on the"
            " node that comes nearest",
            ("candidates",),
            {"candidates": 1},
        ),
        Clause(
            "even if all {candidates} sessions left that may be preempted for it, {missing} would be missing"
            " on the node that comes nearest",
            ("candidates",),
        ),
        Clause("even if all left that may be preempted for it, {missing} would be missing"),
    ),
    ("request", "max_containers"): _CONTAINERS,
    ("request", "other_request_waits"): (
        Clause(
            "request {other} of the same operation cannot start, and a session starts as a whole", ("other",)
        ),
    ),
    ("request", "behind_first_waiting"): _BEHIND,
    ("request", "waits_for_victims"): (
        Clause(
            "{victims} has been asked to leave for it, and with what that gives back it fits",
            ("victims",),
            {"leaving": 1},
        ),
        Clause(
            "{victims} have been asked to leave for it, and with what they give back it fits", ("victims",)
        ),
        Clause(
            "what was asked to leave for it before, or stands where room is reserved for it, has not left"
            " yet",
            where={"preemptor_room": "reserved"},
        ),
        Clause("what was asked to leave for it before has not left yet"),
    ),
    ("request", "victims_spared"): (
        Clause(
            f"{_LACKING}what could make room for it is spared by the pace: of the first of these,"
            " {spared:said}"
        ),
    ),
    ("request", "wrong_tags"): (
        Clause(
            "no node that it may take has all of its node_tags ({row.node_tags})",
            (("node_tags", "row.node_tags"),),
        ),
    ),
    ("request", "node_not_schedulable"): (
        Clause("each node where it could run takes nothing new (schedulable false)"),
    ),
    ("request", "priority_change_disabled"): (
        Clause(
            "it sets its own priority ({operation.priority}), which the policy of {owners:part} does not"
            " allow (may_change false)",
            (("priority_of_{operation}", "operation.priority"),),
            says={"may_change": False},
        ),
    ),
    ("request", "priority_out_of_range"): (
        Clause(
            "its priority ({operation.priority}) is outside the range that the policy of {owners:part}"
            " allows ({lowest} to {highest})",
            (("priority_of_{operation}", "operation.priority"), "lowest", "highest"),
        ),
    ),
    ("part", "owners"): (
        Clause("user {user} and project {project}"),
        Clause("user {user}"),
        Clause("project {project}"),
    ),
    ("unseen", "not_considered"): (
        Clause("no session looked for victims in this scheduling run", where={"what": "allocation"}),
    ),
    # What chose a victim, and what would have spared it.
    ("victim", "lower_priority"): (
        Clause(
            f" ({{key:part}}{{rank_of_asks}} against {{rank}}); with {_KEY} {{spared_from}} or more"
            " {fate:part}",
            (_RANK, _RANK_OF_ASKS, "spared_from"),
        ),
    ),
    ("part", "key"): (Clause("job priority ", where={"preemption_key": "job_priority"}),),
    ("part", "fate"): (
        Clause(
            "it could not be preempted (preemptible_priority is {preemptible_priority})",
            ("preemptible_priority",),
            {"by_threshold": 1},
        ),
        Clause(
            "it could not be preempted for operation {asks}",
            ("preemptible_priority",),
            {"victim_threshold": "preemptible_priority"},
        ),
        Clause("it could not be preempted for operation {asks}"),
    ),
    ("part", "tie"): _TIE,
    ("lacking", "lower_priority"): (
        Clause("{lacks_there} more is needed there and {lacks_in_all} more is needed in the cluster"),
        Clause("{lacks_there} more is needed there"),
        Clause("{lacks_in_all} more is needed in the cluster"),
        Clause(
            "its operation leaves as a whole, though there is room enough on this node,",
            where={"uses_node": 1},
        ),
        Clause(
            "its operation leaves as a whole, though nothing of this node is used,",
            where={"uses_node": 0},
        ),
        Clause("its operation leaves as a whole,"),
    ),
    ("order", "lower_priority"): (
        Clause(
            f"victims are taken {{order:part}}: operation {{operation}} has {_KEY}"
            " {rank}{since:part}{number:part}",
            ("preemption_order",),
        ),
    ),
    ("part", "since"): (
        Clause(" and has never run", (("started_of_{operation}", "started"),), {"started": False}),
        Clause(" and began at {began}", ("began",), {"preemption_order": ("oldest", "newest")}),
    ),
    ("part", "number"): (
        Clause(
            ", number {place} of {candidates} {candidates:one candidate|candidates}{chosen_node:part}",
            ("place", "candidates"),
        ),
    ),
    ("selection", "lower_priority"): (
        Clause(
            "those are taken that cost least (victim_selection minimum, victim_cost {victim_cost})",
            ("victim_selection", "victim_cost"),
            {"victim_selection": "minimum"},
        ),
        Clause(
            "they are taken until operation {asks} fits (victim_selection prefix)",
            ("victim_selection",),
            {"victim_selection": "prefix"},
        ),
        Clause(
            "they are taken until operation {asks} fits, and all but those that it needs are given back"
            " (victim_selection irreducible)",
            ("victim_selection",),
        ),
    ),
    ("mode", "lower_priority"): (
        Clause(
            "its session ends and waits in the queue again (preemption_mode reschedule)",
            ("preemption_mode",),
            {"mode": "requeue"},
        ),
        *(
            Clause(
                f"its session is suspended and resumes once all of it fits again, {where}"
                " (preemption_mode suspend, suspend_approach {suspend_approach})",
                ("preemption_mode", "suspend_approach"),
                {"mode": "suspend", **of},
            )
            for where, of in (("where it is", {"suspend_approach": "keep"}), ("on any node", {}))
        ),
        Clause(
            "its session is of kind {operation.kind}, which cannot resume later: it ends"
            " (preemption_mode suspend, suspend_fallback {suspend_fallback})",
            ("preemption_mode", _KIND, "suspend_fallback"),
            {"preemption_mode": "suspend"},
        ),
        Clause(
            "its session ends, without a period of grace (preemption_mode terminate)", ("preemption_mode",)
        ),
    ),
}
