"""What `Shares.why` names as the cause of a share is what moves it, and its numbers give the share."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

import evenhand as eh
from evenhand.explain.bounds import CAUSES
from evenhand.testing import strategies as es
from tests.drawing import drawn

TOTAL = 1_000_000  # so fine that no change below is lost in rounding


def steps_of(shares: eh.Shares) -> list[tuple[int, dict[str, Any]]]:
    """The last step of every element's path, with its row."""
    kinds = zip(shares.names, shares.kinds, strict=True)
    return [(row, shares.why(name, kind=kind).numbers["path"][-1]) for row, (name, kind) in enumerate(kinds)]


def close(one: float, other: float) -> bool:
    return abs(one - other) <= 1e-8 * max(abs(one), abs(other)) + 1e-11


def check_numbers(shares: eh.Shares) -> None:
    """What each step says gives its share again."""
    fair, demand, limits = (shares[q] for q in ("fair_share", "demand_share", "limits_share"))
    guarantee = shares["strong_guarantee_share"] + shares["proposed_integral_share"]
    row_of = {key: r for r, key in enumerate(zip(shares.kinds, map(str, shares.names), strict=True))}
    for row, step in steps_of(shares):
        numbers, r = step["numbers"], shares.resources.index(step["resource"])
        assert step["cause"] in CAUSES
        assert numbers["fair_share"] == fair[row, r]
        assert numbers["limit"] == limits[row, r]
        beyond = float(max((fair[row] - guarantee[row]).max(), 0))
        if step["cause"] == "demand":
            assert np.allclose(fair[row], demand[row], rtol=1e-8, atol=1e-11)
            continue
        assert numbers["demand"] > numbers["fair_share"]
        if step["cause"] == "limit":
            assert close(numbers["fair_share"], numbers["limit"])
        elif step["cause"] == "guarantee":
            assert close(beyond, 0)
        elif step["cause"] == "weight":
            assert close(beyond, numbers["level"] * numbers["weight"])
            assert close(fair[row, r] - guarantee[row, r], beyond)
            check_siblings(shares, row, numbers)
        elif step["cause"] == "child_limit":
            assert numbers["limited"]
            for one in numbers["limited"]:
                below = row_of[one["kind"], str(one["element"])]
                of = shares.resources.index(one["resource"])
                assert close(fair[below, of], one["limit"])
                assert demand[below, of] > fair[below, of]


def check_siblings(shares: eh.Shares, row: int, numbers: dict[str, Any]) -> None:
    """Those that are named are children of the same pool, with these weights, and grew as far by them."""
    core = shares.snapshot._core
    weight = np.concatenate([core.column("pools", "weight"), core.column("operations", "weight")])
    beyond = shares["fair_share"] - shares["strong_guarantee_share"] - shares["proposed_integral_share"]
    parents = shares._parent_rows()
    others = [r for r in range(len(parents)) if parents[r] == parents[row] and r != row]
    assert weight[row] == numbers["weight"]
    for name, own in zip(numbers["siblings"], numbers["weights"], strict=True):
        levels = [
            max(float(beyond[r].max()), 0) / own
            for r in others
            if shares.names[r] == name and weight[r] == own
        ]
        assert any(close(level, numbers["level"]) for level in levels), (name, levels, numbers)


@given(snapshot=es.snapshots(), settings=es.fair_share_settings(allow_gangs=False))
def test_numbers_give_the_share_again(snapshot: eh.Snapshot, settings: eh.FairShareSettings) -> None:
    check_numbers(eh.fair_share(snapshot))
    if settings.main_resource in snapshot.resources:
        check_numbers(eh.fair_share(snapshot, settings))


def amounts(least: int = 0) -> st.SearchStrategy[dict[str, int]]:
    return st.fixed_dictionaries({"cpu": st.integers(least, TOTAL)})


