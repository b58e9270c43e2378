"""Checks count what a step gives back and takes against limits, and only those that the policy reads."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh


def queue(limit: int, **of_request: Any) -> eh.Snapshot:
    """A queue at its max, in which an ask preempts for itself; both are of applications of that queue."""
    data = {
        "now": 1000,
        "resources": {"cpu": {}},
        "nodes": [{"name": "n", "capacity": {"cpu": 8}}],
        "pools": [{"name": "q", "limits": {"cpu": limit}}],
        "operations": [{"name": "low", "pool": "q"}, {"name": "high", "pool": "q", "priority": 5}],
        "allocations": [
            {"name": f"a{i}", "operation": "low", "node": "n", "resources": {"cpu": 4}, "start_time": 900 + i}
            for i in range(2)
        ],
        "requests": [
            {"name": "r", "operation": "high", "resources": {"cpu": 4}, "submit_time": 900} | of_request
        ],
    }
    return eh.Snapshot.from_dict(data)


def test_a_step_gives_back_what_its_victims_have() -> None:
    plan = eh.plan(queue(8), eh.policies.YuniKorn())
    assert [d.action for d in plan.decisions] == ["preempt", "start"]
    assert not plan.check(plan.snapshot).findings


@pytest.mark.parametrize(("limit", "holds"), [(9, True), (8, True), (7, False)])
def test_a_lower_limit_is_seen_at_once(limit: int, holds: bool) -> None:
    plan = eh.plan(queue(8), eh.policies.YuniKorn())
    assert bool(plan.check(queue(limit))) == holds
