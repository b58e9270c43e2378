"""The rows of one snapshot as they change, and the way back to a snapshot by columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from evenhand import _core
from evenhand.building.changed import drop_rows, joined, parts, set_labels
from evenhand.building.readback import NO_TIME, derived_total, matrix, read_back
from evenhand.cluster.rows import few_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from evenhand.building.parse import Raw
    from evenhand.model import Snapshot

__all__ = ["ENDED", "Stage"]

ENDED = 255
_CHANGING = ("slots", "started", "leaving", "taken", "held", "resumed", "withdrawn", "asked", "sums")
_ABSENT = object()


class Stage:
    """A snapshot and what has changed since: sums in the core, names and texts here, all of it undoable.

    Parameters
    ----------
    base : Snapshot
    total_stated : bool, optional
        Whether the total is stated, or follows the nodes; by default what the snapshot says.

    Attributes
    ----------
    core : _core.ClusterState
    slots : dict
        Name (as text) of every allocation that has not ended to its slot.
    started : dict
        Slot to the row that it started with.
    leaving : dict
        Slot to (deadline in microseconds, labels of operation and request).
    taken : dict
        Slot to what its beneficiary has of its room; None: that is over.
    held : dict
        Slot to the quanta that it keeps, or will keep, as a suspended victim.
    resumed : dict
        Slot to (row of the node, microseconds) where and since when it runs again.
    withdrawn : dict
        Rows of the snapshot's requests that have gone.
    asked : dict
        Name (as text) of every new request to (its row, its quanta).
    sums : dict
        What may not pass the largest amount, exact.
    """

    def __init__(self, base: Snapshot, total_stated: bool | None = None) -> None:
        core = base._core
        self.base = base
        self.core = _core.ClusterState(core)
        if total_stated is None:
            total_stated = not np.array_equal(core.total, derived_total(core))
        self.total_stated = total_stated
        self.slots: dict[str, int] = {str(n): i for i, n in enumerate(base.names("allocations"))}
        self.requests: dict[str, int] = {str(n): i for i, n in enumerate(base.names("requests"))}
        self.rows = {
            table: {str(name): row for row, name in enumerate(base.names(table))}
            for table in ("operations", "nodes", "pools")
        }
        self.started: dict[int, dict[str, Any]] = {}
        self.leaving: dict[int, tuple[int, str | None, str | None]] = {}
        self.taken: dict[int, dict[str, Any] | None] = {}
        self.held: dict[int, tuple[int, ...]] = {}
        self.resumed: dict[int, tuple[int, int]] = {}
        self.withdrawn: dict[int, bool] = {}
        self.asked: dict[str, tuple[dict[str, Any], tuple[int, ...]]] = {}
        self.sums: dict[str, Any] = {"changed": False, **_sums(core)}
        self.stated = _stated(core)
        self._journal: list[tuple[dict[Any, Any], Any, Any]] = []

    def copy(self) -> Self:
        """Return the same rows, to be changed on their own; nothing of before can be undone there."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        for name in _CHANGING:
            setattr(other, name, dict(getattr(self, name)))
        other.core = self.core.copy()
        other.core.forget()
        other._journal = []
        return other

    # --- what can be undone

    def put(self, to: dict[Any, Any], key: Any, value: Any) -> None:
        """Set an entry of one of the dicts."""
        self._journal.append((to, key, to.get(key, _ABSENT)))
        to[key] = value

    def drop(self, of: dict[Any, Any], key: Any) -> None:
        """Drop an entry of one of the dicts, if it is there."""
        if key in of:
            self._journal.append((of, key, of.pop(key)))

    def mark(self) -> tuple[int, int]:
        """Return where the journals stand."""
        return self.core.mark(), len(self._journal)

    def undo(self, mark: tuple[int, int]) -> None:
        """Go back to a mark."""
        self.core.undo(mark[0])
        while len(self._journal) > mark[1]:
            of, key, before = self._journal.pop()
            if before is _ABSENT:
                del of[key]
            else:
                of[key] = before

    def forget(self) -> None:
        """Drop the journals."""
        self.core.forget()
        self._journal.clear()

    # --- reading

    def column(self, table: str, field: str, row: int) -> Any:
        """Return a cell of the snapshot, in quanta or microseconds."""
        return self.base._core.column(table, field)[row]

    def operation_of(self, slot: int) -> Any:
        """Return the name of an allocation's operation."""
        if slot in self.started:
            return self.started[slot]["operation"]
        return self.base.names("operations")[int(self.column("allocations", "operation", slot))]

    def held_of(self, slot: int) -> tuple[int, ...]:
        """Return what the row of an allocation says that it keeps once it is suspended, in quanta."""
        if slot in self.held:
            return self.held[slot]
        held = self.base._core.column("allocations", "held")
        if slot < len(held):
            return tuple(held[slot].tolist())
        return (0,) * len(self.base.resources)

    def request_row(self, name: Any) -> int | None:
        """Return the row of a request that the snapshot has and that has not been withdrawn."""
        row = self.requests.get(str(name))
        return None if row in self.withdrawn else row

    # --- the way back

    def freeze(self) -> Snapshot:
        """Return a snapshot of the rows as they are; O(cells), by columns."""
        if not self.sums["changed"]:
            return self.base
        from evenhand.building.problems import Report

        raw = read_back(self.base)
        raw.head["now"] = self.core.now
        raw.head["total"] = self._total()
        self._freeze_nodes(raw)
        self._freeze_allocations(raw)
        self._freeze_requests(raw)
        return self.base._build(raw, Report())

    @property
    def _quantum(self) -> NDArray[np.float64]:
        return np.asarray(self.base._head["quantum"])

    def _total(self) -> Any:
        if not self.total_stated:
            return None
        total = np.asarray(self.base._core.total)[None, :]
        return matrix(total, self._quantum)[0], np.ones(total.shape[1], np.bool_)

    def _freeze_nodes(self, raw: Raw) -> None:
        if self.base.node_count:
            capacity = self.core.capacity()
            raw.tables["nodes"]["capacity"] = (matrix(capacity, self._quantum), capacity != 0)
            raw.tables["nodes"]["schedulable"] = self.core.schedulable().astype(np.bool_)

    def _freeze_allocations(self, raw: Raw) -> None:
        phases = self.core.phases()
        alive = np.flatnonzero(phases != ENDED)
        old = self.base.allocation_count
        if old:
            drop_rows(raw, "allocations", phases[:old] != ENDED)
        new = [self.started[slot] for slot in alive[alive >= old].tolist()]
        if new:
            # Rows come back in the order of their names.
            text_slot = {str(self.started[slot]["name"]): slot for slot in alive[alive >= old].tolist()}
            names = _append(self, raw, "allocations", new)
            ordered = [text_slot[str(name)] for name in names]
            alive = np.concatenate([alive[alive < old], np.array(ordered, np.int64)])
        if len(alive) == 0:
            return
        table, count = raw.tables["allocations"], len(alive)
        table["state"] = phases[alive]
        row_of = {slot: row for row, slot in enumerate(alive.tolist())}
        self._freeze_resumed(table, row_of, count)
        amounts = self.core.amounts()[alive]
        table["resources"] = (matrix(amounts, self._quantum), amounts != 0)
        started, given = parts(table.get("start_time"), count, np.int64)
        last = self.core.last_start()[alive]
        table["last_job_start_time"] = (last, last != np.where(given, started, 0))
        saved = self.core.last_progress()[alive]
        table["last_progress_time"] = (saved, saved != NO_TIME)
        self._freeze_held(table, row_of, count)
        self._freeze_leaving(raw, row_of)

    def _freeze_resumed(self, table: dict[str, Any], row_of: Mapping[int, int], count: int) -> None:
        if not self.resumed:
            return
        started, given = parts(table.get("start_time"), count, np.int64)
        node = np.array(table.get("node_index", np.full(count, -1)), np.int64)
        for slot, (where, since) in self.resumed.items():
            started[row_of[slot]], given[row_of[slot]] = since, True
            node[row_of[slot]] = where
        table["start_time"], table["node_index"] = (started, given), node

    def _freeze_held(self, table: dict[str, Any], row_of: Mapping[int, int], count: int) -> None:
        if not self.held:
            return
        held, given = parts(table.get("held"), count, np.float64, len(self.base.resources))
        held = held.astype(np.float64)
        rows = [row_of[slot] for slot in self.held]
        quanta = np.array(list(self.held.values()), np.int64)
        held[rows], given[rows] = matrix(quanta, self._quantum), quanta != 0
        table["held"] = (held, given)

    def _freeze_leaving(self, raw: Raw, row_of: Mapping[int, int]) -> None:
        settings = dict(raw.settings.get("allocations", {}))
        for slot, taken in self.taken.items():
            row = row_of[slot]
            of_row = {name: value for name, value in settings.pop(row, {}).items() if name != "room_taken"}
            if taken is not None:
                of_row["room_taken"] = taken
            if of_row:
                settings[row] = of_row
        raw.settings.pop("allocations", None)
        if settings:
            raw.settings["allocations"] = settings
        told = {row_of[slot]: told for slot, told in self.leaving.items() if slot in row_of}
        if not told:
            return
        table, count = raw.tables["allocations"], len(row_of)
        deadline, given = parts(table.get("deadline"), count, np.int64)
        for row, (until, _, _) in told.items():
            deadline[row], given[row] = until, until != NO_TIME
        table["deadline"] = (deadline, given)
        set_labels(table, "beneficiary.operation", count, {row: t[1] for row, t in told.items()})
        set_labels(table, "beneficiary.request", count, {row: t[2] for row, t in told.items()})

    def _freeze_requests(self, raw: Raw) -> None:
        if self.base.request_count:
            raw.tables["requests"]["count"] = np.array(self.core.pending(), np.int64)
            stays = np.ones(self.base.request_count, np.bool_)
            stays[list(self.withdrawn)] = False
            drop_rows(raw, "requests", stays)
        if self.asked:
            _append(self, raw, "requests", [row for row, _ in self.asked.values()])


