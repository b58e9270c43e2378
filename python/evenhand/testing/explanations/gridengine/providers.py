"""Which jobs may be preempted for another, and in which order, found from the rows alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.testing.explanations.gridengine.subordinates import queue_of
from evenhand.testing.explanations.world import World, same

if TYPE_CHECKING:
    from evenhand.testing.explanations.world import Row

__all__ = [
    "action_of",
    "allowed",
    "candidates",
    "earlier_victims",
    "exactly_known",
    "may_be_rerun",
    "preempted_before",
    "priority_of",
]


def priority_of(row: Row) -> float:
    """Return the priority of a job."""
    return float(row.get("priority", 0.0) or 0.0)


def action_of(world: World, operation: object) -> tuple[str, bool]:
    """Return the configured action of a job, and whether one of its queues says so."""
    found, by_queue = str(world.settings.preemption_action), False
    for row in world.allocations_of(operation):
        queue = world.settings.queues.get(queue_of(world, row))
        if queue is not None and queue.preemption_action is not None and World.state_of(row) == "running":
            found, by_queue = str(queue.preemption_action), True
    return found, by_queue


def may_be_rerun(world: World, rows: list[Row]) -> bool:
    """Return whether all of a job is rerunnable, by itself or by its queue."""

    def queue_says(row: Row) -> bool:
        queue = world.settings.queues.get(queue_of(world, row))
        return queue is not None and bool(queue.rerun)

    return all(row.get("rerunnable", False) or queue_says(row) for row in rows)


def allowed(world: World, operation: object) -> bool:
    """Return whether the configured action may be taken with a job."""
    rows, action = world.allocations_of(operation), action_of(world, operation)[0]
    if action == "C":
        return all(row.get("checkpointable", False) for row in rows)
    return action != "R" or may_be_rerun(world, rows)


def earlier_victims(world: World, step: int | None) -> set[str]:
    """Return the jobs that are preempted in the steps before one; None: in all."""
    return {
        str(d["operation"])
        for d in world.decided("preempt")
        if d["beneficiary"] is not None and (step is None or d["step"] < step)
    }


def preempted_before(world: World, step: int | None) -> tuple[int, int]:
    """Return how many jobs are preempted or leave before a step, at least and at most.

    Those that keep all that they have may be stopped on subordinate, which does not count.
    """
    sure, perhaps = earlier_victims(world, step), set()
    for name in world.tables["operations"]:
        rows = world.allocations_of(name)
        away = [a for a in rows if World.state_of(a) == "preempted"]
        leaves = any(World.state_of(a) == "preempting" for a in rows)
        whole = len(away) == len(rows) and all(a.get("held") == a.get("resources") for a in away)
        if leaves or (away and not whole):
            sure.add(name)
        elif away:
            perhaps.add(name)
    return len(sure), len(sure | perhaps)


def exactly_known(world: World) -> bool:
    """Return whether candidates follow from the rows: no pace spares any."""
    pace = world.pace
    return world.settings.pace.is_off and not pace.caps and not any(pace.hours.values())


def candidates(world: World, asks: Row, step: int | None) -> list[str]:
    """Return the jobs that may be preempted for another, in order.

    Parameters
    ----------
    world : World
    asks : mapping
        The job that asks.
    step : int or None
        Victims of the steps before it are claimed.
    """
    taken, found = earlier_victims(world, step), []
    for place, name in enumerate(world.tables["operations"]):
        rows, job = world.allocations_of(name), world.row("operations", name)
        if not rows or {World.state_of(a) for a in rows} != {"running"} or name in taken:
            continue
        willing = all(a.get("preemptible", True) for a in rows)
        lower = priority_of(job) < priority_of(asks) and not same(name, asks["name"])
        if willing and lower and allowed(world, name):
            start = min(float(a.get("start_time", 0.0)) for a in rows)
            found.append((priority_of(job), -start, place, name))
    return [name for *_, name in sorted(found)]
