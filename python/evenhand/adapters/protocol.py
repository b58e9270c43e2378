"""What an adapter is: the few calls by which a plan reaches a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from evenhand.errors import EvenhandError

if TYPE_CHECKING:
    from typing import Any

    from evenhand.model import Snapshot

__all__ = ["ACTIONS", "EVICTIONS", "Adapter", "AdapterError", "Answer", "Standing"]

#: What an adapter can be asked to do to a job.
ACTIONS = ("note", "requeue", "requeue_hold", "cancel", "suspend", "release", "resume")
#: Those of them after which a job has to give way.
EVICTIONS = ("requeue", "requeue_hold", "cancel", "suspend")

State = Literal["pending", "held", "running", "suspended", "leaving", "ended", "gone", "unknown"]


class AdapterError(EvenhandError):
    """A cluster did not answer, or not in a way that can be understood; nothing was changed."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How one job stands.

    Attributes
    ----------
    name : str
        Of the job: an operation of the snapshot.
    state : str
        ``"pending"``, ``"held"`` (pending until released), ``"running"``, ``"suspended"``, ``"leaving"``
        (asked to end, not yet gone), ``"ended"``, ``"gone"`` (the cluster knows it no more) or ``"unknown"``
        (the cluster has a word for it that the adapter does not know: waited for, and never acted on).
    turn : int
        How often it went back to the queue: an eviction by requeue shows in it.
    started : bool
        Whether it has ever run in this turn: true of all that runs. A driver sees in it that a beneficiary
        has started.
    owner : str
        Whose it is, for caps; empty only of what the cluster knows no more.
    requeueable : bool
        Whether it may go back to the queue without being lost.
    held : bool
        Whether a person held it by name, while it runs (once back in the queue it is to stay there) or waits:
        not by sending it back to the queue held.
    marked : bool
        Whether the hold with which an eviction begins is on it although it has not left: the eviction was cut
        off. Only of systems whose eviction is a hold and another command.
    detail : str
        The cluster's own words; untrusted.
    """

    name: str
    state: State
    turn: int
    started: bool
    owner: str
    requeueable: bool = True
    held: bool = False
    detail: str = ""
    marked: bool = False

    @classmethod
    def gone(cls, name: str, detail: str = "") -> Standing:
        """Return how a job stands that the cluster knows no more."""
        return cls(name, "gone", 0, started=False, owner="", detail=detail)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a command.

    Attributes
    ----------
    status : str
        ``"done"`` (the cluster says so), ``"refused"`` (it says no, or was not reached at all) or
        ``"unknown"`` (it may have been asked, and did not answer).
        None of them is proof: a driver that needs to know looks at the job.
    message : str
        The cluster's own words, sanitised.
    """

    status: Literal["done", "refused", "unknown"]
    message: str = ""


@runtime_checkable
class Adapter(Protocol):
    """A cluster, as a driver sees it.

    Adapters of installed packages are found through the entry-point group ``evenhand.adapters``
    (`evenhand.adapters.load`): an entry is a callable that returns an adapter.
    """

    @property
    def name(self) -> str:
        """The system's word: ``"slurm"``."""
        ...

    @property
    def identity(self) -> str:
        """What distinguishes clusters; drivers of the same identity exclude each other on one machine.

        The same for every driver of a cluster, by whichever spelling of its address. May ask the cluster;
        raises `AdapterError`.
        """
        ...

    @property
    def whole(self) -> bool:
        """Whether evicting one allocation evicts its entire operation, and an operation starts as a whole."""
        ...

    @property
    def notices(self) -> tuple[str, ...]:
        """What a person should know of how the cluster was last read."""
        ...

    def policy(self, preset: str = "upstream", **changes: Any) -> Any:
        """Return the cluster's own rules with some changes; raises `AdapterError`, also if there are none.

        By default as the system itself follows them (preset "upstream").
        """
        ...

    def snapshot(self, leaving: Mapping[str, str] | None = None) -> Snapshot:
        """Return what is; ``leaving`` has, for jobs that were asked to leave, the job that each leaves for.

        Raises `AdapterError`.
        """
        ...

    def look(self, names: Iterable[str]) -> dict[str, Standing]:
        """Return how jobs stand now, every one of them; raises `AdapterError`."""
        ...

    def action(self, mode: str | None) -> str:
        """Return the action, of `EVICTIONS`, for a decision's mode (`evenhand.reasons.MODES`).

        Raises `AdapterError` where the cluster has none: then nothing of the plan is carried out.
        """
        ...

    def commands(self, action: str, name: str, reason: str) -> list[tuple[str, ...]]:
        """Return what `do` would run, for a dry run and for the journal.

        Of a note none: then it is not made. Of the others none may be mentioned: they are made all the same.
        """
        ...

    def do(self, action: str, name: str, reason: str) -> Answer:
        """Carry out an action, of `ACTIONS`, on a job; what went wrong is an `Answer`, never an exception.

        ``"note"``: write the reason where people look. ``"requeue"``: end it, and put it into the queue.
        ``"requeue_hold"``: likewise, but held there. ``"cancel"``: end it. ``"suspend"``, ``"resume"``: stop
        it where it stands, and let it run on. ``"release"``: let a held job be started. An eviction is asked
        for only if `action` returned it; what the cluster has no command for is refused.
        """
        ...

    def room(self, name: str) -> bool:
        """Whether what a suspended job needs is free where it stands; raises `AdapterError`."""
        ...

    def keep(self, descriptor: int) -> None:
        """Let commands inherit a descriptor: a lock then outlives a killed driver until they ended.

        A negative one: it is closed, and none is inherited any more.
        """
        ...
