"""Relations of the testing kit see what differs: each fails where results do not map back as it says."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from random import Random
from typing import Any

import pytest

import evenhand as eh
from evenhand.testing.relations import RELATIONS, Back, Case, Relation, hold

DATA: dict[str, Any] = {
    "now": 1000,
    "resources": {"slots": {"kind": "slots"}, "memory": {}},
    "nodes": [{"name": "n1", "capacity": {"slots": 4, "memory": 8}}],
    "operations": [
        {"name": "runs", "priority": 0.9, "weight": 2},
        {"name": "waits", "priority": 0.5},
    ],
    "allocations": [
        {
            "name": "a",
            "operation": "runs",
            "node": "n1",
            "resources": {"slots": 2},
            "start_time": 900,
            "planned_end": 1100,
        }
    ],
    "requests": [
        {"name": "r", "operation": "waits", "resources": {"slots": 4}, "duration": 60, "reserve": True}
    ],
}
POLICY = eh.policies.GridEngine(max_reservation=10)
CASE = Case(DATA, POLICY)


@pytest.mark.parametrize("name", RELATIONS)
def test_each_holds_of_a_small_cluster_and_says_what_it_is(name: str) -> None:
    for seed in range(6):
        assert hold(RELATIONS[name], CASE, Random(seed))
    assert RELATIONS[name].name == name


@pytest.mark.parametrize(
    "name", ["times_shifted", "names_anew", "names_alike", "resources_anew", "units_scaled"]
)
def test_results_are_mapped_back(name: str) -> None:
    """Without that they differ: each change shows in the results."""
    relation = RELATIONS[name]
    blind = replace(
        relation, change=lambda case, chance: (relation.change(case, chance)[0], Back(texts=True))
    )
    with pytest.raises(AssertionError, match=name):
        hold(blind, CASE, Random(1))


@pytest.mark.parametrize(
    ("table", "row", "fields", "where"),
    [
        ("nodes", 0, {"capacity": {"slots": 6, "memory": 8}}, "decisions"),
        ("allocations", 0, {"planned_end": 1100.001}, "decisions"),
        ("requests", 0, {"reserve": False}, "decisions"),
        ("operations", 0, {"name": "runs2"}, "allocations"),
    ],
)
def test_a_change_that_matters_is_seen(table: str, row: int, fields: dict[str, Any], where: str) -> None:
    def change(case: Case, chance: Random) -> tuple[Case, Back]:
        del chance
        data = deepcopy(case.data)
        data[table][row] |= fields
        return replace(case, data=data), Back()

    with pytest.raises(AssertionError, match=where):
        hold(Relation("changed", change), CASE, Random(0))


def test_a_case_that_the_policy_refuses_is_no_pair() -> None:
    refused = replace(CASE, data=DATA | {"allocations": [DATA["allocations"][0] | {"settings": {"x": 1}}]})
    assert not hold(RELATIONS["as_json"], refused, Random(0))


BACK = Back(names={"new": "old"}, later=60.0, times=4.0, without=frozenset({"more"}), texts=True)


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ({"old": 1}, {"new": 1}, True),
        ({"old (operation)": 1}, {"new (operation)": 1}, True),
        ("old/2", "new/2", True),
        ("old stays old", "new stays new", True),
        ("Old stays", "New stays", False),
        ("old", "older", False),
        (1.0, 61.0, True),
        (1.0, 4.0, True),
        (1.0, 1.0, True),
        (1.0, 61.00001, False),
        (1.0, 5.0, False),
        (True, 1, True),
        (None, 0, False),
        ([1, 2], [1], False),
        ([{"name": "old"}], [{"name": "new"}, {"name": "more"}], True),
        ({"a": 1}, {"a": 1, "more": 3}, True),
        ({"a": 1}, {"a": 1, "b": 3}, False),
        ([1, [2, {"a": 3}]], [1, [2, {"a": 5}]], False),
    ],
)
def test_results_that_are_the_same(before: Any, after: Any, same: bool) -> None:
    assert (BACK.differences(before, after) == []) == same


def test_a_difference_names_its_place() -> None:
    assert Back().differences({"a": [0, {"b": 1}]}, {"a": [0, {"b": 2}]}) == [".a[1].b: 1 before, 2 after"]
