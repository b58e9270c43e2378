"""Events that the core cannot carry out row by row: the cluster is made anew."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evenhand.cluster.events import Event, Put, Remove
from evenhand.cluster.stage import Stage
from evenhand.errors import InputError, Problem

if TYPE_CHECKING:
    from evenhand.model import Snapshot

__all__ = ["makes_anew", "remade"]

_TABLES = ("requests", "nodes", "pools", "operations", "allocations", "reservations")
_RESERVED_FOR = {"requests": "request", "allocations": "allocation"}


def makes_anew(stage: Stage, event: Event) -> bool:
    """Tell whether an event is beyond what a stage can follow, as the stage is now."""
    match event:
        case Put("requests", row):
            return isinstance(row, Mapping) and not _keeps_its_place(stage, "requests", row)
        case Put("operations", row):
            if not isinstance(row, Mapping) or row.get("name") is None:
                return True
            if row.get("usage") is not None or row.get("demand") is not None:
                return True
            old = stage.find("operations", row["name"])
            return old >= 0 and (stage.core.stated(old) or not _keeps_its_place(stage, "operations", row))
        case Remove("requests"):
            return False
        case Remove("operations", name):  # what refers to it is looked for in the new tables
            found = stage.find("operations", name)
            return found < 0 or stage.core.has_rows(found)
        case Put() | Remove():
            return True
    return False


def _keeps_its_place(stage: Stage, table: str, row: Mapping[str, Any]) -> bool:
    """Tell whether a row is new, or as its predecessor in name and `order`."""
    old = stage.find(table, row.get("name"))
    if old < 0:
        return True
    before, order = stage.core.order(table, old), row.get("order")
    same = math.isnan(before) if order is None else order == before
    return bool(same) and stage.core.name(table, old) == row["name"]


def remade(stage: Stage, events: Sequence[tuple[int, Put | Remove]]) -> Stage:
    """Return a stage with other rows; O(cells)."""
    snapshot = stage.freeze()
    data = snapshot.to_dict()
    tables: dict[str, dict[str, Any]] = {}
    put_by: dict[tuple[str, str], int] = {}
    for position, event in events:
        if event.table not in _TABLES:
            message = f"table is {event.table!r}; rows can be put into and removed from {', '.join(_TABLES)}"
            raise _error(position, None, "table", "choice", message)
        rows = _rows(tables, data, event.table)
        if isinstance(event, Remove):
            if rows.pop(str(event.name), None) is None:
                message = f"there is no {event.name!r} in {event.table}"
                raise _error(position, event.name, "name", "exists", message)
            if event.table in _RESERVED_FOR:
                _drop_reservations(_rows(tables, data, "reservations"), _RESERVED_FOR[event.table], event)
            continue
        if not isinstance(event.row, Mapping) or event.row.get("name") is None:
            raise _error(position, None, "row", "required", "a row is an object with a name")
        rows[str(event.row["name"])] = dict(event.row)
        put_by[event.table, str(event.row["name"])] = position
    changes: dict[str, Any] = {table: list(rows.values()) for table, rows in tables.items()}
    if stage.total_stated:
        changes["total"] = snapshot.total
    made = Stage(_replaced(snapshot, changes, put_by, events[0][0]), stage.total_stated)
    made.went = stage.gone_requests()
    return made


def _rows(tables: dict[str, dict[str, Any]], data: Mapping[str, Any], table: str) -> dict[str, Any]:
    """Return the rows of a table that changes, by name."""
    if table not in tables:
        tables[table] = {str(row["name"]): row for row in data.get(table, ())}
    return tables[table]


def _drop_reservations(reservations: dict[str, Any], field: str, gone: Remove) -> None:
    for name, row in list(reservations.items()):
        if row.get(field) is not None and str(row[field]) == str(gone.name):
            del reservations[name]


def _replaced(
    snapshot: Snapshot, changes: dict[str, Any], put_by: Mapping[tuple[str, str], int], first: int
) -> Snapshot:
    try:
        return snapshot.replace(**changes)
    except InputError as error:
        problems = [
            Problem(
                "events", put_by.get((p.table, str(p.name)), first), p.name, p.field, p.rule, p.value, str(p)
            )
            for p in error.problems
        ]
        raise InputError(problems, error.omitted) from None


def _error(position: int, name: Any, field: str, rule: str, message: str) -> InputError:
    return InputError([Problem("events", position, name, field, rule, None, message)])
