"""Where a job would be placed."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import groupby

from tests.reference.slurm.world import Amounts, Job, Request, Room, World

__all__ = ["Spots", "place"]

Spots = list[tuple[Request, str | None]]


def _counted(
    world: World, room: Room, job: Job, request: Request, usable: Sequence[str]
) -> dict[str, Fraction]:
    """Return with how many cpus each node counts: what is free, or what the job takes there."""
    cpu = next((r for r, kind in world.kinds.items() if kind == "cpu" and r not in world.licences), None)
    if cpu is None:
        return dict.fromkeys(usable, Fraction(1))
    free = {node: room.free[node].get(cpu, Fraction(0)) for node in usable}
    if job.whole_nodes or world.settings.SelectType == "select/linear":
        return free
    devices = {r for r, kind in world.kinds.items() if kind == "other" and r not in world.licences}
    if world.since("23.02") or any(q.amounts.get(r, 0) > 0 for q in job.requests for r in devices):
        return dict.fromkeys(usable, request.amounts.get(cpu) or Fraction(1))
    step = job.own.get("cpus_per_task", 1)
    return {node: cpus if step == 1 else cpus // step * step for node, cpus in free.items()}


def _runs(world: World, usable: Sequence[str]) -> list[list[str]]:
    """Return the usable nodes that follow each other and have one weight."""
    weight = world.settings.node_weights
    groups = groupby(world.nodes, lambda node: (node in usable, weight.get(node, 1)))
    return [list(nodes) for (may, _), nodes in groups if may]


def _chosen(world: World, room: Room, job: Job, request: Request, usable: Sequence[str]) -> list[str]:
    """Return nodes for a request, in order: fewer than it wants if there are no more."""
    weight = world.settings.node_weights
    count = sum(q.count for q in job.requests if not world.only_licences(q))
    whole = world.settings.SelectType == "select/linear" or job.whole_nodes
    if world.since("26.05") and count == 1 and job.own.get("max_nodes", 1) == 1 and not whole:
        return [min(usable, key=lambda node: weight.get(node, 1))] if usable else []
    cpus = _counted(world, room, job, request, usable)
    runs, chosen = _runs(world, usable), list[str]()
    while len(chosen) < request.count and runs:
        left = request.count - len(chosen)

        def badness(run: list[str], left: int = left) -> tuple[Fraction | int | bool, ...]:
            total = sum(cpus[node] for node in run)
            enough = len(run) >= left
            return weight.get(run[0], 1), not enough, total if enough else -total

        best = min(runs, key=badness)
        chosen += best[:left] if left > 1 else [min(best, key=lambda node: cpus[node])]
        runs.remove(best)
    return sorted(chosen, key=world.nodes.index)


def place(
    world: World,
    room: Room,
    job: Job,
    blocked: frozenset[str] = frozenset(),
    requests: Sequence[Request] | None = None,
) -> Spots | None:
    """Return where all of a job, or some of its requests, would be placed in a room, or None."""
    of = job.requests if requests is None else requests
    inside = world.partition_nodes(job)
    whole = job.whole_nodes or world.settings.SelectType == "select/linear"
    room = room.copy()
    spots: Spots = []
    need: Amounts = {}
    for request in of:
        for r in world.licences:
            need[r] = need.get(r, Fraction(0)) + request.count * request.amounts.get(r, Fraction(0))
    if any(amount > room.free[None].get(r, 0) for r, amount in need.items() if amount > 0):
        return None
    for request in of:
        wants = {r: v for r, v in request.amounts.items() if v > 0}
        if wants and set(wants) <= world.licences:
            spots += [(request, None)] * request.count
            continue
        usable = []
        for node in world.nodes:
            allowed = (
                node in inside
                and node not in blocked
                and world.schedulable[node]
                and request.tags <= world.tags[node]
                and request.node in (None, node)
            )
            alone = not any(other.whole_nodes for other in room.there[node]) or not room.there[node]
            if whole or world.settings.SelectType == "select/linear":
                alone = not room.there[node]
            free = room.free[node]
            fits = all(v <= free.get(r, 0) for r, v in wants.items() if r not in world.licences)
            if allowed and alone and fits:
                usable.append(node)
        chosen = _chosen(world, room, job, request, usable)
        if len(chosen) < request.count:
            return None
        for node in chosen:
            spots.append((request, node))
            room.add(node, wants, -1, world.licences)
            if whole:
                room.there[node].append(job)
    return spots
