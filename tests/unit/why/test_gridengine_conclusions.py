"""Grid Engine's sentences that conclude: what they name is changed, and planned again."""

from __future__ import annotations

import math
from typing import Any

import pytest

import evenhand as eh
from tests.reference.explanations import check_explanations
from tests.unit.why.test_gridengine import asks, job, planned, runs

ON: dict[str, Any] = {"max_reservation": 5, "max_preemptees": 5, "automatic_preemption": True}


def grid(waits: float, holds: float, end: float | None = 1500, **settings: Any) -> eh.Plan:
    """One slot, which a job holds until 1500, and 60 s; another one waits for it since 1000."""
    row = {} if end is None else {"planned_end": end}
    data = {
        "now": 1000,
        "resources": {"slots": {"kind": "slots"}},
        "nodes": [{"name": "h", "capacity": {"slots": 1}}],
        "operations": [{"name": "20", "priority": waits}, {"name": "10", "priority": holds}],
        "allocations": [{"name": "10-a", "operation": "10", **runs("h", 1, **row)}],
        "requests": [{"name": "20-r", "operation": "20", **asks(1)}],
    }
    plan = eh.plan(eh.Snapshot.from_dict(data), eh.policies.GridEngine(**(ON | settings)))
    check_explanations(plan)
    return plan


def text(explanation: eh.Explanation) -> str:
    return " ".join(explanation.sentences)


def taken(plan: eh.Plan) -> set[str]:
    return {str(d.allocation) for d in plan.decisions.victims}


@pytest.mark.parametrize(
    ("distance", "far"), [(559.999999, True), (560, False), (560.000001, False), (0, True)]
)
@pytest.mark.parametrize(("holds", "leaves"), [(0.4, True), (0.5, False)])
def test_that_a_reservation_is_near_does_not_say_that_it_could_preempt(
    distance: float, far: bool, holds: float, leaves: bool
) -> None:
    """It said "with a `preemption_distance` below 9 min 20 s it could preempt", where none may leave."""
    plan = grid(0.5, holds, preemption_distance=distance)
    assert taken(plan) == ({"10-a"} if far and leaves else set())
    said = text(plan.why("10-a" if taken(plan) else "20-r"))
    assert "could preempt" not in said
    assert ("its reservation begins at 1,560 s (in 9 min 20 s)" in said) == (not far)
    assert ("That is within `preemption_distance`" in said) == (not far)
    compared = "; 9 min 20 s is farther away than `preemption_distance` (9 min 19.999999 s)"
    assert (compared in said) == (distance == 559.999999 and leaves)


@pytest.mark.parametrize("waits", [0.8, 0.80004321, 0.1 + 0.7, 1.0])
@pytest.mark.parametrize(("towards", "goes"), [(0.0, True), (None, False), (math.inf, False)])
def test_the_priority_at_which_a_job_would_not_leave_is_exact(
    waits: float, towards: float | None, goes: bool
) -> None:
    """Of 0.80004321 it said 0.8, at which the job leaves."""
    said = grid(waits, 0.1, preemption_distance=1).why("10-a").summary
    named = said.partition("; at priority ")[2].partition(" ")[0]
    assert float(named) == waits
    assert said.endswith(" or above, operation 10, which has 0.1, could not be preempted for operation 20.")
    holds = waits if towards is None else math.nextafter(waits, towards)
    assert taken(grid(waits, holds, preemption_distance=1)) == ({"10-a"} if goes else set())


@pytest.mark.parametrize(
    ("end", "distance", "says"),
    [
        (None, 900, "Without preemption there is never enough room for operation 20"),
        (1500, 559, "; 9 min 20 s is farther away than `preemption_distance` (9 min 19 s)"),
        (1500, 0, "; `preemption_distance` is 0, so no reservation is near enough"),
    ],
)
def test_a_job_that_never_starts_has_no_reservation_that_is_too_far_away(
    end: float | None, distance: float, says: str
) -> None:
    said = text(grid(0.8, 0.1, end, preemption_distance=distance).why("10-a"))
    assert says in said
    assert "of 20, which does not start soon enough without preemption;" in said
    assert "reservation is too far away" not in said


