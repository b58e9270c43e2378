"""Instants and spans of a run in every form that Python, NumPy and pandas have them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh

POLICY = eh.policies.YTsaurus()
ROWS: dict[str, Any] = {"name": ["a"], "resources.cpu": [1], "submit_time": [100], "run_time": [5000]}
WORK = eh.simulate.Workload(ROWS)
START = WORK.snapshot(nodes=1, cpu=4)
#: Its clock is read in Helsinki, two hours ahead in winter.
LOCAL = eh.simulate.Workload(ROWS, timezone="Europe/Helsinki")


@pytest.mark.parametrize(
    "span",
    [
        *("10m", timedelta(minutes=10), pd.Timedelta("10min"), np.timedelta64(10, "m")),
        *(np.timedelta64(600, "s"), np.timedelta64(600 * 10**9, "ns"), np.timedelta64(4, "150s")),
    ],
)
def test_spans_are_from_the_beginning(span: Any) -> None:
    assert eh.simulate(START, POLICY, WORK, until=span).span == (100, 700)
    run = eh.simulate.Simulation(START, POLICY, WORK)
    run.run(span)
    assert (run.now, run.at(span).now) == (700, 700)
    assert eh.simulate.measure(eh.simulate(START, POLICY, WORK, 3700), warm_up=span)["hours"] == 5 / 6
    assert WORK.slice(0, span).begin == 100
    timeouts = [POLICY.replace(fair_share_starvation_timeout=said) for said in (span, 600)]
    assert timeouts[0] == timeouts[1]


@pytest.mark.parametrize("micros", [0, 1, 499, 500, 501])
def test_spans_of_nanoseconds_are_whole_microseconds(micros: int) -> None:
    until = np.timedelta64(600 * 10**9 + micros, "ns")
    assert eh.simulate(START, POLICY, WORK, until=until).span[1] == 700


ZONED = (
    datetime(1970, 1, 1, 1, tzinfo=UTC),
    pd.Timestamp("1970-01-01T01", tz="UTC"),
    pd.Timestamp("1970-01-01T03", tz="Europe/Helsinki"),
)
LOCALLY = (
    datetime(1970, 1, 1, 3),  # noqa: DTZ001
    pd.Timestamp("1970-01-01T03"),
    *(np.datetime64(f"1970-01-01T03:00:00{more}") for more in ("", ".000", ".000000000")),
    np.datetime64("1970-01-01T03"),
)


@pytest.mark.parametrize("instant", ZONED)
def test_instants_with_a_time_zone_are_what_they_say(instant: Any) -> None:
    for work in (WORK, LOCAL):
        assert eh.simulate(START, POLICY, work, until=instant).span[1] == 3600


@pytest.mark.parametrize("instant", LOCALLY)
def test_instants_without_one_are_read_in_that_of_the_workload(instant: Any) -> None:
    assert eh.simulate(START, POLICY, LOCAL, until=instant).span[1] == 3600
    space = {"fair_share_starvation_timeout": [30]}
    table = eh.sweep(START, POLICY, LOCAL, space, until=instant, metrics=["hours"])
    assert list(table["hours"]) == [3500 / 3600]
    with pytest.raises(eh.InputError, match="until is an instant without a time zone; give it one"):
        eh.simulate(START, POLICY, WORK, until=instant)


@pytest.mark.parametrize(
    "value",
    [
        *(
            pd.NaT,
            np.timedelta64("NaT", "s"),
            np.datetime64("NaT", "s"),
            np.timedelta64(1, "Y"),
            np.timedelta64(1, "M"),
        ),
        *(np.timedelta64(2**62, "D"), np.timedelta64(2**60, "W"), np.datetime64(10**6, "Y")),
        *(np.datetime64(2**62, "D"), np.datetime64(-(2**62), "s")),
    ],
)
def test_what_is_no_instant_is_refused(value: Any) -> None:
    """It is absent, has no fixed length, or is too long for Python."""
    with pytest.raises(eh.InputError) as caught:
        eh.simulate(START, POLICY, LOCAL, until=value)
    (problem,) = caught.value.problems
    assert (problem.field, problem.rule) == ("until", "type")


@pytest.mark.parametrize(("comes", "starts"), [(0, 0), (6.9, 7), (7, 7), (7.1, 14)])
def test_what_comes_waits_for_the_next_update(comes: float, starts: float) -> None:
    """A node reports each half second; an update each seven sees what comes at its instant."""
    policy = eh.policies.YTsaurus(fair_share_update_period=7.0)
    work = eh.simulate.Workload(ROWS | {"submit_time": [comes]})
    result = eh.simulate(work.snapshot(nodes=20, now=0, cpu=1), policy, work, until=20)
    assert list(result.operations["first_start"]) == [starts]
