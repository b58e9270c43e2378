"""What a plan leaves if some of its steps are not carried out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenhand as eh
from evenhand.plans.again import _state, essences
from evenhand.plans.undone import without_steps
from evenhand.testing import strategies
from tests.unit.test_testing_victims import QUIET, SLURM

HOUR = 3600.0
CAP = {"max_victims_per_hour": 40}
PACE = {"victim_cooldown": "10m", "max_victims_per_hour": 50}
POLICIES = {
    "slurm": eh.policies.Slurm(
        PreemptType="preempt/partition_prio",
        PreemptMode="REQUEUE",
        SchedulerType="sched/backfill",
        partitions={"low": {"PriorityTier": 1}, "high": {"PriorityTier": 2}},
        pace=PACE,
    ),
    "backendai": eh.policies.BackendAI(preemptors="every", preemption_mode="reschedule", pace=PACE),
}
DRAWN = {
    "ytsaurus": eh.policies.YTsaurus(pace=PACE),
    "yunikorn": eh.policies.YuniKorn(pace=PACE),
    "backendai": eh.policies.BackendAI(preemptors="every", pace=PACE),
    "slurm": eh.policies.Slurm(**SLURM, pace=PACE),
    "gridengine": eh.policies.GridEngine(
        automatic_preemption=True, max_reservation=10, max_preemptees=10, pace=PACE
    ),
}


def cluster(now: float = 1000.0) -> eh.Snapshot:
    """Two full nodes, pools one in another, and two jobs that would take one node each."""
    nodes = [{"name": f"n{n}", "capacity": {"cpu": 4}} for n in (1, 2)]
    low = [{"name": f"v{n}", "pool": "b", "partition": "low", "priority": n} for n in (1, 2)]
    high = [{"name": f"h{n}", "pool": "a", "partition": "high", "priority": 20 - n} for n in (1, 2)]
    held = [
        {"name": f"v{n}", "operation": f"v{n}", "node": f"n{n}", "resources": {"cpu": 4}, "start_time": 1.0}
        for n in (1, 2)
    ]
    asks = [{"name": f"h{n}", "operation": f"h{n}", "resources": {"cpu": 4}} for n in (1, 2)]
    return eh.Snapshot.from_dict(
        {
            "now": now,
            "resources": {"cpu": {}},
            "nodes": nodes,
            "pools": [{"name": "a", "settings": CAP}, {"name": "b", "parent": "a", "settings": CAP}],
            "operations": [*low, *high],
            "allocations": held,
            "requests": asks,
        }
    )


@pytest.mark.parametrize("system", POLICIES)
def test_a_step_that_is_undone_leaves_nothing(system: str) -> None:
    policy = POLICIES[system]
    plan = eh.plan(cluster(), policy)
    first, second = (step for step in plan.steps() if step.victims)
    assert first.beneficiary is not None
    assert second.beneficiary is not None
    left = without_steps(plan, {second.number})
    (gone,), (stays,) = ([str(v.operation) for v in step.victims] for step in (first, second))
    assert set(left.operations) == {first.beneficiary.operation} & set(plan.state.operations)
    assert ("operation", gone) in left.victims
    assert ("operation", stays) not in left.victims
    for pool in ("<Root>", "a", "b"):
        assert list(left.victims["pool", pool]["taken"]) == [1000.0]
        assert list(plan.state.victims["pool", pool]["taken"]) == [1000.0, 1000.0]
    none = without_steps(plan, {first.number, second.number})
    assert (dict(none.operations), dict(none.victims)) == ({}, {})


def test_without_such_steps_it_is_the_plans_own() -> None:
    plan = eh.plan(cluster(), POLICIES["slurm"])
    assert without_steps(plan, set()) is plan.state
    assert without_steps(plan, {99}) is plan.state


def test_what_was_remembered_before_comes_back() -> None:
    """When jobs were preempted for it, and when its victim was taken last."""
    policy = POLICIES["slurm"]
    first = eh.plan(cluster(), policy)
    before = first.state
    again = eh.plan(cluster(1000.0 + HOUR / 2), policy, before)
    undone = {step.number for step in again.steps() if step.victims}
    assert len(undone) == 2
    left = without_steps(again, undone)
    assert left.operations == before.operations
    assert left.victims == before.victims
    assert left.time == again.state.time
    for pool in ("a", "b"):
        assert len(again.state.victims["pool", pool]["taken"]) == 4


@pytest.mark.parametrize("system", DRAWN)
def test_it_is_what_a_check_takes_to_be_done(system: str) -> None:
    """The state with what some steps left, made the other way round: from nothing, step by step."""
    policy = DRAWN[system]

    @QUIET
    @given(strategies.preempting(policy), st.data())
    def drawn(snapshot: eh.Snapshot, data: st.DataObject) -> None:
        plan = eh.plan(snapshot, policy, as_if_waiting="1d")
        taking = [step.number for step in plan.steps() if step.victims]
        done = data.draw(st.sets(st.sampled_from(taking)))
        left = without_steps(plan, {*taking} - done)
        kept = _state(plan, essences(plan.snapshot, plan.decisions), done)
        taken = {} if kept is None else kept.victims
        assert {key: [*row["taken"]] for key, row in left.victims.items()} == {
            key: [*row["taken"]] for key, row in taken.items()
        }
        assert kept is None or set(kept.operations) <= set(left.operations)

    drawn()
