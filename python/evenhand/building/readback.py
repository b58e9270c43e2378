"""The way back: from the core's columns to raw columns.

A value that equals its default, or that follows from other rows, counts as
not given: that is the canonical form, which files and `replace` start from.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand import _core
from evenhand.building.parse import CORE_TABLES, Raw
from evenhand.fields import BESIDE, TABLES, Field

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.model import Snapshot

NO_TIME = np.iinfo(np.int64).min
#: Whether they are given is told by other columns, not by what they hold.
BY_OTHERS = frozenset(
    {"fifo_start_time", "gang", "last_job_start_time", "limits", "priority", "strong_guarantee"}
)


def units(quanta: NDArray[Any], quantum: float) -> NDArray[Any]:
    """Return amounts in units that give exactly these quanta again; int64 where they are whole."""
    whole = quantum == np.floor(quantum) and quanta.dtype.kind == "i"
    if whole and quantum < 2.0**62 and float(quanta.max(initial=0)) * quantum < 2.0**62:
        return quanta * np.int64(quantum)
    per_unit = float(round(1.0 / quantum))
    # Dividing gives the double nearest to the decimal number; multiplying would not.
    if not (1.0 <= per_unit <= 1e15 and quantum == 1.0 / per_unit):
        return _exactly(quanta * quantum, lambda amounts: amounts / quantum, quanta)
    return _exactly(quanta / per_unit, lambda amounts: amounts * per_unit, quanta)


def seconds(micros: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return times in seconds that give exactly these microseconds again."""
    return _exactly(micros / 1e6, lambda instants: np.rint(instants * 1e6), micros)


def matrix(quanta: NDArray[Any], quantum: NDArray[np.float64]) -> NDArray[Any]:
    """Return an N x R matrix of quanta in units."""
    columns = [units(quanta[:, r], q) for r, q in enumerate(quantum.tolist())]
    return np.ascontiguousarray(np.stack(columns, axis=1))


def plain(values: NDArray[Any]) -> list[Any]:
    """Return numbers as Python has them, whole ones as int."""
    if values.dtype.kind != "f":
        return values.tolist()
    if (np.abs(values) < 2.0**63).all() and (values == np.trunc(values)).all():
        return values.astype(np.int64).tolist()
    return [int(value) if value.is_integer() else value for value in values.tolist()]


def read_table(snapshot: Snapshot, name: str) -> Raw:
    """Return the raw columns of one table, and of those that it refers to the names; O(cells of it)."""
    reader = Reader(snapshot._core, snapshot._head["quantum"])
    raw = Raw(head=dict(snapshot._head))
    targets = {field.target for field in TABLES[name].fields if field.kind == "reference"}
    for table in {name, *targets}:
        columns = reader.table(table) if table == name else {"name": reader.names(table)}
        if columns:
            raw.tables[table] = columns
    _add_settings(snapshot, raw)
    return raw


def read_back(snapshot: Snapshot) -> Raw:
    """Return raw columns that build a snapshot again, rows in canonical order; O(cells)."""
    core, head = snapshot._core, dict(snapshot._head)
    head |= {"now": core.now, "previous_update": core.previous_update, "total": None}
    if not np.array_equal(core.total, derived_total(core)):
        given = np.ones(len(core.total), np.bool_)
        head["total"] = (matrix(np.asarray(core.total)[None, :], head["quantum"])[0], given)
    raw = Raw(head=head, commands=list(snapshot._commands))
    reader = Reader(core, head["quantum"])
    for name in CORE_TABLES:
        columns = reader.table(name)
        if columns:
            raw.tables[name] = columns
            raw.rows[name] = 1 if name == "root" else len(columns["name"])
    _add_settings(snapshot, raw)
    return raw


def _add_settings(snapshot: Snapshot, raw: Raw) -> None:
    """Add settings and labels; the root's are those of the core's first pool."""
    for name, settings in snapshot._settings.items():
        table, dot, labels = name.partition(".")
        if table == "pools":
            if 0 in settings:
                raw.settings[f"root{dot}{labels}"] = {0: settings[0]}
                raw.tables.setdefault("root", {})
                raw.rows["root"] = 1
            raw.settings[name] = {row - 1: of_row for row, of_row in settings.items() if row > 0}
        else:
            raw.settings[name] = settings


def derived_total(core: _core.Snapshot) -> NDArray[np.int64]:
    """Return the total that a snapshot has where none is given, in quanta."""
    schedulable = np.asarray(core.column("nodes", "schedulable")).astype(np.bool_)
    capacity = np.asarray(core.column("nodes", "capacity"))
    total: NDArray[np.int64] = capacity[schedulable].sum(axis=0, dtype=np.int64) + np.asarray(core.capacity)
    return total


