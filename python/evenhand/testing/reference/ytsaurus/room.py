"""Free room of a node, and what of it a request may use.

"free_at_once": what has been told to leave counts as gone. "held_until_gone": it stands in the way of
everybody but its beneficiary, and what victims free beyond their beneficiary's need is nobody's yet.
"""

from __future__ import annotations

from evenhand.testing.reference.ytsaurus.vectors import Amounts, minus, plus, zeros
from evenhand.testing.reference.ytsaurus.world import Allocation, Node, Request, World, room

__all__ = ["ClusterRoom", "Room", "used_on"]


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
    """Free amounts of resources that are counted in the cluster, not on nodes."""

    def __init__(self, world: World) -> None:
        free = list(world.cluster_capacity)
        for allocation in world.allocations:
            free = minus(free, room(allocation))
            if allocation.state == "preempting" and world.settings.victims_room == "held_until_gone":
                free = minus(free, allocation.amounts)
        self.free = free


class Room:
    """Free room of one node during its heartbeat.

    Attributes
    ----------
    free : amounts
        Anybody's; negative where the node is overfull.
    """

    def __init__(self, world: World, node: Node, cluster: ClusterRoom) -> None:
        self._world = world
        self._cluster = cluster
        self._held = world.settings.victims_room == "held_until_gone"
        self.free = minus(node.capacity, used_on(node))
        leaving = [a for a in node.allocations if a.state == "preempting"]
        self._leaving = [(a.beneficiary, list(a.amounts)) for a in leaving] if self._held else []
        for _, amounts in self._leaving:
            self.free = minus(self.free, amounts)
        pairs = zip(self.free, cluster.free, world.in_cluster, strict=True)
        self.free = [of_cluster if in_cluster else own for own, of_cluster, in_cluster in pairs]

    def free_for(self, request: Request) -> Amounts:
        """Return what a request may use: the free room, and what is leaving for it."""
        free = self.free
        for _, amounts in self._for(request):
            free = plus(free, amounts)
        return free

    def start(self, request: Request, victims: list[Allocation]) -> None:
        """Book a started request and the victims that make room for it."""
        need = list(request.amounts)
        for _, amounts in self._for(request):
            used = [min(n, a) for n, a in zip(need, amounts, strict=True)]
            amounts[:] = minus(amounts, used)
            need = minus(need, used)
        freed = self._sum(victims)
        if self._held:
            self.free = [f - max(0, n - v) for f, n, v in zip(self.free, need, freed, strict=True)]
        else:
            self.free = minus(plus(self.free, freed), need)
        self._settle()

    def give_up(self, victims: list[Allocation]) -> None:
        """Book victims that leave for nobody."""
        if not self._held:
            self.free = plus(self.free, self._sum(victims))
            self._settle()

    def _for(self, request: Request) -> list[tuple[tuple[object, object], Amounts]]:
        def meant(beneficiary: tuple[object, object]) -> bool:
            operation, wanted = beneficiary
            return wanted == request.name or (wanted is None and operation == request.operation.name)

        return [(whose, amounts) for whose, amounts in self._leaving if meant(whose)]

    def _sum(self, victims: list[Allocation]) -> Amounts:
        total = zeros(self.free)
        for victim in victims:
            total = plus(total, victim.amounts)
        return total

    def _settle(self) -> None:
        pairs = zip(self.free, self._cluster.free, self._world.in_cluster, strict=True)
        self._cluster.free = [own if in_cluster else other for own, other, in_cluster in pairs]
