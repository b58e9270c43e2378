"""A snapshot as plain objects whose amounts are whole numbers of quanta.

What runs, what each element uses and how much of a request is left change while a plan is made;
everything else stays.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evenhand.systems.ytsaurus.settings import (
    YTsaurusAllocationSettings,
    YTsaurusOperationSettings,
    YTsaurusPoolSettings,
    YTsaurusSettings,
)
from tests.reference.costs import Costs
from tests.reference.pace import Pace
from tests.reference.ytsaurus.vectors import Amounts, Shares

if TYPE_CHECKING:
    from tests.reference.ytsaurus.effective import Effective

__all__ = ["Allocation", "Element", "Node", "Request", "World", "room"]

Name = str | int


@dataclass(eq=False)
class Element:
    """A pool or an operation."""

    index: int
    name: Name
    is_pool: bool
    own: YTsaurusPoolSettings | YTsaurusOperationSettings
    limits: list[int | None]
    usage: Amounts
    parent: Element | None = None
    children: list[Element] = field(default_factory=list)
    guarantee: Amounts = field(default_factory=list)
    is_fifo: bool = False
    gang: bool = False
    place_in_fifo: int = 0
    allocations: list[Allocation] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    # Of the update.
    fair_share: Shares = field(default_factory=list)
    demand: Shares = field(default_factory=list)
    used_at_update: Shares = field(default_factory=list)
    status: str = "normal"
    since: int | None = None
    starvation: str = "non_starving"
    lowest_starving: Element | None = None
    lowest_aggressive: Element | None = None

    effective: Effective = field(init=False)

    @property
    def key(self) -> str:
        """Name in results."""
        return str(self.name)

    @property
    def graceful(self) -> bool:
        """Whether its allocations are asked to leave early, and never taken by a stage."""
        return isinstance(self.own, YTsaurusOperationSettings) and self.own.preemption_mode == "graceful"

    @property
    def pending(self) -> int:
        """How many allocations it still asks for."""
        return sum(request.left for request in self.requests)

    @property
    def schedulable(self) -> bool:
        """Whether an operation may get anything at all: nothing forbids it, and something is wanted."""
        told = isinstance(self.own, YTsaurusOperationSettings) and self.own.unschedulable_reason is not None
        wants = any(d > u for d, u in zip(self.demand, self.used_at_update, strict=True))
        return not told and (bool(self.requests) or wants)

    def upwards(self) -> list[Element]:
        """Return the element, its pool, that pool's parent and so on to the root."""
        found: list[Element] = []
        element: Element | None = self
        while element is not None:
            found.append(element)
            element = element.parent
        return found


@dataclass(eq=False)
class Allocation:
    """A part of an operation on a node."""

    row: int
    name: Name
    operation: Element
    node: Node | None
    amounts: Amounts
    state: str
    start: int
    last_job_start: int
    last_progress: int | None
    opted_out: bool
    own: YTsaurusAllocationSettings
    held: Amounts
    beneficiary: tuple[Name | None, Name | None]
    room_taken: Amounts
    deadline: int | None
    cpu_gap: bool
    planned_end: int | None = None
    group: str | None = None
    leaves: bool = False

    @property
    def running(self) -> bool:
        """Whether it runs and nothing has been decided against that."""
        return self.state == "running" and not self.leaves


@dataclass(eq=False)
class Request:
    """Room that an operation waits for."""

    row: int
    name: Name
    operation: Element
    amounts: Amounts
    left: int
    tags: set[str]
    required_node: Name | None


@dataclass(eq=False)
class Node:
    """A machine; `started` is what this plan has put on it."""

    row: int
    name: Name
    capacity: Amounts
    tags: set[str]
    schedulable: bool
    over_since: int | None
    ssd_mode: bool
    last_preemptive: int | None = None
    allocations: list[Allocation] = field(default_factory=list)
    started: list[Amounts] = field(default_factory=list)


@dataclass(eq=False)
class World:
    """A snapshot, and what a plan has changed in it so far."""

    resources: tuple[str, ...]
    quantum: list[float]
    in_cluster: list[bool]
    cluster_capacity: Amounts
    total: Amounts
    now: int
    settings: YTsaurusSettings
    costs: Costs
    pace: Pace
    pools: list[Element]
    operations: list[Element]
    nodes: list[Node] = field(default_factory=list)
    allocations: list[Allocation] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)

    def spared(self, allocation: Allocation) -> str | None:
        """Return why the pace spares an allocation, None if it does not."""
        operation = allocation.operation
        assert operation.parent is not None
        name, pool = operation.name, operation.parent.name
        return self.pace.spares(name, pool, allocation.start, allocation.planned_end)

    def beyond_caps(self, victims: list[Allocation]) -> list[Allocation]:
        """Return the victims of one step that are beyond the caps of pools."""
        owners = [a.operation for a in victims]
        places = self.pace.beyond([(o.name, o.parent.name if o.parent else None) for o in owners])
        return [victims[place] for place in sorted(places)]

    @property
    def elements(self) -> list[Element]:
        """Pools, the root first, then operations."""
        return self.pools + self.operations

    def share(self, amounts: Amounts) -> Shares:
        """Return amounts as parts of the total, 0 of what the cluster does not have."""
        return [a / t if t else 0.0 for a, t in zip(amounts, self.total, strict=True)]

    def quanta(self, amounts: dict[str, float] | None) -> list[float | None]:
        """Return amounts of settings in quanta, None where absent."""
        given = amounts or {}
        pairs = zip(self.resources, self.quantum, strict=True)
        return [given[r] / q if r in given else None for r, q in pairs]

    def named(self, amounts: Amounts) -> dict[str, float]:
        """Return amounts by resource in their units, without zeros."""
        pairs = zip(self.resources, amounts, self.quantum, strict=True)
        return {r: a * q for r, a, q in pairs if a}

    def use(self, operation: Element, amounts: Amounts, sign: int) -> None:
        """Book an amount on an operation and all pools above it."""
        for element in operation.upwards():
            element.usage = [u + sign * a for u, a in zip(element.usage, amounts, strict=True)]


def room(allocation: Allocation) -> Amounts:
    """Return what an allocation has that counts as used."""
    if allocation.state in ("running", "suspended"):
        return allocation.amounts
    return allocation.held if allocation.state == "preempted" else [0] * len(allocation.amounts)
