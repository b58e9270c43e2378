"""Settings of Slurm's two passes over the queue: the main one and backfill."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from annotated_types import Ge, Le
from pydantic import Field

from evenhand.config.kinds import Duration
from evenhand.systems.slurm.priority_settings import SlurmPriority

__all__ = ["PASSES_UNREAD", "SlurmPasses"]

#: What slurm.conf may say of the passes and no plan follows; what differs from the default is named.
PASSES_UNREAD: Final = (
    "default_queue_depth",
    "bf_busy_nodes",
    "bf_licenses",
    "bf_max_job_assoc",
    "bf_max_job_user_part",
    "bf_running_job_reserve",
    "bf_window_linear",
)

_Count = Annotated[int, Ge(0), Le(2**31 - 1)]
_PACE = "No plan reads it"


class SlurmPasses(SlurmPriority):
    """Which passes there are, and how far each of them looks."""

    SchedulerType: Literal["sched/builtin", "sched/backfill"] = Field(
        "sched/builtin",
        description="sched/backfill adds a pass in which jobs start or preempt behind those that wait; a"
        " slurm.conf that does not say means it.",
    )
    partition_job_depth: _Count = Field(
        0, description="Jobs of a partition that a main pass looks at; 0: all."
    )
    sched_max_job_start: _Count = Field(0, description="Jobs that a main pass starts at most; 0: any number.")
    bf_max_job_test: Annotated[int, Ge(1), Le(10**6)] = Field(
        500, description="Jobs for which a backfill pass looks for a place."
    )
    bf_node_space_size: Annotated[int, Ge(2), Le(10**6)] | None = Field(
        None,
        description="Spans of time that a backfill pass distinguishes; none: `bf_max_job_test`, at least 2.",
    )
    bf_window: Annotated[Duration, Ge(60), Le(43_200 * 60)] = Field(
        86_400.0, description="How far ahead a backfill pass plans starts; minutes in slurm.conf."
    )
    bf_resolution: Annotated[Duration, Ge(1), Le(3_600)] = Field(
        60.0, description="To this the begin and end of what a backfill pass keeps for a job is rounded down."
    )
    bf_max_job_start: _Count = Field(0, description="Jobs that a backfill pass starts; 0: any number.")
    bf_max_job_part: _Count = Field(
        0, description="Jobs of a partition that a backfill pass looks at; 0: all."
    )
    bf_max_job_user: _Count = Field(0, description="Jobs of a user that a backfill pass looks at; 0: all.")
    bf_job_part_count_reserve: _Count = Field(
        0, description="Jobs of a partition that a backfill pass keeps nodes for later for; 0: all."
    )
    bf_min_age_reserve: Duration = Field(
        0.0, description="A job eligible for less keeps no nodes from those behind it."
    )
    bf_min_prio_reserve: Annotated[int, Ge(0), Le(2**32 - 1)] = Field(
        0, description="A job of less priority keeps no nodes from those behind it."
    )
    bf_one_resv_per_job: bool = Field(
        False, description="A job with several partitions keeps nodes for later in the first of them only."
    )
    default_queue_depth: _Count = Field(
        100, description=f"Jobs that a pass after an event looks at. {_PACE}: a plan looks at all."
    )
    bf_busy_nodes: bool = Field(False, description=f"Starts planned for later prefer nodes in use. {_PACE}.")
    bf_licenses: bool = Field(False, description=f"Licences are planned ahead, too. {_PACE}.")
    bf_max_job_assoc: _Count = Field(0, description=f"As `bf_max_job_user`, of an association. {_PACE}.")
    bf_max_job_user_part: _Count = Field(
        0, description=f"As `bf_max_job_user`, of a user in a partition. {_PACE}."
    )
    bf_running_job_reserve: bool = Field(
        False, description=f"Jobs that run and take entire nodes are planned ahead, too. {_PACE}."
    )
    bf_window_linear: _Count = Field(
        0, description=f"Seconds by which the spans grow in which ends of jobs are looked at. {_PACE}."
    )
