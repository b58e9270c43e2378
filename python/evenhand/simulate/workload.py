"""A workload: rows in a snapshot's own vocabulary, and when each comes and how long it works."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import tzinfo
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.arguments import expect
from evenhand.building import columns
from evenhand.building.arrays import array_cells
from evenhand.building.problems import Report
from evenhand.building.readback import NO_TIME
from evenhand.building.times import time_zone
from evenhand.errors import InputError, Problem
from evenhand.fields import TABLES, Field, TableSpec
from evenhand.frozen import Frozen
from evenhand.table import Table, Tabular

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.model import Snapshot

__all__ = ["NODE_EVENTS", "Workload"]

Columns = dict[str, "NDArray[Any]"]

#: What may happen to a node.
NODE_EVENTS = ("up", "down", "drain", "capacity")

#: What only requests of a workload have.
OWN = TableSpec(
    "requests",
    "A request of a workload.",
    (
        Field("run_time", "duration", "Work of each of its count; null: it runs for ever.", unit="s"),
        Field("checkpoint_every", "duration", "How often its work is saved; null: never.", unit="s"),
        Field("cut_off", "flag", "Whether the trace ended before it did.", False),
        Field("replica", "flag", "Whether it comes back when it is lost, at once.", False),
    ),
)
_OWN = frozenset(OWN.names)
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


@dataclass(frozen=True, slots=True)
class Parsed:
    """A workload's columns for a snapshot with its resources: what the engine takes.

    Attributes
    ----------
    rows : Snapshot
        All operations and requests, in canonical order.
    run_time, checkpoint_every : array of int64
        Microseconds by canonical request; `NO_TIME`: null.
    cut_off, replica : array of bool
    """

    rows: Snapshot
    run_time: NDArray[np.int64]
    checkpoint_every: NDArray[np.int64]
    cut_off: NDArray[np.bool_]
    replica: NDArray[np.bool_]


class Workload(Frozen, Tabular):
    """What arrives at a cluster, and what happens to its nodes.

    Parameters
    ----------
    requests : frame, dict of arrays or list of dicts
        One row a request, as in a snapshot (``name, resources.<r>, count, submit_time, duration, priority,
        gang, ...``), and what only a workload has: ``run_time`` (of each of its count; null: for ever),
        ``checkpoint_every`` (null: progress is lost), ``cut_off`` (the trace ended before it did) and
        ``replica`` (it comes back when it is lost). ``operation``: by default one of the same name.
    operations : frame, optional
        One row an operation, as in a snapshot. By default made of the requests, which may then have columns
        of operations, too (``pool, user, project, account, partition, qos, kind, ...``).
    pools : frame, optional
        Pools that the workload brings; by default those that operations name. A start snapshot keeps its own
        where both have one of a name.
    nodes : frame, optional
        What happens to nodes: ``time, node, event`` (up, down, drain, capacity) and ``capacity.<r>``.
    resources : mapping, optional
        As in `Snapshot.from_frames`; by default those that requests name.
    timezone : str or tzinfo, optional
        Time zone of instants that have none.
    machines : frame, optional
        Nodes as they were when it began: what `snapshot` takes by default.
    notes : mapping, optional
        What its source says of it, and how many rows were left out or changed, and why.
    recorded : Table, optional
        What became of it where it was recorded.

    Raises
    ------
    InputError
        If a column is wrong. Rules that hold between rows are checked when it is simulated.

    Notes
    -----
    Immutable; O(cells).

    Examples
    --------
    >>> import evenhand as eh
    >>> work = eh.simulate.Workload({"name": ["a", "b"], "resources.cpu": [2, 4], "submit_time": [0, 5],
    ...                              "run_time": [60, 30], "pool": ["x", "x"]})
    >>> work
    Workload(2 requests, 2 operations, 1 pool, 5 s)
    >>> work.snapshot(nodes=2, cpu=8).total
    {'cpu': 16}
    """

    __slots__ = (
        *("_cache", "_events", "_machines", "_operations", "_own", "_pools", "_requests", "_submit"),
        *("notes", "recorded", "resources"),
    )
    _INSTEAD = "; slice(), head() and scaled() return other ones"

    _requests: Columns
    _operations: Columns
    _pools: Columns
    _events: Columns
    _machines: Columns
    _own: Columns
    _submit: NDArray[np.int64]
    _cache: dict[str, Any]
    #: Resources as `Snapshot.from_frames` takes them.
    resources: dict[str, Any]
    #: What its source says of it.
    notes: dict[str, Any]
    #: What became of it where it was recorded, or None.
    recorded: Table | None

    def __init__(
        self,
        requests: Any,
        operations: Any = None,
        pools: Any = None,
        nodes: Any = None,
        *,
        resources: Mapping[str, Any] | None = None,
        timezone: str | tzinfo | None = None,
        machines: Any = None,
        notes: Mapping[str, Any] | None = None,
        recorded: Table | None = None,
    ) -> None:
        report = Report()
        zone = time_zone(timezone) if isinstance(timezone, str) else timezone
        asked = _columns("requests", requests)
        rows = _rows(asked)
        if "name" not in asked and rows:
            report.fail("requests", "name", "required", "is missing; the table needs a column of names")
            raise report.error()
        own = {name: asked.pop(name) for name in list(asked) if name in _OWN}
        found: dict[str, Any] = {
            "run_time": _micros(own.get("run_time"), rows, None, zone, report, "run_time"),
            "checkpoint_every": _micros(
                own.get("checkpoint_every"), rows, None, zone, report, "checkpoint_every"
            ),
            "cut_off": _flags(own.get("cut_off"), rows, report, "cut_off"),
            "replica": _flags(own.get("replica"), rows, report, "replica"),
        }
        for name in ("run_time", "checkpoint_every"):
            low = (found[name] != NO_TIME) & (found[name] <= 0)
            if name == "run_time":
                low &= found[name] < 0
            for row in np.flatnonzero(low)[:1].tolist():
                report.add("requests", row, name, "range", "is too small")
        submit = _micros(asked.get("submit_time"), rows, 0, zone, report, "submit_time", instant=True)
        if operations is None:
            asked, of_operations = _derived(asked, rows)
        else:
            of_operations = _columns("operations", operations)
            asked.setdefault("operation", asked.get("name", np.zeros(0, object)))
        events = {} if nodes is None else _columns("nodes", nodes)
        self._keep(
            _requests=asked,
            _operations=of_operations,
            _pools=_named_pools(of_operations) if pools is None else _columns("pools", pools),
            _events=_read_events(events, zone, report),
            _machines={} if machines is None else _columns("nodes", machines),
            _own=found,
            _submit=submit,
            _cache={"zone": zone},
            resources=dict(_named_resources(asked) if resources is None else resources),
            notes=dict(notes or {}),
            recorded=recorded,
        )
        if report:
            raise report.error()

    def __len__(self) -> int:
        return _rows(self._requests)

    @property
    def begin(self) -> float:
        """When the first request comes, in seconds; 0 if there is none."""
        return float(self._submit.min(initial=_LAST)) / 1e6 if len(self) else 0.0

    @property
    def end(self) -> float:
        """When the last request comes, in seconds; 0 if there is none."""
        return float(self._submit.max(initial=-_LAST)) / 1e6 if len(self) else 0.0

    def table(self) -> Table:
        """Return the requests, as they were given, with what only a workload has."""
        own = {
            "run_time": _seconds(self._own["run_time"]),
            "checkpoint_every": _seconds(self._own["checkpoint_every"]),
            "cut_off": self._own["cut_off"],
            "replica": self._own["replica"],
        }
        return Table({**{name: _given(column) for name, column in self._requests.items()}, **own})

    def operations(self) -> Table:
        """Return the operations."""
        return Table({name: _given(column) for name, column in self._operations.items()})

    def pools(self) -> Table:
        """Return the pools that it brings."""
        return Table({name: _given(column) for name, column in self._pools.items()})

    def node_events(self) -> Table:
        """Return what happens to nodes."""
        return Table({name: _given(column) for name, column in self._events.items() if name != "micros"})

    def slice(self, begin: float, end: float) -> Workload:
        """Return what comes within a span of time.

        Parameters
        ----------
        begin, end : number
            Seconds; the end is not in it.

        Returns
        -------
        Workload
            Its requests and their operations; events of nodes before the end.
        """
        first, last = round(begin * 1e6), round(end * 1e6)
        kept = (self._submit >= first) & (self._submit < last)
        return self._of_rows(np.flatnonzero(kept), last)

    def head(self, n: int = 5) -> Workload:
        """Return its first requests in order of coming.

        Parameters
        ----------
        n : int

        Returns
        -------
        Workload
        """
        expect(isinstance(n, int) and n >= 0, "workload", "n", n, "a number of rows")
        first = np.argsort(self._submit, kind="stable")[:n]
        return self._of_rows(np.sort(first), None)

    def scaled(self, *, interval: float = 1.0, run_time: float = 1.0) -> Workload:
        """Return the workload with other times.

        Parameters
        ----------
        interval : float
            Times between arrivals (and events of nodes) are multiplied by it, from the first arrival on.
        run_time : float
            So are the run times and the durations that users say.

        Returns
        -------
        Workload
        """
        expect(interval > 0, "workload", "interval", interval, "a positive number")
        expect(run_time > 0, "workload", "run_time", run_time, "a positive number")
        first = int(self._submit.min(initial=_LAST)) if len(self) else 0

        def moved(micros: NDArray[np.int64]) -> NDArray[np.int64]:
            return first + np.rint((micros - first) * interval).astype(np.int64)

        submit = moved(self._submit)
        requests = {**self._requests, "submit_time": submit / 1e6}
        operations = dict(self._operations)
        if "duration" in requests and requests["duration"].dtype.kind in "iuf":
            requests["duration"] = requests["duration"] * run_time
        if "start_time" in operations:  # of the derived ones; others say their own
            places = {name: i for i, name in enumerate(requests["name"].tolist())}
            own = [places.get(name, -1) for name in operations["name"].tolist()]
            if -1 not in own:
                operations["start_time"] = submit[np.array(own, np.int64)] / 1e6
        events = dict(self._events)
        if events:
            events["micros"] = moved(events["micros"])
            events["time"] = events["micros"] / 1e6
        works = self._own["run_time"]
        longer = np.where(works == NO_TIME, NO_TIME, np.rint(np.where(works < 0, 0, works) * run_time))
        own_columns = {**self._own, "run_time": longer.astype(np.int64)}
        return self._with(
            _requests=requests, _operations=operations, _events=events, _own=own_columns, _submit=submit
        )

    def snapshot(self, nodes: Any = None, *, now: float | None = None, **capacity: float) -> Snapshot:
        """Return a start snapshot that it fits: nodes, its pools, nothing that runs.

        Parameters
        ----------
        nodes : int or frame, optional
            A number of equal nodes, or a table of nodes as in `Snapshot.from_frames`; by default those that
            the workload came with.
        now : number, optional
            Seconds; by default the first arrival.
        **capacity
            Of each node, by resource; only beside a number of nodes.

        Returns
        -------
        Snapshot

        Raises
        ------
        InputError
            If nodes, pools or resources are wrong.
        """
        from evenhand.model import Snapshot

        if isinstance(nodes, int) and not isinstance(nodes, bool):
            digits = len(str(nodes))
            nodes = {
                "name": [f"n{i + 1:0{digits}d}" for i in range(nodes)],
                **{f"capacity.{name}": np.full(nodes, amount) for name, amount in capacity.items()},
            }
        else:
            expect(not capacity, "workload", "capacity", capacity, "beside a number of nodes only")
            expect(
                nodes is not None or bool(self._machines), "workload", "nodes", nodes, "a number or a table"
            )
            nodes = self._machines if nodes is None else nodes
        return Snapshot.from_frames(
            resources=self.resources,
            nodes=nodes,
            pools=self._pools or None,
            now=self.begin if now is None else now,
        )

    def joined(self, snapshot: Snapshot) -> Snapshot:
        """Return a snapshot with those pools that it lacks.

        Parameters
        ----------
        snapshot : Snapshot

        Returns
        -------
        Snapshot
            The same one if it lacks none.
        """
        known = {str(name) for name in snapshot.names("pools")}
        names = self._pools.get("name", np.zeros(0, object))
        new = [i for i, name in enumerate(names.tolist()) if str(name) not in known]
        if not new:
            return snapshot
        there = snapshot.to_dict().get("pools", [])
        rows = [
            {key: cell for key, column in self._pools.items() if (cell := _cell(column, i)) is not None}
            for i in new
        ]
        return snapshot.replace(pools=[*there, *map(_nested, rows)])

    def parsed(self, snapshot: Snapshot) -> Parsed:
        """Return its rows with the resources, pools and nodes of a snapshot.

        Parameters
        ----------
        snapshot : Snapshot
            That has its pools; see `joined`.

        Returns
        -------
        Parsed

        Raises
        ------
        InputError
            If a row breaks a rule, or names a pool, a node or a resource that the snapshot lacks.
        """
        from evenhand.model import Snapshot

        data = snapshot.to_dict()
        pools = [{"name": p["name"], **({"parent": p["parent"]} if "parent" in p else {})}
                 for p in data.get("pools", [])]  # fmt: skip
        rows = Snapshot.from_frames(
            resources=data["resources"],
            nodes={"name": snapshot.names("nodes")} if snapshot.node_count else None,
            pools=pools or None,
            operations=self._operations or None,
            requests=self._requests or None,
            timezone=self._cache["zone"],
        )
        place = np.asarray(rows._core.permutation("requests"), np.int64)[: len(self)]
        return Parsed(rows, *(self._own[name][place] for name in OWN.names))

    def _of_rows(self, rows: NDArray[np.int64], until: int | None) -> Workload:
        requests = {name: column[rows] for name, column in self._requests.items()}
        operations = self._operations
        if requests:
            asking = {str(name) for name in requests["operation"].tolist()}
            named = operations["name"].tolist()
            kept = np.array([i for i, name in enumerate(named) if str(name) in asking], np.int64)
            operations = {name: column[kept] for name, column in operations.items()}
        events = self._events
        if events and until is not None:
            before = events["micros"] < until
            events = {name: column[before] for name, column in events.items()}
        own = {name: column[rows] for name, column in self._own.items()}
        return self._with(
            _requests=requests,
            _operations=operations,
            _events=events,
            _own=own,
            _submit=self._submit[rows],
        )

    def _with(self, **changes: Any) -> Workload:
        other = object.__new__(type(self))
        kept = {name: getattr(self, name) for name in self.__slots__}
        other._keep(**{**kept, "_cache": {"zone": self._cache["zone"]}, **changes})
        return other

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), {name: getattr(self, name) for name in self.__slots__})

    def __repr__(self) -> str:
        def counted(n: int, what: str) -> str:
            return f"{n:,} {what}{'' if n == 1 else 's'}"

        parts = [
            counted(len(self), "request"),
            counted(_rows(self._operations), "operation"),
            counted(_rows(self._pools), "pool"),
        ]
        if self._events:
            parts.append(counted(_rows(self._events), "event") + " of nodes")
        return f"Workload({', '.join(parts)}, {self.end - self.begin:,.0f} s)"


_LAST = np.iinfo(np.int64).max


def _restore(cls: type[Workload], kept: dict[str, Any]) -> Workload:
    workload = object.__new__(cls)
    workload._keep(**kept)
    return workload


def _rows(table: Columns) -> int:
    return len(next(iter(table.values()))) if table else 0


def _columns(table: str, frame: Any) -> Columns:
    """Return a frame's columns as arrays: of numbers or instants, or of objects with None for null."""
    if isinstance(frame, Table):
        frame = frame.to_dict()
    if isinstance(frame, list | tuple):
        heads = list(dict.fromkeys(key for row in frame for key in row))
        frame = {key: [row.get(key) for row in frame] for key in heads}
    if isinstance(frame, Mapping):
        found = {str(name): _array(values) for name, values in frame.items()}
    else:
        import narwhals.stable.v2 as nw

        try:
            native = nw.from_native(frame, eager_only=True)
        except TypeError:
            message = f"{table}= takes a frame, a dict of arrays or a list of dicts"
            raise TypeError(f"{message}, not {type(frame).__name__}") from None
        found = {str(series.name): _series(series) for series in native.iter_columns()}
    sizes = {len(column) for column in found.values()}
    if len(sizes) > 1:
        message = f"columns of {table} have {sorted(sizes)} rows"
        raise InputError([Problem(table, None, None, None, "length", None, message)])
    return found


