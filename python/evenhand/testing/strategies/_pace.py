"""The pace of preemption, around the instants of crowded clusters and of jobs."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from evenhand.testing.strategies._picking import Pick

__all__ = ["paced"]

_HOUR = 3600.0


def paced(snapshot: MutableMapping[str, Any], pick: Pick) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return settings `pace` and what a state says of victims; pools and allocations get fields for them.

    Every fourth draw limits nothing. Clocks are often at exactly the instant at which they run out, or a
    microsecond off it.
    """
    if pick(range(4)) == 0:
        return {}, []
    now = snapshot["now"]
    near = (0.0, 1e-6, -1e-6, 3.0, -3.0)
    pace = {
        "victim_cooldown": pick((0.0, 10.0, 20.0)),
        "spare_if_ran_less_than": pick((0.0, 0.0, 11.0, 41.0, 71.0, 980.0)),
        "spare_if_ends_within": pick((0.0, 0.0, 5.0)),
        "max_victims_per_hour": pick((None, None, 1, 2, 3)),
        "immune_hours": [_hours(now, pick)] if pick(range(8)) == 1 else [],
    }
    for row in snapshot["allocations"]:
        if pick(range(3)) == 1:
            row["planned_end"] = now + pick((0.0, 5.0)) + pick(near)
    taken = []
    for row in snapshot["operations"]:
        if pick(range(4)) == 1 and pace["victim_cooldown"]:
            last = min(now - pace["victim_cooldown"] + pick(near), now - 1)
            taken.append({"kind": "operation", "name": row["name"], "taken": [last]})
    for row in snapshot["pools"]:
        own = row.setdefault("settings", {})
        if pick(range(4)) == 1:
            own["immune_hours"] = [_hours(now, pick)]
        if pick(range(2)) == 1:
            own["max_victims_per_hour"] = pick((1, 2, 0))
            instants = sorted(min(now - _HOUR + pick(near), now - 1) for _ in range(pick(range(3))))
            taken.append({"kind": "pool", "name": row["name"], "taken": instants})
    return pace, taken


def _hours(now: float, pick: Pick) -> str:
    """Return hours that begin or end now, or a second off, in some time zone."""
    ahead = pick((0, 3600, -12600))
    zone = {0: "UTC", 3600: "+01:00", -12600: "-03:30"}[ahead]
    clock = int(now + ahead + pick((0, 1, -1, 60))) % 86_400
    other = (clock + pick((3600, 43_200, -3600))) % 86_400
    first, last = pick(((clock, other), (other, clock)))
    return f"{_of_day(first)}-{_of_day(last)} {zone}"


def _of_day(seconds: int) -> str:
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
