"""However far away the end is: few samples, each of which stands for the time until the next."""

from __future__ import annotations

import numpy as np
import pytest

import evenhand as eh
from evenhand.simulate import Simulation

WORK = eh.simulate.Workload(
    {"name": ["a", "b"], "resources.cpu": [2, 2], "submit_time": [0, 1], "run_time": [10, 10]}
)
DAY = 86400


def run(until: float, **options: float) -> eh.simulate.Result:
    return eh.simulate.simulate(WORK.snapshot(nodes=2, cpu=8), eh.policies.YTsaurus(), WORK, until, **options)


@pytest.mark.parametrize("until", [365 * DAY, 2**31, 2**40])
def test_samples_do_not_follow_the_length_of_the_run(until: float) -> None:
    found = run(until)
    times = np.unique(found.raw["series"]["time"])
    assert len(times) < 60_000
    assert times[0] == 0
    assert times[-1] < until * 1e6 <= times[-1] + 4 * (times[-1] - times[-2])
    assert found.metrics["hours"] == until / 3600
    assert found.metrics["utilisation.cpu"] == pytest.approx(20 * 2 / (16 * until))


def test_spans_are_even_at_first_and_then_four_times_as_long() -> None:
    times = run(6000 + 8000 * 4 + 1).raw["series"]["time"]
    seconds = np.unique(times) // 1_000_000
    steps = np.diff(seconds)
    # Two thousand of a second, two thousand of four, and so on.
    assert steps[:2000].tolist() == [1] * 2000
    assert steps[2000:4000].tolist() == [4] * 2000
    assert set(steps[4000:]) == {16}


@pytest.mark.parametrize("until", [1999, 2000, 2001, 2002, 2004, 2005, 9999, 10000, 10001, 10017])
def test_the_same_samples_however_the_time_is_parted(until: float) -> None:
    whole = run(until)
    parted = Simulation(WORK.snapshot(nodes=2, cpu=8), eh.policies.YTsaurus(), WORK)
    for i in range(1, 8):
        parted.run(until * i / 7)
    for name, column in whole.raw["series"].items():
        assert np.array_equal(parted.result().raw["series"][name], column), name
    times = np.unique(whole.raw["series"]["time"])
    assert times[-1] < until * 1e6
    assert len(times) == sum(
        1 for s in (*range(2000), *range(2000, 10000, 4), *range(10000, 42000, 16)) if s < until
    )


def test_what_is_asked_for_is_sampled_evenly() -> None:
    times = np.unique(run(20_000, series_every=2).raw["series"]["time"])
    assert len(times) == 10_000
    assert set(np.diff(times)) == {2_000_000}


def test_more_samples_than_memory_has_room_for_are_not_laid_out() -> None:
    found = run(2**31, series_every=1)
    assert len(found.operations) == 2
    with pytest.raises(eh.InputError, match=r"2,147,483,648 rows of samples; give a longer span") as error:
        _ = found.series
    assert error.value.problems[0].field == "series_every"


def test_what_operations_lacked_is_the_same_whether_or_not_spans_get_longer() -> None:
    """What runs has all and may not be preempted: what waits lacks its half at every instant."""
    rows = {"name": ["a", "b"], "pool": ["x", "y"], "resources.cpu": [8, 8], "submit_time": [0, 0]}
    work = eh.simulate.Workload({**rows, "run_time": [30 * DAY, 10], "preemptible": [False, True]})
    start, policy = work.snapshot(nodes=1, cpu=8), eh.policies.YTsaurus()
    longer = eh.simulate.simulate(start, policy, work, 20 * DAY)
    assert len(longer.raw["series"]["time"]) > 3 * 8000
    assert list(longer.operations["shortfall"]) == pytest.approx([0, 0.5 * 20 * 24], abs=0.5)
    even = eh.simulate.simulate(start, policy, work, 20 * DAY, series_every=600)
    assert list(even.operations["shortfall"]) == pytest.approx([0, 0.5 * 20 * 24], abs=0.5)


@pytest.mark.parametrize("until", [float("nan"), float("inf"), 1e19, "soon", -1, 999.999, True, None, b"1"])
def test_an_end_that_is_none_is_refused(until: object) -> None:
    start = WORK.snapshot(nodes=2, cpu=8, now=1000)
    policy = eh.policies.YTsaurus()
    calls = [lambda: Simulation(start, policy, WORK).at(until)]  # type: ignore[arg-type]
    if until is not None:
        calls += [
            lambda: eh.simulate.simulate(start, policy, WORK, until),  # type: ignore[arg-type]
            lambda: Simulation(start, policy, WORK).run(until),  # type: ignore[arg-type]
            lambda: Simulation(start, policy, WORK).advance(until, 1),  # type: ignore[arg-type]
            lambda: [*Simulation(start, policy, WORK).portions(until)],  # type: ignore[arg-type]
        ]
    for call in calls:
        with pytest.raises(eh.InputError) as error:
            call()
        assert error.value.problems[0].field in ("until", "time")


@pytest.mark.parametrize("until", [1000, 1000.0, "0s", "1h", 4600])
def test_ends_at_the_beginning_and_after_it(until: float | str) -> None:
    start = WORK.snapshot(nodes=2, cpu=8, now=1000)
    result = eh.simulate.simulate(start, eh.policies.YTsaurus(), WORK, until)
    assert result.span[0] == 1000
    whole = until in (4600, "1h")
    assert result.span[1] == (4600 if whole else 1000)
