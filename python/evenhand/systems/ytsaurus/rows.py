"""What the ``settings`` of a snapshot's rows may hold for the YTsaurus policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from pydantic import BaseModel, Field

from evenhand.config.costs import PreemptionCost
from evenhand.config.kinds import Amounts, Duration, Texts, UnitShare
from evenhand.config.pace import PacedPool
from evenhand.config.rows import RowSettings, raise_found, read_rows, strangers

if TYPE_CHECKING:
    from evenhand.errors import Problem
    from evenhand.model import Snapshot

__all__ = [
    "YTsaurusAllocationSettings",
    "YTsaurusNodeSettings",
    "YTsaurusOperationSettings",
    "YTsaurusPoolSettings",
    "YTsaurusRequestSettings",
    "YTsaurusRows",
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


class YTsaurusNodeSettings(RowSettings):
    """Settings of a node: there are none."""


class YTsaurusRequestSettings(RowSettings):
    """Settings of a request: there are none."""


@dataclass(frozen=True, slots=True)
class YTsaurusRows:
    """Settings of a snapshot's rows by canonical row; rows without any are left out.

    Attributes
    ----------
    pools : mapping of int to YTsaurusPoolSettings
        The root is row 0.
    operations : mapping of int to YTsaurusOperationSettings
    allocations : mapping of int to YTsaurusAllocationSettings
    """

    pools: Mapping[int, YTsaurusPoolSettings]
    operations: Mapping[int, YTsaurusOperationSettings]
    allocations: Mapping[int, YTsaurusAllocationSettings]

    @classmethod
    def of(cls, snapshot: Snapshot, tree: BaseModel | None = None) -> Self:
        """Read the settings of all rows.

        Parameters
        ----------
        snapshot : Snapshot
            What is.
        tree : YTsaurusSettings, optional
            Settings of the tree, whose resources are then checked too.

        Returns
        -------
        YTsaurusRows

        Raises
        ------
        InputError
            If a name is unknown, a value breaks a rule, or a threshold names a resource that the
            snapshot does not have; the field is ``settings.<name>``.

        Notes
        -----
        O(rows that have settings).
        """
        found: list[Problem] = []
        if tree is not None:
            found += strangers(tree, snapshot.resources, "settings", None, None)
        rows = cls(
            read_rows(snapshot, "pools", YTsaurusPoolSettings, found),
            read_rows(snapshot, "operations", YTsaurusOperationSettings, found),
            read_rows(snapshot, "allocations", YTsaurusAllocationSettings, found),
        )
        read_rows(snapshot, "nodes", YTsaurusNodeSettings, found)
        read_rows(snapshot, "requests", YTsaurusRequestSettings, found)
        raise_found(found)
        return rows
