"""The rows of a cluster, kept by hand: what events do to them, as their documentation says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenhand.cluster.events import (
    Count,
    End,
    Event,
    Job,
    Leave,
    Node,
    Put,
    Remove,
    Resize,
    Resume,
    Start,
    Suspend,
    Take,
    Time,
)

__all__ = ["HOLDING", "TABLES", "Refused", "Row", "Rows", "state_of"]

Row = Mapping[str, Any]
TABLES = ("nodes", "pools", "operations", "allocations", "requests", "reservations")
#: States in which an allocation can be asked to leave, or be resized.
HOLDING = ("running", "suspended")
_RESERVED_FOR = {"requests": "request", "allocations": "allocation"}


class Refused(ValueError):
    """An event breaks a rule of its own, not one of tables."""


def state_of(row: Row) -> str:
    """Return the state of an allocation."""
    return str(row.get("state") or "running")


def _without(row: Row, *cells: str) -> dict[str, Any]:
    return {cell: value for cell, value in row.items() if cell not in cells}


class Rows:
    """Tables of rows by name, integers as texts. A row is never changed: another one takes its place."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._head = _without(data, "now", *TABLES)
        self.now: Any = data.get("now", 0)
        self.tables: dict[str, dict[str, Row]] = {
            table: {str(row["name"]): row for row in data.get(table) or ()} for table in TABLES
        }
        self.went: dict[str, dict[str, Row]] = {table: {} for table in TABLES}
        self.used_up: set[str] = set()

    @property
    def resources(self) -> Mapping[str, Any]:
        """Resources with their fields."""
        found: Mapping[str, Any] = self._head["resources"]
        return found

    def copied(self) -> Rows:
        """Return rows that change on their own."""
        other = Rows({**self._head, "now": self.now})
        other.tables = {table: dict(rows) for table, rows in self.tables.items()}
        other.went = {table: dict(rows) for table, rows in self.went.items()}
        return other

    def data(self) -> dict[str, Any]:
        """Return the snapshot in the file format."""
        return {**self._head, "now": self.now} | {t: list(rows.values()) for t, rows in self.tables.items()}

    def all(self, table: str, *states: str) -> list[Row]:
        """Return the rows of a table, of allocations those in some states."""
        rows = list(self.tables[table].values())
        return [row for row in rows if state_of(row) in states] if states else rows

    def find(self, table: str, name: Any) -> Row:
        """Return a row."""
        row = self.tables[table].get(str(name))
        if row is None:
            raise Refused(f"there is no {name!r} in {table}")
        return row

    def put(self, table: str, row: Row) -> None:
        """Add a row, or let it take the place of the one of its name."""
        self.tables[table][str(row["name"])] = row
        self.went[table].pop(str(row["name"]), None)

    def drop(self, table: str, name: Any) -> None:
        """Remove a row, and what is reserved for it."""
        self.went[table][str(name)] = self.find(table, name)
        del self.tables[table][str(name)]
        if (field := _RESERVED_FOR.get(table)) is not None:
            kept = self.tables["reservations"]
            for reservation in [key for key, row in kept.items() if str(row.get(field)) == str(name)]:
                self.drop("reservations", reservation)

    def change(self, table: str, name: Any, **cells: Any) -> None:
        """Change cells of a row; None: the cell is absent from now on."""
        row = {**self.find(table, name), **cells}
        self.tables[table][str(name)] = {cell: value for cell, value in row.items() if value is not None}

    def _allocation(self, name: Any, *states: str) -> Row:
        row = self.find("allocations", name)
        if states and state_of(row) not in states:
            raise Refused(f"the allocation {name!r} is {state_of(row)}")
        return row

    def _count(self, request: Any, count: int) -> None:
        self.find("requests", request)
        if count:
            self.change("requests", request, count=count)
        else:
            self.drop("requests", request)
            self.used_up.add(str(request))

    def happen(self, event: Event) -> None:
        """Let an event happen."""
        match event:
            case Time(now):
                if now < self.now:
                    raise Refused("time runs back")
                self.now = now
            case Start(row, request):
                self._start(row, request)
            case End(name):
                self.drop("allocations", name)
            case Leave(name, deadline, whom, held):
                row = self._allocation(name, *HOLDING)
                kept = row.get("held") if held is None else dict(held)
                told = {"state": "preempting", "deadline": deadline, "beneficiary": whom, "held": kept}
                self.change("allocations", name, **told)
            case Take(name, resources):
                row = self._allocation(name, "preempting")
                settings = {**(row.get("settings") or {}), "room_taken": dict(resources)}
                self.change("allocations", name, settings=settings)
            case Suspend(name, held):
                row = self._allocation(name, *HOLDING, "preempting")
                kept = row.get("held") if held is None else dict(held)
                self.change("allocations", name, state="preempted", held=kept)
            case Resume(name, node, started):
                self._resume(name, node, started)
            case Job(name, started, saved):
                self._allocation(name)
                times = {"last_job_start_time": started, "last_progress_time": saved}
                self.change("allocations", name, **{f: time for f, time in times.items() if time is not None})
            case Resize(name, resources):
                self._allocation(name, *HOLDING)
                self.change("allocations", name, resources=dict(resources))
            case Count(request, count):
                self._count(request, count)
            case Node(name, capacity, schedulable):
                cells = {"capacity": capacity, "schedulable": schedulable}
                self.find("nodes", name)
                self.change("nodes", name, **{f: cell for f, cell in cells.items() if cell is not None})
            case Put(table, row):
                self.put(table, row)
            case Remove(table, name):
                self.drop(table, name)

    def _start(self, row: Row, request: Any) -> None:
        if str(row["name"]) in self.tables["allocations"]:
            raise Refused(f"there is an allocation {row['name']!r} already")
        if state_of(row) != "running":
            raise Refused("what starts is running")
        self.put("allocations", {"start_time": self.now, **row})
        if request is not None:
            asked = self.find("requests", request)
            count = asked.get("count", 1)
            if not count or str(asked["operation"]) != str(row["operation"]):
                raise Refused(f"the request {request!r} asks for no such thing")
            self._count(request, count - 1)

    def _resume(self, name: Any, node: Any, started: Any) -> None:
        row = self._allocation(name, "preempted")
        gone = ("state", "held", "deadline", "beneficiary", "last_job_start_time")
        cells: dict[str, Any] = dict.fromkeys(gone)
        cells["start_time"] = self.now if started is None else started
        if node is not None:
            cells["node"] = node
        if "room_taken" in (row.get("settings") or {}):
            cells["settings"] = _without(row["settings"], "room_taken") or None
        self.change("allocations", name, **cells)
