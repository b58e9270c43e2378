"""Values that people and programs pass by mistake: of every kind, and at every edge."""

from __future__ import annotations

import datetime
import decimal
import fractions
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import evenhand as eh

__all__ = ["DEPTH", "ODD", "nested"]

#: Deeper than the interpreter follows.
DEPTH = 3000


def nested(depth: int = DEPTH, kind: type = list) -> Any:
    """Return lists in lists, or objects in objects."""
    inner: Any = 1
    for _ in range(depth):
        inner = [inner] if kind is list else {"a": inner}
    return inner


def _itself(kind: type) -> Any:
    if kind is list:
        inner: list[Any] = [1]
        inner.append(inner)
        return inner
    outer: dict[str, Any] = {"name": ["a"]}
    outer["a"] = outer
    return outer


class _Unreadable:
    """Every question about it fails."""

    def __repr__(self) -> str:
        raise RuntimeError("no text")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("not comparable")

    __hash__ = None  # type: ignore[assignment]


def _polars(kind: str) -> Any:
    import polars as pl

    return pl.DataFrame({kind: [1, None]})


def _pandas() -> Any:
    import pandas as pd

    return pd.DataFrame({"name": ["a", "a"], 5: [1.0, None]})


def _failing() -> Any:
    yield 1
    raise eh.EvenhandError("what is read fails on the way")


#: By name; each is made anew, as some are used up or changed.
ODD: dict[str, Callable[[], Any]] = {
    **{f"plain {v!r:.40}": (lambda v=v: v) for v in (None, True, False, 0, 1, 5, -1, 2**31, 2**53 + 1)},
    **{f"large {v:.3e}": (lambda v=v: v) for v in (2**60, 2**63 - 1, 2**63, 2**64, -(2**63), -(2**63) - 1)},
    "integer of 400 digits": lambda: 10**400,
    "integer of 5,000 digits": lambda: 10**5000,
    **{
        f"float {v!r}": (lambda v=v: v)
        for v in (0.5, -0.0, 1e18, 1e19, 1e308, -1e308, 5e-324, float("nan"), float("inf"), -float("inf"))
    },
    **{
        f"text {v!r:.20}": (lambda v=v: v)
        for v in ("", "x", "1h", "10d", "-1s", "1e999", "\x1b[31m", "a\nb", "\0")
    },
    "half a surrogate pair": lambda: "\ud800",
    "text of 5,000 digits": lambda: "9" * 5000,
    "text of a megabyte": lambda: "x" * 1_000_000,
    "lines": lambda: "a b c\n" * 1000,
    "bytes": lambda: b"x",
    "bytearray": lambda: bytearray(b"\xff"),
    **{
        f"container {v!r:.40}": (lambda v=v: v)
        for v in (
            [],
            [1],
            [None],
            ["a"],
            [[]],
            {},
            {"x": 1},
            {"x": None},
            {1: 2},
            {None: 1},
            (),
            (1, 2),
            set(),
        )
    },
    "columns": lambda: {"name": ["a", "b"], "resources.cpu": [1, None], "submit_time": [0, float("nan")]},
    "columns of scalars": lambda: {"name": 0, "pool": object()},
    "columns of two lengths": lambda: {"name": ["a", "b"], "run_time": [1]},
    "columns of lists": lambda: {"name": ["a", []], "pool": [{}, set()]},
    "rows": lambda: [{"name": "a"}, {"name": []}, {5: object()}],
    "rows of several kinds": lambda: [{"name": "a"}, 5, "x", None],
    "set of texts": lambda: {"a", "b"},
    "frozenset": lambda: frozenset({1}),
    "object": object,
    "object without a text": _Unreadable,
    "list of objects without a text": lambda: [_Unreadable(), _Unreadable()],
    "nested lists": nested,
    "nested objects": lambda: nested(kind=dict),
    "nested lists in a column": lambda: {"name": [nested(), nested()]},
    "list that holds itself": lambda: _itself(list),
    "object that holds itself": lambda: _itself(dict),
    "decimal": lambda: decimal.Decimal("1.5"),
    "decimal that overflows": lambda: decimal.Decimal("1e400"),
    "decimal NaN": lambda: decimal.Decimal("NaN"),
    "signalling NaN": lambda: decimal.Decimal("sNaN"),
    "fraction": lambda: fractions.Fraction(1, 3),
    "large fraction": lambda: fractions.Fraction(10**400, 3),
    "complex": lambda: 1 + 2j,
    **{
        f"numpy {v!r:.40}": (lambda v=v: v)
        for v in (
            *(np.float64("nan"), np.float64("inf"), np.float32(1.5), np.int64(3), np.uint64(2**64 - 1)),
            *(
                np.int8(-1),
                np.bool_(True),
                np.str_("x"),
                np.datetime64("NaT", "s"),
                np.datetime64("2020-01-01"),
            ),
            *(np.timedelta64(5, "s"), np.timedelta64("NaT", "s"), np.complex128(1)),
        )
    },
    "array": lambda: np.array([1, 2]),
    "empty array": lambda: np.zeros(0),
    "array of no dimension": lambda: np.array(5),
    "array of two dimensions": lambda: np.array([[1.0, np.nan]]),
    "array of text": lambda: np.array(["x", "y"]),
    "array of objects": lambda: np.array([object(), None, []], object),
    "masked array": lambda: np.ma.masked_array([1, 2], mask=[0, 1]),
    "structured array": lambda: np.zeros(2, [("a", "i4")]),
    "generator": lambda: (i for i in range(3)),
    "generator that fails": _failing,
    "iterator of objects": lambda: iter([{"name": "a"}, {"event": "end"}]),
    "range": lambda: range(3),
    "long range": lambda: range(2**40),
    "first instant": lambda: datetime.datetime(1, 1, 1, tzinfo=datetime.UTC),
    "last instant": lambda: datetime.datetime.max.replace(tzinfo=datetime.UTC),
    "instant without a zone": lambda: datetime.datetime(2026, 1, 1),  # noqa: DTZ001
    "date": lambda: datetime.date(2020, 1, 1),
    "longest duration": lambda: datetime.timedelta.max,
    "duration": lambda: datetime.timedelta(seconds=5),
    "negative duration": lambda: datetime.timedelta(seconds=-5),
    "function": lambda: lambda: 0,
    "function of anything": lambda: lambda *a, **k: None,
    "class": lambda: int,
    "module": lambda: eh,
    "exception": lambda: Exception("x"),
    "path": lambda: Path("/nonexistent/evenhand"),
    "folder": lambda: Path("/"),
    "path with a zero": lambda: Path("a\0b"),
    "polars frame": lambda: _polars("name"),
    "pandas frame": _pandas,
    "table": lambda: eh.Table({"name": ["a", "b"], "x": [1.0, float("nan")]}),
    "memoryview": lambda: memoryview(b"abc"),
}
