"""Workloads, and single rules of simulations."""

from __future__ import annotations

import pickle
import signal
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand import _core
from evenhand.simulate import Simulation, Workload

ROWS: dict[str, Any] = {
    "name": ["a", "b", "c"],
    "resources.cpu": [2, 4, 1],
    "submit_time": [0, 5, 9],
    "run_time": [60, None, 30],
    "pool": ["x", "x", "y"],
}


def test_operations_and_pools_are_made_of_requests() -> None:
    work = Workload(ROWS)
    assert work.operations().to_dict() == {
        "name": ["a", "b", "c"],
        "pool": ["x", "x", "y"],
        "start_time": [0, 5, 9],
    }
    assert work.pools().to_dict() == {"name": ["x", "y"]}
    assert work.table()["run_time"] == [60.0, None, 30.0]
    assert (len(work), work.begin, work.end) == (3, 0.0, 9.0)
    assert repr(work) == "Workload(3 requests, 3 operations, 2 pools, 9 s)"


def test_parts_of_a_workload() -> None:
    work = Workload(ROWS, nodes={"time": [3, 7], "node": ["n1", "n1"], "event": ["drain", "up"]})
    assert list(work.slice(5, 9).table()["name"]) == ["b"]
    assert len(work.slice(0, 5).node_events()) == 1
    assert list(work.head(2).table()["name"]) == ["a", "b"]
    assert pickle.loads(pickle.dumps(work)).table().to_dict() == work.table().to_dict()
    longer = work.scaled(interval=2, run_time=0.5)
    assert longer.table()["run_time"] == [30.0, None, 15.0]
    assert longer.table()["submit_time"].tolist() == [0, 10, 18]
    assert longer.operations()["start_time"].tolist() == [0, 10, 18]
    assert longer.node_events()["time"].tolist() == [6, 14]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"run_time": [-1, 1, 1]}, "run_time"),
        ({"checkpoint_every": [0, None, None]}, "checkpoint_every"),
        ({"run_time": ["soon", 1, 1]}, "run_time"),
        ({"cut_off": [1, None, None]}, "cut_off"),
    ],
)
def test_wrong_columns_are_named(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(eh.InputError) as caught:
        Workload({**ROWS, **changes})
    assert [(p.table, p.field) for p in caught.value.problems] == [("requests", field)]


def test_a_start_snapshot_keeps_its_own_pools() -> None:
    work = Workload(ROWS)
    nodes = [{"name": "n1", "capacity": {"cpu": 8}}]
    own = eh.Snapshot.from_dict(
        {"resources": {"cpu": {}}, "nodes": nodes, "pools": [{"name": "x", "weight": 3}]}
    )
    joined = work.joined(own)
    assert joined.to_dict()["pools"] == [{"name": "x", "weight": 3}, {"name": "y"}]
    assert work.joined(joined) is joined


def test_an_unknown_clock_is_refused() -> None:
    work = Workload(ROWS)
    with pytest.raises(eh.InputError, match="has no clock sched_interval; it has heartbeat_period"):
        Simulation(work.snapshot(nodes=1, cpu=8), eh.policies.YTsaurus(), work, sched_interval=5)


def test_a_victim_that_is_nearly_done_completes_in_its_grace() -> None:
    """Both leave for one that starves: the one with 20 s left completes, the one with 40 is aborted."""
    rows = {
        "name": ["long", "short", "late"],
        "resources.cpu": [1, 1, 2],
        "submit_time": [0, 0, 50],
        "run_time": [100.0, 80.0, 10.0],
        "pool": ["x", "x", "y"],
    }
    pools = [{"name": "x"}, {"name": "y", "strong_guarantee": {"cpu": 2}}]
    work = Workload(rows, pools=pools)
    policy = eh.policies.YTsaurus(fair_share_starvation_timeout=5, allocation_preemption_timeout=30)
    result = eh.simulate(work.snapshot(nodes=1, cpu=2), policy, work, heartbeat_period=1)
    runs = result.allocations.to_dict()
    at = dict(
        zip(
            runs["request"],
            zip(runs["start"], runs["began"], runs["end"], runs["outcome"], strict=True),
            strict=True,
        )
    )
    left = next(
        t for t, a in zip(*map(result.decisions.get, ("time", "action")), strict=True) if a == "preempt"
    )
    assert 55 < left <= 60
    ends = {(q, end, how) for q, end, how in zip(runs["request"], runs["end"], runs["outcome"], strict=True)}
    assert ("short", 80.0, "completed") in ends
    assert ("long", left + 30, "aborted") in ends
    assert at["late"][1] == left + 30  # its work begins when there is room
    again = [i for i, name in enumerate(runs["request"]) if name == "long"][1]
    assert (runs["outcome"][again], runs["kept"][0], runs["lost"][0]) == ("completed", 0, left + 30)


def test_a_stopped_run_is_a_snapshot() -> None:
    work = Workload(ROWS)
    run = Simulation(work.snapshot(nodes=1, cpu=4), eh.policies.YTsaurus(), work)
    run.run(until=7)
    now = run.snapshot()
    assert now.now == 7
    assert now.names("allocations") == ["a/0"]
    assert now.names("operations") == ["a", "b"]
    assert len(run.plan().decisions) == 0
    again = eh.Snapshot.from_dict(now.to_dict())
    assert again.fingerprint == now.fingerprint


def test_heartbeats_can_be_drawn() -> None:
    work = Workload({"name": ["a"], "resources.cpu": [1], "count": [6], "run_time": [5.0]})
    start = work.snapshot(nodes=6, cpu=1)
    usual = eh.simulate(start, eh.policies.YTsaurus(), work)
    drawn = eh.simulate(start, eh.policies.YTsaurus(), work, rng=1)
    same = eh.simulate(start, eh.policies.YTsaurus(), work, rng=np.random.default_rng(1))
    assert usual.allocations["node"] == ["n1", "n2", "n3", "n4", "n5", "n6"]
    assert drawn.allocations["node"] == same.allocations["node"] != usual.allocations["node"]


def test_an_interrupted_run_goes_on_from_there() -> None:
    jobs = 2_000
    work = Workload(
        {
            "name": np.arange(jobs),
            "resources.cpu": np.ones(jobs, np.int64),
            "submit_time": np.arange(jobs) * 20.0,
            "run_time": np.full(jobs, 3.0),
        }
    )
    start, policy = work.snapshot(nodes=8, cpu=1), eh.policies.YTsaurus()
    run = Simulation(start, policy, work)

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGUSR1, stop)
    try:
        for polls in (1, 2, 10):
            _core.signal_at_poll(signal.SIGUSR1, polls)
            with pytest.raises(KeyboardInterrupt):
                run.run()
            assert not run.done
    finally:
        signal.signal(signal.SIGUSR1, before)
    run.run()
    whole = eh.simulate(start, policy, work)
    for table, columns in whole.raw.items():
        for name, column in columns.items():
            assert np.array_equal(column, run.result().raw[table][name]), (table, name)


