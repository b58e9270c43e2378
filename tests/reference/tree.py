"""The tree of one update: what is given, and what its steps add.

Source: YTsaurus fair-share specification, section 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.reference.functions import Array, Curve

ROOT = "<Root>"
UNLIMITED = np.iinfo(np.int64).max

Amounts = NDArray[np.int64]
"""Multiples of the quantum of each resource, shape (R,)."""


@dataclass(frozen=True)
class Settings:
    """Options of one update; names and meaning as `evenhand.FairShareSettings`."""

    main_resource: str | None = None
    step_function_for_gang: bool = False
    fifo_reordering: bool = False
    improved: bool = False
    improved_gap: bool = False
    fast_fifo: bool = False  # the same result by another way: without effect here
    integral_pool_capacity_saturation_period_s: float = 86400.0
    integral_smooth_period_s: float = 60.0
    fifo_truncation: bool = False
    limit_strong_before_scaling: bool = False
    estimated_guarantee_counts_flow: bool = False
    promised_fair_share: bool = False


@dataclass(frozen=True)
class Diagnostic:
    """Something wrong with the input's guarantees that the update tells and survives."""

    code: str
    elements: tuple[Any, ...]
    numbers: dict[str, Any]


@dataclass
class Detail:
    """A fair share and the three parts that it is the sum of, each of shape (R,)."""

    total: Array
    strong: Array
    integral: Array
    weight_proportional: Array


@dataclass(frozen=True)
class Functions:
    """The functions of an element (section 2.11)."""

    by_fit_factor: Curve  # A
    children: Curve | None  # the children's parts of A, shape (K, n, R), in improved mode
    fit_factor: Curve  # M
    by_suggestion: Curve  # S


@dataclass(eq=False)
class Element:
    """The root, a pool or an operation: what is given, and what the steps of an update add to it."""

    name: Any
    kind: str
    size: int
    parent: Element | None = None
    children: list[Element] = field(default_factory=list)
    weight: float = 1.0
    limits: Amounts = None  # type: ignore[assignment]
    demand: Amounts = None  # type: ignore[assignment]
    usage: Amounts = None  # type: ignore[assignment]
    guarantee: list[int | None] = field(default_factory=list)  # None: to be inferred
    settings: Mapping[str, Any] = field(default_factory=dict)
    best_allocation_share: Array = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        """Start all results from zero (section 1.6, reset rule)."""
        zeros = self.zeros
        self.limits_share, self.usage_share, self.demand_share = zeros(), zeros(), zeros()
        self.inferred = zeros()
        self.strong, self.strong_by_tier = zeros(), [zeros(), zeros()]
        self.estimated, self.promised = zeros(), zeros()
        self.proposed_integral = zeros()
        self.flow = self.burst = self.total_flow = self.total_burst = 0.0
        self.volume, self.last_ratio = zeros(), 0.0
        self.overflow, self.acceptable = zeros(), zeros()
        self.accepted_free, self.children_overflow = zeros(), zeros()
        self.fifo_index = self.effective_fifo_index = -1
        self.fifo_order: list[Element] = []
        self.functions: Functions | None = None
        self.fair_share = Detail(zeros(), zeros(), zeros(), zeros())
        self.promised_guarantee = Detail(zeros(), zeros(), zeros(), zeros())

    def zeros(self) -> Array:
        """Return a zero vector over the resources."""
        return np.zeros(self.size)

    @property
    def is_pool(self) -> bool:
        """True of pools and the root."""
        return self.kind == "pool"

    @property
    def is_fifo(self) -> bool:
        """True of pools whose operations are served one after the other."""
        return self.is_pool and self.settings.get("mode", "fair_share") == "fifo"

    @property
    def pool(self) -> Element:
        """Return the pool that an operation belongs to."""
        if self.parent is None:
            raise LookupError("the root has no parent")
        return self.parent

    @property
    def has_gang_steps(self) -> bool:
        """True of pools whose gangs get all or nothing, where the tree allows it."""
        return self.flag("step_function_for_gang", True)

    @property
    def integral_type(self) -> str:
        """Kind of integral guarantee: none, burst or relaxed."""
        kind: str = self.settings.get("integral", {}).get("type", "none")
        return kind

    def integral(self, key: str, default: Any) -> Any:
        """Return a setting of the integral guarantee."""
        return self.settings.get("integral", {}).get(key, default)

    def flag(self, key: str, default: bool = False) -> bool:
        """Return a truth value of the pool."""
        return bool(self.settings.get(key, default))

    @property
    def gang(self) -> bool:
        """True of operations that want all or nothing."""
        return not self.is_pool and bool(self.settings.get("gang", False))

    def pools(self) -> Iterator[Element]:
        """Return the child pools."""
        return (c for c in self.children if c.is_pool)

    def ancestors(self) -> Iterator[Element]:
        """Return the parent, its parent, up to the root."""
        at = self.parent
        while at is not None:
            yield at
            at = at.parent

    def walk(self) -> Iterator[Element]:
        """Return this element and all below it, parents first, children in order."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass
class Tree:
    """One scheduling domain, ready for an update.

    Attributes
    ----------
    elements
        In canonical order: the root, pools, operations.
    quantum
        Smallest amount of each resource, shape (R,).
    fixed_point
        Which resources round stored doubles to the quantum (cpu); the others are integers and cut them,
        shape (R,).
    total
        Capacity, quanta.
    """

    resources: tuple[str, ...]
    quantum: Array
    fixed_point: NDArray[np.bool_]
    total: Amounts
    now: float
    previous: float | None
    elements: list[Element]

    @property
    def root(self) -> Element:
        """The root pool."""
        return self.elements[0]

    def share(self, amounts: Any) -> Array:
        """Divide amounts (quanta) by the total; 0 where there is none of a resource."""
        shares: Array = np.divide(amounts, self.total, out=np.zeros(len(self.total)), where=self.total > 0)
        return shares

    @property
    def per_unit(self) -> Array:
        """Quanta in the unit of each resource, shape (R,): fixed point has fractions, others are whole."""
        whole = np.maximum(np.round(1 / self.quantum), 1.0)
        return np.where(self.fixed_point, np.where(self.quantum == 1 / whole, whole, 1 / self.quantum), 1.0)

    def units(self, quanta: Any) -> Array:
        """Return amounts (quanta) in units, as the doubles that quotients are taken of."""
        in_units: Array = np.asarray(quanta, float) / self.per_unit
        return in_units

    def max_ratio(self, amounts: Any) -> float:
        """Largest ratio of amounts (quanta) to the total over the resources that exist, at least 0."""
        total = self.units(self.total)
        ratios = np.divide(self.units(amounts), total, out=np.zeros(len(total)), where=total > 0)
        return float(np.max(ratios, initial=0.0))

    def min_ratio(self, volume: Array) -> float:
        """Smallest ratio of a volume (quanta times seconds) to the total over the resources that exist."""
        return float(np.min(self.share(volume)[self.total > 0], initial=np.inf)) if self.total.any() else 0.0


def half_away(values: Any) -> Array:
    """Round to integers, halves away from zero."""
    values = np.asarray(values, float)
    whole: Array = np.copysign(np.floor(np.abs(values) + 0.5), values)
    return whole
