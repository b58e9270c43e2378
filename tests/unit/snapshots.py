"""Snapshots that the tests of building start from."""

from __future__ import annotations

import copy
from typing import Any

GOOD: dict[str, Any] = {
    "schema": "evenhand/snapshot/1",
    "now": 100.5,
    "previous_update": 90,
    "resources": {
        "slots": {},
        "cpu": {},
        "memory": {"quantum": 1024},
        "matlab": {"kind": "license", "scope": "cluster", "capacity": 7, "available_after_preemption": False},
    },
    "root": {"step_function_for_gang": False, "settings": {"enable_aggressive_starvation": True}},
    "nodes": [
        {"name": "n2", "capacity": {"slots": 10, "cpu": 8.5, "memory": 4096}, "tags": ["ssd", "a"]},
        {
            "name": "n1",
            "capacity": {"slots": 10, "cpu": 8, "memory": 4096},
            "schedulable": False,
            "overcommitted_since": 3.25,
            "physical": "box",
            "swap_free": 5,
            "settings": {"rack": 7},
        },
    ],
    "pools": [
        {"name": "prod", "weight": 2, "strong_guarantee": {"cpu": 4}, "limits": {"cpu": 8, "memory": 0}},
        {
            "name": "burst",
            "parent": "prod",
            "mode": "fifo",
            "integral": {
                "type": "burst",
                "resource_flow": {"cpu": 1},
                "burst": {"cpu": 2},
                "accumulated_volume": {"cpu": 1 / 3},
                "last_share_ratio": 0.25,
            },
            "settings": {"fair_share_starvation_timeout": 60, "threshold": {"cpu": 5}, "tags": [1, "x"]},
            "order": 3,
        },
    ],
    "operations": [
        {"name": "etl", "pool": "burst", "user": "ann", "start_time": 10, "priority": 0.5, "gang": True},
        {
            "name": 17,
            "demand": {"cpu": 2.5},
            "usage": {"cpu": 0.5},
            "limits": {"cpu": 3},
            "best_allocation_share": {"cpu": 0.5},
            "kind": "interactive",
            "fifo_start_time": 4,
            "qos": "high",
        },
    ],
    "allocations": [
        {
            "name": "a1",
            "operation": "etl",
            "node": "n2",
            "resources": {"slots": 1, "cpu": 1.5, "memory": 2048},
            "start_time": 11,
            "last_job_start_time": 12,
            "planned_end": 500,
            "rerunnable": True,
        },
        {
            "name": "a2",
            "operation": "etl",
            "node": "n2",
            "resources": {"slots": 1, "cpu": 1},
            "state": "preempting",
            "deadline": 130,
            "beneficiary": {"operation": "etl", "request": "r1"},
        },
        {
            "name": "a3",
            "operation": "etl",
            "resources": {"cpu": 1},
            "state": "preempted",
            "held": {"cpu": 0.5},
        },
    ],
    "requests": [
        {
            "name": "r1",
            "operation": "etl",
            "resources": {"cpu": 1},
            "count": 3,
            "duration": "5m",
            "node_tags": ["ssd"],
            "required_node": "n1",
            "submit_time": 9.000001,
            "gang": False,
        }
    ],
    "reservations": [
        {
            "name": "v1",
            "request": "r1",
            "node": "n1",
            "resources": {"cpu": 1},
            "from": 100,
            "until": 200,
            "soft": True,
        }
    ],
    "commands": [{"kind": "preempt", "consumer": "etl", "providers": ["17"], "action": "P", "force": True}],
}


def good() -> dict[str, Any]:
    """A snapshot with something in every table."""
    return copy.deepcopy(GOOD)


def small() -> dict[str, Any]:
    """A snapshot of one row in most tables, of which tests break one cell."""
    return {
        "resources": {"cpu": {}, "memory": {}},
        "nodes": [{"name": "n", "capacity": {"cpu": 8, "memory": 64}}],
        "pools": [{"name": "p"}, {"name": "q", "parent": "p"}],
        "operations": [{"name": "o", "pool": "p"}, {"name": "w", "demand": {"cpu": 3}}],
        "allocations": [{"name": "a", "operation": "o", "node": "n", "resources": {"cpu": 1}}],
        "requests": [{"name": "r", "operation": "o", "resources": {"cpu": 1}}],
        "reservations": [{"name": "v", "request": "r", "node": "n"}],
    }
