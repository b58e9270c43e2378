"""Sentences that conclude, found by their codes and numbers in what plans explain, and tried.

What each names is changed, and planned again.
"""

from __future__ import annotations

from tests.properties.conclusions import backendai, every, gridengine, slurm, ytsaurus, yunikorn
from tests.properties.conclusions.case import Case, Data, Tried, tried

__all__ = [
    "Case",
    "Data",
    "Tried",
    "backendai",
    "every",
    "gridengine",
    "slurm",
    "tried",
    "ytsaurus",
    "yunikorn",
]
