"""The three functions of an element: A by fit factor, M the fit factor by suggestion, S = A∘M.

Source: YTsaurus fair-share specification, section 2.11.
"""

from __future__ import annotations

import numpy as np

from evenhand.testing.reference.functions import (
    Array,
    Curve,
    add,
    compose,
    compress,
    minimum,
    sampled,
)
from evenhand.testing.reference.tree import Element, Settings

SMALLEST_WEIGHT = 1e-9


def build_functions(element: Element, settings: Settings) -> None:
    """Build A, M and S of an element and of all below it; what is built already stays."""
    if element.by_suggestion is not None:
        return
    for child in element.children:
        build_functions(child, settings)
    element.by_fit_factor = fair_share_by_fit_factor(element, settings)
    element.fit_factor = fit_factor_by_suggestion(element)
    element.by_suggestion = compress(compose(element.by_fit_factor, element.fit_factor)).trimmed_right()


def drop_functions(element: Element) -> None:
    """Forget the functions of one element; those of its children stay."""
    element.by_fit_factor = element.fit_factor = element.by_suggestion = element.children_by_fit_factor = None


def suggestion_curve(element: Element) -> Curve:
    """Return S of an element that was built."""
    assert element.by_suggestion is not None
    return element.by_suggestion


def fair_share_by_fit_factor(element: Element, settings: Settings) -> Curve:
    """Build A."""
    if not element.is_pool:
        return _of_operation(element, settings)
    if not element.children:
        return Curve([0.0, 1.0], np.zeros((2, element.size)))
    if element.is_fifo:
        return _of_fifo_pool(element)
    if settings.improved:
        return _of_fair_share_pool_improved(element)
    return add(_children_curves(element), 0.0, 1.0).trimmed_right()


def _of_operation(operation: Element, settings: Settings) -> Curve:
    """Up to fit factor 1 every resource grows at the same speed to its usage; from 1 to 2 straight on to the demand."""
    nothing, usage, demand = operation.zeros(), operation.usage_share, operation.demand_share
    steps = settings.step_function_for_gang and operation.parent.flag("step_function_for_gang", True)  # type: ignore[union-attr]
    if steps and operation.gang:
        return Curve([0.0, 1.0, 1.0, 2.0], [nothing, nothing, demand, demand])
    tallest = usage.max()
    corners = np.unique(np.concatenate(([0.0], usage)))
    if tallest == 0:
        return Curve([0.0, 1.0, 2.0], [nothing, nothing, demand])
    x = corners / tallest
    first = np.concatenate(([True], x[1:] > x[:-1]))
    y = np.minimum(corners[:, None], usage)
    return Curve(np.append(x[first], 2.0), np.vstack((y[first], demand)))


def smallest_weight(pool: Element) -> float:
    """Smallest weight among the children, those next to nothing left out."""
    return min((c.weight for c in pool.children if c.weight > SMALLEST_WEIGHT), default=1.0)


def _children_curves(pool: Element) -> list[Curve]:
    w_min = smallest_weight(pool)
    return [suggestion_curve(c).argument_scaled(c.weight / w_min) for c in pool.children]


def _of_fair_share_pool_improved(pool: Element) -> Curve:
    """Give each breakpoint of each child a fit factor of its own, so that children jump one after the other."""
    curves = _children_curves(pool)
    breaks = [np.unique(np.minimum(np.append(c.breakpoints(), 1.0), 1.0)) for c in curves]
    x = np.concatenate(breaks)
    owner = np.repeat(np.arange(len(curves)), [len(b) for b in breaks])
    order = np.lexsort((owner, x))
    x, owner = x[order], owner[order]
    left, right = [], []
    for i, curve in enumerate(curves):
        before, after = curve.left(x), curve.right(x)
        left.append(np.where((i < owner)[:, None], after, before))
        right.append(np.where((i <= owner)[:, None], after, before))
    factors = np.arange(len(x), dtype=float)
    # One curve with a row a child: its vertices are left in place, whole, as all children share them.
    pool.children_by_fit_factor = sampled(factors, np.stack(left, axis=1), np.stack(right, axis=1))
    return sampled(factors, in_order(left), in_order(right)).trimmed_right()


def in_order(vectors: list[Array]) -> Array:
    """Add up from first to last (NumPy's own sum pairs them up differently)."""
    total = vectors[0]
    for vector in vectors[1:]:
        total = total + vector
    return total


def _of_fifo_pool(pool: Element) -> Curve:
    """Serve the children one after the other: child i between fit factors i and i + 1."""
    shifted = [suggestion_curve(c).shifted(float(i)) for i, c in enumerate(pool.fifo_order)]
    return add(shifted, 0.0, float(len(shifted))).trimmed_right()


def fit_factor_by_suggestion(element: Element) -> Curve:
    """Build M: the largest fit factor at which no resource is above its guarantee plus the suggestion."""
    a = element.by_fit_factor
    assert a is not None
    lowest, highest = a.y[0], a.y[-1]
    limit = np.minimum(np.maximum(element.limits_share, lowest), highest)
    guarantee = np.minimum(np.maximum(element.strong + element.proposed_integral, lowest), limit)
    m = Curve([0.0, 1.0], [a.last, a.last])
    for r in np.flatnonzero(highest > lowest):  # a level resource restricts nothing
        inverse = Curve(a.x, a.y[:, r]).transposed()
        within = (
            inverse.narrowed(float(guarantee[r]), float(limit[r]))
            .trimmed_left()
            .shifted(-float(guarantee[r]))
        )
        m = minimum(m, _on_unit_interval(within))
    return m


def _on_unit_interval(curve: Curve) -> Curve:
    """Extend to the right up to suggestion 1 with the last value."""
    if curve.last < 1:
        return Curve(np.append(curve.x, 1.0), np.append(curve.y, curve.y[-1]))
    return curve.trimmed_right()