def test_no_other_value_of_a_setting_is_named() -> None:
    """With another one other jobs would be preempted before."""
    low = job("low", 0.1, runs=[runs("h", 2)])
    plan = planned({"h": 2}, low, job("high", 0.9, asks=[asks(1)]), max_preemptees=1)
    assert "no job would have been preempted" not in text(plan.why("lowa0"))
    each = [job(f"low{i}", 0.1, runs=[runs("h", 1)]) for i in range(2)]
    for most, victims in ((1, 0), (2, 2), (3, 2)):
        plan = planned({"h": 2}, *each, job("high", 0.9, asks=[asks(2)]), max_preemptees=most)
        assert len(plan.decisions.victims) == victims
        said = text(plan.why("highr0"))
        assert ("more than `max_preemptees` 1 allows" in said) == (most == 1)
        assert "would have been" not in said


def of_pool(most: int, wants: int) -> eh.Snapshot:
    """Two jobs of a pool, of which so many may leave within an hour, and one that wants slots of theirs."""
    data = {
        "now": 1000,
        "resources": {"slots": {"kind": "slots"}},
        "nodes": [{"name": "h", "capacity": {"slots": 2}}],
        "pools": [{"name": "p", "settings": {"max_victims_per_hour": most}}],
        "operations": [
            {"name": "high", "priority": 0.9},
            *({"name": f"low{i}", "priority": 0.1, "pool": "p"} for i in range(2)),
        ],
        "allocations": [{"name": f"a{i}", "operation": f"low{i}", **runs("h", 1)} for i in range(2)],
        "requests": [{"name": "r", "operation": "high", **asks(wants)}],
    }
    return eh.Snapshot.from_dict(data)


@pytest.mark.parametrize(("most", "given"), [(1, 0), (1, 1), (2, 1), (3, 1)])
def test_a_pool_has_given_what_it_has_given(most: int, given: int) -> None:
    """It said that the pool has given as many as it may, where it has given none and would give too many."""
    policy = eh.policies.GridEngine(**ON)
    state = eh.plan(of_pool(most, 1), policy).state if given else None
    plan = eh.plan(of_pool(most, 2 - given), policy, state)
    assert len(plan.decisions.victims) == (0 if most == 1 else 1)
    if most > 1:
        return
    spared = [name for name in ("a0", "a1") if plan.why(name).code == "pool_victims_per_hour"]
    assert len(spared) == 1 + given
    told = plan.why(spared[0])
    again = "; again from 4,600 s (in 1 h) on" if given else ""
    assert told.summary.endswith(
        "with it pool p would give more victims within an hour than `max_victims_per_hour` (1): it has given"
        f" {given}{again}."
    )
    assert told.numbers["victims"] == given


@pytest.mark.parametrize(("most", "remaining"), [(1, "with it gone"), (2, None), (3, None)])
def test_jobs_that_a_pool_may_not_give_are_not_among_those_that_would_not_suffice(
    most: int, remaining: str | None
) -> None:
    """It said that there is no room even with both gone, where one may leave."""
    plan = eh.plan(of_pool(most, 2), eh.policies.GridEngine(**ON))
    if remaining is None:
        assert taken(plan) == {"a0", "a1"}
        return
    (spared,) = [name for name in ("a0", "a1") if plan.why(name).code == "no_start_in_stage"]
    assert plan.why(spared).summary.endswith(f"request r of operation high would not fit even {remaining}.")
    assert plan.why(spared).numbers["candidates"] == 2


def test_what_an_action_would_have_been_is_said_where_there_is_that_action() -> None:
    low = job("low", 0.1, runs=[runs("h", 1) | {"resources": {"slots": 1, "lic": 1}}])
    high = job("high", 0.9, asks=[asks(1)])
    all_of_them = planned({"h": 1}, low, high).why("lowa0")
    assert (all_of_them.numbers["action"], all_of_them.numbers["chosen_by"]) == ("N", "keeps_resources")
    assert "it would be P" in text(all_of_them)
    some = planned({"h": 1}, low, high, actions=("T", "R", "C", "N", "S")).why("lowa0")
    assert (some.numbers["action"], some.numbers["chosen_by"]) == ("N", "keeps_resources")
    assert "it would be P" not in text(some)
