"""Checks of arguments: what a function cannot use is refused with its name, not by what breaks inside."""

from __future__ import annotations

import json
import operator
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from evenhand.building.problems import kind_of, shorten
from evenhand.errors import InputError, NoSuchNameError, NoSuchRowError, Problem, WrongKindError, printable

if TYPE_CHECKING:
    from evenhand.model import Snapshot

__all__ = [
    "Living",
    "as_json",
    "expect",
    "expect_snapshot",
    "instant_of",
    "looked_up",
    "row_number",
    "snapshot_of",
]

_MOST_SPACES = 100


def expect(right: bool, table: str, argument: str, value: object, expected: str) -> None:
    """Refuse an argument of another kind."""
    if not right:
        message = f"{argument} is {kind_of(value)}; it must be {expected}"
        shown = printable(shorten(value))
        raise InputError([Problem(table, None, None, argument, "type", shown, printable(message))])


def instant_of(function: str, argument: str, value: Any) -> float:
    """Return an instant in seconds since 1970."""
    from evenhand.building.single import CellError, one_time

    given = value.item() if hasattr(value, "dtype") and not getattr(value, "shape", ()) else value
    try:
        seconds = float(one_time(None, text=True)(given))
        if seconds - seconds:  # inf or NaN
            raise CellError("finite", f"is {seconds}; it must be finite")
    except CellError as error:
        shown = printable(shorten(value))
        message = printable(f"{argument} {error}")
        raise InputError([Problem(function, None, None, argument, error.rule, shown, message)]) from None
    return seconds


class Living(Protocol):
    """What is one snapshot after the other: a cluster."""

    def snapshot(self) -> Snapshot:
        """Return what is now."""


def snapshot_of(function: str, value: Any) -> Snapshot:
    """Return a snapshot itself, of a cluster the snapshot that it is now."""
    from evenhand.model import Snapshot

    if isinstance(value, Snapshot):
        return value
    right = callable(getattr(type(value), "snapshot", None))  # plans have one that is not called
    known = "a Snapshot, as Snapshot.from_dict makes of plain data, or a Cluster"
    expect(right, function, "snapshot", value, known)
    now: Snapshot = value.snapshot()
    return now


def expect_snapshot(function: str, value: Any) -> None:
    """Refuse what is no snapshot."""
    from evenhand.model import Snapshot

    expect(isinstance(value, Snapshot), function, "snapshot", value, "a Snapshot")


def looked_up(known: Mapping[Any, Any], name: object, what: str) -> Any:
    """Return what a mapping has of a name."""
    try:
        return known[name]
    except (KeyError, TypeError):
        some = ", ".join(str(key) for key in list(known)[:40])
        more = f" and {len(known) - 40} more" if len(known) > 40 else ""
        said = f"there is no {what} {shorten(name)!r}; there are {some or 'none'}{more}"
        raise NoSuchNameError.about("names", what, "exists", said, shorten(name)) from None


def row_number(value: object, rows: int, what: str) -> int:
    """Return a place in a sequence, from 0."""
    try:
        place = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        said = f"{what} are numbered by integers, not by {kind_of(value)}"
        raise WrongKindError.about("rows", what, "type", said, shorten(value)) from None
    if not -rows <= place < rows:
        raise NoSuchRowError.about("rows", what, "exists", f"there are {rows} {what}", shorten(value))
    return place % rows


def as_json(data: Any, indent: object) -> str:
    """Return plain data as JSON text."""
    spaces = isinstance(indent, int) and not isinstance(indent, bool) and 0 <= indent <= _MOST_SPACES
    expect(indent is None or spaces, "to_json", "indent", indent, f"None, or from 0 to {_MOST_SPACES} spaces")
    return json.dumps(data, ensure_ascii=False, allow_nan=False, indent=indent)  # type: ignore[arg-type]
