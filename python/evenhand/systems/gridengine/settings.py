"""Settings of the Grid Engine policy: scheduler, queues, and those of rows."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from annotated_types import Ge, Le
from pydantic import BeforeValidator, ConfigDict, Field, PlainSerializer, Strict, model_validator

from evenhand.config.checked import CheckedSettings, Settings, broken
from evenhand.config.kinds import FEW, Duration, Texts
from evenhand.config.pace import PaceSettings, pace
from evenhand.config.rows import RowSettings
from evenhand.systems.gridengine.subordinates import SubordinateText, wrong_trees

__all__ = [
    "Action",
    "GridEngineAllocation",
    "GridEngineOperation",
    "GridEngineQueue",
    "GridEngineSettings",
]

#: What preempts a job: terminate, rerun, checkpoint, preempt, enhanced suspend, suspend.
Action = Literal["T", "R", "C", "P", "N", "S"]
Chosen = Literal["T", "R", "C", "P", "N", "S", "advisor"]

_Count = Annotated[int, Ge(0), Le(2**31 - 1)]


def _infinity(value: Any) -> Any:
    return None if isinstance(value, str) and value.strip().upper() == "INFINITY" else value


def _none(value: Any) -> Any:
    """Return how it is called now."""
    return "none" if value == "nobody" else value


def _switch(value: Any) -> Any:
    """Return what Grid Engine's files write for a truth value."""
    words = {"true": True, "1": True, "false": False, "0": False}
    if type(value) is int and value in (0, 1):
        return bool(value)
    return words.get(value.strip().lower(), value) if isinstance(value, str) else value


_Flag = Annotated[bool, BeforeValidator(_switch)]


class GridEngineQueue(Settings):
    """What a queue configures, as far as preemption reads it."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    rerun: _Flag = Field(False, description="Whether jobs in it are rerunnable.")
    suspend_method: str | None = Field(
        None, description="What stops a job in it; `$action` stands for the action's letter."
    )
    preemption_action: Chosen | None = Field(
        None, description="Action for what runs in it where none is named; by default as elsewhere."
    )
    subordinate_list: SubordinateText | None = Field(
        None,
        description="Queues whose jobs stop on a host while too many run in this one and below it"
        " (`slots=4(low.q:0:sr)`), or while so many of its slots are in use (`low.q=4`).",
    )
    slots: Annotated[int, Ge(1), Le(2**31 - 1)] | None = Field(
        None,
        description="Slots of each of its instances: what a subordinate queue without a number waits for.",
    )


class GridEngineSettings(CheckedSettings):
    """Settings of the scheduler and of queues, under Grid Engine's names where it has them."""

    max_reservation: _Count = Field(
        0, description="Most waiting jobs that get a reservation; 0 switches reservation and preemption off."
    )
    max_preemptees: _Count = Field(
        0, description="Most jobs that are preempted at any time; 0 switches preemption off."
    )
    prioritize_preemptees: _Flag = Field(
        False, description="Preemptees get their reservation before all waiting jobs."
    )
    preemptees_keep_resources: _Flag = Field(
        False, description="A stopped preemptee frees only what its preemptor takes, and managed licences."
    )
    preemption_distance: Duration = Field(
        900.0, description="Preempt only for what is reserved farther away than this; 0: no such test."
    )
    DURATION_OFFSET: Duration = Field(60.0, description="Added to every planned run time.")
    default_duration: Annotated[Duration | None, BeforeValidator(_infinity)] = Field(
        None, description="Planned run time of jobs that request none; by default for ever."
    )
    backfilling: _Flag = Field(
        True,
        description="Off: what is reserved for later has its room from now on: nothing else starts there.",
    )
    automatic_preemption: _Flag = Field(
        False, description="Every run preempts for waiting jobs whose reservation is too far away."
    )
    preemption_action: Chosen = Field(
        "advisor", description="Action where none is named; the advisor chooses as the document advises."
    )
    actions: Annotated[tuple[Action, ...], FEW, Strict(False), PlainSerializer(list)] = Field(
        ("T", "R", "C", "P", "N", "S"),
        description="Actions that the system has; no job is preempted by another one, and the advisor takes"
        " the next.",
    )
    over_the_cap: Annotated[Literal["as_many", "none"], BeforeValidator(_none)] = Field(
        "none",
        description="What a manual request preempts that needs more than `max_preemptees` allows.",
    )
    notify: Duration = Field(0.0, description="Time that processes have which are to end.")
    lo_licenses: Texts = Field(
        (), description="Resources that License Orchestrator manages; shared by clusters of one mapping."
    )
    queues: dict[str, GridEngineQueue] = Field(
        default_factory=dict, description="Queues by name; one without an entry has the defaults."
    )
    minimum_budget: Annotated[int, Ge(1), Le(10**9)] = Field(
        20_000, description="Branches that the search for the fewest preemptees may look at."
    )
    pace: PaceSettings = pace()

    @model_validator(mode="after")
    def _trees(self) -> Self:
        broken(wrong_trees(self.queues))
        return self


class GridEngineOperation(RowSettings):
    """Settings of a job."""

    job_name: str | None = Field(None, description="What it is called, beside its number.")


class GridEngineAllocation(RowSettings):
    """Settings of what a job has on a host."""

    queue: str | None = Field(
        None, description="Queue that it runs in; by default the one that is called like its job's pool."
    )
    releases_on_suspend: bool = Field(
        False, description="The application itself lets go of what is neither slots nor memory."
    )
