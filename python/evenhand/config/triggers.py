"""What makes a policy act: the values of ``on``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

__all__ = [
    "CYCLES",
    "PASSES",
    "Command",
    "Commands",
    "Cycle",
    "Heartbeat",
    "Round",
    "SchedulingRun",
    "Trigger",
]

#: Passes of a scheduling run, in their order.
PASSES = ("main", "backfill")

#: Names of cycles.
CYCLES = ("preemption", "allocation", "quota", "both")


@dataclass(frozen=True, slots=True)
class Round:
    """One update, then one heartbeat of every node in canonical order."""

    #: How it is written on the command line.
    SAID: ClassVar[str] = "round (a heartbeat of every node)"

    def __str__(self) -> str:
        return "a heartbeat of every node"


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

    def __str__(self) -> str:
        return f"a heartbeat of {self.node}"


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

    def __str__(self) -> str:
        return "a scheduling run" if self.passes == PASSES else f"the {self.passes[0]} pass of a run"


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

    def __str__(self) -> str:
        return "an allocation and a preemption cycle" if self.name == "both" else f"cycle {self.name}"


@dataclass(frozen=True, slots=True)
class Command:
    """A person's request that some jobs give way to another.

    Attributes
    ----------
    consumer : str
        The job that is to start.
    providers : tuple of str
        Jobs that are to give way, in this order; none: the policy chooses.
    action : str, optional
        How they give way: a letter of the system.
    force : bool
        Whether tests are left out that may be.
    user : str, optional
        Who asks.
    manager : bool
        Whether a manager asks.
    kind : str
        Always ``"preempt"``.
    """

    consumer: str
    providers: tuple[str, ...] = ()
    action: str | None = None
    force: bool = False
    user: str | None = None
    manager: bool = False
    kind: str = "preempt"


@dataclass(frozen=True, slots=True)
class Commands:
    """What persons ask for, one after the other; a scheduling run carries it out later.

    Attributes
    ----------
    rows : tuple of Command
        Commands, or mappings with their fields.

    Raises
    ------
    ValueError
        If a row has an unknown field, no consumer, or a value of another type.
    """

    #: How it is written on the command line.
    SAID: ClassVar[str] = "commands (those of the snapshot)"

    rows: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        given: Iterable[Any] = self.rows
        object.__setattr__(self, "rows", tuple(map(_command, given)))

    def __str__(self) -> str:
        return f"{len(self.rows)} command{'s' * (len(self.rows) != 1)}"


def _command(row: Any) -> Command:
    if isinstance(row, Command):
        return row
    if not isinstance(row, Mapping):
        raise ValueError(f"a command is an object, not {row!r}")
    known = set(Command.__dataclass_fields__)
    for name in row:
        if name not in known:
            raise ValueError(f"a command has no field {name!r}")
    if row.get("kind", "preempt") != "preempt":
        raise ValueError(f"kind is {row['kind']!r}; it must be 'preempt'")
    consumer, providers = row.get("consumer"), row.get("providers") or ()
    if not isinstance(consumer, str | int) or isinstance(consumer, bool):
        raise ValueError(f"consumer is {consumer!r}; it is the name of a job")
    if isinstance(providers, str) or not all(isinstance(one, str | int) for one in providers):
        raise ValueError(f"providers is {providers!r}; it is a list of names of jobs")
    for name in ("action", "user"):
        if not isinstance(row.get(name), str | None):
            raise ValueError(f"{name} is {row[name]!r}; it is a text")
    return Command(
        str(consumer),
        tuple(map(str, providers)),
        row.get("action"),
        bool(row.get("force")),
        row.get("user"),
        bool(row.get("manager")),
    )


Trigger = Round | Heartbeat | SchedulingRun | Cycle | Commands
