"""The three groups of an operation's allocations, and the level that a group gives (sections 2.1 to 2.4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenhand.systems.ytsaurus.settings import YTsaurusSettings
from tests.reference.ytsaurus.codes import GROUPS, LEVELS, STAGE_LEVELS
from tests.reference.ytsaurus.status import clearly_above
from tests.reference.ytsaurus.vectors import EPSILON, Amounts, Shares, plus
from tests.reference.ytsaurus.world import Allocation, Element, Node, World

__all__ = ["age", "cut", "cut_points", "level", "may_be_victim", "most_wanted_first"]


def age(allocation: Allocation, tree: YTsaurusSettings) -> tuple[int, int]:
    """Return the key by which allocations stand from the oldest to the newest."""
    moment = allocation.last_job_start
    if tree.order_key == "last_progress" and allocation.last_progress is not None:
        moment = max(moment, allocation.last_progress)
    return moment, allocation.row


def cut_points(
    world: World, operation: Element, amounts: list[Amounts], threshold: dict[str, float]
) -> tuple[int, int]:
    """Return how many allocations are not preemptible, and where the preemptible ones begin.

    Parameters
    ----------
    world : World
    operation : Element
        With fair share and demand of the update.
    amounts : list of amounts
        Of its allocations, from the oldest to the newest.
    threshold : dict
        Its usage threshold in effect; empty is none.

    Returns
    -------
    first, second : int
    """
    tree = world.settings
    limits = world.quanta(threshold)
    named = [(r, limit) for r, limit in enumerate(limits) if limit is not None]

    def below_threshold(used: Amounts) -> bool:
        return bool(named) and all(used[r] < limit - EPSILON for r, limit in named)

    if tree.usage_threshold_scope == "operation":
        if below_threshold(operation.usage):
            return len(amounts), len(amounts)
        named.clear()

    def prefix(bound: Shares) -> int:
        used = [0] * len(world.resources)
        for count, amount in enumerate(amounts):
            after = plus(used, amount)
            looked_at = after if tree.consider_allocation_on_fair_share_bound_preemptible else used
            share = world.share(looked_at)
            on_bound = all(abs(s - b) <= EPSILON for s, b in zip(share, bound, strict=True))
            inside = below_threshold(looked_at) or clearly_above(
                bound, share, operation.fair_share, operation.demand
            )
            if tree.consider_allocation_on_fair_share_bound_preemptible:
                inside = inside or on_bound
            if not inside:
                return count
            used = after
        return len(amounts)

    first = prefix([f * tree.aggressive_preemption_satisfaction_threshold for f in operation.fair_share])
    pairs = list(zip(operation.fair_share, operation.demand, strict=True))
    if all(abs(f - d) <= EPSILON for f, d in pairs) and any(d > EPSILON for _, d in pairs):
        return first, len(amounts)
    second = prefix([f * tree.preemption_satisfaction_threshold for f in operation.fair_share])
    return first, max(first, second)


def cut(world: World, given: Mapping[Any, str]) -> None:
    """Put every running allocation into its group by what its operation uses now; given groups stay."""
    for operation in world.operations:
        running = sorted(
            (a for a in operation.allocations if a.running), key=lambda a: age(a, world.settings)
        )
        first, second = cut_points(
            world, operation, [a.amounts for a in running], operation.effective.usage_threshold
        )
        for place, allocation in enumerate(running):
            computed = GROUPS[(place >= first) + (place >= second)]
            allocation.group = given.get(allocation.name, computed)


def level(allocation: Allocation, node: Node, tree: YTsaurusSettings) -> str:
    """Return the level that decides which stages may take an allocation."""
    found = str(allocation.group)
    if found == "aggressively_preemptible" and not allocation.operation.effective.allow_aggressive_preemption:
        found = "non_preemptible"
    on_ssd = node.ssd_mode and allocation.own.disk_medium in tree.ssd_priority_preemption.medium_names
    return f"ssd_{found}" if on_ssd and found != "preemptible" else found


def may_be_victim(allocation: Allocation, node: Node, stage: str, tree: YTsaurusSettings) -> bool:
    """Tell whether a preemptive stage may take an allocation of the node."""
    operation = allocation.operation
    starving = operation.starvation != "non_starving"
    return (
        allocation.running
        and not allocation.opted_out
        and not operation.graceful
        and (stage != "preemptive" or operation.effective.allow_normal_preemption)
        and (tree.allow_preemption_from_starving_operations or not starving)
        and LEVELS.index(level(allocation, node, tree)) >= LEVELS.index(STAGE_LEVELS[stage])
    )


def most_wanted_first(allocations: list[Allocation], tree: YTsaurusSettings) -> list[Allocation]:
    """Sort victims: the least safe group first, of safe ones those with a cpu gap first, then the newest."""

    def key(allocation: Allocation) -> tuple[int, bool, tuple[int, int]]:
        group = GROUPS.index(str(allocation.group))
        gap = allocation.cpu_gap and allocation.group != "preemptible"
        return group, gap, age(allocation, tree)

    return sorted(allocations, key=key, reverse=True)
