"""What a snapshot says that a system takes as it is, and that can hardly be meant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.diagnostics import CODES, Diagnostic
from evenhand.units.text import CLOCK, amounts_of, instant

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.model import Snapshot

__all__ = [
    "OF_SHARES",
    "finding",
    "given",
    "in_part",
    "of_gangs",
    "of_guarantees",
    "of_requests",
    "of_snapshot",
    "over",
]

#: Codes that diagnostics of shares have beside those of the update itself.
OF_SHARES = frozenset({"gang_in_part", "guarantee_above_pool"})

_RUNNING, _PREEMPTING, _SUSPENDED, _PREEMPTED = range(4)
_SHOWN = 5


def finding(
    code: str, said: str, names: Sequence[Any], numbers: Mapping[str, Any] | None = None
) -> Diagnostic:
    """Return a diagnostic that names the first rows and counts all of them."""
    some = ", ".join(map(str, names[:_SHOWN])) + (", ..." if len(names) > _SHOWN else "")
    message = f"{CODES[code]} {said}: {some}."
    return Diagnostic(code, tuple(names), message, {"count": len(names), **(numbers or {})})


def of_snapshot(snapshot: Snapshot) -> tuple[Diagnostic, ...]:
    """Return what can hardly be meant of times, requests and nodes, whatever the system."""
    return (*_of_times(snapshot), *of_requests(snapshot), *_of_nodes(snapshot))


def _of_times(snapshot: Snapshot) -> list[Diagnostic]:
    now, found = snapshot.now, []
    if now >= CLOCK[1]:
        message = f"{CODES['now_in_milliseconds']} It is {now:,.0f}."
        found.append(Diagnostic("now_in_milliseconds", (), message, {"now": now}))
    starts = np.asarray(snapshot._core.column("allocations", "start_time"))
    later = np.flatnonzero(starts > round(now * 1e6))
    if len(later):
        names = snapshot.names("allocations")
        latest = float(starts[later].max()) / 1e6
        said = f"Now is {instant(now, now)}, the latest start is {instant(latest, now)}"
        thousandth = int((starts[later] <= now * 1e9).sum())
        if thousandth:
            said += f"; read as milliseconds, {thousandth:,} of them started before"
        numbers = {"now": now, "latest": latest, "if_milliseconds": thousandth}
        found.append(finding("start_time_after_now", said, [names[row] for row in later.tolist()], numbers))
    return found


def of_requests(snapshot: Snapshot) -> list[Diagnostic]:
    """Return a diagnostic if requests ask for nothing."""
    asked = _amounts(snapshot, "requests", "resources")
    empty = np.flatnonzero(~asked.any(axis=1)).tolist()
    names = snapshot.names("requests")
    return [finding("request_without_resources", "Requests", [names[r] for r in empty])] if empty else []


def _of_nodes(snapshot: Snapshot) -> list[Diagnostic]:
    core = snapshot._core
    capacity = _amounts(snapshot, "nodes", "capacity")
    state, node = (
        np.asarray(core.column("allocations", "state")),
        np.asarray(core.column("allocations", "node")),
    )
    used = np.zeros_like(capacity)
    whole = ((state == _RUNNING) | (state == _SUSPENDED)) & (node >= 0)
    np.add.at(used, node[whole], _amounts(snapshot, "allocations", "resources")[whole])
    kept = (state == _PREEMPTED) & (node >= 0)
    if kept.any():
        np.add.at(used, node[kept], _amounts(snapshot, "allocations", "held")[kept])
    here = [scope == 0 for scope in np.asarray(snapshot._head["scope"]).tolist()]
    rows = np.flatnonzero(((used > capacity) & np.array(here, np.bool_)).any(axis=1)).tolist()
    if not rows:
        return []
    names = snapshot.names("nodes")
    first = rows[0]
    said = f"On {names[first]} {over(snapshot, used[first], capacity[first])}; nodes"
    return [finding("node_overfull", said, [names[row] for row in rows])]


def of_guarantees(snapshot: Snapshot) -> tuple[Diagnostic, ...]:
    """Return a diagnostic if pools are guaranteed more than the pool that they are in."""
    amounts = _amounts(snapshot, "pools", "strong_guarantee")
    if not amounts.any():
        return ()
    parent = np.asarray(snapshot._core.column("pools", "parent"))
    below = np.zeros_like(amounts)
    np.add.at(below, parent[1:], amounts[1:])
    named = given(snapshot, "strong_guarantee")
    named |= ~named.any(axis=1, keepdims=True)
    more = (below > amounts) & named
    more[0] = False
    rows = np.flatnonzero(more.any(axis=1)).tolist()
    if not rows:
        return ()
    names = snapshot.names("pools")
    first = rows[0]
    which = np.where(more[first], below[first], 0)
    said = f"Those in {names[first]} add up to {over(snapshot, which, amounts[first])}; pools above"
    return (finding("guarantee_above_pool", said, [names[row] for row in rows]),)


def of_gangs(snapshot: Snapshot) -> tuple[Diagnostic, ...]:
    """Return a diagnostic if gangs run in part."""
    runs = np.asarray(snapshot._core.column("allocations", "state")) == _RUNNING
    asked = np.asarray(snapshot._core.column("requests", "count"), np.int64)
    return in_part(
        snapshot, _by_operation(snapshot, "allocations", runs), _by_operation(snapshot, "requests", asked)
    )


def in_part(
    snapshot: Snapshot, running: NDArray[np.int64], waiting: NDArray[np.int64], when: str = "Gangs"
) -> tuple[Diagnostic, ...]:
    """Return a diagnostic if a part of a gang runs and the rest waits."""
    gang = np.asarray(snapshot._core.column("operations", "gang")).astype(np.bool_)
    rows = np.flatnonzero(gang & (running > 0) & (waiting > 0)).tolist()
    if not rows:
        return ()
    names = snapshot.names("operations")
    first = rows[0]
    total = int(running[first] + waiting[first])
    said = f"Of {names[first]}, {int(running[first])} of {total} allocations run. {when}"
    return (finding("gang_in_part", said, [names[row] for row in rows]),)


def _by_operation(snapshot: Snapshot, table: str, count: NDArray[Any]) -> NDArray[np.int64]:
    operation = np.asarray(snapshot._core.column(table, "operation"))
    return np.bincount(operation, count, snapshot.operation_count).astype(np.int64)


def given(snapshot: Snapshot, name: str) -> NDArray[np.bool_]:
    """Return of which resources pools have an amount."""
    mask = np.asarray(snapshot._core.column("pools", f"{name}_given")).astype(np.uint64)
    bits = np.arange(len(snapshot.resources), dtype=np.uint64)
    return (mask[:, None] >> bits & np.uint64(1)).astype(np.bool_)


def over(snapshot: Snapshot, wanted: NDArray[Any], most: NDArray[Any]) -> str:
    """Return the amounts that exceed others: ``6 of 2 cpu``."""
    quantum = list(snapshot.quantum.values())
    more = {
        r: (float(w) * q, float(m) * q)
        for r, w, m, q in zip(snapshot.resources, wanted.tolist(), most.tolist(), quantum, strict=True)
        if w > m
    }
    return amounts_of(
        {r: w for r, (w, _) in more.items()}, {r: m for r, (_, m) in more.items()}, snapshot.units
    )


def _amounts(snapshot: Snapshot, table: str, name: str) -> NDArray[np.int64]:
    """Return amounts in quanta, one row a row, one column a resource."""
    column = np.asarray(snapshot._core.column(table, name), np.int64)
    return column.reshape(len(snapshot.names(table)), len(snapshot.resources))
