"""Tables of a JSON text to cells, by columns: no object is made for a row."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from evenhand import _core
from evenhand.building.cells import Numbers, Objects, Strings, WordLists, Words, as_list
from evenhand.building.dicts import TableCells, inner_cells, inner_of, no_object, report_unknown
from evenhand.building.keys import COUNTED_ROWS
from evenhand.building.problems import COUNTED, Report
from evenhand.building.settings import labels_of_json, settings_of_json
from evenhand.fields import Field, TableSpec

__all__ = ["JsonRows", "json_columns", "read_json_rows", "resting_collector"]


@contextmanager
def resting_collector() -> Iterator[None]:
    """Let the garbage collector rest: it would look at what JSON's parser makes again and again."""
    rests = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if rests:
            gc.enable()


@dataclass(slots=True, frozen=True)
class JsonRows:
    """A list, or the root's object, somewhere in valid JSON: UTF-8, or a text of ASCII."""

    text: bytes | str
    at: int
    size: int


def json_columns(
    given: JsonRows, wanted: list[Any]
) -> tuple[int, dict[str, Any], dict[str, tuple[int, int]], list[tuple[int, str]]]:
    """Return how many rows a list of objects has, cells by key, unknown keys, and rows that are no objects.

    `wanted` are the fields as `_core.read_json_table` takes them; of an unknown key, its first row and
    how many have it; of a row that is no object, its number and text.
    """
    rows, (_, found, unknown), strange = _core.read_json_table(
        given.text, given.at, given.size, wanted, COUNTED, COUNTED_ROWS
    )
    columns = {}
    for head in list(found):  # one by one: what was read is not kept beside what is made of it
        columns[head] = _cells(found.pop(head), rows)
    return rows, columns, _sorted(unknown), strange


@resting_collector()
def read_json_rows(spec: TableSpec, given: JsonRows, resources: list[str], report: Report) -> TableCells:
    """Turn a list of objects into the cells that `read_rows` would make, or typed ones of the same values."""
    rows, found, unknown, strange = json_columns(given, _wanted(spec, resources))
    table = TableCells(rows, own=True)
    stand_ins = {row: no_object(spec, row, json.loads(text), report) for row, text in strange}
    report_unknown(spec, unknown, spec.heads, report)
    if "name" in spec.names:
        _add_name(table, found.pop("name", None), stand_ins)
    if "settings" in found:
        cells = as_list(found.pop("settings"))
        table.settings = settings_of_json(cells, report.column(spec.name, "settings"))
    if "labels" in found:
        cells = as_list(found.pop("labels"))
        table.labels = labels_of_json(cells, report.column(spec.name, "labels"))
    for head in list(found):
        cells = found.pop(head)
        if head in spec.names:
            table.cells[head] = cells
        elif isinstance(cells, Objects):
            report_unknown(spec, cells.unknown, inner_of(spec, head), report, f"{head}.")
            table.cells |= {f"{head}.{name}": inner for name, inner in cells.columns.items()}
        elif head == "beneficiary" and _are_names(cells):
            table.cells["beneficiary.request"] = cells
        else:
            inner_cells(spec, head, as_list(cells), table, report)
    return table


def _add_name(table: TableCells, cells: Any, stand_ins: dict[int, str | None]) -> None:
    if cells is None and not stand_ins:
        # Where no row has a name, more than are counted need not be looked at.
        table.cells["name"] = [None] * min(table.rows, COUNTED)
        return
    if stand_ins:
        cells = [None] * table.rows if cells is None else as_list(cells)
        for row, name in stand_ins.items():
            cells[row] = name
    table.cells["name"] = cells


def _are_names(cells: Any) -> bool:
    return isinstance(cells, Words) or (isinstance(cells, Numbers) and cells.values.dtype.kind == "i")


def _wanted(spec: TableSpec, resources: list[str]) -> list[Any]:
    def field(key: str, of: Field) -> tuple[str, str, bool, list[Any]]:
        match of.kind:
            case "amounts" | "shares":
                return key, "objects", True, [(name, "plain", True, []) for name in resources]
            case "settings" | "annotations" | "labels":  # Python objects in the end
                return key, "written", True, []
            case "duration":
                return key, "words", True, []
            case "text" | "label" | "enum" | "texts":
                return key, "words", False, []
            case "number" | "integer" | "time":
                return key, "plain", True, []
            case _:
                return key, "plain", False, []

    wanted = []
    for head in spec.heads:
        inner = [field(name, spec[f"{head}.{name}"]) for name in inner_of(spec, head)]
        wanted.append((head, "objects", True, inner) if inner else field(head, spec[head]))
    return wanted


def _sorted(unknown: dict[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    return dict(sorted(unknown.items()))


def _cells(column: tuple[Any, ...], rows: int) -> Any:
    match column:
        case "numbers", values, valid:
            return Numbers(values, valid)
        case "texts", data, offsets, valid:
            return Strings(data, offsets, valid)
        case "words", data, offsets, codes:
            return Words(Strings(data, offsets), codes)
        case "lists", data, offsets, ends, codes, valid:
            return WordLists(Strings(data, offsets), ends, codes, valid)
        case "written", text:
            return json.loads(text)
        case "objects", columns, unknown:
            return Objects({name: _cells(inner, rows) for name, inner in columns.items()}, _sorted(unknown))
        case _:
            return [None] * rows
