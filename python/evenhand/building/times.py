"""Instants and durations: text, datetime and timedelta objects to seconds."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from evenhand.building.problems import shorten
from evenhand.errors import printable

if TYPE_CHECKING:
    from numpy.typing import NDArray

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_CLOCK = re.compile(r"(?:(\d{1,9})-)?(\d{1,9}):([0-5]\d):([0-5]\d(?:\.\d{1,9})?)", re.ASCII)
_PART = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)(us|ms|s|min|m|h|d|w)", re.ASCII)
_SECONDS = {
    "us": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "min": 60.0,
    "m": 60.0,
    "h": 3600.0,
    "d": 86400.0,
    "w": 604800.0,
}


class ZoneError(ValueError):
    """An instant without a time zone has no single meaning."""


@lru_cache(maxsize=4096)
def parse_duration(text: str) -> float:
    """Return the seconds of a duration written as text.

    Understood are numbers with a unit, one after the other (``30s``, ``5m``,
    ``1h30m``; us, ms, s, m or min, h, d, w), and a clock (``01:00:00``,
    ``2-00:00:00`` with days).
    """
    stripped = text.strip()
    if clock := _CLOCK.fullmatch(stripped):
        days, hours, minutes, seconds = clock.groups(default="0")
        return int(days) * 86400.0 + int(hours) * 3600.0 + int(minutes) * 60.0 + float(seconds)
    total, end = 0.0, 0
    while part := _PART.match(stripped, end):
        total += float(part[1]) * _SECONDS[part[2]]
        end = part.end()
    if end == 0 or end != len(stripped):
        shown = printable(shorten(text))
        forms = 'write seconds as a number, or text such as "30s", "5m", "01:00:00"'
        raise ValueError(f'is "{shown}", not a duration; {forms}')
    return total


def timedelta_seconds(delta: timedelta) -> float:
    """Return a timedelta in seconds, exact to the microsecond."""
    return (delta // _MICROSECOND) / 1e6


def datetime_seconds(instant: datetime, zone: tzinfo | None) -> float:
    """Return the seconds since 1970 of a datetime; one without a time zone is read in `zone`."""
    if instant.utcoffset() is None:
        if zone is None:
            raise ZoneError("is an instant without a time zone; give it one, or the argument timezone=")
        instant = instant.replace(tzinfo=zone)
        if trouble := _trouble(instant):
            raise ZoneError(trouble)
    return timedelta_seconds(instant - _EPOCH)


def parse_instant(text: str, zone: tzinfo | None) -> float:
    """Return the seconds since 1970 of an ISO 8601 instant; see `datetime_seconds`."""
    try:
        instant = datetime.fromisoformat(text.strip())
    except ValueError:
        message = (
            f'is "{printable(shorten(text))}", not an ISO 8601 instant such as 2026-07-01T12:00:00+00:00'
        )
        raise ValueError(message) from None
    return datetime_seconds(instant, zone)


def time_zone(name: str) -> tzinfo | None:
    """Return the time zone of this name, None if there is none."""
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return None


def local_to_utc(micros: NDArray[np.int64], zone: tzinfo) -> tuple[NDArray[np.int64], dict[int, str]]:
    """Turn local wall-clock microseconds into UTC ones."""
    seconds, inverse = np.unique(micros // 1_000_000, return_inverse=True)
    offsets = np.zeros(len(seconds), np.int64)
    trouble: dict[int, str] = {}
    for i, second in enumerate(seconds.tolist()):
        try:
            local = (_EPOCH + timedelta(seconds=second)).replace(tzinfo=zone)
        except OverflowError:
            why: str = "is outside the years 1 to 9999"
        else:
            why = _trouble(local)
            offset = local.utcoffset()
            offsets[i] = 0 if offset is None else offset // _MICROSECOND
        if why:
            trouble.update(dict.fromkeys(np.flatnonzero(inverse == i).tolist(), why))
    return micros - offsets[inverse], trouble


def _trouble(local: datetime) -> str:
    first, second = local.utcoffset(), local.replace(fold=1).utcoffset()
    if first is None or second is None or first == second or local.fold:
        return ""
    if first > second:
        return (
            f"is a local time that happens twice in {local.tzinfo} (clocks are set back); give it a time zone"
        )
    return f"is a local time that does not exist in {local.tzinfo} (clocks are set forward)"
