"""A full node of Backend.AI, and plans of which everything that is said is checked."""

from __future__ import annotations

from typing import Any

import evenhand as eh
from tests.reference.explanations import check_explanations

__all__ = ["group", "of", "plan"]


def group(**changes: Any) -> dict[str, Any]:
    """Return a full node on which a and b run, and u that waits for 2 of 4 cpu."""
    return {
        "now": 100,
        "resources": {"cpu": {}, "lic": {"scope": "cluster", "capacity": 2}},
        "nodes": [{"name": "n1", "capacity": {"cpu": 4}}],
        "operations": [
            {"name": "a", "priority": 3, "user": "ann"},
            {"name": "b", "priority": 2, "user": "bob"},
            {"name": "u", "priority": 50, "user": "ann"},
        ],
        "allocations": [
            {"name": f"{name}-k", "operation": name, "node": "n1", "resources": {"cpu": 2}, "start_time": 40}
            for name in ("a", "b")
        ],
        "requests": [{"name": "u-r", "operation": "u", "resources": {"cpu": 2}}],
    } | changes


def plan(data: dict[str, Any], preset: str = "documented", **settings: Any) -> eh.Plan:
    """Plan, and check everything that is said."""
    made = eh.plan(eh.Snapshot.from_dict(data), eh.policies.BackendAI(preset, **settings))
    check_explanations(made)
    return made


def of(data: dict[str, Any], table: str, name: str, **fields: Any) -> dict[str, Any]:
    """Return data in which one row says more."""
    rows = [row | fields if row["name"] == name else row for row in data[table]]
    return data | {table: rows}