def _append(stage: Stage, raw: Raw, table: str, rows: list[dict[str, Any]]) -> list[Any]:
    """Append rows to a table; return their names in the order in which they stand there."""
    more = read_back(few_rows(stage, {table: rows})[0])
    columns = more.tables[table]
    for target, field in (("operations", "operation"), ("nodes", "node"), ("nodes", "required_node")):
        column = f"{field}_index"
        if column in columns:
            known = stage.rows[target]
            new = np.array([known[str(name)] for name in more.tables[target]["name"]] + [-1], np.int64)
            columns[column] = new[columns[column]]
    old, count = raw.rows.get(table, 0), len(rows)
    raw.tables[table] = joined(raw.tables.get(table, {}), columns, (old, count))
    raw.rows[table] = old + count
    if table in more.settings:
        settings = raw.settings[table] = dict(raw.settings.get(table, {}))
        settings.update({old + row: of_row for row, of_row in more.settings[table].items()})
    return list(columns["name"])


def _stated(core: _core.Snapshot) -> NDArray[np.bool_]:
    """Tell which operations state usage or demand that no row stands for."""
    itemised = np.zeros(core.operation_count, np.bool_)
    for table in ("allocations", "requests"):
        itemised[np.asarray(core.column(table, "operation"))] = True
    says = np.zeros(core.operation_count, np.bool_)
    for field in ("usage", "demand"):
        says |= (np.asarray(core.column("operations", field)) != 0).any(axis=1)
    return says & ~itemised


def _sums(core: _core.Snapshot) -> dict[str, tuple[int, ...]]:
    """Return the sums that may not pass the largest amount."""

    def total(amounts: Any) -> NDArray[np.int64]:
        return np.asarray(amounts).reshape(-1, core.resource_count).sum(axis=0, dtype=np.int64)

    pending = np.asarray(core.column("requests", "resources")) * np.asarray(
        core.column("requests", "count")
    ).reshape(-1, 1)
    stated = np.asarray(core.column("operations", "demand"))[_stated(core)]
    wanted = total(core.column("allocations", "resources")) + total(pending) + total(stated)
    return {
        "wanted": tuple(wanted.tolist()),
        "capacity": tuple(total(core.column("nodes", "capacity")).tolist()),
    }
