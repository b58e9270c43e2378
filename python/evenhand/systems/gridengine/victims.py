"""What Grid Engine's policy says of a victim: how far the reservation is, by which order, how and why so."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from evenhand.explain.facts import name_of, number, seconds
from evenhand.explain.told import NOTHING, Told
from evenhand.plans.columns import rows_by_name
from evenhand.reasons import MODES, OUTCOMES
from evenhand.systems.gridengine.order import OF_CLUSTER, needed_in_all, order_of
from evenhand.systems.gridengine.record import LETTERS
from evenhand.systems.gridengine.subordinates import SubordinateList
from evenhand.systems.gridengine.telling import instant_of, priority_of, queue_action

if TYPE_CHECKING:
    from evenhand.explain.facts import Facts
    from evenhand.plans.decisions import Decision

__all__ = ["CHOICES", "of_victim"]

_PREEMPTIONS = ("manual_preemption", "semi_automatic_preemption", "automatic_preemption")
_TAKEN = OUTCOMES.index("taken")

#: Why a job is preempted in the way that it is, in the order of the core's numbers, from 1.
CHOICES: Final = (
    *("asked", "queue", "configured", "checkpointable", "only_slots", "swapped_and_released"),
    *("keeps_resources", "rerunnable", "not_rerunnable"),
)

#: What the advisor saw, and what would have led to another action.
_ADVISED: Final[Mapping[str, str]] = {
    "checkpointable": "it has a checkpoint environment",
    "only_slots": "nothing but slots and managed licences is wanted, and it has nothing else",
    "swapped_and_released": "its memory has room in the free swap of its nodes, and the rest is released when"
    " it is stopped",
    "keeps_resources": "what is wanted of it is free once its processes have stopped; with as much free swap"
    " as its memory, and all else released on suspension, it would be P",
    "rerunnable": "a stopped job would keep something that is wanted, and it can be run again",
    "not_rerunnable": "a stopped job would keep something that is wanted, and neither it nor its queue is"
    " rerunnable; else it would be R",
}

#: Likewise, where the system has not all actions.
_OF_SOME: Final[Mapping[str, str]] = {
    "rerunnable": "no gentler one of `actions` frees what is wanted, and it can be run again",
    "not_rerunnable": "no gentler one of `actions` frees what is wanted",
}


def of_victim(facts: Facts, row: int) -> Told:
    """Say what chose a victim, by its row among the decisions."""
    decision = facts.plan.decisions[row]
    column = facts.plan.decisions.column
    slot, asks = int(column("allocation")[row]), int(column("beneficiary_operation")[row])
    if decision.reason in ("subordinate_threshold", "queue_suspended"):
        return _by_queue(facts, decision)
    if decision.reason not in _PREEMPTIONS or slot < 0 or asks < 0:
        return NOTHING
    trace = facts.plan._trace("allocation", slot)
    events = np.flatnonzero(trace["outcome"] == _TAKEN)
    if not len(events):
        return NOTHING
    recorded: Mapping[str, Any] = trace["facts"][int(events[0])]
    operation = int(column("operation")[row])
    counted = recorded["numbers"]
    own, other = priority_of(facts, operation), priority_of(facts, asks)
    owner = name_of(decision.operation)
    numbers: dict[str, Any] = {
        "priority": own,
        "beneficiary_priority": other,
        **{name: int(counted[name]) for name in ("place", "candidates", "preemptees", "wanted")},
        "max_preemptees": facts.plan.policy.settings.max_preemptees,
        "action": LETTERS[int(counted["mode"])],
        "chosen_by": CHOICES[int(counted["why_mode"]) - 1],
    }
    spared = f"at priority {number(other, [own])} or above operation {owner}"
    text = f"; {spared}, which has {number(own, [other])}, would have been spared"
    sentences = [
        *_distance(facts, recorded, asks, numbers),
        order_of(facts, operation, asks, numbers),
        _action(facts, operation, numbers),
        _cap(numbers),
    ]
    if decision.grace:
        numbers["notify"] = facts.plan.policy.settings.notify
        sentences.append(f"Its processes have {seconds(decision.grace)} to end, as `notify` says")
    return Told(numbers, text, tuple(sentences), fields=_lacks(facts, row, recorded, numbers))


def _by_queue(facts: Facts, decision: Decision) -> Told:
    """Say which number in a list would have let a job run, and which job of its queue stops first."""
    queues, told = facts.plan.policy.settings.queues, decision.numbers
    if decision.reason == "queue_suspended":
        return Told(text=f"; with a number above {told['count']:,} that list would not")
    lists = [SubordinateList.parse(q.subordinate_list) for q in queues.values() if q.subordinate_list]
    own = str(facts.snapshot.settings("allocations").get(_slot(facts, decision), {}).get("queue", ""))
    pool = facts.snapshot._core.column("operations", "pool")[_operation(facts, decision)]
    own = own or str(facts.snapshot.names("pools")[int(pool)])
    longest = next((one.longest for listed in lists for one in listed.below if one.queue == own), None)
    text = f"; with slots={told['count']:,} it would run on"
    if longest is None:
        return Told(text=text)
    rule = "longest (lr)" if longest else "shortest (sr)"
    return Told(text=text, sentences=(f"Of queue {name_of(own)} the job that has run {rule} stops first",))


def _slot(facts: Facts, decision: Decision) -> int:
    return rows_by_name(facts.snapshot, "allocations")[str(decision.allocation)]


def _operation(facts: Facts, decision: Decision) -> int:
    return rows_by_name(facts.snapshot, "operations")[str(decision.operation)]


def _distance(facts: Facts, recorded: Mapping[str, Any], asks: int, numbers: dict[str, Any]) -> list[str]:
    """Say when the job that asked would start without, and how far away that may be."""
    starts, far = instant_of(recorded), facts.plan.policy.settings.preemption_distance
    if starts is None:
        return []
    owner = name_of(facts.name("operations", asks))
    numbers["preemption_distance"] = far
    if starts == math.inf:
        return [
            f"Without preemption there is never enough room for operation {owner}, so far as ends are planned"
        ]
    numbers["starts_at"] = starts
    text = f"Without preemption operation {owner} would start at {facts.when(starts)}"
    if far == 0:
        return [f"{text}; `preemption_distance` is 0, so no reservation is near enough"]
    if starts - facts.snapshot.now <= far:
        return [f"{text}, within `preemption_distance` ({seconds(far)}), which the request overrode by force"]
    before = facts.plan.state_before
    cells = {} if before is None else before.operations.get(facts.name("operations", asks), {})
    if cells.get("forced") == "yes":
        return [f"{text}; the request for preemption was by force, which asks for no distance"]
    enough = seconds(starts - facts.snapshot.now)
    rule = f"farther away than `preemption_distance` ({seconds(far)})"
    return [f"{text}, {rule}; with {enough} or more, no job would have been preempted for it"]


def _action(facts: Facts, operation: int, numbers: Mapping[str, Any]) -> str:
    """Say in which way it gives way, and why in that one."""
    letter, chosen = numbers["action"], numbers["chosen_by"]
    word = f"{letter} ({MODES[LETTERS.index(letter)].replace('_', ' ')})"
    if chosen == "asked":
        return f"Its action is {word}, as the request for preemption says"
    _, setting = queue_action(facts, operation)
    if chosen in ("queue", "configured"):
        return f"Its action is {word}, as {setting} says"
    some = len({*facts.plan.policy.settings.actions}) < len(LETTERS)
    says = _OF_SOME.get(chosen, _ADVISED[chosen]) if some else _ADVISED[chosen]
    return f"Its action is {word}, as the advisor chooses ({setting}): {says}"


def _cap(numbers: Mapping[str, Any]) -> str:
    wanted, before, most = (numbers[name] for name in ("wanted", "preemptees", "max_preemptees"))
    jobs = "1 job leaves" if wanted == 1 else f"{wanted:,} jobs leave"
    if wanted + before > most:
        jobs = f"{wanted:,} jobs would have to leave"
    beside = f", beside {before:,} preempted before" if before else ""
    return f"{jobs} for it{beside}; `max_preemptees` is {most:,}"


def _lacks(facts: Facts, row: int, recorded: Mapping[str, Any], numbers: dict[str, Any]) -> dict[str, str]:
    """Say what is missing where it is, for all that is to start there."""
    column = facts.plan.decisions.column
    need, free = (np.asarray(column(name)[row]) for name in ("needed", "free_before"))
    wide = np.asarray(facts.snapshot._head["scope"]) == OF_CLUSTER
    placed = np.asarray(recorded["nodes"].get("placed_on", []))
    here = max(int((placed == column("node")[row]).sum()), 1)
    lacks = (
        np.where(wide, needed_in_all(facts, int(column("beneficiary_operation")[row])), need * here) - free
    )
    # Of what the cluster shares only what this job gives back.
    operation = column("operation") == column("operation")[row]
    gives = column("freed")[operation].sum(axis=0)
    missing = facts.object(np.where(~wide | (gives > 0), np.maximum(lacks, 0), 0))
    if not len(placed):
        return {"lacking": "what it gives back is a part of what is needed"}
    if not missing and not need.any():
        return {}
    if not missing:
        return {"lacking": "what is free there is too little for all of it, or planned for others,"}
    numbers["missing"] = missing
    where = "there" if need.any() else "in the cluster"
    return {"lacking": f"{facts.amounts(missing)} more is needed {where}"}
