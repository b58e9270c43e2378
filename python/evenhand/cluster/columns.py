"""Events as they are given: one by one, or as columns."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand import _core
from evenhand.accepted import MOST
from evenhand.arguments import expect
from evenhand.building.cells import Cells, Numbers, Strings, Times, WordLists, Words, as_list
from evenhand.building.columns import plain_number
from evenhand.building.frames import frame_columns
from evenhand.building.problems import Report
from evenhand.cluster.events import (
    KINDS,
    Event,
    Leave,
    Node,
    Put,
    Remove,
    Resize,
    Start,
    Suspend,
    Take,
    as_event,
)
from evenhand.errors import InputError, Problem
from evenhand.fields import Field, TableSpec

if TYPE_CHECKING:
    from evenhand.cluster.stage import Stage

__all__ = ["Columns", "Listed", "given_events"]

_CLASSES = tuple(KINDS.values())
_WITH_CELLS = frozenset({Leave, Node, Put, Resize, Start, Suspend, Take})
_PLAIN = frozenset({str, int, float, bool, type(None)})
_Cells = list[Any] | Numbers | Strings  # times are seconds
_INNER = ("settings", "integral", "beneficiary")  # objects of a row whose fields are objects or cells

#: Columns of names, for frames that make floats of integers beside absent cells.
_SPEC = TableSpec(
    "events",
    "What happens to a cluster.",
    (
        Field("row", "settings", ""),
        *(Field(name, "label", "") for name in ("allocation", "request", "node", "name", "beneficiary")),
        *(
            Field(f"{of}.{name}", "label", "")
            for of, names in (
                ("beneficiary", "operation request"),
                ("row", "name operation node required_node pool parent request allocation"),
            )
            for name in names.split()
        ),
    ),
)


class Listed:
    """Events one by one: objects of their classes, or dicts."""

    __slots__ = ("_events",)

    def __init__(self, events: Iterable[Any]) -> None:
        self._events = list(itertools.islice(events, MOST + 1))
        if len(self._events) > MOST:
            raise InputError.about("events", None, "length", f"there are more than {MOST:,} events at once")

    def __len__(self) -> int:
        return len(self._events)

    def __getitem__(self, position: int) -> Any:
        return self._events[position]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Listed | Columns) and _events(self) == _events(other)

    __hash__ = None  # type: ignore[assignment]  # cells may be lists

    @property
    def removes_nodes(self) -> bool:
        """Whether a node may go."""
        return any(
            event.get("event") == "remove" and event.get("table") == "nodes"
            if type(event) is dict
            else getattr(event, "table", None) == "nodes"
            for event in self._events
        )

    @property
    def removed(self) -> set[tuple[str, str]]:
        """Table and name of what is removed."""
        return {
            (event["table"], str(event["name"])) if type(event) is dict else (event.table, str(event.name))
            for event in self._events
            if (event["event"] == "remove" if type(event) is dict else type(event) is Remove)
        }

    def plain(self, stage: Stage, first: int) -> int:
        """Carry out plain events from a position on; return where the first that is not stands."""
        return stage.core.carry_out(self._events, first, _CLASSES, stage)

    def happen(self, stage: Stage, *, recorded: bool) -> Listed | int:
        """Carry out all; return `own`, or where the first stands that is not plain."""
        done = stage.core.happen(self._events, _CLASSES, _own, stage, recorded)
        return Listed(done) if type(done) is list else done

    def own(self) -> Listed:
        """Return the same events, whose cells no other code holds."""
        return Listed(map(_own, self._events))

    def again(self) -> Listed:
        """Return what carries the same events out once more."""
        return self


class Columns:
    """Events as columns."""

    def __init__(self, columns: Mapping[str, _Cells], resources: Sequence[str]) -> None:
        self._columns, self._resources = columns, resources
        self._rows = max(map(len, columns.values()), default=0)

    def __len__(self) -> int:
        return self._rows

    @cached_property
    def _rows_of_core(self) -> _core.EventColumns:
        typed = {name: _typed(cells) for name, cells in self._columns.items()}
        return _core.EventColumns(typed, list(self._resources), self._rows)

    def __getitem__(self, position: int) -> dict[str, Any]:
        event: dict[str, Any] = {}
        for name, cells in self._columns.items():
            cell = cells[position]
            cell = cell.item() if isinstance(cell, np.generic) else cell
            if cell is not None:
                _place(event, name, cell, position)
        return event

    @property
    def removes_nodes(self) -> bool:
        """Whether a node may go."""
        tables = self._columns.get("table", ())
        return any(tables[position] == "nodes" for position in range(len(tables)))

    @property
    def removed(self) -> set[tuple[str, str]]:
        """Table and name of what is removed."""
        kinds, tables, names = (self._columns.get(column, ()) for column in ("event", "table", "name"))
        positions = (at for at in range(len(tables)) if kinds[at] == "remove")
        return {(str(tables[at]), str(names[at])) for at in positions}

    def plain(self, stage: Stage, first: int) -> int:
        """Carry out plain events from a position on; return where the first that is not stands."""
        while (first := stage.core.carry_out_columns(self._rows_of_core, first, stage)) < self._rows:
            if not stage.core.carry_out([self[first]], 0, _CLASSES, stage):
                break
            first += 1
        return first

    def happen(self, stage: Stage, *, recorded: bool) -> Columns | int:
        """Carry out all; as that of `Listed`."""
        if not recorded:
            stage.forget()
        stage.mark()
        first = 0 if self.removes_nodes else self.plain(stage, 0)
        return self.own() if first == len(self) else first

    def own(self) -> Columns:
        """Return the same events, whose cells no other code holds."""
        return Columns({name: _own_cells(cells) for name, cells in self._columns.items()}, self._resources)

    def again(self) -> Columns:
        """Return what carries the same events out once more."""
        return Columns(self._columns, self._resources)

    __eq__ = Listed.__eq__
    __hash__ = None  # type: ignore[assignment]  # cells may be lists

    def __reduce__(self) -> tuple[Any, ...]:
        return Columns, (self._columns, self._resources)


def _events(given: Listed | Columns) -> list[Event]:
    return [as_event(given[position]) for position in range(len(given))]


def _own(event: Any) -> Any:
    """Return an event whose cells are its own."""
    if isinstance(event, dict):
        return _copied(event)
    if type(event) not in _WITH_CELLS:
        return event
    return type(event)(*(_copied(getattr(event, name)) for name in event.__slots__))


def _own_cells(cells: _Cells) -> Any:
    """Return a column that no other code holds."""
    if isinstance(cells, list):
        return cells.copy() if _PLAIN.issuperset(map(type, cells)) else _copied(cells)
    valid = None if cells.valid is None else cells.valid.copy()
    if isinstance(cells, Strings):
        return Strings(cells.data.copy(), cells.offsets.copy(), valid)
    return Numbers(cells.values.copy(), valid)


def _copied(value: Any) -> Any:
    if type(value) in _PLAIN:
        return value
    if isinstance(value, Mapping):
        return {key: _copied(cell) for key, cell in value.items()}
    return [_copied(cell) for cell in value] if isinstance(value, list | tuple) else value


def given_events(given: Any, resources: Sequence[str]) -> Listed | Columns:
    """Return what was given as events."""
    if isinstance(given, Mapping) or hasattr(given, "columns"):
        return Columns(_columns(given), resources)
    listed = isinstance(given, Iterable) and getattr(given, "ndim", 1) > 0
    listed = listed and not isinstance(given, str | bytes)
    expect(listed, "cluster", "events", given, "a sequence of events")
    return Listed(given)


def _columns(given: Any) -> dict[str, _Cells]:
    report = Report()
    columns: dict[str, _Cells] = {}
    for name, read in _read(given, report):
        cells = _seconds(read) if isinstance(read, Times) else read
        before = next((len(others) for others in columns.values()), len(cells))
        if before != len(cells):
            message = f"has {len(cells)} rows; the columns before it have {before}"
            report.fail("events", name, "length", message)
        columns[name] = as_list(cells) if isinstance(cells, Words | WordLists) else cells
    if report:
        raise report.error()
    return columns


def _read(given: Any, report: Report) -> Iterator[tuple[str, Cells]]:
    try:
        yield from frame_columns(_SPEC, given, None, report)
    except TypeError:
        expect(False, "cluster", "events", given, "a sequence of events, or columns")


def _seconds(times: Times) -> Numbers:
    return Numbers(times.micros / 1e6, times.valid)


def _typed(cells: _Cells) -> Any:
    """Return a column in a form that the core reads."""
    if isinstance(cells, list):
        return cells
    valid = None if cells.valid is None else np.ascontiguousarray(cells.valid, np.bool_)
    if isinstance(cells, Strings):
        offsets = np.ascontiguousarray(cells.offsets, np.int64)
        return np.ascontiguousarray(cells.data, np.uint8), offsets, valid
    values = cells.values
    return np.ascontiguousarray(values) if values.dtype.kind == "b" else plain_number(values), valid


def _place(event: dict[str, Any], name: str, cell: Any, position: int) -> None:
    """Put a cell where the dotted name of its column says."""
    at, rest = event, name
    while True:
        head, _, rest = rest.partition(".")
        inner = head in _INNER or (at is event and head == "row")
        if not rest:
            break
        at = at.setdefault(head, {})
        if not isinstance(at, dict):
            message = f"{name} is given by two columns"
            raise InputError([Problem("events", position, None, name, "duplicate_field", None, message)])
        if not inner:  # amounts by resource, labels by name: with all their dots
            head = rest
            break
    if head in at:
        message = f"{name} is given by two columns"
        raise InputError([Problem("events", position, None, name, "duplicate_field", None, message)])
    at[head] = cell
