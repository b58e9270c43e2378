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


@pytest.mark.parametrize("until", [1999, 2000, 2001, 2004, 2005, 9999, 10000, 10001, 10017])
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
