"""Small snapshots by rows, and all that an explanation says as one text."""

from __future__ import annotations

from typing import Any

import evenhand as eh

__all__ = ["node", "snapshot", "text"]


def snapshot(
    nodes: list[dict[str, Any]],
    operations: list[dict[str, Any]],
    allocations: list[tuple[str, str, str, float]],
    requests: list[dict[str, Any]],
    **more: Any,
) -> eh.Snapshot:
    return eh.Snapshot.from_dict(
        {
            "now": 1000,
            "resources": {"cpu": {}},
            "nodes": nodes,
            "operations": operations,
            "allocations": [
                {"name": name, "operation": of, "node": node, "resources": {"cpu": cpu}, "start_time": i}
                for i, (name, of, node, cpu) in enumerate(allocations, 1)
            ],
            "requests": [{"resources": {"cpu": 1}, **row} for row in requests],
            **more,
        }
    )


def node(name: str, cpu: float, **more: Any) -> dict[str, Any]:
    return {"name": name, "capacity": {"cpu": cpu}, **more}


def text(explanation: eh.Explanation) -> str:
    return " ".join(explanation.sentences)
