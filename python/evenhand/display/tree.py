"""The tree of pools and operations as something to show: which rows, in which order, what is left out."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Row", "Tree"]


@dataclass(frozen=True, slots=True)
class Row:
    """One shown row."""

    element: int
    last: tuple[bool, ...]
    pools: int
    operations: int
    is_rest: bool
    children: int

    @property
    def depth(self) -> int:
        """Levels below the root."""
        return len(self.last)


class Tree:
    """Elements (pools with the root first, then operations) and their children."""

    def __init__(
        self, names: Sequence[str | int], parents: Sequence[int] | np.ndarray, pool_count: int
    ) -> None:
        self.names = names
        self.parents = np.asarray(parents, dtype=np.int64)
        self.pool_count = pool_count
        size = len(self.parents)
        self._items = np.argsort(self.parents[1:], kind="stable") + 1
        counts = np.bincount(self.parents[1:], minlength=size)
        self._offsets = np.concatenate([[0], np.cumsum(counts)])
        self.depth = np.zeros(size, dtype=np.int64)
        order = [0]
        for pool in order:  # grows while it is read: breadth first
            children = self.children(pool)
            self.depth[children] = self.depth[pool] + 1
            order.extend(children[children < pool_count].tolist())
        self.operations_below = np.bincount(self.parents[pool_count:], minlength=size)
        self.pools_below = np.zeros(size, dtype=np.int64)
        for pool in reversed(order[1:]):
            self.operations_below[self.parents[pool]] += self.operations_below[pool]
            self.pools_below[self.parents[pool]] += self.pools_below[pool] + 1

    def children(self, element: int) -> np.ndarray:
        """Children in canonical order."""
        return self._items[self._offsets[element] : self._offsets[element + 1]]

    def short_name(self, element: int) -> str:
        """Return the name without that of the parent, if it is a path: ``/c`` for ``a/b/c`` below ``a/b``."""
        name, parent = str(self.names[element]), self.parents[element]
        above = str(self.names[parent]) if parent > 0 else ""
        return name.removeprefix(above) if above and name.startswith(above + "/") else name

    def select(
        self, size: np.ndarray, *, depth: int | None = None, top: int | None = None, operations: bool = False
    ) -> np.ndarray:
        """Which elements to show: the root, and the largest whose parents are shown."""
        allowed = np.ones(len(self.parents), dtype=bool) if depth is None else self.depth <= depth
        if not operations:
            allowed[self.pool_count :] = False
        if top is None or allowed.sum() <= top:
            return allowed
        shown = np.zeros_like(allowed)
        heap = [(0.0, 0)]
        for _ in range(max(top, 1)):
            _, element = heapq.heappop(heap)
            shown[element] = True
            for child in self.children(element)[allowed[self.children(element)]].tolist():
                heapq.heappush(heap, (-float(size[child]), child))
        return shown

    def rows(self, shown: np.ndarray, *, operations: bool = False) -> list[Row]:
        """Return the shown elements depth first, with a row for what is left out beside them.

        Operations are counted among what is left out only if they are asked for.
        """
        rows: list[Row] = []
        stack: list[tuple[int, tuple[bool, ...], bool]] = [(0, (), False)]
        while stack:
            element, last, is_rest = stack.pop()
            children = self.children(element)
            visible = children[shown[children]]
            left_out = self._count(children[~shown[children]], operations)
            if is_rest:
                rows.append(Row(element, last, *left_out, is_rest=True, children=0))
                continue
            rest = len(visible) > 0 and any(left_out)
            below = (0, 0) if len(visible) else left_out
            rows.append(Row(element, last, *below, is_rest=False, children=len(visible) + rest))
            if rest:
                stack.append((element, (*last, True), True))
            for i, child in enumerate(visible[::-1].tolist()):
                stack.append((child, (*last, i == 0 and not rest), False))
        return rows

    def _count(self, elements: np.ndarray, operations: bool) -> tuple[int, int]:
        """Pools and operations among these elements and below them."""
        pools = (elements < self.pool_count).sum() + self.pools_below[elements].sum()
        leaves = (elements >= self.pool_count).sum() + self.operations_below[elements].sum()
        return int(pools), int(leaves) if operations else 0
