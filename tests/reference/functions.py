"""Piecewise linear functions of the published method.

A function is its plot: a polyline of vertices (x, y) with x never falling, so that two neighbouring
vertices are a segment: vertical (same x), horizontal (same y) or tilted. All functions here are nondecreasing
and left-continuous. The value y is a number (array of shape (K,)) or a vector (shape (K, R)). Outside its
domain a function keeps its end values, so no operation is needed to extend one.

Source: YTsaurus fair-share specification, section 2.10.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.reference.search import largest

Array = NDArray[np.float64]

COMPRESSION = 1e-15


def interpolate(x0: Any, y0: Any, x1: Any, y1: Any, x: Any) -> Any:
    """Evaluate the segment from (x0, y0) to (x1, y1) at x: exact at both ends, monotone under rounding.

    Plain floats or arrays that broadcast; x0 < x1 everywhere.
    """
    t = (x - x0) / (x1 - x0)
    if isinstance(t, float):
        return y0 + (y1 - y0) * t if t < 0.5 else y1 - (y1 - y0) * (1 - t)
    return np.where(t < 0.5, y0 + (y1 - y0) * t, y1 - (y1 - y0) * (1 - t))


class Curve:
    """A nondecreasing piecewise linear function.

    Parameters
    ----------
    x
        Abscissae of the vertices, never falling, shape (K,).
    y
        Values at the vertices, shape (K,) or (K, …).

    Notes
    -----
    Building a curve drops vertices that say nothing: repeated ones, and those between two verticals or two
    horizontals. Tilted neighbours are left alone (see `compress`).
    """

    __slots__ = ("x", "y")

    def __init__(self, x: Any, y: Any) -> None:
        x, y = np.asarray(x, float), np.asarray(y, float)
        upright, level = _kinds(x, y)
        point = upright & level
        if point.any():
            new = np.concatenate(([True], ~point))
            x, y = x[new], y[new]
            upright, level = _kinds(x, y)
        straight = (level[1:] & level[:-1]) | (upright[1:] & upright[:-1])
        if straight.any():
            corner = np.concatenate(([True], ~straight, [True]))
            x, y = x[corner], y[corner]
        self.x: Array = x
        self.y: Array = y

    @property
    def first(self) -> float:
        """Left end of the domain."""
        return float(self.x[0])

    @property
    def last(self) -> float:
        """Right end of the domain."""
        return float(self.x[-1])

    def __call__(self, at: float) -> Any:
        """Evaluate at one point: the left limit there."""
        end = int(self.x.searchsorted(at))
        if end in (0, len(self.x)):
            return self.y[0 if end == 0 else -1]
        x0, x1 = self.x[end - 1], self.x[end]
        y0, y1 = self.y[end - 1], self.y[end]
        t = (at - x0) / (x1 - x0)
        return y0 + (y1 - y0) * t if t < 0.5 else y1 - (y1 - y0) * (1 - t)

    def left(self, at: Array) -> Array:
        """Left limits at many points: by the first segment whose right end is not below the point."""
        return self._on_segments_ending(self.x.searchsorted(at, side="left"), at)

    def right(self, at: Array) -> Array:
        """Right limits at many points: by the last segment whose left end is not above the point."""
        return self._on_segments_ending(self.x.searchsorted(at, side="right"), at)

    def _on_segments_ending(self, end: NDArray[np.intp], at: Array) -> Array:
        # Beyond either end of the domain both vertices are the same: the width is 0 and so is t.
        start = np.maximum(end - 1, 0)
        end = np.minimum(end, len(self.x) - 1)
        x0, y0, y1 = self.x[start], self.y[start], self.y[end]
        width = self.x[end] - x0
        t = np.divide(at - x0, width, out=np.zeros_like(width), where=width > 0)
        t = t.reshape(-1, *(1,) * (self.y.ndim - 1))
        rise = y1 - y0
        return np.where(t < 0.5, y0 + rise * t, y1 - rise * (1 - t))

    def breakpoints(self) -> Array:
        """Abscissae of the vertices, each once."""
        return self.x[np.concatenate(([True], self.x[1:] > self.x[:-1]))]

    def shifted(self, by: float) -> Curve:
        """Return x → self(x - by)."""
        return _as_it_is(self.x + by, self.y)

    def argument_scaled(self, factor: float) -> Curve:
        """Return x → self(factor * x)."""
        return _as_it_is(self.x / factor, self.y)

    def component(self, r: int) -> Curve:
        """Return one resource of a vector function."""
        return _as_it_is(self.x, self.y[:, r])

    def transposed(self) -> Curve:
        """Swap x and y: the inverse of a scalar function, plateaus become jumps."""
        return Curve(self.y, self.x)

    def narrowed(self, low: float, high: float) -> Curve:
        """Restrict (or extend) the domain to [low, high]; jumps at both ends are kept."""
        return add([self], low, high)

    def trimmed_left(self) -> Curve:
        """Drop a jump at the left end; its upper end stays."""
        start = int(self.x.searchsorted(self.x[0], side="right")) - 1
        return _as_it_is(self.x[start:], self.y[start:])

    def trimmed_right(self) -> Curve:
        """Drop a jump at the right end; its lower end stays."""
        end = int(self.x.searchsorted(self.x[-1], side="left")) + 1
        return _as_it_is(self.x[:end], self.y[:end])


def _as_it_is(x: Array, y: Array) -> Curve:
    """Make a curve of vertices that all say something."""
    curve = Curve.__new__(Curve)
    curve.x, curve.y = x, y
    return curve


def _kinds(x: Array, y: Array) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Tell of each segment whether it is vertical, and whether it is horizontal (both: a point)."""
    level = y[1:] == y[:-1]
    return x[1:] == x[:-1], level.all(axis=tuple(range(1, y.ndim))) if y.ndim > 1 else level


