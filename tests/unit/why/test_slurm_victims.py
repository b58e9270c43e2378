"""Slurm: what a job that is preempted, or spared, reads of why."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh
from tests.reference.explanations import check_explanation, falsehoods
from tests.unit.slurm.test_room import cluster

TIERS = {"low": {"PriorityTier": 1}, "mid": {"PriorityTier": 5}, "high": {"PriorityTier": 10}}
CANCEL = eh.policies.Slurm(PreemptType="preempt/partition_prio", PreemptMode="CANCEL", partitions=TIERS)
QOS = eh.policies.Slurm(
    PreemptType="preempt/qos",
    PreemptMode="REQUEUE,WITHIN",
    qos={"bronze": {"GraceTime": 60}, "gold": {"Preempt": ["bronze"]}},
)
LOW, MID, HIGH = ({"partition": name} for name in TIERS)
FULL = {"n1": 4, "n2": 4}


def plan_of(snapshot: eh.Snapshot, policy: eh.policies.Slurm) -> eh.Plan:
    """The plan, of which nothing is explained falsely."""
    plan = eh.plan(snapshot, policy)
    assert not falsehoods(plan)
    return plan


def test_a_victim_reads_the_tiers_its_place_and_its_mode() -> None:
    jobs = {"a": MID, "b": LOW, "p": HIGH}
    runs = [("a", "n1", 4, {}), ("b", "n2", 4, {})]
    why = plan_of(cluster(FULL, jobs, runs, {"p": 4}), CANCEL).why("b@n2")
    assert why.summary == (
        "Allocation b@n2 of operation b leaves node n2: 4 cpu more is needed there for request p-r of p,"
        " whose partition has a higher tier (10 of partition high, 1 of partition low); with a"
        " `PriorityTier` of 10 or more of partition low it could not be preempted for this request."
    )
    said = {"tier_of_b": 1, "tier_of_p": 10, "place": 1, "candidates": 2, "victim_jobs": 1, "tier": 1}
    assert said.items() <= why.numbers.items()
    assert (
        "it is wanted as number 1 (the lowest tier first, then the fewest nodes; its tier is 1, on 1 node)"
        in why.text
    )
    assert "Its job is cancelled: `PreemptMode` of the cluster is CANCEL; `GraceTime` of" in why.text


def test_a_mode_of_its_own_partition_is_named() -> None:
    policy = CANCEL.replace(partitions={**TIERS, "low": {"PriorityTier": 1, "PreemptMode": "REQUEUE"}})
    why = plan_of(cluster({"n1": 4}, {"a": LOW, "p": HIGH}, [("a", "n1", 4, {})], {"p": 4}), policy).why(
        "a@n1"
    )
    assert "Its job is requeued: `PreemptMode` of partition low is REQUEUE" in why.text
    assert why.numbers["PreemptMode"] == "REQUEUE"


def test_a_node_of_which_exactly_enough_is_free_is_needed_alone() -> None:
    jobs = {"a": LOW, "p": {**HIGH, "settings": {"exclusive": True}}}
    for has, says in (
        (2, "the node is needed, and not both of them share it, for"),
        (3, "1 cpu more is needed"),
    ):
        made = plan_of(cluster({"n1": 4}, jobs, [("a", "n1", has, {})], {"p": 2}), CANCEL)
        assert says in made.why("a@n1").summary


def test_a_victim_of_a_qos_reads_which_one_lists_it() -> None:
    snapshot = cluster(
        {"n1": 4}, {"a": {"qos": "bronze"}, "p": {"qos": "gold"}}, [("a", "n1", 4, {})], {"p": 4}
    )
    why = plan_of(snapshot, QOS).why("a@n1")
    assert (
        "(`Preempt` of QOS gold lists bronze); if that did not list it, it could not be preempted"
        in why.summary
    )
    assert {"QOS_of_a": "bronze", "QOS_of_p": "gold", "GraceTime": 60.0}.items() <= why.numbers.items()
    assert (
        "Its job is requeued: `PreemptMode` of the cluster is REQUEUE; `GraceTime` of QOS bronze is"
        in why.text
    )


def test_a_victim_within_a_qos_reads_both_priorities() -> None:
    jobs = {"a": {"qos": "gold", "priority": 3}, "p": {"qos": "gold", "priority": 7}}
    why = plan_of(cluster({"n1": 4}, jobs, [("a", "n1", 4, {})], {"p": 4}), QOS).why("a@n1")
    assert (
        "priority 7 above 3); with a priority of 7 or more it could not be preempted for this request"
        in why.summary
    )
    assert {"priority_of_a": 3.0, "priority_of_p": 7.0}.items() <= why.numbers.items()


def test_the_youngest_first_is_told_with_its_start() -> None:
    jobs = {"a": LOW, "b": LOW, "p": HIGH}
    runs = [("a", "n1", 4, {"start_time": 10}), ("b", "n2", 4, {"start_time": 500})]
    why = plan_of(cluster(FULL, jobs, runs, {"p": 4}), CANCEL.replace(youngest_first=True)).why("b@n2")
    assert "`youngest_first`, the last start first; it started at 500 s" in why.text
    assert why.numbers["start_time"] == 500.0


def licences() -> eh.Snapshot:
    """A job on n1 that holds the only licence, of which nothing on n2 is needed where p may run."""
    base = cluster({"n1": 4, "n2": 4}, {"j": LOW, "p": HIGH}, [("j", "n1", 1, {})], {"p": 1}).to_dict()
    base["resources"]["lic"] = {"scope": "cluster", "capacity": 1}
    base["allocations"][0]["resources"]["lic"] = 1
    base["requests"][0] |= {"required_node": "n2", "resources": {"cpu": 1, "lic": 1}}
    return eh.Snapshot.from_dict(base)


def test_a_victim_for_its_licence_is_told_of_it() -> None:
    why = plan_of(licences(), CANCEL.replace(reclaim_licenses=True)).why("j@n1")
    assert "1 lic more of the cluster's, which its job holds, is needed for request p-r of p" in why.summary
    assert "nothing of this node is used" not in why.text


def test_what_leaves_with_the_rest_of_its_job_is_still_told_so() -> None:
    jobs = {"wide": LOW, "p": HIGH}
    runs = [("wide", "n1", 4, {}), ("wide", "n2", 4, {})]
    why = plan_of(cluster(FULL, jobs, runs, {"p": 4}), CANCEL).why("wide@n2")
    assert "its operation leaves as a whole, though nothing of this node is used" in why.summary


def test_all_together_are_not_enough() -> None:
    jobs = {"a": LOW, "b": LOW, "c": HIGH, "p": HIGH}
    runs = [("a", "n1", 1, {}), ("b", "n1", 1, {}), ("c", "n1", 2, {})]
    why = plan_of(cluster({"n1": 4}, jobs, runs, {"p": 4}), CANCEL).why_not("a@n1")
    assert why.code == "no_start_in_stage"
    assert why.summary.endswith(
        "was not preempted: all 2 jobs that might be preempted for request p-r of operation p are not enough"
        " together."
    )


def test_work_that_leaves_already_is_enough() -> None:
    leaving = {"state": "preempting", "deadline": 1030, "beneficiary": {"request": "p-r"}}
    jobs = {"a": LOW, "b": LOW, "p": HIGH}
    runs = [("a", "n1", 4, leaving), ("b", "n2", 4, {})]
    plan = plan_of(cluster(FULL, jobs, runs, {"p": 4}), CANCEL)
    why = plan.why_not("b@n2")
    assert why.code == "spared_fits_without"
    assert why.summary.endswith(
        "was not preempted: request p-r of operation p fits on node n1 once a@n1 has left, asked to leave for"
        " it before."
    )
    assert plan.why("p-r").summary.endswith(
        "did not start: it fits once a@n1 has left, by 1,030 s (in 30 s)."
    )


def test_each_partition_of_a_job_that_asks_has_its_own_tier() -> None:
    tiers = {**TIERS, "high": {"PriorityTier": 10, "Nodes": ["n2"]}}
    jobs = {"a": MID, "p": {"partition": "high,low"}}
    plan = plan_of(cluster(FULL, jobs, [("a", "n1", 4, {}), ("a", "n2", 4, {})], {"p": 5}), CANCEL)
    assert plan.why_not("p-r").code == "larger_than_nodes"
    policy = CANCEL.replace(partitions=tiers, PreemptMode="REQUEUE", SchedulerType="sched/builtin")
    jobs = {"a": MID, "b": HIGH, "p": {"partition": "high,low"}}
    runs = [("a", "n1", 4, {}), ("b", "n2", 4, {})]
    why = plan_of(cluster(FULL, jobs, runs, {"p": 4}), policy).why_not("a@n1")
    assert [met["outcome"] for met in why.looked_at] == ["outside_partition", "tier_not_lower"]
    assert why.looked_at[1]["compared"] == {"tier_of_a": 5, "tier_of_p": 1}


@pytest.mark.parametrize("ending", [False, True])
def test_a_job_where_none_can_be_placed_now_reads_so(ending: bool) -> None:
    leaving = {"state": "preempting", "beneficiary": {"request": "o-r"}} if ending else {}
    jobs = {"a": LOW, "b": LOW, "o": HIGH, "p": HIGH | {"priority": 9}}
    data = cluster({"n1": 4}, jobs, [("a", "n1", 2, {}), ("b", "n1", 2, leaving)], {"o": 2, "p": 3}).to_dict()
    plan = plan_of(eh.Snapshot.from_dict(data), CANCEL)
    why = plan.why_not("a@n1")
    if not ending:
        assert plan.decisions.victims
        return
    assert why.code == "frees_nothing_useful"
    assert "no node is open to request p-r of operation p now" in why.summary
    assert "holds nothing" not in why.text


def test_a_suspended_job_frees_nothing_without_gang_scheduling() -> None:
    shared = {"PriorityTier": 1, "PreemptMode": "SUSPEND", "OverSubscribe": "FORCE:1"}
    policy = CANCEL.replace(partitions={**TIERS, "low": shared}, SchedulerType="sched/backfill")
    plan = plan_of(cluster({"n1": 4}, {"a": LOW, "p": HIGH}, [("a", "n1", 4, {})], {"p": 4}), policy)
    why = plan.why_not("a@n1")
    assert why.code == "frees_nothing_useful"
    assert why.summary.endswith(
        "its job would be suspended, and request p-r of operation p cannot start over it without the flag"
        " GANG."
    )
    assert [met["stage"] for met in why.looked_at] == ["scheduling_run", "backfill"]
    assert why.text.count("without the flag GANG") == 1  # of both passes


def test_a_job_that_is_given_back_reads_so() -> None:
    jobs = {"a": LOW, "b": LOW, "c": LOW, "p": HIGH}
    runs = [("a", "n1", 1, {}), ("b", "n1", 3, {}), ("c", "n2", 4, {})]
    policy = CANCEL.replace(victim_selection="irreducible")
    plan = plan_of(cluster(FULL, jobs, runs, {"p": 3}), policy)
    assert [d.allocation for d in plan.decisions.victims] == ["b@n1"]
    why = plan.why_not("a@n1")
    assert why.code == "given_back"
    assert (
        "was chosen for request p-r of operation p and given back: that fits on node n1 without it"
        in why.text
    )


@pytest.mark.parametrize(
    ("own", "words"),
    [
        (
            {"partitions": {**TIERS, "low": {"PreemptMode": "OFF"}}},
            "`PreemptMode` of its partition low is OFF",
        ),
        ({"min_exempt_priority": 0.5}, "its priority 1 is above `min_exempt_priority` 0.5"),
        ({"PreemptMode": "CANCEL,PRIORITY"}, "its priority 1 is above 0 of request p-r of operation p"),
        ({"PreemptExemptTime": 2000}, "of 33 min 20 s `PreemptExemptTime`: it is no victim until"),
    ],
)
def test_the_setting_that_spared_a_job_is_named_with_its_value(own: dict[str, Any], words: str) -> None:
    jobs = {"a": LOW | {"priority": 1}, "p": HIGH | {"priority": 0}}
    plan = plan_of(cluster({"n1": 4}, jobs, [("a", "n1", 4, {})], {"p": 4}), CANCEL.replace(**own))
    why = plan.why_not("a@n1")
    assert words in why.summary
    check_explanation(plan, why)
