"""Work of the start, replicas that return, work that waits for its victims to leave, and spells that end."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh
from evenhand.simulate import Workload


def start_with(**allocation: Any) -> eh.Snapshot:
    return eh.Snapshot.from_dict(
        {
            "now": 100,
            "resources": {"cpu": {}},
            "nodes": [{"name": "n1", "capacity": {"cpu": 4}}],
            "pools": [{"name": "x"}],
            "operations": [{"name": "old", "pool": "x"}],
            "allocations": [
                {"name": "a", "operation": "old", "node": "n1", "resources": {"cpu": 4}, **allocation}
            ],
        }
    )


NEXT = {"name": ["new"], "pool": ["x"], "resources.cpu": [4], "submit_time": [100], "run_time": [10]}


@pytest.mark.parametrize(("planned", "ends"), [(90, 100), (100, 100), (101, 101), (130, 130)])
def test_work_of_the_start_ends_as_it_was_planned(planned: float, ends: float) -> None:
    start = start_with(start_time=0, planned_end=planned)
    run = eh.simulate.simulate(start, eh.policies.Slurm(), Workload(NEXT), 200)
    assert run.allocations["end"][0] == ends
    assert run.allocations["outcome"][0] == "completed"
    assert ends <= run.allocations["start"][1] <= ends + 2


@pytest.mark.parametrize("replica", [False, True])
def test_a_replica_that_is_terminated_returns(replica: bool) -> None:
    """A session that is terminated is gone; of a deployment another one comes in its place."""
    work = Workload(
        {
            "name": ["low", "high"],
            "pool": ["x", "x"],
            "resources.cpu": [4, 4],
            "submit_time": [0, 20],
            "run_time": [50, 30],
            "priority": [1, 9],
            "replica": [replica, False],
        }
    )
    policy = eh.policies.BackendAI(preemption_mode="terminate", preemptible_priority=5)
    run = eh.simulate.simulate(work.snapshot(nodes=1, cpu=4), policy, work, 300)
    low = [i for i, name in enumerate(run.allocations["operation"]) if name == "low"]
    assert run.allocations["outcome"][low[0]] == "preempted"
    assert bool(run.allocations["requeued"][low[0]]) == replica
    assert len(low) == 1 + replica
    row = list(run.operations["operation"]).index("low")
    assert run.operations["completed"][row] == replica
    assert run.operations["lost_count"][row] == 1 - replica


def test_time_that_is_spent_waiting_for_victims_is_no_work() -> None:
    work = Workload(
        {
            "name": ["many", "ask"],
            "pool": ["dev", "prod"],
            "resources.cpu": [1, 1],
            "count": [4, 1],
            "submit_time": [0, 4],
            "run_time": [100, 100],
        }
    )
    guaranteed = [{"name": name, "strong_guarantee": {"cpu": 2}} for name in ("dev", "prod")]
    start = eh.Snapshot.from_dict(
        {"resources": {"cpu": {}}, "nodes": [{"name": "n", "capacity": {"cpu": 4}}], "pools": guaranteed}
    )
    run = eh.simulate.simulate(start, eh.policies.YuniKorn(grace=4.0, limit=1.0), work, 300)
    ask = list(run.allocations["operation"]).index("ask")
    assert run.allocations["began"][ask] == run.allocations["start"][ask] + 4
    assert run.operations["run"][list(run.operations["operation"]).index("ask")] == 100


def test_a_spell_ends_with_the_update_that_finds_enough() -> None:
    """Below its fair share for 30 s it starves; ten seconds later a heartbeat serves it."""
    work = Workload(
        {
            "name": ["a", "b"],
            "pool": ["x", "y"],
            "resources.cpu": [4, 4],
            "submit_time": [0, 10],
            "run_time": [300, 60],
        }
    )
    policy = eh.policies.YTsaurus(consider_allocation_on_fair_share_bound_preemptible=True)
    run = eh.simulate.simulate(work.snapshot(nodes=1, cpu=4), policy, work, 130)
    served = dict(zip(run.allocations["operation"], run.allocations["start"], strict=True))
    assert served == {"b": 50, "a": 120}  # its second run
    spells = run.spells.to_dict()
    assert spells["operation"] == [None, "b", None, "a"]
    assert spells["from"] == [40.2, 40.2, 110.2, 110.2]
    assert spells["until"] == [50.2, 50.2, 120.2, 120.2]
