"""Jobs in their grace time still run: the system counts on them once more for the next job that waits."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh
from tests.unit.slurm.test_passes import BACKFILL, NOW, TIERS, cluster, outcome, running, waiting

STEP = 1e-6


def leaving(more: float, whose: str | None = "H1") -> dict[str, Any]:
    """L leaves n1 for H1, or for none that is known; M runs on n2, and H2 waits."""
    data = cluster(2, [running("L", "low", "n1"), running("M", "mid", "n2")], [waiting("H2", "high")])
    data["operations"].append({"name": "H1", "partition": "other", "order": 9})
    data["allocations"][0] |= {"state": "preempting", "deadline": NOW + more}
    if whose is not None:
        data["allocations"][0]["beneficiary"] = {"operation": whose}
    return data


SETTINGS: dict[str, Any] = {**BACKFILL, "partitions": {**TIERS, "other": {"Nodes": ["n1"]}}}


@pytest.mark.parametrize(("more", "again"), [(-STEP, False), (0.0, False), (STEP, True)])
@pytest.mark.parametrize("whose", ["H1", None])
def test_what_leaves_for_another_is_counted_on_until_its_grace_time_is_over(
    more: float, again: bool, whose: str | None
) -> None:
    data = leaving(more, whose)
    _, victims, rules = outcome(data, SETTINGS, ("main",))
    assert (victims, rules["H2"]) == (
        ({}, "waits_for_next_pass") if again else ({"H2": ["M"]}, "waits_for_victims")
    )
    plan = eh.plan(eh.Snapshot.from_dict(data), eh.policies.Slurm(**SETTINGS))
    told = plan.why_not("H2")
    assert told.code == rules["H2"]
    assert ("still ending on node n1" in str(told)) == again
    # And then it looks for no other before the back-off is over.
    main = eh.SchedulingRun(passes=("main",))
    later = eh.plan(eh.Snapshot.from_dict({**data, "now": NOW + 1}), plan.policy, plan.state, on=main)
    assert [(r.request, r.rule) for r in later.refusals] == [("H2", "preemption_backoff")]


def test_what_leaves_for_a_job_itself_is_no_candidate_of_its() -> None:
    data = leaving(20.0, "H2")
    _, victims, rules = outcome(data, SETTINGS, ("main",))
    assert (victims, rules["H2"]) == ({}, "waits_for_victims")


def test_only_what_does_not_leave_yet_is_told() -> None:
    """H2 needs both nodes: L leaves n1 already, and M is told; H2 waits for both."""
    data = leaving(20.0)
    data["requests"][0]["count"] = 2
    _, victims, rules = outcome(data, SETTINGS, ("main",))
    assert (victims, rules["H2"]) == ({"H2": ["M"]}, "waits_for_victims")
    plan = eh.plan(eh.Snapshot.from_dict(data), eh.policies.Slurm(**SETTINGS), on=eh.SchedulingRun(("main",)))
    kept = [(d.node, d.at) for d in plan.decisions if d.action == "reserve"]
    assert kept == [("n1", NOW + 20), ("n2", NOW + 20)]


def test_it_closes_its_partition_and_keeps_nodes_as_others_that_wait() -> None:
    data = leaving(20.0)
    data["nodes"].append({"name": "n3", "capacity": {"cpu": 1}})
    tiers = {**SETTINGS["partitions"], "high": {**TIERS["high"], "Nodes": ["n1", "n2"]}}
    data["operations"].append({"name": "B", "partition": "low", "order": 10})
    data["requests"].append({"name": "B", "operation": "B", "resources": {"cpu": 1}})
    assert outcome(data, {**SETTINGS, "partitions": tiers}, ("main",))[0] == {"B": ["n3"]}
    data["requests"][-1]["required_node"] = "n2"
    assert outcome(data, {**SETTINGS, "partitions": tiers}, ("main",))[1] == {}


def test_a_job_of_several_partitions_has_no_further_turn_in_that_pass() -> None:
    data = leaving(20.0)
    data["nodes"].append({"name": "n3", "capacity": {"cpu": 1}})
    tiers = {**SETTINGS["partitions"], "high": {**TIERS["high"], "Nodes": ["n1", "n2"]}}
    tiers["aside"] = {"PriorityTier": 9, "Nodes": ["n3"]}
    data["operations"][2]["partition"] = "high,aside"
    assert outcome(data, {**SETTINGS, "partitions": tiers}, ("main",))[0] == {}


@pytest.mark.parametrize("end", [-STEP, 0.0, STEP, 20.0, 3600.0])
def test_what_is_told_in_the_run_itself_is_counted_on_whenever_it_was_to_end(end: float) -> None:
    """H1 has l3 told, whose time was to end anyway; its estimate keeps n1, and H2 counts on l3 once more."""
    tiers = {name: {**tier, "GraceTime": 20.0} for name, tier in TIERS.items()}
    data = cluster(
        3,
        [running("m1", "mid", "n1"), running("m2", "mid", "n2"), running("l3", "low", "n3", end=end)],
        [waiting("H1", "high"), waiting("H2", "high")],
    )
    _, victims, rules = outcome(data, {**BACKFILL, "partitions": tiers}, ("backfill",))
    assert (victims, rules) == ({"H1": ["l3"]}, {"H1": "waits_for_victims", "H2": "waits_for_next_pass"})


def test_a_live_cluster_counts_on_it_too_and_then_no_more() -> None:
    """The first plan tells l3 for H1, whose estimate keeps n1; H2 counts on it, and m1 goes once it has."""
    tiers = {name: {**tier, "GraceTime": 20.0} for name, tier in TIERS.items()}
    data = cluster(
        3,
        [running("m1", "mid", "n1"), running("m2", "mid", "n2"), running("l3", "low", "n3")],
        [waiting("H1", "high"), waiting("H2", "high")],
    )
    policy = eh.policies.Slurm(**{**BACKFILL, "partitions": tiers, "KillWait": 3.0, "MessageTimeout": 10.0})
    live = eh.Cluster(eh.Snapshot.from_dict(data), policy)
    on = eh.SchedulingRun(passes=("backfill",))
    first = live.plan(on=on)
    assert [d.operation for d in first.decisions.victims] == ["l3"]
    live.carry_out(first)
    live.apply([{"event": "time", "now": NOW + 15}])  # the back-off is over, the grace time is not
    assert [r.rule for r in live.plan(on=on).refusals] == ["waits_for_victims", "waits_for_next_pass"]
    live.apply([{"event": "end", "allocation": "l3@n3"}, {"event": "time", "now": NOW + 30}])
    last = live.plan()
    assert [(d.action, d.operation, d.node) for d in last.decisions if d.action != "reserve"] == [
        ("start", "H1", "n3"),
        ("preempt", "m1", "n1"),
    ]
