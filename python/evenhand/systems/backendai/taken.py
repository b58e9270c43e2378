"""Why a session was preempted: by which rule and numbers, in which order, how it was chosen and leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.explain.explanation import Claim
from evenhand.explain.facts import number, sentence
from evenhand.explain.told import Told
from evenhand.fields import TABLES
from evenhand.reasons import MODES, OUTCOMES
from evenhand.systems.backendai.sessions import Sessions
from evenhand.systems.backendai.told import ordered_by

if TYPE_CHECKING:
    from evenhand.explain.facts import Facts

__all__ = ["chosen", "spared_from"]

_TAKEN = OUTCOMES.index("taken")
_OF_CLUSTER = TABLES["resources"]["scope"].words.index("cluster")


def chosen(facts: Facts, row: int) -> Told:
    """Return why a session was preempted."""
    of, column = Sessions(facts), facts.plan.decisions.column
    victim, asks = (int(column(name)[row]) for name in ("operation", "beneficiary_operation"))
    numbers = of.of("rank", victim, asks)
    rule = f" ({number(of.rank(asks))} against {number(of.rank(victim))})"
    if of.s.preemption_key != "priority":
        rule = f" ({of.key} {number(of.rank(asks))} against {number(of.rank(victim))})"
    least = spared_from(of, asks)
    rule += f"; with {of.key} {number(least)} or more it would have been spared"
    numbers["spared_from"] = least
    if of.s.victim_threshold != "none":
        numbers |= {"preemptible_priority": of.s.preemptible_priority}
        if of.s.preemption_key == "priority" and least <= of.s.preemptible_priority + 1 < of.rank(asks):
            rule += f" (preemptible_priority is {number(of.s.preemptible_priority)})"
    order, ordered = _order(of, row, victim, asks)
    leaves, how = _leaves(of, row, victim)
    selected = _selected(of, asks)
    numbers |= ordered | selected.numbers | how
    claims = (Claim("order", sentence(order), ordered), selected, Claim("mode", leaves, how))
    return Told(numbers, rule, claims=claims, fields={"lacking": _lacking(facts, row)})


def spared_from(of: Sessions, asks: int) -> float:
    """Return the least number with which no session is preempted for one."""
    least = of.rank(asks)
    if of.s.preemption_key == "priority" and of.s.victim_threshold != "none":
        least = min(least, of.s.preemptible_priority + 1)
    return least


def _lacking(facts: Facts, row: int) -> str:
    """Say what lacked on the node, and of what is counted in the cluster as a whole."""
    column, snapshot = facts.plan.decisions.column, facts.snapshot
    lacks = np.maximum(column("needed")[row] - column("free_before")[row], 0)
    wide = np.asarray(snapshot._head["scope"]) == _OF_CLUSTER
    found = [
        f"{facts.amounts(facts.object(np.where(which, lacks, 0)))} more is needed {where}"
        for which, where in ((~wide, "there"), (wide, "in the cluster"))
        if lacks[which].any()
    ]
    if found:
        return " and ".join(found)
    rest = "it leaves with the rest of its operation,"
    if column("node")[row] < 0:
        return rest
    used = bool(column("needed")[row][~wide].any())
    return f"{rest} though {'there is room enough on this node' if used else 'nothing of this node is used'},"


def _order(of: Sessions, row: int, victim: int, asks: int) -> tuple[str, dict[str, Any]]:
    """Say in which order victims are taken, and which place it has."""
    values: dict[str, Any] = {"preemption_order": of.s.preemption_order}
    has = of.ranked(victim)
    began = of.began(victim)
    if of.own(victim).get("started") is False:
        has += " and has never run"
        values[f"started_of_{of.names[victim]}"] = False
    elif began is not None and of.s.preemption_order in ("oldest", "newest"):
        has += f" and began at {of.facts.when(began)}"
        values["began"] = began
    text = f"victims are taken {ordered_by(of)}: {of.name(victim)} has {has}"
    place, among = _place(of, row, asks)
    if place:
        values |= {"place": place, "candidates": among}
        where = " on the node that was chosen" if of.s.victim_area == "agent" else ""
        text += f", number {place:,} of {among:,} candidates{where}"
    return text, values


def _place(of: Sessions, row: int, asks: int) -> tuple[int, int]:
    """Return which candidate of how many a victim was for a session; zeros: that was not noted."""
    slot = int(of.facts.plan.decisions.column("allocation")[row])
    trace = of.facts.plan._trace("allocation", slot)
    owner = np.asarray(of.snapshot._core.column("requests", "operation"))
    for event, (outcome, request) in enumerate(zip(trace["outcome"], trace["request"], strict=True)):
        numbers = trace["facts"][event]["numbers"]
        if outcome == _TAKEN and request >= 0 and owner[request] == asks and "place" in numbers:
            return int(numbers["place"]), int(numbers["candidates"])
    return 0, 0


def _selected(of: Sessions, asks: int) -> Claim:
    """Say how victims are selected from those in order."""
    selection, name = of.s.victim_selection, of.name(asks)
    values: dict[str, Any] = {"victim_selection": selection}
    if selection == "minimum":
        text = f"those are taken that cost least (victim_selection minimum, victim_cost {of.s.victim_cost})"
        values["victim_cost"] = of.s.victim_cost
    elif selection == "prefix":
        text = f"they are taken until {name} fits (victim_selection prefix)"
    else:
        text = f"they are taken until {name} fits, and all but those that it needs are given back"
        text += " (victim_selection irreducible)"
    return Claim("selection", sentence(text), values)


def _leaves(of: Sessions, row: int, victim: int) -> tuple[str, dict[str, Any]]:
    """Say what becomes of the session."""
    mode, s = MODES[of.facts.plan.decisions.column("mode")[row]], of.s
    values: dict[str, Any] = {"preemption_mode": s.preemption_mode}
    if mode == "requeue":
        return "Its session ends and waits in the queue again (preemption_mode reschedule).", values
    if mode == "suspend":
        values["suspend_approach"] = s.suspend_approach
        where = "where it is" if s.suspend_approach == "keep" else "on any node"
        text = "Its session is suspended and resumes once all of it fits again, "
        return f"{text}{where} (preemption_mode suspend, suspend_approach {s.suspend_approach}).", values
    if s.preemption_mode == "suspend":
        values |= of.of("kind", victim, suspend_fallback=s.suspend_fallback)
        text = f"Its session is of kind {of.kind(victim)}, which cannot resume later: it ends"
        return f"{text} (preemption_mode suspend, suspend_fallback {s.suspend_fallback}).", values
    return "Its session ends, without a period of grace (preemption_mode terminate).", values
