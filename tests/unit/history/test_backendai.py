from __future__ import annotations

import json

import pytest

from evenhand.errors import InputError
from evenhand.history.backendai import UsageBuckets, factor, normalised_usage, order
from evenhand.history.decay import DAY


def test_example_of_the_proposal() -> None:
    used = {"cpu": [288_000.0], "mem": [2_880_000.0], "gpu": [57_600.0]}
    capacity = {"cpu": 100, "mem": 1000, "gpu": 8}
    weights = {"cpu": 1, "mem": 1, "gpu": 10}
    got = normalised_usage(used, capacity, lookback_days=1, weights=weights)
    assert got == pytest.approx([0.075])
    assert factor(got) == pytest.approx([0.949342], abs=1e-6)


def test_resources_without_capacity_do_not_count_and_unused_ones_do() -> None:
    used = {"cpu": [50 * DAY], "fpga": [1e9]}
    assert normalised_usage(used, {"cpu": 100}, lookback_days=1) == pytest.approx([0.5])
    assert normalised_usage(used, {"cpu": 100, "x": 1}, lookback_days=1) == pytest.approx([0.25])
    assert normalised_usage({}, {"cpu": 1}).tolist() == []


def test_default_weights_are_those_of_the_code() -> None:
    used = {"cpu": [0.0], "mem": [DAY], "gpu": [DAY]}
    got = normalised_usage(used, {"cpu": 1, "mem": 1, "gpu": 1}, lookback_days=1)
    assert got == pytest.approx([10.001 / 11.001])


def test_factors_are_clamped() -> None:
    assert factor([10, 10, 1e9], [2, 1, 1]).tolist() == [0.03125, 2**-10, 2**-10]


def test_a_user_without_record_comes_last_or_first() -> None:
    assert factor([0, 1], recorded=[False, True]).tolist() == [0, 0.5]
    assert factor([0, 1], recorded=[False, True], preset="documented").tolist() == [1, 0.5]


def test_order_is_lexicographic_or_by_user() -> None:
    domain, project, user = [0.5, 0.9, 0.9, 0.9], [1, 0.2, 0.8, 0.8], [1, 0.9, 0.1, 0.3]
    assert order(domain, project, user).tolist() == [3, 2, 1, 0]
    assert order(domain, project, user, preset="documented").tolist() == [0, 1, 3, 2]
    assert order([1, 1], [1, 1], [1, 1]).tolist() == [0, 1]


def test_sessions_are_split_at_midnight() -> None:
    buckets = UsageBuckets(("cpu", "gpu")).add(
        ["ann", "bob"], [[2, 1], [1, 0]], [0.75 * DAY, 0], [1.25 * DAY, 0]
    )
    quarter = DAY / 4
    assert buckets.days == {0: {"ann": (2 * quarter, quarter)}, 1: {"ann": (2 * quarter, quarter)}}


def test_running_sessions_are_recorded_in_whole_slices() -> None:
    empty = UsageBuckets(("cpu",))
    running = empty.add(["ann"], [1], [100.0], [float("inf")], now=1000.0)
    assert running.days[0]["ann"] == (800.0,)
    assert empty.add(["ann"], [1], [950.0], [float("inf")], now=1000.0).days == {}
    with pytest.raises(InputError, match="sessions are running"):
        empty.add(["ann"], [1], [0.0], [float("inf")])
    with pytest.raises(InputError, match="at least 5"):
        empty.add(["ann"], [1], [5.0], [4.0])


def test_decay_of_buckets_within_the_window() -> None:
    days = {
        -28: {"a": (1e9,)},
        -14: {"a": (1000.0,)},
        -7: {"a": (1000.0,)},
        0: {"b": (3.0,)},
        1: {"a": (1e9,)},
    }
    buckets = UsageBuckets(("used",), days)
    assert buckets.decayed(0.5 * DAY) == {"a": {"used": 750.0}, "b": {"used": 3.0}}
    half = buckets.decayed(0, half_life_days=14)["a"]["used"]
    assert half == pytest.approx(1000 * (0.5 + 2**-0.5))
    flat = buckets.decayed(0, half_life_days=10, preset="documented")["a"]["used"]
    assert flat == 1500


def test_buckets_survive_json() -> None:
    buckets = UsageBuckets(("cpu",)).add(["ann"], [1.5], [0.0], [3 * DAY])
    again = UsageBuckets.from_dict(json.loads(json.dumps(buckets.to_dict())))
    assert again == buckets


def test_wrong_input_is_refused() -> None:
    for call in (
        lambda: factor([-1.0]),
        lambda: factor([1.0], 0.0),
        lambda: factor([1.0], preset="shipped"),
        lambda: normalised_usage({"cpu": [1]}, {"cpu": -1}),
        lambda: normalised_usage({"cpu": [1]}, {"cpu": 1}, lookback_days=0),
        lambda: order([2], [1], [1]),
    ):
        with pytest.raises(InputError):
            call()
