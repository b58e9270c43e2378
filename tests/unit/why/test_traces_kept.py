"""What explanations trace is kept with the plan: of all victims at once, of others once or together."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.explain.facts import Facts
from evenhand.explain.recorded import recorded_of_victim
from evenhand.plans import Plan
from evenhand.plans.explainable import first_facts
from evenhand.plans.kept import KeptCore
from tests.properties.concluding import look_at
from tests.properties.explaining import SYSTEMS
from tests.unit.why.test_letters import POLICIES, data

PLANS = 40


class Counting:
    """A core that counts how often it plans again."""

    def __init__(self, core: Any) -> None:
        self.core, self.calls = core, Counter[str]()

    def __getattr__(self, name: str) -> Any:
        if name in ("trace", "taken"):
            self.calls[name] += 1
        return getattr(self.core, name)


def counting(which: str) -> tuple[Plan, Counter[str]]:
    made = eh.plan(eh.Snapshot.from_dict(data()), POLICIES[which])
    core = Counting(made._core)
    return eh.Plan(made.snapshot, made.policy, core, made.state_before, made.on, made.given), core.calls


@pytest.mark.parametrize("which", ["slurm", "gridengine", "backendai", "yunikorn"])
def test_all_victims_take_one_plan_more_and_a_second_question_none(which: str) -> None:
    made, calls = counting(which)
    victims = [d.allocation for d in made.decisions.victims]
    told = [made.why(name, table="allocations") for name in victims]
    calls.pop("trace", None)
    before = made._taken
    assert [made.why(name, table="allocations") for name in victims] == told
    assert [made.letter(name).code for name in victims] == [one.code for one in told]
    assert made._taken is before
    assert not calls["trace"]


@pytest.mark.parametrize("which", ["slurm", "gridengine", "backendai", "yunikorn"])
def test_a_second_question_about_what_waits_or_stays_takes_no_plan(which: str) -> None:
    made, calls = counting(which)
    names = [("kept-1", "allocations"), ("big-r", "requests")]
    told = [made.why(name, table=table) for name, table in names]
    once = calls["trace"]
    assert once <= len(names)
    assert [made.why(name, table=table) for name, table in names * 10] == told * 10
    assert calls["trace"] == once


def same(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return np.array_equal(one, other) if isinstance(one, np.ndarray) else bool(one == other)


@pytest.mark.parametrize("system", SYSTEMS)
def test_of_all_victims_at_once_the_same_is_recorded_as_of_each_alone(system: str) -> None:
    looked = 0

    def look(plan: Plan) -> None:
        nonlocal looked
        rows = {str(name): row for row, name in enumerate(plan.snapshot.names("allocations"))}
        for name in (str(d.allocation) for d in plan.decisions.victims):
            alone = first_facts(plan._core.trace("allocation", rows[name])).get(rows[name], {})
            found = recorded_of_victim(Facts(plan), rows[name])
            assert same({kind: alone.get(kind, {}) for kind in found}, found), name
            looked += 1

    look_at(system, PLANS, 0, look)
    assert looked


def test_a_plan_of_another_process_explains_its_victims_as_before() -> None:
    made = eh.plan(eh.Snapshot.from_dict(data()), POLICIES["slurm"])
    kept = eh.Plan(made.snapshot, made.policy, KeptCore.of(made), None, None, made.given)
    assert kept.why("old-1") == made.why("old-1")
    assert kept.letter("old") == made.letter("old")


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_same_is_recorded_whatever_was_asked_before(system: str) -> None:
    looked = 0

    def look(plan: Plan) -> None:
        nonlocal looked
        tables = (("request", "requests"), ("allocation", "allocations"))
        asked = [(kind, row) for kind, table in tables for row in range(len(plan.snapshot.names(table)))]
        for kind, row in [*asked[::2], *asked[1::2]]:
            given = plan.given or None
            fresh = eh.plan(plan.snapshot, plan.policy, plan.state_before, on=plan.on, given=given)
            assert same(plan._core.trace(kind, row), fresh._core.trace(kind, row)), (kind, row)
            looked += 1

    look_at(system, PLANS // 2, 3, look)
    assert looked


@pytest.mark.parametrize(("system", "tables"), [("slurm", "r"), ("gridengine", "r"), ("backendai", "ra")])
def test_one_plan_more_explains_all_that_waits(system: str, tables: str) -> None:
    """Under Backend.AI also what stays and what leaves: their runs keep all that was recorded."""
    asked = 0

    def look(plan: Plan) -> None:
        nonlocal asked
        refused = [(name, "requests") for name in dict.fromkeys(r.request for r in plan.refusals)]
        stays = [(name, "allocations") for name in plan.snapshot.names("allocations")]
        for name, table in [*refused, *(stays if "a" in tables else ())]:
            plan.why(name, table=table)
            asked += 1
        assert plan._core.recorded <= 1

    look_at(system, PLANS, 5, look)
    assert asked > PLANS
