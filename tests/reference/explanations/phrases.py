"""Counts in sentences, counted anew: victims of a step, starts, allocations by group."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from tests.reference.explanations.registry import must
from tests.reference.explanations.world import ROOT, World, same

if TYPE_CHECKING:
    from evenhand.explain.explanation import Explanation
    from tests.reference.explanations.world import Row

__all__ = ["PHRASES", "check_counts"]

_KINDS = 8  # of outcomes that are said

Counted = Callable[[World, "Explanation", "Row", list[int]], list[int]]


def _operations(world: World, explanation: Explanation) -> set[str]:
    """Return the operations of an element."""
    name = str(explanation.name)
    if explanation.table == "operations":
        return {name}
    inside = world.tables["operations"].values() if name == ROOT else world.below(name)
    return {str(row["name"]) for row in inside}


def _of_element(world: World, explanation: Explanation, _row: Row, told: list[int]) -> list[int]:
    mine = _operations(world, explanation)
    starts = [d for d in world.decided("start") if str(d["operation"]) in mine]
    victims = [d for d in world.decided("preempt") if str(d["operation"]) in mine]
    served = [d for d in world.decided("preempt") if str((d["beneficiary"] or {}).get("operation")) in mine]
    return [len(starts), len(victims), *([len(served)] if len(told) > 2 or served else [])]


def _on_node(world: World, explanation: Explanation, _row: Row, _told: list[int]) -> list[int]:
    return [len(world.decided(action, node=explanation.name)) for action in ("preempt", "start")]


def _of_step(world: World, explanation: Explanation, _row: Row, told: list[int]) -> list[int]:
    (mine,) = world.decided("preempt", allocation=explanation.name)
    step = world.victims_of(mine["step"])
    counts = [step.index(mine) + 1, len(step)]
    return [*counts, len({str(d["operation"]) for d in step})] if len(told) > 2 else counts


def _of_request(world: World, _explanation: Explanation, row: Row, _told: list[int]) -> list[int]:
    return [len(world.decided("start", request=row["name"])), int(row.get("count", 1))]


def _still_waiting(world: World, explanation: Explanation, _row: Row, _told: list[int]) -> list[int]:
    refused = [q for q in world.requests_of(explanation.name) if str(q["name"]) in world.refusals]
    return [len(refused) - sum(" waits: " in sentence for sentence in explanation.sentences)]


def _kinds_beyond(_world: World, explanation: Explanation, _row: Row, _told: list[int]) -> list[int]:
    return [sum(met["outcome"] != "no_violation" for met in explanation.looked_at) - _KINDS]


def _by_group(world: World, explanation: Explanation, row: Row, _told: list[int]) -> list[int]:
    name = explanation.name if explanation.table == "operations" else row["operation"]
    groups = world.plan.groups.to_dict()
    found = [str(groups.get(str(a["name"]), "")) for a in world.allocations_of(name)]
    return [found.count(g) for g in ("non_preemptible", "aggressively_preemptible", "preemptible")]


#: What a sentence counts, and how it is counted; groups of the pattern are whole numbers.
PHRASES: tuple[tuple[re.Pattern[str], Counted], ...] = (
    (
        re.compile(
            r"[Tt]his plan starts ([\d,]+) of its requests and preempts ([\d,]+) of its allocations"
            r"(?:, and ([\d,]+) (?:is|are) preempted for it)?"
        ),
        _of_element,
    ),
    (re.compile(r"this plan preempts ([\d,]+) and starts ([\d,]+)"), _on_node),
    (re.compile(r"It is victim ([\d,]+) of ([\d,]+) of this step"), _of_step),
    (re.compile(r"It is allocation ([\d,]+) of ([\d,]+), of ([\d,]+) operations?, that leave"), _of_step),
    (re.compile(r"starts ([\d,]+) of ([\d,]+) times only"), _of_request),
    (re.compile(r"([\d,]+) more of its requests wait"), _still_waiting),
    (re.compile(r"([\d,]+) more kinds of outcomes"), _kinds_beyond),
    (
        re.compile(
            r"oldest first: ([\d,]+) non-preemptible, ([\d,]+) aggressively preemptible"
            r" and ([\d,]+) preemptible"
        ),
        _by_group,
    ),
)


_BEHIND = re.compile(r"^[Oo]peration (\S+) is in .*, behind operation (\S+) with (-?[\d.,]*\d)")


def check_counts(
    world: World, explanation: Explanation, row: Row, sentence: str
) -> tuple[list[float], set[str]]:
    """Return the numbers and names of a sentence that are counted and found anew here.

    Parameters
    ----------
    world : World
    explanation : Explanation
    row : mapping
        Of the snapshot: what is explained.
    sentence : str

    Raises
    ------
    AssertionError
        If it counts wrongly, or another job is next before one.
    """
    numbers: list[float] = []
    names: set[str] = set()
    for pattern, counted in PHRASES:
        if (match := pattern.search(sentence)) is not None:
            told = [int(group.replace(",", "")) for group in match.groups() if group is not None]
            found = counted(world, explanation, row, told)
            must(told == found, f"it counts {told}, and there are {found}")
            numbers += map(float, told)
    if (match := _BEHIND.search(sentence)) is not None and world.system == "slurm":
        _behind(world, *match.groups())
        names.add(match[2])
        numbers.append(float(match[3].replace(",", "")))
    return numbers, names


def _behind(world: World, name: str, other: str, priority: str) -> None:
    """Raise `AssertionError` unless a job is the next before another one of its tier that waits."""
    from tests.reference.explanations.slurm.jobs import priority_of, tiers_of

    mine = world.row("operations", name)
    rivals = [
        job
        for job in world.tables["operations"].values()
        if world.requests_of(job["name"])
        and max(tiers_of(world, job)) == max(tiers_of(world, mine))
        and priority_of(world, job) > priority_of(world, mine)
    ]
    nearest = min((priority_of(world, job) for job in rivals), default=None)
    must(any(same(job["name"], other) for job in rivals), f"it is not behind {other}")
    must(nearest == priority_of(world, world.row("operations", other)), "another one is nearer", nearest)
    must(abs(float(priority.replace(",", "")) - (nearest or 0.0)) < 1e-6, "its priority", nearest)


def decisions_about(world: World, explanation: Explanation) -> list[Row]:
    """Return the decisions of what is explained, and those of the same steps."""
    column = {"allocations": "allocation", "requests": "request", "nodes": "node"}.get(explanation.table)
    if column is None:
        return []
    mine = [d for d in world.decisions if same(d[column], explanation.name)]
    steps = {d["step"] for d in mine}
    return [d for d in world.decisions if d["step"] in steps]
