"""Planted falsehoods in what Grid Engine says of victims, and of jobs that wait or are spared."""

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
}


@cache
def _told() -> list[tuple[World, Explanation]]:
    """Return what drawn plans say, all of it true."""
    found = []
    for plan in some_plans("gridengine", PLANS):
        world = World(plan)
        for table in ("allocations", "requests"):
            for name in plan.snapshot.names(table):
                told = plan.why_not(name, table=table)
                if not found_false(world, told):
                    found.append((world, told))
    return found


def _victims(name: str, lie: Any) -> Iterator[tuple[World, Explanation]]:
    for world, told in _told():
        if "chosen_by" in told.numbers and name in told.numbers:
            yield world, replace(told, numbers={**told.numbers, name: lie(told.numbers[name])})


def _others(name: str, lie: Any) -> Iterator[tuple[World, Explanation]]:
    for world, told in _told():
        first = told.looked_at[0].get("compared", {}) if told.looked_at else {}
        if name in first:
            changed = {**first, name: lie(first[name])}
            rows = ({**told.looked_at[0], "compared": changed}, *told.looked_at[1:])
            yield world, replace(told, numbers={**told.numbers, **changed}, looked_at=rows)


@pytest.mark.parametrize("name", OF_VICTIMS)
def test_other_numbers_of_victims_are_caught(name: str) -> None:
    planted = [*_victims(name, OF_VICTIMS[name])]
    assert planted
    for world, told in planted:
        assert found_false(world, told), told


@pytest.mark.parametrize("name", OF_OUTCOMES)
def test_other_numbers_of_outcomes_are_caught(name: str) -> None:
    planted = [*_others(name, OF_OUTCOMES[name])]
    assert planted
    for world, told in planted:
        assert found_false(world, told), (told, told.looked_at)


def test_numbers_that_differ_from_what_was_looked_at_are_caught() -> None:
    """In the whole, and not where it was looked at."""
    planted = [
        (world, replace(told, numbers={**told.numbers, "planned_for": "of its own"}))
        for world, told in _told()
        if "planned_for" in told.numbers and told.table == "requests"
    ]
    assert planted
    for world, told in planted:
        assert found_false(world, told)
