"""Free room of a node, and what of it a request may use.

"free_at_once": what has been asked to leave counts as gone. "held_until_gone": it stands in the way of
everybody but its beneficiary until it has gone, on an overfull node too, and what victims free beyond
their beneficiary's need is nobody's yet.
"""

from __future__ import annotations

from tests.reference.ytsaurus.vectors import Amounts, minus, plus, zeros
from tests.reference.ytsaurus.world import Allocation, Node, Request, World, room

__all__ = ["ClusterRoom", "Room", "not_taken", "used_on"]


def used_on(node: Node) -> Amounts:
    """Return what is used on a node, without what is leaving."""
    used = [0] * len(node.capacity)
    for allocation in node.allocations:
        if not allocation.leaves:
            used = plus(used, room(allocation))
    for amounts in node.started:
        used = plus(used, amounts)
    return used


class ClusterRoom:
    """Amounts of resources that are counted in the cluster, not on nodes: unused, and of what is leaving."""

    def __init__(self, world: World) -> None:
        self.unused = list(world.cluster_capacity)
        self.left = zeros(self.unused)
        for allocation in world.allocations:
            self.unused = minus(self.unused, room(allocation))
            if allocation.state == "preempting":
                self.left = plus(self.left, not_taken(allocation))


def not_taken(allocation: Allocation) -> Amounts:
    """Return the room of a leaving allocation that its beneficiary has not taken yet."""
    return [a - min(a, taken) for a, taken in zip(allocation.amounts, allocation.room_taken, strict=True)]


class Room:
    """Free room of one node during its heartbeat."""

    def __init__(self, world: World, node: Node, cluster: ClusterRoom) -> None:
        self._world = world
        self._cluster = cluster
        self._held = world.settings.victims_room == "held_until_gone"
        self._unused = minus(node.capacity, used_on(node))
        leaving = [a for a in node.allocations if a.state == "preempting"]
        self._leaving: list[tuple[tuple[object, object], Amounts]] = [
            (a.beneficiary, not_taken(a)) for a in leaving
        ]

    def _parts(self) -> list[tuple[int, int]]:
        """Return what is unused, and what of it stands in the way until it has gone, by resource."""
        left = zeros(self._unused)
        for _, amounts in self._leaving:
            left = plus(left, amounts)
        cluster = self._cluster
        pairs = [
            (cluster.unused[r], cluster.left[r]) if in_cluster else (self._unused[r], left[r])
            for r, in_cluster in enumerate(self._world.in_cluster)
        ]
        return [(unused, kept if self._held else 0) for unused, kept in pairs]

    @property
    def free(self) -> Amounts:
        """Anybody's; negative where the node is overfull, or where work overlaps with what leaves."""
        return [unused - kept for unused, kept in self._parts()]

    def free_for(self, request: Request) -> Amounts:
        """Return what a request may use: the free room, and what is leaving for it."""
        if not self._held:
            return self.free
        own = zeros(self._unused)
        for _, amounts in self._for(request):
            own = plus(own, amounts)
        return plus(self.free, own)

    def start(self, request: Request, victims: list[Allocation]) -> None:
        """Book a started request and the victims that make room for it."""
        for victim in victims:
            self._leave(victim, (request.operation.name, request.name))
        self._use(request.amounts, 1)
        need = list(request.amounts)
        for _, amounts in self._for(request):
            taken = [min(n, a) for n, a in zip(need, amounts, strict=True)]
            amounts[:] = minus(amounts, taken)
            self._cluster.left = minus(self._cluster.left, taken)
            need = minus(need, taken)

    def give_up(self, victims: list[Allocation]) -> None:
        """Book victims that leave for nobody."""
        for victim in victims:
            self._leave(victim, (None, None))

    def _leave(self, victim: Allocation, beneficiary: tuple[object, object]) -> None:
        self._use(victim.amounts, -1)
        self._leaving.append((beneficiary, list(victim.amounts)))
        self._cluster.left = plus(self._cluster.left, victim.amounts)

    def _use(self, amounts: Amounts, sign: int) -> None:
        self._unused = minus(self._unused, [sign * a for a in amounts])
        self._cluster.unused = minus(self._cluster.unused, [sign * a for a in amounts])

    def _for(self, request: Request) -> list[tuple[tuple[object, object], Amounts]]:
        def meant(beneficiary: tuple[object, object]) -> bool:
            operation, wanted = beneficiary
            return wanted == request.name or (wanted is None and operation == request.operation.name)

        return [(whose, amounts) for whose, amounts in self._leaving if meant(whose)]
