"""Licences of allocations that leave without a node are nobody's until these have gone."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh
from evenhand.systems.slurm.settings import SlurmSettings
from evenhand.systems.ytsaurus.settings import YTsaurusSettings
from tests.reference.slurm import reference_plan as slurm_plan
from tests.reference.ytsaurus import reference_plan as ytsaurus_plan

SLURM: dict[str, Any] = {
    "PreemptType": "preempt/partition_prio",
    "PreemptMode": "REQUEUE",
    "reclaim_licenses": True,
    "partitions": {"low": {"PriorityTier": 1}, "high": {"PriorityTier": 10}},
}


def cluster(**licence: Any) -> eh.Snapshot:
    """Return a node with room, and a job that has both licences there are; p and q want one each."""
    own = {"name": "j@", "operation": "j", "resources": {"lic": 2}, "start_time": 1}
    wants = [{"name": f"{name}-r", "operation": name, "resources": {"cpu": 1, "lic": 1}} for name in "pq"]
    return eh.Snapshot.from_dict(
        {
            "now": 1000,
            "resources": {"cpu": {}, "lic": {"scope": "cluster", "capacity": 2}},
            "nodes": [{"name": "n1", "capacity": {"cpu": 4}}],
            "operations": [
                {"name": "j", "partition": "low", "start_time": 1},
                {"name": "p", "partition": "high", "start_time": 900},
                {"name": "q", "partition": "high", "start_time": 901},
            ],
            "allocations": [
                {"name": "j@n1", "operation": "j", "node": "n1", "resources": {"cpu": 1}, "start_time": 1},
                own | licence,
            ],
            "requests": wants,
        }
    )


def actions(plan: Any) -> list[tuple[Any, ...]]:
    return [(d["action"], d.get("allocation"), d.get("request")) for d in plan["decisions"]]


def test_by_slurm_they_are_kept_for_whom_they_leave() -> None:
    policy = eh.policies.Slurm(**SLURM)
    plan = eh.plan(cluster(), policy)
    assert {d.allocation for d in plan.decisions.victims} == {"j@", "j@n1"}
    after = plan.snapshot.after(plan)
    again = eh.plan(after, policy, plan.state)
    assert actions(again.to_dict()) == []
    assert {r.request: r.rule for r in again.refusals}["p-r"] == "waits_for_victims"
    assert actions(slurm_plan(after, SlurmSettings(**SLURM))) == []


@pytest.mark.parametrize("room", ["held_until_gone", "free_at_once"])
def test_by_ytsaurus_they_are_free_as_the_switch_says(room: Any) -> None:
    snapshot = cluster(state="preempting", deadline=1010)
    settings = {"victims_room": room}
    plan = eh.plan(snapshot, eh.policies.YTsaurus(**settings)).to_dict()
    assert actions(plan) == actions(ytsaurus_plan(snapshot, YTsaurusSettings(**settings)))
    assert [d["action"] for d in plan["decisions"]].count("start") == (0 if room == "held_until_gone" else 2)


def test_the_check_counts_them_once_for_the_whole_cluster() -> None:
    """A victim's licences have no node; they are what the request lacks where somebody took them since."""
    plan = eh.plan(cluster(), eh.policies.Slurm(**SLURM))
    assert plan.check(plan.snapshot)
    after = plan.snapshot.after(plan).to_dict()
    after["allocations"] = []
    start = eh.plan(eh.Snapshot.from_dict(after), eh.policies.Slurm(**SLURM))
    assert [d.action for d in start.decisions] == ["start", "start"]
    taken = {"name": "k@", "operation": "j", "resources": {"lic": 1}, "start_time": 1}
    check = start.check(eh.Snapshot.from_dict(after | {"allocations": [taken]}))
    assert [(f.code, f.message) for f in check.findings] == [
        ("cluster_full", "1 lic is missing in the cluster as a whole for q-r")
    ]
