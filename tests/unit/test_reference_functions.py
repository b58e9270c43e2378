"""The algebra of piecewise linear functions that the readable fair-share reference stands on."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference.functions import (
    COMPRESSION,
    Curve,
    add,
    compose,
    compress,
    interpolate,
    minimum,
)
from tests.reference.search import from_ordered_image, largest, ordered_image, smallest

unit = st.floats(0, 1, allow_subnormal=False)  # half of one may be nothing
# Steps of eighths make ties, jumps and plateaus common; free steps make rounding so. Where a vertex lies at a
# few units of 5e-324, no point between it and 0 can be told to a relative 1e-12: no such steps.
eighths = st.integers(0, 8).map(lambda n: n / 8)
steps = st.one_of(eighths, st.floats(0, 1, allow_subnormal=False))


@st.composite
def curves(
    draw: st.DrawFn,
    width: int | None = None,
    high: float | None = None,
    steps: st.SearchStrategy[float] = steps,
) -> Curve:
    """Nondecreasing functions on [0, 1], with jumps and plateaus; `high` is an upper bound of the values."""
    count = draw(st.integers(2, 8))
    x = np.cumsum([0.0, *(draw(steps) for _ in range(count - 1))])
    x = x / x[-1] if x[-1] > 1e-3 else np.linspace(0, 1, count)
    shape = (count,) if width is None else (count, width)
    y = np.cumsum(np.reshape([draw(steps) for _ in range(math.prod(shape))], shape), axis=0)
    if high is not None:
        y = np.minimum(y / max(1.0, float(y.max())), high)
    return Curve(x, y)


@given(unit, unit, unit, unit)
def test_interpolation_is_exact_at_both_ends(x0: float, x1: float, y0: float, y1: float) -> None:
    x0, x1 = sorted((x0, x1))
    if x0 < x1:
        assert interpolate(x0, y0, x1, y1, x0) == y0
        assert interpolate(x0, y0, x1, y1, x1) == y1


@given(unit)
def test_interpolation_is_exact_on_the_diagonal(x: float) -> None:
    assert interpolate(0.0, 0.0, 1.0, 1.0, x) == x


@given(unit, unit, unit, unit, unit, unit)
def test_interpolation_is_monotone(x0: float, x1: float, y0: float, y1: float, a: float, b: float) -> None:
    x0, x1 = sorted((x0, x1))
    y0, y1 = sorted((y0, y1))
    if x0 < x1:
        low, high = sorted(min(max(x0 + (x1 - x0) * t, x0), x1) for t in (a, b))
        assert interpolate(x0, y0, x1, y1, low) <= interpolate(x0, y0, x1, y1, high)


@given(curves(), unit)
def test_value_is_the_left_limit_and_not_above_the_right_one(f: Curve, x: float) -> None:
    at = np.array([x])
    assert f(x) == f.left(at)[0] <= f.right(at)[0]


@given(curves(width=3), unit, unit)
def test_right_limit_is_not_above_the_left_limit_further_on(f: Curve, a: float, b: float) -> None:
    low, high = sorted((a, b))
    if low < high:
        assert (f.right(np.array([low])) <= f.left(np.array([high]))).all()


@given(curves())
def test_limits_are_the_two_ends_of_a_jump(f: Curve) -> None:
    for x in f.breakpoints():
        at = np.array([x])
        assert f.left(at)[0] == f.y[f.x == x].min()
        assert f.right(at)[0] == f.y[f.x == x].max()


@given(curves())
def test_transposing_twice_is_the_identity(f: Curve) -> None:
    again = f.transposed().transposed()
    assert again.x.tolist() == f.x.tolist()
    assert again.y.tolist() == f.y.tolist()


@given(curves(steps=eighths), unit)
def test_transposing_inverts(f: Curve, x: float) -> None:
    """Eighths keep slopes moderate: where a function is almost level its inverse magnifies rounding."""
    at = np.array([f(x)])
    inverse = f.transposed()
    assert inverse.left(at)[0] <= x + 1e-12
    assert inverse.right(at)[0] >= x - 1e-12


def test_vertices_that_say_nothing_are_dropped() -> None:
    f = Curve([0, 0, 0.25, 0.5, 1, 1, 1], [1, 1, 1, 1, 1, 2, 3])
    assert f.x.tolist() == [0, 1, 1]
    assert f.y.tolist() == [1, 1, 3]
    assert len(Curve([0.0], [1.0]).x) == 1


@given(curves(), curves(), unit)
def test_sum(f: Curve, g: Curve, x: float) -> None:
    total = add([f, g], 0.0, 1.0)
    assert total(x) == pytest.approx(f(x) + g(x), abs=1e-12)
    assert total.right(np.array([x]))[0] == pytest.approx(
        f.right(np.array([x]))[0] + g.right(np.array([x]))[0]
    )


@given(curves(width=2), unit, unit)
def test_narrowing_keeps_values_and_the_jumps_at_both_ends(f: Curve, a: float, b: float) -> None:
    low, high = sorted((a, b))
    narrow = f.narrowed(low, high)
    ends = np.array([low, high])
    assert (narrow.first, narrow.last) == (low, high)
    if low < high:
        assert narrow.left(ends[:1]).tolist() == f.left(ends[:1]).tolist()
    assert narrow.right(ends[1:]).tolist() == f.right(ends[1:]).tolist()


def test_trimming() -> None:
    f = Curve([0, 0, 1, 1], [1, 2, 3, 4])
    assert f.trimmed_left().y.tolist() == [2, 3, 4]
    assert f.trimmed_right().y.tolist() == [1, 2, 3]
    jump = Curve([1, 1], [1, 2])
    assert jump.trimmed_left().y.tolist() == [2]
    assert jump.trimmed_right().y.tolist() == [1]


@given(curves(), unit)
def test_shift_and_scale(f: Curve, x: float) -> None:
    assert f.shifted(0.5)(x + 0.5) == pytest.approx(f(x), abs=1e-6) or near_break(f, x)
    assert f.argument_scaled(2.0)(x / 2) == f(x)


def near_break(f: Curve, x: float) -> bool:
    """Tell whether rounding of x may step over a jump or a steep piece."""
    return bool(np.abs(f.x - x).min() < 1e-9) or bool(np.diff(f.x).min() < 1e-6)


@given(curves(), curves(), unit)
def test_minimum(f: Curve, g: Curve, x: float) -> None:
    lower = minimum(f, g)
    at = np.array([x])
    assert lower(x) == pytest.approx(min(f(x), g(x)), abs=1e-9)
    assert lower.right(at)[0] == pytest.approx(min(f.right(at)[0], g.right(at)[0]), abs=1e-9)
    assert (np.diff(lower.y) >= 0).all()


@given(curves(width=2), curves(high=1.0), unit)
def test_composition(f: Curve, g: Curve, x: float) -> None:
    both = compose(f, g)
    assert (np.diff(both.x) >= 0).all()
    assert (np.diff(both.y, axis=0) >= 0).all()
    wanted_low = f.left(g.left(np.array([x])) - 1e-9)[0]
    wanted_high = f.right(g.left(np.array([x])) + 1e-9)[0]
    value = both(x)
    assert (value >= wanted_low - 1e-12).all()
    assert (value <= wanted_high + 1e-12).all()


def test_composition_takes_no_jump_where_the_inner_function_stays_level() -> None:
    f = Curve([0, 0.5, 0.5, 1], [0, 1, 2, 3])
    level = Curve([0, 0.5, 1], [0, 0.5, 0.5])
    assert compose(f, level)(1.0) == 1
    growing = Curve([0, 1], [0, 1])
    assert compose(f, growing).y.tolist() == [0, 1, 2, 3]


@given(curves(width=2), unit)
def test_compression_stays_within_its_tolerance(f: Curve, x: float) -> None:
    g = compress(f)
    assert len(g.x) <= len(f.x)
    assert (g.x[0], g.x[-1]) == (f.x[0], f.x[-1])
    np.testing.assert_allclose(g(x), f(x), rtol=1e-14, atol=len(f.x) * COMPRESSION)


def test_compression_merges_what_is_straight() -> None:
    x = np.linspace(0, 1, 101)
    assert len(compress(Curve(x, np.stack((x / 2, x), axis=1))).x) == 2
    bent = compress(Curve(x, np.stack((x, np.maximum(x, 0.5)), axis=1)))
    assert bent.x.tolist() == [0, 0.5, 1]


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_images_are_ordered_as_doubles(a: float, b: float) -> None:
    assert from_ordered_image(ordered_image(a)) == a
    if a < b:
        assert ordered_image(a) < ordered_image(b)


def test_images_of_the_two_zeros_are_neighbours() -> None:
    assert ordered_image(-0.0) + 1 == ordered_image(0.0)
    assert ordered_image(0.0) + 1 == ordered_image(5e-324)


@given(st.floats(-1e6, 1e6), st.floats(0, 1e6), st.floats(-1e6, 1e6))
def test_search_finds_the_last_double(low: float, length: float, limit: float) -> None:
    high = low + length
    calls = 0

    def within(x: float) -> bool:
        nonlocal calls
        calls += 1
        return x <= limit

    found = largest(within, low, high)
    assert calls <= 70
    if limit >= high:
        assert found == high
    elif limit < low:
        assert found == low
    else:
        assert within(found)
        assert not within(math.nextafter(found, math.inf))
    mirrored = smallest(lambda x: x >= -limit, -high, -low)
    assert mirrored == -found
