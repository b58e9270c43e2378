"""Importing this registers all checks."""

from __future__ import annotations

from evenhand.testing.explanations import backendai, decided, gridengine, jobs, pace, slurm, yunikorn
from evenhand.testing.explanations.ytsaurus import allocations, elements, requests

__all__ = ["allocations", "backendai", "decided", "elements", "gridengine", "jobs", "pace", "requests", "slurm", "yunikorn"]
