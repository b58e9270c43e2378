"""`preemptees_keep_resources`: what preemptees give up suffices for their preemptor, or none stops."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh

KEEPS = eh.policies.GridEngine(
    preemptees_keep_resources=True,
    max_reservation=10,
    max_preemptees=10,
    automatic_preemption=True,
    preemption_distance=0,
    DURATION_OFFSET=0,
)


def host(slots: int, **more: Any) -> dict[str, Any]:
    """Jobs a and b of low priority, c of a high one, and r, which wants three slots."""
    jobs = (("a", 3, {"memory": 2}), ("b", 1, {}), ("c", 3, {}))
    return {
        "now": 1000,
        "resources": {"slots": {"kind": "slots"}, "memory": {"kind": "memory"}},
        "nodes": [{"name": "n", "capacity": {"slots": slots, "memory": 8}, "swap_free": 8}],
        "operations": [
            {"name": "r", "priority": 0.9},
            {"name": "a", "priority": 0.1},
            {"name": "b", "priority": 0.1},
            {"name": "c", "priority": 0.95},
        ],
        "allocations": [
            {"name": job, "operation": job, "node": "n", "resources": {"slots": k, **rest}, "start_time": 500}
            for job, k, rest in jobs
        ],
        "requests": [
            {"name": "q", "operation": "r", "resources": {"slots": 3}, "reserve": True, "duration": 100}
        ],
        **more,
    }


def stopped(data: dict[str, Any]) -> tuple[eh.plans.Plan, dict[Any, dict[str, float]]]:
    plan = eh.plan(eh.Snapshot.from_dict(data), KEEPS)
    return plan, {d.allocation: dict(d.freed) for d in plan.decisions if d.action == "preempt"}


def starts_after(plan: eh.plans.Plan, data: dict[str, Any]) -> bool:
    """Whether the job starts in the run after its victims have stopped."""
    kept = {d.allocation: dict(d.kept) for d in plan.decisions if d.action == "preempt"}
    rows = [
        row | ({"state": "preempted", "held": kept[row["name"]]} if row["name"] in kept else {})
        for row in data["allocations"]
    ]
    later = eh.plan(eh.Snapshot.from_dict(data | {"allocations": rows}), KEEPS, plan.state)
    return ("start", "q") in [(d.action, d.request) for d in later.decisions]


@pytest.mark.parametrize(
    ("slots", "freed"),
    [
        (6, {"a": {"slots": 3}, "b": {"slots": 1}}),  # one over: four must come free
        (7, {"a": {"slots": 3}}),  # exactly full
        (8, {"a": {"slots": 2}}),  # one free
    ],
)
def test_a_host_that_is_over_what_it_has(slots: int, freed: dict[str, Any]) -> None:
    data = host(slots)
    plan, found = stopped(data)
    assert found == freed
    assert starts_after(plan, data)


def test_what_is_not_taken_is_kept_though_the_host_is_over_it() -> None:
    data = host(7)
    data["nodes"][0]["capacity"]["memory"] = 1
    plan, found = stopped(data)
    assert found == {"a": {"slots": 3}}
    assert starts_after(plan, data)


@pytest.mark.parametrize(("begins", "freed"), [(1099, 3), (1100, 2), (1101, 2)])
def test_room_that_is_reserved_for_others_meanwhile(begins: int, freed: int) -> None:
    """One slot is free now, but somebody has it before the job would be done."""
    later = {
        "name": "kept",
        "allocation": "c",
        "node": "n",
        "resources": {"slots": 1},
        "from": begins,
        "until": 5000,
    }
    data = host(8, reservations=[later])
    plan, found = stopped(data)
    assert found == {"a": {"slots": freed}}
    assert starts_after(plan, data)


def test_what_stops_does_not_end_when_it_was_to_end() -> None:
    """The stopped job holds what it keeps beyond its planned end."""
    data = host(7)
    data["allocations"][0]["planned_end"] = 1050
    plan, found = stopped(data)
    assert found == {"a": {"slots": 3}}
    assert starts_after(plan, data)
