"""Limits of operations and pools, and the node's own resources, are brought in order (3.5, 3.6)."""

from __future__ import annotations

from tests.reference.ytsaurus.book import Book
from tests.reference.ytsaurus.codes import GROUPS
from tests.reference.ytsaurus.groups import age, may_be_victim, most_wanted_first
from tests.reference.ytsaurus.room import Room, used_on
from tests.reference.ytsaurus.vectors import Amounts, micros, minus, plus
from tests.reference.ytsaurus.world import Allocation, Node, World

__all__ = ["over_limits", "over_node", "stage_repair"]


def over_limits(world: World, node: Node, room: Room, book: Book) -> None:
    """Take allocations whose operation, or a pool above, is over a limit; give back what is not needed.

    Preemptible ones first, the newest first in each group; nobody is immune.
    """

    def wanted(allocation: Allocation) -> tuple[int, tuple[int, int]]:
        return GROUPS.index(str(allocation.group)), age(allocation, world.settings)

    taken: list[Allocation] = []
    for allocation in sorted((a for a in node.allocations if a.running), key=wanted, reverse=True):
        if book.over_limit(allocation.operation) is not None:
            world.use(allocation.operation, allocation.amounts, -1)
            taken.append(allocation)
    for allocation in reversed(list(taken)):
        world.use(allocation.operation, allocation.amounts, 1)
        if book.over_limit(allocation.operation) is None:
            taken.remove(allocation)
        else:
            world.use(allocation.operation, allocation.amounts, -1)
    for allocation in taken:
        world.use(allocation.operation, allocation.amounts, 1)
    book.take(taken, "limit_repair")
    room.give_up(taken)


def stage_repair(world: World, node: Node, room: Room, book: Book, stage: str) -> None:
    """Take what a stage may take of operations and pools that are over a limit, until none is."""
    eligible = [a for a in node.allocations if may_be_victim(a, node, stage, world.settings)]
    for allocation in most_wanted_first(eligible, world.settings):
        if book.over_limit(allocation.operation) is not None:
            book.take([allocation], "limit_repair")
            room.give_up([allocation])


def over_node(world: World, node: Node, room: Room, book: Book) -> None:
    """Take what does not fit on a node that has been overfull for too long; keep the safest, oldest first."""

    def fits(used: Amounts) -> bool:
        triples = zip(used, node.capacity, world.in_cluster, strict=True)
        return all(in_cluster or u <= c for u, c, in_cluster in triples)

    used = used_on(node)
    if fits(used):
        node.over_since = None
        return
    if node.over_since is None:
        node.over_since = world.now
    delay = micros(world.settings.node_overcommit_delay)
    if delay and not world.now > node.over_since + delay:
        return
    running = [a for a in node.allocations if a.running]
    kept = used
    for allocation in running:
        kept = minus(kept, allocation.amounts)
    dropped = []
    for allocation in reversed(most_wanted_first(running, world.settings)):
        if fits(plus(kept, allocation.amounts)):
            kept = plus(kept, allocation.amounts)
        else:
            dropped.append(allocation)
    book.take(dropped, "overcommit")
    room.give_up(dropped)
    if fits(used_on(node)):
        node.over_since = None
