"""What makes a policy act: the values of ``on``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

__all__ = ["CYCLES", "PASSES", "Cycle", "Heartbeat", "Round", "SchedulingRun", "Trigger"]

#: Passes of a scheduling run, in their order.
PASSES = ("main", "backfill")

#: Names of cycles.
CYCLES = ("preemption", "allocation", "quota", "both")


@dataclass(frozen=True, slots=True)
class Round:
    """One update, then one heartbeat of every node in canonical order."""

    #: How it is written on the command line.
    SAID: ClassVar[str] = "round (a heartbeat of every node)"


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """One update, then the heartbeat of one node.

    Attributes
    ----------
    node : str or int
        Name of the node that reports.
    """

    #: How it is written on the command line.
    SAID: ClassVar[str] = "heartbeat:NODE"

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

    #: How it is written on the command line.
    SAID: ClassVar[str] = "run (a scheduling run)"

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


@dataclass(frozen=True, slots=True)
class Cycle:
    """One cycle of a scheduler that has several.

    Attributes
    ----------
    name : {"preemption", "allocation", "quota", "both"}
        Places asks and preempts for them; places them only; takes from queues above their max; an allocation
        and a preemption cycle in one plan, as at each tick of a simulation.

    Raises
    ------
    ValueError
        If there is no such cycle.
    """

    #: How it is written on the command line.
    SAID: ClassVar[str] = "cycle:NAME"

    name: str = CYCLES[0]

    def __post_init__(self) -> None:
        if self.name not in CYCLES:
            raise ValueError(f"name is {self.name!r}; it must be one of {', '.join(CYCLES)}")


Trigger = Round | Heartbeat | SchedulingRun | Cycle