@st.composite
def trees(draw: st.DrawFn) -> dict[str, Any]:
    """Two levels of pools and operations that want one resource; everything may bind."""
    pools: list[dict[str, Any]] = []
    for top in range(draw(st.integers(1, 3))):
        inner = [f"p{top}.{i}" for i in range(draw(st.integers(0, 2)))]
        for name in (f"p{top}", *inner):
            row = {"name": name, "weight": draw(st.sampled_from([1, 2, 3]))}
            if name in inner:
                row["parent"] = f"p{top}"
            if draw(st.booleans()):
                row["limits"] = draw(amounts(1000))
            if draw(st.booleans()):
                row["strong_guarantee"] = {"cpu": draw(st.integers(0, TOTAL // 4))}
            pools.append(row)
    operations = []
    for i in range(draw(st.integers(1, 6))):
        row = {"name": f"o{i}", "pool": draw(st.sampled_from(pools))["name"]}
        row |= {"weight": draw(st.sampled_from([1, 2, 3])), "demand": draw(amounts(1000))}
        if draw(st.booleans()):
            row["limits"] = draw(amounts(1000))
        operations.append(row)
    return {
        "resources": {"cpu": {}},
        "total": {"cpu": TOTAL},
        "pools": pools,
        "operations": operations,
    }


def share(data: dict[str, Any], row: int) -> float:
    return float(eh.fair_share(eh.Snapshot.from_dict(data))["fair_share"][row, 0])


def changed(data: dict[str, Any], step: dict[str, Any]) -> tuple[dict[str, Any], int] | None:
    """The cluster with what the step names changed, and whether the share must fall (-1) or grow."""
    other = copy.deepcopy(data)
    rows = {row["name"]: row for row in (*other["pools"], *other["operations"])}
    own, numbers = rows.get(step["element"]), step["numbers"]
    if step["cause"] == "demand":
        if own is None or "demand" not in own:
            return None
        own["demand"]["cpu"] //= 2
        return other, -1
    if step["cause"] == "limit":
        if own is None or "limits" not in own:
            assert numbers["limit"] == 1  # the whole cluster: with another total, all shares are others
            return None
        own["limits"]["cpu"] //= 2
        return other, -1
    if step["cause"] == "child_limit":
        for one in numbers["limited"]:
            rows[one["element"]]["limits"]["cpu"] //= 2
        return other, -1
    if step["cause"] == "guarantee" and own is not None and numbers["guarantee"]:
        own["strong_guarantee"]["cpu"] = int(numbers["guarantee"] * TOTAL) // 2  # its pool may bound it
        return other, -1
    if step["cause"] == "weight" and own is not None:
        own["weight"] *= 2
        return other, 1
    return None


def wants(*demands: int, **pool: Any) -> dict[str, Any]:
    """A cluster of one pool, with an operation for each demand."""
    rows = [{"name": f"o{i}", "pool": "p0", "demand": {"cpu": d}} for i, d in enumerate(demands)]
    return {
        "resources": {"cpu": {}},
        "total": {"cpu": TOTAL},
        "pools": [{"name": "p0", **pool}],
        "operations": rows,
    }


@example(wants(TOTAL - 1001, 1000))
@example(wants(TOTAL - 1000, 1000))
@example(wants(TOTAL - 999, 1000))
@example(wants(TOTAL, 1000))
@example(wants(TOTAL, 1000, limits={"cpu": TOTAL}))
@given(data=trees())
def test_what_is_named_moves_the_share(data: dict[str, Any]) -> None:
    shares = eh.fair_share(eh.Snapshot.from_dict(data), eh.FairShareSettings())
    check_numbers(shares)
    for row, step in steps_of(shares):
        before = float(shares["fair_share"][row, 0])
        if (change := changed(data, step)) is not None and before > 1e-6:
            moved = share(change[0], row) - before
            assert moved * change[1] > 1e-9, (step, moved)
        # And what is not named does not: wanting more, where it has not all that it wants.
        if step["kind"] == "operation" and step["cause"] != "demand":
            more = copy.deepcopy(data)
            wanting = next(o for o in more["operations"] if o["name"] == step["element"])
            wanting["demand"]["cpu"] *= 2
            assert close(share(more, row), before), step


def test_all_causes_are_drawn() -> None:
    """But for guarantees, gangs and queues, which have tests of their own."""
    seen: set[str] = set()
    for data in drawn(trees(), 200):
        seen |= {step["cause"] for _, step in steps_of(eh.fair_share(eh.Snapshot.from_dict(data)))}
        if seen >= {"demand", "limit", "child_limit", "weight", "pool"}:
            return
    raise AssertionError(seen)
