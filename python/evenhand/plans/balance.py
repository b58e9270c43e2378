"""Usage of elements and free room of nodes as decisions are carried out, in quanta."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.fields import TABLES
from evenhand.reasons import ACTIONS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.model import Snapshot
    from evenhand.plans.decisions import Decisions

__all__ = ["CLUSTER", "Balance", "repairs"]

#: The row of `Balance.free` that is the cluster's.
CLUSTER = -1

_RUNNING = tuple(
    TABLES["allocations"]["state"].words.index(word) for word in ("running", "suspended", "preempted")
)
_OF_CLUSTER = TABLES["resources"]["scope"].words.index("cluster")
_ENDLESS = 2**60  # what is counted elsewhere


class Balance:
    """What is used and what is free; work that is leaving counts as gone."""

    def __init__(self, snapshot: Snapshot) -> None:
        core = snapshot._core
        self.pools = pools = core.pool_count
        self.parent = np.concatenate([core.column("pools", "parent"), core.column("operations", "pool")])
        self.usage = np.zeros((len(self.parent), core.resource_count), np.int64)
        self.usage[pools:] = core.column("operations", "usage")
        np.add.at(self.usage, self.parent[pools:], self.usage[pools:])
        for row in self._bottom_up():
            self.usage[self.parent[row]] += self.usage[row]
        nodes = np.asarray(core.column("nodes", "capacity"), np.int64).reshape(-1, core.resource_count)
        self.free = np.vstack([nodes, np.asarray(core.capacity, np.int64)])
        node = np.asarray(core.column("allocations", "node"))
        holds = holding(snapshot)
        placed = node >= 0
        np.subtract.at(self.free, node[placed], holds[placed])
        wide = np.asarray(snapshot._head["scope"]) == _OF_CLUSTER
        self.free[:CLUSTER, wide] = _ENDLESS
        self.free[CLUSTER] = np.where(wide, self.free[CLUSTER] - self.usage[0], _ENDLESS)

    def _bottom_up(self) -> list[int]:
        """Return the pools without the root, children before parents."""
        depth = np.zeros(self.pools, np.int64)
        for row in range(1, self.pools):
            above, levels = int(self.parent[row]), 1
            while above > 0:
                above, levels = int(self.parent[above]), levels + 1
            depth[row] = levels
        return [row for row in np.argsort(-depth, kind="stable").tolist() if row]

    def path(self, element: int) -> list[int]:
        """Return an element and all pools above it, the root last."""
        rows = []
        while element >= 0:
            rows.append(element)
            element = int(self.parent[element])
        return rows

    def add(self, operation: int, amounts: NDArray[Any]) -> None:
        """Count amounts (may be negative) to an operation, by its row among operations, and to its pools."""
        for row in self.path(self.pools + operation):
            self.usage[row] += amounts


def holding(snapshot: Snapshot) -> NDArray[np.int64]:
    """Return what every allocation holds, in quanta (A, R): nothing while it is leaving."""
    core = snapshot._core
    state = np.asarray(core.column("allocations", "state"))
    holds = np.array(core.column("allocations", "resources"), np.int64).reshape(-1, core.resource_count)
    running, suspended, preempted = _RUNNING
    kept = np.asarray(core.column("allocations", "held")).reshape(-1, core.resource_count)
    holds[state == preempted] = kept[state == preempted]
    holds[~np.isin(state, (running, suspended, preempted))] = 0
    return holds


def limits(snapshot: Snapshot) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return limits of every element in quanta (E, R), and which of them are given."""
    core = snapshot._core
    tables = ("pools", "operations")
    values = np.concatenate([core.column(table, "limits") for table in tables])
    bits = np.concatenate([core.column(table, "limits_given") for table in tables])
    given = (bits[:, None] >> np.arange(core.resource_count)) & 1
    return values, given.astype(np.bool_)


def repairs(snapshot: Snapshot, decisions: Decisions) -> dict[int, dict[str, Any]]:
    """Return the violated limit and the usage at that moment, by the row of the decision that repairs it."""
    from evenhand.plans.columns import objects

    violated = decisions.column("violated")
    if not (violated >= 0).any():
        return {}
    balance = Balance(snapshot)
    bounds, given = limits(snapshot)
    result = {}
    for row, element in enumerate(violated.tolist()):
        if element >= 0:
            over = given[element] & (balance.usage[element] > bounds[element])
            pair = objects(snapshot, np.stack([bounds[element], balance.usage[element]]), zeros=True)
            which = [r for r, is_over in zip(snapshot.resources, over.tolist(), strict=True) if is_over]
            result[row] = {
                "limits": {r: pair[0][r] for r in which},
                "usage": {r: pair[1][r] for r in which},
            }
        balance.add(int(decisions.column("operation")[row]), change(decisions, row))
    return result


def change(decisions: Decisions, row: int) -> NDArray[np.int64]:
    """Return what a decision does to the usage of its operation, in quanta."""
    action = ACTIONS[decisions.column("action")[row]]
    if action in ("start", "resume"):
        return np.asarray(decisions.column("needed")[row], np.int64)
    return -np.asarray(decisions.column("freed")[row], np.int64)  # nothing of a reservation
