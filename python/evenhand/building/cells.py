"""Cells: one column of input before it is parsed, in the form in which it came.

A column is a plain list (None: absent) or one of the typed forms below, which
are passed on without looking at single cells wherever their type allows.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(slots=True)
class Numbers:
    """Booleans, integers or floats, and which of them are given (None: all)."""

    values: NDArray[Any]
    valid: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, row: int) -> Any:
        return None if self.valid is not None and not self.valid[row] else self.values[row].item()

    def tolist(self) -> list[Any]:
        """Return the cells as a plain list."""
        return _masked(self.values.tolist(), self.valid)


@dataclass(slots=True)
class Times:
    """Microseconds: instants since 1970 (UTC), or spans."""

    micros: NDArray[np.int64]
    valid: NDArray[np.bool_] | None
    span: bool

    def __len__(self) -> int:
        return len(self.micros)

    def tolist(self) -> list[Any]:
        """Return the cells as a plain list of timedelta or datetime objects (integers beyond their range)."""
        cells: Iterable[Any]
        if self.span:
            cells = self.micros.view("m8[us]").tolist()
        else:
            naive = self.micros.view("M8[us]").tolist()
            cells = (t.replace(tzinfo=UTC) if isinstance(t, datetime) else t for t in naive)
        return _masked(list(cells), self.valid)


@dataclass(slots=True)
class Strings:
    """UTF-8 text laid end to end: Arrow's large string layout."""

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    valid: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> str | None:
        if self.valid is not None and not self.valid[row]:
            return None
        return bytes(self.data[self.offsets[row] : self.offsets[row + 1]]).decode("utf-8", "replace")

    def tolist(self) -> list[Any]:
        """Return the cells as a plain list."""
        base = int(self.offsets[0])
        data = self.data[base : int(self.offsets[-1])].tobytes()
        ends = (self.offsets - base).tolist()
        pairs = itertools.pairwise(ends)
        if data.isascii():
            text = data.decode("ascii")
            return _masked([text[a:b] for a, b in pairs], self.valid)
        return _masked([data[a:b].decode("utf-8", "replace") for a, b in pairs], self.valid)


@dataclass(slots=True)
class Words:
    """Texts, those that return mostly once, and the code of each row's (-1: absent)."""

    words: Strings
    codes: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.codes)

    def tolist(self) -> list[Any]:
        """Return the cells as a plain list."""
        words = [*self.words.tolist(), None]
        return [words[code] for code in self.codes.tolist()]


@dataclass(slots=True)
class WordLists:
    """Lists of texts: the codes of all of them end to end, and where each row's begin."""

    words: Strings
    offsets: NDArray[np.int64]
    codes: NDArray[np.int32]
    valid: NDArray[np.bool_] | None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def tolist(self) -> list[Any]:
        """Return the cells as a plain list."""
        flat = Words(self.words, self.codes).tolist()
        return _masked([flat[a:b] for a, b in itertools.pairwise(self.offsets.tolist())], self.valid)


@dataclass(slots=True)
class Objects:
    """Inner objects by key: cells of those that are known, [first row, rows] of others; None is empty."""

    columns: dict[str, Cells]
    unknown: dict[str, tuple[int, int]]


Cells = list[Any] | Numbers | Times | Strings | Words | WordLists


def as_list(cells: Cells) -> list[Any]:
    """Return any cells as a plain list."""
    return cells if isinstance(cells, list) else cells.tolist()


def _masked(cells: list[Any], valid: NDArray[np.bool_] | None) -> list[Any]:
    if valid is None:
        return cells
    return [cell if given else None for cell, given in zip(cells, valid.tolist(), strict=True)]


__all__ = ["Cells", "Numbers", "Objects", "Strings", "Times", "WordLists", "Words", "as_list"]
