"""The numbers of shares that fit into one row an element: one resource, five shares, one ratio."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from evenhand.building.problems import nearest
from evenhand.display.tree import Row, Tree
from evenhand.errors import NoSuchNameError

if TYPE_CHECKING:
    from evenhand.model import Snapshot
    from evenhand.shares import Shares

__all__ = ["Overview", "overview"]

Array = NDArray[np.float64]

# What counts as below: one part in a million of the fair share, far above the rounding of sums of shares.
_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Overview:
    """Shares of every element on one resource; arrays have one entry an element."""

    tree: Tree
    modes: list[str]
    resources: tuple[str, ...]
    resource: NDArray[np.int64]
    chosen: str | None
    fair_share: Array
    usage: Array
    guarantee: Array
    demand: Array
    satisfaction: Array
    snapshot: Snapshot

    @property
    def pending(self) -> Array:
        """Demand that is not served, as a share."""
        return np.maximum(self.demand - self.usage, 0.0)

    @property
    def size(self) -> Array:
        """What an element is ranked by: the largest of fair share, usage and guarantee."""
        return np.maximum(np.maximum(self.fair_share, self.usage), self.guarantee)

    @cached_property
    def waiting(self) -> Array:
        """Seconds since an operation's oldest open request was submitted; NaN where nothing says so."""
        requests = self.snapshot.table("requests")
        names, first = self.tree.names, self.tree.pool_count
        waiting = np.full(len(names), np.nan)
        if "submit_time" in requests:
            row = {name: i for i, name in enumerate(names[first:], first)}
            elements = [row[name] for name in requests.get("operation")]
            since = np.asarray(requests["submit_time"], dtype=np.float64)
            np.fmax.at(waiting, elements, self.snapshot.now - since)
        return waiting

    def rows(
        self, *, depth: int | None = None, top: int | None = None, operations: bool = False
    ) -> list[Row]:
        """Rows to show; see `Tree.select`."""
        return self.tree.rows(
            self.tree.select(self.size, depth=depth, top=top, operations=operations), operations=operations
        )

    def scale(self, rows: list[Row]) -> float:
        """Where the bars of these rows end: the largest number below the root, rounded up to two digits."""
        elements = [row.element for row in rows if not row.is_rest and row.depth > 0] or [0]
        largest = float(np.max(self.size[elements], initial=0.0))
        if not largest > 0:
            return 1.0
        unit = 10.0 ** np.floor(np.log10(largest) - 1)
        return float(np.ceil(largest / unit - 1e-9) * unit)

    def below_share(self) -> NDArray[np.int64]:
        """Operations whose satisfaction is below one, the one that lacks most of the cluster first."""
        first = self.tree.pool_count
        below = np.flatnonzero(self.satisfaction[first:] < 1 - _TOLERANCE) + first
        return below[np.argsort(-self.lacking[below], kind="stable")]

    @property
    def lacking(self) -> Array:
        """How much of the fair share is not used."""
        return np.maximum(self.fair_share - self.usage, 0.0)


def overview(shares: Shares, resource: str | None = None) -> Overview:
    """Reduce shares to one resource an element."""
    count = len(shares.names)
    resources = tuple(shares.resources)
    if resource is None:
        index = np.asarray(shares["dominant_resource"], dtype=np.int64)
    elif resource in resources:
        index = np.full(count, resources.index(resource))
    else:
        said = (
            f"no resource {resource!r}; there are {', '.join(map(repr, resources))}"
            f"{nearest(resource, resources)}"
        )
        raise NoSuchNameError.about("plot", "resource", "exists", said)
    every = np.arange(count)

    def column(quantity: str) -> Array:
        return np.asarray(shares[quantity], dtype=np.float64)[every, index]

    pools = shares.snapshot.table("pools")
    fifo = {name for name, mode in zip(pools.get("name"), pools.get("mode"), strict=True) if mode == "fifo"}
    modes = [
        ("fifo" if name in fifo else "fair") if kind == "pool" else ""
        for name, kind in zip(shares.names, shares.kinds, strict=True)
    ]
    row = {
        name: i
        for i, (name, kind) in enumerate(zip(shares.names, shares.kinds, strict=True))
        if kind == "pool"
    }
    parents = [-1 if parent is None else row[parent] for parent in shares.parents]
    return Overview(
        tree=Tree(shares.names, parents, shares.kinds.count("pool")),
        modes=modes,
        resources=resources,
        resource=index,
        chosen=resource,
        fair_share=column("fair_share"),
        usage=column("usage_share"),
        guarantee=column("strong_guarantee_share") + column("proposed_integral_share"),
        demand=column("demand_share"),
        satisfaction=np.asarray(shares["satisfaction"], dtype=np.float64),
        snapshot=shares.snapshot,
    )
