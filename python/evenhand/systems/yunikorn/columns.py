"""Settings and rows of YuniKorn as the core's columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from evenhand import _core
from evenhand.config.pace import pace_columns
from evenhand.config.rows import RowSettings, later_rows, raise_found, read_rows, strangers
from evenhand.systems.yunikorn.properties import QueueProperties, inherited, properties_of
from evenhand.systems.yunikorn.settings import (
    SWITCHES,
    YuniKornAllocation,
    YuniKornQueue,
    YuniKornRequest,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from evenhand.errors import Problem
    from evenhand.model import Snapshot
    from evenhand.plans.memory import LiveRows
    from evenhand.systems.yunikorn.settings import YuniKornSettings

__all__ = ["later_columns", "queue_properties", "row_columns", "switches"]

_POLICIES = ("inter_queue", "intra_queue")
_COST = ("opted_out", "originator", "priority", "live_time", "lost_work", "own")
_NAMED: Final[Mapping[str, tuple[str, ...]]] = {
    "default": ("opted_out", "originator", "priority", "live_time"),
    "live_time": ("live_time",),
    "priority": ("priority",),
    "kind": ("opted_out", "originator"),
}
_FENCES = ("default", "fence", "disabled")
_NO_LIMIT = -1


class _NoSettings(RowSettings):
    """Settings of a row of which YuniKorn knows none."""


def switches(snapshot: Snapshot, s: YuniKornSettings) -> dict[str, Any]:
    """Return the settings of the partition under the core's names."""
    cost = _NAMED[s.cost] if isinstance(s.cost, str) else s.cost
    columns: dict[str, Any] = {
        **{name: getattr(s, name) for name in SWITCHES},
        "per_ask": s.preemption == "per_ask",
        "n_alloc": s.n_alloc,
        "ask_candidates": s.ask_candidates,
        "policies": np.array([_POLICIES.index(name) for name in s.policies], np.uint8),
        "cost": np.array([_COST.index(name) for name in cost], np.uint8),
        "dead_zone": s.dead_zone,
        "shotgun": s.mode == "shotgun",
        "grace": round(s.grace * 1e6),
        "enabled": s.enabled,
        "quota_enabled": s.quota_preemption,
        "attempts": s.attempts,
        "retry": round(s.retry * 1e6),
        "asks_once": s.asks_once,
        "reservation_timeout": round(s.reservation_timeout * 1e6),
        "reservation_delay": round(s.reservation_delay * 1e6),
        **pace_columns(snapshot, s.pace),
    }
    if isinstance(s.limit, float):
        return columns | {"limit_share": s.limit}
    raise_found(list(strangers(s, snapshot.resources, "settings", None, None)))
    limit = [
        quanta if name in s.limit else _NO_LIMIT
        for name, quanta in zip(snapshot.resources, _quanta(snapshot, s.limit), strict=True)
    ]
    return columns | {"limit": np.array(limit, np.int64)}


def queue_properties(snapshot: Snapshot, queues: Mapping[int, YuniKornQueue]) -> list[QueueProperties]:
    """Return the properties of every pool, with what it inherits."""
    parents = np.asarray(snapshot._core.column("pools", "parent"), np.int32)
    texts: dict[int, dict[str, str]] = {}
    found = [QueueProperties()] * len(parents)
    for row in _core.tree_order(parents).tolist() if queues else ():
        of_row = queues.get(row)
        own = None if of_row is None else of_row.properties
        # A queue that was made as it was needed has what the child template says, and nothing from above.
        dynamic = of_row is not None and of_row.managed is False
        above = {} if dynamic else texts.get(int(parents[row]), {})
        if own or above:
            texts[row] = inherited(above, own or {})
            found[row] = properties_of(texts[row])
    return found


