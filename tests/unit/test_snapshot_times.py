"""Instants and durations in frames: time zones, units, rounding."""

from __future__ import annotations

import datetime as dt
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest

import evenhand as eh
from tests.unit.test_snapshot_malformed import assert_problem

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

RESOURCES: dict[str, Any] = {"cpu": {}, "memory": {}}


INSTANT = dt.datetime(2026, 7, 1, 12, 0, 0, 250_001, tzinfo=dt.UTC)
SECONDS = 1782907200.250001
LOCAL = INSTANT.astimezone(ZoneInfo("Europe/Amsterdam"))
NAIVE = LOCAL.replace(tzinfo=None)


@pytest.mark.parametrize(
    "column",
    [
        [INSTANT],
        [LOCAL],
        [LOCAL.isoformat()],
        [SECONDS],
        pl.Series([INSTANT]),
        pl.Series([INSTANT]).dt.convert_time_zone("Asia/Tokyo"),
        pl.Series([INSTANT]).dt.cast_time_unit("ns"),
        pa.array([INSTANT], pa.timestamp("us", "Europe/Amsterdam")),
        pa.array([INSTANT], pa.timestamp("ns", "UTC")),
        pa.array([LOCAL.isoformat()]),
        pd.Series([INSTANT]),
        pd.Series([LOCAL]),
        pd.Series([LOCAL], dtype=object),
        np.array([SECONDS]),
    ],
    ids=lambda c: f"{type(c).__module__}.{getattr(c, 'dtype', getattr(c, 'type', type(c[0]).__name__))}",
)
def test_instants(column: Any) -> None:
    snapshot = eh.Snapshot.from_frames(resources=RESOURCES, operations={"name": ["o"], "start_time": column})
    assert snapshot._core.column("operations", "start_time")[0] == 1782907200_250_001


NAIVES = [
    [NAIVE],
    [NAIVE.isoformat()],
    np.array([NAIVE], "M8[us]"),
    np.array([NAIVE], "M8[ns]"),
    pl.Series([NAIVE]),
    pa.array([NAIVE]),
    pd.Series([NAIVE]),
]
naives = pytest.mark.parametrize(
    "column",
    NAIVES,
    ids=lambda c: f"{type(c).__module__}.{getattr(c, 'dtype', getattr(c, 'type', type(c[0]).__name__))}",
)


@naives
def test_naive_instants_need_a_time_zone(column: Any) -> None:
    with pytest.raises(eh.InputError, match="timezone=") as caught:
        eh.Snapshot.from_frames(resources=RESOURCES, operations={"name": ["o"], "start_time": column})
    (problem,) = caught.value.problems
    assert (problem.table, problem.field, problem.rule) == ("operations", "start_time", "timezone")


@naives
@pytest.mark.parametrize(
    "timezone", ["Europe/Amsterdam", ZoneInfo("Europe/Amsterdam")], ids=["name", "tzinfo"]
)
def test_naive_instants_in_a_time_zone(column: Any, timezone: Any) -> None:
    snapshot = eh.Snapshot.from_frames(
        resources=RESOURCES, operations={"name": ["o"], "start_time": column}, timezone=timezone
    )
    assert snapshot._core.column("operations", "start_time")[0] == 1782907200_250_001


@pytest.mark.parametrize(
    ("local", "part"),
    [
        (dt.datetime(2026, 3, 29, 2, 30), "does not exist in Europe/Amsterdam"),  # noqa: DTZ001
        (dt.datetime(2026, 10, 25, 2, 30), "happens twice in Europe/Amsterdam"),  # noqa: DTZ001
    ],
)
@pytest.mark.parametrize("as_array", [False, True])
def test_local_times_without_a_single_meaning(local: dt.datetime, part: str, as_array: bool) -> None:
    good_one = dt.datetime(2026, 5, 1)  # noqa: DTZ001
    column = np.array([good_one, local], "M8[us]") if as_array else [good_one, local]
    with pytest.raises(eh.InputError) as caught:
        eh.Snapshot.from_frames(
            resources=RESOURCES,
            operations={"name": ["a", "b"], "start_time": column},
            timezone="Europe/Amsterdam",
        )
    assert_problem(caught.value, ("operations", 1, "start_time", "timezone"), part)


@pytest.mark.parametrize("unit", ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns"])
def test_units(unit: str) -> None:
    column = np.array(["1970-01-01", "NaT", "1971-01-01"], f"M8[{unit}]")
    seconds = column[2].astype("M8[s]").astype(float)
    snapshot = eh.Snapshot.from_frames(
        resources=RESOURCES, nodes={"name": [1, 2, 3], "overcommitted_since": column}, timezone="UTC"
    )
    assert snapshot.table("nodes")["overcommitted_since"] == [0, None, seconds]


def test_nanoseconds_are_rounded() -> None:
    column = np.array([-501, -500, 499, 500, 1_499, 2**63 - 1], "M8[ns]")
    snapshot = eh.Snapshot.from_frames(
        resources=RESOURCES, operations={"name": range(6), "start_time": column}, timezone="UTC"
    )
    assert snapshot._core.column("operations", "start_time").tolist() == [
        -1,
        0,
        0,
        1,
        1,
        9_223_372_036_854_776,
    ]


def test_absent_instants() -> None:
    for column in (
        np.array(["2026-01-01", "NaT"], "M8[s]"),
        pl.Series([dt.datetime(2026, 1, 1), None]),  # noqa: DTZ001
        pd.Series([dt.datetime(2026, 1, 1), None]),  # noqa: DTZ001
    ):
        snapshot = eh.Snapshot.from_frames(
            resources=RESOURCES, nodes={"name": ["a", "b"], "overcommitted_since": column}, timezone="UTC"
        )
        assert snapshot.table("nodes")["overcommitted_since"] == [1767225600, None]


@pytest.mark.parametrize(
    "column",
    [
        ["1m30s"],
        ["00:01:30"],
        [90],
        [dt.timedelta(seconds=90)],
        np.array([90], "m8[s]"),
        np.array([90_000_000_000], "m8[ns]"),
        pl.Series([dt.timedelta(seconds=90)]),
        pl.Series(["90s"]),
        pa.array([dt.timedelta(seconds=90)]),
        pd.Series([dt.timedelta(seconds=90)]),
    ],
    ids=lambda c: f"{type(c).__module__}.{getattr(c, 'dtype', getattr(c, 'type', c[0]))}",
)
def test_durations(column: Any) -> None:
    snapshot = eh.Snapshot.from_frames(
        resources=RESOURCES,
        operations={"name": ["o"]},
        requests={"name": ["r"], "operation": ["o"], "duration": column},
    )
    assert snapshot.to_dict()["requests"] == [{"name": "r", "operation": "o", "duration": 90}]


def test_head_may_hold_instants() -> None:
    snapshot = eh.Snapshot.from_frames(
        resources=RESOURCES, now=LOCAL.isoformat(), previous_update=NAIVE, timezone="Asia/Tokyo"
    )
    assert snapshot.now == SECONDS
    assert snapshot.previous_update == SECONDS + 7200 - 9 * 3600
