"""Limits of QOS and of associations, under the names that sacctmgr has for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from annotated_types import Ge
from pydantic import BeforeValidator, ConfigDict, Field

from evenhand.config.checked import Settings
from evenhand.config.kinds import Duration, NonNegative, Texts
from evenhand.systems.slurm.priority_settings import rule
from evenhand.systems.slurm.text.values import amounts

__all__ = ["AssociationLimits", "QosLimits", "SlurmAssociation", "Tres", "tres"]


def tres(value: Any) -> Any:
    """Return ``cpu=8,mem=2G,gres/gpu=4`` as amounts by name; memory is in MiB, as in Slurm."""
    if not isinstance(value, str):
        return value
    try:
        return amounts(value)
    except ValueError as error:
        raise rule("type", f"is {value!r}; it {error}") from None


Tres = Annotated[Mapping[str, NonNegative], BeforeValidator(tres)]
_Count = Annotated[int, Ge(0)]


class _Limits(Settings):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    GrpTRES: Tres = Field(
        default_factory=dict,
        description="What all its jobs may have at once: by name (cpu, mem in MiB, node, gres/<name>), or"
        " text as of sacctmgr.",
    )
    GrpTRESRunMins: Tres = Field(
        default_factory=dict,
        description="What all its jobs may have at once, times the minutes that are left to them.",
    )
    GrpJobs: _Count | None = Field(None, description="Jobs that may run at once.")
    MaxTRES: Tres = Field(default_factory=dict, description="What one job may have.")
    MaxTRESPerNode: Tres = Field(default_factory=dict, description="What one job may have on each node.")
    MaxWall: Duration | None = Field(None, description="Longest time limit of a job.")
    unread_limits: Texts = Field(
        (),
        description="Limits of which it is not known how far they are used: no job under them starts.",
    )


class QosLimits(_Limits):
    """Limits of a QOS."""

    MinTRES: Tres = Field(default_factory=dict, description="What a job must ask for at least.")
    MaxTRESPU: Tres = Field(default_factory=dict, description="What the jobs of one user may have at once.")
    MaxTRESPA: Tres = Field(
        default_factory=dict, description="What the jobs of one account may have at once."
    )
    MaxTRESRunMinsPU: Tres = Field(
        default_factory=dict, description="As `GrpTRESRunMins`, of the jobs of one user."
    )
    MaxTRESRunMinsPA: Tres = Field(
        default_factory=dict, description="As `GrpTRESRunMins`, of the jobs of one account."
    )
    MaxJobsPU: _Count | None = Field(None, description="Jobs of one user that may run at once.")
    MaxJobsPA: _Count | None = Field(None, description="Jobs of one account that may run at once.")
    OverPartQOS: bool = Field(
        False, description="Its limits count before those of the QOS of the partition, not after them."
    )


class SlurmAssociation(_Limits):
    """Limits of an account, or of a user in one."""

    parent: str | None = Field(None, description="Name of the account above it, whose limits count, too.")
    MaxJobs: _Count | None = Field(None, description="Jobs of the user in the account that may run at once.")


AssociationLimits = dict[str, SlurmAssociation]
