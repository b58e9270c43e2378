"""Settings and rows of YuniKorn as the core's columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from evenhand import _core
from evenhand.config.columns import Cells, columns_of, micros, quanta, room_taken
from evenhand.config.pace import pace_columns
from evenhand.config.rows import NoSettings, RowSettings, later_rows, raise_found, read_tables, strangers
from evenhand.systems.yunikorn.properties import QueueProperties, inherited, properties_of
from evenhand.systems.yunikorn.settings import (
    SWITCHES,
    YuniKornAllocation,
    YuniKornQueue,
    YuniKornRequest,
)

if TYPE_CHECKING:
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


_MODELS: Mapping[str, type[RowSettings]] = {
    "pools": YuniKornQueue,
    "requests": YuniKornRequest,
    "allocations": YuniKornAllocation,
    **dict.fromkeys(("nodes", "operations"), NoSettings),
}
_MANAGED = {"managed": Cells(1, np.uint8, lambda queue: queue.managed is not False)}
_MAY_PREEMPT = {"may_preempt": Cells(1, np.uint8, lambda ask: ask.allow_preempt_other is not False)}


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
        "grace": micros(s.grace),
        "enabled": s.enabled,
        "quota_enabled": s.quota_preemption,
        "attempts": s.attempts,
        "retry": micros(s.retry),
        "asks_once": s.asks_once,
        "reservation_timeout": micros(s.reservation_timeout),
        "reservation_delay": micros(s.reservation_delay),
        **pace_columns(snapshot, s.pace),
    }
    if isinstance(s.limit, float):
        return columns | {"limit_share": s.limit}
    raise_found(list(strangers(s, snapshot.resources, "settings", None, None)))
    limit = [
        amount if name in s.limit else _NO_LIMIT
        for name, amount in zip(snapshot.resources, quanta(snapshot, s.limit), strict=True)
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
    rows = read_tables(snapshot, _MODELS, found)
    raise_found(found)
    columns = room_taken(snapshot, rows["allocations"])
    columns |= _of_allocations(snapshot, rows["allocations"], snapshot.allocation_count)
    columns |= _of_requests(snapshot, rows["requests"], len(snapshot.names("requests")))
    if queues := rows["pools"]:
        properties = queue_properties(snapshot, queues)
        columns |= {
            "policy": np.array([_FENCES.index(p.preemption_policy) for p in properties], np.uint8),
            "priority_fence": np.array([p.priority_policy == "fence" for p in properties], np.uint8),
            "offset": np.array([p.priority_offset for p in properties], np.int64),
            "delay": np.array([micros(p.preemption_delay) for p in properties], np.int64),
            "quota_delay": np.array([micros(p.quota_preemption_delay) for p in properties], np.int64),
            "fair": np.array([p.application_sort_policy == "fair" for p in properties], np.uint8),
            "priority_first": np.array([p.application_sort_priority for p in properties], np.uint8),
        }
        columns |= columns_of(queues, len(properties), _MANAGED)
    return columns


def later_columns(
    live: LiveRows, table: str, given: Mapping[int, Mapping[str, Any]]
) -> dict[str, NDArray[Any]]:
    """Return what rows that came later set of their own, a cell for each of them."""
    found: list[Problem] = []
    rows = later_rows(given, _MODELS, live.base, table, found)
    raise_found(found)
    if table == "allocations":
        numbers = list(given)
        taken = room_taken(live.base, {numbers[place]: own for place, own in rows.items()})
        return taken | _of_allocations(live.base, rows, len(given))
    return _of_requests(live.base, rows, len(given)) if table == "requests" else {}


def _of_allocations(snapshot: Snapshot, rows: Mapping[int, Any], count: int) -> dict[str, NDArray[Any]]:
    return columns_of(rows, count, {"held_zeros": _zeros(snapshot)})


def _of_requests(snapshot: Snapshot, rows: Mapping[int, Any], count: int) -> dict[str, NDArray[Any]]:
    return columns_of(rows, count, {"asked_zeros": _zeros(snapshot), **_MAY_PREEMPT})


def _zeros(snapshot: Snapshot) -> Cells:
    """Return which resources a row names with an amount of 0, as bits."""
    places = {resource: place for place, resource in enumerate(snapshot.resources)}
    return Cells(0, np.uint32, lambda own: sum(1 << places[name] for name in own.zeros or ()) or None)
