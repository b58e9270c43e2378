"""Which jobs may be preempted for another, and in which order, found from the rows alone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tests.reference.explanations.gridengine.subordinates import queue_of
from tests.reference.explanations.job_rooms import job_meant
from tests.reference.explanations.world import World, same

if TYPE_CHECKING:
    from tests.reference.explanations.world import Row

__all__ = [
    "action_for",
    "action_of",
    "allowed",
    "asked_for",
    "candidates",
    "earlier_victims",
    "exactly_known",
    "instants",
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


def asked_for(world: World, asks: Row) -> Row:
    """Return what a person has asked for, for a job that waits, as the state has it."""
    kept = (row for row in world.state.get("operations", ()) if same(row["name"], asks["name"]))
    return next(kept, {})


def action_for(world: World, operation: object, asks: Row) -> str:
    """Return the action by which a job would leave for another: a request's, else the configured one."""
    requested = str(asked_for(world, asks).get("requested", "no"))
    return action_of(world, operation)[0] if requested in ("no", "configured") else requested


def allowed(world: World, operation: object, asks: Row) -> bool:
    """Return whether a job allows the action by which it would leave for another."""
    rows, action = world.allocations_of(operation), action_for(world, operation, asks)
    if action != "advisor" and action not in world.settings.actions:
        return False
    checkpointable = all(row.get("checkpointable", False) for row in rows)
    if action == "C":
        return checkpointable
    forced = asked_for(world, asks).get("forced") == "yes"
    return action != "R" or forced or may_be_rerun(world, rows)


def may_forbid(world: World, operation: object, asks: Row) -> bool:
    """Return whether a job may not allow it: without T none of the others may do for the advisor."""
    advised = action_for(world, operation, asks) == "advisor" and "T" not in world.settings.actions
    return advised or not allowed(world, operation, asks)


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
    """Return whether candidates follow from the rows: no pace spares any, and each has some action."""
    pace = world.pace
    return (
        "T" in world.settings.actions
        and world.settings.pace.is_off
        and not pace.caps
        and not any(pace.hours.values())
    )


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
        if willing and lower and allowed(world, name, asks):
            start = min(float(a.get("start_time", 0.0)) for a in rows)
            found.append((priority_of(job), -start, place, name))
    return [name for *_, name in sorted(found)]


def _lasts(world: World, operation: object) -> float:
    """Return how long a job that waits is planned to run."""
    s = world.settings
    default = math.inf if s.default_duration is None else s.default_duration
    longest = max((q.get("duration", default) for q in world.requests_of(operation)), default=default)
    return float(longest) + float(s.DURATION_OFFSET)


def _ends(world: World, row: Row) -> float:
    """Return when an allocation is taken to have ended."""
    s, now = world.settings, world.now
    soon = now + max(s.DURATION_OFFSET, 1.0)
    if World.state_of(row) == "preempting":
        deadline = row.get("deadline")
        return float(deadline) if deadline is not None and deadline > now else soon
    end = row.get("planned_end")
    if end is None and s.default_duration is None:
        return math.inf
    end = float(row.get("start_time", 0.0)) + s.default_duration if end is None else float(end)
    return end + s.DURATION_OFFSET if end + s.DURATION_OFFSET > now else soon


def instants(world: World, asks: Row) -> set[float]:
    """Return the instants at which room of a job that waits may begin: something has ended, or will begin.

    Parameters
    ----------
    world : World
    asks : mapping
        The job; where something begins, it may have to have ended by then.
    """
    found = {world.now + 1.0, *(_ends(world, row) for row in world.tables["allocations"].values())}
    for row in world.data.get("reservations", ()):
        found |= {float(row[name]) for name in ("from", "until") if row.get(name) is not None}
    for d in world.decisions:
        found |= {float(d[name]) for name in ("at", "until") if d[name] is not None}
        whose = d["operation"] if d["action"] == "start" else (d["beneficiary"] or {}).get("operation")
        if d["action"] in ("start", "preempt") and whose is not None:
            found.add(world.now + _lasts(world, whose))
    for row in world.tables["allocations"].values():
        if (whose := job_meant(world, row.get("beneficiary"))) is not None:
            found.add(world.now + _lasts(world, whose))
    lasts = _lasts(world, asks["name"])
    return {one for at in found for one in (at, at - lasts) if math.isfinite(one)}
