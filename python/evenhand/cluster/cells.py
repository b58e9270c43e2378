"""What events say, checked by the rules of tables and in the core's numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

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

__all__ = ["Cells", "Refused", "Row", "name_of", "refuse", "row_put"]


class Refused(ValueError):
    """An event breaks a rule: (field, rule, message)."""


def refuse(field: str | None, rule: str, message: str) -> NoReturn:
    """Refuse an event.

    Raises
    ------
    Refused
    """
    raise Refused(field, rule, message)


def name_of(event: Event) -> Any:
    """Return the name of the row that an event is about, if it has one."""
    for field in ("allocation", "request", "node", "name"):
        if (name := getattr(event, field, None)) is not None and not isinstance(event, Start):
            return name
    row = getattr(event, "row", None)
    return row.get("name") if isinstance(row, Mapping) else None


class Cells:
    """What the events say, checked and in the core's numbers."""

    def __init__(self, stage: Stage, events: Sequence[tuple[int, Event]]) -> None:
        self._rows: dict[str, list[Any]] = {}
        self._place: dict[int, tuple[str, int]] = {}
        self._snapshot = stage.base
        # Rows that come keep their names; what other events say of rows stands beside them.
        self._coming = {
            (put[0], str(put[1].get("name"))): put[1]
            for _, event in events
            if (put := row_put(event)) is not None and isinstance(put[1], Mapping)
        }
        self._names = set(self._coming)
        for position, event in events:
            self._add(stage, position, event)
        if not self._rows:
            return
        try:
            self._snapshot, self._row_of = few_rows(stage, self._rows)
        except InputError as error:
            raise self._blamed(error, dict(events)) from None

    def _add(self, stage: Stage, position: int, event: Event) -> None:
        put = row_put(event)
        if put is not None:
            table, row = put[0], dict(put[1]) if isinstance(put[1], Mapping) else {"name": put[1]}
        else:
            where = self._cells_of(stage, event)
            if where is None:
                return
            table, row = where
            if (table, str(row["name"])) in self._names:
                row["name"] = f"{row['name']} (event {position})"
            self._names.add((table, str(row["name"])))
        self._place[position] = (table, len(self._rows.setdefault(table, [])))
        self._rows[table].append(row)

    def _cells_of(self, stage: Stage, event: Event) -> tuple[str, dict[str, Any]] | None:
        """Return the table and the cells that an event tells of a row; None: it tells none."""
        match event:
            case Leave(name, deadline, beneficiary):
                row = {"deadline": deadline, "beneficiary": beneficiary}
            case Job(name, started, saved):
                row = {"last_job_start_time": started, "last_progress_time": saved}
            case Resize(name, resources) | Take(name, resources):
                row = {"resources": resources}
            case Suspend(name, held):
                row = {"resources": held}  # whether it has so much is asked when the event's turn comes
            case Resume(name, node, started):
                row = {"node": node, "start_time": started}
            case Node(name, capacity, schedulable):
                return "nodes", _given(name, capacity=capacity, schedulable=schedulable)
            case Count(name, count):
                if type(count) is int and count == 0:
                    return None
                return self._owned(stage, "requests", _given(name, count=count))
            case _:
                return None
        return self._owned(stage, "allocations", _given(name, **row))

    def _owned(self, stage: Stage, table: str, row: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
        """Add the operation of a row; none if there is no such row."""
        if (coming := self._coming.get((table, str(row["name"])))) is not None:
            return table, {**row, "operation": coming.get("operation")}
        found = stage.find(table, row["name"])
        if found < 0:
            return None
        core = stage.core
        operation = core.operation_of(found) if table == "allocations" else core.request(found)[1]
        return table, {**row, "operation": core.name("operations", operation)}

    def _blamed(self, error: InputError, events: Mapping[int, Event]) -> InputError:
        """Return an error of rows as one of events."""
        position = {place: position for position, place in self._place.items()}
        problems = []
        for p in error.problems:
            at = None if p.row is None else position.get((p.table, p.row))
            name = None if at is None else name_of(events[at])
            field, message = p.field, p.message
            if at is not None and isinstance(events[at], Suspend) and p.field is not None:
                field = p.field.replace("resources", "held", 1)
                message = message.replace(p.field, field, 1)
            problems.append(Problem("events", at, name, field, p.rule, p.value, message))
        return InputError(problems, error.omitted)

    def of(self, position: int) -> Row:
        """Return the row of an event; one that states no cells has an empty one."""
        table, row = self._place.get(position, ("", 0))
        return Row(self._snapshot, table, self._row_of[table][row] if table else 0)


class Row:
    """One row of the checked ones.

    Attributes
    ----------
    core : _core.Snapshot
        Where it stands.
    at : int
        Its row there.
    """

    def __init__(self, snapshot: Snapshot, table: str, row: int) -> None:
        self.core, self.at = snapshot._core, row
        self._table, self._beside = table, snapshot._settings

    def amounts(self, field: str = "resources") -> tuple[int, ...]:
        """Return amounts in quanta, one a resource."""
        return tuple(self.core.column(self._table, field)[self.at].tolist())

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


def row_put(event: Event) -> tuple[str, Any] | None:
    """Return the table and the row that an event puts there; None: it puts none."""
    match event:
        case Start(row):
            return "allocations", row
        case Put("requests" | "operations" as table, row):
            return table, row
    return None


def _given(name: Any, **cells: Any) -> dict[str, Any]:
    return {"name": name, **{field: cell for field, cell in cells.items() if cell is not None}}