def _array(values: Any) -> NDArray[Any]:
    if isinstance(values, np.ndarray):
        return values
    if isinstance(values, list | tuple | range):
        return _objects(list(values))
    import narwhals.stable.v2 as nw

    return _series(nw.from_native(values, series_only=True))


def _series(series: Any) -> NDArray[Any]:
    dtype = series.dtype
    whole = dtype.is_numeric() and not dtype.is_decimal()
    if whole and not series.is_null().any():
        array: NDArray[Any] = series.to_numpy()
        return array
    absent = series.is_null().to_list()
    cells = series.to_list()
    if dtype.is_integer() or (whole and all(c is None or float(c).is_integer() for c in cells)):
        pass  # pandas makes floats of integers beside absent cells
    return _objects([None if gone else cell for cell, gone in zip(cells, absent, strict=True)])


def _objects(cells: list[Any]) -> NDArray[Any]:
    """Return an array of numbers where all cells are, else of objects."""
    kinds = set(map(type, cells))
    if kinds and (kinds <= {int} or kinds <= {float} or kinds <= {bool}):
        return np.array(cells)
    out = np.empty(len(cells), object)
    for i, cell in enumerate(cells):  # cells may be lists
        out[i] = cell
    return out


def _given(column: NDArray[Any]) -> Any:
    return column if column.dtype.kind in "iufb" else tuple(column.tolist())


