"""Snapshot: one scheduling domain at an instant."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from evenhand import _core

ROOT = "<Root>"


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
        quantum = np.array([r.get("quantum", 1.0) for r in data["resources"].values()])

        def amounts(value: dict[str, float]) -> list[int]:
            return [round(value.get(r, 0) / q) for r, q in zip(resources, quantum, strict=True)]

        pools, operations = data.get("pools", []), data.get("operations", [])
        row = {None: 0} | {p["name"]: i + 1 for i, p in enumerate(pools)}
        tables = {
            "pools": {
                "name": [ROOT, *(p["name"] for p in pools)],
                "parent": [-1, *(row[p.get("parent")] for p in pools)],
                "weight": [1.0, *(p.get("weight", 1) for p in pools)],
            },
            "operations": {
                "name": [o["name"] for o in operations],
                "pool": [row[o.get("pool")] for o in operations],
                "weight": [o.get("weight", 1) for o in operations],
                "demand": [amounts(o.get("demand", {})) for o in operations],
                "usage": [amounts(o.get("usage", {})) for o in operations],
            },
        }
        head = {"resources": resources, "quantum": quantum, "total": amounts(data["total"])}
        names = [*tables["pools"]["name"], *tables["operations"]["name"]]
        return cls(_core.build_snapshot(head, tables), resources, names)

    @classmethod
    def from_json(cls, text: str) -> Snapshot:
        """Build a snapshot from JSON text."""
        return cls.from_dict(json.loads(text))
