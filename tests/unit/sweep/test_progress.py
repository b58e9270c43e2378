"""How far a sweep or a simulation is, and what a point that no clock could have is."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.simulate import running
from evenhand.sweep import space as spaces
from evenhand.sweep.running import job_of, swept
from tests.unit.sweep.small import POLICY, START, WORK

SPACE = {"pools.y.weight": [1, 2, 3], "fair_share_starvation_timeout": [5, 600]}


class Stop(Exception):
    """What a caller's own function raises."""


def told(calls: list[tuple[float, float]]) -> Callable[[float, float], None]:
    return lambda done, total: calls.append((done, total))


def test_a_sweep_tells_after_each_point(tmp_path: Path) -> None:
    calls: list[tuple[float, float]] = []
    options: dict[str, Any] = {"until": 300, "resume": tmp_path / "points", "workers": 1}
    eh.sweep(START, POLICY, WORK, {"pools.y.weight": [1, 2]}, until=300, progress=told(calls))
    assert calls == [(1, 2), (2, 2)]
    calls.clear()

    def stops(done: float, _: float) -> None:
        calls.append((done, 0))
        if done == 2:
            raise Stop

    with pytest.raises(Stop):
        eh.sweep(START, POLICY, WORK, SPACE, progress=stops, **options)
    assert calls == [(1, 0), (2, 0)]
    kept = (tmp_path / "points").read_bytes().count(b"\n") - 1
    assert kept == 2, "what is done stays in the file"
    calls.clear()
    table = eh.sweep(START, POLICY, WORK, SPACE, progress=told(calls), **options)
    assert calls == [(done, 6) for done in (3, 4, 5, 6)]
    plain = eh.sweep(START, POLICY, WORK, SPACE, until=300)
    assert pickle.dumps(table.to_dict()) == pickle.dumps(plain.to_dict())


def test_a_simulation_tells_of_the_time_in_which_work_arrives() -> None:
    calls: list[tuple[float, float]] = []
    whole = eh.simulate.simulate(START, POLICY, WORK, progress=told(calls))
    total = WORK.end - START.now
    assert calls[-1] == (total, total)
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)
    assert {of for _, of in calls} == {total}
    plain = eh.simulate.simulate(START, POLICY, WORK).metrics
    assert list(whole.metrics.values()) == pytest.approx(list(plain.values()), nan_ok=True)
    calls.clear()
    eh.simulate.simulate(START, POLICY, WORK, until=100, progress=told(calls))
    assert calls[-1] == (100, 100)

    def stops(done: float, total: float) -> None:
        raise Stop

    with pytest.raises(Stop):
        eh.simulate.simulate(START, POLICY, WORK, progress=stops)


def test_tune_tells_of_its_points() -> None:
    calls: list[tuple[float, float]] = []
    goal = "waiting.p95 < 3000"
    eh.tune(START, POLICY, WORK, {"pools.y.weight": [1, 2]}, goal, workers=1, progress=told(calls))
    assert calls == [(1, 2), (2, 2)]


@pytest.mark.parametrize("progress", ["yes", 1, None, []])
def test_what_is_neither_a_flag_nor_a_function_is_refused(progress: Any) -> None:
    for call in (
        lambda: eh.simulate.simulate(START, POLICY, WORK, until=9, progress=progress),
        lambda: eh.sweep(START, POLICY, WORK, {"pools.y.weight": [1]}, until=9, progress=progress),
    ):
        with pytest.raises(eh.InputError, match=r"progress is .*true, false, or a function"):
            call()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 1e19, "soon", -1, None, [1]])
def test_a_point_that_no_clock_could_have_is_a_row_with_its_error(value: Any) -> None:
    table = eh.sweep(START, POLICY, WORK, {"heartbeat_period": [60, value, "30s"]}, until=300, workers=1)
    assert [error is None for error in table["error"]] == [True, False, True]
    assert "heartbeat_period" in table["error"][1]
    alone = eh.sweep(START, POLICY, WORK, {"heartbeat_period": [60, "30s"]}, until=300, workers=1)
    assert [table["jobs"][i] for i in (0, 2)] == list(alone["jobs"])
    assert [table["preemptions"][i] for i in (0, 2)] == list(alone["preemptions"])


