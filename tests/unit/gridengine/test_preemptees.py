"""How many jobs may be preempted at a time."""

from __future__ import annotations

import pytest

import evenhand as eh


@pytest.mark.parametrize(
    ("state", "cap"), [("preempted", 1), ("preempting", 1), ("preempted", 2), ("preempting", 2)]
)
def test_those_that_leave_count_as_those_that_have_left(state: str, cap: int) -> None:
    """A job whose processes have not ended yet is a preemptee too (U14, U38)."""
    snapshot = eh.Snapshot.from_dict(
        {
            "now": 1000,
            "resources": {"slots": {"kind": "slots"}},
            "nodes": [{"name": "h1", "capacity": {"slots": 1}}, {"name": "h2", "capacity": {"slots": 2}}],
            "operations": [
                {"name": "10", "priority": 0.1},
                {"name": "11", "priority": 0.3},
                {"name": "20", "priority": 0.8},
            ],
            "allocations": [
                {"name": "10-a", "operation": "10", "node": "h1", "resources": {"slots": 1}, "state": state},
                {"name": "11-a", "operation": "11", "node": "h2", "resources": {"slots": 2}},
            ],
            "requests": [{"name": "20-r", "operation": "20", "resources": {"slots": 2}, "reserve": True}],
        }
    )
    policy = eh.policies.GridEngine(max_reservation=10, max_preemptees=cap)
    asked = eh.plan(
        snapshot,
        policy,
        on=eh.Commands([{"consumer": "20", "providers": ["11"], "action": "P", "manager": True}]),
    )
    plan = eh.plan(snapshot, policy, asked.state, on=eh.SchedulingRun())
    assert [d.allocation for d in plan.decisions.victims] == (["11-a"] if cap == 2 else [])
