"""Snapshots as plain data and as tables of people's columns."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand import fields
from evenhand.building.parse import CORE_TABLES, Raw
from evenhand.building.readback import plain, read_back, read_table, seconds
from evenhand.building.settings import labels_of
from evenhand.errors import NoSuchNameError, shorten
from evenhand.fields import BESIDE, SCHEMA, TABLES, Field
from evenhand.frozen import thaw

if TYPE_CHECKING:
    from evenhand.model import Snapshot
    from evenhand.table import Table


def to_dict(snapshot: Snapshot) -> dict[str, Any]:
    """Return a snapshot in the layout of files: all tables, in their rows no defaults."""
    raw = read_back(snapshot)
    data: dict[str, Any] = {"schema": SCHEMA, "now": _second(raw.head["now"])}
    if raw.head["previous_update"] is not None:
        data["previous_update"] = _second(raw.head["previous_update"])
    data["resources"] = _resources(raw.head)
    if raw.head["total"] is not None:
        amounts = zip(raw.head["resources"], raw.head["total"][0].tolist(), strict=True)
        data["total"] = {name: _tidy(amount) for name, amount in amounts}
    for name in ("root", "nodes", *(t for t in CORE_TABLES if t not in ("root", "nodes"))):
        rows = _rows(raw, name)
        if name != "root":
            data[name] = rows
        elif rows:
            data[name] = rows[0]
    data["commands"] = thaw(raw.commands)
    return data


def to_table(snapshot: Snapshot, name: str) -> Table:
    """Return one table with the columns that frames have."""
    from evenhand.table import Table

    known = [table for table in CORE_TABLES if table != "root"]
    if not isinstance(name, str) or name not in known:
        said = f"there is no table {shorten(name)!r}; there are {', '.join(known)}"
        raise NoSuchNameError.about("table", "name", "exists", said, shorten(name))
    raw = read_table(snapshot, name)
    columns: dict[str, Any] = {"name": raw.tables.get(name, {}).get("name", [])}
    for field in TABLES[name].fields:
        if field.kind in ("amounts", "shares"):
            values, given = raw.tables.get(name, {}).get(field.name, (None, None))
            for r, resource in enumerate(raw.head["resources"]):
                if values is not None and given[:, r].any():
                    columns[f"{field.name}.{resource}"] = _cells(values[:, r], given[:, r])
        elif field.kind not in BESIDE and (cells := _field_cells(raw, name, field)) is not None:
            columns[field.name] = _filled(cells, field.default)
    for head, beside in (("settings", name), ("labels", labels_of(name))):
        rows = raw.settings.get(beside, {})
        for key in sorted({key for of_row in rows.values() for key in of_row}):
            columns[f"{head}.{key}"] = [rows.get(i, {}).get(key) for i in range(len(columns["name"]))]
    return Table(columns, title=name)


def _filled(cells: list[Any], default: Any) -> list[Any]:
    return cells if default is None else [default if cell is None else cell for cell in cells]


def _resources(head: dict[str, Any]) -> dict[str, Any]:
    spec = TABLES["resources"]
    result = {}
    values, given = head["capacity"]
    for i, name in enumerate(head["resources"]):
        kind = spec["kind"].words[head["kind"][i]]
        scope = spec["scope"].words[head["scope"][i]]
        entry: dict[str, Any] = {}
        if "unit" in head and head["unit"][i] is not None:
            entry["unit"] = head["unit"][i]
        if head["quantum"][i] != fields.usual_quantum(kind):
            entry["quantum"] = _tidy(float(head["quantum"][i]))
        if kind != fields.resource_kind(name):
            entry["kind"] = kind
        if scope != spec["scope"].default:
            entry["scope"] = scope
        if given[i] and values[i] != 0:
            entry["capacity"] = _tidy(values[i].item())
        if not head["available_after_preemption"][i]:
            entry["available_after_preemption"] = False
        result[name] = entry
    return result


def _rows(raw: Raw, name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [{} for _ in range(raw.rows.get(name, 0))]
    for field in TABLES[name].fields:
        if field.kind in BESIDE:
            beside = name if field.kind == "settings" else labels_of(name)
            for i, of_row in raw.settings.get(beside, {}).items():
                rows[i][field.name] = thaw(of_row)
            continue
        cells = _field_cells(raw, name, field)
        if cells is None:
            continue
        head, _, inner = field.name.partition(".")
        for row, cell in zip(rows, cells, strict=True):
            if cell is None:
                continue
            if inner:
                row.setdefault(head, {})[inner] = cell
            else:
                row[head] = cell
    return rows


def _field_cells(raw: Raw, table: str, field: Field) -> list[Any] | None:
    """Return the cells of a field as plain data, None where absent; None if all are."""
    columns = raw.tables.get(table, {})
    if field.kind == "reference":
        index = columns.get(f"{field.name}_index")
        if index is None:
            return None
        names = raw.tables[field.target]["name"]
        return [names[i] if i >= 0 else None for i in index.tolist()]
    column = columns.get(field.name)
    if column is None:
        return None
    return _PLAIN.get(field.kind, _numbers)(column, field, raw.head["resources"])


def _numbers(column: Any, _field: Field, _resources: list[str]) -> list[Any]:
    return _cells(*column) if isinstance(column, tuple) else _cells(column, None)


def _names(column: Any, _field: Field, _resources: list[str]) -> list[Any]:
    return list(column)


def _times(column: Any, _field: Field, _resources: list[str]) -> list[Any]:
    values, valid = column if isinstance(column, tuple) else (column, None)
    return _cells(seconds(values), valid)


def _words(column: Any, field: Field, _resources: list[str]) -> list[Any]:
    values, valid = column if isinstance(column, tuple) else (column, None)
    words = [field.words[code] for code in values.tolist()]
    return words if valid is None else [w if v else None for w, v in zip(words, valid.tolist(), strict=True)]


def _text(column: Any, _field: Field, _resources: list[str]) -> list[Any]:
    words, codes = column
    return [words[code] if code >= 0 else None for code in codes.tolist()]


def _texts(column: Any, _field: Field, _resources: list[str]) -> list[Any]:
    words, offsets, codes = column
    flat = [words[code] for code in codes.tolist()]
    ends = offsets.tolist()
    return [flat[a:b] or None for a, b in itertools.pairwise(ends)]


def _amounts(column: Any, _field: Field, resources: list[str]) -> list[Any]:
    values, given = column
    cells: list[dict[str, Any] | None] = [None] * len(values)
    for r, name in enumerate(resources):
        rows = np.flatnonzero(given[:, r])
        for i, amount in zip(rows.tolist(), plain(values[rows, r]), strict=True):
            cell = cells[i]
            if cell is None:
                cells[i] = {name: amount}
            else:
                cell[name] = amount
    return cells


_PLAIN: dict[str, Callable[[Any, Field, list[str]], list[Any]]] = {
    "name": _names,
    "amounts": _amounts,
    "shares": _amounts,
    "time": _times,
    "duration": _times,
    "enum": _words,
    "text": _text,
    "label": _text,
    "texts": _texts,
}


def _cells(values: Any, valid: Any) -> list[Any]:
    cells = plain(values)
    return cells if valid is None else [c if v else None for c, v in zip(cells, valid.tolist(), strict=True)]


def _tidy(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _second(micros: int) -> float | int:
    instant: float | int = _tidy(float(seconds(np.array([micros]))[0]))
    return instant
