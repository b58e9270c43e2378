"""Falsehoods planted into what YTsaurus' plans say of victims, limits and back-offs. Each is caught."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenhand.testing.explanations.checker import found_false
from tests.properties.planting import other, planted_outcomes, told

PLANS = 250


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("limits_of_operation_or_pool", "element"),
        ("limits_of_operation_or_pool", "used"),
        ("limits_of_operation_or_pool", "limit"),
        ("unschedulable", "unschedulable_reason"),
    ],
)
def test_other_numbers_of_outcomes_are_caught(code: str, name: str) -> None:
    planted = [*planted_outcomes("ytsaurus", PLANS, code, name)]
    assert planted
    for world, explanation in planted:
        assert found_false(world, explanation), explanation.looked_at


@pytest.mark.parametrize(
    "name", ["place", "began", "preemption_satisfaction_threshold", "order_key", "candidates"]
)
def test_other_numbers_of_victims_are_caught(name: str) -> None:
    codes = ("preemption", "aggressive_preemption")
    planted = [
        (world, replace(true, numbers={**true.numbers, name: other(true.numbers[name])}))
        for world, true in told("ytsaurus", PLANS)
        if true.code in codes and name in true.numbers
    ]
    assert planted
    caught = [bool(found_false(world, explanation)) for world, explanation in planted]
    assert all(caught) or (name == "place" and any(caught))  # caps leave the order open
