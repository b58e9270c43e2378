"""Falsehoods planted into what YuniKorn's plans say: other numbers, queues and reasons. Each is caught."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from evenhand.explain import Explanation
from evenhand.testing.explanations.checker import found_false
from evenhand.testing.explanations.world import World
from tests.properties.explaining import some_plans

PLANS = 250


@cache
def _told() -> list[tuple[World, Explanation]]:
    """Return drawn plans, and what they explain truly of allocations and requests."""
    found = []
    for plan in some_plans("yunikorn", PLANS):
        world = World(plan)
        for table in ("allocations", "requests"):
            for name in plan.snapshot.names(table):
                true = plan.why_not(name, table=table)
                if not found_false(world, true):
                    found.append((world, true))
    return found


def other(value: Any) -> Any:
    """Return another value of the same kind; None: there is none that is surely false."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return value + 7
    if isinstance(value, Mapping):
        return {r: a + 7 for r, a in value.items()} or None
    return f"{value}7" if isinstance(value, str) else None


def _planted(code: str, name: str) -> Iterator[tuple[World, Explanation]]:
    """Yield explanations in which one thing that was compared is another."""
    for world, true in _told():
        for place, met in enumerate(true.looked_at):
            false = other(met.get("compared", {}).get(name))
            if met["outcome"] == code and false is not None:
                rows = [*true.looked_at]
                rows[place] = {**met, "compared": {**met["compared"], name: false}}
                yield world, replace(true, looked_at=tuple(rows))


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("not_a_candidate", "because"),
        ("not_a_candidate", "queue"),
        ("not_lower_priority", "priority"),
        ("not_lower_priority", "asking_priority"),
        ("queue_keeps_it", "used"),
        ("queue_keeps_it", "guaranteed"),
        ("not_below_guarantee", "owed"),
        ("not_below_guarantee", "queue"),
        ("queue_has_its_share", "used"),
        ("queue_has_its_share", "queue"),
        ("queue_has_its_share", "policy"),
        ("limits_of_operation_or_pool", "used"),
        ("limits_of_operation_or_pool", "max"),
        ("may_not_preempt_yet", "since"),
        ("may_not_preempt_yet", "until"),
    ],
)
def test_other_numbers_of_outcomes_are_caught(code: str, name: str) -> None:
    planted = [*_planted(code, name)]
    assert planted
    for world, explanation in planted:
        assert found_false(world, explanation), explanation.looked_at


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("below_ideal_share", "used"),
        ("below_ideal_share", "queue"),
        ("higher_priority_in_queue", "priority"),
        ("higher_priority_in_queue", "asking_priority"),
        ("below_ideal_share", "place"),
    ],
)
def test_other_numbers_of_victims_are_caught(code: str, name: str) -> None:
    planted = [
        (world, replace(true, numbers={**true.numbers, name: other(true.numbers[name])}))
        for world, true in _told()
        if true.code == code and name in true.numbers
    ]
    assert planted
    for world, explanation in planted:
        assert found_false(world, explanation), explanation.numbers


@pytest.mark.parametrize(
    ("code", "other"),
    [
        ("not_considered", "waits_for_victims"),
        ("not_below_guarantee", "cycle_full"),
        ("queue_has_its_share", "limits_of_operation_or_pool"),
    ],
)
def test_other_codes_of_asks_are_caught(code: str, other: str) -> None:
    planted = [
        (world, replace(true, code=other))
        for world, true in _told()
        if true.table == "requests" and true.code == code
    ]
    assert planted
    caught = [bool(found_false(world, explanation)) for world, explanation in planted]
    assert all(caught) or (other == "limits_of_operation_or_pool" and any(caught))
