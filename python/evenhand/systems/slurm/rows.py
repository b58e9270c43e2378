"""What the ``settings`` of a snapshot's rows may hold for the Slurm policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge, Le
from pydantic import Field

from evenhand.config.costs import PreemptionCost
from evenhand.config.kinds import Duration, Instant
from evenhand.config.pace import PacedPool
from evenhand.config.rows import NoSettings, RowSettings, raise_found, read_tables
from evenhand.systems.slurm.releases import wrong_version

if TYPE_CHECKING:
    from evenhand.errors import Problem
    from evenhand.model import Snapshot

__all__ = ["MODELS", "SlurmOperationSettings", "read_jobs"]


class SlurmOperationSettings(RowSettings):
    """Settings of an operation, that is a job."""

    requeue: bool | None = Field(None, description="--requeue or --no-requeue; none: `JobRequeue`.")
    exclusive: bool = Field(False, description="--exclusive: takes entire nodes.")
    eligible_time: Instant | None = Field(None, description="Instant before which it does not start.")
    accrue_time: Instant | None = Field(
        None,
        description="Instant from which its age counts; none: `eligible_time`, else submission.",
    )
    nice: int = Field(0, description="Subtracted from its priority.")
    site_factor: int = Field(0, description="Added to its priority by the site.")
    expedited: bool = Field(False, description="Requeued with precedence over all others.")
    preemption_cost: PreemptionCost = Field(1, description="Of the job, if `victim_cost` is given.")
    cpus_per_task: Annotated[int, Ge(1), Le(65_535)] = Field(
        1,
        description="--cpus-per-task of a job that asks for memory by cpu: until 22.05 free cpus count in"
        " multiples of it, where a node is chosen.",
    )
    max_nodes: Annotated[int, Ge(1), Le(2**31 - 1)] = Field(
        1,
        description="Most nodes that it would take, where its request is for one: of --ntasks without --nodes"
        " the tasks. From 26.05 on a job that takes one at most gets the first that will do.",
    )
    time_min: Duration | None = Field(
        None,
        description="--time-min: the limit that a backfill pass starts and plans it with, if that is less.",
    )
    signal: str | None = Field(
        None, description='--signal: with the flag R ("R:USR1@60") it is cancelled, not suspended.'
    )


_SOME: Mapping[str, type[RowSettings]] = {"operations": SlurmOperationSettings, "pools": PacedPool}
_NONE: Mapping[str, type[RowSettings]] = dict.fromkeys(("allocations", "nodes", "requests"), NoSettings)
MODELS = {**_SOME, **_NONE}


def read_jobs(snapshot: Snapshot) -> dict[int, SlurmOperationSettings]:
    """Read the settings of all rows; return those of jobs."""
    found: list[Problem] = []
    jobs = read_tables(snapshot, _SOME, found)["operations"]
    found += wrong_version(snapshot)
    read_tables(snapshot, _NONE, found)
    raise_found(found)
    return jobs
