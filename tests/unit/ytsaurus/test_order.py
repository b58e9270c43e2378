"""Who is served next: satisfaction to nine digits, pools by who remains in them, then canonical order."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.ytsaurus.cluster import Planner, cluster, done, row, starving


def shares(**of: float) -> dict[str, Any]:
    return {"fair_share": {name: {"cpu": share} for name, share in of.items()}}


def test_equal_ratios_go_in_canonical_order(plan: Planner) -> None:
    """5 of 7 and 2 of 2.8 are the same, though the doubles differ."""
    running = [row("a1", "a", cpu=5), row("b1", "b", cpu=2), row("u1", "u", cpu=6)]
    data = cluster({"cpu": 14}, running, [row("qa", "a", cpu=1), row("qb", "b", cpu=1)])
    assert done(plan(data, given=shares(a=0.5, b=0.2, u=0.3))) == ["+qa"]


@pytest.mark.parametrize("total", [11, 12, 13, 16, 20, 25])
def test_equal_ratios_of_computed_shares(plan: Planner, total: int) -> None:
    """Weights of 2 and 3, usage of 4 and 6, whatever the doubles of the shares are."""
    operations = [{"name": "a", "weight": 2}, {"name": "b", "weight": 3}]
    running = [row("a1", "a", cpu=4), row("b1", "b", cpu=6)]
    requests = [row(f"q{name}", name, cpu=total - 10, count=9) for name in "ab"]
    assert done(plan(cluster({"cpu": total}, running, requests, operations=operations))) == ["+qa"]


@pytest.mark.parametrize(
    ("more", "first"),
    [(-6e-10, "+qa"), (0.0, "+qa"), (4e-10, "+qa"), (6e-10, "+qb"), (1.6e-9, "+qb")],
)
def test_what_nine_digits_do_not_tell_apart_is_equal(plan: Planner, more: float, first: str) -> None:
    """b has half of its fair share, a as much more."""
    running = [row("a1", "a", cpu=4), row("b1", "b", cpu=4), row("u1", "u", cpu=7)]
    data = cluster({"cpu": 16}, running, [row("qa", "a", cpu=1), row("qb", "b", cpu=1)])
    given = shares(a=0.25 / (0.5 + more), b=0.5, u=0.4)
    assert done(plan(data, given=given)) == [first]


def test_pools_go_before_operations_that_are_as_satisfied(plan: Planner) -> None:
    """5 of 7 in the pool, 2 of 2.8 beside it; the pool stands behind in the alphabet."""
    running = [row("z1", "z", cpu=2), row("in1", "in", cpu=5), row("u1", "u", cpu=6)]
    operations = [{"name": "a"}, {"name": "in", "pool": "p"}, {"name": "u"}, {"name": "z"}]
    data = cluster(
        {"cpu": 14},
        running,
        [row("qi", "in", cpu=1), row("qz", "z", cpu=1)],
        operations=operations,
        pools=[{"name": "p"}],
    )
    assert done(plan(data, given=shares(**{"in": 0.5, "z": 0.2, "u": 0.3}))) == ["+qi"]


@pytest.mark.parametrize("preset", ["documented", "upstream"])
def test_a_preemptive_stage_orders_alike(plan: Planner, preset: str) -> None:
    running = [row("a1", "a", cpu=5), row("b1", "b", cpu=2), row("u1", "u", cpu=7)]
    data = cluster({"cpu": 14}, running, [row("qa", "a", cpu=1), row("qb", "b", cpu=1)])
    given = {**starving("a", "b", preemptible=("u1",)), **shares(a=0.5, b=0.2, u=0.3)}
    assert done(plan(data, given=given, preset=preset)) == ["-u1", "+qa"]


@pytest.mark.parametrize("more", [-2e-10, 0.0, 2e-10])
def test_usage_at_the_fair_share_is_not_above_it(plan: Planner, more: float) -> None:
    """a has all that it may have of cpu and half of memory: it is as satisfied as with what it lacks."""
    running = [row("a1", "a", cpu=4, memory=2), row("b1", "b", cpu=2, memory=3)]
    requests = [row("qa", "a", memory=3), row("qb", "b", memory=3)]
    data = cluster({"cpu": 8, "memory": 8}, running, requests)
    owed = {"a": {"cpu": 0.5 + more, "memory": 0.5}, "b": {"cpu": 0.5, "memory": 0.5}}
    # b has 3 of 4 in memory.
    assert done(plan(data, given={"fair_share": owed})) == ["+qa"]


def in_pool(capacity: int, first: int, starves: tuple[str, ...]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Pool p has `low`, nearly without anything, and `high`; `single` stands beside it, between the two."""
    operations = [
        {"name": "low", "pool": "p"},
        {"name": "high", "pool": "p"},
        {"name": "single"},
        {"name": "v"},
    ]
    running = [
        row("l1", "low", cpu=1),
        row("h1", "high", cpu=8),
        row("s1", "single", cpu=5),
        row("v1", "v", cpu=6),
    ]
    requests = [row("ql", "low", cpu=first), row("qh", "high", cpu=2), row("qs", "single", cpu=2)]
    data = cluster({"cpu": capacity}, running, requests, operations=operations, pools=[{"name": "p"}])
    given = starving(*starves, preemptible=("v1",), **shares(low=0.5, high=0.5, single=0.5, v=0.0))
    given["starvation"] |= {name: "non_starving" for name in ("p", "low", "high", "v") if name not in starves}
    return data, given


@pytest.mark.parametrize(
    ("starves", "served"),
    [(("high", "single"), "+qs"), (("low", "high", "single"), "+ql")],
)
def test_a_pool_is_as_satisfied_as_the_candidates_that_remain_in_it(
    plan: Planner, starves: tuple[str, ...], served: str
) -> None:
    """Who may not ask in a stage does not bring its pool to the front there."""
    data, given = in_pool(20, 1, starves)
    assert done(plan(data, given=given)) == ["-v1", served]


def test_who_has_failed_does_not_keep_its_pool_in_front(plan: Planner) -> None:
    """low asks for more than there could be: the pool is then as satisfied as high, and single goes first."""
    data, given = in_pool(20, 30, ("low", "high", "single"))
    assert done(plan(data, given=given)) == ["-v1", "+qs"]


def test_in_the_regular_stage_too(plan: Planner) -> None:
    data, given = in_pool(22, 30, ())
    assert done(plan(data, given=given, preemptive_scheduling_backoff=5)) == ["+qs"]
