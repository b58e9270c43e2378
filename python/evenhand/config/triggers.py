"""What makes a policy act: the values of ``on``."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PASSES", "Heartbeat", "Round", "SchedulingRun"]

#: Passes of a scheduling run, in their order.
PASSES = ("main", "backfill")


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


@dataclass(frozen=True, slots=True, repr=False)
class SchedulingRun:
    """One pass over the queue of pending jobs or sessions; in Slurm two.

    Attributes
    ----------
    passes : tuple of {"main", "backfill"}
        Slurm only: which passes there are, in this order. Without sched/backfill there is no second one.

    Raises
    ------
    ValueError
        If there is none, or another one, or the order is another.
    """

    passes: tuple[str, ...] = PASSES

    def __post_init__(self) -> None:
        found = tuple(self.passes)
        if found not in (PASSES, PASSES[:1], PASSES[1:]):
            raise ValueError(
                f"passes is {self.passes!r}; it must be one of {PASSES!r}, or both in this order"
            )
        object.__setattr__(self, "passes", found)

    def __repr__(self) -> str:
        return "SchedulingRun()" if self.passes == PASSES else f"SchedulingRun(passes={self.passes!r})"
