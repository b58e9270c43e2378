"""Changes of a snapshot that must not matter, for every system; `tests.properties.relating` draws more."""

from __future__ import annotations

from functools import cache
from random import Random

import pytest

from evenhand.errors import InputError
from evenhand.plans import Plan
from evenhand.systems import SYSTEMS
from evenhand.testing.relations import RELATIONS, Case, hold
from evenhand.testing.strategies import relation_cases
from tests.drawing import drawn, examples

CASES = max(examples(0.1), 5)


@cache
def cases(system: str) -> list[tuple[Case, list[Plan]]]:
    """Draw cases that the policy takes, with their plans; those come first in which something is decided."""
    found = []
    for case in drawn(relation_cases(system), 6 * CASES):
        try:
            found.append((case, case.plans()))
        except InputError:
            continue
    found.sort(key=lambda one: not sum(len(plan.decisions) for plan in one[1]))
    return found[:CASES]


@pytest.mark.parametrize("system", SYSTEMS)
def test_there_is_something_to_compare(system: str) -> None:
    assert len(cases(system)) == CASES
    assert all(sum(len(one.decisions) for one in plans) for _, plans in cases(system))


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("name", RELATIONS)
def test_what_must_not_matter(name: str, system: str) -> None:
    for number, (case, plans) in enumerate(cases(system)):
        assert hold(RELATIONS[name], case, Random(number), plans)
