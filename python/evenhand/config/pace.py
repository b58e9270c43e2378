"""The pace of preemption: settings that every policy has alike, and what pools set of their own."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

import numpy as np
from annotated_types import Ge, Le
from pydantic import AfterValidator, ConfigDict, Field, PlainSerializer, Strict
from pydantic_core import PydanticCustomError

from evenhand.config.checked import Settings
from evenhand.config.kinds import FEW, Duration
from evenhand.config.rows import RowSettings, models_of, raise_found

if TYPE_CHECKING:
    from evenhand.errors import Problem
    from evenhand.model import Snapshot

__all__ = [
    "DailyHours",
    "PaceSettings",
    "PacedPool",
    "daily_hours",
    "pace",
    "pace_columns",
    "pools_have_pace",
]

_FORM = re.compile(r"(\d\d):(\d\d)(?::(\d\d))?-(\d\d):(\d\d)(?::(\d\d))? +(\S+)")
_OFFSET = re.compile(r"([+-])(\d\d):(\d\d)")
_DAY = 86_400
_MICROS = 1_000_000
#: Time zones are looked up from 1970 until here, and stay from there on as they were last.
_UNTIL = 2**32
#: Two changes of a time zone's clocks are never closer.
_STEP = 7 * _DAY


class DailyHours(NamedTuple):
    """Hours of every day.

    Attributes
    ----------
    begin, end : int
        Seconds of the day; until just before the end, over midnight if that is less.
    zone : str
        Whose clocks: "UTC", an offset such as "+02:00", or a name of the time zone database.
    """

    begin: int
    end: int
    zone: str


def daily_hours(text: str) -> DailyHours:
    """Read hours of the day such as ``"22:00-06:00 Europe/Berlin"``.

    Parameters
    ----------
    text : str
        Two times of the day, with or without seconds, at most 24:00, and a time zone.

    Returns
    -------
    DailyHours

    Raises
    ------
    ValueError
        If it is something else, both times are the same, or there is no such time zone.

    Examples
    --------
    >>> daily_hours("22:00-06:30 +02:00")
    DailyHours(begin=79200, end=23400, zone='+02:00')
    """
    found = _FORM.fullmatch(text)
    if found is None:
        raise ValueError('must be like "22:00-06:00 Europe/Berlin" or "09:00-18:30 +02:00"')
    *times, zone = found.groups(default="0")
    begin, end = (_of_day(*map(int, part)) for part in (times[:3], times[3:]))
    if begin == end or (begin, end) == (_DAY, 0):
        raise ValueError("begins when it ends; all day is 00:00-24:00")
    _changes(zone)
    return DailyHours(begin % _DAY, end, zone)


def _of_day(hours: int, minutes: int, seconds: int) -> int:
    of_day = 3600 * hours + 60 * minutes + seconds
    if minutes > 59 or seconds > 59 or of_day > _DAY:
        raise ValueError(f"has {hours:02}:{minutes:02}:{seconds:02}, no time of the day")
    return of_day


@lru_cache(maxsize=64)
def _changes(zone: str) -> tuple[tuple[int, int], ...]:
    """Return from when on clocks of a zone are ahead of UTC by how much, in seconds; the first from ever."""
    if zone == "UTC":
        return ((0, 0),)
    if (offset := _OFFSET.fullmatch(zone)) is not None:
        seconds = _of_day(int(offset[2]), int(offset[3]), 0)
        return ((0, -seconds if offset[1] == "-" else seconds),)
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        tz = ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"names the time zone {zone!r}, which this machine does not know") from None

    def ahead(instant: int) -> int:
        there = datetime.datetime.fromtimestamp(instant, tz).utcoffset()
        assert there is not None  # noqa: S101 - of every zone of the database
        return int(there.total_seconds())

    found = [(0, ahead(0))]
    for before, after in pairwise(range(0, _UNTIL, _STEP)):
        if (now := ahead(after)) == found[-1][1]:
            continue
        low, high = before, after
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if ahead(middle) == found[-1][1] else (low, middle)
        found.append((high, now))
    return tuple(found)


def _checked(texts: tuple[str, ...]) -> tuple[str, ...]:
    for text in texts:
        try:
            daily_hours(text)
        except ValueError as error:
            said = f"has {text!r}, which {error}"
            raise PydanticCustomError("rule", "{said}", {"rule": "hours", "said": said}) from None
    return texts


_HOURS = "Hours of the day in which nothing of it is preempted"

Hours = Annotated[tuple[str, ...], FEW, Strict(False), AfterValidator(_checked), PlainSerializer(list)]
Cap = Annotated[int, Ge(0), Le(10**9)]


class PaceSettings(Settings):
    """How soon, how often and when work may be preempted; nothing is limited by default.

    It spares victims of every policy alike, beside what a system's own rules protect. Repairs of violated
    limits and of overfull nodes take them nevertheless.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    victim_cooldown: Duration = Field(
        default=0.0, description="An operation is not preempted again until so much time has passed. 0: off."
    )
    spare_if_ran_less_than: Duration = Field(
        default=0.0, description="What has run for less is not preempted. 0: off."
    )
    spare_if_ends_within: Duration = Field(
        default=0.0,
        description="What is planned to end (`planned_end`) within so much time is not preempted. 0: off.",
    )
    max_victims_per_hour: Cap | None = Field(
        default=None,
        description="Of the cluster as a whole, within any hour. Pools may have their own beside it.",
    )
    immune_hours: Hours = Field(
        default=(),
        description=f'{_HOURS}, such as "09:00-18:00 Europe/Berlin": of the cluster as a whole.'
        " Pools may have their own beside them.",
    )

    @property
    def is_off(self) -> bool:
        """Whether nothing is limited, but for what pools set."""
        return self == PaceSettings()


