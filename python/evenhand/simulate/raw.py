"""Columns of a result by table; long ones are laid out when they are first read."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MOST_SAMPLED", "RawTables", "samples", "too_many_samples"]

#: So many rows of samples are laid out.
MOST_SAMPLED = 100_000_000

Columns = Mapping[str, "NDArray[Any]"]


class RawTables(UserDict[str, Any]):
    """Columns by table, or partials that return them."""

    def __getitem__(self, name: str) -> Columns:
        table = super().__getitem__(name)
        if isinstance(table, partial):
            table = self.data[name] = table()
        found: Columns = table
        return found


def samples(changes: Columns, pools: int) -> Columns:
    """Return a row for each sample and pool.

    ``time`` (S,) is of all samples; ``sample`` and ``pool`` (K,) name the pools of which a sample says
    something else than the one before, ascending; the first sample has all of them.
    """
    time = changes["time"]
    # Rows are ascending: the last one of a pool, at a sample or before it, is the greatest.
    row = np.zeros((len(time), pools), np.int64)
    row[changes["sample"], changes["pool"]] = np.arange(len(changes["pool"]))
    last = np.maximum.accumulate(row, axis=0, out=row).ravel()
    what = {name: column[last] for name, column in changes.items() if name not in ("time", "sample", "pool")}
    return {
        "time": np.repeat(time, pools),
        "pool": np.tile(np.arange(pools, dtype=changes["pool"].dtype), len(time)),
        **what,
    }


def too_many_samples(rows: int) -> Columns:
    """Refuse to lay out samples."""
    said = f"series_every leads to {rows:,} rows of samples; give a longer span, or 0 for none"
    raise InputError.about("simulation", "series_every", "range", said)
