"""Attributes and strong guarantees of an update, before anything is shared out.

Source: YTsaurus fair-share specification, sections 2.1 (checks), 2.2 to 2.5, 2.7 to 2.9.
"""

from __future__ import annotations

import numpy as np

from tests.reference.functions import Array
from tests.reference.search import largest
from tests.reference.tree import Diagnostic, Element, Settings, Tree, half_away

EPSILON = 1e-9


def check_settings(tree: Tree) -> list[Diagnostic]:
    """Find promised pools inside promised pools, and priority pools without a donor (section 2.1, step 1)."""
    pools = [e for e in tree.elements if e.is_pool]
    nested = [
        p.name
        for p in pools
        if p.flag("compute_promised_guarantee")
        and any(a.flag("compute_promised_guarantee") for a in p.ancestors())
    ]
    orphans = [p.name for p in pools if p.flag("priority_strong_guarantee") and not has_donor(p)]
    found = (
        ("nested_promised_guarantee_fair_share_pools", nested),
        ("priority_strong_guarantee_adjustment_pools_without_donor", orphans),
    )
    return [
        Diagnostic(code, tuple(sorted(names, key=lambda n: str(n).encode())), {})
        for code, names in found
        if names
    ]


def has_donor(pool: Element) -> bool:
    """Ask the first ancestor with either flag: a donor (also if both) says yes, a priority pool no (2.7)."""
    for ancestor in pool.ancestors():
        if ancestor.flag("priority_donor"):
            return True
        if ancestor.flag("priority_strong_guarantee"):
            return False
    return False


def infer_guarantees(tree: Tree, settings: Settings) -> None:
    """Fill in absent guarantees from the main resource, top-down (section 2.3).

    Amounts are in quanta; quotients are taken of doubles in units.
    """
    main = tree.resources.index(name) if (name := settings.main_resource or "cpu") in tree.resources else None
    tree.root.inferred = tree.total.astype(float)
    for pool in tree.root.walk():
        if pool.children:
            _infer_children(tree, pool, main)


def _infer_children(tree: Tree, pool: Element, main: int | None) -> None:
    own = tree.units(pool.inferred)
    absent = np.array([[g is None for g in c.guarantee] for c in pool.children])
    given = np.array([[0 if g is None else g for g in c.guarantee] for c in pool.children], float)
    if main is not None:
        absent[:, main] = False
        wanted = tree.units(given)[:, main]
        fraction = wanted / own[main] if own[main] > 0 else np.zeros(len(given))
        residual = tree.units(np.maximum(pool.inferred - given.sum(axis=0), 0))
        implied = np.where(absent, fraction[:, None] * own, 0.0)
        sums = implied.sum(axis=0)
        if pool is not tree.root:
            over = sums > residual
            implied[:, over] *= residual[over] / sums[over]
        # A double stored in an integer resource is cut; fixed point is rounded (section 1.1).
        implied *= tree.per_unit
        given += np.where(tree.fixed_point, half_away(implied), np.trunc(implied))
    for child, amounts in zip(pool.children, given, strict=True):
        child.inferred = amounts


def collect_attributes(tree: Tree, settings: Settings) -> None:
    """Compute shares, and flow and burst ratios, bottom-up; order FIFO pools (sections 2.2, 2.4, 2.5)."""
    for element in reversed(list(tree.root.walk())):
        if element.is_pool:
            element.demand = sum((c.demand for c in element.children), np.zeros_like(tree.total))
            element.usage = sum((c.usage for c in element.children), np.zeros_like(tree.total))
        element.limits_share = tree.share(np.minimum(element.limits, tree.total))
        if not element.is_pool:
            element.limits_share = np.minimum(element.limits_share, element.best_allocation_share)
        element.demand_share = tree.share(element.demand)
        element.usage_share = tree.share(element.usage)
        if element is tree.root:
            element.strong = sum((c.strong for c in element.children), element.zeros())
        else:
            element.strong = tree.share(element.inferred)
            if settings.limit_strong_before_scaling:
                element.strong = np.minimum(element.strong, element.limits_share)
        if element.is_pool:
            _collect_ratios(tree, element)
            element.fifo_order = list(element.children)
        if element.is_fifo:
            element.fifo_order.sort(key=lambda c: (-c.weight, _start(c)))
            for index, child in enumerate(element.fifo_order):
                child.fifo_index = index


def _start(operation: Element) -> float:
    start = operation.settings.get("fifo_start_time")
    return float(operation.settings.get("start_time") or 0.0) if start is None else float(start)


def _collect_ratios(tree: Tree, pool: Element) -> None:
    if pool.integral_type != "none":
        pool.flow = tree.max_ratio(_quanta(tree, pool, "resource_flow"))
        pool.burst = tree.max_ratio(_quanta(tree, pool, "burst"))
    pool.total_flow = pool.flow + sum(c.total_flow for c in pool.pools())
    pool.total_burst = pool.burst + sum(c.total_burst for c in pool.pools())


def _quanta(tree: Tree, pool: Element, key: str) -> Array:
    given = pool.integral(key, None) or {}
    return half_away(np.array([given.get(r) or 0.0 for r in tree.resources]) / tree.quantum)


