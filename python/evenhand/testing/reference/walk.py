"""Walking down from the root: who gets how much.

Source: YTsaurus fair-share specification, sections 2.14 and 2.15.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from evenhand.testing.reference.element_functions import in_order, smallest_weight, suggestion_curve
from evenhand.testing.reference.functions import Array
from evenhand.testing.reference.search import largest
from evenhand.testing.reference.tree import Detail, Element, Settings, Tree

EPSILON = 1e-9
LARGE_EPSILON = 1e-4

Store = Callable[[Element, Array], None]
"""Keeps an element's total in one of its two detailed shares."""


def walk_down(tree: Tree, settings: Settings) -> None:
    """Share out everything from the root, and the guaranteed part again below pools that opted in."""

    def keep(element: Element, total: Array) -> None:
        element.fair_share = detail(element, total)

    def keep_promised(element: Element, total: Array) -> None:
        element.promised_guarantee = detail(element, total)

    give(tree.root, 1.0, settings, keep)
    for pool in _outermost_promised(tree.root):
        give(pool, 0.0, settings, keep_promised)
    if settings.fifo_truncation:
        _truncate_fifo_gangs(tree)
    _total_up(tree.root)


def detail(element: Element, total: Array) -> Detail:
    """Split a total into what the strong guarantee, the integral share and the weight account for."""
    strong = np.minimum(total, element.strong)
    integral = np.minimum(total - strong, element.proposed_integral)
    return Detail(total, strong, integral, total - strong - integral)


def _outermost_promised(element: Element) -> list[Element]:
    if element.is_pool and element.flag("compute_promised_guarantee"):
        return [element]
    return [found for child in element.children for found in _outermost_promised(child)]


def give(element: Element, suggestion: float, settings: Settings, keep: Store) -> None:
    """Offer a suggestion to an element and share the outcome out below it."""
    if settings.improved:
        _give_vector(element, suggestion_curve(element)(suggestion), settings, keep)
    else:
        _give_suggestion(element, suggestion, keep)


def _give_suggestion(element: Element, suggestion: float, keep: Store) -> None:
    """Plain walk: one fit factor gives every child a suggestion."""
    wanted = suggestion_curve(element)(suggestion)
    keep(element, wanted)
    if not element.children:
        return
    assert element.fit_factor is not None
    suggestions = _fifo_suggestions if element.is_fifo else _weighted_suggestions

    def fits(factor: float) -> bool:
        shares = [suggestion_curve(c)(s) for c, s in suggestions(element, factor)]
        return bool(np.all(in_order(shares) <= wanted + EPSILON))

    factor = largest(fits, 0.0, float(element.fit_factor(suggestion)))
    for child, offered in suggestions(element, factor):
        _give_suggestion(child, offered, keep)


def _weighted_suggestions(pool: Element, factor: float) -> list[tuple[Element, float]]:
    w_min = smallest_weight(pool)
    return [(c, min(1.0, factor * (c.weight / w_min))) for c in pool.children]


def _fifo_suggestions(pool: Element, factor: float) -> list[tuple[Element, float]]:
    return [(c, min(max(factor - i, 0.0), 1.0)) for i, c in enumerate(pool.fifo_order)]


def _give_vector(element: Element, vector: Array, settings: Settings, keep: Store) -> None:
    """Improved walk: the largest fit factor at which the children's own shares stay within the vector."""
    keep(element, vector)
    if not element.children:
        return
    assert element.by_fit_factor is not None
    last = element.by_fit_factor.last
    children = element.fifo_order if element.is_fifo else element.children

    def shares(factor: float) -> Array:
        if element.is_fifo:
            given = [
                suggestion_curve(c)(s) if s > 0 else c.zeros() for c, s in _fifo_suggestions(element, factor)
            ]
            return np.stack(given)
        assert element.children_by_fit_factor is not None
        found: Array = element.children_by_fit_factor(factor)
        return found

    def total(factor: float) -> Array:
        return in_order(list(shares(factor)))

    factor = largest(lambda f: bool(np.all(total(f) <= vector)), 0.0, last)
    if settings.improved_gap and np.any(vector > total(factor) + EPSILON):
        factor = largest(lambda f: bool(np.all(total(f) <= vector + EPSILON)), factor, last)
    if factor < EPSILON:
        factor = 0.0
    for child, share in zip(children, shares(factor), strict=True):
        _give_vector(child, share, settings, keep)


def _truncate_fifo_gangs(tree: Tree) -> None:
    """Older rule: a gang of a FIFO pool without its whole demand gets nothing, and nobody else gets it."""
    for pool in tree.root.walk():
        for child in pool.children if pool.is_fifo else ():
            got = child.fair_share.total
            if not child.gang or not got.any() or np.all(got >= child.demand_share - LARGE_EPSILON):
                continue
            child.fair_share = detail(child, child.zeros())
            for ancestor in child.ancestors():
                left = np.maximum(ancestor.fair_share.total - got, 0)
                ancestor.fair_share = detail(ancestor, left)


def _total_up(root: Element) -> None:
    """The root's share is what its children got."""
    shares = [c.fair_share for c in root.children]
    total = sum((s.total for s in shares), root.zeros())
    strong = np.minimum(total, sum((s.strong for s in shares), root.zeros()))
    integral = np.minimum(total - strong, root.proposed_integral)
    root.fair_share = Detail(total, strong, integral, total - strong - integral)


def floor_index(factor: float) -> int:
    """Number of children that are served in full at a fit factor of a FIFO pool."""
    return math.floor(factor)
