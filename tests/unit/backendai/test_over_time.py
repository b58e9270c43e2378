"""What becomes of preempted sessions in the course of time."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh
from evenhand.simulate import Workload, simulate


def run(rows: list[dict[str, Any]], until: float | None = None, nodes: int = 1, **settings: Any) -> Any:
    sessions = [
        {"name": row["name"], "kind": row.get("kind", "batch"), "priority": row["priority"]} for row in rows
    ]
    asked = [
        {**{k: v for k, v in row.items() if k != "kind"}, "operation": row["name"], "resources": {"cpu": 4}}
        for row in rows
    ]
    work = Workload(asked, operations=sessions)
    start = work.snapshot(nodes=nodes, now=0, cpu=4)
    return simulate(start, eh.policies.BackendAI(**settings), work, until)


@pytest.mark.parametrize(
    ("mode", "kept", "lost", "end"), [("suspend", 100.0, 0.0, 260.0), ("reschedule", 90.0, 10.0, 270.0)]
)
def test_a_batch_session_goes_on_from_what_it_kept(mode: str, kept: float, lost: float, end: float) -> None:
    """It has saved its work every 30 s. A suspended one keeps what it has done since, too."""
    result = run(
        [
            {"name": "s", "priority": 3, "submit_time": 0, "run_time": 200, "checkpoint_every": 30},
            {"name": "p", "priority": 10, "submit_time": 100, "run_time": 50},
        ],
        preemption_mode=mode,
    )
    runs = result.allocations
    assert list(runs["operation"]) == ["s", "p", "s"]
    assert (runs["kept"][0], runs["lost"][0]) == (kept, lost)
    assert (runs["resumed_from"][2], runs["start"][2], runs["end"][2]) == (0, 160.0, end)


@pytest.mark.parametrize(("priority", "next_one"), [(4, "s"), (2, "q")])
def test_a_replica_comes_back_at_the_priority_of_its_deployment(priority: int, next_one: str) -> None:
    """What cannot be suspended is terminated; the new replica waits with its priority, not the first."""
    rows = [
        {"name": "s", "kind": "inference", "priority": priority, "submit_time": 0, "run_time": None}
        | {"replica": True},
        {"name": "p", "priority": 10, "submit_time": 100, "run_time": 50},
        {"name": "q", "priority": 3, "submit_time": 100, "run_time": 10},
    ]
    result = run(rows, 155, preemption_mode="suspend")
    decisions = result.decisions
    assert [m for a, m in zip(decisions["action"], decisions["mode"], strict=True) if a == "preempt"] == [
        "terminate"
    ]
    assert list(result.allocations["requeued"]) == [True, False]
    result = run(rows, 1000, preemption_mode="suspend")
    assert list(result.allocations["operation"])[:3] == ["s", "p", next_one]
    assert result.allocations["start"][2] == 160.0


def test_a_replica_that_may_not_be_suspended_is_no_victim() -> None:
    result = run(
        [
            {"name": "s", "kind": "inference", "priority": 2, "submit_time": 0, "run_time": None},
            {"name": "p", "priority": 10, "submit_time": 100, "run_time": 50},
        ],
        400,
        preemption_mode="suspend",
        suspend_fallback="not_a_victim",
    )
    assert list(result.allocations["operation"]) == ["s"]


@pytest.mark.parametrize("threshold", [1, 2, 3, 4, 5])
def test_victims_over_time_by_the_threshold(threshold: int) -> None:
    """One session of each priority from 1 to 5 runs; five come that may preempt all of them."""
    low = [{"name": f"s{i}", "priority": i, "submit_time": 0, "run_time": 1000} for i in range(1, 6)]
    high = [{"name": f"p{i}", "priority": 10, "submit_time": 100 * i, "run_time": 2000} for i in range(1, 6)]
    result = run([*low, *high], 900, nodes=5, preemptible_priority=threshold)
    runs = result.allocations
    victims = [n for n, o in zip(runs["operation"], runs["outcome"], strict=True) if o == "preempted"]
    assert sorted(victims) == [f"s{i}" for i in range(1, threshold + 1)]
