"""C and R take only what allows them, whoever asks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

import evenhand as eh
from tests.reference.explanations import check_explanations

NEEDS = {"C": "checkpointable", "R": "rerunnable"}
REFUSED = {"C": "provider_not_checkpointable", "R": "provider_not_rerunnable"}


def cluster(able: Sequence[str], flag: str, slots: int = 1) -> eh.Snapshot:
    """Jobs 1 and 2 of ann have a slot each; job 9 wants some."""
    return eh.Snapshot.from_dict(
        {
            "now": 1000,
            "resources": {"slots": {"kind": "slots"}},
            "nodes": [{"name": "h", "capacity": {"slots": 2}}],
            "operations": [
                {"name": "1", "priority": 0.1, "user": "ann"},
                {"name": "2", "priority": 0.2, "user": "ann"},
                {"name": "9", "priority": 0.9, "user": "ann"},
            ],
            "allocations": [
                {
                    "name": f"{job}-a",
                    "operation": job,
                    "node": "h",
                    "resources": {"slots": 1},
                    "start_time": 0,
                    flag: job in able,
                }
                for job in ("1", "2")
            ],
            "requests": [{"name": "r", "operation": "9", "resources": {"slots": slots}, "reserve": True}],
        }
    )


def policy(**more: Any) -> Any:
    return eh.policies.GridEngine(max_reservation=10, max_preemptees=10, **more)


def after(snapshot: eh.Snapshot, then: eh.Snapshot | None = None, **command: Any) -> eh.Plan:
    """The run after a command; `then`: what is there by then."""
    asked = eh.plan(snapshot, policy(), on=eh.Commands(({"consumer": "9", **command},)))
    assert not [r for r in asked.refusals if r.command == 0]
    plan = eh.plan(then or snapshot, policy(), asked.state)
    check_explanations(plan)
    return plan


def victims(plan: eh.Plan) -> list[str]:
    return [str(d.operation) for d in plan.decisions.victims]


@pytest.mark.parametrize("action", "CR")
def test_of_all_jobs_those_that_allow_it(action: str) -> None:
    plan = after(cluster("2", NEEDS[action]), action=action, manager=True)
    assert victims(plan) == ["2"]
    assert plan.why_not("1-a").numbers["action"] == action


@pytest.mark.parametrize("action", "CR")
def test_if_none_allows_it_that_is_said(action: str) -> None:
    plan = after(cluster("", NEEDS[action]), action=action, manager=True)
    assert victims(plan) == []
    told = plan.why_not("r")
    assert told.code == "no_job_allows_action"
    assert "no job of lower priority than 0.9 allows the action by which it would leave" in told.summary
    assert any("2 do not allow the action by which they would leave" in one for one in told.sentences)
    assert f"the request for preemption says {action}, and" in plan.why_not("1-a").summary


def test_the_configured_action_likewise() -> None:
    plan = eh.plan(cluster("", "rerunnable"), policy(preemption_action="R", automatic_preemption=True))
    check_explanations(plan)
    assert plan.why_not("r").code == "no_job_allows_action"
    assert "`preemption_action` is R, and" in plan.why_not("1-a").summary


def test_where_none_is_of_lower_priority_nothing_is_said_of_actions() -> None:
    data = cluster("", "rerunnable").to_dict()
    data["operations"][2]["priority"] = 0.1  # as that of job 1
    plan = eh.plan(eh.Snapshot.from_dict(data), policy(preemption_action="R", automatic_preemption=True))
    assert plan.why_not("r").code == "no_lower_priority"


@pytest.mark.parametrize("action", "CR")
def test_a_users_own_jobs_that_allow_it(action: str) -> None:
    assert victims(after(cluster("2", NEEDS[action]), action=action, user="ann")) == ["2"]
    none = cluster("", NEEDS[action])
    command = {"consumer": "9", "action": action, "user": "ann"}
    (refused,) = eh.plan(none, policy(), on=eh.Commands((command,))).refusals
    assert refused.rule == REFUSED[action]


@pytest.mark.parametrize("action", "CR")
def test_a_named_job_that_allows_it_no_longer_stays(action: str) -> None:
    before, then = cluster("1", NEEDS[action]), cluster("", NEEDS[action])
    plan = after(before, then, providers=["1"], action=action, manager=True)
    assert victims(plan) == []
    assert plan.why_not("r").code == "no_job_allows_action"
    assert (
        "of the jobs that the request for preemption names none allows its action: 1"
        in plan.why_not("r").text
    )


def test_a_manager_reruns_by_force_what_is_not_rerunnable_but_checkpoints_nothing_so() -> None:
    forced = {"manager": True, "force": True}
    assert victims(after(cluster("", "rerunnable"), action="R", **forced)) == ["1"]
    assert victims(after(cluster("", "rerunnable"), action="R", providers=["2"], **forced)) == ["2"]
    assert victims(after(cluster("", "checkpointable"), action="C", **forced)) == []


# What a request may not do beyond the cap


@pytest.mark.parametrize(("cap", "found"), [(1, []), (2, ["1", "2"]), (3, ["1", "2"])])
def test_beyond_the_cap_none_leaves_by_default(cap: int, found: list[str]) -> None:
    snapshot = cluster("", "rerunnable", slots=2)
    command = {"consumer": "9", "providers": ["1", "2"], "action": "P", "manager": True}
    for given in ({}, {"over_the_cap": "none"}, {"over_the_cap": "nobody"}):
        own = eh.policies.GridEngine(max_reservation=10, max_preemptees=cap, **given)
        assert own.settings.over_the_cap == "none"
        plan = eh.plan(snapshot, own, eh.plan(snapshot, own, on=eh.Commands((command,))).state)
        check_explanations(plan)
        assert victims(plan) == found
