"""The pace of preemption, slowly: which work is spared, and how many victims a pool may give.

Times are whole microseconds. Spans are closed at their beginning and open at their end.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any
from zoneinfo import ZoneInfo

from evenhand.config.pace import PaceSettings

__all__ = ["Pace"]

_HOUR = 3_600_000_000
_ROOT = "<Root>"


def _micros(seconds: float) -> int:
    return round(seconds * 1e6)


class Pace:
    """What the pace allows at one instant, and what is taken then.

    Parameters
    ----------
    settings : PaceSettings
    snapshot : mapping
        In the file format: its instant, and the pools with their settings.
    state : mapping
        "victims" of the last plan.
    """

    def __init__(self, settings: PaceSettings, snapshot: Mapping[str, Any], state: Mapping[str, Any]) -> None:
        self.settings = settings
        self.now = _micros(snapshot.get("now", 0.0))
        rows = [{**snapshot.get("root", {}), "name": _ROOT}, *snapshot.get("pools", ())]
        self.parent = {row["name"]: row.get("parent") or _ROOT for row in rows[1:]}
        own = {row["name"]: row.get("settings", {}) for row in rows}
        self.hours = {name: list(of.get("immune_hours", ())) for name, of in own.items()}
        self.hours[_ROOT] += settings.immune_hours
        caps = {name: [of.get("max_victims_per_hour")] for name, of in own.items()}
        caps[_ROOT].append(settings.max_victims_per_hour)
        self.caps = {
            name: min(given) for name, of in caps.items() if (given := [cap for cap in of if cap is not None])
        }
        self.last: dict[Any, int] = {}
        self.taken: dict[Any, list[int]] = {name: [] for name in self.caps}
        for row in state.get("victims", ()):
            instants = [_micros(instant) for instant in row["taken"]]
            if row["kind"] == "operation" and instants:
                self.last[row["name"]] = max(instants)
            elif row["kind"] == "pool" and row["name"] in self.taken:
                self.taken[row["name"]] = sorted(instants)

    def pools_of(self, pool: Any) -> list[Any]:
        """Return a pool and all above it, the root last."""
        found = [_ROOT if pool is None else pool]
        while found[-1] != _ROOT:
            found.append(self.parent[found[-1]])
        return found

    def spares(self, operation: Any, pool: Any, began: int, planned_end: int | None) -> str | None:
        """Return why work of an operation in a pool is spared, None if it is not."""
        pace, now = self.settings, self.now
        if operation in self.last and now - self.last[operation] < _micros(pace.victim_cooldown):
            return "victim_cooldown"
        least = _micros(pace.spare_if_ran_less_than)
        if least and now - began < least:
            return "spared_run_time"
        within = _micros(pace.spare_if_ends_within)
        if within and planned_end is not None and 0 <= planned_end - now <= within:
            return "spared_ends_soon"
        if any(self._is_hour(text) for above in self.pools_of(pool) for text in self.hours[above]):
            return "pool_immune"
        if any(self._given(above) >= self.caps[above] for above in self.pools_of(pool) if above in self.caps):
            return "pool_victims_per_hour"
        return None

    def _is_hour(self, text: str) -> bool:
        """Tell whether it is such an hour: "22:00-06:00 Europe/Berlin"."""
        times, zone = text.split(" ", 1)
        tz: datetime.tzinfo
        if zone[0] in "+-":
            ahead = datetime.timedelta(hours=int(zone[1:3]), minutes=int(zone[4:6]))
            tz = datetime.timezone(ahead if zone[0] == "+" else -ahead)
        else:
            tz = ZoneInfo(zone)
        epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
        there = (epoch + datetime.timedelta(microseconds=self.now)).astimezone(tz)
        clock = ((there.hour * 60 + there.minute) * 60 + there.second) * 10**6 + there.microsecond
        begin, end = (self._of_day(part) for part in times.split("-"))
        return begin <= clock < end if begin < end else clock >= begin or clock < end

    @staticmethod
    def _of_day(text: str) -> int:
        hours, minutes, seconds = [*map(int, text.split(":")), 0][:3]
        return ((hours * 60 + minutes) * 60 + seconds) * 10**6

    def _given(self, pool: Any) -> int:
        return sum(self.now - instant < _HOUR for instant in self.taken[pool])

    def beyond(self, victims: Sequence[tuple[Any, Any]]) -> set[int]:
        """Return the places of victims (operation and pool, in order) that are beyond the caps."""
        more = dict.fromkeys(self.caps, 0)
        places = set()
        for place, (_, pool) in enumerate(victims):
            capped = [above for above in self.pools_of(pool) if above in self.caps]
            if any(self._given(above) + more[above] >= self.caps[above] for above in capped):
                places.add(place)
                continue
            for above in capped:
                more[above] += 1
        return places

    def took(self, operation: Any, pool: Any) -> None:
        """Note a victim."""
        self.last[operation] = self.now
        for above in self.pools_of(pool):
            if above in self.caps:
                self.taken[above].append(self.now)

    def victims(self) -> list[dict[str, Any]]:
        """Return what the next plan continues from."""
        counted = {
            pool: [instant / 1e6 for instant in taken if self.now - instant < _HOUR]
            for pool, taken in self.taken.items()
        }
        rows = [{"kind": "pool", "name": pool, "taken": taken} for pool, taken in counted.items() if taken]
        cooldown = _micros(self.settings.victim_cooldown)
        return rows + [
            {"kind": "operation", "name": operation, "taken": [last / 1e6]}
            for operation, last in self.last.items()
            if self.now - last < cooldown
        ]
