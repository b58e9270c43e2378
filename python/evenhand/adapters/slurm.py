"""Slurm's adapter under its public name."""

from __future__ import annotations

from evenhand.systems.slurm.adapter.live import Slurm

__all__ = ["Slurm"]
