"""What events say, checked by the rules of tables and in the core's numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from evenhand.building.readback import matrix
from evenhand.building.settings import labels_of
from evenhand.cluster.events import (
    Count,
    Event,
    Job,
    Leave,
    Node,
    Put,
    Resize,
    Resume,
    Start,
    Suspend,
    Take,
)
from evenhand.cluster.rows import few_rows
from evenhand.errors import InputError, Problem

if TYPE_CHECKING:
    from evenhand.cluster.stage import Stage
    from evenhand.model import Snapshot

__all__ = ["Refused", "Row", "cells_of", "name_of", "refuse"]


class Refused(ValueError):
    """An event breaks a rule: (field, rule, message)."""


def refuse(field: str | None, rule: str, message: str) -> NoReturn:
    """Refuse an event."""
    raise Refused(field, rule, message)


def name_of(event: Event) -> Any:
    """Return the name of the row that an event is about, if it has one."""
    for field in ("allocation", "request", "node", "name"):
        if (name := getattr(event, field, None)) is not None and not isinstance(event, Start):
            return name
    row = getattr(event, "row", None)
    return row.get("name") if isinstance(row, Mapping) else None


def cells_of(stage: Stage, position: int, event: Event) -> Row:
    """Return the cells that an event states, checked; none if it states none."""
    stated = _row_of(stage, event)
    if stated is None:
        return Row(stage.base, "", 0)
    table, row = stated
    try:
        snapshot, row_of = few_rows(stage, {table: [row]})
    except InputError as error:
        raise _blamed(error, table, position, event) from None
    return Row(snapshot, table, row_of[table][0])


def _row_of(stage: Stage, event: Event) -> tuple[str, dict[str, Any]] | None:
    """Return the table and the cells that an event tells of a row; None: it tells none."""
    match event:
        case Start(row):
            return "allocations", _as_row(row)
        case Put("requests" | "operations" as table, row):
            return table, _as_row(row)
        case Leave(name, deadline, beneficiary, held):
            row = {"deadline": deadline, "beneficiary": beneficiary, "resources": held}
        case Job(name, started, saved):
            row = {"last_job_start_time": started, "last_progress_time": saved}
        case Resize(name, resources) | Take(name, resources):
            row = {"resources": resources}
        case Suspend(name, held):
            row = {"resources": held}  # whether it has so much is asked when the event is carried out
        case Resume(name, node, started):
            row = {"node": node, "start_time": started}
        case Node(name, capacity, schedulable):
            return "nodes", _given(name, capacity=capacity, schedulable=schedulable)
        case Count(name, count):
            if type(count) is int and count == 0:
                return None
            return _owned(stage, "requests", _given(name, count=count))
        case _:
            return None
    return _owned(stage, "allocations", _given(name, **row))


def _as_row(row: Any) -> dict[str, Any]:
    return dict(row) if isinstance(row, Mapping) else {"name": row}


def _owned(stage: Stage, table: str, row: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """Add the operation of a row; none if there is no such row."""
    found = stage.find(table, row["name"])
    if found < 0:
        return None
    core = stage.core
    operation = core.operation_of(found) if table == "allocations" else core.request(found)[1]
    return table, {**row, "operation": core.name("operations", operation)}


def _blamed(error: InputError, table: str, position: int, event: Event) -> InputError:
    """Return an error of a row as one of its event."""
    problems = []
    for p in error.problems:
        at = position if (p.table, p.row) == (table, 0) else None
        field, message = p.field, p.message
        if at is not None and isinstance(event, Leave | Suspend) and p.field is not None:
            field = p.field.replace("resources", "held", 1)
            message = message.replace(p.field, field, 1)
        name = None if at is None else name_of(event)
        problems.append(Problem("events", at, name, field, p.rule, p.value, message))
    return InputError(problems, error.omitted)


class Row:
    """One row of the checked ones."""

    def __init__(self, snapshot: Snapshot, table: str, row: int) -> None:
        self.core, self.at = snapshot._core, row
        self._table, self._beside = table, snapshot._settings
        self._snapshot = snapshot

    def amounts(self, field: str = "resources") -> tuple[int, ...]:
        """Return amounts in quanta, one a resource."""
        return tuple(self.core.column(self._table, field)[self.at].tolist())

    def object(self, field: str = "resources") -> dict[str, float]:
        """Return amounts by resource, in their units."""
        quanta = np.array([self.amounts(field)], np.int64)
        amounts = matrix(quanta, np.asarray(self._snapshot._head["quantum"]))[0].tolist()
        return dict(zip(self._snapshot.resources, amounts, strict=True))

    def time(self, field: str) -> int:
        """Return a time in microseconds; absent: `NO_TIME`."""
        return int(self.core.column(self._table, field)[self.at])

    def beside(self) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
        """Return the settings and the labels of the row."""
        settings, labels = (
            self._beside.get(key, {}).get(self.at) for key in (self._table, labels_of(self._table))
        )
        return settings, labels

    def label(self, field: str) -> str | None:
        """Return a text, or None."""
        words, codes = self.core.text(self._table, field)
        code = int(codes[self.at])
        return None if code < 0 else str(words[code])


def _given(name: Any, **cells: Any) -> dict[str, Any]:
    return {"name": name, **{field: cell for field, cell in cells.items() if cell is not None}}