def check_overcommit(tree: Tree, burst_pools: list[Element]) -> list[Diagnostic]:
    """Compare guarantees with the total; scale strong and burst guarantees down together (section 2.7)."""
    root = tree.root
    strong = sum((c.inferred for c in root.children), root.zeros())
    found = []
    for kind, ratio in (("strong_plus_flow", root.total_flow), ("strong_plus_burst", root.total_burst)):
        if not np.all(strong + half_away(tree.total * ratio) <= tree.total):
            found.append(
                Diagnostic("pool_tree_guarantees_overcommit", (root.name,), {"kind": kind, "ratio": ratio})
            )
    if found and found[-1].numbers["kind"] == "strong_plus_burst":
        wanted = root.strong + sum(p.burst for p in burst_pools)
        k = largest(lambda x: bool(np.all(wanted * x <= 1)), 0.0, 1.0)
        root.strong = root.strong * k
        for pool in burst_pools:
            pool.burst *= k
    return found


def adjust_guarantees(tree: Tree) -> None:
    """Split strong guarantees by tier, and fit the children's into their parent's (section 2.7)."""
    for element in reversed(list(tree.root.walk())):
        _split(element)
    for pool in tree.root.walk():
        if pool.is_pool:
            _fit_children(pool)
    tree.root.strong_by_tier = [tree.root.zeros(), tree.root.strong]


def _split(element: Element) -> None:
    nothing = element.zeros()
    if not element.is_pool:
        priority = regular = nothing
    elif element.flag("priority_strong_guarantee") and has_donor(element):
        priority, regular = element.strong, nothing
    elif element.flag("priority_donor"):
        priority, regular = nothing, element.strong
    else:
        priority = sum((c.strong_by_tier[0] for c in element.pools()), nothing)
        regular = element.strong - priority
    element.strong_by_tier = [priority, regular]


def _fit_children(pool: Element) -> None:
    pool.strong = np.minimum(pool.strong, pool.limits_share)
    fixed = pool.zeros()
    full = False
    for tier in (0, 1):
        wanted = [c.strong_by_tier[tier] for c in pool.children]
        available = np.maximum(pool.strong - fixed, 0)

        def scaled(k: float, wanted: list[Array] = wanted) -> Array:
            return sum((w * k for w in wanted), pool.zeros())

        k = 0.0
        if not full:
            k = largest(lambda x: bool(np.all(scaled(x) <= available)), 0.0, 1.0)  # noqa: B023
            full = k < 1
            fixed = fixed + scaled(k)
        for child, share in zip(pool.children, wanted, strict=True):
            child.strong_by_tier[tier] = share * k
    for child in pool.children:
        child.strong = child.strong_by_tier[0] + child.strong_by_tier[1]


def estimate_guarantees(tree: Tree, settings: Settings) -> None:
    """Hand the root's guarantee down as if nothing were used (section 2.8, older attributes 2.16)."""
    tree.root.estimated = tree.root.strong
    tree.root.promised = (tree.total > 0).astype(float)
    for pool in tree.root.walk():
        counts_flow = settings.estimated_guarantee_counts_flow
        for child, share in zip(pool.children, _handed_down(pool, pool.estimated, counts_flow), strict=True):
            child.estimated = share
        if settings.promised_fair_share:
            for child, share in zip(pool.children, _handed_down(pool, pool.promised, True), strict=True):
                child.promised = share


def _handed_down(pool: Element, whole: Array, counts_flow: bool) -> list[Array]:
    left = whole
    parts = []
    for child in pool.children:
        wanted = child.strong + child.total_flow if counts_flow else child.strong
        parts.append(np.minimum(wanted, left))
        left = left - parts[-1]
    weights = sum(c.weight for c in pool.children)
    return [part + left * (c.weight / weights) for c, part in zip(pool.children, parts, strict=True)]


def reorder_fifo(tree: Tree, settings: Settings) -> None:
    """Move pending gangs that do not fit the pool's guarantee behind those that do (section 2.9)."""
    if not (settings.step_function_for_gang and settings.fifo_reordering):
        return
    for pool in tree.root.walk():
        wanted = pool.is_fifo and pool.flag("fifo_reordering") and pool.has_gang_steps
        if wanted and not np.all(pool.strong <= EPSILON):
            _reorder(pool)


def _reorder(pool: Element) -> None:
    accepted: list[Element] = []
    deferred: list[Element] = []
    charged = pool.zeros()
    stopped = False
    for child in pool.fifo_order:
        impossible = child.gang and not np.all(child.demand_share <= child.limits_share)
        charge = child.zeros() if impossible else np.minimum(child.demand_share, child.limits_share)
        fits = bool(np.all(charged + charge <= pool.strong + EPSILON))
        if stopped or (child.gang and not child.usage.any() and not fits):
            deferred.append(child)
            continue
        accepted.append(child)
        charged = charged + charge
        stopped = not fits and not child.gang
    if accepted + deferred != pool.fifo_order:
        pool.fifo_order = accepted + deferred
        for index, child in enumerate(pool.fifo_order):
            child.effective_fifo_index = index
