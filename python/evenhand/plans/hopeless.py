"""Requests that can never start, whatever else runs: more than any node has, or than a limit admits."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.diagnostics import Diagnostic
from evenhand.plans.columns import rows_by_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.model import Snapshot

__all__ = ["never_fitting", "reasons_never_to_start", "told"]

_NAMED = 5
_NODE, _COPIES, _LIMIT = 1, 2, 3
_WHY = {  # of one, of several
    _NODE: (
        "needs more than any node has on which it may run",
        "need more than any node has on which they may run",
    ),
    _COPIES: ("needs more room at once than all nodes have", "need more room at once than all nodes have"),
    _LIMIT: ("needs more than a limit above it admits", "need more than a limit above them admits"),
}


def never_fitting(snapshot: Snapshot, policy: Any) -> tuple[Diagnostic, ...]:
    """Return a diagnostic if requests of a snapshot can never start."""
    owner = np.asarray(snapshot._core.column("requests", "operation"))
    why = reasons_never_to_start(snapshot, policy)
    return told(why, snapshot.names("requests"), owner, snapshot.names("operations"))


def told(
    why: NDArray[np.uint8], names: Sequence[Any], owner: NDArray[Any], operations: Sequence[Any]
) -> tuple[Diagnostic, ...]:
    """Return one diagnostic for all requests that can never start, or none."""
    rows = np.flatnonzero(why)
    if not len(rows):
        return ()
    first = [names[row] for row in rows[:_NAMED].tolist()]
    listed = ", ".join(map(str, first)) + (", ..." if len(rows) > _NAMED else "")
    parts = []
    numbers: dict[str, Any] = {"requests": len(rows), "of": len(names), "names": first}
    for code, key in ((_NODE, "node"), (_COPIES, "copies"), (_LIMIT, "limit")):
        if count := int((why == code).sum()):
            numbers[key] = count
            parts.append(f"{count:,} {_WHY[code][count > 1]}")
    message = f"{len(rows):,} of {len(names):,} requests can never start ({listed}): {'; '.join(parts)}."
    asking = tuple(dict.fromkeys(operations[row] for row in owner[rows].tolist()))
    return (Diagnostic("never_fits", asking, message, numbers),)


def reasons_never_to_start(
    rows: Snapshot, policy: Any, where: Snapshot | None = None, capacity: NDArray[np.int64] | None = None
) -> NDArray[np.uint8]:
    """Return by request why it can never start: 0 where it may."""
    where = rows if where is None else where
    core, reads = rows._core, policy.reads
    count = rows.request_count
    why = np.zeros(count, np.uint8)
    if not count:
        return why
    need = np.asarray(core.column("requests", "resources")).reshape(count, -1)
    whole = policy.RECORD.preempts_operations
    copies = np.asarray(core.column("requests", "count")) if whole else np.ones(count, np.int64)
    held = np.asarray(where._head["scope"]) == 0
    floating = np.asarray(where._core.capacity)[~held]
    asked = reads.get("requests", frozenset())
    only = [-1] * count
    if "required_node" in asked:
        only = np.asarray(core.column("requests", "required_node")).tolist()
    tags = _tags(rows, "requests", "node_tags") if "node_tags" in asked else [()] * count
    if capacity is None:
        capacity = np.asarray(where._core.column("nodes", "capacity"))
        capacity = capacity.reshape(where.node_count, where._core.resource_count)
    has = _tags(where, "nodes", "tags") if any(tags) else [()] * where.node_count
    known_as = rows_by_name(where, "nodes")
    node_names = rows.names("nodes")
    nodes_of: dict[Any, NDArray[np.int64]] = {}
    known: dict[Any, int] = {}
    for row in range(count):
        place = only[row], tags[row]
        key = place, need[row].tobytes(), int(copies[row])
        if key not in known:
            if place not in nodes_of:
                may = [known_as[str(node_names[place[0]])]] if place[0] >= 0 else range(where.node_count)
                nodes_of[place] = np.array([n for n in may if set(place[1]) <= set(has[n])], np.int64)
            known[key] = _by_nodes(need[row], int(copies[row]), capacity[nodes_of[place]], held, floating)
        why[row] = known[key]
    over = _over_limits(rows, where, policy, need * np.where(whole, copies, 1)[:, None])
    why[(why == 0) & over] = _LIMIT
    return why


def _by_nodes(
    need: NDArray[Any], copies: int, capacity: NDArray[Any], held: NDArray[Any], floating: NDArray[Any]
) -> int:
    """Return why so many copies have no room on nodes on which nothing else runs; 0: they have."""
    if (need[~held] > floating).any() or not (capacity[:, held] >= need[held]).all(axis=1).any():
        return _NODE
    if (need[~held] * copies > floating).any():
        return _COPIES
    wanted = held & (need > 0)
    if copies == 1 or not wanted.any():
        return 0
    each = (capacity[:, wanted] // need[wanted]).min(axis=1)
    return 0 if each.clip(0, copies).sum() >= copies else _COPIES


def _tags(snapshot: Snapshot, table: str, column: str) -> list[tuple[str, ...]]:
    words, offsets, codes = snapshot._core.text_list(table, column)
    ends = np.asarray(offsets).tolist()
    if len(ends) < 2:
        return [()] * (snapshot.node_count if table == "nodes" else snapshot.request_count)
    return [tuple(words[code] for code in codes[a:b]) for a, b in pairwise(ends)]


def _over_limits(rows: Snapshot, where: Snapshot, policy: Any, need: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which requests need more than a limit above them, of those that the policy reads."""
    core, reads = rows._core, policy.reads
    over = np.zeros(len(need), np.bool_)
    if policy.setting("enable_infinite_resource_limits_overcommit"):
        return over
    owner = np.asarray(core.column("requests", "operation"))
    if "limits" in reads.get("operations", frozenset()):
        over |= _exceeds(core, "operations", need, owner)
    if "limits" in reads.get("pools", frozenset()) and not _tolerant(where):
        parent = np.asarray(where._core.column("pools", "parent"))
        place = rows_by_name(where, "pools")
        of_pool = np.array([place[str(name)] for name in rows.names("pools")], np.int64)
        at = of_pool[np.asarray(core.column("operations", "pool"))[owner]]
        while (at >= 0).any():
            there = at >= 0
            over[there] |= _exceeds(where._core, "pools", need[there], at[there])
            at = np.where(there, parent[at], -1)
    return over


def _exceeds(core: Any, table: str, need: NDArray[Any], of: NDArray[Any]) -> NDArray[np.bool_]:
    limits = np.asarray(core.column(table, "limits")).reshape(-1, need.shape[1])[of]
    given = np.asarray(core.column(table, "limits_given")).astype(np.int64)[of]
    is_given = (given[:, None] >> np.arange(need.shape[1])) & 1
    exceeded: NDArray[np.bool_] = ((need > limits) & (is_given != 0)).any(axis=1)
    return exceeded


def _tolerant(snapshot: Snapshot) -> bool:
    """Whether a pool may exceed its limits for what preempts."""
    own = snapshot._settings.get("pools", {})
    return any(of_row.get("resource_limits_overcommit_tolerance") for of_row in own.values())