def sampled(x: Array, left: Array, right: Array) -> Curve:
    """Build the function with these left and right limits at these points, straight between them."""
    y = np.empty((2 * len(x), *left.shape[1:]))
    y[::2], y[1::2] = left, right
    return Curve(np.repeat(x, 2), y)


def points_within(curves: Sequence[Curve], low: float, high: float) -> Array:
    """Return all breakpoints of the functions within [low, high], the two ends among them, each once."""
    x = np.concatenate([c.x for c in curves])
    return np.unique(np.concatenate(([low, high], x[(x > low) & (x < high)])))


def add(curves: Sequence[Curve], low: float, high: float) -> Curve:
    """Sum functions over [low, high], rounding in the order of the list."""
    x = points_within(curves, low, high)
    left, right = curves[0].left(x), curves[0].right(x)
    for curve in curves[1:]:
        left = left + curve.left(x)
        right = right + curve.right(x)
    return sampled(x, left, right)


def minimum(f: Curve, g: Curve) -> Curve:
    """Pointwise minimum of two scalar functions over the domain that they have in common."""
    x = points_within((f, g), max(f.first, g.first), min(f.last, g.last))
    f_left, f_right, g_left, g_right = f.left(x), f.right(x), g.left(x), g.right(x)
    f_falls_behind = (f_right[:-1] > g_right[:-1]) & (f_left[1:] < g_left[1:])
    g_falls_behind = (f_right[:-1] < g_right[:-1]) & (f_left[1:] > g_left[1:])
    crossings = [
        _crossing(*((f, g) if g_falls_behind[k] else (g, f)), float(x[k]), float(x[k + 1]))
        for k in np.flatnonzero(f_falls_behind | g_falls_behind)
    ]
    if crossings:
        x = np.unique(np.concatenate((x, crossings)))
        f_left, f_right, g_left, g_right = f.left(x), f.right(x), g.left(x), g.right(x)
    return sampled(x, np.minimum(f_left, g_left), np.minimum(f_right, g_right))


def _crossing(lower: Curve, upper: Curve, low: float, high: float) -> float:
    """Find the largest x in a gap where the function that starts lower is still not above the other."""
    one, other = _segment_over(lower, low), _segment_over(upper, low)
    return largest(lambda x: interpolate(*one, x) <= interpolate(*other, x), low, high)


