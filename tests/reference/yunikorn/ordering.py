"""The order of queues and of applications, by fair share or first come."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cmp_to_key
from typing import Any

from tests.reference.yunikorn.resources import Resource, compare_shares, shares, sub
from tests.reference.yunikorn.world import Queue

__all__ = ["app_order", "fair_max", "fair_share", "fairness_ratio", "priorities", "queue_order"]

_NOTHING = -(2**31)
_MOST = 2**31 - 1


def fair_share(allocated: Resource, guaranteed: Resource, most: Resource) -> float:
    """Return the largest ratio of usage to guarantee, or to what may be used where there is none."""
    found = 0.0
    for t, used in (allocated or {}).items():
        if used < 0:
            continue
        for of in (guaranteed or {}, most or {}):
            if t in of:
                found = max(found, used / of[t] if of[t] > 0 else float(used > 0))
                break
    return found


def fair_max(queue: Queue) -> Resource:
    """Return what a queue could use at most: the total, overwritten by maxima on its path."""
    if queue.parent is None:
        return queue.maximum
    above = fair_max(queue.parent)
    return {**above, **queue.maximum} if above and queue.maximum else above


def fairness_ratio(left: Resource, right: Resource, total: Resource) -> float:
    """Return the largest share of one over the largest of another."""
    one, other = (max(shares(r, total), default=0.0) for r in (left, right))
    if not other:
        return math.copysign(math.inf, one) if one else 1.0
    return one / other


def _larger(left: Resource, right: Resource) -> bool:
    difference = sub(left, right)
    return all(v >= 0 for v in difference.values()) and any(difference.values())


def queue_order(queues: Sequence[Mapping[str, Any]], policy: str, *, priority_first: bool) -> list[str]:
    """Return names of siblings in the order in which they are asked.

    What may be used is looked up by the place that a queue has while they are sorted: it does not move along.
    """
    rows = list(queues)
    most = [row["fair_max"] for row in rows]

    def share(place: int, row: Mapping[str, Any]) -> float:
        return fair_share(row["allocated"], row["guaranteed"], most[place])

    def less(i: int, j: int) -> bool:
        left, right = rows[i], rows[j]
        if policy == "fifo":
            return bool(priority_first and left["priority"] > right["priority"])
        by_priority = right["priority"] - left["priority"]
        by_share = share(i, left) - share(j, right)
        for value in (by_priority, by_share) if priority_first else (by_share, by_priority):
            if value:
                return bool(value < 0)
        return _larger(left["pending"], right["pending"])

    for i in range(1, len(rows)):
        for j in range(i, 0, -1):
            if not less(j, j - 1):
                break
            rows[j - 1], rows[j] = rows[j], rows[j - 1]
    return [row["name"] for row in rows]


def app_order(
    apps: Sequence[Mapping[str, Any]], policy: str, guaranteed: Resource, *, priority_first: bool
) -> list[str]:
    """Return ids of a leaf's applications in the order in which they are asked."""

    def by_policy(left: Mapping[str, Any], right: Mapping[str, Any]) -> float:
        if policy == "fair":
            return compare_shares(
                shares(left["allocated"], guaranteed), shares(right["allocated"], guaranteed)
            )
        return float(left["submit_time_s"] - right["submit_time_s"])

    def compared(left: Mapping[str, Any], right: Mapping[str, Any]) -> int:
        by_priority = float(right["priority"] - left["priority"])
        by_order = by_policy(left, right)
        found = (by_priority or by_order) if priority_first else (by_order or by_priority)
        return (found > 0) - (found < 0)

    return [app["id"] for app in sorted(apps, key=cmp_to_key(compared))]


def priorities(root: Queue, pending: Sequence[tuple[str, int]]) -> dict[str, int]:
    """Return the priority that each queue hands upward; where nothing waits, the least there is."""
    found: dict[str, int] = {}

    def handed(queue: Queue) -> int:
        below = [priority for path, priority in pending if path == queue.path]
        own = max([*below, *(handed(child) for child in queue.children)], default=_NOTHING)
        offset = int(queue.settings["priority.offset"])
        if own > _NOTHING:
            fence = queue.settings["priority.policy"] == "fence"
            own = offset if fence else min(_MOST, max(_NOTHING, own + offset))
        found[queue.path] = own
        return own

    handed(root)
    return found
