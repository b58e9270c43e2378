"""Jobs that name several partitions, and partitions that let nothing start; as a real controller did it."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh
from tests.reference.slurm import reference_plan
from tests.unit.slurm.test_plan import cluster, policy, said

TIERS: dict[str, Any] = {
    "low": {"PriorityTier": 1},
    "half": {"PriorityTier": 10, "PreemptMode": "OFF", "Nodes": ["n3", "n4"]},
    "a": {"PriorityTier": 5, "Nodes": ["n1", "n2"]},
    "b": {"PriorityTier": 5, "Nodes": ["n3", "n4"]},
    "high": {"PriorityTier": 10, "PreemptMode": "OFF"},
}


def waits(partition: str, running: dict[str, Any], tiers: dict[str, Any] = TIERS, **more: Any) -> eh.Plan:
    """Plan for a job that waits for a node of four; checked against the reference."""
    data = cluster(running, nodes=4).to_dict()
    for row in data["operations"]:
        if row["name"] == "p":
            row["partition"] = partition
    snapshot = eh.Snapshot.from_dict(data)
    slurm = policy(partitions=tiers, **more)
    plan = eh.plan(snapshot, slurm)
    expected = reference_plan(snapshot, slurm.settings)
    assert [d.action for d in plan.decisions] == [d["action"] for d in expected["decisions"]]
    assert [(r.request, r.rule) for r in plan.refusals] == [
        (r["request"], r["rule"]) for r in expected["refusals"]
    ]
    return plan


FULL = {f"j{i}": ("low", [i], 4) for i in (1, 2, 3, 4)}


def test_the_highest_tier_is_tried_first_and_preempts_though_another_has_room() -> None:
    plan = waits("low,half", {name: FULL[name] for name in ("j3", "j4")})
    assert said(plan) == [("preempt", "j3@n3", "n3", "requeue"), ("reserve", "p-r", "n3", None)]
    assert [r.rule for r in plan.refusals] == ["waits_for_victims"]
    assert "in partition half (tier 10)" in plan.why("j3@n3").text


@pytest.mark.parametrize(("partition", "node"), [("b,a", "n3"), ("a,b", "n1"), ("a, b", "n1")])
def test_of_equal_tiers_the_one_that_is_written_first(partition: str, node: str) -> None:
    assert said(waits(partition, {})) == [("start", "p-r", node, None)]


def test_the_next_is_tried_where_there_are_no_eligible_victims() -> None:
    high = {f"j{i}": ("high", [i], 4) for i in (3, 4)}
    assert said(waits("low,half", high)) == [("start", "p-r", "n1", None)]
    full = {f"j{i}": ("high", [i], 4) for i in (1, 2, 3, 4)}
    plan = waits("low,half", full)
    assert [(r.request, r.rule) for r in plan.refusals] == [("p-r", "no_eligible_victims")]
    assert "tried next in low (tier 1)" in plan.why_not("p-r").text


def test_what_was_started_is_where_it_has_its_nodes() -> None:
    plan = waits("low,a,half", {"x": ("high", [3], 4), "y": ("high", [4], 4)})
    assert said(plan) == [("start", "p-r", "n1", None)]
    after = plan.snapshot.after(plan)
    again = eh.plan(after, plan.policy)
    assert said(again) == []
    assert "is in partition a (tier 5)" in again.why("p").text


def test_priorities_are_those_of_the_partition() -> None:
    tiers = {
        **TIERS,
        "a": {**TIERS["a"], "PriorityJobFactor": 1},
        "b": {**TIERS["b"], "PriorityJobFactor": 9},
    }
    factor = {"PriorityType": "priority/multifactor", "PriorityWeightPartition": 100}
    assert said(waits("a,b", {}, tiers, **factor)) == [("start", "p-r", "n3", None)]


def test_an_unknown_one_among_them_is_named() -> None:
    with pytest.raises(eh.InputError) as caught:
        waits("low,hihg", {})
    assert [(p.field, p.value) for p in caught.value.problems] == [("partition", "'low,hihg'")]


@pytest.mark.parametrize(
    ("state", "starts"), [("UP", True), ("drain", True), ("DOWN", False), ("inactive", False)]
)
def test_what_waits_in_a_partition_that_is_down_does_not_start(state: str, starts: bool) -> None:
    tiers = {**TIERS, "high": {**TIERS["high"], "State": state}}
    plan = waits("high", FULL, tiers)
    assert bool(plan.decisions.victims) == starts
    assert [r.rule for r in plan.refusals] == ["waits_for_victims" if starts else "partition_down"]
    if not starts:
        why = plan.why_not("p-r")
        assert why.summary.endswith(f"did not start: its partition high is {state.upper()}.")
        assert why.numbers["state"] == state.upper()


def test_it_holds_up_nobody_and_its_jobs_may_go() -> None:
    tiers = {**TIERS, "high": {**TIERS["high"], "State": "DOWN"}, "low": {"PriorityTier": 1, "State": "DOWN"}}
    both = {**FULL, "next": ("half", [], 4)}
    data = cluster(both, nodes=4).to_dict()
    data["requests"].append({"name": "next-r", "operation": "next", "resources": {"cpu": 4}})
    plan = eh.plan(eh.Snapshot.from_dict(data), policy(partitions=tiers))
    assert [d.operation for d in plan.decisions.victims] == ["j3"]
    rules = {r.request: r.rule for r in plan.refusals}
    assert rules == {"p-r": "partition_down", "next-r": "waits_for_victims"}
    assert said(waits("low,high", {"x": ("high", [1], 4)}, {**tiers, "low": {"PriorityTier": 1}})) == [
        ("start", "p-r", "n2", None)
    ]
