"""Samples of pools: what the cluster is like at an instant, however they are kept."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenhand as eh
from evenhand.simulate.raw import samples

WORK: dict[str, list[Any]] = {
    "name": ["a", "b", "c"],
    "resources.cpu": [3, 2, 4],
    "submit_time": [0, 50, 100],
    "run_time": [300, 60, 30],
    "pool": ["x", "y", "x"],
}
TIMES = 7


def result(**options: Any) -> eh.simulate.Result:
    work = eh.simulate.Workload(WORK)
    return eh.simulate.simulate(work.snapshot(nodes=2, cpu=4), eh.policies.YTsaurus(), work, **options)


def test_a_sample_says_what_runs_and_waits_at_its_instant() -> None:
    run = result(series_every=10)
    raw, runs = run.raw["series"], run.raw["allocations"]
    pools = run.snapshot.names("pools")
    assert raw["pool"].tolist() == list(range(len(pools))) * (len(raw["pool"]) // len(pools))
    cpu = np.array([3, 2, 4])
    for i, (time, pool) in enumerate(zip(raw["time"].tolist(), raw["pool"].tolist(), strict=True)):
        name = str(pools[pool])
        own = np.array([name in ("<Root>", WORK["pool"][o]) for o in runs["operation"]])
        here = own & (runs["start"] <= time) & (time < runs["end"])
        assert raw["running"][i] == here.sum(), (time, name)
        assert raw["usage"][i] == cpu[runs["operation"][here]].sum() / 8
    assert {0, 1} <= set(raw["running"].tolist())


def test_what_happens_at_an_instant_is_in_its_sample() -> None:
    work = eh.simulate.Workload({"name": ["a"], "resources.cpu": [1], "submit_time": [0], "run_time": [20]})
    run = eh.simulate.simulate(
        work.snapshot(nodes=1, cpu=1), eh.policies.YTsaurus(), work, 41, series_every=10
    )
    assert (run.allocations["began"][0], run.allocations["end"][0]) == (0, 20)
    usage = dict(zip(run.series["time"], run.series["usage"], strict=True))
    assert [usage[time] for time in (0, 10, 20, 30, 40)] == [1, 1, 0, 0, 0]


@pytest.mark.parametrize("read_before", [False, True])
def test_results_travel_whole(read_before: bool) -> None:
    run, whole = result(series_every=10), result(series_every=10)
    if read_before:
        assert len(run.raw["series"]["time"]) > 0
    for other in (pickle.loads(pickle.dumps(run)), copy.deepcopy(run)):
        assert list(other.raw) == ["allocations", "operations", "decisions", "series", "spells"]
        for table, columns in whole.raw.items():
            for name, column in columns.items():
                assert np.array_equal(column, other.raw[table][name]), (table, name)


def test_without_an_instant_there_is_no_sample() -> None:
    nothing = {"time": np.array([], np.int64), "sample": np.array([], np.int64)}
    assert len(samples({**nothing, "pool": np.array([], np.int32), "usage": np.array([])}, 3)["usage"]) == 0


@given(st.lists(st.lists(st.sampled_from([0.0, 0.25, 1.0]), min_size=3, max_size=3), max_size=TIMES))
def test_samples_are_laid_out_as_they_were(usage: list[list[float]]) -> None:
    """Against one sample after the other; what says the same as the sample before was left out."""
    changes: list[tuple[int, int, float]] = []
    last: list[float | None] = [None] * 3
    for i, row in enumerate(usage):
        changes += [(i, p, row[p]) for p in range(3) if row[p] != last[p]]
        last = list(row)
    found = samples(
        {
            "time": np.arange(len(usage)) * 10,
            "sample": np.array([i for i, _, _ in changes], np.int64),
            "pool": np.array([p for _, p, _ in changes], np.int32),
            "usage": np.array([value for _, _, value in changes]),
        },
        3,
    )
    assert found["usage"].tolist() == [value for row in usage for value in row]
    assert found["time"].tolist() == [10 * i for i in range(len(usage)) for _ in range(3)]
    assert found["pool"].tolist() == [0, 1, 2] * len(usage)
