"""The tree of one update, read from a snapshot in the file format.

Source: YTsaurus fair-share specification, sections 1 and 2.2; snapshot format 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.testing.reference.functions import Array, Curve

ROOT = "<Root>"
UNLIMITED = np.iinfo(np.int64).max

Amounts = NDArray[np.int64]
"""Multiples of the quantum of each resource, shape (R,)."""


@dataclass(frozen=True)
class Settings:
    """Options of one update; names and meaning as `evenhand.FairShareSettings`."""

    main_resource: str = "cpu"
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
    guarantee: list[int | None] = field(default_factory=list)
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

    def max_ratio(self, amounts: Any) -> float:
        """Largest ratio of amounts (quanta) to the total over the resources that exist, at least 0."""
        return float(np.max(self.share(amounts), initial=0.0))

    def min_ratio(self, volume: Array) -> float:
        """Smallest ratio of a volume (quanta times seconds) to the total over the resources that exist."""
        return float(np.min(self.share(volume)[self.total > 0], initial=np.inf)) if self.total.any() else 0.0


def half_away(values: Any) -> Array:
    """Round to integers, halves away from zero."""
    values = np.asarray(values, float)
    whole: Array = np.copysign(np.floor(np.abs(values) + 0.5), values)
    return whole


def fill_order(snapshot: Mapping[str, Any]) -> dict[str, Any]:
    """Give rows without an ``order`` their position, pools before operations, as ``order="rows"`` does."""
    filled = dict(snapshot)
    position = 0
    for table in ("pools", "operations"):
        rows = snapshot.get(table, [])
        filled[table] = [
            {**row, "order": position + i if row.get("order") is None else row["order"]}
            for i, row in enumerate(rows)
        ]
        position += len(rows)
    return filled


def read_tree(snapshot: Mapping[str, Any]) -> Tree:
    """Build the tree of a snapshot.

    Parameters
    ----------
    snapshot
        A valid snapshot in the file format, with demand, usage and total written out.

    Returns
    -------
    Tree
        With children in order: (order, pools before operations, name as UTF-8).
    """
    resources = tuple(snapshot["resources"])
    quantum = np.array([_quantum(r, snapshot["resources"][r]) for r in resources])

    def amounts(given: Mapping[str, float] | None, absent: Any = 0) -> list[Any]:
        given = given or {}
        pairs = zip(map(given.get, resources), quantum, strict=True)
        return [absent if value is None else round(value / q) for value, q in pairs]

    def element(row: Mapping[str, Any], kind: str) -> Element:
        made = Element(row["name"], kind, len(resources), weight=row.get("weight", 1.0), settings=row)
        made.limits = np.array(amounts(row.get("limits"), UNLIMITED), np.int64)
        made.demand = np.array(amounts(row.get("demand")), np.int64)
        made.usage = np.array(amounts(row.get("usage")), np.int64)
        made.guarantee = amounts(row.get("strong_guarantee"), None)
        best = row.get("best_allocation_share") or {}
        made.best_allocation_share = np.array([best.get(r, 1.0) for r in resources])
        if made.integral_type != "none":
            given = row["integral"].get("accumulated_volume") or {}
            made.volume = np.array([given.get(r, 0.0) for r in resources]) / quantum
            made.last_ratio = float(row["integral"].get("last_share_ratio") or 0.0)
        return made

    root = element({"name": ROOT, **(snapshot.get("root") or {})}, "pool")
    pools = [element(row, "pool") for row in sorted(snapshot.get("pools", []), key=_canonical)]
    operations = [element(row, "operation") for row in sorted(snapshot.get("operations", []), key=_canonical)]
    by_name = {pool.name: pool for pool in pools}
    for child in (*pools, *operations):
        owner = child.settings.get("parent" if child.is_pool else "pool")
        child.parent = root if owner is None else by_name[owner]
        child.parent.children.append(child)
    for pool in (root, *pools):
        pool.children.sort(key=lambda c: (_order(c.settings), not c.is_pool, str(c.name).encode()))
    return Tree(
        resources,
        quantum,
        quantum < 1,
        np.array(amounts(snapshot["total"]), np.int64),
        float(snapshot.get("now") or 0.0),
        snapshot.get("previous_update"),
        [root, *pools, *operations],
    )


def _quantum(name: str, row: Mapping[str, Any]) -> float:
    return float(row.get("quantum", 0.001 if name == "cpu" else 1))


def _order(row: Mapping[str, Any]) -> tuple[bool, float]:
    order = row.get("order")
    return order is None, order or 0


def _canonical(row: Mapping[str, Any]) -> tuple[tuple[bool, float], bytes]:
    return _order(row), str(row["name"]).encode()
