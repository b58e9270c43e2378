"""What the ``settings`` of a snapshot's rows may hold for the YTsaurus policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from evenhand.config.costs import PreemptionCost
from evenhand.config.kinds import Amounts, Duration, Texts, UnitShare
from evenhand.config.pace import PacedPool
from evenhand.config.rows import NoSettings, RowSettings, raise_found, read_tables, strangers

if TYPE_CHECKING:
    from pydantic import BaseModel

    from evenhand.errors import Problem
    from evenhand.model import Snapshot

__all__ = [
    "MODELS",
    "YTsaurusAllocationSettings",
    "YTsaurusOperationSettings",
    "YTsaurusPoolSettings",
    "read_settings",
]


class YTsaurusPoolSettings(PacedPool):
    """Settings of a pool; what is None is inherited."""

    ALIASES: ClassVar[Mapping[str, str]] = {
        "allow_aggressive_starvation_preemption": "allow_aggressive_preemption",
        "allow_regular_jobs_on_ssd_nodes": "allow_regular_allocations_on_ssd_nodes",
        "fair_share_preemption_timeout": "fair_share_starvation_timeout",
    }

    fair_share_starvation_timeout: Duration | None = None
    fair_share_starvation_tolerance: UnitShare | None = None
    non_preemptible_resource_usage_threshold: Amounts | None = Field(
        None, description="Replaces the inherited one as a whole."
    )
    enable_aggressive_starvation: bool | None = None
    allow_aggressive_preemption: bool | None = None
    allow_normal_preemption: bool = Field(
        True, description="Off: nothing below the pool is a victim of the preemptive stage."
    )
    allow_regular_allocations_on_ssd_nodes: bool = Field(
        True, description="Off: work below the pool that needs no SSD does not start on SSD nodes."
    )
    resource_limits_overcommit_tolerance: Amounts = Field(
        default_factory=dict, description="What preemptive stages may start beyond the pool's limits."
    )


class YTsaurusOperationSettings(RowSettings):
    """Settings of an operation; those that a pool has too act only to its own disadvantage."""

    ALIASES: ClassVar[Mapping[str, str]] = {"fair_share_preemption_timeout": "fair_share_starvation_timeout"}

    fair_share_starvation_timeout: Duration | None = None
    fair_share_starvation_tolerance: UnitShare | None = None
    non_preemptible_resource_usage_threshold: Amounts | None = None
    preemption_mode: Literal["normal", "graceful"] = Field(
        "normal", description="Graceful: asked to leave early and with more time, never a victim of a stage."
    )
    unschedulable_reason: str | None = Field(None, description="Why nothing of it may start now.")
    disk_media: Texts = Field((), description="Disk media that its allocations ask for.")
    preemption_cost: PreemptionCost = Field(1, description="Of each allocation, if `victim_cost` is given.")
    scheduling_segment: str = Field("default", description="Part of the cluster that it is bound to.")


class YTsaurusAllocationSettings(RowSettings):
    """Settings of an allocation."""

    resource_limits: Amounts | None = Field(
        None, description="What it may use at most; one that uses less cpu has a cpu gap."
    )
    disk_medium: str | None = Field(None, description="Disk medium that it uses.")
    room_taken: Amounts | None = Field(
        None, description="Of one that is leaving: room that its beneficiary has taken already."
    )


MODELS: Mapping[str, type[RowSettings]] = {
    "pools": YTsaurusPoolSettings,
    "operations": YTsaurusOperationSettings,
    "allocations": YTsaurusAllocationSettings,
    **dict.fromkeys(("nodes", "requests"), NoSettings),
}


def read_settings(snapshot: Snapshot, tree: BaseModel | None = None) -> dict[str, dict[int, Any]]:
    """Return the settings of all rows by table and row (the root is 0), with a tree whose resources exist."""
    found: list[Problem] = []
    if tree is not None:
        found += strangers(tree, snapshot.resources, "settings", None, None)
    rows = read_tables(snapshot, MODELS, found)
    raise_found(found)
    return rows
