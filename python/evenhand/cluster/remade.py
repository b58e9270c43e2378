"""Events that put or remove rows of whole tables: the cluster is made anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evenhand.cluster.events import Put, Remove
from evenhand.cluster.stage import Stage
from evenhand.errors import InputError, Problem

if TYPE_CHECKING:
    from evenhand.model import Snapshot

__all__ = ["remade"]

_TABLES = ("requests", "nodes", "pools", "operations", "allocations", "reservations")
_RESERVED_FOR = {"requests": "request", "allocations": "allocation"}


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
