"""Values that are kept as they are: settings of a row, checked to be plain data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import numpy as np

from evenhand.building.problems import kind_of
from evenhand.building.single import INT64, CellError, one_text
from evenhand.building.times import timedelta_seconds

DEPTH = 32


def one_settings(cell: Any) -> dict[str, Any]:
    """Accept an object of plain data; returns a copy."""
    if not isinstance(cell, Mapping):
        raise CellError("type", f"is {kind_of(cell)}; it must be an object (name: value)")
    copy: dict[str, Any] = plain(cell)
    return copy


def plain(value: Any, depth: int = 0) -> Any:
    """Return a copy made of dict, list, str, int, float, bool and None only.

    Raises
    ------
    CellError
        If the value holds anything that JSON cannot, or is nested more than `DEPTH` deep.
    """
    if isinstance(value, np.generic):
        value = value.item()
    match value:
        case None | bool():
            return value
        case str():
            return one_text(value)
        case int():
            if not INT64[0] <= value <= INT64[1]:
                raise CellError("overflow", "holds a number that does not fit in 64 bits")
            return int(value)
        case float():
            if not math.isfinite(value):
                raise CellError("finite", f"holds {value}; numbers must be finite")
            # Frames make 7.0 of a 7 beside absent cells; both are one number.
            return int(value) if value.is_integer() and abs(value) < 2**53 else float(value)
        case timedelta() if value == value:
            return plain(timedelta_seconds(value))
    if depth >= DEPTH:
        raise CellError("depth", f"is nested more than {DEPTH} deep")
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise CellError("type", f"has a key that is {kind_of(key)}; keys must be text")
        return {one_text(key): plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(item, depth + 1) for item in value]
    raise CellError(
        "type", f"holds {kind_of(value)}; it must be plain data (text, numbers, flags, lists, objects)"
    )
