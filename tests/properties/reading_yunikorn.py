"""Small partitions of YuniKorn in which one field matters."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from evenhand.policies import YuniKorn

__all__ = ["OF_YUNIKORN", "changed"]

Row = dict[str, Any]


def _partition(**more: Any) -> Row:
    """One node that a queue fills beyond its guarantee, and an ask of a queue below its own."""
    amount = {"resources": {"cpu": 1}}
    runs = [
        {"name": f"d{i}", "operation": "d", "node": "n", "start_time": 900 + i, **amount} for i in range(4)
    ]
    return {
        "now": 1000,
        "resources": {"cpu": {}},
        "nodes": [{"name": "n", "capacity": {"cpu": 4}}],
        "pools": [{"name": pool, "strong_guarantee": {"cpu": 2}} for pool in ("dev", "prod")],
        "operations": [{"name": "d", "pool": "dev"}, *({"name": name, "pool": "prod"} for name in "pq")],
        "allocations": runs,
        "requests": [{"name": "ask", "operation": "p", **amount}],
        **more,
    }


def changed(data: Row, table: str, row: int, **fields: Any) -> Row:
    """Return a snapshot with other cells in one row."""
    other = deepcopy(data)
    other[table][row] |= fields
    return other


_LOST_WORK_COSTS = YuniKorn(limit=1.0, cost=["lost_work"])
_TWO_ASK = _partition(
    allocations=[],
    nodes=[{"name": "n", "capacity": {"cpu": 1}}],
    requests=[
        {"name": f"ask-{name}", "operation": name, "resources": {"cpu": 1}, "submit_time": 990}
        for name in "pq"
    ],
)
_KEPT = {
    **_TWO_ASK,
    "reservations": [{"name": "kept", "request": "ask-p", "node": "n", "resources": {"cpu": 1}, "from": 900}],
    "operations": [{"name": "p", "pool": "prod"}, {"name": "q", "pool": "dev", "priority": 9}],
}
_LEAVES = changed(
    changed(_partition(), "allocations", 3, state="preempting", beneficiary={"operation": "p"}),
    *("requests", 0),
    count=2,
)
_LEAVES["requests"].append({"name": "bask", "operation": "p", "resources": {"cpu": 1}})
_AWAY = _partition()
_AWAY["allocations"].append(
    {"name": "away", "operation": "d", "node": "n", "resources": {"cpu": 1}, "state": "preempted"}
)
#: (table, field): a policy that reads it, and two snapshots that differ there.
OF_YUNIKORN: dict[tuple[str, str], tuple[Any, Row, Row]] = {
    ("allocations", "beneficiary.operation"): (
        YuniKorn(limit=1.0),
        _LEAVES,
        changed(_LEAVES, "allocations", 3, beneficiary={"operation": "q"}),
    ),
    ("allocations", "beneficiary.request"): (
        YuniKorn(limit=1.0),
        _LEAVES,
        changed(_LEAVES, "allocations", 3, beneficiary={"operation": "p", "request": "bask"}),
    ),
    ("allocations", "required_node"): (
        YuniKorn("upstream"),
        _partition(),
        changed(_partition(), "allocations", 3, required_node="n"),
    ),
    ("allocations", "preemptible"): (
        YuniKorn(limit=1.0),
        _partition(),
        changed(_partition(), "allocations", 3, preemptible=False),
    ),
    ("allocations", "originator"): (
        YuniKorn(limit=1.0),
        _partition(),
        changed(_partition(), "allocations", 3, originator=True),
    ),
    ("allocations", "held"): (
        YuniKorn(limit=1.0),
        _AWAY,
        changed(_AWAY, "allocations", 4, held={"cpu": 1}),
    ),
    ("allocations", "planned_end"): (
        YuniKorn(limit=1.0, pace={"spare_if_ends_within": 50.0}),
        _partition(),
        changed(_partition(), "allocations", 3, planned_end=1010),
    ),
    ("allocations", "last_job_start_time"): (
        _LOST_WORK_COSTS,
        _partition(),
        changed(_partition(), "allocations", 1, last_job_start_time=999),
    ),
    ("allocations", "last_progress_time"): (
        _LOST_WORK_COSTS,
        _partition(),
        changed(_partition(), "allocations", 1, last_progress_time=999),
    ),
    ("operations", "start_time"): (
        YuniKorn("upstream"),
        _TWO_ASK,
        changed(_TWO_ASK, "operations", 1, start_time=5),
    ),
    ("reservations", "from"): (
        YuniKorn("upstream"),
        _KEPT,
        changed(_KEPT, "reservations", 0, **{"from": 1500}),
    ),
}
