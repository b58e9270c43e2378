"""Slurm's thresholds, clocks and units: exactly there, and one step to each side."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh
from evenhand.systems.slurm.adapter.text import amounts
from evenhand.systems.slurm.text.values import grace, seconds

TIERS: dict[str, Any] = {"low": {"PriorityTier": 1}, "high": {"PriorityTier": 10}}
QOS: dict[str, Any] = {"bronze": {}, "gold": {"Preempt": ["bronze"]}}


def cluster(now: float, mine: dict[str, Any], its: dict[str, Any], **of_running: Any) -> dict[str, Any]:
    """One full node: something runs, and something waits for it."""
    return {
        "now": now,
        "resources": {"cpu": {}},
        "nodes": [{"name": "n", "capacity": {"cpu": 1}}],
        "operations": [{"name": "r", "partition": "low", **its}, {"name": "w", "partition": "high", **mine}],
        "allocations": [
            {
                "name": "r",
                "operation": "r",
                "node": "n",
                "resources": {"cpu": 1},
                "start_time": 100,
                **of_running,
            }
        ],
        "requests": [{"name": "w", "operation": "w", "resources": {"cpu": 1}}],
    }


def victims(data: dict[str, Any], **settings: Any) -> list[str]:
    policy = eh.policies.Slurm(
        **{"PreemptType": "preempt/partition_prio", "PreemptMode": "CANCEL", "partitions": TIERS, **settings}
    )
    return [str(d.operation) for d in eh.plan(eh.Snapshot.from_dict(data), policy).decisions.victims]


@pytest.mark.parametrize(
    ("now", "found"), [(159, []), (159.999999, []), (160, ["r"]), (160.000001, ["r"]), (161, ["r"])]
)
def test_a_job_may_be_a_victim_once_it_ran_for_the_exempt_time(now: float, found: list[str]) -> None:
    assert victims(cluster(now, {}, {}), PreemptExemptTime=60) == found


@pytest.mark.parametrize(("mine", "found"), [(4, []), (5, ["r"]), (6, ["r"])])
def test_by_tier_and_priority_an_equal_one_may_be_preempted(mine: int, found: list[str]) -> None:
    data = cluster(200, {"priority": mine}, {"priority": 5})
    assert victims(data, PreemptMode="CANCEL,PRIORITY") == found


@pytest.mark.parametrize(("mine", "found"), [(4, []), (5, []), (6, ["r"])])
@pytest.mark.parametrize("mode", ["CANCEL,PRIORITY", "CANCEL,WITHIN"])
def test_by_qos_and_priority_an_equal_one_may_not(mode: str, mine: int, found: list[str]) -> None:
    its = "gold" if "WITHIN" in mode else "bronze"
    data = cluster(200, {"priority": mine, "qos": "gold"}, {"priority": 5, "qos": its})
    assert victims(data, PreemptType="preempt/qos", PreemptMode=mode, qos=QOS) == found


@pytest.mark.parametrize(("gold", "first"), [(4, "bronze"), (5, "bronze"), (6, "gold")])
def test_the_queue_by_qos_and_priority_turns_on_more_and_not_on_as_much(gold: int, first: str) -> None:
    """A job of gold stands before one of bronze only if it could preempt it: its priority must be higher."""
    data: dict[str, Any] = {
        "now": 200,
        "resources": {"cpu": {}},
        "nodes": [{"name": "n", "capacity": {"cpu": 1}}],
        "operations": [
            {"name": "bronze", "partition": "high", "qos": "bronze", "priority": 5, "start_time": 1},
            {"name": "gold", "partition": "low", "qos": "gold", "priority": gold, "start_time": 2},
        ],
        "requests": [{"name": q, "operation": q, "resources": {"cpu": 1}} for q in ("bronze", "gold")],
    }
    policy = eh.policies.Slurm(
        PreemptType="preempt/qos", PreemptMode="CANCEL,PRIORITY", qos=QOS, partitions=TIERS
    )
    plan = eh.plan(eh.Snapshot.from_dict(data), policy)
    assert [d.operation for d in plan.decisions.starts] == [first]


@pytest.mark.parametrize(("its", "found"), [(4, ["r"]), (5, ["r"]), (6, [])])
def test_the_exempt_priority_itself_is_not_exempt(its: int, found: list[str]) -> None:
    assert victims(cluster(200, {}, {"priority": its}), min_exempt_priority=5.0) == found


@pytest.mark.parametrize(("end", "until"), [(229, 229), (230, 230), (231, 230), (200, 200), (199, 230)])
def test_grace_time_ends_with_the_job_at_the_latest(end: float, until: float) -> None:
    """An end that has passed bounds nothing."""
    tiers = {"low": {"PriorityTier": 1, "GraceTime": 30}, "high": {"PriorityTier": 10}}
    policy = eh.policies.Slurm(PreemptType="preempt/partition_prio", PreemptMode="CANCEL", partitions=tiers)
    plan = eh.plan(eh.Snapshot.from_dict(cluster(200, {}, {}, planned_end=end)), policy)
    (victim,) = plan.decisions.victims
    assert (victim.grace, victim.until) == (30, until)


@pytest.mark.parametrize("deadline", [199, 200, 201])
def test_nothing_starts_where_something_leaves(deadline: float) -> None:
    leaves = {"state": "preempting", "deadline": deadline, "beneficiary": {"operation": "w"}}
    for kind in ("sched/builtin", "sched/backfill"):
        policy = eh.policies.Slurm(partitions=TIERS, SchedulerType=kind)
        plan = eh.plan(eh.Snapshot.from_dict(cluster(200, {}, {}, **leaves)), policy)
        assert list(plan.decisions.starts) == []
        assert [r.rule for r in plan.refusals] == ["waits_for_victims"]


@pytest.mark.parametrize(
    ("eligible", "starts"), [(199, True), (200, True), (200.000001, False), (201, False)]
)
def test_a_job_starts_at_its_begin_time(eligible: float, starts: bool) -> None:
    data = cluster(200, {"settings": {"eligible_time": eligible}}, {})
    data["allocations"] = []
    for passes in (("main",), ("backfill",)):
        policy = eh.policies.Slurm(partitions=TIERS, SchedulerType="sched/backfill")
        plan = eh.plan(eh.Snapshot.from_dict(data), policy, on=eh.SchedulingRun(passes=passes))
        assert bool(list(plan.decisions.starts)) == starts


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1", 60.0),
        ("0:59", 59.0),
        ("1:00", 60.0),
        ("1:01", 61.0),
        ("1:00:00", 3600.0),
        ("1-0", 86_400.0),
        ("1-1", 90_000.0),
        ("1-0:1", 86_460.0),
        ("1-0:0:1", 86_401.0),
        ("0", None),
        ("UNLIMITED", None),
        ("INFINITE", None),
        ("NONE", None),
        ("-1", None),
    ],
)
def test_times_of_slurm_conf(text: str, found: float | None) -> None:
    assert seconds(text) == found


@pytest.mark.parametrize(("text", "found"), [("59", 59.0), ("60", 60.0), ("1:00", 60.0), ("0", 0.0)])
def test_a_bare_grace_time_is_seconds(text: str, found: float) -> None:
    assert grace(text) == found


@pytest.mark.parametrize(
    ("size", "found"),
    [
        ("1023K", 1),
        ("1024K", 1),
        ("1025K", 2),
        ("1", 1),
        ("1M", 1),
        ("1G", 1024),
        ("0.5G", 512),
        ("1T", 1024**2),
        ("1.5T", 1024**2 * 3 // 2),
        ("1P", 1024**3),
    ],
)
def test_units_of_memory(size: str, found: int) -> None:
    assert amounts(f"cpu=1,mem={size}")["memory"] == found
