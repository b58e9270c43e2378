"""Who may start, in which order, and whether a request fits (sections 1.4, 3.3 and 3.4)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from math import floor, inf

from evenhand.systems.ytsaurus.settings import YTsaurusOperationSettings, YTsaurusPoolSettings
from tests.reference.ytsaurus.book import Book
from tests.reference.ytsaurus.groups import level
from tests.reference.ytsaurus.room import Room
from tests.reference.ytsaurus.selection import select
from tests.reference.ytsaurus.status import pool_satisfaction, priority, satisfaction
from tests.reference.ytsaurus.vectors import EPSILON, micros, within
from tests.reference.ytsaurus.world import Allocation, Element, Node, Request, World

__all__ = ["Attempt", "entitled", "first_in_line", "may_be_candidate"]

_FULL_HOST_GPUS = 8


def may_be_candidate(operation: Element) -> bool:
    """Tell whether an operation may get anything; a graceful one may not while its status is normal."""
    return operation.schedulable and not (operation.graceful and operation.status == "normal")


def entitled(world: World, operation: Element, stage: str) -> bool:
    """Tell whether an operation is a candidate of a preemptive stage."""
    tree = world.settings
    if not may_be_candidate(operation):
        return False
    if stage == "full_host":
        return _waits_for_full_host(world, operation)
    if stage.startswith("ssd_") and not wants_ssd(world, operation):
        return False
    right = priority(operation, tree.scheduling_preemption_priority_scope)
    if stage.endswith("aggressive"):
        return right == "aggressive"
    both = tree.preemptive_stage_targets == "starving_and_aggressively_starving"
    return right == "normal" or (both and right == "aggressive")


def wants_ssd(world: World, operation: Element) -> bool:
    """Tell whether an operation asks for a medium that counts as SSD."""
    names = world.settings.ssd_priority_preemption.medium_names
    own = operation.own
    return isinstance(own, YTsaurusOperationSettings) and any(name in names for name in own.disk_media)


def _waits_for_full_host(world: World, operation: Element) -> bool:
    timeout = micros(world.settings.default_gpu_full_host_preemption.timeout)
    own = operation.own
    return (
        isinstance(own, YTsaurusOperationSettings)
        and own.scheduling_segment == "default"
        and all(_is_full_host(world, request.amounts) for request in operation.requests)
        and operation.since is not None
        and operation.since + timeout < world.now
    )


def _gpus(world: World, amounts: list[int]) -> float:
    pairs = zip(world.resources, amounts, world.quantum, strict=True)
    return sum(amount * quantum for name, amount, quantum in pairs if name == "gpu")


def _is_full_host(world: World, amounts: list[int]) -> bool:
    return _gpus(world, amounts) == _FULL_HOST_GPUS


def first_in_line(world: World, active: Collection[Element]) -> Element:
    """Return the operation reached from the root by always going to the least satisfied child.

    Only operations in `active`, and pools with such, are looked at; a FIFO pool has its own order.
    Satisfactions are compared to nine decimal digits, what is then equal goes in canonical order.
    """
    of_operation = {
        op: satisfaction(op.fair_share, world.share(op.usage), op.demand) for op in sorted(active, key=_index)
    }
    with_active = {element for op in active for element in op.upwards()}
    element = world.pools[0]
    while element.is_pool:
        is_fifo = element.is_fifo

        def key(child: Element, is_fifo: bool = is_fifo) -> tuple[float, int]:
            if is_fifo:
                return child.place_in_fifo, child.index
            value = pool_satisfaction(child, of_operation) if child.is_pool else of_operation[child]
            return floor(value * 1e9 + 0.5), child.index

        element = min((child for child in element.children if child in with_active), key=key)
    return element


def _index(element: Element) -> int:
    return element.index


@dataclass(frozen=True, slots=True)
class Attempt:
    """Tries operations in one stage of one node's heartbeat."""

    world: World
    node: Node
    room: Room
    book: Book
    stage: str

    def start(self, operation: Element, eligible: list[Allocation]) -> bool:
        """Start the first of an operation's requests that fits; tell whether one did.

        Parameters
        ----------
        operation : Element
        eligible : list of Allocation
            What may be taken for it, the most wanted victim first.

        Returns
        -------
        bool
        """
        for request in operation.requests:
            if not request.left:
                continue
            outcome = self._obstacle(request)
            if outcome is None:
                victims = self._victims(request, eligible)
                if victims is not None:
                    self.room.start(request, victims)
                    self.book.start(request, self.node, self.stage, victims)
                    return True
                outcome = "no_free_room" if self.stage == "regular" else "no_room_even_with_victims"
            self.book.refused(request, outcome)
        return False

    def _victims(self, request: Request, eligible: list[Allocation]) -> list[Allocation] | None:
        free = self.room.free_for(request)
        how, costs = self.world.settings.victim_selection, self.world.costs
        victims = select(eligible, free, self._need(request), how, costs)
        while victims and (beyond := self.world.beyond_caps(victims)):
            eligible = [a for a in eligible if a not in beyond]
            victims = select(eligible, free, self._need(request), how, costs)
        if victims is not None and self.stage == "full_host" and self._penalty(victims) is None:
            return None
        return victims

    def _need(self, request: Request) -> list[float]:
        """Return the room that must be there, also of what is not taken; not so in the whole cluster."""
        pairs = zip(request.amounts, self.world.in_cluster, strict=True)
        return [-inf if in_cluster and not amount else amount for amount, in_cluster in pairs]

    def _penalty(self, victims: list[Allocation]) -> float | None:
        """Return the work of protected victims in GPU-seconds; None if that is too much."""
        world = self.world
        lost = sum(
            (world.now - victim.start) / 1e6 * _gpus(world, victim.amounts)
            for victim in victims
            if self._protected(victim)
        )
        allowed = world.settings.default_gpu_full_host_preemption.max_preemption_penalty
        return lost if lost <= allowed else None

    def _protected(self, allocation: Allocation) -> bool:
        return level(allocation, self.node, self.world.settings).endswith("non_preemptible")

    def _obstacle(self, request: Request) -> str | None:
        """Return why a request cannot start on the node at all, whatever room there is."""
        node, operation = self.node, request.operation
        if not node.schedulable:
            return "node_not_schedulable"
        if request.required_node is not None and request.required_node != node.name:
            return "wrong_node"
        if not request.tags <= node.tags:
            return "wrong_tags"
        if (
            node.ssd_mode
            and not operation.effective.allow_regular_on_ssd
            and not wants_ssd(self.world, operation)
        ):
            return "ssd_only"
        if not self._limits_hold(request):
            return "limits_of_operation_or_pool"
        if self.stage == "full_host" and not self._full_host_may_start(request):
            return "within_fair_share_only"
        return None

    def _limits_hold(self, request: Request) -> bool:
        world, preemptive = self.world, self.stage != "regular"
        if preemptive and world.settings.enable_infinite_resource_limits_overcommit:
            return True
        for element in request.operation.upwards():
            limits: list[float | None] = list(element.limits)
            if preemptive and isinstance(element.own, YTsaurusPoolSettings):
                slack = world.quanta(element.own.resource_limits_overcommit_tolerance)
                limits = [
                    None if limit is None else limit + (s or 0)
                    for limit, s in zip(limits, slack, strict=True)
                ]
            if not within(self.book.usage_with(element, request), limits):
                return False
        return True

    def _full_host_may_start(self, request: Request) -> bool:
        world, operation = self.world, request.operation
        share = world.share(self.book.usage_with(operation, request))
        fits_share = all(s <= f + EPSILON for s, f in zip(share, operation.fair_share, strict=True))
        taken = any(
            a.running and self._protected(a) and _is_full_host(world, a.amounts)
            for a in self.node.allocations
        )
        return _is_full_host(world, request.amounts) and fits_share and not taken
