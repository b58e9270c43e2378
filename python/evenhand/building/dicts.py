"""Rows (a list of objects) to cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from evenhand.building.cells import Cells
from evenhand.building.columns import CellError, convert
from evenhand.building.problems import Report, kind_of, nearest
from evenhand.building.settings import one_settings
from evenhand.fields import TableSpec

STAND_IN = "\N{REPLACEMENT CHARACTER}"


@dataclass(slots=True)
class TableCells:
    """One table before it is parsed."""

    rows: int
    cells: dict[str, Cells | Mapping[str, Cells]] = field(default_factory=dict)
    """By dotted field name, or `<field>_index`; amounts also by resource."""
    settings: dict[int, dict[str, Any]] = field(default_factory=dict)


def read_rows(spec: TableSpec, rows: Any, report: Report) -> TableCells:
    """Turn a list of objects into cells; O(rows x fields present)."""
    if not isinstance(rows, list | tuple):
        message = f"{kind_of(rows)} stands where a list of objects is expected"
        report.fail(spec.name, "type", message, rows)
        return TableCells(0)
    if not set(map(type, rows)) <= {dict}:
        rows = [_row(spec, i, row, report) for i, row in enumerate(rows)]
    table = TableCells(len(rows))
    known: dict[str, list[str]] = {}
    for name in spec.names:
        head, _, inner = name.partition(".")
        known.setdefault(head, []).append(inner)
    keys: set[Any] = set().union(*rows) if rows else set()
    _unknown(keys, known, rows, "", lambda f, r, m: report.add(spec.name, r, f, "unknown_field", m))
    for head, inner in known.items():
        if head not in keys:
            continue
        cells = [row.get(head) for row in rows]
        if head == "settings":
            cells = convert(cells, one_settings, report.column(spec.name, head))
            table.settings = {i: cell for i, cell in enumerate(cells) if cell}
        elif inner == [""]:
            table.cells[head] = cells
        else:
            inner_cells(spec, head, inner, cells, table, report)
    return table


def inner_cells(
    spec: TableSpec, head: str, inner: list[str], cells: list[Any], table: TableCells, report: Report
) -> None:
    def accept(cell: Any) -> Mapping[Any, Any]:
        if isinstance(cell, Mapping):
            return cell
        # A beneficiary is mostly a request: its bare name will do.
        if head == "beneficiary" and isinstance(cell, str | int) and not isinstance(cell, bool):
            return {"request": cell}
        raise CellError("type", f"{kind_of(cell)} stands where an object is expected")

    objects = [cell or {} for cell in convert(cells, accept, report.column(spec.name, head))]
    keys: set[Any] = set().union(*objects) if objects else set()
    _unknown(
        keys, inner, objects, f"{head}.", lambda f, r, m: report.add(spec.name, r, f, "unknown_field", m)
    )
    for name in inner:
        if name in keys:
            table.cells[f"{head}.{name}"] = [cell.get(name) for cell in objects]


def _row(spec: TableSpec, i: int, row: Any, report: Report) -> Mapping[Any, Any]:
    if isinstance(row, Mapping):
        return row
    report.add(spec.name, i, None, "type", f"{kind_of(row)} stands where an object is expected", row)
    return {"name": f"{STAND_IN}row {i}"}


def _unknown(
    keys: set[Any],
    known: Mapping[str, Any] | list[str],
    rows: list[Any],
    prefix: str,
    add: Callable[[str, int, str], None],
) -> None:
    for key in sorted(keys.difference(known), key=str):
        found = [i for i, row in enumerate(rows) if key in row]
        add(prefix + str(key)[:100], found[0], unknown_field(key, known, len(found) - 1))


def unknown_field(key: object, known: Mapping[str, Any] | list[str], more: int = 0) -> str:
    """Return the message for an unknown field; `more` rows have it besides."""
    hint = nearest(key, known)
    if not hint and "settings" in known:
        hint = '; what only one system knows goes into "settings"'
    return "there is no such field" + hint + (f" (in {more} more rows)" if more else "")
