"""Slurm's record."""

from __future__ import annotations

from typing import Final

from evenhand.config.triggers import SchedulingRun
from evenhand.systems.record import VICTIMS, Column, System
from evenhand.systems.slurm.reads import ONLY_IF, READS
from evenhand.systems.slurm.reasons import REASONS
from evenhand.systems.slurm.says import SAYS

__all__ = ["SLURM"]

_SETTINGS = "evenhand.systems.slurm.settings:"

SLURM: Final = System(
    word="slurm",
    title="Slurm",
    policy_at="evenhand.systems.slurm.policy:Slurm",
    triggers=(SchedulingRun,),
    reads=READS,
    only_if=ONLY_IF,
    reasons=REASONS,
    says=SAYS,
    memory=(Column("operations", "last_preempt"), VICTIMS),
    preempts_operations=True,
    passes=True,
    settings_at=(
        f"{_SETTINGS}SlurmSettings",
        f"{_SETTINGS}SlurmPartition",
        f"{_SETTINGS}SlurmQos",
        "evenhand.systems.slurm.rows:SlurmOperationSettings",
    ),
    texts_at="evenhand.systems.slurm.text.parts",
    reader_at="evenhand.systems.slurm.adapter.recorded:read",
    adapter_at="evenhand.systems.slurm.adapter.live:Slurm",
)
