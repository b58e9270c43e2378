"""The cheapest jobs on many nodes: the search against all subsets, its proofs, its order, its budget."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from evenhand.testing.fewest_jobs import Site, Spread, cheapest_jobs, check_minimum_jobs
from tests.bench.minimum_jobs import Setting, cluster, solve

PLENTY = 1_000_000


@st.composite
def spreads(draw: st.DrawFn, most: int = 9) -> Spread:
    """Jobs that have the same, or not, on some of a few nodes; copies that want more and more of each."""
    width = draw(st.integers(1, 3))
    dearest = draw(st.sampled_from((1, 3, 1000, 10**13)))
    alone = draw(st.booleans())  # each job on one node: then sites are chosen without a split of costs
    costs = draw(st.lists(st.integers(1, dearest), min_size=1, max_size=most))
    row = st.tuples(*[st.integers(0, 4)] * width)
    sites: list[Site] = []
    seen: set[int] = set()
    for _ in range(draw(st.integers(1, 4))):
        jobs = sorted(draw(st.sets(st.integers(0, len(costs) - 1))) - (seen if alone else set()))
        seen.update(jobs)
        amounts = tuple(draw(row) for _ in jobs)
        lacks, sum_ = [], draw(row)
        for _ in range(draw(st.integers(1, 3))):
            lacks.append(sum_)
            sum_ = tuple(a + b for a, b in zip(sum_, draw(row), strict=True))
        sites.append(Site(tuple(jobs), amounts, tuple(lacks)))
    return Spread(tuple(costs), tuple(sites), draw(st.integers(0, 5)))


@given(spread=spreads())
def test_is_the_first_of_the_cheapest(spread: Spread) -> None:
    best = cheapest_jobs(spread)
    found = solve(spread, PLENTY)
    if best is None:
        assert found is None
        return
    event(f"{len(best)} of {len(spread.costs)}")
    assert tuple(found["taken"].tolist()) == best
    assert found["proved"]
    assert found["first"]
    event(check_minimum_jobs(spread, found["taken"].tolist(), found).cost)


@given(spread=spreads(most=12), budget=st.sampled_from((0, 1, 2, 10)))
def test_a_small_budget_is_told(spread: Spread, budget: int) -> None:
    found = solve(spread, budget)
    assume(found is not None)
    event(check_minimum_jobs(spread, found["taken"].tolist(), found).cost)
    assert solve(spread, budget)["taken"].tolist() == found["taken"].tolist()


@pytest.mark.parametrize("seed", range(5))
def test_jobs_on_runs_of_nodes_are_proved(seed: int) -> None:
    """A hundred jobs on up to four nodes each: far within the budget, and the proof holds in fractions."""
    spread = cluster(Setting(100, 16, 4, 4), np.random.default_rng(seed))
    found = solve(spread, 20_000)
    assert found["proved"]
    check_minimum_jobs(spread, found["taken"].tolist(), found)


@pytest.mark.parametrize("seed", range(30))
def test_equal_costs_are_a_matter_of_units(seed: int) -> None:
    """Where all cost 1 sizes are refuted one after the other, where all cost 2 they are not."""
    ones = cluster(Setting(60, 12, 4, 4, runs=False), np.random.default_rng(seed))
    twos = Spread((2,) * len(ones.costs), ones.sites, ones.copies)
    found, doubled = solve(ones, 20_000), solve(twos, 20_000)
    assert found["proved"]
    assert doubled["proved"]
    assert doubled["cost"] == 2 * found["cost"]
    if found["first"] and doubled["first"]:
        assert doubled["taken"].tolist() == found["taken"].tolist()


@pytest.mark.parametrize(("few", "wide"), [(220, True), (240, True), (240, False)])
def test_many_dear_jobs_are_not_taken_for_barred(few: int, wide: bool) -> None:
    """Sums of parts beyond a price that was once taken for "must stay"."""
    more, dear = 250, 10**9
    jobs = more + few
    both = (jobs,) if wide else ()  # of no use on either node
    sites = tuple(
        Site((*own, *both), ((1,),) * len(own) + ((0,),) * len(both), ((len(own),),))
        for own in (tuple(range(more)), tuple(range(more, jobs)))
    )
    spread = Spread((dear,) * (jobs + len(both)), sites, 1)
    found = solve(spread, 20_000)
    assert found["cost"] == few * dear
    assert found["proved"]
    assert check_minimum_jobs(spread, found["taken"].tolist(), found).cost != "open"


def test_costs_whose_parts_do_not_add_up_prove_nothing() -> None:
    """One job that costs 1 on twelve nodes, and dear ones of whom sums in twelfths are too large."""
    many = 20_000
    first = Site(tuple(range(many + 1)), ((1,),) * (many + 1), ((1,),))
    others = tuple(Site((0,), ((1,),), ((1,),)) for _ in range(11))
    spread = Spread((1, *([10**13] * many)), (first, *others), 12)
    found = solve(spread, 100)
    assert not found["proved"]
    assert check_minimum_jobs(spread, found["taken"].tolist(), found) == ("open", "open")


def test_a_choice_of_many_levels_takes_from_the_budget() -> None:
    frees = np.random.default_rng(1).integers(1, 4, (1000, 4, 1)).tolist()
    sites = tuple(
        Site(tuple(range(4 * s, 4 * s + 4)), tuple(map(tuple, frees[s])), ((3,), (6,))) for s in range(1000)
    )
    spread = Spread((1,) * 4000, sites, 300)
    found = solve(spread, 20_000)
    assert found["proved"]
    assert found["first"]
    assert 100 < found["branches"] < 20_000
    small = solve(spread, 50)
    assert small["branches"] == 50
    assert small["spent"]
    assert not small["first"]


TWO = Spread((1, 1, 1), (Site((0, 1), ((1,), (1,)), ((2,),)), Site((0, 2), ((1,), (2,)), ((2,),))), 1)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        ({"taken": [0, 1], "cost": 1}, "cost 1 of jobs that cost 2"),
        ({"taken": [1], "cost": 1}, "do not suffice"),
        ({"taken": [0, 2], "cost": 2}, "not needed"),
        ({"taken": [0, 1], "cost": 2, "lower_bound": 2}, "below the bound 2"),
        ({"proved": False}, "proved is"),
        ({"parts": [10**6] * 4}, "more than it costs"),
        ({"bounds": [10**9, 10**9]}, "bound is too high"),
        ({"bounds": [0, 0]}, "the parts prove 0"),
        ({"bounds": [-1, -1]}, "can be had after all"),
        ({"multipliers": [0.0] * 3}, "3 multipliers of 2"),
    ],
)
def test_check_sees_what_is_spoilt(spoil: dict[str, Any], message: str) -> None:
    found = solve(TWO, 100)
    assert found["taken"].tolist() == [2]
    assert check_minimum_jobs(TWO, [2], found).cost in {"certified", "enumerated"}
    proof = {**found, "taken": [2], **spoil}
    with pytest.raises(AssertionError, match=message):
        check_minimum_jobs(TWO, proof["taken"], proof)


def test_rows_must_be_in_order() -> None:
    wrong = Spread((1,), (Site((1,), ((1,),), ((1,),)),), 1)
    with pytest.raises(ValueError, match="sorted"):
        solve(wrong, 10)
