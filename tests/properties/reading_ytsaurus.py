"""Small clusters of YTsaurus in which one field matters."""

from __future__ import annotations

from typing import Any

from evenhand.policies import YTsaurus

__all__ = ["OF_YTSAURUS"]

Row = dict[str, Any]


def _graceful(planned_end: float) -> Row:
    """Work beyond the share of a graceful operation, which is planned to end."""
    work = {"operation": "old", "node": "n", "resources": {"cpu": 4}}
    return {
        "now": 1000,
        "resources": {"cpu": {}},
        "nodes": [{"name": "n", "capacity": {"cpu": 8}}],
        "operations": [{"name": "old", "settings": {"preemption_mode": "graceful"}}, {"name": "new"}],
        "allocations": [
            {"name": "a", "start_time": 1, **work},
            {"name": "b", "start_time": 2, "planned_end": planned_end, **work},
        ],
        "requests": [{"name": "r", "operation": "new", "resources": {"cpu": 4}}],
    }


#: (table, field): a policy that reads it, and two snapshots that differ there.
OF_YTSAURUS: dict[tuple[str, str], tuple[Any, Row, Row]] = {
    ("allocations", "planned_end"): (
        YTsaurus(pace={"spare_if_ends_within": 60}),
        _graceful(1010),
        _graceful(2000),
    ),
}
