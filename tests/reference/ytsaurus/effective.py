"""Settings in effect: what the tree, the pools above and the element itself say together (section 1.5)."""

from __future__ import annotations

from dataclasses import dataclass

from evenhand.systems.ytsaurus.settings import (
    YTsaurusOperationSettings,
    YTsaurusPoolSettings,
    YTsaurusSettings,
)
from tests.reference.ytsaurus.world import Element

__all__ = ["Effective", "resolve"]


@dataclass(frozen=True, slots=True)
class Effective:
    """Settings in effect for one element; the timeout is in seconds."""

    tolerance: float
    timeout: float
    enable_aggressive_starvation: bool
    allow_aggressive_preemption: bool
    usage_threshold: dict[str, float]
    allow_normal_preemption: bool = True
    allow_regular_on_ssd: bool = True


def resolve(pools: list[Element], tree: YTsaurusSettings) -> None:
    """Give every pool and every operation below it its `effective` settings, from the root down."""
    whole = Effective(
        tree.fair_share_starvation_tolerance,
        tree.fair_share_starvation_timeout,
        tree.enable_aggressive_starvation,
        tree.allow_aggressive_preemption,
        tree.non_preemptible_resource_usage_threshold,
    )
    waiting = [(pools[0], whole)]
    while waiting:
        element, inherited = waiting.pop()
        own = element.own
        if isinstance(own, YTsaurusPoolSettings):
            element.effective = _of_pool(own, inherited)
            waiting += [(child, element.effective) for child in element.children]
        else:
            gangs = tree.allow_aggressive_preemption_for_gang_operations
            element.effective = _of_operation(own, inherited, spared=element.gang and not gangs)


def _of_pool(own: YTsaurusPoolSettings, inherited: Effective) -> Effective:
    def first(value: object, otherwise: object) -> object:
        return otherwise if value is None else value

    return Effective(
        first(own.fair_share_starvation_tolerance, inherited.tolerance),  # type: ignore[arg-type]
        first(own.fair_share_starvation_timeout, inherited.timeout),  # type: ignore[arg-type]
        bool(first(own.enable_aggressive_starvation, inherited.enable_aggressive_starvation)),
        bool(first(own.allow_aggressive_preemption, inherited.allow_aggressive_preemption)),
        first(own.non_preemptible_resource_usage_threshold, inherited.usage_threshold),  # type: ignore[arg-type]
        own.allow_normal_preemption and inherited.allow_normal_preemption,
        own.allow_regular_allocations_on_ssd_nodes and inherited.allow_regular_on_ssd,
    )


def _of_operation(own: YTsaurusOperationSettings, inherited: Effective, *, spared: bool) -> Effective:
    """Let an operation make itself less pushy and less protected, never the opposite."""
    tolerance, timeout = own.fair_share_starvation_tolerance, own.fair_share_starvation_timeout
    threshold = dict(inherited.usage_threshold)
    for resource, amount in (own.non_preemptible_resource_usage_threshold or {}).items():
        threshold[resource] = min(amount, threshold.get(resource, amount))
    return Effective(
        inherited.tolerance if tolerance is None else min(inherited.tolerance, tolerance),
        inherited.timeout if timeout is None else max(inherited.timeout, timeout),
        inherited.enable_aggressive_starvation,
        inherited.allow_aggressive_preemption and not spared,
        threshold,
        inherited.allow_normal_preemption,
        inherited.allow_regular_on_ssd,
    )
