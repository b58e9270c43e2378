"""YTsaurus' record."""

from __future__ import annotations

from typing import Final

from evenhand.config.triggers import Heartbeat, Round
from evenhand.systems.reason import STARVATION
from evenhand.systems.record import VICTIMS, Column, System
from evenhand.systems.ytsaurus.reads import ONLY_IF, READS
from evenhand.systems.ytsaurus.reasons import REASONS
from evenhand.systems.ytsaurus.says import SAYS

__all__ = ["YTSAURUS"]

_SETTINGS = "evenhand.systems.ytsaurus.settings:"

YTSAURUS: Final = System(
    word="ytsaurus",
    title="YTsaurus",
    policy_at="evenhand.systems.ytsaurus.policy:YTsaurus",
    triggers=(Round, Heartbeat),
    reads=READS,
    only_if=ONLY_IF,
    reasons=REASONS,
    says=SAYS,
    memory=(
        Column("elements", "since"),
        Column("elements", "starvation", "word", STARVATION),
        Column("nodes", "last_preemptive"),
        Column("nodes", "overcommitted_since"),
        VICTIMS,
    ),
    shares=True,
    implausible_at="evenhand.systems.ytsaurus.implausible:implausible",
    settings_at=(
        f"{_SETTINGS}YTsaurusSettings",
        f"{_SETTINGS}SsdPriorityPreemption",
        f"{_SETTINGS}FullHostPreemption",
        f"{_SETTINGS}YTsaurusPoolSettings",
        f"{_SETTINGS}YTsaurusOperationSettings",
        f"{_SETTINGS}YTsaurusAllocationSettings",
    ),
)
