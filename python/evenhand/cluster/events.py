"""What can happen to a cluster, one class a kind of event.

An event may also be given as a dict: the fields of its class, and as ``event`` the class's name in lower
case: ``{"event": "end", "allocation": "a1"}``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from evenhand.accepted import plain
from evenhand.building.problems import kind_of
from evenhand.errors import shorten

__all__ = [
    "KINDS",
    "Count",
    "End",
    "Event",
    "Job",
    "Leave",
    "Node",
    "Put",
    "Remove",
    "Resize",
    "Resume",
    "Start",
    "Suspend",
    "Take",
    "Time",
    "as_event",
]

Name = str | int


@dataclass(frozen=True, slots=True)
class Time:
    """Advance the clock.

    Attributes
    ----------
    now : number
        Seconds; not before the cluster's own instant.
    """

    now: Any


@dataclass(frozen=True, slots=True)
class Start:
    """An allocation starts.

    Attributes
    ----------
    row : mapping
        Its row in the table of allocations; ``start_time`` is the cluster's instant if it is left out.
    request : str or int, optional
        The request that it serves, of whose count one is gone then.
    """

    row: Mapping[str, Any]
    request: Name | None = None


@dataclass(frozen=True, slots=True)
class End:
    """An allocation ends: its room is free."""

    allocation: Name


@dataclass(frozen=True, slots=True)
class Leave:
    """An allocation is asked to leave; its operation no longer uses it, and its room is not yet free.

    Attributes
    ----------
    allocation : str or int
    deadline : number, optional
        Seconds: by when it must have left.
    beneficiary : mapping or str or int, optional
        ``operation`` and ``request`` that it leaves for, or the request alone.
    held : mapping, optional
        What it will keep once it is suspended, at most what it has. By default what its row says already.
    """

    allocation: Name
    deadline: Any = None
    beneficiary: Any = None
    held: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Take:
    """The beneficiary of a leaving allocation has so much of its room by now, in all.

    Kept as the allocation's setting ``room_taken``, for policies that hold room until victims have gone.
    """

    allocation: Name
    resources: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Suspend:
    """A victim is suspended: it stays in its table, and what it does not keep is free.

    Attributes
    ----------
    allocation : str or int
        Running, stopped by a person, or leaving; its row keeps what it leaves for.
    held : mapping, optional
        What it keeps, at most what it has. By default what its row says already, as `Leave` wrote it; else
        nothing.
    """

    allocation: Name
    held: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Resume:
    """An allocation that was suspended as a victim runs again, with all that it had.

    Attributes
    ----------
    allocation : str or int
    node : str or int, optional
        Where; by default on the node where it was.
    start_time : number, optional
        Seconds; by default the cluster's instant.
    """

    allocation: Name
    node: Name | None = None
    start_time: Any = None


@dataclass(frozen=True, slots=True)
class Job:
    """A job starts in an allocation, or its progress is saved.

    Attributes
    ----------
    allocation : str or int
    last_job_start_time, last_progress_time : number, optional
        Seconds; what is left out stays.
    """

    allocation: Name
    last_job_start_time: Any = None
    last_progress_time: Any = None


@dataclass(frozen=True, slots=True)
class Resize:
    """A running or suspended allocation holds another amount, no less than its ``held``."""

    allocation: Name
    resources: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Count:
    """A request is for another count; 0: it is withdrawn, and reservations for it go."""

    request: Name
    count: int


@dataclass(frozen=True, slots=True)
class Node:
    """A node offers another amount, or may or may not start anything; what is left out stays."""

    node: Name
    capacity: Mapping[str, Any] | None = None
    schedulable: bool | None = None


@dataclass(frozen=True, slots=True)
class Put:
    """A row is added, or takes the place of the one of its name.

    Attributes
    ----------
    table : {"requests", "nodes", "pools", "operations", "allocations", "reservations"}
    row : mapping
        As in the table. It costs its cells; a pool makes the cluster anew, O(cells) for any number of such
        events one after the other (see `Cluster`).
    """

    table: str
    row: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Remove:
    """A row goes. Reservations for a request or an allocation go with it; nothing else may refer to the row.

    Attributes
    ----------
    table : {"requests", "nodes", "pools", "operations", "allocations", "reservations"}
        It costs O(1), a pool O(cells) as with `Put`.
    name : str or int
    """

    table: str
    name: Name


Event = Time | Start | End | Leave | Suspend | Resume | Job | Resize | Take | Count | Node | Put | Remove

KINDS: Mapping[str, type[Event]] = {
    kind.__name__.lower(): kind
    for kind in (Time, Start, End, Leave, Suspend, Resume, Job, Resize, Take, Count, Node, Put, Remove)
}


def as_event(given: Any) -> Event:
    """Return an event as an object of its class.

    Parameters
    ----------
    given : Event or mapping

    Returns
    -------
    Event

    Raises
    ------
    ValueError
        If it is no event; the argument is (field, rule, message).
    """
    if isinstance(given, Event):
        return _named(given)
    if not isinstance(given, Mapping):
        raise ValueError(None, "type", f"an event is an object, not {type(given).__name__}")
    word = given.get("event")
    kind = KINDS.get(word) if isinstance(word, str) else None
    if kind is None:
        known = ", ".join(KINDS)
        raise ValueError("event", "choice", f"event is {shorten(word)!r}; it must be one of {known}")
    values = {key: value for key, value in given.items() if key != "event"}
    known_fields = {field.name for field in fields(kind)}
    for key in values:
        if key not in known_fields:
            raise ValueError(
                str(key), "unknown_field", f"{key} is not a field of the event {given['event']!r}"
            )
    try:
        made = kind(**values)
    except TypeError as error:
        missing = next(field.name for field in fields(kind) if field.name not in values)
        raise ValueError(missing, "required", f"{missing} is missing") from error
    return _named(made)


#: Fields of each kind of event that say which row it is about.
_NAMES = {
    kind: tuple(
        (f.name, f.default is None)
        for f in fields(kind)
        if f.name in ("allocation", "request", "name", "table", "node")
    )
    for kind in KINDS.values()
}


def _named(event: Event) -> Event:
    """Return an event whose names are text or integers of Python.

    Raises
    ------
    ValueError
        If one is something else.
    """
    for name, absent in _NAMES[type(event)]:
        value = getattr(event, name)
        kind = type(value)
        if kind is str or kind is int:
            continue
        value = plain(value)
        if value is None and absent:
            continue
        text = name == "table"
        if isinstance(value, bool) or not isinstance(value, str if text else str | int):
            expected = "text" if text else "a name (text or an integer)"
            raise ValueError(name, "type", f"{name} is {kind_of(value)}; it must be {expected}")
        event = replace(event, **{name: value})  # type: ignore[arg-type]
    return event
