"""Other ways to say the same snapshot: JSON, dicts, pickles and frames."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

from evenhand.fields import TABLES
from evenhand.model import Snapshot
from evenhand.testing.relations.case import Back, Case, Data

__all__ = ["as_frames", "as_json"]

_FRAMES = tuple(table for table in TABLES if table not in ("resources", "root", "commands"))
_KINDS = ("pandas", "polars", "pyarrow")


def as_json(case: Case, chance: Random) -> tuple[Case, Back]:
    """Take it through JSON, and from there through JSON, a dict or a pickle and back."""
    way = chance.randrange(3)

    def build(data: Data) -> Snapshot:
        made = Snapshot.from_json(json.dumps(data))
        if way == 0:
            return Snapshot.from_json(json.dumps(made.to_dict()))
        if way == 1:
            return Snapshot.from_dict(made.to_dict())
        copied: Snapshot = pickle.loads(pickle.dumps(made))  # noqa: S301 - our own
        return copied

    return replace(case, build=build), Back()


def as_frames(case: Case, chance: Random) -> tuple[Case, Back]:
    """Make it of frames of pandas, polars or pyarrow: objects as columns with dotted names, or as structs."""
    kind, structs = chance.choice(_KINDS), chance.random() < 0.5

    def build(data: Data) -> Snapshot:
        head = {key: value for key, value in data.items() if key not in (*_FRAMES, "schema")}
        frames = {table: _frame(kind, data[table], structs=structs) for table in _FRAMES if data.get(table)}
        return Snapshot.from_frames(**frames, **head)

    return replace(case, build=build), Back()


def _frame(kind: str, rows: list[Data], *, structs: bool) -> Any:
    """Return a table; of values of several kinds in one column only pandas makes one."""
    import pandas as pd
    import pyarrow as pa

    flat = [dict(_cells(row, structs=structs)) for row in rows]
    columns = {
        name: [row.get(name) for row in flat] for name in dict.fromkeys(n for row in flat for n in row)
    }
    try:
        table = pa.table({name: pa.array(cells) for name, cells in columns.items()})
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns.items()})
    if kind == "polars":
        import polars as pl

        return pl.from_arrow(table)
    return table.to_pandas() if kind == "pandas" else table


def _cells(row: Data, *, structs: bool) -> Iterator[tuple[str, Any]]:
    """Yield the cells of a row; what has nothing in it is left out."""
    for name, value in row.items():
        if isinstance(value, dict) and not structs:
            yield from ((f"{name}.{key}", inner) for key, inner in value.items() if inner not in (None, {}))
        elif value is not None and value not in ({}, []):
            yield name, value
