"""From a snapshot in the file format to the tree of one update.

Source: snapshot format 1; YTsaurus fair-share specification, section 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.reference.tree import ROOT, UNLIMITED, Amounts, Element, Tree

CPU_NAMES = {"cpu", "cpus", "core", "cores", "vcore", "vcores", "vcpu", "vcpus"}
"""Resources that are of the kind cpu where no kind is given."""

Row = Mapping[str, Any]


def fill_order(snapshot: Row) -> dict[str, Any]:
    """Give rows without an ``order`` their position, pools before operations, as ``order="rows"`` does."""
    filled = dict(snapshot)
    position = 0
    for table in ("pools", "operations"):
        rows = snapshot.get(table) or []
        filled[table] = [
            {**row, "order": position + i if row.get("order") is None else row["order"]}
            for i, row in enumerate(rows)
        ]
        position += len(rows)
    return filled


def read_tree(snapshot: Row) -> Tree:
    """Build the tree of a snapshot.

    Parameters
    ----------
    snapshot
        A valid snapshot in the file format.

    Returns
    -------
    Tree
        With children in order: (order, pools before operations, name as UTF-8).
    """
    reader = _Reader(snapshot)
    root = reader.element({"name": ROOT, **(snapshot.get("root") or {})}, "pool")
    pools = [reader.element(row, "pool") for row in sorted(snapshot.get("pools") or [], key=_canonical)]
    operations = [reader.operation(row) for row in sorted(snapshot.get("operations") or [], key=_canonical)]
    by_name = {pool.name: pool for pool in pools}
    for child in (*pools, *operations):
        owner = child.settings.get("parent" if child.is_pool else "pool")
        child.parent = root if owner is None else by_name[owner]
        child.parent.children.append(child)
    for pool in (root, *pools):
        pool.children.sort(key=lambda c: (_order(c.settings), not c.is_pool, str(c.name).encode()))
    return Tree(
        reader.resources,
        reader.quantum,
        np.array([kind == "cpu" for kind in reader.kinds]),
        reader.total(),
        float(snapshot.get("now") or 0.0),
        snapshot.get("previous_update"),
        [root, *pools, *operations],
    )


class _Reader:
    """Reads rows of one snapshot; amounts become quanta."""

    def __init__(self, snapshot: Row) -> None:
        self.snapshot = snapshot
        self.resources = tuple(snapshot["resources"])
        self.spaces: list[Row] = [snapshot["resources"][r] or {} for r in self.resources]
        self.kinds = [
            space.get("kind") or ("cpu" if name.lower() in CPU_NAMES else "other")
            for name, space in zip(self.resources, self.spaces, strict=True)
        ]
        usual = {"cpu": 0.001}
        pairs = zip(self.kinds, self.spaces, strict=True)
        self.quantum = np.array([float(space.get("quantum") or usual.get(kind, 1)) for kind, space in pairs])
        # Usage and demand of operations whose work is written out row by row.
        self.used: dict[Any, Amounts] = {}
        self.pending: dict[Any, Amounts] = {}
        for allocation in snapshot.get("allocations") or []:
            _count(self.used, allocation, self.amounts(_usage_of(allocation)))
        for request in snapshot.get("requests") or []:
            many = int(request.get("count", 1))
            _count(self.pending, request, self.amounts(request.get("resources")) * many)

    def quanta(self, given: Row | None, absent: Any) -> list[Any]:
        """Return amounts as multiples of the quantum; what is absent as told."""
        pairs = zip(map((given or {}).get, self.resources), self.quantum, strict=True)
        return [absent if value is None else round(value / q) for value, q in pairs]

    def amounts(self, given: Row | None, absent: int = 0) -> Amounts:
        """Return amounts as a vector of quanta."""
        return np.array(self.quanta(given, absent), np.int64)

    def total(self) -> Amounts:
        """Return the capacity: as given, else of all schedulable nodes and of the cluster itself."""
        if self.snapshot.get("total") is not None:
            return self.amounts(self.snapshot["total"])
        nodes = [n for n in self.snapshot.get("nodes") or [] if n.get("schedulable", True)]
        own = {r: space.get("capacity") for r, space in zip(self.resources, self.spaces, strict=True)}
        return sum((self.amounts(n.get("capacity")) for n in nodes), self.amounts(own))

    def element(self, row: Row, kind: str) -> Element:
        """Read a pool, or what an operation has in common with one."""
        made = Element(row["name"], kind, len(self.resources), weight=row.get("weight", 1.0), settings=row)
        made.limits = self.amounts(row.get("limits"), UNLIMITED)
        made.guarantee = self.quanta(row.get("strong_guarantee"), None)
        if made.integral_type != "none":
            given = row["integral"].get("accumulated_volume") or {}
            made.volume = np.array([given.get(r) or 0.0 for r in self.resources]) / self.quantum
            made.last_ratio = float(row["integral"].get("last_share_ratio") or 0.0)
        return made

    def operation(self, row: Row) -> Element:
        """Read an operation; what it does not say of usage and demand, its allocations and requests do."""
        made = self.element(row, "operation")
        nothing = np.zeros(len(self.resources), np.int64)
        made.usage = self.used.get(made.name, nothing)
        if row.get("usage") is not None:
            made.usage = self.amounts(row["usage"])
        made.demand = made.usage + self.pending.get(made.name, nothing)
        if row.get("demand") is not None:
            made.demand = self.amounts(row["demand"])
        best = row.get("best_allocation_share") or {}
        made.best_allocation_share = np.array([best.get(r, 1.0) for r in self.resources])
        return made


def _usage_of(allocation: Row) -> Row | None:
    """Return what counts as used: nothing of what is leaving, of what was preempted the part it keeps."""
    state = allocation.get("state") or "running"
    if state == "preempting":
        return None
    part: Row | None = allocation.get("held" if state == "preempted" else "resources")
    return part


def _count(sums: dict[Any, Amounts], row: Row, amounts: Amounts) -> None:
    name = row.get("operation")
    sums[name] = sums[name] + amounts if name in sums else amounts


def _order(row: Row) -> tuple[bool, float]:
    order = row.get("order")
    return order is None, order or 0


def _canonical(row: Row) -> tuple[tuple[bool, float], bytes]:
    return _order(row), str(row["name"]).encode()
