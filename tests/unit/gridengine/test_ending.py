"""In a simulation, room is free once processes have ended or stopped, and not before (U14)."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh

SLOTS = {"slots": {"kind": "slots"}}


def run(action: str, notify: float) -> tuple[Any, Any]:
    """A job of high priority takes the room of one of low priority that runs for 500 s."""
    snapshot = eh.Snapshot.from_dict(
        {"now": 0, "resources": SLOTS, "nodes": [{"name": "h", "capacity": {"slots": 1}}]}
    )
    policy = eh.policies.GridEngine(
        max_reservation=9,
        max_preemptees=1,
        automatic_preemption=True,
        DURATION_OFFSET=0,
        preemption_distance=0,
        preemption_action=action,
        notify=notify,
    )
    job = {"reserve": True, "resources": {"slots": 1}}
    rows = [
        {"name": "low", "submit_time": 0.0, "run_time": 500.0, "duration": 500.0, "priority": 1, **job},
        {"name": "high", "submit_time": 10.0, "run_time": 50.0, "duration": 50.0, "priority": 9, **job},
    ]
    workload = eh.simulate.Workload(rows, resources=SLOTS)
    result = eh.simulate(snapshot, policy, workload, 1000.0, schedule_interval=1.0)
    runs = result.allocations
    of = {name: [j for j in range(len(runs)) if runs["operation"][j] == name] for name in ("low", "high")}
    return [runs["end"][j] for j in of["low"]], [runs["start"][j] for j in of["high"]]


@pytest.mark.parametrize("notify", [0.0, 1.0, 20.0, 20.5])
def test_what_ends_has_its_time_and_the_preemptor_waits_for_it(notify: float) -> None:
    ends, starts = run("T", notify)
    assert ends == [10.0 + notify]
    (start,) = starts
    assert start >= ends[0]
    assert start <= max(ends[0] + 1.0, 11.0)  # the next run


@pytest.mark.parametrize("action", ["P", "N", "S"])
def test_what_stops_has_no_such_time(action: str) -> None:
    ends, starts = run(action, 20.0)
    assert ends[0] == 10.0
    assert starts == [11.0]
