"""What queues of YuniKorn have and may have, after each decision of a cycle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.testing.explanations.world import ROOT, Amounts, World

if TYPE_CHECKING:
    from evenhand.testing.explanations.world import Row

__all__ = ["held", "leaving", "over_max", "priority_of", "queue_of", "root"]


def queue_of(operation: Row) -> str:
    """Return the queue of an application."""
    return str(operation.get("pool") or ROOT)


def root(told: object) -> str:
    """Return a queue by what it is called in sentences."""
    return ROOT if told == "root" else str(told)


def priority_of(world: World, row: Row) -> float:
    """Return the priority of an ask or an allocation: its own, else that of its application."""
    own = row.get("priority")
    return float(world.operation_of(row).get("priority", 0) or 0) if own is None else float(own)


def held(world: World, queue: str, count: int) -> Amounts:
    """Return what a queue has after so many decisions, without what leaves."""
    used = world.amounts({})
    inside = {str(o["name"]) for o in world.below(queue)}
    gone = {str(d["allocation"]) for d in world.decisions[:count] if d["action"] == "preempt"}
    rows = [a for a in world.tables["allocations"].values() if str(a["operation"]) in inside]
    for row in rows:
        if str(row["name"]) not in gone and World.state_of(row) != "preempting":
            has = row.get("held" if World.state_of(row) == "preempted" else "resources") or {}
            for r, amount in has.items():
                used[r] += amount
    for d in world.decisions[:count]:
        if d["action"] == "start" and str(d["operation"]) in inside:
            for r, amount in (world.row("requests", d["request"]).get("resources") or {}).items():
                used[r] += amount
    return used


def leaving(world: World, queue: str, count: int) -> Amounts:
    """Return what still leaves of a queue after so many decisions."""
    sum_ = world.amounts({})
    inside = {str(o["name"]) for o in world.below(queue)}
    for row in world.tables["allocations"].values():
        if str(row["operation"]) in inside and World.state_of(row) == "preempting":
            for r, amount in (row.get("resources") or {}).items():
                sum_[r] += amount
    for d in world.decisions[:count]:
        if d["action"] == "preempt" and str(d["operation"]) in inside:
            for r, amount in d["freed"].items():
                sum_[r] += amount
    return sum_


def over_max(world: World, queue: str, request: Row, count: int) -> Amounts:
    """Return the max of a queue, of resources of which it would have more with an ask."""
    used, still = held(world, queue, count), leaving(world, queue, count)
    need = request.get("resources") or {}
    most = world.total if queue == ROOT else world.row("pools", queue).get("limits") or {}
    return {
        r: float(limit)
        for r, limit in most.items()
        if need.get(r, 0) and used[r] + still[r] + need[r] > limit + 1e-9
    }
