"""Tables as people have them, to columns of plain values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from evenhand.arguments import expect
from evenhand.building.problems import kind_of
from evenhand.errors import WrongKindError

__all__ = ["columns_of", "frame_columns"]


def columns_of(data: Any) -> dict[str, Any]:
    """Columns of a mapping of columns, of rows (mappings) or of a data frame."""
    if isinstance(data, Mapping):
        return dict(data)
    if (
        isinstance(data, Iterable)
        and not hasattr(data, "__arrow_c_stream__")
        and not hasattr(data, "columns")
    ):
        rows = list(data)
        for row in rows:
            expect(isinstance(row, Mapping), "history", "rows", row, "objects, one a row")
        fields = dict.fromkeys(field for row in rows for field in row)
        return {field: [row.get(field) for row in rows] for field in fields}
    return frame_columns(data)


def frame_columns(frame: Any) -> dict[str, list[Any]]:
    """Columns of a pandas, polars or pyarrow frame; null becomes None."""
    import narwhals as nw

    try:
        table = nw.from_native(frame, eager_only=True)
    except TypeError:
        said = f"this is {kind_of(frame)}; it must be a frame, columns by name or rows"
        raise WrongKindError.about("history", "frame", "type", said) from None
    columns = {}
    for field in table.columns:
        pairs = zip(table[field].to_list(), table[field].is_null().to_list(), strict=True)
        columns[field] = [None if null else value for value, null in pairs]
    return columns
