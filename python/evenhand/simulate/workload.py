"""A workload: rows in a snapshot's own vocabulary, and when each comes and how long it works."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import tzinfo
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from evenhand.accepted import FLAG, count_of, instant_from, kind_of_annotation, plain, scale_of, taken
from evenhand.arguments import expect, expect_snapshot
from evenhand.building.problems import Report
from evenhand.building.sources import check_options
from evenhand.building.times import time_zone
from evenhand.frozen import Frozen
from evenhand.simulate.given import (
    NODE_EVENTS,
    Columns,
    columns_of,
    derived,
    equal_nodes,
    given,
    micros_of,
    named_pools,
    named_resources,
    nested,
    one_cell,
    own_columns,
    read_events,
    refuse_unknown,
    rows_of,
    seconds_of,
)
from evenhand.simulate.parsed import OWN, Parsed
from evenhand.simulate.scaling import arrivals, durations, works
from evenhand.table import Table, Tabular

if TYPE_CHECKING:
    from datetime import timedelta

    from numpy.typing import NDArray

    from evenhand.model import Snapshot

__all__ = ["NODE_EVENTS", "Workload"]

_OBJECT, _ZONE = kind_of_annotation("Mapping[Any, Any] | None"), kind_of_annotation("str | tzinfo | None")
_OWN = frozenset(OWN.names)


class Workload(Frozen, Tabular):
    """What arrives at a cluster, and what happens to its nodes.

    Parameters
    ----------
    requests : frame, dict of arrays or list of dicts
        One row a request, as in a snapshot (``name, resources.<r>, count, submit_time, duration, priority,
        gang, ...``), and what only a workload has: ``run_time`` (of each of its count; null: for ever),
        ``checkpoint_every`` (null: progress is lost), ``cut_off`` (the trace ended before it did),
        ``replica`` (it comes back when it is lost) and ``whole`` (when one of its count is interrupted, all
        are, and lose their work but what is saved; systems that preempt whole operations do that anyway).
        ``operation``: by default one of the same name.
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
    rounding : {None, "nearest"}
        As in `Snapshot.from_frames`: what becomes of amounts that are no multiple of their quantum.
    machines : frame, optional
        Nodes as they were when it began: what `snapshot` takes by default.
    notes : mapping, optional
        What its source says of it, and how many rows were left out or changed, and why.
    recorded : Table, optional
        What became of it where it was recorded.
    whole : bool
        Whether requests for several allocations are of use only as a whole, where their column ``whole`` does
        not say it.

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
    {'cpu': 16.0}
    """

    __slots__ = (
        *("_cache", "_events", "_machines", "_operations", "_own", "_pools", "_requests", "_rounding"),
        "_submit",
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
    _rounding: Literal["nearest"] | None
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
        rounding: Literal["nearest"] | None = None,
        machines: Any = None,
        notes: Mapping[str, Any] | None = None,
        recorded: Table | None = None,
        whole: bool = False,
    ) -> None:
        check_options(None, rounding)
        report = Report()
        taken("workload", "resources", resources, _OBJECT)
        taken("workload", "notes", notes, _OBJECT)
        expect(recorded is None or isinstance(recorded, Table), "workload", "recorded", recorded, "a Table")
        zone = taken("workload", "timezone", timezone, _ZONE)
        zone = time_zone(zone) if isinstance(zone, str) else zone
        expect(timezone is None or zone is not None, "workload", "timezone", timezone, "a time zone's name")
        asked = columns_of("requests", requests)
        rows = rows_of(asked)
        if "name" not in asked and rows:
            report.fail("requests", "name", "required", "is missing; the table needs a column of names")
            raise report.error()
        own = {name: asked.pop(name) for name in list(asked) if name in _OWN}
        if taken("workload", "whole", whole, FLAG):
            own.setdefault("whole", np.ones(rows, np.bool_))
        found = own_columns(own, rows, zone, report)
        submit = micros_of(asked.get("submit_time"), rows, 0, zone, report, "submit_time", instant=True)
        if operations is None:
            asked, of_operations = derived(asked, rows)
        else:
            of_operations = columns_of("operations", operations)
            asked.setdefault("operation", asked.get("name", np.zeros(0, object)))
        events = {} if nodes is None else columns_of("nodes", nodes)
        self._keep(
            _requests=asked,
            _operations=of_operations,
            _pools=named_pools(of_operations) if pools is None else columns_of("pools", pools),
            _events=read_events(events, zone, report),
            _machines={} if machines is None else columns_of("nodes", machines),
            _own=found,
            _submit=submit,
            _cache={"zone": zone},
            _rounding=rounding,
            resources=dict(named_resources(asked) if resources is None else resources),
            notes=dict(notes or {}),
            recorded=recorded,
        )
        if report:
            raise report.error()

    def __len__(self) -> int:
        return rows_of(self._requests)

    @property
    def _zone(self) -> tzinfo | None:
        """The time zone of instants that have none."""
        zone: tzinfo | None = self._cache["zone"]
        return zone

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
            "run_time": seconds_of(self._own["run_time"]),
            "checkpoint_every": seconds_of(self._own["checkpoint_every"]),
            "cut_off": self._own["cut_off"],
            "replica": self._own["replica"],
            "whole": self._own["whole"],
        }
        return Table({**{name: given(column) for name, column in self._requests.items()}, **own})

    def operations(self) -> Table:
        """Return the operations."""
        return Table({name: given(column) for name, column in self._operations.items()})

    def pools(self) -> Table:
        """Return the pools that it brings."""
        return Table({name: given(column) for name, column in self._pools.items()})

    def node_events(self) -> Table:
        """Return what happens to nodes."""
        return Table({name: given(column) for name, column in self._events.items() if name != "micros"})

    def slice(self, begin: float | str | timedelta, end: float | str | timedelta) -> Workload:
        """Return what comes within a span of time.

        Parameters
        ----------
        begin, end : number, str or timedelta
            Instants in seconds, or text such as ``"10d"``: so long after the first arrival. The end is not in
            it.

        Returns
        -------
        Workload
            Its requests and their operations; events of nodes before the end.

        Raises
        ------
        InputError
            If one is no instant.
        """
        first, last = (
            round(instant_from("workload", name, value, self.begin, zone=self._zone) * 1e6)
            for name, value in (("begin", begin), ("end", end))
        )
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
        n = count_of("workload", "n", n, 0, 2**62)
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
        interval = scale_of("workload", "interval", interval)
        run_time = scale_of("workload", "run_time", run_time)
        first = int(self._submit.min(initial=_LAST)) if len(self) else 0

        submit = arrivals(self._submit, first, interval)
        requests = {**self._requests, "submit_time": submit / 1e6}
        operations = dict(self._operations)
        if "duration" in requests:
            requests["duration"] = durations(requests["duration"], run_time)
        if "start_time" in operations:  # of the derived ones; others say their own
            places = {name: i for i, name in enumerate(requests["name"].tolist())}
            own = [places.get(name, -1) for name in operations["name"].tolist()]
            if -1 not in own:
                operations["start_time"] = submit[np.array(own, np.int64)] / 1e6
        events = dict(self._events)
        if events:
            events["micros"] = arrivals(events["micros"], first, interval)
            events["time"] = events["micros"] / 1e6
        own_columns = {**self._own, "run_time": works(self._own["run_time"], run_time)}
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

        nodes = plain(nodes)
        if isinstance(nodes, int) and not isinstance(nodes, bool):
            nodes = equal_nodes(nodes, capacity)
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
            now=self.begin
            if now is None
            else instant_from("workload", "now", now, self.begin, zone=self._zone),
            rounding=self._rounding,
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
        expect_snapshot("workload", snapshot)
        known = {str(name) for name in snapshot.names("pools")}
        names = self._pools.get("name", np.zeros(0, object))
        new = [i for i, name in enumerate(names.tolist()) if str(name) not in known]
        if not new:
            return snapshot
        there = snapshot.to_dict().get("pools", [])
        rows = [
            {key: cell for key, column in self._pools.items() if (cell := one_cell(column, i)) is not None}
            for i in new
        ]
        return snapshot.replace(pools=[*there, *map(nested, rows)])

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
        nodes = snapshot.names("nodes")
        # Snapshots of a sweep differ in cells, not in what rows refer to.
        key = repr((data["resources"], pools, nodes))
        kept: Mapping[str, Any] = self._cache.get("parsed", {})
        if key in kept:
            of_before: Parsed = kept[key]
            return of_before
        refuse_unknown(self._requests, OWN.names)
        rows = Snapshot.from_frames(
            resources=data["resources"],
            nodes={"name": nodes} if nodes else None,
            pools=pools or None,
            operations=self._operations or None,
            requests=self._requests or None,
            timezone=self._zone,
            rounding=self._rounding,
        )
        place = np.asarray(rows._core.permutation("requests"), np.int64)[: len(self)]
        found = Parsed(rows, *(self._own[name][place] for name in OWN.names))
        self._cache["parsed"] = {key: found}
        return found

    @property
    def fingerprint(self) -> str:
        """Hexadecimal digest of all that comes, in this order of rows."""
        if "fingerprint" not in self._cache:
            digest = hashlib.blake2b(repr(sorted(self.resources.items())).encode(), digest_size=16)
            for table in (self._requests, self._operations, self._pools, self._events, self._own):
                for name, column in table.items():
                    cells = repr(column.tolist()) if column.dtype.kind == "O" else column.tobytes().hex()
                    digest.update(f"{name}:{column.dtype.str}:{cells};".encode())
                digest.update(b"|")
            digest.update(f"{self._submit.tolist()}{self._cache['zone']}{self._rounding or ''}".encode())
            self._cache["fingerprint"] = digest.hexdigest()
        return str(self._cache["fingerprint"])

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
        kept = {name: getattr(self, name) for name in self.__slots__}
        return _restore, (type(self), {**kept, "_cache": {"zone": self._cache["zone"]}})

    def __repr__(self) -> str:
        def counted(n: int, what: str) -> str:
            return f"{n:,} {what}{'' if n == 1 else 's'}"

        parts = [
            counted(len(self), "request"),
            counted(rows_of(self._operations), "operation"),
            counted(rows_of(self._pools), "pool"),
        ]
        if self._events:
            parts.append(counted(rows_of(self._events), "event") + " of nodes")
        return f"Workload({', '.join(parts)}, {self.end - self.begin:,.0f} s)"


_LAST = np.iinfo(np.int64).max


def _restore(cls: type[Workload], kept: dict[str, Any]) -> Workload:
    workload = object.__new__(cls)
    workload._keep(**kept)
    return workload
