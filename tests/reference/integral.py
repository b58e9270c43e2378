"""Integral shares of burst and relaxed pools.

Source: YTsaurus fair-share specification, sections 2.12 and 2.13.
"""

from __future__ import annotations

import numpy as np

from tests.reference.element_functions import share_at
from tests.reference.functions import Array
from tests.reference.search import largest
from tests.reference.tree import Element, Settings, Tree

NUDGES = 32


def share_out_burst(tree: Tree, settings: Settings, pools: list[Element]) -> None:
    """Give burst pools their integral shares, one after the other (section 2.12)."""
    for pool in pools:
        rate = min(pool.burst, tree.min_ratio(pool.volume) / settings.integral_smooth_period_s)
        pool.proposed_integral = _nudged(pool, np.minimum(rate, _room(tree, pool)))
        integral = np.maximum(share_at(pool, 0.0, settings) - pool.strong, 0)
        pool.proposed_integral = pool.zeros()
        pool.functions = None
        _propose(tree, pool, integral)


def share_out_relaxed(tree: Tree, settings: Settings, pools: list[Element]) -> None:
    """Give relaxed pools what guarantees leave, in proportion to their volumes (section 2.13)."""
    kept = (np.minimum(c.strong + c.proposed_integral, c.demand_share) for c in tree.root.children)
    available = np.maximum(1 - sum(kept, tree.root.zeros()), 0)
    rates = {p: tree.min_ratio(p.volume) / settings.integral_smooth_period_s for p in pools}
    pools = [p for p in pools if rates[p] > 0]
    if not pools:
        return
    own_limits = [p.limits_share for p in pools]
    for pool in pools:
        most = pool.flow * pool.integral("relaxed_share_multiplier_limit", 3.0)
        pool.limits_share = np.minimum(pool.limits_share, pool.strong + min(rates[pool], most))
    lowest = min(rates[p] for p in pools)

    def beyond_guarantee(pool: Element, factor: float) -> Array:
        suggestion = min(1.0, factor * (rates[pool] / lowest))
        return np.maximum(share_at(pool, suggestion, settings) - pool.strong, 0)

    def feasible(factor: float) -> bool:
        wanted = sum((beyond_guarantee(p, factor) for p in pools), tree.root.zeros())
        return bool(np.all(wanted <= available))

    factor = largest(feasible, 0.0, 1.0)
    for pool, limits_share in zip(pools, own_limits, strict=True):
        integral = beyond_guarantee(pool, factor)
        pool.limits_share = limits_share
        pool.functions = None
        _propose(tree, pool, np.maximum(np.minimum(integral, _room(tree, pool)), 0))


def _room(tree: Tree, pool: Element) -> Array:
    """Return what the limits of a pool and its ancestors below the root leave beside their guarantees."""
    path = [e for e in (pool, *pool.ancestors()) if e is not tree.root]
    room: Array = np.min([e.limits_share - e.strong - e.proposed_integral for e in path], axis=0)
    return room


def _propose(tree: Tree, pool: Element, integral: Array) -> None:
    """Add an integral share to a pool and to all its ancestors."""
    pool.last_ratio = float(integral.max(initial=0.0))
    for element in (pool, *pool.ancestors()):
        more = element.proposed_integral + integral
        element.proposed_integral = more if element is tree.root else _nudged(element, more)


def _nudged(element: Element, proposed: Array) -> Array:
    """Lower an integral share, in the last places, until guarantee and it are within the limits exactly.

    Only in the resources that are above: in the others too, as section 2.12 can be read, one unit in the last
    place too much in one resource would propose all that the limits leave in every other.
    """
    over = element.strong + proposed > element.limits_share
    proposed = np.where(over, element.limits_share - element.strong, proposed)
    for _ in range(NUDGES):
        over = element.strong + proposed > element.limits_share
        if not over.any():
            break
        proposed = np.where(over, np.nextafter(proposed, 0.0), proposed)
    return proposed
