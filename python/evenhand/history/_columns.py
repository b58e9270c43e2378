"""Tables as people have them, to columns of plain values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from evenhand.arguments import expect
from evenhand.building.problems import kind_of
from evenhand.errors import WrongKindError, shorten

__all__ = ["columns_of", "frame_columns"]


def columns_of(data: Any) -> dict[str, Any]:
    """Columns of a mapping of columns, of rows (mappings) or of a data frame."""
    if isinstance(data, Mapping):
        for name, column in data.items():
            listed = hasattr(column, "__len__") and not isinstance(column, str | bytes)
            expect(listed, "history", f"column {shorten(name)!r}", column, "a list or an array")
        return dict(data)
    if (
        isinstance(data, Iterable)
        and getattr(data, "ndim", 1) > 0
        and not hasattr(data, "__arrow_c_stream__")
        and not hasattr(data, "columns")
    ):
        rows = []
        for row in data:  # the first that is none ends it, however many there are
            expect(isinstance(row, Mapping), "history", "rows", row, "objects, one a row")
            rows.append(row)
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
    for column in table.iter_columns():
        pairs = zip(column.to_list(), column.is_null().to_list(), strict=True)
        columns[str(column.name)] = [None if null else value for value, null in pairs]
    return columns
