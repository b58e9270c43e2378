"""Suspend on subordinate in a simulation and on a live cluster (U56)."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh

SLOTS = {"slots": {"kind": "slots"}}
QUEUES = [{"name": "high"}, {"name": "low"}]


def policy(most: int = 4) -> eh.policies.GridEngine:
    return eh.policies.GridEngine(queues={"high": {"subordinate_list": f"slots={most}(low:0:sr)"}})


def cluster(**more: Any) -> eh.Snapshot:
    data = {"now": 0, "resources": SLOTS, "nodes": [{"name": "h", "capacity": {"slots": 8}}]}
    return eh.Snapshot.from_dict({**data, "pools": QUEUES, **more})


def job(name: str, pool: str, at: float, run: float) -> dict[str, Any]:
    row = {"name": name, "pool": pool, "submit_time": at, "run_time": run, "duration": run}
    return {**row, "resources": {"slots": 1}}


def test_what_was_seen_on_grid_engine() -> None:
    """Four low jobs, then two high ones, limit 4: the two youngest stop, and resume when the others end."""
    rows = [job(f"lo{i}", "low", 16.0 * i, 300.0) for i in range(1, 5)]
    rows += [job(f"hi{i}", "high", 100.0, 60.0) for i in (1, 2)]
    workload = eh.simulate.Workload(rows, resources=SLOTS)
    runs = eh.simulate(cluster(), policy(), workload, 1000.0, schedule_interval=1.0).allocations
    seen = zip(*(runs[name] for name in ("operation", "start", "end", "outcome")), strict=True)
    assert sorted(seen) == [
        ("hi1", 100.0, 160.0, "completed"),
        ("hi2", 100.0, 160.0, "completed"),
        ("lo1", 16.0, 316.0, "completed"),
        ("lo2", 32.0, 332.0, "completed"),
        ("lo3", 48.0, 100.0, "suspended"),
        ("lo3", 160.0, 408.0, "completed"),  # 52 of 300 s were done
        ("lo4", 64.0, 100.0, "suspended"),
        ("lo4", 160.0, 424.0, "completed"),
    ]


def test_run_time_counts_from_the_first_start() -> None:
    """One that resumed at 60 has still run longer than one that started at 30."""
    rows = [job("a", "low", 0.0, 500.0), job("b", "low", 5.0, 500.0)]
    rows += [job("x", "high", 20.0, 40.0), job("y", "high", 20.0, 40.0), job("z", "high", 90.0, 40.0)]
    workload = eh.simulate.Workload(rows, resources=SLOTS)
    result = eh.simulate(cluster(), policy(2), workload, 400.0, schedule_interval=1.0)
    stops = [
        (time, name)
        for time, action, name in zip(
            *(result.decisions[column] for column in ("time", "action", "operation")), strict=True
        )
        if action == "preempt"
    ]
    assert stops == [(20.0, "b"), (20.0, "a"), (90.0, "b")]


@pytest.mark.parametrize("state", ["running", "preempted"])
def test_what_ran_at_the_beginning_ends_later_by_what_it_was_stopped(state: str) -> None:
    row = {"name": "l", "operation": "l", "node": "h", "resources": {"slots": 1}, "planned_end": 100}
    row |= {"state": state} | ({"held": {"slots": 1}} if state == "preempted" else {})
    start = cluster(operations=[{"name": "l", "pool": "low"}], allocations=[row])
    workload = eh.simulate.Workload([job("x", "high", 0.0, 50.0)], resources=SLOTS)
    runs = eh.simulate(start, policy(1), workload, 400.0, schedule_interval=1.0).allocations
    seen = zip(*(runs[name] for name in ("operation", "start", "end", "outcome")), strict=True)
    stopped = None if state == "preempted" else 0.0  # when is not known of what was stopped before
    assert [row[1:] for row in seen if row[0] == "l"] == [
        (0.0, stopped, "suspended"),
        (50.0, 150.0, "completed"),
    ]


def test_a_live_cluster_stops_and_resumes() -> None:
    row = {"name": "l", "operation": "l", "node": "h", "resources": {"slots": 1}, "start_time": 0}
    live = eh.Cluster(
        cluster(
            now=10,
            operations=[{"name": "l", "pool": "low"}, {"name": "x", "pool": "high"}],
            allocations=[row],
            requests=[{"name": "x", "operation": "x", "resources": {"slots": 1}}],
        ),
        policy(1),
    )
    plan = live.plan()
    assert [(d.action, d.operation) for d in plan.decisions] == [("start", "x"), ("preempt", "l")]
    assert plan.decisions[1].numbers["queue"] == "high"
    done = live.carry_out(plan)
    (stopped,) = [a for a in live.snapshot().to_dict()["allocations"] if a["name"] == "l"]
    assert (stopped["state"], stopped["held"]) == ("preempted", {"slots": 1})
    assert not live.plan().decisions
    live.apply([{"event": "end", "allocation": done.started[0]}])
    assert [(d.action, d.operation) for d in live.plan().decisions] == [("resume", "l")]
