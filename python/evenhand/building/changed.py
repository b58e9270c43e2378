"""Raw columns with some of their rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.building.parse import Raw
from evenhand.building.settings import labels_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["drop_rows", "keep_reservations", "some", "take"]


def some(column: Any, rows: NDArray[Any]) -> Any:
    """Return some rows of a raw column, in ascending order."""
    if isinstance(column, list):
        return [column[row] for row in rows.tolist()]
    if isinstance(column, tuple) and len(column) == 3:  # lists of words
        words, offsets, codes = column
        lengths = np.diff(offsets)
        chosen = np.zeros(len(lengths), np.bool_)
        chosen[rows] = True
        kept = codes[np.repeat(chosen, lengths)]
        return words, np.concatenate([[0], np.cumsum(lengths[rows])]).astype(offsets.dtype), kept
    if isinstance(column, tuple) and isinstance(column[0], list):
        return column[0], column[1][rows]
    if isinstance(column, tuple):
        return column[0][rows], None if column[1] is None else column[1][rows]
    return column[rows]


def take(raw: Raw, table: str, rows: NDArray[Any]) -> None:
    """Leave some rows of a table, in ascending order."""
    beside = {key: raw.settings.pop(key, {}) for key in (table, labels_of(table))}
    if len(rows) == 0:
        raw.tables.pop(table, None)
        raw.rows.pop(table, None)
        return
    raw.tables[table] = {name: some(column, rows) for name, column in raw.tables[table].items()}
    raw.rows[table] = len(rows)
    for key, by_row in beside.items():
        if by_row and (kept := {i: by_row[row] for i, row in enumerate(rows.tolist()) if row in by_row}):
            raw.settings[key] = kept


def drop_rows(raw: Raw, table: str, keep: NDArray[np.bool_]) -> None:
    """Drop rows of the allocations or requests, and the reservations for them."""
    if keep.all():
        return
    keep_reservations(raw, f"{table.removesuffix('s')}_index", keep)
    take(raw, table, np.flatnonzero(keep))


def keep_reservations(raw: Raw, field: str, keep: NDArray[np.bool_]) -> None:
    """Drop reservations for rows that go; let the others follow their rows."""
    reservations = raw.tables.get("reservations")
    if reservations is None or field not in reservations:
        return
    new_row = np.where(keep, np.cumsum(keep) - 1, -1)
    wanted = reservations[field]
    stays = (wanted < 0) | keep[wanted]
    reservations[field] = np.where(wanted < 0, -1, new_row[wanted])
    take(raw, "reservations", np.flatnonzero(stays))
