"""Planted falsehoods in what Grid Engine says of victims, and of jobs that wait or are spared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from evenhand.explain import Explanation
from tests.properties.planting import Plant, planted
from tests.reference.explanations.checker import found_false
from tests.reference.explanations.world import World

#: Numbers of victims, and what is said in their place.
OF_VICTIMS: Mapping[str, Any] = {
    **{name: lambda n: n + 1 for name in ("place", "candidates", "wanted", "max_preemptees")},
    **{name: lambda n: n + 10 for name in ("preemptees", "starts_at", "preemption_distance")},
    "priority": lambda p: p + 0.05,
    "beneficiary_priority": lambda p: p - 0.05,
    "action": lambda letter: "TRCPNS"["RCPNST".index(letter)],
    "chosen_by": lambda code: "configured" if code != "configured" else "checkpointable",
    "missing": lambda missing: {r: amount + 100 for r, amount in missing.items()},
}

#: Numbers of other outcomes.
OF_OUTCOMES: Mapping[str, Any] = {
    **{
        name: lambda n: n + 1
        for name in ("place", "candidates", "max_preemptees", "enough", "max_reservation")
    },
    **{name: lambda n: n + 10 for name in ("preemptees", "starts_at", "preemption_distance", "planned")},
    "wanted": lambda n: n + 10,
    "priority": lambda p: p + 0.05,
    "planned_for": lambda _: "of its own",
    "victims": lambda names: [*names, "of its own"],
    "placed_on": lambda nodes: [*nodes, "of its own"],
    "action": lambda letter: "TRCPNS"["RCPNST".index(letter)],
    "other_allocation": lambda _: "of its own",
    "spared": lambda counts: {code: many + 10 for code, many in counts.items()},
}


def _victims(name: str, lie: Any) -> Plant:
    def plant(_world: World, true: Explanation) -> Iterable[Explanation]:
        if "chosen_by" in true.numbers and name in true.numbers:
            yield replace(true, numbers={**true.numbers, name: lie(true.numbers[name])})

    return plant


def _others(name: str, lie: Any) -> Plant:
    def plant(_world: World, true: Explanation) -> Iterable[Explanation]:
        first = true.looked_at[0].get("compared", {}) if true.looked_at else {}
        if name in first:
            changed = {**first, name: lie(first[name])}
            rows = ({**true.looked_at[0], "compared": changed}, *true.looked_at[1:])
            yield replace(true, numbers={**true.numbers, **changed}, looked_at=rows)

    return plant


@pytest.mark.parametrize("name", OF_VICTIMS)
def test_other_numbers_of_victims_are_caught(name: str) -> None:
    for world, told in planted("gridengine", _victims(name, OF_VICTIMS[name])):
        assert found_false(world, told), told


@pytest.mark.parametrize("name", OF_OUTCOMES)
def test_other_numbers_of_outcomes_are_caught(name: str) -> None:
    for world, told in planted("gridengine", _others(name, OF_OUTCOMES[name])):
        assert found_false(world, told), (told, told.looked_at)


def test_numbers_that_differ_from_what_was_looked_at_are_caught() -> None:
    """In the whole, and not where it was looked at."""

    def plant(_world: World, true: Explanation) -> Iterable[Explanation]:
        if "planned_for" in true.numbers and true.table == "requests":
            yield replace(true, numbers={**true.numbers, "planned_for": "of its own"})

    for world, told in planted("gridengine", plant):
        assert found_false(world, told)
