"""What a single cell of each kind may be.

Every function returns what the cell means, or raises `CellError` with the
rule that it breaks and a predicate for the message ("is text; it must be a
number").
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta, tzinfo
from typing import Any

import numpy as np

from evenhand.building import times
from evenhand.building.problems import kind_of, nearest, shorten
from evenhand.errors import printable
from evenhand.units.quantity import quantity

INT64 = (-(2**63), 2**63 - 1)


class CellError(ValueError):
    """A cell breaks a rule."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(message)
        self.rule = rule


def _wrong(cell: object, expected: str) -> CellError:
    return CellError("type", f"is {kind_of(cell)}; it must be {expected}")


def one_number(cell: Any) -> float | int:
    """Accept a number that is not a flag."""
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        raise _wrong(cell, "a number")
    try:
        float(cell)
    except OverflowError:
        raise CellError("overflow", "is too large a number") from None
    return cell


def one_amount(unit: str | None) -> Callable[[Any], float | int | None]:
    """Return the function that accepts an amount: a number, or where there is a unit a quantity as text.

    Of a resource whose unit is wrong ("") texts count as absent: that the unit is wrong is reported already.
    """

    def accept(cell: Any) -> float | int | None:
        if not isinstance(cell, str):
            return one_number(cell)
        if unit is None:
            hint = ' (with a "unit" of its resource, quantities such as "512Gi" are read)'
            raise CellError("type", f"is text; it must be a number{hint}")
        if not unit:
            return None
        try:
            exact = quantity(cell, unit)
        except ValueError as error:
            raise CellError("quantity", str(error)) from None
        whole = exact.denominator == 1 and INT64[0] <= exact <= INT64[1]
        try:
            return int(exact) if whole else float(exact)
        except OverflowError:
            raise CellError("overflow", "is too large a number") from None

    return accept


def one_unit(cell: Any) -> str:
    """Accept the word of a unit."""
    if isinstance(cell, str) and not cell.strip():
        raise CellError("required", "is empty; a unit is a word, or null")
    return one_text(cell)


def one_integer(cell: Any) -> int:
    """Accept a whole number that 64 bits hold."""
    one_number(cell)
    if isinstance(cell, float) and not cell.is_integer():
        raise CellError("integer", f"is {cell!r}; it must be a whole number")
    if not INT64[0] <= cell <= INT64[1]:
        raise CellError("overflow", "does not fit in 64 bits")
    return int(cell)


def one_flag(cell: Any) -> bool:
    """Accept true and false only."""
    if not isinstance(cell, bool):
        raise _wrong(cell, "true or false")
    return cell


def one_text(cell: Any) -> str:
    """Accept text that can be written as UTF-8."""
    if not isinstance(cell, str):
        raise _wrong(cell, "text")
    try:
        cell.encode()
    except UnicodeEncodeError:
        raise CellError("utf8", "has half of a surrogate pair, which is not valid Unicode text") from None
    return cell


def one_label(cell: Any) -> str | int:
    """Accept a name: text or an integer."""
    if isinstance(cell, bool) or not isinstance(cell, int | str):
        raise _wrong(cell, "a name (text or an integer)")
    if isinstance(cell, str):
        return one_text(cell)
    return one_integer(cell)


def one_name(cell: Any) -> str | int:
    """Accept a name that is not empty."""
    if isinstance(cell, str) and not cell:
        raise CellError("required", "is empty; a name has at least one character")
    return one_label(cell)


def one_list(one: Callable[[Any], Any], what: str) -> Callable[[Any], list[Any]]:
    """Return the function that accepts a list of such cells."""

    def accept(cell: Any) -> list[Any]:
        if not isinstance(cell, list | tuple | np.ndarray) or getattr(cell, "ndim", 1) == 0:
            raise _wrong(cell, f"a list of {what}")
        return [one(item) for item in cell]

    return accept


def one_time(zone: tzinfo | None, *, text: bool) -> Callable[[Any], float | int]:
    """Return the function that accepts an instant; ISO text only where `text` says so."""

    def accept(cell: Any) -> float | int:
        try:
            if isinstance(cell, datetime) and cell == cell:
                return times.datetime_seconds(cell, zone)
            if isinstance(cell, str) and text:
                return times.parse_instant(cell, zone)
        except ValueError as error:
            raise CellError(
                "timezone" if isinstance(error, times.ZoneError) else "time", str(error)
            ) from None
        if isinstance(cell, bool) or not isinstance(cell, int | float):
            raise _wrong(cell, f"an instant (seconds of any epoch){_as_seconds(cell)}")
        return one_number(cell)

    return accept


def _as_seconds(cell: Any) -> str:
    """Say what ISO 8601 text is in seconds, where only these are read."""
    if not isinstance(cell, str):
        return ""
    try:
        seconds = times.parse_instant(cell, None)
    except ValueError:
        return ""
    written = int(seconds) if seconds.is_integer() else seconds
    return f"; {printable(shorten(cell.strip()))} is {written}"


def one_duration(cell: Any) -> float | int:
    """Accept seconds, timedelta, or text such as "5m"."""
    if isinstance(cell, timedelta) and cell == cell:
        return times.timedelta_seconds(cell)
    if isinstance(cell, str):
        try:
            return times.parse_duration(cell)
        except ValueError as error:
            raise CellError("duration", str(error)) from None
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        raise _wrong(cell, 'a duration (seconds, or text such as "5m")')
    return one_number(cell)


def one_word(words: tuple[str, ...]) -> Callable[[Any], str]:
    """Return the function that accepts these words."""
    listed = ", ".join(f'"{word}"' for word in words)

    def accept(cell: Any) -> str:
        if not isinstance(cell, str):
            raise _wrong(cell, f"one of {listed}")
        if cell not in words:
            raise CellError("choice", f'is "{shorten(cell)}", not one of {listed}{nearest(cell, words)}')
        return cell

    return accept


def one_object(cell: Any) -> dict[Any, Any]:
    """Accept an object of amounts."""
    if not isinstance(cell, Mapping):
        raise _wrong(cell, "an object (resource: amount)")
    return dict(cell)
