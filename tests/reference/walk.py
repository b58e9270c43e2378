"""Walking down from the root: who gets how much.

Source: YTsaurus fair-share specification, sections 2.14 and 2.15.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.reference.element_functions import functions_of, in_order, relative_weights, share_at
from tests.reference.functions import Array
from tests.reference.search import largest
from tests.reference.tree import Detail, Element, Settings, Tree

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

    _give(tree.root, 1.0, settings, keep)
    for pool in _outermost_promised(tree.root):
        _give(pool, 0.0, settings, keep_promised)
    if settings.fifo_truncation:
        _truncate_fifo_gangs(tree)
    # "Root" in 2.14 ends the walk from suggestion 1. The promised share of a root that opted in is
    # split as any pool's: its strong part reaches to its own strong share, not to its children's parts.
    tree.root.fair_share = _sum_of_children(tree.root)


def detail(element: Element, total: Array) -> Detail:
    """Split a total into what the strong guarantee, the integral share and the weight account for."""
    strong = np.minimum(total, element.strong)
    integral = np.minimum(total - strong, element.proposed_integral)
    return Detail(total, strong, integral, total - strong - integral)


def _outermost_promised(element: Element) -> list[Element]:
    if element.is_pool and element.flag("compute_promised_guarantee"):
        return [element]
    return [found for child in element.children for found in _outermost_promised(child)]


def _give(element: Element, suggestion: float, settings: Settings, keep: Store) -> None:
    if settings.improved:
        _give_vector(element, share_at(element, suggestion, settings), settings, keep)
    else:
        _give_suggestion(element, suggestion, settings, keep)


def _give_suggestion(element: Element, suggestion: float, settings: Settings, keep: Store) -> None:
    """Plain walk: one fit factor gives every child a suggestion."""
    wanted = share_at(element, suggestion, settings)
    keep(element, wanted)
    if not element.children:
        return
    suggestions = _fifo_suggestions if element.is_fifo else _weighted_suggestions

    def fits(factor: float) -> bool:
        shares = [share_at(c, s, settings) for c, s in suggestions(element, factor)]
        return bool(np.all(in_order(shares) <= wanted + EPSILON))

    factor = largest(fits, 0.0, float(functions_of(element, settings).fit_factor(suggestion)))
    for child, offered in suggestions(element, factor):
        _give_suggestion(child, offered, settings, keep)


def _weighted_suggestions(pool: Element, factor: float) -> list[tuple[Element, float]]:
    pairs = zip(pool.children, relative_weights(pool), strict=True)
    return [(child, min(1.0, factor * weight)) for child, weight in pairs]


def _fifo_suggestions(pool: Element, factor: float) -> list[tuple[Element, float]]:
    return [(child, min(max(factor - i, 0.0), 1.0)) for i, child in enumerate(pool.fifo_order)]


def _give_vector(element: Element, vector: Array, settings: Settings, keep: Store) -> None:
    """Improved walk: the largest fit factor at which the children's shares stay within the vector."""
    keep(element, vector)
    if not element.children:
        return
    functions = functions_of(element, settings)
    children = element.fifo_order if element.is_fifo else element.children

    def shares(factor: float) -> Array:
        if functions.children is not None:
            of_all: Array = functions.children(factor)
            return of_all
        offers = _fifo_suggestions(element, factor)
        return np.stack([share_at(c, s, settings) if s > 0 else c.zeros() for c, s in offers])

    last = functions.by_fit_factor.last
    factor = largest(lambda f: bool(np.all(in_order(shares(f)) <= vector)), 0.0, last)
    if settings.improved_gap and np.any(vector > in_order(shares(factor)) + EPSILON):
        factor = largest(lambda f: bool(np.all(in_order(shares(f)) <= vector + EPSILON)), factor, last)
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
                ancestor.fair_share = detail(ancestor, np.maximum(ancestor.fair_share.total - got, 0))


def _sum_of_children(root: Element) -> Detail:
    """Return what the root has: what its children got, of the strong guarantee as much as theirs together."""
    shares = [c.fair_share for c in root.children]
    total = sum((s.total for s in shares), root.zeros())
    strong = np.minimum(total, sum((s.strong for s in shares), root.zeros()))
    integral = np.minimum(total - strong, root.proposed_integral)
    return Detail(total, strong, integral, total - strong - integral)