def pace() -> Any:
    """Return the field `pace` of a policy's settings."""
    return Field(
        default_factory=PaceSettings,
        description="Spares what was preempted or began too recently, or ends soon; bounds victims an hour.",
    )


class PacedPool(RowSettings):
    """What a pool sets of the pace, for itself and all below it."""

    max_victims_per_hour: Cap | None = Field(
        default=None,
        description="Victims that it gives within any hour, with all below it; none: any number.",
    )
    immune_hours: Hours = Field(
        default=(), description=f'{_HOURS}, such as "22:00-06:00 +02:00", nor of what is below it.'
    )


#: No cap.
_ANY: Final = -1


def pace_columns(snapshot: Snapshot, whole: PaceSettings) -> dict[str, Any]:
    """Return the pace under the core's names.

    Parameters
    ----------
    snapshot : Snapshot
        Whose pools may have settings of their own.
    whole : PaceSettings
        Of the policy.

    Returns
    -------
    dict
        Empty if nothing is limited, else with the one key "pace".

    Raises
    ------
    InputError
        If what a pool sets breaks a rule.

    Notes
    -----
    O(pools that have settings), and O(pools) with caps.
    """
    out: dict[str, Any] = {}
    for name in ("victim_cooldown", "spare_if_ran_less_than", "spare_if_ends_within"):
        if micros := round(getattr(whole, name) * _MICROS):
            out[name] = micros
    found: list[Problem] = []
    own = {
        row: {name: said[name] for name in PacedPool.model_fields if name in said}
        for row, said in snapshot.settings("pools").items()
    }
    pools = models_of({row: said for row, said in own.items() if said}, PacedPool, snapshot, "pools", found)
    raise_found(found)
    caps = [(0, whole.max_victims_per_hour), *((r, pool.max_victims_per_hour) for r, pool in pools.items())]
    if given := [(row, cap) for row, cap in caps if cap is not None]:
        most = np.full(snapshot.pool_count, _ANY, np.int64)
        for row, cap in given:
            most[row] = cap if most[row] == _ANY else min(cap, most[row])
        out["most_victims"] = most
    hours = [(0, text) for text in whole.immune_hours]
    hours += [(row, text) for row, pool in pools.items() for text in pool.immune_hours]
    out |= _hours(hours) if hours else {}
    return {"pace": out} if out else {}


def pools_have_pace(snapshot: Snapshot) -> bool:
    """Return whether some pool, or the root, has a pace of its own."""
    return any(PacedPool.model_fields.keys() & said.keys() for said in snapshot.settings("pools").values())


def _hours(rows: Sequence[tuple[int, str]]) -> dict[str, Any]:
    read = [(pool, daily_hours(text)) for pool, text in rows]
    zones = list(dict.fromkeys(hours.zone for _, hours in read))
    changes = [_changes(zone) for zone in zones]
    every = np.array([change for zone in changes for change in zone], np.int64) * _MICROS
    return {
        "hours_pool": np.array([pool for pool, _ in read], np.int32),
        "hours_from": np.array([hours.begin for _, hours in read], np.int64) * _MICROS,
        "hours_to": np.array([hours.end for _, hours in read], np.int64) * _MICROS,
        "hours_zone": np.array([zones.index(hours.zone) for _, hours in read], np.int32),
        "zone_begin": np.cumsum([0, *map(len, changes)], dtype=np.int32)[:-1],
        "zone_since": np.ascontiguousarray(every[:, 0]),
        "zone_ahead": np.ascontiguousarray(every[:, 1]),
    }
