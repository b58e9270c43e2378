"""Strategies for clusters in which work may have to give way: full nodes, starving operations, settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from evenhand.testing.strategies import _crowded
from evenhand.testing.strategies._pace import paced
from evenhand.testing.strategies._picking import picks

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from evenhand.config.triggers import Heartbeat, Round
    from evenhand.systems.ytsaurus.settings import YTsaurusSettings

__all__ = ["PlanInput", "crowded_dicts", "plan_inputs", "ytsaurus_settings"]

_CHOICES: Mapping[str, tuple[Any, ...]] = {
    "stage_order": ("regular_preemptive_aggressive", "regular_aggressive_preemptive"),
    "preemptive_stage_targets": ("starving_and_aggressively_starving", "exactly_starving"),
    "victim_selection": ("irreducible", "prefix", "minimum"),
    "victim_cost": ("victims", "lost_work", "given"),
    "preemptive_starts": ("one_per_stage", "one_per_heartbeat"),
    "satisfied_demand_tolerance": ("configured", "one"),
    "consider_allocation_on_fair_share_bound_preemptible": (True, False),
    "usage_threshold_scope": ("operation", "prefix"),
    "limit_repair": ("every_heartbeat", "stage"),
    "node_overcommit_delay": (0.0, 15.0),
    "order_key": ("last_job_start", "last_progress"),
    "victims_room": ("held_until_gone", "free_at_once"),
    "scheduling_preemption_priority_scope": ("operation_and_ancestors", "operation_only"),
    "enable_aggressive_starvation": (False, True),
    "enable_pool_starvation": (True, False),
    "enable_absolute_fair_share_starvation_tolerance": (False, True),
    "allow_preemption_from_starving_operations": (False, True),
    "allow_aggressive_preemption_for_gang_operations": (True, False),
    "allocation_count_preemption_timeout_coefficient": (1.0, 4.0),
    "preemptive_scheduling_backoff": (5.0, 0.0),
}

#: The largest number that says which switches stand otherwise.
SWITCHES = 4 ** len(_CHOICES) - 1


@dataclass(frozen=True)
class PlanInput:
    """Everything that a plan is made of.

    Attributes
    ----------
    snapshot : dict
        In the file format.
    settings : YTsaurusSettings
    state : dict
        What an earlier plan could have left.
    given : dict
        "starvation" of some elements; may be empty.
    on : Round or Heartbeat
    """

    snapshot: dict[str, Any]
    settings: YTsaurusSettings
    state: dict[str, Any]
    given: dict[str, Any]
    on: Round | Heartbeat


def crowded_dicts(
    *, max_nodes: int = 3, max_pools: int = 4, max_operations: int = 6, max_allocations: int = 16
) -> SearchStrategy[dict[str, Any]]:
    """Draw valid snapshots in the file format whose nodes are full, or overfull.

    Parameters
    ----------
    max_nodes, max_pools, max_operations, max_allocations : int
        How many rows at most; there are at least one node and one operation.

    Returns
    -------
    SearchStrategy[dict]
        Amounts are small whole numbers, so equal sums and equal times are common. Some allocations are
        leaving already, some are suspended; some operations are graceful, unschedulable or gangs.
    """
    return st.deferred(
        lambda: _crowded.tables(max_nodes, max_pools, max_operations, max_allocations).map(_crowded.snapshot)
    )


def ytsaurus_settings(
    resources: Sequence[str] = ("cpu",), *, allow_ssd: bool = True
) -> SearchStrategy[YTsaurusSettings]:
    """Draw settings of the YTsaurus policy: a preset, and some switches and thresholds of one's own.

    Parameters
    ----------
    resources : sequence of str
        Names of the resources, one of which may have a usage threshold.
    allow_ssd : bool
        Whether the stages for SSD nodes may be switched on; the tag is "ssd", the medium "ssd".

    Returns
    -------
    SearchStrategy[YTsaurusSettings]
    """
    drawn: SearchStrategy[tuple[Any, ...]] = st.tuples(
        st.sampled_from(("documented", "upstream")),
        st.integers(0, SWITCHES),
        st.tuples(st.integers(0, 6), st.integers(0, 6)),
        st.integers(0, 4),
        st.tuples(st.booleans(), st.booleans()),
    )
    return drawn.map(lambda numbers: settings_of(numbers, resources, allow_ssd=allow_ssd))


def settings_of(
    drawn: tuple[Any, ...], resources: Sequence[str] = ("cpu",), *, allow_ssd: bool = True
) -> YTsaurusSettings:
    """Return settings of drawn numbers, those of `ytsaurus_settings`."""
    from evenhand.systems.ytsaurus.settings import YTsaurusSettings

    preset, switches, thresholds, limit, (ssd, full_host) = drawn
    changes: dict[str, Any] = {}
    for number, name in enumerate(_CHOICES):
        if switches >> (2 * number) & 3 == 3:  # a quarter of the switches stand otherwise
            usual = YTsaurusSettings.preset(preset).model_dump()[name]
            changes[name] = next(value for value in _CHOICES[name] if value != usual)
    aggressive, plain = sorted(thresholds)
    changes["aggressive_preemption_satisfaction_threshold"] = aggressive / 4
    changes["preemption_satisfaction_threshold"] = max(plain, 1) / 4
    if limit:
        changes["non_preemptible_resource_usage_threshold"] = {resources[-1]: float(limit)}
    if ssd and allow_ssd:
        changes["ssd_priority_preemption"] = {
            "enable": True,
            "node_tag_filter": "ssd",
            "medium_names": ["ssd"],
        }
    if full_host:
        changes["default_gpu_full_host_preemption"] = {"enable": True, "max_preemption_penalty": 100.0}
    return YTsaurusSettings.preset(preset, **changes)


def plan_inputs(**bounds: int) -> SearchStrategy[PlanInput]:
    """Draw everything that a plan is made of; `bounds` are those of `crowded_dicts`.

    Returns
    -------
    SearchStrategy[PlanInput]
    """

    def build(drawn: tuple[Any, ...]) -> PlanInput:
        snapshot, settings, clocks, given, on, pick = drawn
        pace, victims = paced(snapshot, pick)
        state = _crowded.state(snapshot, clocks)
        return PlanInput(
            snapshot,
            settings.replace(pace=pace) if pace else settings,
            {**state, "victims": victims} if victims else state,
            _crowded.given(snapshot, given),
            _crowded.trigger(snapshot, on),
        )

    def strategy() -> SearchStrategy[PlanInput]:
        codes = st.binary(min_size=0, max_size=12)
        drawn: SearchStrategy[tuple[Any, ...]] = st.tuples(
            *(crowded_dicts(**bounds), ytsaurus_settings(_crowded.ALWAYS)),
            *(codes, codes, st.integers(0, 3), picks(64)),
        )
        return drawn.map(build)

    return st.deferred(strategy)
