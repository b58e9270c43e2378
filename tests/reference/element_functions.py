"""The three functions of an element: A by fit factor, M the fit factor by suggestion, S = A∘M.

Source: YTsaurus fair-share specification, section 2.11.
"""

from __future__ import annotations

from functools import reduce

import numpy as np

from tests.reference.functions import Array, Curve, add, compose, compress, minimum, sampled
from tests.reference.tree import Element, Functions, Settings

SMALLEST_WEIGHT = 1e-9


def functions_of(element: Element, settings: Settings) -> Functions:
    """Return A, M and S of an element; what has been built is kept until it is dropped."""
    if element.functions is None:
        children = None
        if not element.is_pool:
            by_fit_factor = _of_operation(element, settings)
        elif not element.children:
            by_fit_factor = Curve([0.0, 1.0], np.zeros((2, element.size)))
        elif element.is_fifo:
            by_fit_factor = _of_fifo_pool(element, settings)
        elif settings.improved:
            children = _children_one_by_one(_scaled_children(element, settings))
            by_fit_factor = Curve(children.x, in_order(np.swapaxes(children.y, 0, 1))).trimmed_right()
        else:
            by_fit_factor = add(_scaled_children(element, settings), 0.0, 1.0).trimmed_right()
        fit_factor = _fit_factor_by_suggestion(element, by_fit_factor)
        by_suggestion = compress(compose(by_fit_factor, fit_factor)).trimmed_right()
        element.functions = Functions(by_fit_factor, children, fit_factor, by_suggestion)
    return element.functions


def share_at(element: Element, suggestion: float, settings: Settings) -> Array:
    """Return S of an element at a suggestion."""
    share: Array = functions_of(element, settings).by_suggestion(suggestion)
    return share


def _of_operation(operation: Element, settings: Settings) -> Curve:
    """Grow all resources at one speed to the usage (fit factor 1), then straight on to the demand (2)."""
    nothing, usage, demand = operation.zeros(), operation.usage_share, operation.demand_share
    if settings.step_function_for_gang and operation.gang and operation.pool.has_gang_steps:
        return Curve([0.0, 1.0, 1.0, 2.0], [nothing, nothing, demand, demand])
    tallest = usage.max()
    if tallest == 0:
        return Curve([0.0, 1.0, 2.0], [nothing, nothing, demand])
    corners = np.unique(np.concatenate(([0.0], usage)))
    x = corners / tallest
    new = np.concatenate(([True], x[1:] > x[:-1]))
    y = np.minimum(corners[:, None], usage)
    return Curve(np.append(x[new], 2.0), np.vstack((y[new], demand)))


def relative_weights(pool: Element) -> list[float]:
    """Divide the children's weights by the smallest, those next to nothing left out of the search for it."""
    smallest = min((c.weight for c in pool.children if c.weight > SMALLEST_WEIGHT), default=1.0)
    return [c.weight / smallest for c in pool.children]


def _scaled_children(pool: Element, settings: Settings) -> list[Curve]:
    pairs = zip(pool.children, relative_weights(pool), strict=True)
    return [functions_of(child, settings).by_suggestion.argument_scaled(weight) for child, weight in pairs]


def _children_one_by_one(curves: list[Curve]) -> Curve:
    """Give each breakpoint of each child a fit factor of its own, so that one child jumps after the other.

    The value of the result has a row a child, shape (K, n, R).
    """
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
    return sampled(np.arange(len(x), dtype=float), np.stack(left, axis=1), np.stack(right, axis=1))


def in_order(vectors: Array | list[Array]) -> Array:
    """Add up from first to last (NumPy's own sum may pair them up differently)."""
    return reduce(np.add, vectors)


def _of_fifo_pool(pool: Element, settings: Settings) -> Curve:
    """Serve the children one after the other: child i between fit factors i and i + 1."""
    curves = [
        functions_of(c, settings).by_suggestion.shifted(float(i)) for i, c in enumerate(pool.fifo_order)
    ]
    return add(curves, 0.0, float(len(curves))).trimmed_right()


def _fit_factor_by_suggestion(element: Element, a: Curve) -> Curve:
    """Build M: the largest fit factor at which no resource is above its guarantee plus the suggestion."""
    lowest, highest = a.y[0], a.y[-1]
    limit = np.minimum(np.maximum(element.limits_share, lowest), highest)
    guarantee = np.minimum(np.maximum(element.strong + element.proposed_integral, lowest), limit)
    restrictions = [
        _within(a.component(r).transposed(), float(guarantee[r]), float(limit[r]))
        for r in np.flatnonzero(highest > lowest).tolist()  # a level resource restricts nothing
    ]
    return reduce(minimum, restrictions) if restrictions else Curve([0.0, 1.0], [a.last, a.last])


def _within(inverse: Curve, guarantee: float, limit: float) -> Curve:
    """Cut one resource's inverse to what lies between guarantee and limit, moved to suggestions [0, 1]."""
    curve = inverse.narrowed(guarantee, limit).trimmed_left().shifted(-guarantee)
    if curve.last < 1:
        return Curve(np.append(curve.x, 1.0), np.append(curve.y, curve.y[-1]))
    return curve.trimmed_right()
