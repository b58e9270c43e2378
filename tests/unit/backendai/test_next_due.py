"""When a scheduling run can first decide something that it does not decide now."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh

POLICY = eh.policies.BackendAI(preemption_min_runtime="60s")
HELD: dict[str, Any] = {
    "resources": {"cpu": {}},
    "nodes": [{"name": "n", "capacity": {"cpu": 4}}],
    "operations": [{"name": "low", "priority": 1}, {"name": "high", "priority": 50}],
    "allocations": [{"name": "a", "operation": "low", "node": "n", "resources": {"cpu": 4}, "start_time": 5}],
    "requests": [{"name": "r", "operation": "high", "resources": {"cpu": 4}}],
}
RESERVED: dict[str, Any] = {
    **HELD,
    "operations": [{"name": "high", "priority": 50}, {"name": "late", "priority": 40}],
    "allocations": [],
    "requests": [*HELD["requests"], {"name": "q", "operation": "late", "resources": {"cpu": 5}}],
    "reservations": [
        {"name": "v", "node": "n", "request": "q", "resources": {"cpu": 4}, "from": 5, "until": 65}
    ],
}


@pytest.mark.parametrize("data", [HELD, RESERVED], ids=["held", "reserved"])
def test_when_a_session_has_run_long_enough_or_a_reservation_ends(data: dict[str, Any]) -> None:
    plan = eh.plan(eh.Snapshot.from_dict({**data, "now": 10}), POLICY)
    assert not len(plan.decisions)
    assert plan.next_due == 65
    before = eh.plan(eh.Snapshot.from_dict({**data, "now": 64.999999}), POLICY)
    assert not len(before.decisions)
    then = eh.plan(eh.Snapshot.from_dict({**data, "now": 65}), POLICY)
    assert len(then.decisions)
    assert then.next_due == 65


def test_never_where_nothing_depends_on_time() -> None:
    alone = {**HELD, "requests": []}
    assert eh.plan(eh.Snapshot.from_dict({**alone, "now": 100}), POLICY).next_due is None
