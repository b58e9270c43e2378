"""Status, satisfaction, starvation and priorities (sections 1.1 to 1.6)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from evenhand.systems.ytsaurus.settings import YTsaurusSettings
from tests.reference.ytsaurus.vectors import (
    EPSILON,
    LARGE_EPSILON,
    SATISFIED,
    Shares,
    micros,
)
from tests.reference.ytsaurus.world import Element, World

__all__ = [
    "clearly_above",
    "find_statuses",
    "pool_satisfaction",
    "priority",
    "satisfaction",
    "starve",
    "status",
]


def clearly_above(left: Shares, right: Shares, fair_share: Shares, demand: Shares) -> bool:
    """Tell whether `left` exceeds `right` where it matters; what is within 1e-9 is equal.

    It matters where the fair share is below the demand, in all of these resources; where there is no such
    resource, in any.
    """
    above = [x > y + EPSILON for x, y in zip(left, right, strict=True)]
    is_open = _open(fair_share, demand)
    if not any(is_open):
        return any(above)
    return all(a for a, o in zip(above, is_open, strict=True) if o)


def _open(fair_share: Shares, demand: Shares) -> list[bool]:
    return [f < d - EPSILON for f, d in zip(fair_share, demand, strict=True)]


def status(element: Element, tree: YTsaurusSettings, smallest_need: Shares) -> str:
    """Return "normal" or "below_fair_share".

    Parameters
    ----------
    element : Element
        With fair share, demand and usage of the update.
    tree : YTsaurusSettings
    smallest_need : list of float
        Share of the smallest allocation that an operation still asks for.

    Returns
    -------
    str
    """
    if element.parent is None:
        return "normal"
    fair_share, demand, usage = element.fair_share, element.demand, element.used_at_update
    tolerance = element.effective.tolerance
    if not element.is_pool:
        if not element.schedulable:
            return "normal"
        covered = all(f + LARGE_EPSILON >= d for f, d in zip(fair_share, demand, strict=True))
        if covered and tree.satisfied_demand_tolerance == "one":
            tolerance = 1.0
        elif not covered and tree.enable_absolute_fair_share_starvation_tolerance:
            gap = [f - u for f, u in zip(fair_share, usage, strict=True)]
            if not clearly_above(gap, smallest_need, fair_share, demand):
                return "normal"
    bound = [min(f * tolerance, d) for f, d in zip(fair_share, demand, strict=True)]
    return "below_fair_share" if clearly_above(bound, usage, fair_share, demand) else "normal"


def smallest_need(world: World, operation: Element) -> Shares:
    """Return the least that any request asks for, at most what all ask for together, as shares."""
    if not operation.requests:
        return [0.0] * len(world.resources)
    columns = zip(*(request.amounts for request in operation.requests), strict=True)
    wanted = zip(*([a * q.left for a in q.amounts] for q in operation.requests), strict=True)
    return world.share([min(*one, sum(all_)) for one, all_ in zip(columns, wanted, strict=True)])


def find_statuses(world: World) -> None:
    """Give every element its status."""
    for element in world.elements:
        need = [] if element.is_pool else smallest_need(world, element)
        element.status = status(element, world.settings, need)


def satisfaction(fair_share: Shares, usage: Shares, demand: Shares) -> float:
    """Return how much of its fair share is used: below 1 if it lacks something, 1e9 at the most.

    Shares that differ by at most 1e-9 are equal.
    """
    if all(f <= EPSILON for f in fair_share):
        return SATISFIED
    pairs = list(zip(usage, fair_share, strict=True))
    if any(u > f + EPSILON for u, f in pairs):
        return min(SATISFIED, max(_ratio(u, f, 0.0) for u, f in pairs))
    is_open = _open(fair_share, demand)
    if not any(is_open):
        return min(_ratio(u, f, 1.0) for u, f in pairs)
    ratios = [u / f for (u, f), o in zip(pairs, is_open, strict=True) if o and f != 0]
    return max(ratios, default=0.0)


def _ratio(usage: float, fair_share: float, of_nothing: float) -> float:
    if fair_share:
        return usage / fair_share
    return SATISFIED if usage > EPSILON else of_nothing


def pool_satisfaction(pool: Element, of_operation: Mapping[Element, float]) -> float:
    """Return the least satisfaction of the operations below that are in the mapping; 1e9 without any."""
    found = [
        pool_satisfaction(child, of_operation) if child.is_pool else of_operation.get(child, SATISFIED)
        for child in pool.children
    ]
    return min(found, default=SATISFIED)


def starve(world: World, before: Mapping[tuple[str, Any], tuple[int | None, str]]) -> None:
    """Walk the clocks of all elements, given their `status`.

    Parameters
    ----------
    world : World
        Gets since, starvation and the lowest starving ancestors.
    before : mapping
        (kind, name) to what the last update left: since when it is below its fair share, and its state.
    """
    for element in world.elements:
        kind = "pool" if element.is_pool else "operation"
        element.since, element.starvation = before.get((kind, element.name), (None, "non_starving"))
        if element.parent is None:
            element.since, element.starvation = None, "non_starving"
        elif not element.is_pool or world.settings.enable_pool_starvation:
            _check(element, world)
    find_ancestors(world.elements)


def _check(element: Element, world: World) -> None:
    if element.status == "normal":
        element.since, element.starvation = None, "non_starving"
        return
    if element.since is None:
        element.since = world.now
        return
    plain, aggressive = timeouts(element, world.settings)
    if element.effective.enable_aggressive_starvation and world.now > element.since + aggressive:
        element.starvation = "aggressively_starving"
    elif world.now > element.since + plain:
        element.starvation = "starving"


def timeouts(element: Element, tree: YTsaurusSettings) -> tuple[int, int]:
    """Return both timeouts in whole microseconds; those of operations that ask for little are shorter."""
    plain = micros(element.effective.timeout)
    aggressive = micros(tree.fair_share_aggressive_starvation_timeout)
    if not element.is_pool and element.requests:
        part = min(1.0, element.pending / tree.allocation_count_preemption_timeout_coefficient)
        plain, aggressive = int(plain * part), int(aggressive * part)
    return plain, aggressive


def find_ancestors(elements: Iterable[Element]) -> None:
    """Find the lowest starving element at or above each; parents stand before their children or are pools."""
    for element in elements:
        chain = element.upwards()
        element.lowest_starving = next((e for e in chain if e.starvation != "non_starving"), None)
        element.lowest_aggressive = next((e for e in chain if e.starvation == "aggressively_starving"), None)


def priority(operation: Element, scope: str) -> str:
    """Return an operation's right to preempt: "none", "normal" or "aggressive"."""
    if not operation.schedulable:
        return "none"
    if scope == "operation_only":
        own = {"starving": "normal", "aggressively_starving": "aggressive"}
        return own.get(operation.starvation, "none")
    if operation.lowest_aggressive is not None:
        return "aggressive"
    return "none" if operation.lowest_starving is None else "normal"
