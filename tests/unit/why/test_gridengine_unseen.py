"""Running work that no waiting job was compared with: the setting, or what leaves already, is named."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh
from tests.reference.explanations import check_explanations
from tests.unit.why.test_gridengine import asks, job, planned, runs

LOW = job("low", 0.1, runs=[runs("h", 1)])


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (
            {"max_reservation": 0},
            "`max_reservation` is 0: no job gets a reservation, and none is preempted.",
        ),
        ({"max_preemptees": 0}, "`max_preemptees` is 0: no job is preempted."),
        (
            {"automatic_preemption": False},
            "`automatic_preemption` is off, and no request for preemption was accepted.",
        ),
    ],
)
def test_the_setting_is_named(settings: dict[str, Any], says: str) -> None:
    told = planned({"h": 1}, LOW, job("high", 0.9, asks=[asks(1)]), **settings).why("lowa0")
    assert told.code == "not_considered"
    assert told.summary.endswith(says)


def test_nothing_waits() -> None:
    assert planned({"h": 1}, LOW).why("lowa0").summary.endswith("no request waits for room.")


def test_a_reservation_that_is_near_enough_is_named() -> None:
    low = job("low", 0.1, runs=[runs("h", 1, planned_end=1240)])
    told = planned({"h": 1}, low, job("high", 0.9, asks=[asks(1)])).why("lowa0")
    assert told.summary == (
        "Allocation lowa0 of operation low on node h was not preempted: the reservation of request highr0 of"
        " operation high is within `preemption_distance` (15 min), so no job is preempted for it."
    )


def test_leaving_work_that_serves_the_request_is_named() -> None:
    """It said that no stage considered it, where a request waits for what leaves already."""
    gone = job("gone", 0.2, runs=[runs("h", 1, state="preempting", beneficiary={"operation": "high"})])
    told = planned({"h": 2}, LOW, gone, job("high", 0.9, asks=[asks(1)])).why("lowa0")
    assert told.summary == (
        "Allocation lowa0 of operation low on node h was not preempted: for request highr0 of operation high"
        " operation gone leaves already, so no more is preempted for it."
    )
    other = job("other", 0.2, runs=[runs("h", 1, state="preempting", beneficiary={"operation": "else"})])
    rows = job("else", 0.3)
    told = planned({"h": 3}, LOW, gone, other, rows, job("high", 0.9, asks=[asks(1)])).why("lowa0")
    assert told.numbers["victims"] == ["gone"]


def test_each_copy_has_the_room_that_those_before_it_left() -> None:
    plan = planned({"h": 3}, job("high", 0.9, asks=[asks(1, count=3)]))
    assert [d.numbers["free_before"]["slots"] for d in plan.decisions.starts] == [3, 2, 1]
    told = plan.why("highr0")
    assert "and 2 slots, 2 lic were free" in told.sentences[1]


def test_a_request_that_was_granted_victims_is_not_counted_as_refused() -> None:
    plan = planned({"h": 1}, LOW, job("high", 0.9, asks=[asks(1)]), job("next", 0.1, asks=[asks(1)]))
    assert "1 request served once victims have left, 1 request refused" in repr(plan)
    assert isinstance(plan, eh.Plan)


def test_planned_room_of_a_suspended_queue_is_planned_all_the_same() -> None:
    """It said that nothing is missing: its queue is suspended there, and the room is kept from now on."""
    top = job("top", 0.9, runs=[runs("h", 1, settings={"queue": "top.q"}, planned_end=1240)])
    first, low = job("first", 0.8, asks=[asks(2)]), job("low", 0.1, asks=[asks(1, reserve=False)])
    low["operations"][0]["pool"] = "low.q"
    rows = {table: top[table] + first[table] + low[table] for table in top}
    data = {
        "now": 1000,
        "resources": {"slots": {"kind": "slots"}},
        "nodes": [{"name": "h", "capacity": {"slots": 2}}],
        "pools": [{"name": "low.q"}],
        **rows,
    }
    queues = {"top.q": {"subordinate_list": "low.q=1"}}
    policy = eh.policies.GridEngine(max_reservation=1, backfilling=False, queues=queues)
    plan = eh.plan(eh.Snapshot.from_dict(data), policy)
    check_explanations(plan)
    told = plan.why("lowr0")
    assert told.code == "no_free_room"
    assert "1 slots on node h is free now and planned for operation first" in told.summary
