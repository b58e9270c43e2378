"""Volumes of integral pools over time.

Source: YTsaurus fair-share specification, section 2.6. Volumes are quanta times seconds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.reference.functions import Array
from tests.reference.tree import Element, Settings, Tree, half_away

EPSILON = 1e-9


def update_volumes(tree: Tree, settings: Settings, integral_pools: list[Element]) -> None:
    """Consume and refill the volumes, then hand around what did not fit."""
    if not tree.total.any() or tree.previous is None:
        return
    for pool in integral_pools:
        _refill(tree, pool, settings, tree.now - tree.previous)
    pools = [e for e in tree.root.walk() if e.is_pool]
    for pool in reversed(pools):
        _collect_overflow(pool)
    for pool in pools:
        _hand_down(tree, pool)


def rounded(tree: Tree, volume: Any) -> Array:
    """Round the volumes of fixed-point resources, as every operation on them does."""
    return np.where(tree.fixed_point, half_away(volume), volume)


def _refill(tree: Tree, pool: Element, settings: Settings, seconds: float) -> None:
    period = settings.integral_pool_capacity_saturation_period_s
    capacity = rounded(tree, half_away(tree.total * pool.flow) * period)
    offered = rounded(tree, tree.total * seconds)
    old = pool.volume
    earned = rounded(tree, offered * pool.flow)
    spent = rounded(tree, offered * pool.last_ratio)
    volume = np.maximum(old + earned - spent, 0)
    upper = np.maximum(old, capacity)
    pool.overflow = np.maximum(volume - upper, 0)
    if pool.integral("can_accept_free_volume", True):
        pool.acceptable = np.maximum(capacity - volume, 0)
    pool.volume = np.minimum(volume, upper)


def _collect_overflow(pool: Element) -> None:
    if pool.integral_type != "none":
        return
    pool.children_overflow = sum((c.overflow for c in pool.pools()), pool.zeros())
    excess = pool.children_overflow - sum((c.acceptable for c in pool.pools()), pool.zeros())
    pool.overflow = np.maximum(excess, 0)
    if pool.integral("can_accept_free_volume", True):
        pool.acceptable = np.maximum(-excess, 0)


def _hand_down(tree: Tree, pool: Element) -> None:
    if pool.integral_type != "none":
        pool.volume = rounded(tree, pool.volume + pool.accepted_free)
        return
    free = pool.accepted_free + pool.children_overflow
    if not pool.integral("should_distribute_free_volume_among_children", False):
        return
    for r in np.flatnonzero(free):
        hungry = [c for c in pool.pools() if c.acceptable[r] > EPSILON and c.total_flow > EPSILON]
        hungry.sort(key=lambda c: c.acceptable[r] / c.total_flow)
        left, flow = float(free[r]), sum(c.total_flow for c in hungry)
        full = True
        for child in hungry:
            # Of doubles in units, as implied guarantees are.
            part = left / tree.per_unit[r] * (child.total_flow / flow)
            full = full and part >= child.acceptable[r] / tree.per_unit[r]
            part *= tree.per_unit[r]
            if full:
                part = child.acceptable[r]
                left -= part
                flow -= child.total_flow
            child.accepted_free[r] = half_away(part) if tree.fixed_point[r] else part
