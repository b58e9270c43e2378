"""YuniKorn's record."""

from __future__ import annotations

from typing import Final

from evenhand.config.triggers import Cycle
from evenhand.systems.record import VICTIMS, Column, System
from evenhand.systems.yunikorn.reads import ONLY_IF, READS
from evenhand.systems.yunikorn.reasons import REASONS
from evenhand.systems.yunikorn.says import SAYS

__all__ = ["YUNIKORN"]

_SETTINGS = "evenhand.systems.yunikorn.settings:"

YUNIKORN: Final = System(
    word="yunikorn",
    title="YuniKorn",
    policy_at="evenhand.systems.yunikorn.policy:YuniKorn",
    triggers=(Cycle,),
    reads=READS,
    only_if=ONLY_IF,
    reasons=REASONS,
    says=SAYS,
    memory=(
        Column("queues", "over_quota_since"),
        Column("operations", "last_preempt"),
        Column("requests", "missed", "count"),
        Column("requests", "wait", "count"),
        Column("requests", "last_attempt"),
        Column("requests", "triggered", "word", ("no", "yes")),
        VICTIMS,
    ),
    implausible_at="evenhand.systems.yunikorn.overcommitted:overcommitted",
    texts_at="evenhand.systems.yunikorn.text.parts",
    reader_at="evenhand.systems.yunikorn.text.reading:read",
    settings_at=(
        f"{_SETTINGS}YuniKornSettings",
        f"{_SETTINGS}YuniKornQueue",
        f"{_SETTINGS}YuniKornAllocation",
        f"{_SETTINGS}YuniKornRequest",
    ),
)
