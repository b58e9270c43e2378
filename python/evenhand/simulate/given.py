"""Columns of a workload, from whatever frames they were given in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import tzinfo
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.accepted import MOST, count_of, plain
from evenhand.arguments import expect
from evenhand.building import columns
from evenhand.building.arrays import array_cells
from evenhand.building.dicts import unknown_field
from evenhand.building.frames import takes
from evenhand.building.problems import Report, kind_of, nearest
from evenhand.building.readback import NO_TIME
from evenhand.errors import InputError, Problem, WrongKindError, shorten
from evenhand.fields import TABLES, Field, TableSpec
from evenhand.table import Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "NODE_EVENTS",
    "Columns",
    "columns_of",
    "columns_of_rows",
    "derived",
    "equal_nodes",
    "given",
    "micros_of",
    "named_pools",
    "named_resources",
    "nested",
    "one_cell",
    "own_columns",
    "read_events",
    "refuse_unknown",
    "rows_of",
    "seconds_of",
]

Columns = dict[str, "NDArray[Any]"]

#: What may happen to a node.
NODE_EVENTS = ("up", "down", "drain", "capacity")

_EVENTS = TableSpec(
    "nodes",
    "Something that happens to a node.",
    (
        Field("time", "time", "When.", required=True),
        Field("node", "label", "To which node.", required=True),
        Field("event", "enum", "What.", words=NODE_EVENTS, required=True),
    ),
)
_OF_OPERATION = frozenset(TABLES["operations"].names) - frozenset(TABLES["requests"].names)
_SHARED = ("priority", "gang", "order")
_BESIDE = frozenset({"settings", "labels"})


def rows_of(table: Columns) -> int:
    """Return how many rows a table has."""
    return len(next(iter(table.values()))) if table else 0


def columns_of(table: str, frame: Any) -> Columns:
    """Return a frame's columns as arrays: of numbers or instants, or of objects with None for null."""
    if isinstance(frame, Table):
        frame = frame.to_dict()
    if isinstance(frame, list | tuple):
        frame = columns_of_rows(table, frame)
    if isinstance(frame, Mapping):
        found = {_head(table, name): _array(table, name, values) for name, values in frame.items()}
    else:
        import narwhals.stable.v2 as nw

        try:
            native = nw.from_native(frame, eager_only=True)
        except (TypeError, nw.exceptions.DuplicateError):
            said = f"{table} takes a frame, a dict of arrays or a list of dicts, not {kind_of(frame)}"
            raise WrongKindError.about(table, None, "type", said) from None
        found = {str(series.name): _series(series) for series in native.iter_columns()}
    sizes = {len(column) for column in found.values()}
    if len(sizes) > 1:
        message = f"columns of {table} have {sorted(sizes)} rows"
        raise InputError([Problem(table, None, None, None, "length", None, message)])
    return found


def columns_of_rows(table: str, rows: Iterable[Any]) -> dict[Any, list[Any]]:
    """Return columns of rows that are objects; what a row lacks is null."""
    listed = list(rows)
    for number, row in enumerate(listed):
        if not isinstance(row, Mapping):
            said = f"row {number} of {table} is {kind_of(row)}; it must be an object"
            raise InputError([Problem(table, number, None, None, "type", shorten(row), said)])
    heads = dict.fromkeys(key for row in listed for key in row)
    return {key: [row.get(key) for row in listed] for key in heads}


def _head(table: str, name: Any) -> str:
    if not isinstance(name, str):
        said = f"the {table} have a column whose name is {kind_of(name)}; it must be text"
        raise InputError.about(table, None, "type", said, shorten(name))
    return name


def _array(table: str, name: str, values: Any) -> NDArray[Any]:
    """Return a column's cells."""
    wrong = ""
    if isinstance(values, np.ndarray):
        plain = (
            values.filled(0) if isinstance(values, np.ma.MaskedArray) and not values.mask.any() else values
        )
        if isinstance(plain, np.ma.MaskedArray):
            return _objects(plain.tolist())
        if plain.ndim == 1 and plain.dtype.names is None:
            return plain
        wrong = "an array that is no column"
    elif isinstance(values, list | tuple | range):
        if len(values) > MOST:
            said = f"the column {shorten(name)!r} of {table} has {len(values):,} rows, of at most {MOST:,}"
            raise InputError.about(table, name, "length", said)
        return _objects(list(values))
    else:
        import narwhals.stable.v2 as nw

        try:
            return _series(nw.from_native(values, series_only=True))
        except TypeError:
            wrong = kind_of(values)
    said = (
        f"the column {shorten(name)!r} of {table} is {wrong}; it must be a list or an array of one dimension"
    )
    raise InputError.about(table, name, "type", said, shorten(values))


