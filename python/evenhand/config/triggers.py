"""What makes a policy act: the values of ``on``."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Heartbeat", "Round", "SchedulingRun"]


@dataclass(frozen=True, slots=True)
class Round:
    """One update, then one heartbeat of every node in canonical order."""


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """One update, then the heartbeat of one node.

    Attributes
    ----------
    node : str or int
        Name of the node that reports.
    """

    node: str | int


@dataclass(frozen=True, slots=True)
class SchedulingRun:
    """One pass over the queue of pending jobs or sessions."""