class Reader:
    """Reads tables back; `quantum` holds the quantum of every resource."""

    def __init__(self, core: _core.Snapshot, quantum: NDArray[np.float64]) -> None:
        self.core = core
        self.quantum = quantum

    def table(self, name: str) -> dict[str, Any]:
        """Return the raw columns of a table that are not all default; none if it has no rows."""
        self._turn_to(name)
        filled = self.core.filled(self.name)
        columns: dict[str, Any] = {}
        for field in TABLES[name].fields:
            if field.kind == "name":
                columns["name"] = self.core.names(self.name)[self.rows]
                if not columns["name"]:
                    return {}
            elif field.kind not in BESIDE and (field.name in filled or field.name in BY_OTHERS):
                self._add(columns, field)
        return columns

    def names(self, name: str) -> list[Any]:
        """Return the names of a table's rows."""
        self._turn_to(name)
        names: list[Any] = self.core.names(self.name)[self.rows]
        return names

    def _turn_to(self, name: str) -> None:
        # The root is row 0 of the core's pools.
        self.rows = {"root": slice(0, 1), "pools": slice(1, None)}.get(name, slice(None))
        self.name = "pools" if name == "root" else name

    def _column(self, field: str) -> NDArray[Any]:
        return np.asarray(self.core.column(self.name, field))[self.rows]

    def _add(self, columns: dict[str, Any], field: Field) -> None:
        name = field.name
        match field.kind:
            case "text" | "label":
                words, codes = self.core.text(self.name, name)
                if (codes >= 0).any():
                    columns[name] = (words, codes[self.rows])
                return
            case "texts":
                words, offsets, codes = self.core.text_list(self.name, name)
                if len(codes):
                    columns[name] = (words, offsets, codes)
                return
        values = self._column(name)
        if len(values) == 0:
            return
        match field.kind:
            case "reference":
                index = values.astype(np.int64) - (1 if field.target == "pools" else 0)
                if (index >= 0).any():
                    columns[f"{name}_index"] = index
            case "amounts" | "shares":
                self._amounts(columns, name, values)
            case "time" | "duration":
                absent = values == self._absent_time(name)
                _unless_all(columns, name, values, absent)
            case _:
                _unless_all(columns, name, self._cells(field, values), self._absent(field, values))

    def _cells(self, field: Field, values: NDArray[Any]) -> NDArray[Any]:
        if field.kind == "flag":
            return values.astype(np.bool_)
        return values

    def _absent(self, field: Field, values: NDArray[Any]) -> NDArray[np.bool_]:
        if field.name == "priority":
            given = self._column("priority_given")
            return given == 0 if len(given) else np.ones(len(values), np.bool_)
        if field.name == "gang" and self.name == "requests":
            gang: NDArray[Any] = np.asarray(self.core.column("operations", "gang"))
            return values == gang[self._column("operation")]
        if field.name == "order":
            return np.isnan(values)
        if field.kind == "enum":
            return values == field.words.index(field.default)
        return values == (-1 if field.default is None else field.default)

    def _absent_time(self, name: str) -> Any:
        if name in ("fifo_start_time", "last_job_start_time"):
            return self._column("start_time")
        return 0 if TABLES[self.name][name].default == 0.0 else NO_TIME

    def _amounts(self, columns: dict[str, Any], name: str, values: NDArray[Any]) -> None:
        if name in ("strong_guarantee", "limits"):
            bits = self._column(f"{name}_given")[:, None] >> np.arange(values.shape[1])
            given = (bits & 1).astype(np.bool_)
        elif name == "best_allocation_share":
            given = values != 1.0
        else:
            given = values != 0
        if name in ("demand", "usage"):
            given &= ~self._itemised()[:, None]
            if name == "demand":
                # Demand is usage where there is nothing else; rows are given whole or not at all.
                same = (values == self._column("usage")).all(axis=1)
                given &= ~same[:, None]
        if given.any():
            in_units = values if name == "best_allocation_share" else matrix(values, self.quantum)
            columns[name] = (in_units, given)

    def _itemised(self) -> NDArray[np.bool_]:
        """Tell which operations have allocations or requests: these say what it uses and wants."""
        count = self.core.operation_count
        found = np.zeros(count, np.bool_)
        for table in ("allocations", "requests"):
            found[np.asarray(self.core.column(table, "operation"))] = True
        return found


def _unless_all(columns: dict[str, Any], name: str, values: NDArray[Any], absent: Any) -> None:
    if absent.all():
        return
    columns[name] = (values, ~absent) if absent.any() else values


def _exactly(
    guess: NDArray[np.float64], forward: Callable[[NDArray[np.float64]], NDArray[Any]], wanted: NDArray[Any]
) -> NDArray[np.float64]:
    """Replace guesses that are one bit off by the neighbour that leads to what is wanted."""
    if (forward(guess) == wanted).all():
        return guess
    result = guess
    for neighbour in (np.nextafter(guess, -np.inf), np.nextafter(guess, np.inf)):
        better = (forward(result) != wanted) & (forward(neighbour) == wanted)
        result = np.where(better, neighbour, result)
    return result