def row_columns(snapshot: Snapshot) -> dict[str, NDArray[Any]]:
    """Return what rows set; what is left out has the default in every row."""
    found: list[Problem] = []
    queues = read_rows(snapshot, "pools", YuniKornQueue, found)
    asks = read_rows(snapshot, "requests", YuniKornRequest, found)
    leaving = read_rows(snapshot, "allocations", YuniKornAllocation, found)
    for table in ("nodes", "operations"):
        read_rows(snapshot, table, _NoSettings, found)
    raise_found(found)
    columns = _room_taken(snapshot, leaving)
    columns |= _zeros(snapshot, "held_zeros", leaving, len(snapshot.names("allocations")))
    columns |= _zeros(snapshot, "asked_zeros", asks, len(snapshot.names("requests")))
    if queues:
        properties = queue_properties(snapshot, queues)
        columns |= {
            "policy": np.array([_FENCES.index(p.preemption_policy) for p in properties], np.uint8),
            "priority_fence": np.array([p.priority_policy == "fence" for p in properties], np.uint8),
            "offset": np.array([p.priority_offset for p in properties], np.int64),
            "delay": np.array([round(p.preemption_delay * 1e6) for p in properties], np.int64),
            "quota_delay": np.array([round(p.quota_preemption_delay * 1e6) for p in properties], np.int64),
            "fair": np.array([p.application_sort_policy == "fair" for p in properties], np.uint8),
            "priority_first": np.array([p.application_sort_priority for p in properties], np.uint8),
        }
        managed = np.ones(len(properties), np.uint8)
        for row, queue in queues.items():
            managed[row] = queue.managed is not False
        columns["managed"] = managed
    if asks:
        may = np.ones(len(snapshot.names("requests")), np.uint8)
        for row, ask in asks.items():
            may[row] = ask.allow_preempt_other is not False
        columns["may_preempt"] = may
    return columns


def later_columns(
    live: LiveRows, table: str, given: Mapping[int, Mapping[str, Any]]
) -> dict[str, NDArray[Any]]:
    """Return what rows that came later set of their own, a cell for each of them."""
    found: list[Problem] = []
    if table == "allocations":
        leaving = later_rows(given, YuniKornAllocation, live.base, table, found)
        raise_found(found)
        rows = list(given)
        return _room_taken(live.base, {rows[place]: own for place, own in leaving.items()}) | _zeros(
            live.base, "held_zeros", leaving, len(rows)
        )
    if table == "requests":
        asks = later_rows(given, YuniKornRequest, live.base, table, found)
        raise_found(found)
        may = np.ones(len(given), np.uint8)
        for row, ask in asks.items():
            may[row] = ask.allow_preempt_other is not False
        return {"may_preempt": may} | _zeros(live.base, "asked_zeros", asks, len(given))
    later_rows(given, _NoSettings, live.base, table, found)
    raise_found(found)
    return {}


def _room_taken(snapshot: Snapshot, leaving: Mapping[int, YuniKornAllocation]) -> dict[str, NDArray[Any]]:
    taken = [(row, own.room_taken) for row, own in leaving.items() if own.room_taken is not None]
    if not taken:
        return {}
    return {
        "room_taken_rows": np.array([row for row, _ in taken], np.int32),
        "room_taken": np.array([_quanta(snapshot, amounts) for _, amounts in taken], np.int64),
    }


def _zeros(
    snapshot: Snapshot, name: str, rows: Mapping[int, YuniKornAllocation | YuniKornRequest], count: int
) -> dict[str, NDArray[Any]]:
    """Return which resources rows name with an amount of 0, as bits; nothing where none does."""
    if not any(own.zeros for own in rows.values()):
        return {}
    masks = np.zeros(count, np.uint32)
    places = {resource: place for place, resource in enumerate(snapshot.resources)}
    for row, own in rows.items():
        for resource in own.zeros or {}:
            masks[row] |= np.uint32(1 << places[resource])
    return {name: masks}


def _quanta(snapshot: Snapshot, amounts: Mapping[str, float]) -> list[int]:
    return [round(amounts.get(r, 0) / quantum) for r, quantum in snapshot.quantum.items()]
