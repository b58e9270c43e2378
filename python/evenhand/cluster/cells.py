"""What events say, checked by the rules of tables, in the values that the core reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evenhand.building.dicts import read_rows
from evenhand.building.parse import Parser
from evenhand.building.problems import Report
from evenhand.building.single import CellError, one_time
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
    Time,
)
from evenhand.errors import InputError, Problem, shorten
from evenhand.fields import TABLES

if TYPE_CHECKING:
    from evenhand.cluster.stage import Stage

__all__ = ["checked_event", "name_of"]

_REFERENCES = {"operations": ("operation",), "nodes": ("node", "required_node"), "pools": ("pool",)}


def name_of(event: Event) -> Any:
    """Return the name of the row that an event is about, if it has one."""
    for field in ("allocation", "request", "node", "name"):
        if (name := getattr(event, field, None)) is not None and not isinstance(event, Start):
            return name
    row = getattr(event, "row", None)
    return row.get("name") if isinstance(row, Mapping) else None


def checked_event(stage: Stage, position: int, event: Event) -> Event:
    """Return an event whose cells break no rule of its table, in values that the core reads."""
    if isinstance(event, Time):
        return Time(_instant(position, event.now))
    stated = _row_of(stage, event)
    if stated is None:
        return event
    table, given = stated
    try:
        row = _checked_row(stage, table, given)
    except InputError as error:
        raise _blamed(error, table, position, event) from None
    match event:
        case Start() | Put():
            return replace(event, row=row)
        case Leave():
            return replace(event, **_stated(event, row, held="resources"))
        case Suspend():
            return Suspend(event.allocation, row.get("resources"))
        case Take(name, taken):
            as_given = all(type(amount) in (int, float) for amount in taken.values())
            amounts = row["resources"]
            return Take(name, {r: taken[r] if as_given else amounts.get(r, 0) for r in taken})
    return replace(event, **_stated(event, row))


def _stated(event: Any, row: Mapping[str, Any], **names: str) -> dict[str, Any]:
    """Return the checked cells of an event's fields, which the row may call otherwise."""
    cells = {field: names.get(field, field) for field in event.__slots__}
    return {field: row[name] for field, name in cells.items() if name in row and name != "name"}


def _instant(position: int, given: Any) -> float:
    """Return an instant in seconds."""
    field, rule, said = "now", "finite", f"now is {shorten(given)!r}; it must be an instant"
    try:
        now = one_time(None, text=False)(given)
        if abs(now) < 2**53:
            return now
        said = f"now is {shorten(now)!r}; it must be an instant"
    except CellError as error:
        rule, said = error.rule, f"now {error}"
    raise InputError([Problem("events", position, None, field, rule, None, said)]) from None


def _checked_row(stage: Stage, table: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return the cells that a row states once the rules of its table have read them."""
    read = _read(stage, table, given)
    checked: dict[str, Any] = {}
    for key, cell in given.items():
        name = str(key).partition(".")[0]
        field = next((field for field in TABLES[table].fields if field.name == name), None)
        if cell is None:
            checked.setdefault(name, None)
        elif name in read:
            value = read[name]
            checked[name] = float(value) if type(value) is int and abs(value) >= 2**63 else value
        elif name in ("fifo_start_time", "last_job_start_time"):  # as when it started
            checked[name] = read.get("start_time", 0.0)
        elif field is not None and field.kind == "amounts":
            checked[name] = {}
        elif field is not None and field.default is not None:
            checked[name] = field.default
    return checked


def _read(stage: Stage, table: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return a row as a snapshot has it, beside the bare pools, operations and nodes that it names."""
    report = Report()
    parser = Parser(report)
    parser.keep_head({**stage.base._head, "now": stage.core.now, "previous_update": None, "total": None})
    rows: dict[str, list[Any]] = {table: [given]}
    for other, fields in _REFERENCES.items():
        have = {str(given.get("name"))} if other == table else set()
        named = [given[field] for field in fields if given.get(field) is not None]
        for text, name in {str(name): name for name in named}.items():
            if text in have or (row := stage.find(other, text)) < 0 or (other == "pools" and row == 0):
                continue
            stub = {"name": name}
            if other == "operations" and stage.core.gang(row):
                stub["gang"] = True
            rows.setdefault(other, []).append(stub)
    for name in ("pools", "operations", "nodes", "allocations", "requests"):
        if name in rows:
            parser.read_table(name, read_rows(TABLES[name], rows[name], report))
    snapshot = stage.base._build(parser.raw, report)
    place = snapshot._core.permutation(table).tolist().index(0)
    read: dict[str, Any] = snapshot.to_dict()[table][place]
    return read


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
            row = {"resources": held}
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
    operation = (core.operation_of if table == "allocations" else core.operation_of_request)(found)
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


def _given(name: Any, **cells: Any) -> dict[str, Any]:
    return {"name": name, **{field: cell for field, cell in cells.items() if cell is not None}}
