"""Slurm under its public name: its adapter, and what its commands print as a snapshot and a policy."""

from __future__ import annotations

from evenhand.systems.slurm.adapter.live import Slurm
from evenhand.systems.slurm.adapter.recorded import Reading, read

__all__ = ["Reading", "Slurm", "read"]
