"""In which order jobs are served, and what those that wait are said to lack."""

from __future__ import annotations

from typing import Any

import evenhand as eh


def cluster(slots: int, **tables: list[dict[str, Any]]) -> eh.Snapshot:
    """One host."""
    return eh.Snapshot.from_dict(
        {
            "now": 1000,
            "resources": {"slots": {"kind": "slots"}},
            "nodes": [{"name": "h1", "capacity": {"slots": slots}}],
            **tables,
        }
    )


def test_jobs_that_are_alike_are_served_by_name() -> None:
    """Also where there are many of them, whatever the order of their rows."""
    names = [f"{n:02}" for n in range(60)]
    snapshot = cluster(
        40,
        operations=[{"name": name, "priority": 0.5} for name in reversed(names)],
        requests=[
            {"name": f"{name}-r", "operation": name, "resources": {"slots": 1}, "submit_time": 7}
            for name in names
        ],
    )
    plan = eh.plan(snapshot, eh.policies.GridEngine())
    assert [d.operation for d in plan.decisions.starts] == names[:40]


def test_providers_that_are_alike_leave_by_name() -> None:
    names = [f"{n:02}" for n in range(60)]
    snapshot = cluster(
        60,
        operations=[{"name": name, "priority": 0.1} for name in names] + [{"name": "99", "priority": 0.9}],
        allocations=[
            {"name": f"{name}-a", "operation": name, "node": "h1", "resources": {"slots": 1}, "start_time": 7}
            for name in names
        ],
        requests=[{"name": "99-r", "operation": "99", "resources": {"slots": 20}, "reserve": True}],
    )
    policy = eh.policies.GridEngine(
        automatic_preemption=True, max_reservation=1, max_preemptees=60, preemption_action="P"
    )
    plan = eh.plan(snapshot, policy)
    assert [d.operation for d in plan.decisions.victims] == names[:20]


def test_what_is_kept_for_a_job_is_missing_for_others_only() -> None:
    jobs = ("20", "21", "22")
    snapshot = cluster(
        5,
        operations=[{"name": "10", "priority": 0.95}]
        + [{"name": name, "priority": 0.9 - n / 10} for n, name in enumerate(jobs)],
        allocations=[{"name": "10-a", "operation": "10", "node": "h1", "resources": {"slots": 4}}],
        requests=[{"name": f"{name}-r", "operation": name, "resources": {"slots": 3}} for name in jobs],
        reservations=[
            {
                "name": "v",
                "request": "21-r",
                "node": "h1",
                "resources": {"slots": 1},
                "from": 900,
                "until": 9000,
            }
        ],
    )
    plan = eh.plan(snapshot, eh.policies.GridEngine())
    missing = {r.request: r.numbers["missing"] for r in plan.refusals}
    assert missing == {"20-r": {"slots": 3}, "21-r": {"slots": 2}, "22-r": {"slots": 3}}


def test_a_preemptor_is_remembered_until_it_has_started() -> None:
    """Its preemptee waits behind it as long; were it forgotten before, the room would go back at once."""
    snapshot = cluster(
        4,
        operations=[{"name": "10", "priority": 0.1}, {"name": "20", "priority": 0.9}],
        allocations=[{"name": "10-a", "operation": "10", "node": "h1", "resources": {"slots": 4}}],
        requests=[{"name": "20-r", "operation": "20", "resources": {"slots": 3}, "reserve": True}],
    )
    policy = eh.policies.GridEngine(
        automatic_preemption=True,
        prioritize_preemptees=True,
        max_reservation=1,
        max_preemptees=1,
        preemption_action="P",
    )
    said, state = [], None
    for _ in range(3):
        plan = eh.plan(snapshot, policy, state)
        snapshot, state = snapshot.after(plan), plan.state
        rows = {row["name"]: row["preempted_for"] for row in state.to_dict().get("operations", ())}
        said.append(([d.action for d in plan.decisions], rows.get("10", [])))
    # No end of the preemptor is known, so that nothing can be reserved for the preemptee.
    assert said == [(["preempt"], ["20"]), (["start"], []), ([], [])]
