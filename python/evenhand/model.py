"""Snapshot: one scheduling domain at an instant."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from evenhand import _core


class Snapshot:
    """Pools and operations of one scheduling domain."""

    def __init__(self, core: _core.Snapshot, resources: list[str], names: list[str]) -> None:
        self._core = core
        self.resources = resources
        self.element_names = names

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Snapshot:
        """Build a snapshot from the layout of the file format."""
        resources = list(data["resources"])
        heads = data["resources"].values()
        count = len(resources)

        def amounts(rows: list[dict[str, float]]) -> np.ndarray:
            cells = [[row.get(r, 0) for r in resources] for row in rows]
            return np.array(cells, dtype=float).reshape(len(rows), count)

        pools, operations = data.get("pools", []), data.get("operations", [])
        head = {
            "resources": resources,
            "quantum": np.array([r.get("quantum", 1.0) for r in heads]),
            "kind": np.full(count, 4, dtype=np.uint8),
            "scope": np.zeros(count, dtype=np.uint8),
            "available_after_preemption": np.ones(count, dtype=bool),
            "total": amounts([data["total"]])[0],
        }
        tables = {
            "pools": {
                "name": [p["name"] for p in pools],
                "parent": [p.get("parent") for p in pools],
                "weight": np.array([p.get("weight", 1) for p in pools], dtype=float),
            },
            "operations": {
                "name": [o["name"] for o in operations],
                "pool": [o.get("pool") for o in operations],
                "weight": np.array([o.get("weight", 1) for o in operations], dtype=float),
                "demand": amounts([o.get("demand", {}) for o in operations]),
                "usage": amounts([o.get("usage", {}) for o in operations]),
            },
        }
        core = _core.build_snapshot(head, tables)
        return cls(core, resources, [*core.names("pools"), *core.names("operations")])

    @classmethod
    def from_json(cls, text: str) -> Snapshot:
        """Build a snapshot from JSON text."""
        return cls.from_dict(json.loads(text))
