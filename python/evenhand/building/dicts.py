"""Rows (a list of objects) to cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evenhand.building.columns import convert
from evenhand.building.problems import STAND_IN, Report, kind_of, nearest
from evenhand.building.settings import one_settings
from evenhand.building.single import CellError
from evenhand.fields import TableSpec


@dataclass(slots=True)
class TableCells:
    """One table before it is parsed."""

    rows: int
    cells: dict[str, Any] = field(default_factory=dict)
    """Cells by dotted field name, or by `<field>_index`; of amounts also a dict of cells by resource."""
    settings: dict[int, dict[str, Any]] = field(default_factory=dict)


def read_rows(spec: TableSpec, rows: Any, report: Report, *, named: bool = True) -> TableCells:
    """Turn a list of objects into cells; O(rows x fields present)."""
    if not isinstance(rows, list | tuple):
        report.fail(spec.name, None, "type", f"are {kind_of(rows)}; they must be a list of objects", rows)
        return TableCells(0)
    if not set(map(type, rows)) <= {dict}:
        rows = [_row(spec, i, row, report) for i, row in enumerate(rows)]
    table = TableCells(len(rows))
    keys: set[Any] = set().union(*rows) if rows else set()
    heads = list(dict.fromkeys(name.partition(".")[0] for name in spec.names))
    _unknown(
        keys, heads, rows, lambda i, key, message: report.add(spec.name, i, key, "unknown_field", message)
    )
    for head in heads:
        if head not in keys and not (head == "name" and named):
            continue
        cells = [row.get(head) for row in rows]
        if head == "settings":
            cells = convert(cells, one_settings, report.column(spec.name, head))
            table.settings = {i: cell for i, cell in enumerate(cells) if cell}
        elif head in spec.names:
            table.cells[head] = cells
        else:
            inner_cells(spec, head, cells, table, report)
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

    objects = [cell or {} for cell in convert(cells, accept, report.column(spec.name, head))]
    keys: set[Any] = set().union(*objects) if objects else set()
    known = [name.removeprefix(f"{head}.") for name in spec.names if name.startswith(f"{head}.")]

    def add(row: int, key: str, message: str) -> None:
        report.add(spec.name, row, f"{head}.{key}", "unknown_field", message)

    _unknown(keys, known, objects, add)
    for name in known:
        if name in keys:
            table.cells[f"{head}.{name}"] = [cell.get(name) for cell in objects]


def _row(spec: TableSpec, i: int, row: Any, report: Report) -> Mapping[Any, Any]:
    if isinstance(row, Mapping):
        return row
    report.add(spec.name, i, None, "type", f"is {kind_of(row)}; it must be an object", row)
    if "name" not in spec.names:
        return {}
    report.unsure.add(spec.name)
    return {"name": f"{STAND_IN}{i}"}


def _unknown(
    keys: set[Any], known: list[str], rows: Sequence[Mapping[Any, Any]], add: Callable[[int, str, str], None]
) -> None:
    for key in sorted(keys.difference(known), key=str):
        found = [i for i, row in enumerate(rows) if key in row]
        add(found[0], str(key)[:100], unknown_field(key, known, len(found) - 1))


def unknown_field(key: object, known: list[str], more: int = 0) -> str:
    """Return the message for an unknown field; `more` rows have it besides."""
    hint = nearest(key, known)
    if not hint and "settings" in known:
        hint = '; what only one system knows goes into "settings"'
    return "is not a known field" + hint + (f" (in {more} more rows)" if more else "")
