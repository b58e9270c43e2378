"""The core against the exact references of `tests.reference.decayed_usage`, and laws of the factors."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from evenhand import _core
from evenhand.history import Decay, DecayedUsage, ShareTree, backendai, gridengine, slurm
from tests.reference import decayed_usage as reference
from tests.reference.decayed_usage import Row

# Few distinct small numbers make ties; eighths and large numbers make sums that are still exact in doubles.
SHARES = st.one_of(st.integers(0, 4), st.integers(0, 2**20)).map(Fraction)
USAGES = st.one_of(st.integers(0, 4).map(Fraction), st.integers(0, 2**44).map(lambda n: Fraction(n, 8)))


@st.composite
def trees(draw: st.DrawFn, *, inherit: bool = True) -> dict[str, Row]:
    """A tree of up to 14 rows in any order; leaves are users or empty accounts."""
    n = draw(st.integers(1, 14))
    parents = [draw(st.one_of(st.none(), st.integers(0, row - 1))) if row else None for row in range(n)]
    inner = set(parents)
    shares = st.one_of(SHARES, st.none()) if inherit else SHARES
    rows = {
        f"r{row}": Row(
            None if parent is None else f"r{parent}",
            draw(shares),
            draw(USAGES),
            row not in inner and draw(st.integers(0, 5)) > 0,
            draw(st.booleans()),
        )
        for row, parent in enumerate(parents)
    }
    order = draw(st.permutations(list(rows)))
    return {name: rows[name] for name in order}


def columns(tree: dict[str, Row]) -> ShareTree:
    return ShareTree.from_dict(
        {
            name: {
                "parent": row.parent,
                "shares": "parent" if row.shares is None else float(row.shares),
                "usage": float(row.usage),
                "user": row.user,
                "active": row.active,
            }
            for name, row in tree.items()
        }
    )


def by_name(table: slurm.Table, column: str) -> dict[str, float]:
    return dict(zip(table["name"], np.asarray(table[column]).tolist(), strict=True))


def factors(tree: dict[str, Row], **options: str) -> dict[str, float]:
    found = by_name(slurm.fair_tree(columns(tree), **options), "factor")
    return {name: found[name] for name, row in tree.items() if row.user}


@given(trees(), st.fractions(Fraction(1, 8), 4))
def test_classic_is_the_reference(tree: dict[str, Row], dampening: Fraction) -> None:
    total = reference.usage_of(tree, None)
    expected = reference.classic(tree, total, dampening)
    table = slurm.classic(columns(tree), fair_share_dampening_factor=float(dampening))
    for quantity in ("norm_shares", "effective_usage", "factor"):
        got = by_name(table, quantity)
        for name, values in expected.items():
            assert got[name] == pytest.approx(values[quantity], abs=1e-12, rel=1e-9)


@given(trees(), st.booleans())
def test_fair_tree_is_the_reference_with_true_ties(tree: dict[str, Row], merge: bool) -> None:
    got = factors(tree, tied_accounts="documented" if merge else "upstream")
    assert got == reference.fair_tree(tree, merge_tied_accounts=merge)


@given(trees(), st.booleans())
def test_fair_tree_is_the_reference_with_ties_of_rounded_numbers(tree: dict[str, Row], merge: bool) -> None:
    got = factors(tree, ties="floating", tied_accounts="documented" if merge else "upstream")
    assert got == reference.fair_tree(tree, merge_tied_accounts=merge, number=float)


@given(trees(inherit=False), st.sampled_from([Fraction(0), Fraction(1), Fraction(2), Fraction(5)]))
def test_share_tree_is_the_reference(tree: dict[str, Row], compensation: Fraction) -> None:
    expected = reference.share_tree(tree, compensation)
    table = gridengine.share_tree(columns(tree), compensation_factor=float(compensation))
    long_term, short_term = by_name(table, "long_term"), by_name(table, "short_term")
    for name, (long, short) in expected.items():
        assert long_term[name] == pytest.approx(float(long), abs=1e-12)
        assert short_term[name] == pytest.approx(float(short), abs=1e-12)


@given(
    st.lists(st.tuples(*[st.integers(0, 10**9).map(Fraction)] * 3), min_size=1, max_size=5),
    st.tuples(*[st.integers(0, 1000).map(Fraction)] * 3),
    st.tuples(*[st.integers(0, 12).map(Fraction)] * 3),
    st.integers(1, 40),
    st.fractions(Fraction(1, 8), 8),
)
def test_backendai_is_the_reference(rows, capacity, weights, lookback, weight) -> None:
    names = ("cpu", "mem", "gpu")
    usage = backendai.normalised_usage(
        {name: [float(row[i]) for row in rows] for i, name in enumerate(names)},
        {name: float(c) for name, c in zip(names, capacity, strict=True)},
        lookback_days=lookback,
        weights={name: float(w) for name, w in zip(names, weights, strict=True)},
    )
    factors = backendai.factor(usage, float(weight))
    for i, row in enumerate(rows):
        expected = reference.normalised_usage(
            dict(zip(names, row, strict=True)),
            dict(zip(names, capacity, strict=True)),
            dict(zip(names, weights, strict=True)),
            Fraction(lookback),
        )
        assert usage[i] == pytest.approx(float(expected), rel=1e-12)
        assert factors[i] == pytest.approx(reference.factor(expected, weight), rel=1e-9)


@pytest.mark.parametrize(
    ("decay", "base", "period"),
    [
        (Decay.exact(1000), 0.5, 1000),
        (Decay.slurm(1000), 1 - 0.693 / 1000, 1),
        (Decay.gridengine(1000 / 3600), 1 - 60 * math.log(2) / 1000, 60),
    ],
)
@given(events=st.lists(st.tuples(st.integers(0, 5000), st.floats(0, 1e6)), max_size=8))
def test_decayed_sum_is_the_reference(decay, base, period, events) -> None:
    usage = DecayedUsage.empty(["cpu"], decay=decay, at=5000)
    ages = [age for age, _ in events]
    usage = usage.add(
        ["a"] * len(events), [amount for _, amount in events], at=[5000.0 - age for age in ages]
    )
    expected = reference.decayed(events, base, period)
    assert usage.keep(["a"]).values[0, 0] == pytest.approx(expected, rel=1e-9)


@given(
    st.sampled_from([Decay.exact(700), Decay.slurm(700), Decay.gridengine(0.2)]),
    st.floats(0, 1e4),
    st.floats(0, 1e4),
)
def test_decay_composes(decay: Decay, first: float, second: float) -> None:
    usage = DecayedUsage.empty(["cpu"], decay=decay, at=0).add(["a"], [1.0])
    twice = usage.decayed_to(first).decayed_to(first + second)
    once = usage.decayed_to(first + second)
    assert twice.values == pytest.approx(once.values, rel=1e-9, abs=1e-300)


@given(trees())
def test_factors_lie_within_bounds(tree: dict[str, Row]) -> None:
    table = slurm.classic(columns(tree))
    for quantity in ("norm_shares", "factor", "usage", "effective_usage"):
        values = np.asarray(table[quantity])
        assert ((values >= 0) & (values <= 1 + 1e-12)).all()
    assert all(0 < factor <= 1 for factor in factors(tree).values())
    shares = gridengine.share_tree(columns(tree))
    for quantity in ("long_term", "short_term"):
        values = np.asarray(shares[quantity])
        assert ((values >= 0) & (values <= 1 + 1e-12)).all()


@given(trees(), st.data(), USAGES.filter(bool))
def test_more_usage_never_raises_the_own_factor(
    tree: dict[str, Row], data: st.DataObject, more: Fraction
) -> None:
    users = [name for name, row in tree.items() if row.user]
    assume(users)
    name = data.draw(st.sampled_from(users))
    row = tree[name]
    used = {**tree, name: Row(row.parent, row.shares, row.usage + more, row.user, row.active)}
    assert factors(used)[name] <= factors(tree)[name]
    total = float(reference.usage_of(used, None))
    before = by_name(slurm.classic(columns(tree), total=total), "factor")[name]
    after = by_name(slurm.classic(columns(used), total=total), "factor")[name]
    assert after <= before + 1e-12


@given(trees(), st.integers(-8, 8), st.integers(-8, 8))
def test_units_of_usage_and_shares_do_not_matter(tree: dict[str, Row], u: int, s: int) -> None:
    scaled = {
        name: Row(
            row.parent,
            None if row.shares is None else row.shares * Fraction(2) ** s,
            row.usage * Fraction(2) ** u,
            row.user,
        )
        for name, row in tree.items()
    }
    assert factors(scaled) == factors(tree)
    before, after = slurm.classic(columns(tree)), slurm.classic(columns(scaled))
    assert np.array_equal(before["factor"], after["factor"])


@given(trees(), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(tree: dict[str, Row], random) -> None:
    names = list(tree)
    random.shuffle(names)
    shuffled = {name: tree[name] for name in names}
    # Tied accounts are visited by row unless they are merged.
    assert factors(shuffled, tied_accounts="documented") == factors(tree, tied_accounts="documented")
    assert by_name(slurm.classic(columns(shuffled)), "factor") == by_name(
        slurm.classic(columns(tree)), "factor"
    )
    long, short = (by_name(gridengine.share_tree(columns(tree)), c) for c in ("long_term", "short_term"))
    table = gridengine.share_tree(columns(shuffled))
    assert by_name(table, "long_term") == pytest.approx(long, abs=1e-12)
    assert by_name(table, "short_term") == pytest.approx(short, abs=1e-12)


@given(trees(inherit=False))
def test_short_term_targets_share_out_everything_among_active_siblings(tree: dict[str, Row]) -> None:
    table = gridengine.share_tree(columns(tree))
    short = by_name(table, "level_short_term")
    for parent in {row.parent for row in tree.values()}:
        level = [short[name] for name in reference.children(tree, parent)]
        assert sum(level) == pytest.approx(1) or not any(level)


@given(
    st.lists(st.floats(1e-300, 1e300), min_size=4, max_size=4),
    st.lists(st.floats(1e-300, 1e300), min_size=4, max_size=4),
    st.permutations(range(4)),
    st.booleans(),
)
def test_products_are_compared_exactly(a, b, order, equal) -> None:
    if equal:
        b = [a[i] for i in order]
    left, right = (math.prod(map(Fraction, x)) for x in (a, b))
    assert _core.compare_products(a, b) == (left > right) - (left < right)
