"""Plans of whole clusters: what is made of them agrees with the engine that decided."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.plans import Plan
from evenhand.plans.balance import Balance, change

PRESETS = ("documented", "upstream")


def planned(seed: int, preset: str) -> Plan:
    """A plan of a cluster in which many starve."""
    sizes = {"pools": 12, "depth": 3, "operations": 60, "allocations": 500, "nodes": 25}
    snapshot = eh.Snapshot.from_dict(eh.synthetic.cluster(**sizes, contention=1.6, seed=seed))
    policy = eh.policies.YTsaurus(preset, enable_aggressive_starvation=True)
    early = snapshot.replace(now=snapshot.now - 600, previous_update=None)
    return eh.plan(snapshot, policy, eh.plan(early, policy).state)


@pytest.fixture(scope="module", params=[(seed, preset) for preset in PRESETS for seed in range(6)], ids=str)
def plan(request: Any) -> Plan:
    return planned(*request.param)


def test_all_of_a_plan_holds_on_its_own_snapshot(plan: Plan) -> None:
    assert len(plan.decisions.victims), "nothing is tested where nobody is preempted"
    assert plan.check(plan.snapshot).findings == ()


def test_nothing_is_over_the_node_once_victims_have_gone(plan: Plan) -> None:
    after = Balance(plan.snapshot.after(plan))
    assert (after.free >= 0).all()


def test_the_numbers_of_decisions_are_those_of_a_replay(plan: Plan) -> None:
    """Room and usage before every decision, counted again from the snapshot and the decisions alone."""
    live = Balance(plan.snapshot)
    column = plan.decisions.column
    for row in range(len(plan.decisions)):
        operation, node = int(column("operation")[row]), int(column("node")[row])
        if column("allocation")[row] >= 0:
            usage = live.usage[live.pools + operation]
            assert np.array_equal(column("usage_before")[row], usage), row
        amounts = change(plan.decisions, row)
        live.add(operation, amounts)
        live.free[node] -= amounts
    after = Balance(plan.snapshot.after(plan))
    assert np.array_equal(live.usage, after.usage)
    assert np.array_equal(live.free, after.free)


def test_the_state_is_the_one_that_its_file_holds(plan: Plan) -> None:
    state = eh.State.from_dict(json.loads(json.dumps(plan.state.to_dict())))
    assert state == plan.state
    later = plan.snapshot.after(plan).replace(now=plan.snapshot.now + 10)
    ours, theirs = (eh.plan(later, plan.policy, s) for s in (plan.state, state))
    assert ours.to_json() == theirs.to_json()


def test_every_name_can_be_explained(plan: Plan) -> None:
    snapshot = plan.snapshot
    chosen = [("allocations", d.allocation) for d in list(plan.decisions.victims)[:10]]
    for table in ("allocations", "requests", "operations", "pools", "nodes"):
        chosen += [(table, name) for name in snapshot.names(table)[::17]]
    for table, name in chosen:
        assert name is not None
        told = plan.why(name, table=table)
        assert told.table == table
        assert told.sentences
        for sentence in told.sentences:
            assert "{" not in sentence
            assert sentence.endswith(".")
        json.dumps(told.to_dict(), allow_nan=False)


def test_the_json_is_strict_and_whole(plan: Plan) -> None:
    data = json.loads(plan.to_json())
    assert len(data["decisions"]) == len(plan.decisions)
    assert len(data["statuses"]) == len(plan.snapshot.element_names)
    assert set(data["groups"]) == {str(name) for name in plan.snapshot.names("allocations")}
    assert sum(len(step.decisions) for step in plan.steps()) == len(plan.decisions)
