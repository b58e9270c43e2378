"""Grid Engine's record."""

from __future__ import annotations

from typing import Final

from evenhand.config.triggers import Commands, SchedulingRun
from evenhand.systems.gridengine.reads import ONLY_IF, READS
from evenhand.systems.gridengine.reasons import REASONS
from evenhand.systems.gridengine.says import MODE_OF, SAYS
from evenhand.systems.record import VICTIMS, Column, System

__all__ = ["GRIDENGINE", "LETTERS"]

_SETTINGS = "evenhand.systems.gridengine.settings:"

#: Letter of each mode in the order of `evenhand.reasons.MODES`.
LETTERS: Final = "".join(MODE_OF)

GRIDENGINE: Final = System(
    word="gridengine",
    title="Grid Engine",
    policy_at="evenhand.systems.gridengine.policy:GridEngine",
    triggers=(SchedulingRun, Commands),
    reads=READS,
    only_if=ONLY_IF,
    queues_at="evenhand.systems.gridengine.subordinates:queue_numbers",
    reasons=REASONS,
    says=SAYS,
    memory=(
        Column("operations", "requested", "word", ("no", *LETTERS, "configured")),
        Column("operations", "forced", "word", ("no", "yes")),
        Column("operations", "preempted_as", "word", ("", "qw", "r", "s", "P", "N", "S", "dr", "Rq")),
        Column("operations", "providers", "rows"),
        Column("operations", "preempted_for", "rows"),
        VICTIMS,
    ),
    preempts_operations=True,
    texts_at="evenhand.systems.gridengine.text.parts",
    reader_at="evenhand.systems.gridengine.text.reading:read",
    settings_at=(
        f"{_SETTINGS}GridEngineSettings",
        f"{_SETTINGS}GridEngineQueue",
        f"{_SETTINGS}GridEngineOperation",
        f"{_SETTINGS}GridEngineAllocation",
    ),
    adapter_at="evenhand.systems.gridengine.adapter.live:GridEngine",
)
