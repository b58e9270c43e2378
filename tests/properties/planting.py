"""True explanations of drawn plans, and falsehoods that are planted into them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from evenhand.explain import Explanation
from evenhand.testing.explanations.checker import found_false
from evenhand.testing.explanations.world import World
from tests.properties.explaining import some_plans

__all__ = ["other", "planted_outcomes", "told"]


@cache
def told(system: str, plans: int) -> list[tuple[World, Explanation]]:
    """Return so many drawn plans, and what they explain truly of allocations and requests."""
    found = []
    for plan in some_plans(system, plans):
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


def planted_outcomes(system: str, plans: int, code: str, name: str) -> Iterator[tuple[World, Explanation]]:
    """Yield explanations in which one thing that was compared is another."""
    for world, true in told(system, plans):
        for place, met in enumerate(true.looked_at):
            false = other(met.get("compared", {}).get(name))
            if met["outcome"] == code and false is not None:
                rows = [*true.looked_at]
                rows[place] = {**met, "compared": {**met["compared"], name: false}}
                yield world, replace(true, looked_at=tuple(rows))
