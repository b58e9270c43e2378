"""Durations and instants as text and objects."""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from evenhand.building import times


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30s", 30),
        ("5m", 300),
        ("5min", 300),
        ("1h30m", 5400),
        (" 2d ", 172_800),
        ("1w", 604_800),
        ("250ms", 0.25),
        ("1.5h", 5400),
        ("7us", 7e-6),
        ("01:00:00", 3600),
        ("100:00:01.5", 360_001.5),
        ("2-03:04:05", 183_845),
        ("0s", 0),
    ],
)
def test_duration(text: str, seconds: float) -> None:
    assert times.parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text", ["", " ", "30", "s", "30 s", "5m!", "1:60:00", "01:00", "-5s", "١s", "1e3s", "5mm", "5y"]
)
def test_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match='such as "30s"'):
        times.parse_duration(text)


def test_every_local_time_of_a_year() -> None:
    """Against the standard library, a time zone with daylight saving, both of its odd hours included."""
    zone = ZoneInfo("Europe/Amsterdam")
    start = dt.datetime(2026, 1, 1)  # noqa: DTZ001
    local = [start + dt.timedelta(minutes=17 * i) for i in range(31_000)]
    micros = np.array(local, "M8[us]").view(np.int64)
    utc, trouble = times.local_to_utc(micros, zone)
    odd = 0
    for row, naive in enumerate(local):
        first = naive.replace(tzinfo=zone)
        offsets = {first.utcoffset(), first.replace(fold=1).utcoffset()}
        if len(offsets) == 2:
            odd += 1
            assert row in trouble
        else:
            assert row not in trouble
            assert utc[row] == round(first.timestamp() * 1e6)
            assert times.datetime_seconds(naive, zone) == first.timestamp()
    assert odd == len(trouble) > 4


def test_outside_the_calendar() -> None:
    micros = np.array([2**62], np.int64)
    _, trouble = times.local_to_utc(micros, ZoneInfo("UTC"))
    assert "outside the years 1 to 9999" in trouble[0]


def test_time_zones() -> None:
    assert times.time_zone("UTC") is not None
    for name in ("Mars/Olympus", "", "../x", "a\0b"):
        assert times.time_zone(name) is None
