"""Falsehoods planted into what YTsaurus' plans say of victims, limits and back-offs. Each is caught."""

from __future__ import annotations

import pytest

from tests.properties.planting import in_numbers, in_outcomes, planted
from tests.reference.explanations.checker import found_false


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
    for world, explanation in planted("ytsaurus", in_outcomes(code, name)):
        assert found_false(world, explanation), explanation.looked_at


@pytest.mark.parametrize(
    "name", ["place", "began", "preemption_satisfaction_threshold", "order_key", "candidates"]
)
def test_other_numbers_of_victims_are_caught(name: str) -> None:
    found = planted("ytsaurus", in_numbers("preemption", "aggressive_preemption", name=name))
    caught = [bool(found_false(world, explanation)) for world, explanation in found]
    assert all(caught) or (name == "place" and any(caught))  # caps leave the order open
