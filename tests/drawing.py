"""Drawing so many subjects once, for tests that look at all of them."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from hypothesis import Phase, given, seed, settings
from hypothesis import strategies as st


def examples(times: float = 1) -> int:
    """Return as many as the profile has examples a test, or some multiple."""
    return int(times * settings.default.max_examples)


def drawn(strategy: st.SearchStrategy[Any], count: int, start: int = 0) -> list[Any]:
    """Return what a strategy draws, the same every time."""
    found: list[Any] = []

    @seed(start)
    @settings(settings.get_profile("search"), max_examples=count, phases=[Phase.generate])
    @given(strategy)
    def collect(one: Any) -> None:
        found.append(one)

    collect()
    return found


def shuffled(data: Mapping[str, Any], chance: Random) -> dict[str, Any]:
    """Return the same snapshot with the rows of its tables in another order."""
    out = dict(data)
    for table, rows in data.items():
        if isinstance(rows, list):
            out[table] = chance.sample(rows, len(rows))
    return out
