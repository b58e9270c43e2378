"""The systems: one folder each, with all that is its own, and one record in it."""

from __future__ import annotations

from typing import Final

from evenhand.systems.backendai.record import BACKENDAI
from evenhand.systems.gridengine.record import GRIDENGINE
from evenhand.systems.record import Column, System
from evenhand.systems.slurm.record import SLURM
from evenhand.systems.ytsaurus.record import YTSAURUS
from evenhand.systems.yunikorn.record import YUNIKORN

__all__ = ["SYSTEMS", "Column", "System"]

#: Word to record. The order is that of lists and of the numbers of codes: what is new comes last.
SYSTEMS: Final[dict[str, System]] = {
    system.word: system for system in (YTSAURUS, BACKENDAI, SLURM, YUNIKORN, GRIDENGINE)
}
