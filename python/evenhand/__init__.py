"""A cluster scheduler's fairness and preemption policy as a library."""

from __future__ import annotations

from evenhand._core import __version__
from evenhand.model import Snapshot
from evenhand.shares import fair_share

__all__ = ["Snapshot", "__version__", "fair_share"]
