"""Policies: the schedulers' rules as objects that can be asked what they would do."""

from __future__ import annotations

from evenhand.systems.backendai.policy import BackendAI
from evenhand.systems.base import Policy
from evenhand.systems.files import from_toml
from evenhand.systems.gridengine.policy import GridEngine
from evenhand.systems.slurm.policy import Slurm
from evenhand.systems.tiers import TIERS, tiered
from evenhand.systems.ytsaurus.policy import YTsaurus
from evenhand.systems.yunikorn.policy import YuniKorn

__all__ = [
    "TIERS",
    "BackendAI",
    "GridEngine",
    "Policy",
    "Slurm",
    "YTsaurus",
    "YuniKorn",
    "from_toml",
    "tiered",
]
