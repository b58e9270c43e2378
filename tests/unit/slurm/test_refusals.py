"""Why jobs wait, what they lack, and why others stay: the words of Slurm's scheduling runs."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh
from tests.unit.slurm.test_room import GANG, cluster, said

TIERS = {"low": {"PriorityTier": 1}, "high": {"PriorityTier": 10}}
CANCEL = eh.policies.Slurm(PreemptType="preempt/partition_prio", PreemptMode="CANCEL", partitions=TIERS)
LOW, HIGH = {"partition": "low"}, {"partition": "high"}
ALONE = {"settings": {"exclusive": True}}
TWO = {"n1": 4, "n2": 4}


def with_licences(asked: int, **more: Any) -> eh.Snapshot:
    """A job on n1 that holds both licences; one that lacks some, and one behind it."""
    base = cluster(
        {"n1": 4}, {"j": LOW, "p": HIGH, "q": HIGH}, [("j", "n1", 1, {})], {"p": 1, "q": 1}
    ).to_dict()
    base["resources"]["lic"] = {"scope": "cluster", "capacity": 2}
    base["allocations"].append({"name": "j@", "operation": "j", "resources": {"lic": 2}})
    base["requests"].append({"name": "p-l", "operation": "p", "resources": {"lic": asked}})
    return eh.Snapshot.from_dict(base | more)


def rules(plan: eh.Plan) -> dict[Any, str]:
    return {r.request: r.rule for r in plan.refusals}


@pytest.mark.parametrize("reclaim", [False, True])
def test_who_lacks_licences_that_nobody_can_give_holds_up_nobody(reclaim: bool) -> None:
    plan, decided = said(with_licences(3), CANCEL.replace(reclaim_licenses=reclaim))
    assert decided == [("start", "q-r", "n1")]
    assert rules(plan) == {"p-r": "licenses_missing", "p-l": "licenses_missing"}
    assert all(r.numbers["missing"] == {"lic": 3} for r in plan.refusals)
    assert "3 lic is missing" in plan.why_not("p-l").text


def test_licences_that_come_free_are_waited_for() -> None:
    plan, decided = said(with_licences(2), CANCEL.replace(reclaim_licenses=True))
    assert ("preempt", "j@", None) in decided
    assert rules(plan) == {
        "p-r": "waits_for_victims",
        "p-l": "waits_for_victims",
        "q-r": "waits_for_next_pass",
    }


@pytest.mark.parametrize(("one", "two"), [(ALONE, {}), ({}, ALONE)])
def test_what_is_missing_on_a_whole_node(one: dict[str, Any], two: dict[str, Any]) -> None:
    snapshot = cluster({"n1": 4}, {"b": HIGH | one, "p": HIGH | two}, [("b", "n1", 1, {})], {"p": 1})
    plan, _ = said(snapshot, CANCEL)
    [refused] = plan.refusals
    assert refused.numbers == {"nodes": 1, "missing": {"cpu": 1}}
    assert [met["outcome"] for met in plan.why_not("p-r").looked_at][1:] == ["whole_node_in_use"]


def test_no_eligible_victims() -> None:
    snapshot = cluster({"n1": 4}, {"b": HIGH, "p": HIGH}, [("b", "n1", 4, {})], {"p": 1})
    assert rules(eh.plan(snapshot, CANCEL)) == {"p-r": "no_eligible_victims"}
    off = CANCEL.replace(PreemptType=None, PreemptMode="OFF")
    assert rules(eh.plan(snapshot, off)) == {"p-r": "preemption_disabled"}
    quality = {"gold": {"Preempt": ["bronze"]}, "bronze": {}}
    by_qos = CANCEL.replace(PreemptType="preempt/qos", qos=quality)
    assert rules(eh.plan(snapshot, by_qos)) == {"p-r": "no_eligible_victims"}


def test_who_cannot_help() -> None:
    """One on a node that takes nothing new; one that would be suspended where nobody is."""
    runs = [("j", "n1", 4, {}), ("k", "n2", 4, {}), ("s", "n2", 4, {})]
    jobs = {"j": LOW, "k": LOW, "s": {"partition": "kept"}, "p": HIGH}
    nodes = [
        {"name": "n1", "capacity": {"cpu": 4}, "schedulable": False},
        {"name": "n2", "capacity": {"cpu": 8}},
    ]
    kept = {"PriorityTier": 1, "PreemptMode": "SUSPEND", "OverSubscribe": "FORCE:1"}
    policy = CANCEL.replace(partitions={**TIERS, "kept": kept})
    plan, decided = said(cluster(TWO, jobs, runs, {"p": 4}, nodes=nodes), policy)
    assert decided == [("preempt", "k@n2", "n2"), ("reserve", "p-r", "n2")]
    assert {plan.why_not(name).code for name in ("j@n1", "s@n2")} == {"frees_nothing_useful"}


@pytest.mark.parametrize(
    ("own", "nodes", "rule"),
    [
        ({"required_node": "n1", "node_tags": ["fast"]}, ["ALL"], "wrong_tags"),
        ({"required_node": "n2"}, ["n1"], "node_outside_partition"),
        ({"node_tags": ["fast"]}, ["ALL"], "wrong_tags"),
        ({}, [], "partition_without_nodes"),
        ({"count": 3}, ["ALL"], "larger_than_nodes"),
        ({"resources": {"cpu": 5}}, ["ALL"], "larger_than_nodes"),
    ],
)
def test_where_nothing_can_be_done(own: dict[str, Any], nodes: list[str], rule: str) -> None:
    """The rule says what stands in the way where it comes furthest, and nobody behind it waits."""
    policy = CANCEL.replace(partitions={**TIERS, "high": {"PriorityTier": 10, "Nodes": nodes}})
    jobs = {"p": HIGH, "q": LOW}
    asks = [
        {"name": "p-r", "operation": "p", "resources": {"cpu": 1}} | own,
        {"name": "q-r", "operation": "q", "resources": {"cpu": 1}},
    ]
    plan, decided = said(cluster(TWO, jobs, [], {}, requests=asks), policy)
    assert decided == [("start", "q-r", "n1")]
    assert rules(plan) == {"p-r": rule}


def test_too_few_nodes_that_take_work_close_a_partition_for_the_main_pass_alone() -> None:
    nodes = [
        {"name": "n1", "capacity": {"cpu": 4}},
        {"name": "n2", "capacity": {"cpu": 4}, "schedulable": False},
    ]
    asks = [
        {"name": "p-r", "operation": "p", "resources": {"cpu": 1}, "count": 2},
        {"name": "q-r", "operation": "q", "resources": {"cpu": 1}},
    ]
    snapshot = cluster(TWO, {"p": HIGH, "q": HIGH}, [], {}, nodes=nodes, requests=asks)
    plan, decided = said(snapshot, CANCEL)
    assert (decided, rules(plan)) == ([], {"p-r": "node_not_schedulable", "q-r": "behind_first_waiting"})
    plan, decided = said(snapshot, CANCEL.replace(SchedulerType="sched/backfill"))
    assert (decided, rules(plan)) == ([("start", "q-r", "n1")], {"p-r": "node_not_schedulable"})


def test_what_is_reserved_for_a_job_is_its_own() -> None:
    kept = [{"name": "v", "request": "q-r", "node": "n1", "resources": {"cpu": 4}}]
    snapshot = cluster({"n1": 4}, {"p": LOW, "q": HIGH}, [], {"p": 4, "q": 4}, reservations=kept)
    plan, decided = said(snapshot, CANCEL)
    assert decided == [("start", "q-r", "n1")]
    above = snapshot.to_dict()
    for row in above["operations"]:
        row["partition"] = "high" if row["name"] == "p" else "low"
    plan, decided = said(eh.Snapshot.from_dict(above), CANCEL)
    assert decided == []
    assert [met["outcome"] for met in plan.why_not("p-r").looked_at][1:] == ["reserved_for_others"]


@pytest.mark.parametrize(("soft", "starts"), [(False, "q-r"), (True, "p-r")])
def test_of_equal_tiers_those_for_whom_room_is_reserved_come_first(soft: bool, starts: str) -> None:
    """Or who is before them in the queue would wait for that very room, and keep it from them."""
    kept = [{"name": "v", "request": "q-r", "node": "n1", "resources": {"cpu": 4}, "soft": soft}]
    jobs = {"p": HIGH | {"priority": 20}, "q": HIGH | {"priority": 10}}
    snapshot = cluster({"n1": 4}, jobs, [], {"p": 4, "q": 4}, reservations=kept)
    assert said(snapshot, CANCEL)[1] == [("start", starts, "n1")]


def test_why_a_suspended_job_stays_suspended() -> None:
    jobs = {"j": LOW, "p": HIGH}
    runs = [("j", "n1", 3, {"state": "preempted"}), ("p", "n1", 2, {})]
    told = said(cluster({"n1": 4}, jobs, runs, {}), GANG)[0].why_not("j@n1")
    assert told.code == "no_room_to_resume"
    assert "1 cpu is missing" in told.text
    alone = cluster({"n1": 8}, jobs | {"p": HIGH | ALONE}, runs, {})
    assert said(alone, GANG)[0].why_not("j@n1").code == "whole_node_in_use"
    mixed = GANG.replace(
        partitions=GANG.settings.model_dump()["partitions"]
        | {"ends": {"PriorityTier": 1, "PreemptMode": "CANCEL"}}
    )
    jobs = {"j": LOW, "x": {"partition": "ends"}, "p": HIGH}
    held = cluster({"n1": 8}, jobs, [runs[0], ("x", "n1", 4, {})], {"p": 8})
    assert said(held, mixed)[0].why_not("j@n1").code == "room_held"


def test_gang_scheduling_says_which_choices_it_does_not_use() -> None:
    snapshot = cluster({"n1": 4}, {"j": LOW, "p": HIGH}, [("j", "n1", 4, {})], {"p": 4})
    plan = eh.plan(snapshot, GANG.replace(victim_selection="minimum", youngest_first=True))
    [found] = plan.diagnostics
    assert (found.code, found.numbers["settings"]) == (
        "slurm_choice_not_used",
        ["victim_selection", "youngest_first"],
    )
    assert not eh.plan(snapshot, GANG).diagnostics
    dry = eh.plan(snapshot, GANG.replace(victim_selection="test_only"))
    assert (rules(dry), not dry.diagnostics) == ({"p-r": "dry_run_omits_victims"}, True)
