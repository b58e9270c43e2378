"""Policies: the schedulers' rules as objects that can be asked what they would do."""

from __future__ import annotations

from evenhand.policies.backendai import BackendAI
from evenhand.policies.files import from_toml
from evenhand.policies.slurm import Slurm
from evenhand.policies.tiers import TIERS, tiered
from evenhand.policies.ytsaurus import YTsaurus

__all__ = ["TIERS", "BackendAI", "Slurm", "YTsaurus", "from_toml", "tiered"]
