"""Grid Engine: what is said once a person has requested preemption."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh
from tests.reference.explanations import check_explanations
from tests.unit.why.test_gridengine import asks, runs


def two_run(slots: float, **cells: dict[str, Any]) -> eh.Snapshot:
    """Jobs 1 and 2 have a slot of two each, and 3 asks for some; cells: of allocations a1 and a2."""
    return eh.Snapshot.from_dict(
        {
            "now": 1000,
            "resources": {"slots": {"kind": "slots"}},
            "nodes": [{"name": "h", "capacity": {"slots": 2}}],
            "operations": [
                {"name": "1", "priority": 0.1},
                {"name": "2", "priority": 0.2},
                {"name": "3", "priority": 0.9},
            ],
            "allocations": [
                {"name": name, "operation": name[1:], **runs("h", 1), **cells.get(name, {})}
                for name in ("a1", "a2")
            ],
            "requests": [{"name": "r", "operation": "3", **asks(slots)}],
        }
    )


def test_a_request_for_preemption_names_the_order_and_the_cap() -> None:
    snapshot = two_run(2)
    policy = eh.policies.GridEngine(max_reservation=1, max_preemptees=1, over_the_cap="as_many")
    command = {"consumer": "3", "providers": ["2", "1"], "action": "T", "manager": True}
    state = eh.plan(snapshot, policy, on=eh.Commands((command,))).state
    plan = eh.plan(snapshot, policy, state)
    told = plan.why("a2")
    assert told.code == "manual_preemption"
    assert "in the order in which the request for preemption names them" in told.text
    assert "operation 2 is number 1 of 2 that may be preempted for it" in told.text
    assert "what it gives back is a part of what is needed for request r of 3" in told.summary
    assert "Its action is T (terminate), as the request for preemption says." in told.sentences
    assert "2 jobs would have to leave for it; `max_preemptees` is 1." in told.sentences
    waits = plan.why_not("r")
    assert waits.code == "max_preemptees"
    assert "For it operation 2 leaves now." in waits.sentences
    assert plan.why("a1").summary.endswith("`max_preemptees` 1 allows, so only operation 2 leaves.")


def test_force_asks_for_no_distance() -> None:
    data = {
        "now": 1000,
        "resources": {"slots": {"kind": "slots"}},
        "nodes": [{"name": "h", "capacity": {"slots": 1}}],
        "operations": [{"name": "1", "priority": 0.1}, {"name": "3", "priority": 0.9}],
        "allocations": [{"name": "a1", "operation": "1", **runs("h", 1, planned_end=1240)}],
        "requests": [{"name": "r", "operation": "3", **asks(1)}],
    }
    snapshot = eh.Snapshot.from_dict(data)

    def after(*, force: bool, distance: float = 900) -> eh.Plan:
        policy = eh.policies.GridEngine(max_reservation=1, max_preemptees=1, preemption_distance=distance)
        command = {"consumer": "3", "providers": ["1"], "action": "T", "manager": True, "force": force}
        plan = eh.plan(snapshot, policy, eh.plan(snapshot, policy, on=eh.Commands((command,))).state)
        check_explanations(plan)
        return plan

    told = after(force=True).why("a1")
    assert any(one.endswith("which the request overrode by force.") for one in told.sentences)
    at = after(force=True, distance=300).why("a1")  # it starts 300 s from now: that is not farther
    assert any("within `preemption_distance` (5 min), which the request" in one for one in at.sentences)
    farther = after(force=False, distance=299).why("a1")
    assert any("farther away than `preemption_distance` (4 min 59 s)" in one for one in farther.sentences)
    waits = after(force=False).why_not("r")
    assert waits.code == "within_preemption_distance"
    assert waits.summary.endswith(
        "it starts at 1,300 s (in 5 min) without preemption, within `preemption_distance` (15 min)."
    )


def test_of_named_jobs_of_which_none_may_leave_nothing_is_said_of_others() -> None:
    policy = eh.policies.GridEngine(max_reservation=1, max_preemptees=1, preemption_action="T")
    command = {"consumer": "3", "providers": ["2"], "action": "T", "manager": True}
    asked = eh.plan(two_run(1), policy, on=eh.Commands((command,)))
    plan = eh.plan(two_run(1, a2={"preemptible": False}), policy, asked.state)  # opted out since
    check_explanations(plan)
    why = plan.why_not("r")
    assert why.code == "no_lower_priority"
    assert why.summary == (
        "Request r of operation 3 (1 slots) did not start: of the jobs that the request for preemption names"
        " none may be preempted: 2."
    )
    assert why.numbers["named"] == ["2"]


@pytest.mark.parametrize(
    ("action", "cells", "lacks"),
    [
        ("C", {"checkpointable": True}, "it has no checkpoint environment"),
        ("R", {"rerunnable": True}, "neither it nor its queue is rerunnable"),
    ],
)
def test_the_action_that_the_request_says_is_named(action: str, cells: dict[str, Any], lacks: str) -> None:
    """It had then what the action needs, and has it no more; what is configured is another one."""
    policy = eh.policies.GridEngine(max_reservation=1, max_preemptees=1, preemption_action="T")
    command = {"consumer": "3", "providers": ["2"], "action": action, "manager": True}
    state = eh.plan(two_run(1, a2=cells), policy, on=eh.Commands((command,))).state
    assert eh.plan(two_run(1, a2=cells), policy, state).why("a2").numbers["action"] == action
    plan = eh.plan(two_run(1), policy, state)
    check_explanations(plan)
    told = plan.why("a2")
    assert told.code == "action_not_allowed"
    assert told.numbers["action"] == action
    assert told.summary.endswith(f"the request for preemption says {action}, and {lacks}.")


def test_a_job_that_has_stopped_already_is_not_waited_for() -> None:
    """Only that which is still leaving."""
    beneficiary = {"operation": "3", "request": "r"}
    snapshot = two_run(
        2,
        a1={"state": "preempted", "beneficiary": beneficiary},
        a2={"state": "preempting", "beneficiary": beneficiary},
    )
    plan = eh.plan(snapshot, eh.policies.GridEngine(max_reservation=1, max_preemptees=2))
    check_explanations(plan)
    why = plan.why_not("r")
    assert why.code == "waits_for_victims"
    assert why.numbers["victims"] == ["2"]
    assert why.summary.endswith(" did not start: it fits once operation 2 has left for it.")
