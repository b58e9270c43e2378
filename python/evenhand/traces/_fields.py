"""Lines of text to columns of numbers, without a Python loop over lines.

A block is looked at as an array of bytes: where fields start and end is found by comparisons, and whole
numbers are read eight digits at a time, from eight bytes taken as one word (Lemire, "Quickly parsing eight
digits", 2022). Only fields that are no whole numbers are looked at one by one, each different text once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from evenhand.building.problems import shorten
from evenhand.errors import InputError, Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

KEPT = 100
"""So many problems an error has."""

_SEPARATORS = {b",": "commas", b"|": "bars"}
_PAD = 32  # bytes before the text, so that words ending in its first field begin within the array
_ZEROS = np.uint64(0x3030303030303030)
_HIGH = np.uint64(0xF0F0F0F0F0F0F0F0)
_SIXES = np.uint64(0x0606060606060606)
#: Of the eight bytes of a word, the last v; the others are older digits or no digits at all.
_LAST = np.array([0] + [((1 << 64) - 1) ^ ((1 << (64 - 8 * v)) - 1) for v in range(1, 9)], np.uint64)

Ints = "NDArray[np.int64]"


@dataclass
class Wrong:
    """What is wrong with a file: the first problems, and how many there are."""

    file: str
    problems: list[Problem] = field(default_factory=list)
    count: int = 0

    def add(self, line: int, name: str | None, rule: str, said: str, value: object = None) -> None:
        """Note one problem of a line."""
        self.count += 1
        if len(self.problems) < KEPT:
            text = None if value is None else shorten(value)
            subject = f"line {line}" if name is None else f"{name} of line {line}"
            self.problems.append(Problem(self.file, line, None, name, rule, text, f"{subject} {said}"))

    def rows(
        self,
        bad: NDArray[np.bool_],
        lines: NDArray[np.int64],
        name: str,
        rule: str,
        said: str,
        values: object,
    ) -> None:
        """Note the rows of a column for which `bad` holds; `said` names the value by ``{}``."""
        found = np.flatnonzero(bad)
        shown = found[: max(0, KEPT - len(self.problems))].tolist()
        for row in shown:
            value = values[row]  # type: ignore[index]
            value = value.item() if isinstance(value, np.generic) else value
            self.add(int(lines[row]), name, rule, said.format(value), value)
        self.count += len(found) - len(shown)

    def done(self) -> None:
        """Raise what was found."""
        if self.count:
            ordered = sorted(self.problems, key=lambda p: (p.row or 0, p.field or ""))
            raise InputError(ordered, self.count - len(ordered))


class Block:
    """The fields of a block of lines.

    Attributes
    ----------
    lines : array of int64
        Line number of each row; lines without any field are no rows.
    """

    def __init__(self, text: bytes, first: int, names: Sequence[str], separator: bytes, wrong: Wrong) -> None:
        self._text = np.frombuffer(b"\n" * _PAD + text + b"\n" * 8, np.uint8)
        self._words = np.ndarray((len(self._text) - 7,), "<u8", self._text, strides=(1,))
        self._names = list(names)
        self._wrong = wrong
        body = self._text[: len(self._text) - 8]
        ends_of_lines = np.flatnonzero(body[_PAD:] == 10) + _PAD
        if separator:
            # An empty line would be one empty field: it is none.
            stops = np.flatnonzero((body == separator[0]) | (body == 10))[_PAD - 1 :]
            starts, ends = stops[:-1] + 1, stops[1:]
        else:
            inside = body > 32
            edges = np.flatnonzero(inside[1:] != inside[:-1]) + 1
            starts, ends = edges[::2], edges[1::2]
        upto = np.searchsorted(ends, ends_of_lines, side="right")
        counts = np.diff(upto, prepend=0)
        if separator:
            before = np.concatenate([[_PAD - 1], ends_of_lines[:-1]])
            empty = ends_of_lines == before + 1
        else:
            empty = counts == 0
        width = len(self._names)
        right = (counts == width) & ~empty
        for line in np.flatnonzero(~right & ~empty).tolist():
            fields = f"{counts[line]} field{'s' if counts[line] != 1 else ''}"
            wrong.add(first + line, None, "width", f"has {fields}; it must have {width}")
        of_line = np.repeat(right, counts)
        self._starts = starts[of_line].reshape(-1, width)
        self._ends = ends[of_line].reshape(-1, width)
        self.lines = np.flatnonzero(right) + first

    def __len__(self) -> int:
        return len(self.lines)

    def whole(self, name: str, absent: int | None = None) -> NDArray[np.int64]:
        """Return a column of whole numbers; what is none is noted as wrong."""
        values, other = self._whole(name)
        if other.any():
            at = np.flatnonzero(other)
            rows, inverse = self._distinct(name, at)
            found = [_int(self.text(row, name)) for row in rows.tolist()]
            good = np.array([value is not None for value in found])[inverse]
            blank = self._lengths(name)[at] == 0
            texts = _Texts(self, name, at)
            said = "is {!r}; it must be a whole number"
            self._wrong.rows(~good & ~blank, self.lines[at], name, "integer", said, texts)
            if absent is None:
                self._wrong.rows(blank, self.lines[at], name, "required", "is missing", texts)
            stand_in = 0 if absent is None else absent
            values[at] = np.where(
                blank, stand_in, np.array([value or 0 for value in found], np.int64)[inverse]
            )
        return values

    def numbers(self, name: str) -> NDArray[np.float64]:
        """Return a column of numbers; what is none is noted as wrong, an empty field NaN."""
        found, at, good = self._numbers(name)
        blank = self._lengths(name)[at] == 0
        said = "is {!r}; it must be a finite number"
        self._wrong.rows(~good & ~blank, self.lines[at], name, "number", said, _Texts(self, name, at))
        return found

    def numbers_if_any(self, name: str) -> NDArray[np.float64]:
        """Return a column that no rule reads: NaN for what is no number."""
        return self._numbers(name)[0]

    def _numbers(self, name: str) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_]]:
        """Return numbers, which rows are no plain whole ones, and which of these are numbers at all."""
        values, other = self._whole(name)
        found, at = values.astype(np.float64), np.flatnonzero(other)
        if not len(at):
            return found, at, np.zeros(0, np.bool_)
        rows, inverse = self._distinct(name, at)
        floats = np.array([_float(self.text(row, name)) for row in rows.tolist()])[inverse]
        good = np.isfinite(floats)
        found[at] = np.where(good, floats, np.nan)
        return found, at, good

    def codes(self, name: str) -> tuple[NDArray[np.int64], list[str]]:
        """Return a column of texts as numbers of the different ones, and these."""
        rows, inverse = self._distinct(name, np.arange(len(self)))
        return inverse, [self.text(row, name) for row in rows.tolist()]

    def text(self, row: int, name: str) -> str:
        """Return one field as text."""
        j = self._names.index(name)
        return self._text[self._starts[row, j] : self._ends[row, j]].tobytes().decode("utf-8", "replace")

    def _lengths(self, name: str) -> NDArray[np.int64]:
        j = self._names.index(name)
        return self._ends[:, j] - self._starts[:, j]

    def _whole(self, name: str) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return numbers, and which rows are none of at most 18 digits."""
        j = self._names.index(name)
        start, end = self._starts[:, j], self._ends[:, j]
        minus = self._text[start] == 45
        length = end - start - minus
        if int(length.max(initial=0)) <= 1 and not minus.any():
            digit = self._text[start].astype(np.int64) - 48
            bad = (length < 1) | (digit < 0) | (digit > 9)
            return np.where(bad, 0, digit), bad
        value = np.zeros(len(self), np.uint64)
        bad = (length < 1) | (length > 18)
        for part in range(min(3, -(-int(length.max(initial=0)) // 8))):
            digits = np.clip(length - 8 * part, 0, 8)
            mask = _LAST[digits]
            words = self._words[np.maximum(end - 8 * (part + 1), 0)].astype(np.uint64)
            words = (words & mask) | (_ZEROS & ~mask)
            bad |= ((words & _HIGH) != _ZEROS) | (((words + _SIXES) & _HIGH) != _ZEROS)
            value += _eight(words) * np.uint64(10 ** (8 * part))
        found = value.astype(np.int64)
        return np.where(bad, 0, np.where(minus, -found, found)), bad

    def _distinct(self, name: str, at: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return a row for each different text among rows `at`, and for each of `at` which one it has."""
        j = self._names.index(name)
        start, length = self._starts[at, j], self._lengths(name)[at]
        key = length.astype(np.uint64)
        parts = []
        for part in range(-(-int(length.max(initial=0)) // 8)):
            # Bytes behind a field are none of it.
            kept = ~_LAST[8 - np.clip(length - 8 * part, 0, 8)]
            kept[length >= 8 * (part + 1)] = ~np.uint64(0)
            last = len(self._words) - 1
            words = self._words[np.minimum(start + 8 * part, last)].astype(np.uint64) & kept
            parts.append(words)
            key = (key ^ words) * np.uint64(0x9E3779B97F4A7C15)
            key ^= key >> np.uint64(29)
        _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
        inverse = inverse.reshape(-1)
        same = length == length[first][inverse]
        for words in parts:
            same &= words == words[first][inverse]
        if not same.all():  # two texts of one key: rare enough to be read one by one
            return self._one_by_one(name, at)
        return at[first], inverse.astype(np.int64)

    def _one_by_one(self, name: str, at: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        known: dict[str, int] = {}
        rows: list[int] = []
        inverse = np.empty(len(at), np.int64)
        for i, row in enumerate(at.tolist()):
            text = self.text(row, name)
            if text not in known:
                known[text] = len(rows)
                rows.append(row)
            inverse[i] = known[text]
        return np.array(rows, np.int64), inverse


def foreign(text: bytes, width: int, comment: str) -> tuple[int, str, str] | None:
    """Say by its first line that a text is no table of numbers between blanks: line from 0, rule and why."""
    for at, line in enumerate(text.split(b"\n", 1000)[:1000]):
        words = line.split()
        if not words:
            continue
        for separator, called in _SEPARATORS.items():
            fields = len(line.split(separator))
            if fields == width or fields > len(words) != width:
                said = f"is separated by {called}; it must have {width} fields separated by blanks"
                return at, "separator", said
        if all(_float(word.decode("latin-1")) != _float(word.decode("latin-1")) for word in words):
            said = f"has names, not numbers; a line that is no row begins with {comment}"
            return at, "header", said
        return None
    return None


class _Texts:
    """Fields as texts, made when they are shown."""

    def __init__(self, block: Block, name: str, at: NDArray[np.int64]) -> None:
        self._block, self._name, self._at = block, name, at

    def __getitem__(self, i: int) -> str:
        return self._block.text(int(self._at[i]), self._name)


def _float(text: str) -> float:
    """Return a number, or NaN; underscores and words are none in any file of numbers."""
    if "_" in text or any(c.isalpha() and c not in "eE" for c in text):
        return float("nan")
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _int(text: str) -> int | None:
    """Return a whole number of 64 bits, or None."""
    if text.lstrip("+-").isdecimal() and text.isascii():
        try:
            exact = int(text)
        except ValueError:
            return None
        return exact if -(2**63) <= exact < 2**63 else None
    value = _float(text)
    return int(value) if value == np.floor(value) and abs(value) < 2.0**53 else None


def _eight(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the numbers that words of eight digits are, the first in the lowest byte."""
    pairs = ((words & np.uint64(0x0F0F0F0F0F0F0F0F)) * np.uint64(2561)) >> np.uint64(8)
    fours = ((pairs & np.uint64(0x00FF00FF00FF00FF)) * np.uint64(6553601)) >> np.uint64(16)
    return ((fours & np.uint64(0x0000FFFF0000FFFF)) * np.uint64(42949672960001)) >> np.uint64(32)


__all__ = ["Block", "Wrong", "foreign"]
