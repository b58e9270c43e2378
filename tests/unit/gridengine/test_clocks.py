"""Grid Engine's clocks: what never ends, instants before the epoch, and the distance that preempts."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh

POLICY = eh.policies.GridEngine(
    automatic_preemption=True,
    max_reservation=10,
    max_preemptees=10,
    preemption_distance=300.0,
    DURATION_OFFSET=0,
)
EPOCHS = [-(2**60) / 1e6, -1e9, -1000.0, -1.0, -0.000001, 0.0, 1.0, 1e9]
FORMAT = ["far before", "1938", "before", "a second before", "just before", "epoch", "after", "2001"]


def full(now: float, **ends: float) -> eh.Snapshot:
    """A host that a job of low priority fills, until then if it is known; another one asks for room."""
    runs = {"name": "a", "operation": "low", "node": "n", "resources": {"slots": 4}, "start_time": now}
    return eh.Snapshot.from_dict(
        {
            "now": now,
            "resources": {"slots": {"kind": "slots"}},
            "nodes": [{"name": "n", "capacity": {"slots": 4}}],
            "operations": [
                {"name": "low", "priority": 0.1, "start_time": now},
                {"name": "high", "priority": 0.9, "start_time": now},
            ],
            "allocations": [runs | ends],
            "requests": [
                {
                    "name": "r",
                    "operation": "high",
                    "resources": {"slots": 2},
                    "reserve": True,
                    "submit_time": now,
                    "duration": 10.0,
                }
            ],
        }
    )


def decided(plan: eh.plans.Plan) -> list[tuple[Any, ...]]:
    return [(d.action, d.allocation or d.request) for d in plan.decisions]


@pytest.mark.parametrize("now", EPOCHS, ids=FORMAT)
def test_what_never_ends_is_farther_than_any_distance(now: float) -> None:
    assert decided(eh.plan(full(now), POLICY)) == [("preempt", "a")]


@pytest.mark.parametrize(
    ("now", "step"), [(-1000.0, 1e-6), (-300.0, 1e-6), (-150.0, 1e-6), (0.0, 1e-6), (1e9, 1e-6)]
)
def test_at_the_distance_and_one_step_to_each_side(now: float, step: float) -> None:
    """Only what is strictly farther preempts; the reservation begins when the job has ended."""
    found = [
        decided(eh.plan(full(now, planned_end=now + 300 + change), POLICY)) for change in (-step, 0.0, step)
    ]
    assert found == [[("reserve", "r")], [("reserve", "r")], [("preempt", "a")]]


@pytest.mark.parametrize("now", [-100.0, -100.000001, -99.999999])
def test_a_reservation_may_begin_at_the_epoch(now: float) -> None:
    """The epoch is an instant like any other, not the lack of one."""
    (kept,) = eh.plan(full(now, planned_end=0.0), POLICY).decisions
    assert (kept.action, kept.at, kept.until) == ("reserve", 0.0, 10.0)


STEP = 1e-6
OFFSET = POLICY.replace(DURATION_OFFSET=60.0, preemption_distance=1000.0)


@pytest.mark.parametrize("now", [-1.0, 0.0, 1000.0])
@pytest.mark.parametrize(("late", "at"), [(-STEP, 60.0), (0.0, 60.0), (STEP, 1.0), (2.0, 2.0)])
def test_what_should_have_ended_ends_so_long_from_now(now: float, late: float, at: float) -> None:
    """Work that is to end at this very instant is late; a reservation begins in a second at the earliest."""
    (kept,) = eh.plan(full(now, planned_end=now - 60 + late), OFFSET).decisions
    assert kept.at == now + at


@pytest.mark.parametrize("now", [-1.0, 0.0, 1000.0])
@pytest.mark.parametrize(("late", "at"), [(-STEP, 60.0), (0.0, 60.0), (STEP, 1.0), (2.0, 2.0)])
def test_what_leaves_has_gone_at_its_deadline_or_so_long_from_now(now: float, late: float, at: float) -> None:
    data = full(now).to_dict()
    data["allocations"][0] |= {"state": "preempting", "deadline": now + late, "planned_end": now + 500}
    (kept,) = eh.plan(eh.Snapshot.from_dict(data), OFFSET).decisions
    assert kept.at == now + at
