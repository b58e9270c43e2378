"""The state of a plan: from names to the core's rows, and back."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from evenhand.building.readback import NO_TIME
from evenhand.diagnostics import CODES, Diagnostic
from evenhand.model import Snapshot
from evenhand.plans.columns import Name, seconds_of
from evenhand.provenance import digest, of_policy

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from evenhand.state import State
    from evenhand.systems.record import Column

__all__ = ["LiveRows", "fingerprint", "mark", "next_state", "nothing", "read_memory"]

#: What plans leave in a state, beside pools, which updates of fair shares leave.
MEMORY = ("elements", "nodes", "operations", "victims", "requests", "queues")

#: Tables whose rows are pools, the root first, then operations.
_OF_ELEMENTS = ("elements", "victims")
_ELEMENTS_LEFT = ("state_element_left", "pools and operations")


def fingerprint(policy: Any) -> str:
    """Return a digest of a policy's settings, but for those that say when it plans."""
    timing = policy.setting("TIMING", ())
    settings = {k: v for k, v in policy.to_dict().items() if k not in timing}
    if (pace := policy.setting("pace")) is not None and pace.is_off:
        settings.pop("pace", None)  # as before there was any
    return digest(json.dumps(settings, sort_keys=True, default=str))


def mark(policy: Any) -> str:
    """Return what a state says of the policy that left it: its system and the digest of its settings."""
    return _marked(policy, fingerprint(policy))


def _marked(policy: Any, settings: str) -> str:
    return f"{policy.RECORD.word}/{settings}"


def read_memory(
    snapshot: Snapshot, policy: Any, state: State | None
) -> tuple[dict[str, Any], tuple[Diagnostic, ...]]:
    """Return what a state remembers by the snapshot's rows, as the core takes it."""
    if state is not None:
        state.check_clock(snapshot.now)
    columns: dict[str, Any] = {}
    found: list[Diagnostic] = []
    for table, declared in _by_table(policy):
        count = _count(snapshot, table)
        once = [column for column in declared if column.kind not in ("instants", "rows")]
        listed = [column for column in declared if column.kind == "rows"]
        for column in once:
            dtype = np.uint8 if column.kind == "word" else np.int64
            columns[column.name] = np.full(count, nothing(column), dtype)
        remembered = {} if state is None else getattr(state, table)
        row_of = {key: row for row, key in enumerate(_keys(snapshot, table))} if remembered else {}
        left: list[Any] = []
        instants: dict[str, list[tuple[int, int]]] = {
            column.name: [] for column in declared if column.kind == "instants"
        }
        for key, kept in remembered.items():
            row = row_of.get(key)
            if row is None:
                left.append(key[1] if isinstance(key, tuple) else key)
                continue
            for column in once:
                columns[column.name][row] = _code(column, kept.get(column.name))
            for name, found_there in instants.items():
                found_there += [(row, round(instant * 1e6)) for instant in kept.get(name) or ()]
        for column in listed:
            pairs = [
                (other, row_of[key])
                for key, kept in remembered.items()
                for other in (kept.get(column.name) or ())
                if key in row_of
            ]
            columns[column.name] = [other for other, _ in pairs]  # names: they may come again
            columns[f"{column.name}_of"] = np.array([row for _, row in pairs], np.int32)
        for pairs in instants.values():
            if pairs:
                columns[f"{table}_element"] = np.array([row for row, _ in pairs], np.int32)
                columns[f"{table}_time"] = np.array([time for _, time in pairs], np.int64)
        found += _left(table, left)
    return columns, (*found, *([] if state is None else _changed(policy, state)))


def _by_table(policy: Any) -> list[tuple[str, list[Column]]]:
    """Return the columns that a policy's system declares, table by table."""
    declared: dict[str, list[Column]] = {}
    for column in policy.RECORD.memory:
        declared.setdefault(column.table, []).append(column)
    return list(declared.items())


def _count(snapshot: Snapshot, table: str) -> int:
    if table == "nodes":
        return snapshot.node_count
    if table == "requests":
        return len(snapshot.names(table))
    if table == "queues":
        return snapshot.pool_count
    return snapshot.operation_count + (snapshot.pool_count if table in _OF_ELEMENTS else 0)


def _in_order(snapshot: Snapshot | LiveRows, table: str, rows: Sequence[int]) -> list[int]:
    """Return those of some ascending rows that are there, in canonical order."""
    if isinstance(snapshot, Snapshot) or table == "queues":
        return list(rows)
    if table not in _OF_ELEMENTS:
        return snapshot.in_order(table, rows)
    pools = snapshot.base.pool_count
    later = snapshot.in_order("operations", [row - pools for row in rows if row >= pools])
    return [row for row in rows if row < pools] + [pools + row for row in later]


def _keys(snapshot: Snapshot | LiveRows, table: str, rows: Sequence[int] | None = None) -> list[Any]:
    """Return what rows of a table are called in a state; by default all of them."""
    if not isinstance(snapshot, Snapshot):
        return _live_keys(snapshot, table, rows or ())
    rows = range(_count(snapshot, table)) if rows is None else rows
    if table not in _OF_ELEMENTS:
        names = snapshot.names("pools" if table == "queues" else table)
        return [names[row] for row in rows]
    names, pools = snapshot.element_names, snapshot.pool_count
    return [("pool" if row < pools else "operation", names[row]) for row in rows]


