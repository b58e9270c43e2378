"""Slurm: what a job that waits reads of why."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.reasons import ACTIONS
from evenhand.simulate import Workload
from evenhand.simulate.moment import moment
from tests.reference.explanations import falsehoods
from tests.unit.slurm.test_room import cluster
from tests.unit.why.test_slurm_victims import CANCEL, FULL, HIGH, LOW, TIERS, plan_of


def asking(snapshot: eh.Snapshot, *more: dict[str, Any], **first: Any) -> eh.Snapshot:
    """The snapshot with fields of its first request changed, and further requests of the same job."""
    data = snapshot.to_dict()
    data["requests"][0] |= first
    data["requests"] += more
    return eh.Snapshot.from_dict(data)


def test_amounts_are_those_without_the_victims() -> None:
    jobs = {"a": LOW, "c": HIGH, "p": HIGH}
    runs = [("a", "n1", 1, {}), ("c", "n1", 2, {}), ("c", "n2", 4, {})]
    plan = plan_of(cluster(FULL, jobs, runs, {"p": 4}), CANCEL)
    why = plan.why_not("p-r")
    assert why.code == "no_room_even_with_victims"
    assert why.summary == (
        "Request p-r of operation p (4 cpu) did not start: even if all gave way that may be preempted for it,"
        " 2 cpu would be missing on node n1."
    )
    [refused] = plan.refusals
    assert refused.numbers["missing"] == {"cpu": 2}  # 3 with the job that may go


def test_the_jobs_that_may_not_be_preempted_are_counted_by_what_spares_them() -> None:
    tiers = {**TIERS, "mid": {"PriorityTier": 5, "PreemptMode": "OFF"}}
    jobs = {"a": HIGH, "b": {"partition": "mid"}, "c": HIGH, "p": HIGH}
    runs = [("a", "n1", 4, {}), ("b", "n2", 2, {}), ("c", "n2", 2, {})]
    why = plan_of(cluster(FULL, jobs, runs, {"p": 4}), CANCEL.replace(partitions=tiers)).why_not("p-r")
    assert why.code == "no_eligible_victims"
    assert "none of the 3 jobs that run may be preempted for it (2 in no lower tier, 1 whose" in why.summary
    assert why.numbers["stood"] == {"tier_not_lower": 2, "preempt_mode_off": 1}


def test_too_few_nodes_are_counted() -> None:
    jobs = {"a": LOW, "c": HIGH, "p": HIGH}
    snapshot = asking(cluster(FULL, jobs, [("a", "n1", 4, {}), ("c", "n2", 3, {})], {"p": 3}), count=2)
    why = plan_of(snapshot, CANCEL).why_not("p-r")
    assert why.summary.endswith(
        "2 cpu would be missing on node n2; it needs 2 nodes at once, and 1 would have room."
    )
    assert {"nodes_needed": 2, "nodes_with_room": 1}.items() <= why.numbers.items()


def test_others_that_stay_on_a_node_that_is_not_shared() -> None:
    jobs = {"a": LOW, "c": HIGH, "p": HIGH | {"settings": {"exclusive": True}}}
    runs = [("a", "n1", 1, {}), ("c", "n1", 2, {})]
    why = plan_of(cluster({"n1": 4}, jobs, runs, {"p": 1}), CANCEL).why_not("p-r")
    assert "other jobs would stay on node n1, and not all of them share it" in why.summary


@pytest.mark.parametrize(
    ("lacks", "rule"),
    [
        ({"node_tags": ["fast"]}, "wrong_tags"),
        ({"required_node": "n2"}, "node_outside_partition"),
        ({"required_node": "n3"}, "node_not_schedulable"),
    ],
)
def test_of_several_requests_that_one_is_named_which_lacks_a_node(lacks: dict[str, Any], rule: str) -> None:
    tiers = {**TIERS, "high": {"PriorityTier": 10, "Nodes": ["n1", "n3"]}}
    data = cluster({"n1": 4, "n2": 4, "n3": 4}, {"p": HIGH}, [], {"p": 1}).to_dict()
    data["nodes"][2]["schedulable"] = False
    other = {"name": "p-s", "operation": "p", "resources": {"cpu": 1}, **lacks}
    plan = plan_of(asking(eh.Snapshot.from_dict(data), other), CANCEL.replace(partitions=tiers))
    assert {r.request: r.rule for r in plan.refusals} == {"p-r": "other_request_waits", "p-s": rule}
    why = plan.why_not("p-r")
    assert why.summary.endswith("request p-s of the same job cannot start, and all of them start together.")
    assert why.numbers["other_request"] == "p-s"


def test_of_several_requests_that_one_is_named_which_lacks_room() -> None:
    snapshot = cluster(
        FULL, {"a": LOW, "c": HIGH, "p": HIGH}, [("a", "n1", 4, {}), ("c", "n2", 2, {})], {"p": 2}
    )
    plan = plan_of(
        asking(snapshot, {"name": "p-s", "operation": "p", "resources": {"cpu": 3}, "count": 2}), CANCEL
    )
    assert {r.request: r.rule for r in plan.refusals} == {
        "p-r": "other_request_waits",
        "p-s": "no_room_even_with_victims",
    }


def test_the_job_before_is_named() -> None:
    jobs = {"a": LOW, "b": LOW, "p": HIGH | {"priority": 5}, "q": HIGH}
    runs = [("a", "n1", 4, {}), ("b", "n2", 4, {})]
    plan = plan_of(cluster(FULL, jobs, runs, {"p": 4, "q": 4}), CANCEL.replace(SchedulerType="sched/builtin"))
    why = plan.why_not("q-r")
    assert why.code == "waits_for_next_pass"
    assert "operation p, for which others leave, has its nodes until they have left" in why.summary
    assert why.numbers["behind"] == "p"
    jobs["c"] = HIGH
    runs = [("c", "n1", 4, {}), ("c", "n2", 4, {})]
    plan = plan_of(cluster(FULL, jobs, runs, {"p": 4, "q": 4}), CANCEL.replace(SchedulerType="sched/builtin"))
    assert plan.why_not("q-r").summary.endswith("did not start: operation p, which waits, has its nodes.")


def test_nodes_on_which_jobs_are_ending_are_named() -> None:
    leaving = {"state": "preempting", "beneficiary": {"operation": "o"}}
    jobs = {"a": LOW, "b": LOW, "o": LOW, "p": HIGH}
    runs = [("a", "n1", 3, {}), ("b", "n1", 1, leaving)]
    why = plan_of(cluster({"n1": 4}, jobs, runs, {"p": 3}), CANCEL).why_not("p-r")
    assert why.code == "waits_for_next_pass"
    assert "jobs are still ending on node n1: it is considered in a later pass" in why.summary
    assert why.numbers["ending_on"] == ["n1"]


def test_a_back_off_is_told_with_its_instants() -> None:
    jobs = {"a": LOW, "b": LOW, "p": HIGH}
    snapshot = cluster(FULL, jobs, [("a", "n1", 4, {}), ("b", "n2", 4, {})], {"p": 4})
    state = eh.plan(snapshot, CANCEL).state
    later = snapshot.to_dict() | {"now": 1010}
    plan = eh.plan(eh.Snapshot.from_dict(later), CANCEL, state)
    why = plan.why_not("p-r")
    assert why.code == "preemption_backoff"
    assert {"since": 1000.0, "until": 1040.0}.items() <= why.numbers.items()
    assert "at 1,000 s (10 s ago); no more are until 1,040 s (in 30 s), `KillWait` 30 s and" in why.summary


def test_the_longest_time_of_a_partition_is_told() -> None:
    tiers = {**TIERS, "high": {"PriorityTier": 10, "MaxTime": 60}}
    snapshot = asking(cluster(FULL, {"p": HIGH}, [], {"p": 4}), duration=100)
    why = plan_of(snapshot, CANCEL.replace(partitions=tiers)).why_not("p-r")
    assert why.summary.endswith("its job asks for 100 s, and `MaxTime` of its partition high is 60 s.")


@pytest.mark.parametrize("kind", ["sched/builtin", "sched/backfill"])
def test_a_backfill_pass_that_there_is_not_is_said(kind: str) -> None:
    jobs = {"a": HIGH, "p": HIGH}
    snapshot = cluster({"n1": 4}, jobs, [("a", "n1", 4, {})], {"p": 4})
    plan = eh.plan(snapshot, CANCEL.replace(SchedulerType=kind), on=eh.SchedulingRun(("backfill",)))
    assert not falsehoods(plan)
    why = plan.why_not("p-r")
    none = "only a backfill pass was asked for, and with `SchedulerType` sched/builtin there is none."
    assert why.summary.endswith(none) == (kind == "sched/builtin")
    assert (why.numbers.get("SchedulerType") == kind) == (kind == "sched/builtin")


def test_a_suspended_allocation_does_not_stay_for_what_runs_of_its_job() -> None:
    """A running part of it stands in another way to a job that asks."""
    jobs = {"a": HIGH, "c": HIGH, "p": HIGH}
    runs = [("a", "n1", 2, {}), ("a", "n2", 2, {"state": "preempted"}), ("c", "n2", 4, {})]
    plan = plan_of(cluster(FULL, jobs, runs, {"p": 4}), CANCEL)
    stays = plan.why_not("a@n2")
    assert stays.code == "no_room_to_resume"
    assert stays.summary.endswith(
        "stays suspended: 2 cpu is missing on node n2 for all of its job to resume."
    )
    assert plan.why_not("a@n1").code == "tier_not_lower"


@pytest.mark.parametrize(("names", "asked"), [(("high", "mid"), "mid"), (("high",), "high")])
def test_the_partition_of_a_turn_is_told_of_a_job_that_waits_in_several(
    names: tuple[str, ...], asked: str
) -> None:
    tiers = {**TIERS, "high": {"PriorityTier": 10, "State": "DOWN"}, "mid": {"PriorityTier": 5}}
    jobs = {"c": HIGH, "p": {"partition": ",".join(names)}}
    plan = plan_of(cluster({"n1": 4}, jobs, [("c", "n1", 4, {})], {"p": 4}), CANCEL.replace(partitions=tiers))
    why = plan.why_not("p-r")
    if asked == "mid":
        assert why.code == "no_eligible_victims"
        assert ": in partition mid, there is too little free room, and the job that runs" in why.summary
        assert why.numbers["partition"] == "mid"
        spared = plan.why_not("c@n1")
        assert spared.numbers == {"tier_of_c": 10, "tier_of_p": 5}
    else:
        assert why.code == "partition_down"
        assert why.summary.endswith("did not start: its partition high is DOWN.")
        assert {"partition": "high", "state": "DOWN"}.items() <= why.numbers.items()


def test_a_plan_of_a_run_names_what_leaves_by_the_rows_that_are_left() -> None:
    """The first job has ended, so that rows of the run are not those of its snapshot."""
    tiers = {"low": {"PriorityTier": 1, "GraceTime": 30}, "high": {"PriorityTier": 10}}
    columns = {"name": ["z", "a", "p"], "partition": ["low", "low", "high"], "resources.cpu": [2, 2, 4]}
    work = Workload({**columns, "submit_time": [0, 1, 100], "run_time": [90, 5000, 50]})
    policy = CANCEL.replace(partitions=tiers)
    result = eh.simulate(work.snapshot(nodes=1, cpu=4), policy, work, until=300)
    (taken,) = np.flatnonzero(result.raw["decisions"]["action"] == ACTIONS.index("preempt")).tolist()
    plan = moment(result, taken).plan
    (victim,) = plan.snapshot.names("allocations")
    said = plan.why("p", table="requests")
    assert f"it fits once {victim} has left" in said.summary
    assert said.numbers["leaving"] == [victim]


@pytest.mark.parametrize(
    ("second", "ends"),
    [
        ({"deadline": 1050}, "it fits once a@n1 and b@n2 have left, by 1,050 s (in 50 s)."),
        ({}, "it fits once a@n1 and b@n2 have left."),
    ],
)
def test_all_that_leaves_for_a_job_has_gone_by_the_last_deadline_if_each_is_known(
    second: dict[str, Any], ends: str
) -> None:
    leaving = {"state": "preempting", "beneficiary": {"request": "p-r"}}
    runs = [("a", "n1", 4, {**leaving, "deadline": 1030}), ("b", "n2", 4, {**leaving, **second})]
    snapshot = asking(cluster(FULL, {"a": LOW, "b": LOW, "p": HIGH}, runs, {"p": 4}), count=2)
    assert plan_of(snapshot, CANCEL).why("p-r").summary.endswith(ends)


def test_what_leaves_for_another_job_is_not_named() -> None:
    jobs = {"a": LOW, "b": LOW, "p": HIGH, "q": HIGH}
    runs = [
        (job, node, 4, {"state": "preempting", "deadline": 1030, "beneficiary": {"request": asks}})
        for job, node, asks in (("a", "n1", "p-r"), ("b", "n2", "q-r"))
    ]
    plan = plan_of(cluster(FULL, jobs, runs, {"p": 4, "q": 4}), CANCEL)
    assert plan.why("p-r").numbers["leaving"] == ["a@n1"]


def test_limits_of_run_times_are_told_in_minutes() -> None:
    policy = CANCEL.replace(qos={"q": {"GrpTRESRunMins": {"cpu": 10}}})
    snapshot = asking(cluster({"n1": 4}, {"p": {"qos": "q"}}, [], {"p": 2}), duration=600)
    assert (
        plan_of(snapshot, policy)
        .why_not("p-r")
        .summary.endswith("`GrpTRESRunMins` of QOS q is 10 minutes of cpu: 0 are in use, and it asks for 20.")
    )


def test_a_victim_is_told_of_the_licences_that_it_holds() -> None:
    jobs = {"j": LOW, "k": LOW, "p": HIGH}
    data = cluster({"n1": 4, "n2": 4}, jobs, [("j", "n1", 1, {}), ("k", "n1", 1, {})], {"p": 1}).to_dict()
    for row, name in zip(data["allocations"], ("one", "two"), strict=True):
        data["resources"][name] = {"scope": "cluster", "capacity": 1}
        row["resources"][name] = 1
    data["requests"][0] |= {"required_node": "n2", "resources": {"cpu": 1, "one": 1, "two": 1}}
    plan = plan_of(eh.Snapshot.from_dict(data), CANCEL.replace(reclaim_licenses=True))
    for job, name in (("j", "one"), ("k", "two")):
        assert f": 1 {name} more of the cluster's, which its job holds, is" in plan.why(f"{job}@n1").summary
