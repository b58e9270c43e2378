"""What queues of YuniKorn have and may have, after each decision of a cycle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.reference.explanations.world import ROOT, Amounts, World

if TYPE_CHECKING:
    from tests.reference.explanations.world import Row

__all__ = ["guaranteed", "held", "leaving", "maximum", "over_max", "priority_of", "queue_of", "root"]


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


def guaranteed(world: World, queue: str) -> Amounts:
    """Return what a queue is guaranteed; in cycles, without a figure, what its children are."""
    own = world.row("pools", queue).get("strong_guarantee") or {}
    own = {r: float(amount) for r, amount in own.items()} if any(own.values()) else {}
    children = [
        str(row["name"]) for row in world.tables["pools"].values() if str(row.get("parent") or ROOT) == queue
    ]
    if queue == ROOT or not children or world.settings.preemption == "per_ask":
        return own
    limits, below = world.row("pools", queue).get("limits") or {}, [guaranteed(world, c) for c in children]
    for r in world.resources:
        if r not in own:
            own[r] = min(sum(of.get(r, 0.0) for of in below), float(limits.get(r, "inf")))
    return own


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


def maximum(world: World, queue: str) -> Amounts:
    """Return the max of a queue; without cycles the root may have what all nodes have."""
    limits = {r: float(a) for r, a in (world.row("pools", queue).get("limits") or {}).items()}
    if queue != ROOT or world.settings.preemption != "per_ask":
        return dict(world.total) if queue == ROOT and not limits else limits
    open_, all_ = world.amounts({}), world.amounts({})
    for row in world.tables["nodes"].values():
        for r, amount in (row.get("capacity") or {}).items():
            all_[r] += amount
            open_[r] += amount * bool(row.get("schedulable", True))
    has = {
        r: total if r in world.wide or abs(total - open_[r]) > 1e-9 else all_[r]
        for r, total in world.total.items()
    }
    return limits | {r: min(a, limits.get(r, a)) for r, a in has.items() if a > 0}


def over_max(world: World, queue: str, request: Row, count: int) -> Amounts:
    """Return the max of a queue, of resources of which it would have more with an ask."""
    used, still = held(world, queue, count), leaving(world, queue, count)
    need = request.get("resources") or {}
    most = maximum(world, queue)
    return {
        r: float(limit)
        for r, limit in most.items()
        if need.get(r, 0) and used[r] + still[r] + need[r] > limit + 1e-9
    }