def _live_keys(live: LiveRows, table: str, rows: Sequence[int]) -> list[Any]:
    if table == "queues":
        return [live.base.names("pools")[row] for row in rows]
    if table not in _OF_ELEMENTS:
        return [live.name(table, row) for row in rows]
    pools = live.base.pool_count
    return [
        ("pool", live.base.element_names[row])
        if row < pools
        else ("operation", live.name("operations", row - pools))
        for row in rows
    ]


def _code(column: Column, value: Any) -> int:
    if column.kind == "word":
        return 0 if value is None else column.words.index(value)
    if column.kind == "count":
        return int(value or 0)
    return NO_TIME if value is None else round(value * 1e6)


def nothing(column: Column) -> int:
    """Return what the core has of a row that remembers nothing."""
    return NO_TIME if column.kind == "instant" else 0


def _changed(policy: Any, state: State) -> list[Diagnostic]:
    """Return what there is to say of a state that other settings or another system have left."""
    word, _, digest = state.policy.rpartition("/")
    own = policy.RECORD.word
    declared = {column.table for column in policy.RECORD.memory}
    strange = [table for table in MEMORY if getattr(state, table) and table not in declared]
    if (word or own) != own or (not word and strange):
        code = "state_of_another_system"
        said = f"Its plans were of {word}" if word else f"It has {', '.join(strange)}"
        message = f"{CODES[code]} {said}; this one is of {own}."
        return [Diagnostic(code, (), message, {"system": word or None, "tables": strange})]
    if not digest or digest == fingerprint(policy):
        return []
    return [Diagnostic("state_settings_changed", (), CODES["state_settings_changed"])]


def _left(table: str, names: Sequence[Name]) -> list[Diagnostic]:
    if not names:
        return []
    if table == "requests":
        return []  # asks go when they have been served
    code, what = ("state_node_left", "nodes") if table == "nodes" else _ELEMENTS_LEFT
    shown = ", ".join(map(str, names[:5])) + (", ..." if len(names) > 5 else "")
    message = f"{len(names)} {what} of the state have left and are dropped: {shown}"
    return [Diagnostic(code, tuple(names), message, {"count": len(names)})]


class LiveRows(Protocol):
    """Rows of a live cluster, by numbers that columns of its planners have."""

    base: Snapshot
    core: Any
    total_stated: bool

    def in_order(self, table: str, rows: Sequence[int]) -> list[int]:
        """Return those of some rows that are there, in canonical order."""

    def name(self, table: str, row: int) -> Name:
        """Return the name of a row."""

    def settings_by_row(self, rows: Iterable[tuple[str, Any]]) -> dict[str, dict[int, Mapping[str, Any]]]:
        """Return by table and row the settings of rows by name, as far as they are there."""

    def freeze(self) -> Snapshot:
        """Return a snapshot of the rows as they are; O(cells)."""


def next_state(
    snapshot: Snapshot | LiveRows, policy: Any, before: State, memory: Mapping[str, NDArray[Any]]
) -> State:
    """Return what the next plan starts from."""
    tables: dict[str, Any] = {}
    for table, declared in _by_table(policy):
        if declared[0].kind == "instants":
            tables[table] = _many(snapshot, declared[0], memory)
            continue
        listed = [column for column in declared if column.kind == "rows"]
        single = [column for column in declared if column.kind != "rows"]
        columns = [np.asarray(memory[column.name]) for column in single]
        empty = [nothing(column) for column in single]
        known = np.any([values != none for values, none in zip(columns, empty, strict=True)], axis=0)
        kept = _in_order(snapshot, table, np.flatnonzero(known).tolist())
        cells = [
            [column.words[code] for code in values[kept].tolist()]
            if column.kind == "word"
            else values[kept].tolist()
            if column.kind == "count"
            else seconds_of(values[kept])
            for column, values in zip(single, columns, strict=True)
        ]
        names = [column.name for column in single]
        rows = [dict(zip(names, values, strict=True)) for values in zip(*cells, strict=True)]
        keys = _keys(snapshot, table, kept)
        tables[table] = dict(zip(keys, rows, strict=True))
        for column in listed:
            _list_rows(snapshot, column, memory, tables[table])
    settings = fingerprint(policy)
    made = of_policy(policy, settings)
    return replace(before, policy=_marked(policy, settings), provenance=made, **tables)


def _list_rows(
    snapshot: Snapshot | LiveRows, column: Column, memory: Mapping[str, NDArray[Any]], rows: dict[Any, Any]
) -> None:
    """Write lists of names into rows by key; a row without one has an empty list."""
    owners = np.asarray(memory[f"{column.name}_of"]).tolist()
    for row in rows.values():
        row[column.name] = []
    there = _in_order(snapshot, column.table, sorted({*owners}))
    key_of = dict(zip(there, _keys(snapshot, column.table, there), strict=True))
    for other, owner in zip(memory[column.name], owners, strict=True):
        if (key := key_of.get(owner)) in rows:
            rows[key][column.name].append(other)


def _many(
    snapshot: Snapshot | LiveRows, column: Column, memory: Mapping[str, NDArray[Any]]
) -> dict[Any, dict[str, Any]]:
    """Return the instants of a column that has any number of them, by row."""
    if f"{column.table}_element" not in memory:
        return {}
    times = seconds_of(memory[f"{column.table}_time"])
    of: dict[int, list[Any]] = {}
    for row, time in zip(memory[f"{column.table}_element"].tolist(), times, strict=True):
        of.setdefault(row, []).append(time)
    rows = _in_order(snapshot, column.table, sorted(of))
    keys = _keys(snapshot, column.table, rows)
    return {key: {column.name: of[row]} for key, row in zip(keys, rows, strict=True)}
