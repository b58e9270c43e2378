"""Where a job is placed over others that share their cpus with it, and which of them then have to wait."""

from __future__ import annotations

from tests.reference.slurm.places import Spots, place
from tests.reference.slurm.victims import freed, leave
from tests.reference.slurm.world import Job, Room, World

__all__ = ["over", "under"]


def over(world: World, base: Room, job: Job, wanted: list[Job], blocked: frozenset[str]) -> Spots | None:
    """Return a place off the partitions of the highest tiers, as long as there is room on the others."""
    partitions = list(world.settings.partitions)

    def key(other: Job) -> tuple[int, int]:
        place_of = partitions.index(other.partition_name) if other.partition_name else len(partitions)
        return -other.partition.PriorityTier, place_of

    spots = None
    for kept in [None, *sorted({key(other) for other in wanted})]:
        room = base.copy()
        for other in wanted:
            if kept is None or key(other) > kept:
                leave(world, room, other, stays=True)
        found = place(world, room, job, blocked)
        if found is None:
            break
        spots = found
    return spots


def under(world: World, base: Room, job: Job, wanted: list[Job], spots: Spots) -> list[Job]:
    """Return whose cpus are no more: of the highest tier the first to start keeps its own first."""
    nodes = {node for _, node in spots}
    linear = world.settings.SelectType == "select/linear"
    staying: list[Job] = []

    def fits(other: Job) -> bool:
        if not nodes & set(other.nodes):
            return True
        if linear or job.whole_nodes or other.whole_nodes:
            return False
        room = base.copy()
        for one in wanted:
            if one not in [*staying, other]:
                leave(world, room, one, stays=True)
        for request, node in spots:
            if node is not None:
                room.add(node, request.amounts, -1, world.licences)
        taken = {(a.node, r) for a in other.running for r in freed(world, other, a, stays=True)}
        return all(room.free[node].get(r, 0) >= 0 for node, r in taken if node in nodes)

    order = sorted(wanted, key=lambda o: (-o.partition.PriorityTier, o.start, o.submitted, o.row))
    for other in order:
        staying += [other] if fits(other) else []
    return [other for other in wanted if other not in staying]
