"""Shares with numbers of one's choice, where a test is about how they look."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from evenhand.table import Table

# name, kind, parent, mode, then per resource (cpu, gpu): fair share, usage, guarantee, demand; satisfaction
Element = tuple[
    str | int, str, str | int | None, str, list[float], list[float], list[float], list[float], float
]

CLUSTER: list[Element] = [
    ("<Root>", "pool", None, "fair_share", [1.0, 0.9], [0.8, 0.6], [0, 0], [1.5, 0.9], 0.25),
    ("lab", "pool", "<Root>", "fair_share", [0.5, 0.3], [0.3, 0.1], [0.4, 0.0], [0.9, 0.3], 0.25),
    ("lab/nlp", "pool", "lab", "fifo", [0.2, 0.1], [0.05, 0.0], [0.0, 0.0], [0.5, 0.1], 0.25),
    ("web", "pool", "<Root>", "fair_share", [0.25, 0.0], [0.5, 0.0], [0.0, 0.0], [0.6, 0.0], 2.0),
    ("idle", "pool", "<Root>", "fair_share", [0.0, 0.0], [0.0, 0.0], [0.1, 0.0], [0.0, 0.0], 1e9),
    ("train", "operation", "lab/nlp", "", [0.2, 0.1], [0.05, 0.0], [0, 0], [0.5, 0.1], 0.25),
    ("serve", "operation", "web", "", [0.25, 0.0], [0.5, 0.0], [0, 0], [0.6, 0.0], 2.0),
]


class FakeShares:
    """What displays read of `Shares`."""

    def __init__(
        self, elements: list[Element] | None = None, resources: tuple[str, ...] = ("cpu", "gpu")
    ) -> None:
        elements = CLUSTER if elements is None else elements
        names, kinds, parents, modes, fair, usage, guarantee, demand, satisfaction = map(
            list, zip(*elements, strict=True)
        )
        pools = kinds.count("pool")
        self.names, self.kinds, self.parents, self.resources = names, kinds, parents, resources
        self.diagnostics: tuple[Any, ...] = ()
        matrix = np.array(usage)
        self._columns = {
            "fair_share": np.array(fair),
            "usage_share": matrix,
            "demand_share": np.array(demand),
            "strong_guarantee_share": np.array(guarantee) * 0.75,
            "proposed_integral_share": np.array(guarantee) * 0.25,
            "satisfaction": np.array(satisfaction),
            "dominant_resource": np.where(
                matrix.any(axis=1), matrix.argmax(axis=1), np.argmax(demand, axis=1)
            ),
        }
        above = [None if parent == names[0] else parent for parent in parents]
        tables = {
            "pools": Table({"name": names[1:pools], "parent": above[1:pools], "mode": modes[1:pools]}),
            "operations": Table({"name": names[pools:], "pool": above[pools:]}),
        }
        self.snapshot: Any = SimpleNamespace(
            resources=resources,
            total=dict.fromkeys(resources, 1000.0),
            quantum=dict.fromkeys(resources, 1.0),
            units=dict.fromkeys(resources),
            now=0.0,
            pool_count=pools,
            operation_count=len(names) - pools,
            node_count=1,
            allocation_count=0,
            request_count=0,
            reservation_count=0,
            table=lambda name: tables.get(name, Table({})),
        )

    def __getitem__(self, quantity: str) -> np.ndarray:
        return np.asarray(self._columns[quantity])


def chain(depth: int) -> list[Element]:
    """Return a tree that is one long path."""
    rows: list[Element] = [("<Root>", "pool", None, "fair_share", [1.0], [1.0], [0.0], [1.0], 1.0)]
    for i in range(depth):
        parent = rows[-1][0]
        rows.append((f"p{i}", "pool", parent, "fair_share", [1.0], [1.0], [0.0], [1.0], 1.0))
    return rows
