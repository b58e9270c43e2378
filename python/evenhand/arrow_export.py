"""Columns as the buffers of the Arrow C data interface.

The layouts are those of Apache Arrow, "Arrow Columnar Format": little-endian validity and truth bits, 64-bit
offsets for strings and lists. `evenhand._core.arrow_stream` wraps the buffers in the C structs.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand import _core

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# name, format, length, null count, buffers, children
Field = tuple[str, str, int, int, list[np.ndarray | None], list[Any]]


def stream(columns: Mapping[str, tuple[str, np.ndarray | list[Any]]], length: int) -> object:
    """Return a PyCapsule named ``arrow_array_stream`` with one record batch."""
    children = [_field(name, kind, values) for name, (kind, values) in columns.items()]
    return _core.arrow_stream(("", "+s", length, 0, [None], children))


def _field(name: str, kind: str, values: np.ndarray | Sequence[Any]) -> Field:
    nulls, validity, values = _split_gaps(kind, values)
    if kind == "texts":
        item = _field("item", "text", list(chain.from_iterable(values)))
        return (name, "+L", len(values), nulls, [validity, _offsets(len(v) for v in values)], [item])
    if kind == "text":
        encoded = [text.encode("utf-8", "backslashreplace") for text in values]
        data = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        return (name, "U", len(encoded), nulls, [validity, _offsets(map(len, encoded)), data], [])
    if kind == "flag":
        return (name, "b", len(values), nulls, [validity, _bits(np.asarray(values, dtype=bool))], [])
    form, dtype = {"number": ("g", np.float64), "integer": ("l", np.int64)}[kind]
    return (name, form, len(values), nulls, [validity, np.asarray(values, dtype=dtype)], [])


def _split_gaps(kind: str, values: Any) -> tuple[int, np.ndarray | None, Any]:
    """Count the gaps, mark them in a bitmap, and put a neutral value in their place."""
    if isinstance(values, np.ndarray) or None not in values:
        return 0, None, values
    neutral: Any = {"text": "", "texts": [], "flag": False}.get(kind, 0)
    valid = np.array([value is not None for value in values])
    filled = [neutral if value is None else value for value in values]
    return int((~valid).sum()), _bits(valid), filled


def _bits(flags: np.ndarray) -> np.ndarray:
    return np.packbits(flags, bitorder="little")


def _offsets(lengths: Any) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(np.fromiter(lengths, dtype=np.int64))]).astype(np.int64)
