"""The fewest victims of a node: the search against all subsets, its proofs, its order, its budget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from evenhand import _core
from evenhand.testing.fewest import cheapest, check_minimum, covers

Node = tuple[list[list[int]], list[int]]

PLENTY = 1_000_000
SIZES = (3, 12, 1000, 2**30, 2**55)


@st.composite
def nodes(draw: st.DrawFn, most: int = 16) -> Node:
    """Candidates, drawn one by one or as copies of few shapes, and a part of their sum, or more, or less."""
    resources = draw(st.integers(1, 4))
    count = draw(st.integers(0, most))
    sizes = st.sampled_from(SIZES).map(lambda size: min(size, 2**60 // most))  # the core's largest sum
    tops = draw(st.lists(sizes, min_size=resources, max_size=resources))
    row = st.tuples(*(st.integers(0, top) for top in tops)).map(list)
    if draw(st.booleans()):
        row = st.sampled_from(draw(st.lists(row, min_size=1, max_size=5)))
    amounts = draw(st.lists(row, min_size=count, max_size=count))
    shortage = []
    for r in range(resources):
        total = sum(row[r] for row in amounts)
        kind = draw(st.sampled_from(("none", "any", "part", "exact")))
        if kind == "none":
            shortage.append(0)
        elif kind == "any":
            shortage.append(draw(st.integers(-5, 2 * tops[r])))
        elif kind == "part":
            shortage.append(total * draw(st.integers(0, 100)) // 100)
        else:  # what some of them free, to the quantum
            shortage.append(sum(row[r] for row in amounts if draw(st.booleans())))
    return amounts, shortage


def select(
    amounts: Sequence[Sequence[int]],
    shortage: Sequence[int],
    how: str,
    budget: int = PLENTY,
    costs: Sequence[int] | None = None,
) -> Any:
    """What the core selects."""
    rows = np.array(amounts, np.int64).reshape(len(amounts), len(shortage))
    prices = None if costs is None else np.array(costs, np.int64)
    return _core.select_victims(rows, np.array(shortage, np.int64), how, budget, prices)


@given(node=nodes())
def test_is_the_first_of_the_smallest(node: Node) -> None:
    amounts, shortage = node
    best = cheapest(amounts, shortage)
    found = select(amounts, shortage, "minimum")
    if best is None:
        assert found is None
        return
    event(f"{len(best)} of {len(amounts)}")
    assert tuple(found["taken"].tolist()) == best
    assert found["proved"]
    assert found["first"]
    event(check_minimum(amounts, shortage, found["taken"].tolist(), found).cost)


@given(node=nodes(most=40), budget=st.sampled_from((0, 1, 2, 5, 50)))
def test_small_budget_is_never_worse_than_irreducible(node: Node, budget: int) -> None:
    amounts, shortage = node
    plain = select(amounts, shortage, "irreducible")
    found = select(amounts, shortage, "minimum", budget)
    if plain is None:
        assert found is None
        return
    event(check_minimum(amounts, shortage, found["taken"].tolist(), found).cost)
    assert found["cost"] <= plain["cost"]
    assert found["branches"] <= budget
    assert select(amounts, shortage, "minimum", budget)["taken"].tolist() == found["taken"].tolist()


def test_first_is_not_said_where_the_budget_did_not_reach() -> None:
    """Nodes whose smallest sets are found and proved at once, and the first of them is not."""
    verdicts = []
    for seed in range(40):
        draws = np.random.default_rng(seed)
        amounts = draws.integers(1, 30, (12, 3))
        shortage = (amounts.sum(axis=0) * draws.uniform(0.3, 0.7, 3)).astype(np.int64)
        found = select(amounts.tolist(), shortage.tolist(), "minimum", 1)
        verdicts.append(check_minimum(amounts.tolist(), shortage.tolist(), found["taken"].tolist(), found))
    assert any(verdict.cost != "open" and verdict.order == "open" for verdict in verdicts)


@given(node=nodes(most=12), data=st.data())
def test_is_the_first_of_the_cheapest(node: Node, data: st.DataObject) -> None:
    amounts, shortage = node
    most = data.draw(st.sampled_from((1, 2, 5, 1000, 10**9, 10**13 - 1)))
    costs = data.draw(st.lists(st.integers(1, most), min_size=len(amounts), max_size=len(amounts)))
    best = cheapest(amounts, shortage, costs)
    found = select(amounts, shortage, "minimum", costs=costs)
    if best is None:
        assert found is None
        return
    event(f"{len(best)} of {len(amounts)}")
    assert tuple(found["taken"].tolist()) == best
    assert found["proved"]
    assert found["first"]
    event(check_minimum(amounts, shortage, found["taken"].tolist(), found, costs).cost)
    plain = select(amounts, shortage, "irreducible", costs=costs)
    small = select(amounts, shortage, "minimum", 2, costs=costs)
    check_minimum(amounts, shortage, small["taken"].tolist(), small, costs)
    assert found["cost"] <= small["cost"] <= plain["cost"]


@given(node=nodes(most=12), data=st.data())
def test_more_candidates_never_cost_more(node: Node, data: st.DataObject) -> None:
    amounts, shortage = node
    found = select(amounts, shortage, "minimum")
    assume(found is not None)
    place = data.draw(st.integers(0, len(amounts)))
    row = [data.draw(st.integers(0, 20)) for _ in shortage]
    more = select([*amounts[:place], row, *amounts[place:]], shortage, "minimum")
    assert more["cost"] <= found["cost"]
    taken = more["taken"].tolist()
    if place not in taken:
        assert [i - (i > place) for i in taken] == found["taken"].tolist()


@given(node=nodes(), factor=st.integers(2, 1000))
def test_units_do_not_matter(node: Node, factor: int) -> None:
    amounts, shortage = node
    small = [[value % 1000 for value in row] for row in amounts]
    lacking = [min(value, 1000) for value in shortage]
    found = select(small, lacking, "minimum")
    scaled = [[value * factor for value in row] for row in small]
    again = select(scaled, [value * factor for value in lacking], "minimum")
    assert (found is None) == (again is None)
    if found is not None:
        assert found["taken"].tolist() == again["taken"].tolist()


@given(node=nodes())
def test_irreducible_needs_all(node: Node) -> None:
    amounts, shortage = node
    found = select(amounts, shortage, "irreducible")
    assume(found is not None)
    taken = found["taken"].tolist()
    assert covers(amounts, shortage, taken)
    assert not any(covers(amounts, shortage, [i for i in taken if i != spare]) for spare in taken)


@pytest.mark.parametrize("seed", range(20))
def test_crowded_nodes_are_proved(seed: int) -> None:
    """200 allocations of 16 shapes: far within the budget, and the proof holds in fractions."""
    draws = np.random.default_rng(seed)
    shapes = draws.integers(1, [9, 65, 5, 101], (16, 4))
    amounts = shapes[draws.integers(0, 16, 200)]
    shortage = (amounts.sum(axis=0) * draws.uniform(0.05, 0.25, 4)).astype(np.int64)
    found = select(amounts.tolist(), shortage.tolist(), "minimum", 20_000)
    assert found["proved"]
    assert found["first"]
    verdict = check_minimum(amounts.tolist(), shortage.tolist(), found["taken"].tolist(), found)
    assert verdict.cost in {"certified", "claimed"}


@pytest.mark.parametrize(
    ("amounts", "shortage", "message"),
    [
        ([[1, 2]], [1], "R"),
        ([[-1]], [1], "from 0"),
        ([[2**60], [1]], [1], "from 0"),
        ([[1]], [2**60 + 1], "above"),
    ],
)
def test_refuses(amounts: list[list[int]], shortage: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _core.select_victims(np.array(amounts, np.int64), np.array(shortage, np.int64), "minimum", 10)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        ({"taken": [0]}, "cost"),
        ({"taken": [0, 1], "cost": 2}, "do not cover"),
        ({"taken": [0, 1, 2], "cost": 3}, "not needed"),
        ({"multipliers": [0.1]}, "multipliers prove"),
        ({"multipliers": [-1.0]}, "negative"),
        ({"proved": False}, "proved is"),
        ({"taken": [1, 2]}, "is before"),
    ],
)
def test_check_sees_what_is_spoilt(spoil: dict[str, Any], message: str) -> None:
    amounts, shortage = [[2], [2], [4], [4]], [6]
    found = select(amounts, shortage, "minimum")
    assert found["taken"].tolist() == [0, 2]
    proof = {**found, "taken": found["taken"].tolist(), **spoil}
    with pytest.raises(AssertionError, match=message):
        check_minimum(amounts, shortage, proof["taken"], proof)
