"""Numbers of time and counts as arguments: seconds however they are written, instants, how many."""

from __future__ import annotations

from datetime import datetime, timedelta, tzinfo
from typing import Any

from evenhand.accepted.checked import refuse, taken
from evenhand.accepted.kinds import Kind, Refused, kind_of_annotation, plain
from evenhand.building.problems import kind_of, shorten
from evenhand.building.single import CellError, one_duration
from evenhand.building.times import ZoneError, datetime_seconds

__all__ = [
    "COUNT",
    "LATEST",
    "LONGEST",
    "MOST",
    "SEED",
    "count_of",
    "instant_from",
    "part_of",
    "scale_of",
    "seconds_of",
]

#: The longest span, a hundred years, as of settings.
LONGEST = 3_153_600_000.0

#: The latest instant, as in a snapshot: 2^60 microseconds.
LATEST = 2**60 / 1e6

#: So many rows at most are made of a number.
MOST = 10_000_000


def seconds_of(function: str, name: str, value: Any, *, above: bool = False, most: float = LONGEST) -> float:
    """Return a span of time in seconds."""
    try:
        seconds = float(one_duration(plain(value)))
    except CellError as error:
        raise refuse(function, name, value, error.rule, str(error)) from None
    least = seconds > 0 if above else seconds >= 0
    if not (least and seconds <= most):
        longest = "a hundred years" if most == LONGEST else f"{most:g} s"
        bounds = f"more than 0 and at most {longest}" if above else f"between 0 and {longest}"
        raise refuse(function, name, value, "range", f"is {shorten(value)}; it must be {bounds}")
    return seconds


def instant_from(
    function: str,
    name: str,
    value: Any,
    begin: float,
    *,
    least: float | None = None,
    what: str = "the beginning",
    zone: tzinfo | None = None,
) -> float:
    """Return an instant, in seconds of the snapshot's epoch; one without a time zone is read in `zone`."""
    value = plain(value)
    try:
        if isinstance(value, datetime) and value == value:  # NaT is none
            seconds = datetime_seconds(value, zone)
        elif isinstance(value, str | timedelta):
            seconds = begin + float(one_duration(value))
        elif isinstance(value, bool) or not isinstance(value, int | float):
            expected = 'an instant (seconds), or text such as "10d" (after the beginning)'
            raise CellError("type", f"is {kind_of(value)}; it must be {expected}")
        else:
            seconds = float(one_duration(value))
    except ZoneError:
        raise refuse(
            function, name, value, "timezone", "is an instant without a time zone; give it one"
        ) from None
    except CellError as error:
        raise refuse(function, name, value, error.rule, str(error)) from None
    if not -LATEST <= seconds <= LATEST:
        said = f"is {shorten(value)}; it must be within {LATEST:.0f} s of the epoch"
        raise refuse(function, name, value, "finite" if seconds != seconds else "range", said)
    if least is not None and seconds < least:
        said = f"is {shorten(value)}, before {what} ({least:.15g})"
        raise refuse(function, name, value, "range", said)
    return seconds


def _count(least: int, most: int) -> Kind:
    words = f"a whole number from {least} to {most}"

    def accept(value: Any) -> int:
        value = plain(value)
        if isinstance(value, bool) or not isinstance(value, int):
            found = shorten(value) if isinstance(value, float) else kind_of(value)
            raise Refused("type", f"is {found}; it must be {words}")
        if not least <= value <= most:
            raise Refused("range", f"is {shorten(value)}; it must be {words}")
        return value

    return Kind(words, accept)


#: A positive number of rows, points and the like.
COUNT = _count(1, MOST)


def _scale(value: Any) -> float:
    number = plain(value)
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise Refused("type", f"is {kind_of(value)}; it must be a positive number")
    try:
        right = 0 < float(number) < float("inf")
    except OverflowError:
        right = False
    if not right:
        raise Refused("range", f"is {shorten(value)}; it must be a positive, finite number")
    return float(number)


#: A positive, finite number.
SCALE = Kind("a positive, finite number", _scale)

#: A number of rows that may be none.
SIZE = _count(0, MOST)

#: True or false.
FLAG = kind_of_annotation("bool")

#: A finite number.
NUMBER = kind_of_annotation("float")

#: A path.
PATH = kind_of_annotation("PathLike")

#: What generators of random numbers begin with.
SEED = _count(0, 2**63 - 1)


def count_of(function: str, name: str, value: Any, least: int = 1, most: int = MOST) -> int:
    """Return a whole number between two, as Python has it."""
    found: int = taken(function, name, value, _count(least, most))
    return found


def part_of(function: str, name: str, value: Any) -> float:
    """Return a number above 0 and below 1."""
    number = plain(value)
    right = isinstance(number, int | float) and not isinstance(number, bool) and 0 < number < 1
    if not right:
        raise refuse(
            function, name, value, "range", f"is {shorten(value)}; it must be a number between 0 and 1"
        )
    return float(number)


def scale_of(function: str, name: str, value: Any) -> float:
    """Return a positive, finite number."""
    found: float = taken(function, name, value, SCALE)
    return found
