"""Frames, dicts of arrays and lists of rows to cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import tzinfo
from typing import Any

import numpy as np

from evenhand.building.arrays import NotAColumn, array_cells, series_cells
from evenhand.building.cells import Cells, Numbers, as_list
from evenhand.building.dicts import TableCells, inner_cells, read_rows, unknown_field
from evenhand.building.problems import Report, kind_of
from evenhand.building.settings import one_label_value, one_labels, plain
from evenhand.building.single import CellError
from evenhand.errors import WrongKindError
from evenhand.fields import TableSpec
from evenhand.table import Table

_NESTED = (dict, list, np.ndarray)
_NAMING = ("name", "reference", "label")


def read_frame(spec: TableSpec, frame: Any, zone: tzinfo | None, report: Report) -> TableCells:
    """Turn a frame into cells."""
    if isinstance(frame, list | tuple):
        return read_rows(spec, frame, report)
    columns: dict[str, Cells] = {}
    rows: int | None = None
    for name, cells in frame_columns(spec, frame, zone, report):
        if rows is None:
            rows = len(cells)
        if len(cells) != rows:
            report.fail(
                spec.name, name, "length", f"has {len(cells)} rows; the columns before it have {rows}"
            )
        elif name in columns:
            report.add(spec.name, None, name, "duplicate_field", "is the name of two columns")
        else:
            columns[name] = cells
    table = TableCells(rows or 0)
    for name, cells in columns.items():
        _place(spec, name, cells, table, report)
    if "name" in spec.names and table.rows and "name" not in table.cells:
        report.fail(spec.name, "name", "required", "is missing; the table needs a column of names")
    return table


def frame_columns(
    spec: TableSpec, frame: Any, zone: tzinfo | None, report: Report
) -> Iterator[tuple[str, Cells]]:
    """Yield the columns of a frame by name; see `read_frame`. What is null within an object is absent."""
    for name, cells in _columns(spec, frame, zone, report):
        said = cells
        try:
            if isinstance(cells, list) and any(issubclass(kind, _NESTED) for kind in set(map(type, cells))):
                said = [_given(cell) for cell in cells]
        except RecursionError:
            report.fail(spec.name, name, "depth", "has a cell that is nested too deeply")
            continue
        yield name, said


def _given(cell: Any) -> Any:
    """Return what an object says, at any depth: Arrow fills objects of one column up with nulls."""
    if isinstance(cell, dict):
        return {key: _given(value) for key, value in cell.items() if value is not None}
    if isinstance(cell, np.ndarray) and cell.dtype == object:  # lists within objects of pandas
        cell = cell.tolist()
    return [_given(item) for item in cell] if isinstance(cell, list) else cell


def _columns(spec: TableSpec, frame: Any, zone: tzinfo | None, report: Report) -> Iterator[tuple[str, Cells]]:
    if isinstance(frame, Table):
        frame = frame.to_dict()
    if isinstance(frame, Mapping):
        for key, values in frame.items():
            name = str(key)
            try:
                yield name, array_cells(values, zone, report.column(spec.name, name))
            except NotAColumn as error:
                report.fail(spec.name, name, "type", str(error))
        return
    import narwhals.stable.v2 as nw

    try:
        table = nw.from_native(frame, eager_only=True)
    except TypeError:
        lazy = "; collect() it first" if hasattr(frame, "collect") else ""
        said = (
            f"{spec.name}= takes a pandas, polars or pyarrow table, a dict of arrays or a list of dicts, "
            f"not {type(frame).__name__}{lazy}"
        )
        raise WrongKindError.about(spec.name, None, "type", said) from None
    except nw.exceptions.DuplicateError:
        report.fail(spec.name, None, "duplicate_field", "have several columns of one name")
        return
    for series in table.iter_columns():
        name = str(series.name)
        cells = series_cells(series, zone, report.column(spec.name, name))
        if series.implementation.is_pandas_like() and name.partition(".")[0] in spec.names:
            cells = _without_promotion(spec, name, cells)
        yield name, cells


def _without_promotion(spec: TableSpec, name: str, cells: Cells) -> Cells:
    """Undo what pandas does to integers beside absent cells: it makes them floats."""
    if name not in spec.names or spec[name].kind not in _NAMING:
        return cells
    if not isinstance(cells, Numbers) or cells.valid is None or cells.values.dtype.kind != "f":
        return cells
    # Beyond 2^53 a double is no row number; casting one beyond int64 would be undefined.
    if not ((np.trunc(cells.values) == cells.values) & (np.abs(cells.values) < 2.0**53)).all():
        return cells
    return Numbers(cells.values.astype(np.int64), cells.valid)


def _place(spec: TableSpec, name: str, cells: Cells, table: TableCells, report: Report) -> None:
    """Put a column where its dotted name says."""
    head, _, rest = name.partition(".")
    base = name.removesuffix("_index")
    twice = False
    if name == "settings":
        _settings(name, cells, table, report.column(spec.name, name), whole=True)
    elif head == "labels" and "labels" in spec.names:
        _labels(rest, cells, table, report.column(spec.name, name))
    elif head == "settings" and rest and "settings" in spec.names:
        _settings(rest, cells, table, report.column(spec.name, name), whole=False)
    elif name in spec.names:
        twice = name in table.cells or f"{name}_index" in table.cells
        table.cells[name] = cells
    elif base != name and base in spec.names and spec[base].kind == "reference":
        twice = base in table.cells
        table.cells[name] = cells
    elif name in _groups(spec):
        inner_cells(spec, name, as_list(cells), table, report)
    elif (owner := _owner(spec, name)) is not None:
        of_resource = table.cells.setdefault(owner, {})
        twice = not isinstance(of_resource, dict)
        if isinstance(of_resource, dict):
            of_resource[name[len(owner) + 1 :]] = cells
    else:
        known = [*spec.names, *_groups(spec)]
        report.add(spec.name, None, name[:100], "unknown_field", unknown_field(name, known, column=True))
    if twice:
        report.add(spec.name, None, name, "duplicate_field", "is given by two columns")


def takes(spec: TableSpec, name: str) -> bool:
    """Tell whether a frame of this table may have a column of that name."""
    head, base = name.partition(".")[0], name.removesuffix("_index")
    return (
        name in spec.names
        or (head in ("labels", "settings") and head in spec.names)
        or (base in spec.names and spec[base].kind == "reference")
        or name in _groups(spec)
        or _owner(spec, name) is not None
    )


def _groups(spec: TableSpec) -> list[str]:
    """Return the names of inner objects."""
    return [name.partition(".")[0] for name in spec.names if "." in name]


def _owner(spec: TableSpec, name: str) -> str | None:
    """Return the field of amounts that a column such as "demand.cpu" is a part of."""
    for field in spec.fields:
        if (
            field.kind in ("amounts", "shares")
            and name.startswith(field.name + ".")
            and len(name) > len(field.name) + 1
        ):
            return field.name
    return None


def _labels(name: str, cells: Cells, table: TableCells, report: Any) -> None:
    """Add a column `labels.name`, or one of objects without a name, to the rows' labels."""
    for row, cell in enumerate(as_list(cells)):
        if cell is None:
            continue
        try:
            labels = {name: one_label_value(cell)} if name else one_labels(cell)
        except CellError as error:
            report(row, error.rule, str(error), cell)
            continue
        if labels:
            table.labels.setdefault(row, {}).update(labels)


def _settings(name: str, cells: Cells, table: TableCells, report: Any, *, whole: bool) -> None:
    """Add a column `settings.name`, or `settings.name.inner`, to the rows' settings."""
    outer, _, inner = name.partition(".")
    for row, cell in enumerate(as_list(cells)):
        if cell is None:
            continue
        try:
            value = plain(cell)
        except CellError as error:
            report(row, error.rule, str(error), cell)
            continue
        of_row = table.settings.setdefault(row, {})
        if whole:
            if isinstance(value, dict):
                of_row.update(value)
            else:
                report(row, "type", f"is {kind_of(cell)}; it must be an object (name: value)", cell)
        elif not inner:
            of_row[outer] = value
        else:
            nested = of_row.setdefault(outer, {})
            if isinstance(nested, dict):
                nested[inner] = value
            else:
                report(row, "duplicate_field", "is given by two columns", None)
