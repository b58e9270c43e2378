"""Falsehoods planted into what YuniKorn's plans say: other numbers, queues and reasons. Each is caught."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenhand.explain import Explanation
from tests.properties.planting import each_planted, in_numbers, in_outcomes, planted
from tests.reference.explanations.checker import found_false
from tests.reference.explanations.world import World


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
        ("same_queue", "queue"),
        ("same_queue", "asking_queue"),
        ("other_queue", "queue"),
        ("other_queue", "asking_queue"),
        ("cycle_full", "limit"),
    ],
)
def test_other_numbers_of_outcomes_are_caught(code: str, name: str) -> None:
    for world, explanation in planted("yunikorn", in_outcomes(code, name)):
        assert found_false(world, explanation), explanation.looked_at


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("below_ideal_share", "used"),
        ("below_ideal_share", "queue"),
        ("higher_priority_in_queue", "priority"),
        ("higher_priority_in_queue", "asking_priority"),
        ("below_ideal_share", "place"),
        ("below_guarantee", "owed"),
        ("below_guarantee", "beyond"),
        ("below_guarantee", "queue"),
    ],
)
def test_other_numbers_of_victims_are_caught(code: str, name: str) -> None:
    for world, explanation in planted("yunikorn", in_numbers(code, name=name)):
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
    def plant(world: World, true: Explanation) -> list[Explanation]:
        reserved = {str(row.get("request")) for row in world.data.get("reservations", ())}
        waits = other == "waits_for_victims" and str(true.name) in reserved  # then it is no falsehood
        fits = (true.table, true.code) == ("requests", code) and not waits
        return [replace(true, code=other)] if fits else []

    if other == "limits_of_operation_or_pool":  # which may be true of some
        assert any(found_false(world, false) for world, false in each_planted("yunikorn", plant))
    else:
        assert all(found_false(world, false) for world, false in planted("yunikorn", plant))
