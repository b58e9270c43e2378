"""Backend.AI's record."""

from __future__ import annotations

from typing import Final

from evenhand.config.triggers import SchedulingRun
from evenhand.systems.backendai.reads import ONLY_IF, READS
from evenhand.systems.backendai.reasons import REASONS
from evenhand.systems.backendai.says import SAYS
from evenhand.systems.record import VICTIMS, Column, System

__all__ = ["BACKENDAI"]

_SETTINGS = "evenhand.systems.backendai.settings:"

BACKENDAI: Final = System(
    word="backendai",
    title="Backend.AI",
    policy_at="evenhand.systems.backendai.policy:BackendAI",
    triggers=(SchedulingRun,),
    reads=READS,
    only_if=ONLY_IF,
    reasons=REASONS,
    says=SAYS,
    follows=dict.fromkeys(("priority_change_disabled", "priority_out_of_range"), f"{_SETTINGS}allowed_to"),
    memory=(Column("operations", "last_preempt"), VICTIMS),
    preempts_operations=True,
    settings_at=(
        f"{_SETTINGS}BackendAISettings",
        f"{_SETTINGS}PriorityPolicy",
        f"{_SETTINGS}BackendAIOperationSettings",
    ),
)