def test_volumes_move_on_while_there_is_work() -> None:
    """A relaxed pool gets more while its volume lasts; without work there are no updates for its sake."""
    work = Workload(
        {
            "name": ["a", "b"],
            "pool": ["x", "y"],
            "count": [16, 16],
            "resources.cpu": [1, 1],
            "submit_time": [0, 300],
            "run_time": [900, 900],
        }
    )
    relaxed = {"type": "relaxed", "resource_flow": {"cpu": 2}, "accumulated_volume": {"cpu": 1200}}
    start = eh.Snapshot.from_dict(
        {
            "now": 0,
            "resources": {"cpu": {}},
            "nodes": [{"name": "n", "capacity": {"cpu": 16}}],
            "pools": [{"name": "x"}, {"name": "y", "integral": relaxed}],
        }
    )
    policy = eh.policies.YTsaurus()
    result = eh.simulate(start, policy, work, series_every=10)
    pools = [str(name) for name in result.series["pool"]]
    shares = {
        time: share
        for time, pool, share in zip(result.series["time"], pools, result.series["fair_share"], strict=True)
        if pool == "y"
    }
    assert shares[290] == 0
    assert shares[300] > 0.6
    assert shares[300] > shares[1000] > 0.5
    end = result.span[1]
    assert end == max(result.allocations["end"])
    assert result.counts["updates"] <= end / 0.2 + 1
    literal = eh.simulate(start, policy, work, end, series_every=10, literal=True)
    assert literal.counts["updates"] == result.counts["updates"]
    for table, columns in result.raw.items():
        for name, column in columns.items():
            assert np.array_equal(column, literal.raw[table][name]), (table, name)
