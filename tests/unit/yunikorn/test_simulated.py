"""Cycles in time: when they come, and when the room of victims is there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import evenhand as eh

SECOND = 1_000_000
POOLS = [
    {"name": "dev", "strong_guarantee": {"cpu": 2}},
    {"name": "prod", "strong_guarantee": {"cpu": 2}},
]


def simulated(policy: Any, jobs: list[dict[str, Any]], until: float = 30.0, **options: Any) -> Any:
    rows = [{"resources": {"cpu": 1}, "count": 1, **job} for job in jobs]
    snapshot = eh.Snapshot.from_dict(
        {"resources": {"cpu": {}}, "nodes": [{"name": "n", "capacity": {"cpu": 4}}], "pools": POOLS}
    )
    workload = eh.simulate.Workload(rows)
    return eh.simulate(snapshot, policy, workload, until, **options)


def job(name: str, pool: str, submit: float, count: int = 1, run_time: float = 100.0) -> dict[str, Any]:
    return {"name": name, "pool": pool, "submit_time": submit, "run_time": run_time, "count": count}


def instants(result: Any, column: str) -> list[float]:
    return (np.asarray(result.raw["allocations"][column]) / SECOND).tolist()


def test_cycles_come_every_three_seconds() -> None:
    """What comes between two of them starts at the next: at 0, 3, 6 s."""
    jobs = [job(f"j{i}", "dev", at) for i, at in enumerate((0.0, 0.5, 3.0, 3.5))]
    result = simulated(eh.policies.YuniKorn(), jobs)
    assert instants(result, "start") == [0.0, 3.0, 3.0, 6.0]


@pytest.mark.parametrize(("interval", "starts"), [(1.0, [0.0, 1.0, 4.0]), (3.0, [0.0, 3.0, 6.0])])
def test_the_interval_is_a_clock_of_the_simulation(interval: float, starts: list[float]) -> None:
    jobs = [job(f"j{i}", "dev", at) for i, at in enumerate((0.0, 0.5, 3.5))]
    assert instants(simulated(eh.policies.YuniKorn(), jobs, preemption_interval=interval), "start") == starts


@pytest.mark.parametrize("grace", [0.0, 4.0, 7.5])
def test_room_is_there_only_after_the_grace(grace: float) -> None:
    """The resource manager owns the time between signal and kill: work begins when it has ended."""
    policy = eh.policies.YuniKorn(grace=grace, limit=1.0)
    result = simulated(policy, [job("many", "dev", 0.0, 4), job("ask", "prod", 4.0)])
    runs = result.raw["allocations"]
    *many, ask = range(len(runs["start"]))
    assert len(many) == 4
    assert runs["start"][ask] == 6 * SECOND
    assert runs["began"][ask] == runs["start"][ask] + grace * SECOND
    [victim] = [row for row in many if runs["end"][row] >= 0]
    assert runs["end"][victim] == runs["began"][ask]


def test_the_grace_is_in_the_decision() -> None:
    policy = eh.policies.YuniKorn(grace=7.5, limit=1.0)
    result = simulated(policy, [job("many", "dev", 0.0, 4), job("ask", "prod", 4.0)])
    decisions = result.raw["decisions"]
    victims = np.asarray(decisions["grace"])[np.asarray(decisions["action"]) == 1]
    assert victims.tolist() == [7.5 * SECOND]


def test_a_victim_that_ends_by_itself_makes_room_at_once() -> None:
    policy = eh.policies.YuniKorn(grace=50.0, limit=1.0)
    jobs = [job("many", "dev", 0.0, 4, run_time=10.0), job("ask", "prod", 4.0)]
    runs = simulated(policy, jobs).raw["allocations"]
    assert runs["began"][-1] == 10 * SECOND