def test_ends_as_text_count_from_the_beginning() -> None:
    late = START.replace(now=500)
    space = {"pools.y.weight": [1, 2]}
    by_text = eh.sweep(late, POLICY, WORK, space, until="10m", warm_up="1m")
    by_number = eh.sweep(late, POLICY, WORK, space, until=1100, warm_up=60)
    assert pickle.dumps(by_text.to_dict()) == pickle.dumps(by_number.to_dict())
    with pytest.raises(eh.InputError, match="until is 499, before the beginning"):
        eh.sweep(late, POLICY, WORK, space, until=499)
    eh.sweep(late, POLICY, WORK, space, until=500)
    result = eh.simulate.simulate(late, POLICY, WORK, until="10m")
    assert result.span == (500, 1100)
    one = eh.simulate.measure(result, warm_up="1m", until="5m", slowdown_bound="10s", flap_within="10m")
    other = eh.simulate.measure(result, warm_up=60, until=800, slowdown_bound=10, flap_within=600)
    assert list(one.values()) == pytest.approx(list(other.values()), nan_ok=True)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"space": {0: [1]}}, "a key"),
        ({"space": {"pools.y.weight": b"x"}}, "pools.y.weight"),
        ({"space": {"policy": 5}}, "policy"),
        ({"space": {"policy": [5]}}, "policy"),
        ({"space": {"pools.y.weight": range(2**40)}}, "pools.y.weight"),
        ({"executor": 0}, "executor"),
        ({"metrics": 0}, "metrics"),
        ({"points": 0}, "points"),
        ({"points": "x"}, "points"),
        ({"random": 10**7}, "random"),
        ({"lhs": np.float64(5)}, "lhs"),
        ({"seed": -1}, "seed"),
        ({"resume": []}, "resume"),
        ({"until": float("nan")}, "until"),
        ({"warm_up": float("inf")}, "warm_up"),
        ({"workers": 2**60}, "workers"),
    ],
    ids=str,
)
def test_arguments_of_other_kinds_are_refused_by_name(arguments: dict[str, Any], field: str) -> None:
    given = {"space": {"pools.y.weight": [1]}, "until": 9, "workers": 1, **arguments}
    with pytest.raises(eh.InputError) as error:
        eh.sweep(START, POLICY, WORK, **given)
    assert error.value.problems[0].field == field


def test_more_combinations_than_a_sweep_may_have() -> None:
    space = {f"pools.{name}.weight": range(1, 1002) for name in ("x", "y")}
    with pytest.raises(eh.InputError, match=r"space has 1,002,001 combinations; give random= or lhs="):
        eh.sweep(START, POLICY, WORK, space, until=9)


def test_numbers_of_numpy_are_numbers() -> None:
    space = {"fair_share_starvation_timeout": np.array([5, 500])}
    options: dict[str, Any] = {"until": np.int64(300), "warm_up": np.float32(0), "workers": np.int8(1)}
    table = eh.sweep(START, POLICY, WORK, space, seed=np.uint8(3), **options)
    plain = eh.sweep(START, POLICY, WORK, {"fair_share_starvation_timeout": [5, 500]}, until=300, seed=3)
    assert pickle.dumps(table.to_dict()) == pickle.dumps(plain.to_dict())


def test_as_many_points_as_there_may_be_and_one_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spaces, "MOST_POINTS", 4)
    four = eh.sweep(START, POLICY, WORK, {"pools.y.weight": [1, 2, 3, 4]}, until=9, workers=1)
    assert len(four) == 4
    for space, said in (
        ({"pools.y.weight": [1, 2, 3, 4, 5]}, "has more than 4 values"),
        ({"pools.y.weight": [1, 2, 3], "pools.x.weight": [1, 2]}, "6 combinations"),
    ):
        with pytest.raises(eh.InputError, match=said):
            eh.sweep(START, POLICY, WORK, space, until=9)
    squares = {"pools.y.weight": [1, 2], "pools.x.weight": [1, 2]}
    assert len(eh.sweep(START, POLICY, WORK, squares, until=9, workers=1)) == 4


@pytest.mark.parametrize(
    ("low", "high", "log", "right"),
    [
        (1, 2, False, True),
        (1, 1, False, False),
        (2, 1, False, False),
        (0, 1, False, True),
        (0, 1, True, False),
        (1e-300, 1, True, True),
        (-1e308, 1e308, False, False),
        (-8e307, 8e307, False, True),
        (1, 10**400, False, False),
        (float("nan"), 1, False, False),
        ("1", 2, False, False),
        (np.int64(1), np.float64(2.5), False, True),
    ],
)
def test_what_a_range_may_be(low: Any, high: Any, log: bool, right: bool) -> None:
    if right:
        found = eh.sweep.between(low, high, log=log)
        assert found.low <= found.at(0) <= found.at(0.999) <= found.high
        for part in (1, -0.1, float("nan"), "x"):
            with pytest.raises(eh.InputError, match="part is"):
                found.at(part)  # type: ignore[arg-type]
    else:
        with pytest.raises(eh.InputError):
            eh.sweep.between(low, high, log=log)


def test_a_limit_on_preemptions_holds_at_exactly_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the same run: with as many as there are it is simulated to its end, with one fewer it is ended."""
    monkeypatch.setattr(running, "_PORTION", 10)  # how often a run is looked at
    space = {"fair_share_starvation_timeout": [5]}
    end = WORK.begin + (WORK.end - WORK.begin) * 0.7
    (count,) = eh.sweep(START, POLICY, WORK, space, until=end, metrics=["preemptions"])["preemptions"]
    assert count > 2
    for most, refused in ((count, False), (count - 1, True)):
        job, of = job_of(START, POLICY, WORK, space, ["preemptions"], until=end, warm_up=0.0)
        (found,) = swept(replace(job, most_preemptions=most), of, of.grid(), None, 1, None, False)
        assert isinstance(found, str) == refused
    early = eh.sweep(START, POLICY, WORK, space, until=end, warm_up=600, metrics=["jobs", "preemptions"])
    assert early["jobs"][0] < eh.sweep(START, POLICY, WORK, space, until=end, metrics=["jobs"])["jobs"][0]