def _series(series: Any) -> NDArray[Any]:
    dtype = series.dtype
    if dtype.is_numeric() and not dtype.is_decimal() and not series.is_null().any():
        array: NDArray[Any] = series.to_numpy()
        return array
    absent = series.is_null().to_list()
    return _objects([None if gone else cell for cell, gone in zip(series.to_list(), absent, strict=True)])


def _objects(cells: list[Any]) -> NDArray[Any]:
    """Return an array of numbers where all cells are, else of objects."""
    kinds = set(map(type, cells))
    if kinds and (kinds <= {int} or kinds <= {float} or kinds <= {bool}):
        numbers = np.array(cells)
        if numbers.dtype.kind != "O":
            return numbers
    out = np.empty(len(cells), object)
    for i, cell in enumerate(cells):  # cells may be lists
        out[i] = cell
    return out


def given(column: NDArray[Any]) -> Any:
    """Return a column as a table takes it."""
    return column if column.dtype.kind in "iufb" else tuple(column.tolist())


def one_cell(column: NDArray[Any], row: int) -> Any:
    """Return a cell as plain data; NaN is null."""
    cell = column[row]
    cell = cell.item() if isinstance(cell, np.generic) else cell
    return None if isinstance(cell, float) and np.isnan(cell) else cell


def nested(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with inner objects in the place of dotted columns."""
    out: dict[str, Any] = {}
    for key, cell in row.items():
        *outer, last = key.split(".")
        into = out
        for name in outer:
            into = into.setdefault(name, {})
        into[last] = cell
    return out


def seconds_of(micros: NDArray[np.int64]) -> Any:
    """Return seconds; None: there is none."""
    if (micros != NO_TIME).all():
        return micros / 1e6
    return tuple(None if m == NO_TIME else m / 1e6 for m in micros.tolist())


def micros_of(
    column: NDArray[Any] | None,
    rows: int,
    absent: int | None,
    zone: tzinfo | None,
    report: Report,
    name: str,
    *,
    instant: bool = False,
) -> NDArray[np.int64]:
    """Return microseconds; `absent` (None: `NO_TIME`) where there is none."""
    blank = NO_TIME if absent is None else absent
    if column is None:
        return np.full(rows, blank, np.int64)
    reporter = report.column("requests", name)
    cells = array_cells(column, zone, reporter)
    raw = columns.instant(cells, zone, True, reporter) if instant else columns.duration(cells, reporter)
    values, valid = raw if isinstance(raw, tuple) else (raw, None)
    if values.dtype.kind == "f":
        given = ~np.isnan(values)
        valid = given if valid is None else valid & given
        if (np.abs(np.where(given, values, 0)) > 9e12).any():
            report.add("requests", None, name, "range", "does not fit in 64 bits of microseconds")
            return np.full(rows, blank, np.int64)
        values = np.rint(np.where(given, values, 0) * 1e6).astype(np.int64)
    return values if valid is None else np.where(valid, values, blank)


def _flags_of(column: NDArray[Any] | None, rows: int, report: Report, name: str) -> NDArray[np.bool_]:
    """Return truth values; null is false."""
    if column is None:
        return np.zeros(rows, np.bool_)
    reporter = report.column("requests", name)
    raw = columns.flag(array_cells(column, None, reporter), reporter)
    return raw[0] & raw[1] if isinstance(raw, tuple) else raw


def refuse_unknown(asked: Columns, own: Sequence[str]) -> None:
    """Refuse columns that requests have not, nor a workload alone, by the name that may be meant."""
    report = Report()
    of_operation = TABLES["operations"].names
    for name in asked:
        if takes(TABLES["requests"], name):
            continue
        said = unknown_field(name, [*own, *TABLES["requests"].names, *of_operation])
        if name in of_operation:
            said = "is a field of operations, which were given in a table of their own"
        report.fail("requests", name[:100], "unknown_field", said)
    if report:
        raise report.error()


def own_columns(own: Columns, rows: int, zone: tzinfo | None, report: Report) -> dict[str, NDArray[Any]]:
    """Return what only a workload has: microseconds, and flags."""
    found: dict[str, NDArray[Any]] = {
        "run_time": micros_of(own.get("run_time"), rows, None, zone, report, "run_time"),
        "checkpoint_every": micros_of(
            own.get("checkpoint_every"), rows, None, zone, report, "checkpoint_every"
        ),
        "cut_off": _flags_of(own.get("cut_off"), rows, report, "cut_off"),
        **{name: _flags_of(own.get(name), rows, report, name) for name in ("replica", "whole")},
    }
    for name in ("run_time", "checkpoint_every"):
        low = (found[name] != NO_TIME) & (found[name] <= 0)
        if name == "run_time":
            low &= found[name] < 0
        for row in np.flatnonzero(low)[:1].tolist():
            least = "at least 0 s" if name == "run_time" else "more than 0 s"
            seconds = float(found[name][row]) / 1e6
            report.add("requests", row, name, "range", f"is {seconds:g} s; it must be {least}", seconds)
    return found


def derived(asked: Columns, rows: int) -> tuple[Columns, Columns]:
    """Return requests, and operations made of their columns: one a name, of its first request."""
    if not asked:
        return asked, {}
    name = asked.get("operation", asked["name"])
    first: dict[Any, int] = {}
    for row, key in enumerate(name.tolist()):
        first.setdefault(key if _is_label(key) else row, row)  # what is no name is reported with its row
    place = np.fromiter(first.values(), np.int64, len(first))
    every = len(first) == rows
    owned = {
        key: column
        for key, column in asked.items()
        if key in _OF_OPERATION or key.partition(".")[0] in ("limits", "best_allocation_share")
    }
    requests = {key: column for key, column in asked.items() if key not in owned}
    requests["operation"] = name
    operations = {"name": name if every else name[place]}
    for key, column in owned.items():
        operations[key] = column if every else column[place]
    for key in _SHARED:
        if key in asked:
            operations[key] = asked[key] if every else asked[key][place]
    for key in asked:  # settings and labels of a job are its operation's
        if key.partition(".")[0] in _BESIDE:
            operations[key] = asked[key] if every else asked[key][place]
            requests.pop(key, None)
    if "start_time" not in operations and "submit_time" in asked:
        operations["start_time"] = asked["submit_time"] if every else asked["submit_time"][place]
    return requests, operations


def _is_label(cell: Any) -> bool:
    return isinstance(cell, str | int) and not isinstance(cell, bool)


def named_pools(operations: Columns) -> Columns:
    """Return a table of the pools that operations name."""
    pools = operations.get("pool")
    if pools is None:
        return {}
    labels = [one_cell(pools, row) for row in range(len(pools))]
    names = sorted({name for name in labels if _is_label(name) and name != "<Root>"}, key=str)
    return {"name": _objects(list(names))} if names else {}


def named_resources(asked: Columns) -> dict[str, Any]:
    """Return the resources that requests name."""
    dotted = [key.partition(".")[2] for key in asked if key.startswith("resources.")]
    inner = asked.get("resources")
    cells = [] if inner is None else [cell for cell in inner.tolist() if isinstance(cell, Mapping)]
    return {name: {} for name in dict.fromkeys([*dotted, *(str(key) for cell in cells for key in cell)])}


def equal_nodes(count: int, capacity: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table of so many nodes, each of which has these amounts."""
    count = count_of("workload", "nodes", count, 0, MOST)
    for name, amount in capacity.items():
        single = isinstance(plain(amount), int | float | str)
        expect(single, "workload", f"capacity.{name}", amount, "an amount, which each node has")
    digits = len(str(count))
    names = [f"n{i + 1:0{digits}d}" for i in range(count)]
    return {"name": names, **{f"capacity.{name}": [plain(a)] * count for name, a in capacity.items()}}


def read_events(events: Columns, zone: tzinfo | None, report: Report) -> Columns:
    """Return events of nodes, checked, in order of time, with microseconds."""
    if not events:
        return {}
    for field in _EVENTS.fields:
        if field.required and field.name not in events:
            report.fail("nodes", field.name, "required", "is missing; every event needs one")
    capacities = tuple(key for key in events if key.startswith("capacity."))
    for key in events:
        if key not in _EVENTS.names and key not in capacities:
            known = [*_EVENTS.names, *capacities]
            said = f"is not a known field of events of nodes{nearest(key, known)}"
            report.add("nodes", None, key[:100], "unknown_field", said)
    if report:
        return {}
    rows = rows_of(events)
    micros = micros_of(events["time"], rows, None, zone, report, "time", instant=True)
    for row, word in enumerate(events["event"].tolist()):
        if word not in NODE_EVENTS:
            rule = f"is {word!r}; it must be one of {', '.join(NODE_EVENTS)}{nearest(word, NODE_EVENTS)}"
            report.add("nodes", row, "event", "choice", rule)
        elif word == "capacity" and not capacities:
            report.add("nodes", row, "event", "required", "needs a column capacity.<resource>")
        if micros[row] == NO_TIME:
            report.add("nodes", row, "time", "required", "is missing")
    order = np.argsort(micros, kind="stable")
    return {name: column[order] for name, column in {**events, "micros": micros}.items()}
