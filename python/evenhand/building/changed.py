"""Raw columns with other rows: some of them, more of them, other cells."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.building.parse import Raw
from evenhand.building.settings import labels_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["drop_rows", "free_names", "joined", "keep_reservations", "parts", "set_labels", "some", "take"]


def parts(column: Any, rows: int, dtype: Any, width: int | None = None) -> tuple[Any, Any]:
    """Return copies of values and validity of a raw column that may be absent."""
    shape = rows if width is None else (rows, width)
    if column is None:
        return np.zeros(shape, dtype), np.zeros(shape, np.bool_)
    values, given = column if isinstance(column, tuple) else (column, None)
    return np.array(values), np.ones(shape, np.bool_) if given is None else np.array(given)


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


def set_labels(table: dict[str, Any], field: str, count: int, labels: Mapping[int, str | None]) -> None:
    """Set the texts of some rows; None: absent."""
    words, codes = table.get(field, ((), np.full(count, -1, np.int32)))
    codes = np.array(codes, np.int32)
    code_of = {word: code for code, word in enumerate(words)}
    for row, label in labels.items():
        codes[row] = -1 if label is None else code_of.setdefault(label, len(code_of))
    table[field] = (list(code_of), codes)


def free_names(taken: Container[str], requests: Iterable[str | int]) -> list[str]:
    """Return a name for every start, ``"<request>/<number>"``, that no allocation has."""
    number: dict[str, int] = {}
    result = []
    for request in map(str, requests):
        place = number.get(request, 1)
        while f"{request}/{place}" in taken:
            place += 1
        number[request] = place + 1
        result.append(f"{request}/{place}")
    return result


def joined(first: Mapping[str, Any], second: Mapping[str, Any], rows: tuple[int, int]) -> dict[str, Any]:
    """Return raw columns with the rows of both, as `readback` gives them; an absent column is all absent."""
    return {name: _joined(name, (first.get(name), second.get(name)), rows) for name in {**first, **second}}


def _joined(name: str, columns: tuple[Any, Any], rows: tuple[int, int]) -> Any:
    known = next(column for column in columns if column is not None)
    if isinstance(known, list):
        return [cell for column in columns for cell in column or []]
    if name.endswith("_index"):
        filled = [np.full(n, -1, np.int64) if c is None else c for c, n in zip(columns, rows, strict=True)]
        return np.concatenate(filled)
    if isinstance(known, tuple) and isinstance(known[0], list):
        return _joined_words(columns, rows)
    width = (known[0] if isinstance(known, tuple) else known).shape[1:]
    dtype = (known[0] if isinstance(known, tuple) else known).dtype
    pairs = [
        parts(column, n, dtype, width[0] if width else None) for column, n in zip(columns, rows, strict=True)
    ]
    return tuple(np.concatenate([pair[i] for pair in pairs]) for i in range(2))


def _joined_words(columns: Sequence[Any], rows: tuple[int, int]) -> Any:
    code_of: dict[str, int] = {}
    codes, lengths = [], []
    for column, n in zip(columns, rows, strict=True):
        words, own = ([], np.full(n, -1, np.int32)) if column is None else (column[0], column[-1])
        if column is None and len(next(c for c in columns if c is not None)) == 3:
            own = own[:0]
        new = np.array([code_of.setdefault(word, len(code_of)) for word in words] + [-1], np.int32)
        codes.append(new[own])
        lengths.append(np.zeros(n, np.int64) if column is None or len(column) == 2 else np.diff(column[1]))
    if len(next(c for c in columns if c is not None)) == 2:
        return list(code_of), np.concatenate(codes)
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64)
    return list(code_of), offsets, np.concatenate(codes)
