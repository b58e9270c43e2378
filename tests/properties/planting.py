"""True explanations of drawn plans, and falsehoods that are planted into them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from evenhand.explain import Explanation
from tests.drawing import examples
from tests.properties.explaining import some_plans
from tests.reference.explanations.checker import found_false
from tests.reference.explanations.world import World

__all__ = ["Plant", "each_planted", "in_numbers", "in_outcomes", "other", "planted", "told"]

Plant = Callable[[World, Explanation], Iterable[Explanation]]
"""Makes false explanations of a true one: none where it has no place for them."""

Falsehood = tuple[World, Explanation]

PLANS = min(examples(), 150)
PARTS = 1500 // PLANS


@cache
def told(system: str, part: int) -> list[tuple[World, list[Explanation]]]:
    """Return a part of the drawn plans, and what they explain truly of allocations and requests."""
    found = []
    for plan in some_plans(system, PLANS, part):
        world = World(plan)
        explained = [
            plan.why_not(name, table=table)
            for table in ("allocations", "requests")
            for name in plan.snapshot.names(table)
        ]
        found.append((world, [one for one in explained if not found_false(world, one)]))
    return found


def each_planted(system: str, plant: Plant, parts: Iterable[int] = range(PARTS)) -> Iterator[Falsehood]:
    """Yield what is planted into some parts of the drawn plans; into all of them unless said."""
    for part in parts:
        for world, explained in told(system, part):
            for true in explained:
                for false in plant(world, true):
                    yield world, false


def planted(system: str, plant: Plant) -> list[Falsehood]:
    """Return what is planted into the first part of the drawn plans that has a place for it.

    Raises
    ------
    AssertionError
        If none has.
    """
    for part in range(PARTS):
        if found := [*each_planted(system, plant, [part])]:
            return found
    raise AssertionError(f"{PARTS * PLANS:,} drawn plans of {system} have no place for it")


def other(value: Any) -> Any:
    """Return another value of the same kind; None: there is none that is surely false."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return value + 7
    if isinstance(value, Mapping):
        return {r: a + 7 for r, a in value.items()} or None
    return f"{value}7" if isinstance(value, str) else None


def in_outcomes(code: str, name: str) -> Plant:
    """Make one thing that was compared another, in each outcome of this code."""

    def plant(_world: World, true: Explanation) -> Iterable[Explanation]:
        for place, met in enumerate(true.looked_at):
            compared = met.get("compared", {})
            false = other(compared.get(name))
            if met["outcome"] == code and false is not None:
                rows = [*true.looked_at]
                rows[place] = {**met, "compared": {**compared, name: false}}
                yield replace(true, looked_at=tuple(rows))

    return plant


def in_numbers(*codes: str, name: str) -> Plant:
    """Make one of the numbers of an explanation another, where its code is one of these."""

    def plant(_world: World, true: Explanation) -> Iterable[Explanation]:
        if true.code in codes and name in true.numbers:
            yield replace(true, numbers={**true.numbers, name: other(true.numbers[name])})

    return plant