def _segment_over(curve: Curve, start: float) -> tuple[float, float, float, float]:
    """Return the segment that holds right behind a point, as plain floats; level beyond the end."""
    end = int(np.searchsorted(curve.x, start, side="right"))
    if end == len(curve.x):
        y = float(curve.y[-1])
        return start, y, start + 1.0, y
    return float(curve.x[end - 1]), float(curve.y[end - 1]), float(curve.x[end]), float(curve.y[end])


def compose(f: Curve, g: Curve) -> Curve:
    """Return x → f(g(x)) for a scalar g, trimmed right.

    Vertices are those of g and, inside its tilted segments, the points where g reaches a breakpoint of f.
    """
    breaks = f.breakpoints()
    tilted = (g.x[1:] > g.x[:-1]) & (g.y[1:] > g.y[:-1])
    first = np.searchsorted(breaks, g.y[:-1], side="right")
    behind = np.searchsorted(breaks, g.y[1:], side="left")
    count = np.where(tilted, np.maximum(behind - first, 0), 0)
    segment = np.repeat(np.arange(len(count)), count)
    rank = np.arange(len(segment)) - np.repeat(np.cumsum(count) - count, count)
    inner_y = breaks[first[segment] + rank]
    inner_x = interpolate(g.y[segment], g.x[segment], g.y[segment + 1], g.x[segment + 1], inner_y)

    x = np.concatenate((g.x, inner_x))
    y = np.concatenate((g.y, inner_y))
    order = np.lexsort((y, x))
    x, y = x[order], y[order]
    changes = x[1:] != x[:-1]
    lowest = y[np.concatenate(([True], changes))]
    highest = y[np.concatenate((changes, [True]))]
    x = x[np.concatenate(([True], changes))]
    # Where g stays level behind a point, f is never entered beyond it: its jump there is not taken.
    grows = np.concatenate((lowest[1:] > highest[:-1], [False]))
    left = f.left(lowest)
    right = np.where(grows.reshape((-1,) + (1,) * (f.y.ndim - 1)), f.right(highest), f.left(highest))
    return sampled(x, left, right).trimmed_right()


def compress(f: Curve, tolerance: float = COMPRESSION) -> Curve:
    """Replace runs of segments by one chord where every vertex of the run stays within the tolerance of it.

    Greedy: a run grows while its chord, in all resources, stays strictly between the rays from the start of
    the run that pass the tolerance above and below each vertex seen.
    """
    x, y = f.x, f.y
    kept = [0]
    start, end = 0, 1
    upper: _Rays | None = None
    lower: _Rays | None = None
    for vertex in range(2, len(x)):
        flat = x[end] > x[start] and x[vertex] > x[end]
        if flat:
            width, rise = x[end] - x[start], y[end] - y[start]
            above, below = _Rays(width, rise + tolerance), _Rays(width, rise - tolerance)
            upper = above if upper is None else above.where(above.is_below(upper), upper)
            lower = below if lower is None else below.where(lower.is_below(below), lower)
            chord = _Rays(x[vertex] - x[start], y[vertex] - y[start])
            flat = bool(np.all(lower.is_below(chord) & chord.is_below(upper)))
        if not flat:
            kept.append(end)
            start = end
            upper = lower = None
        end = vertex
    if len(x) > 1:
        kept.append(end)
    return Curve(x[kept], y[kept])


class _Rays:
    """A ray to the right for each resource, from one point."""

    def __init__(self, x: Any, y: Any) -> None:
        self.x, self.y = x, y

    def is_below(self, other: _Rays) -> NDArray[np.bool_]:
        """Compare directions strictly, by the sign of the cross product."""
        below: NDArray[np.bool_] = self.y * other.x < other.y * self.x
        return below

    def where(self, condition: NDArray[np.bool_], other: _Rays) -> _Rays:
        """Choose this ray where a condition holds, else another."""
        return _Rays(np.where(condition, self.x, other.x), np.where(condition, self.y, other.y))
