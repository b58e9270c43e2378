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


def test_costs_of_its_own_are_asked_for_where_nothing_gives_them() -> None:
    """A simulation hands no costs over; a policy that orders victims by them is refused, not run without."""
    with pytest.raises(eh.InputError, match="cost: must be given"):
        simulated(eh.policies.YuniKorn(cost=["own"]), [job("many", "dev", 0.0, 4)])


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


def test_room_of_a_victim_that_its_ask_has_taken_is_counted_once() -> None:
    """When something else ends first, the ask stands there; what leaves still holds the ask's room for it."""
    rows = [{"name": "n", "capacity": {"cpu": 8}}]
    snapshot = eh.Snapshot.from_dict({"resources": {"cpu": {}}, "nodes": rows, "pools": POOLS})
    jobs = [
        {**job("victim", "dev", 0.0), "resources": {"cpu": 3}},
        {**job("short", "dev", 0.0, run_time=5.0), "resources": {"cpu": 4}, "priority": 1},
        {**job("other", "dev", 0.0), "resources": {"cpu": 1}, "priority": 1},
        {**job("ask", "prod", 1.0), "resources": {"cpu": 1}},
        {**job("next", "prod", 6.0), "resources": {"cpu": 4}},
    ]
    policy = eh.policies.YuniKorn(grace=20.0, limit=1.0)
    result = eh.simulate(snapshot, policy, eh.simulate.Workload(jobs), 60.0)
    assert instants(result, "start") == [0.0, 0.0, 0.0, 3.0, 6.0]
    assert instants(result, "began")[3:] == [5.0, 23.0]
    assert list(result.allocations["outcome"]).count("aborted") == 1


def test_a_node_that_is_lost_takes_what_runs_there_alone() -> None:
    """The unit is an allocation: those of the same application on other nodes run on, also of a gang."""
    rows = [{"name": name, "capacity": {"cpu": 2}} for name in ("a", "b")]
    snapshot = eh.Snapshot.from_dict({"resources": {"cpu": {}}, "nodes": rows, "pools": POOLS})
    down = [{"time": 4.0, "node": "b", "event": "down"}]
    workload = eh.simulate.Workload(
        [{"resources": {"cpu": 1}, **job("wide", "dev", 0.0, 4, run_time=10.0), "gang": True}], nodes=down
    )
    result = eh.simulate(snapshot, eh.policies.YuniKorn(), workload, 60.0)
    runs = list(zip(result.allocations["node"], result.allocations["outcome"], strict=True))
    assert runs == [("a", "completed")] * 2 + [("b", "lost_node")] * 2 + [("a", "completed")] * 2
