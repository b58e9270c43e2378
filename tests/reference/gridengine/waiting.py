"""What waits for a place in a scheduling run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.reference.gridengine.world import Job


@dataclass
class Part:
    """A copy of a request, or a stopped allocation."""

    row: Mapping[str, Any]
    need: Mapping[str, float]
    only: str | None = None  # where a stopped one is


@dataclass
class Waiting:
    """What waits: a job, or a preemptee."""

    job: Job
    parts: list[Part]
    duration: float
    preemptee: bool
    reserve: bool = False
    since: float = 0