def _cell(column: NDArray[Any], row: int) -> Any:
    cell = column[row]
    cell = cell.item() if isinstance(cell, np.generic) else cell
    return None if isinstance(cell, float) and np.isnan(cell) else cell


def _nested(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with inner objects in the place of dotted columns."""
    out: dict[str, Any] = {}
    for key, cell in row.items():
        *outer, last = key.split(".")
        into = out
        for name in outer:
            into = into.setdefault(name, {})
        into[last] = cell
    return out


def _seconds(micros: NDArray[np.int64]) -> Any:
    if (micros != NO_TIME).all():
        return micros / 1e6
    return tuple(None if m == NO_TIME else m / 1e6 for m in micros.tolist())


def _micros(
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


def _flags(column: NDArray[Any] | None, rows: int, report: Report, name: str) -> NDArray[np.bool_]:
    if column is None:
        return np.zeros(rows, np.bool_)
    reporter = report.column("requests", name)
    raw = columns.flag(array_cells(column, None, reporter), reporter)
    return raw[0] & raw[1] if isinstance(raw, tuple) else raw


def _derived(asked: Columns, rows: int) -> tuple[Columns, Columns]:
    """Return requests, and operations made of their columns: one a name, of its first request."""
    if not asked:
        return asked, {}
    name = asked.get("operation", asked["name"])
    first: dict[Any, int] = {}
    for row, key in enumerate(name.tolist()):
        first.setdefault(key, row)
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


def _named_pools(operations: Columns) -> Columns:
    pools = operations.get("pool")
    if pools is None:
        return {}
    names = sorted({name for name in pools.tolist() if name is not None and name != "<Root>"}, key=str)
    return {"name": _objects(list(names))} if names else {}


def _named_resources(asked: Columns) -> dict[str, Any]:
    dotted = [key.partition(".")[2] for key in asked if key.startswith("resources.")]
    inner = asked.get("resources")
    cells = [] if inner is None else [cell for cell in inner.tolist() if isinstance(cell, Mapping)]
    return {name: {} for name in dict.fromkeys([*dotted, *(str(key) for cell in cells for key in cell)])}


def _read_events(events: Columns, zone: tzinfo | None, report: Report) -> Columns:
    """Return events of nodes, checked, in order of time, with microseconds."""
    if not events:
        return {}
    for field in _EVENTS.fields:
        if field.required and field.name not in events:
            report.fail("nodes", field.name, "required", "is missing; every event needs one")
    capacities = tuple(key for key in events if key.startswith("capacity."))
    for key in events:
        if key not in _EVENTS.names and key not in capacities:
            report.add("nodes", None, key[:100], "unknown_field", "is not a known field of events of nodes")
    if report:
        return {}
    rows = _rows(events)
    micros = _micros(events["time"], rows, None, zone, report, "time", instant=True)
    for row, word in enumerate(events["event"].tolist()):
        if word not in NODE_EVENTS:
            rule = f"is {word!r}; it must be one of {', '.join(NODE_EVENTS)}"
            report.add("nodes", row, "event", "choice", rule)
        elif word == "capacity" and not capacities:
            report.add("nodes", row, "event", "required", "needs a column capacity.<resource>")
        if micros[row] == NO_TIME:
            report.add("nodes", row, "time", "required", "is missing")
    order = np.argsort(micros, kind="stable")
    return {name: column[order] for name, column in {**events, "micros": micros}.items()}
