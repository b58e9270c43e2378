"""Values that are kept as they are: settings of a row, checked to be plain data."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

import numpy as np

from evenhand import _core
from evenhand.building.problems import COUNTED, kind_of
from evenhand.building.single import INT64, CellError, one_text
from evenhand.building.times import timedelta_seconds

DEPTH = 32

Objects = dict[int, dict[str, Any]]


def one_settings(cell: Any) -> dict[str, Any]:
    """Accept an object of plain data; returns a copy."""
    if not isinstance(cell, Mapping):
        raise CellError("type", f"is {kind_of(cell)}; it must be an object (name: value)")
    copy: dict[str, Any] = plain(cell)
    return copy


def labels_of(table: str) -> str:
    """Return the key under which labels of a table's rows stand beside the settings of its rows."""
    return f"{table}.labels"


def one_labels(cell: Any) -> dict[str, Any]:
    """Accept an object of text and numbers; returns a copy."""
    if not isinstance(cell, Mapping):
        raise CellError("type", f"is {kind_of(cell)}; it must be an object (name: text or number)")
    return {one_label_name(name): one_label_value(value) for name, value in cell.items() if value is not None}


def one_label_name(name: Any) -> str:
    """Accept the name of a label."""
    if not isinstance(name, str):
        raise CellError("type", f"has a key that is {kind_of(name)}; keys must be text")
    return one_text(name)


def one_label_value(value: Any) -> str | int | float:
    """Accept text or a number."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise CellError("type", f"holds {kind_of(value)}; a label is text or a number")
    label: str | int | float = plain(value)
    return label


def settings_of_json(cells: list[Any], report: Callable[[int, str, str, object], None]) -> Objects:
    """Check a column of what JSON's parser made and no other code holds; returns the objects by row.

    What is wrong is reported and left out, as is the rest once `COUNTED` cells are wrong.
    """
    return _of_json(cells, lambda row: _core.check_settings(cells, row, DEPTH), one_settings, report)


def labels_of_json(cells: list[Any], report: Callable[[int, str, str, object], None]) -> Objects:
    """Check a column of labels as `settings_of_json` checks settings."""
    return _of_json(cells, lambda row: _core.check_labels(cells, row), one_labels, report)


def _of_json(
    cells: list[Any],
    check: Callable[[int], int],
    one: Callable[[Any], Any],
    report: Callable[[int, str, str, object], None],
) -> Objects:
    wrong = row = 0
    while (row := check(row)) < len(cells):
        try:
            cells[row] = one(cells[row])
        except CellError as error:
            report(row, error.rule, str(error), cells[row])
            cells[row] = None
            wrong += 1
        if wrong == COUNTED:
            cells[row:] = [None] * (len(cells) - row)
    return {i: cell for i, cell in enumerate(cells) if cell}


def _text(value: str) -> str:
    return value if value.isascii() else one_text(value)


def _integer(value: int) -> int:
    if not INT64[0] <= value <= INT64[1]:
        raise CellError("overflow", "holds a number that does not fit in 64 bits")
    return int(value)


def _float(value: float) -> float | int:
    if not math.isfinite(value):
        raise CellError("finite", f"holds {value}; numbers must be finite")
    # Frames make 7.0 of a 7 beside absent cells; both are one number.
    return int(value) if value.is_integer() and abs(value) < 2**53 else float(value)


_SCALARS: dict[type, Callable[[Any], Any]] = {
    str: _text,
    int: _integer,
    float: _float,
    bool: bool,
    type(None): lambda value: value,
}


def plain(value: Any, depth: int = 0) -> Any:
    """Return a copy made of dict, list, str, int, float, bool and None only."""
    known = _SCALARS.get(type(value))
    if known is not None:
        return known(value)
    if isinstance(value, np.generic):
        value = value.item()
    match value:
        case None | bool():
            return value
        case str():
            return one_text(value)
        case int():
            return _integer(value)
        case float():
            return _float(value)
        case timedelta() if value == value:
            return plain(timedelta_seconds(value))
    if depth >= DEPTH:
        raise CellError("depth", f"is nested more than {DEPTH} deep")
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise CellError("type", f"has a key that is {kind_of(key)}; keys must be text")
        return {_text(key): plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist(), depth)
    if isinstance(value, list | tuple):
        return [plain(item, depth + 1) for item in value]
    raise CellError(
        "type", f"holds {kind_of(value)}; it must be plain data (text, numbers, flags, lists, objects)"
    )
