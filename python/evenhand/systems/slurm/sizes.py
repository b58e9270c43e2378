"""How much the jobs of a snapshot ask for or hold."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.building.readback import NO_TIME

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.model import Snapshot

__all__ = ["Sizes"]

_MEMORY = ("memory", "mem")


class Sizes:
    """What jobs ask for or, if they ask for nothing, hold; and what there is; in quanta.

    Attributes
    ----------
    pending : ndarray of bool, shape (jobs,)
    amounts : ndarray of float64, shape (jobs, resources)
    nodes : ndarray of float64, shape (jobs,)
    started : ndarray of int64, shape (jobs,)
        When a job's first part started, in microseconds.
    began : ndarray of int64, shape (jobs,)
        Likewise, of jobs that ask for nothing.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        core, self.jobs = snapshot._core, snapshot.operation_count
        self.local = np.asarray(snapshot._head["scope"]) == 0
        asks = self._rows("requests", "operation")
        holds = self._rows("allocations", "operation")
        places = self._rows("allocations", "node")
        count = self._rows("requests", "count")
        self.pending = np.bincount(asks[count > 0], minlength=self.jobs) > 0
        width = len(snapshot.resources)
        needs = np.asarray(core.column("requests", "resources")).reshape(len(asks), width)
        held = np.asarray(core.column("allocations", "resources")).reshape(len(holds), width)
        runs = ~self.pending[holds]
        self.amounts = self._sum(asks, needs * count[:, None].astype(np.float64)) + self._sum(
            holds[runs], held[runs]
        )
        on_node = needs[:, self.local].any(axis=1)
        here = np.unique(np.stack([holds, places])[:, runs & (places >= 0)], axis=1)
        weights = count[on_node].astype(np.float64)
        self.nodes = np.asarray(np.bincount(asks[on_node], weights, self.jobs), np.float64)
        self.nodes += np.bincount(here[0], minlength=self.jobs)
        self.started = np.full(self.jobs, NO_TIME, np.int64)
        first = np.full(self.jobs, np.iinfo(np.int64).max)
        np.minimum.at(first, holds, np.asarray(core.column("allocations", "start_time"), np.int64))
        self.started[holds] = first[holds]
        self.began = np.where(self.pending, NO_TIME, self.started)

    def _rows(self, table: str, field: str) -> NDArray[np.int64]:
        return np.asarray(self.snapshot._core.column(table, field), np.int64).reshape(-1)

    def _sum(self, rows: NDArray[np.int64], amounts: NDArray[Any]) -> NDArray[np.float64]:
        width = len(self.snapshot.resources)
        found = np.zeros((self.jobs, width))
        for r in range(width if len(rows) else 0):
            found[:, r] = np.bincount(rows, amounts[:, r], self.jobs)
        return found

    @cached_property
    def capacity(self) -> NDArray[np.float64]:
        """Capacity of every node, N x R."""
        rows = np.asarray(self.snapshot._core.column("nodes", "capacity"), np.float64)
        return rows.reshape(self.snapshot.node_count, len(self.snapshot.resources))

    def resource(self, name: str) -> int | None:
        """Return the column of a trackable resource: cpu, mem, gres/..."""
        names = [resource.lower() for resource in self.snapshot.resources]
        wanted = _MEMORY if name == "mem" else (name,)
        return next((names.index(n) for n in wanted if n in names), None)
