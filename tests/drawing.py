"""Drawing so many subjects once, for tests that look at all of them."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, TypeVar

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

T = TypeVar("T")


def examples(times: float = 1) -> int:
    """Return as many as the profile has examples a test, or some multiple."""
    return int(times * settings.default.max_examples)


def fewer(times: float) -> settings:
    """Let a test that is slow have a part of the profile's examples; at night there is time for all."""
    return settings(max_examples=examples(times if examples() < 1000 else 1))


def some(of: Sequence[T], first: int = 0, apart: int = 3) -> Sequence[T]:
    """Return all that can be tried where there is time for it; else those so far apart."""
    return of if examples() >= 50 else of[first % apart :: apart]


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


def each(strategy: st.SearchStrategy[T], count: int, start: int, look: Callable[[T], object]) -> None:
    """Look at what a strategy draws, one after the other and the same every time; outside of tests, too."""

    @seed(start)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def one_more(one: T) -> None:
        look(one)

    one_more()


def every_system(prog: str, systems: Sequence[str], holds: Callable[[str, int, int], bool]) -> int:
    """Check as many plans of each system as the command line asks for; return 1 if any does not hold."""
    parser = argparse.ArgumentParser(prog=f"python -m {prog}", allow_abbrev=False)
    parser.add_argument("plans", type=int)
    parser.add_argument("systems", nargs="*", metavar="SYSTEM")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    held = [holds(system, asked.plans, asked.seed) for system in asked.systems or systems]
    return 0 if all(held) else 1


def shuffled(data: Mapping[str, Any], chance: Random) -> dict[str, Any]:
    """Return the same snapshot with the rows of its tables in another order."""
    out = dict(data)
    for table, rows in data.items():
        if isinstance(rows, list):
            out[table] = chance.sample(rows, len(rows))
    return out
