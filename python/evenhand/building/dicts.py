"""Rows (a list of objects) to cells."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evenhand.building.columns import convert
from evenhand.building.keys import cells_of, keys_of
from evenhand.building.problems import COUNTED, STAND_IN, Report, kind_of, nearest
from evenhand.building.settings import one_labels, one_settings
from evenhand.building.single import CellError
from evenhand.fields import TableSpec

_CHUNK = 4096
"""So many rows are looked at in one go."""


@dataclass(slots=True)
class TableCells:
    """One table before it is parsed."""

    rows: int
    cells: dict[str, Any] = field(default_factory=dict)
    """Cells by dotted field name, or by `<field>_index`; of amounts also a dict of cells by resource."""
    settings: dict[int, dict[str, Any]] = field(default_factory=dict)
    own: bool = False
    """Whether no other code holds the cells."""
    labels: dict[int, dict[str, Any]] = field(default_factory=dict)


def read_rows(spec: TableSpec, rows: Any, report: Report, *, named: bool = True) -> TableCells:
    """Turn a list of objects into cells; O(rows x fields present).

    A row that is no object ends the table once there are `COUNTED` of them.
    """
    if not isinstance(rows, list | tuple):
        report.fail(spec.name, None, "type", f"are {kind_of(rows)}; they must be a list of objects", rows)
        return TableCells(0)
    rows = _objects(spec, rows, report)
    table = TableCells(len(rows))
    heads = spec.heads
    settings: list[Any] = []
    labels: list[Any] = []
    keys, strange = keys_of(rows, heads)
    report_unknown(spec, strange, heads, report)
    for head in heads:
        if head not in keys and not (head == "name" and named):
            continue
        # Where no row has a name, more than are counted need not be looked at.
        cells = cells_of(rows, head) if head in keys else [None] * min(len(rows), COUNTED)
        if head == "settings":
            settings = convert(cells, one_settings, report.column(spec.name, head))
            continue
        if head == "labels":
            labels = convert(cells, one_labels, report.column(spec.name, head))
            continue
        if head in spec.names:
            table.cells[head] = cells
        else:
            inner_cells(spec, head, cells, table, report)
    table.settings = {i: cell for i, cell in enumerate(settings) if cell}
    table.labels = {i: cell for i, cell in enumerate(labels) if cell}
    return table


def inner_cells(spec: TableSpec, head: str, cells: list[Any], table: TableCells, report: Report) -> None:
    """Add the cells of an inner object such as `integral` under their dotted names."""

    def accept(cell: Any) -> Mapping[Any, Any]:
        if isinstance(cell, Mapping):
            return cell
        # A beneficiary is mostly a request: its bare name will do.
        if head == "beneficiary" and isinstance(cell, str | int) and not isinstance(cell, bool):
            return {"request": cell}
        raise CellError("type", f"is {kind_of(cell)}; it must be an object")

    kinds = set(map(type, cells))
    if head == "beneficiary" and kinds <= {str, int, type(None)}:
        table.cells["beneficiary.request"] = cells
        return
    if not kinds <= {dict}:
        nothing: dict[Any, Any] = {}
        cells = [cell or nothing for cell in convert(cells, accept, report.column(spec.name, head))]
    known = inner_of(spec, head)
    keys, strange = keys_of(cells, known)
    report_unknown(spec, strange, known, report, f"{head}.")
    for name in known:
        if name in keys:
            table.cells[f"{head}.{name}"] = cells_of(cells, name)


def _objects(spec: TableSpec, rows: Any, report: Report) -> Sequence[Mapping[Any, Any]]:
    """Return the rows, those that are no objects replaced by empty ones."""
    if all(set(map(type, rows[i : i + _CHUNK])) <= {dict} for i in range(0, len(rows), _CHUNK)):
        found: Sequence[Mapping[Any, Any]] = rows
        return found
    objects: list[Mapping[Any, Any]] = []
    wrong = 0
    for i, row in enumerate(rows):
        if isinstance(row, Mapping):
            objects.append(row)
            continue
        name = no_object(spec, i, row, report)
        objects.append({} if name is None else {"name": name})
        wrong += 1
        if wrong == COUNTED:
            break
    return objects


def no_object(spec: TableSpec, i: int, row: Any, report: Report) -> str | None:
    """Report a row that is no object; return the name that it gets where rows have names."""
    report.add(spec.name, i, None, "type", f"is {kind_of(row)}; it must be an object", row)
    if "name" not in spec.names:
        return None
    report.unsure.add(spec.name)
    return f"{STAND_IN}{i}"


def inner_of(spec: TableSpec, head: str) -> list[str]:
    """Return the keys that an inner object may have."""
    return [name.removeprefix(f"{head}.") for name in spec.names if name.startswith(f"{head}.")]


def report_unknown(
    spec: TableSpec,
    unknown: Mapping[Any, Sequence[int]],
    known: Collection[str],
    report: Report,
    before: str = "",
) -> None:
    """Report unknown keys, which have [first row, rows]."""
    for key, (row, count) in unknown.items():
        field = f"{before}{str(key)[:100]}"
        report.add(spec.name, row, field, "unknown_field", _later(key, known, count))


def _later(key: object, known: Collection[str], rows: int) -> Callable[[], str]:
    """Return the message for an unknown field of several rows, made if it is shown."""
    return lambda: unknown_field(key, known, rows - 1)


def unknown_field(key: object, known: Collection[str], more: int = 0, *, column: bool = False) -> str:
    """Return the message for an unknown field, or column of a frame; `more` rows have it besides."""
    hint = nearest(key, known)
    if not hint and "settings" in known:
        owner = next((name for name in ("capacity", "resources") if name in known), None)
        place = f'a column such as "{owner}.cpu"' if column else f'"{owner}"'
        amount = "" if owner is None else f" an amount of a resource goes into {place},"
        hint = f';{amount} what only one system knows goes into "settings"'
    return "is not a known field" + hint + (f" (in {more} more rows)" if more else "")
