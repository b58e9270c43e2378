"""Small clusters of Grid Engine in which one field matters."""

from __future__ import annotations

from typing import Any

from evenhand.policies import GridEngine

__all__ = ["OF_GRIDENGINE"]

Row = dict[str, Any]

_AUTOMATIC = GridEngine(max_reservation=5, max_preemptees=5, automatic_preemption=True)


def _requested(
    pool: str = "p", parent: str | None = None, *, rerunnable: bool = False, **of_node: Any
) -> Row:
    """A job in a pool has the only host's memory, one with a reservation wants it; q gives no victims."""
    pools: list[Row] = [{"name": "p"}, {"name": "q", "settings": {"max_victims_per_hour": 0}}]
    pools[0] |= {} if parent is None else {"parent": parent}
    amount = {"resources": {"memory": 4}}
    return {
        "now": 1000,
        "resources": {"memory": {"kind": "memory"}},
        "nodes": [{"name": "n", "capacity": {"memory": 4}, **of_node}],
        "pools": pools,
        "operations": [{"name": "old", "pool": pool, "priority": 0.1}, {"name": "new", "priority": 0.9}],
        "allocations": [{"name": "old", "operation": "old", "node": "n", "rerunnable": rerunnable, **amount}],
        "requests": [{"name": "new", "operation": "new", "reserve": True, **amount}],
    }


def _preempted(first: int, second: int) -> Row:
    """Two jobs of equal priority have been preempted; the host has room for one of them."""
    amount = {"resources": {"slots": 4}, "node": "n", "state": "preempted"}
    return {
        "now": 1000,
        "resources": {"slots": {"kind": "slots"}},
        "nodes": [{"name": "n", "capacity": {"slots": 4}}],
        "operations": [
            {"name": "a", "priority": 0.5, "start_time": first},
            {"name": "b", "priority": 0.5, "start_time": second},
        ],
        "allocations": [{"name": "a", "operation": "a", **amount}, {"name": "b", "operation": "b", **amount}],
    }


def _asked(second: int) -> Row:
    """Two jobs of equal priority ask for the only host; the first asked at the second 10."""
    amount = {"resources": {"slots": 4}}
    return {
        "now": 1000,
        "resources": {"slots": {"kind": "slots"}},
        "nodes": [{"name": "n", "capacity": {"slots": 4}}],
        "operations": [{"name": "a", "priority": 0.5}, {"name": "b", "priority": 0.5}],
        "requests": [
            {"name": "a", "operation": "a", "submit_time": 10, **amount},
            {"name": "b", "operation": "b", "submit_time": second, **amount},
        ],
    }


#: (system, table, field): a policy, and two snapshots that differ there and are planned differently.
OF_GRIDENGINE: dict[tuple[str, str, str], tuple[Any, Row, Row]] = {
    ("gridengine", "pools", "parent"): (_AUTOMATIC, _requested(), _requested(parent="q")),
    ("gridengine", "operations", "pool"): (_AUTOMATIC, _requested("p"), _requested("q")),
    ("gridengine", "requests", "submit_time"): (_AUTOMATIC, _asked(11), _asked(9)),
    ("gridengine", "operations", "start_time"): (_AUTOMATIC, _preempted(1, 2), _preempted(2, 1)),
    ("gridengine", "resources", "available_after_preemption"): (
        _AUTOMATIC,
        _requested(swap_free=4),
        _requested(swap_free=4)
        | {"resources": {"memory": {"kind": "memory", "available_after_preemption": False}}},
    ),
    ("gridengine", "resources", "kind"): (
        _AUTOMATIC,
        _requested(swap_free=0),
        _requested(swap_free=0) | {"resources": {"memory": {"kind": "slots"}}},
    ),
    ("gridengine", "nodes", "swap_free"): (_AUTOMATIC, _requested(swap_free=4), _requested(swap_free=0)),
    ("gridengine", "allocations", "rerunnable"): (
        _AUTOMATIC,
        _requested(swap_free=0),
        _requested(swap_free=0, rerunnable=True),
    ),
}
