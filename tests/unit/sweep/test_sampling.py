"""Points that `tune` has proposed: what they learn from, which are ended early, and which is taken."""

from __future__ import annotations

import math
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand.sweep.bounds import Judge, bound, excess, worse
from evenhand.sweep.running import job_of
from evenhand.sweep.space import Space
from evenhand.sweep.tuned import refused_text
from tests.unit.sweep.small import POLICY, START, STRICT, WORK

TIMEOUT = "fair_share_starvation_timeout"
SPACE: dict[str, Any] = {
    TIMEOUT: eh.sweep.between(5.0, 490.0, log=True),
    "pace.max_victims_per_hour": eh.sweep.between(0, 20),
    "pools.y.weight": [1, 2, 4],
}
GOAL = "waiting.p95 < 100"


def tuned(**options: Any) -> eh.sweep.Tuned:
    given = {"goal": GOAL, "points": 14, "seed": 3, "sampler": "tpe", "space": SPACE, "policy": POLICY}
    given |= options
    return eh.tune(START, given.pop("policy"), WORK, given.pop("space"), given.pop("goal"), **given)


def test_proposed_points_do_not_depend_on_who_computes_them(tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    expected = tuned(workers=1)
    assert expected.sampler == "tpe"
    assert "points were proposed by Optuna's TPE" in repr(expected)
    points = expected.points.to_dict()
    assert len({*zip(*(points[name] for name in SPACE), strict=True)}) == len(expected.points) == 14
    assert repr(tuned(workers=3)) == repr(expected)
    with ProcessPoolExecutor(2) as executor:
        assert repr(tuned(executor=executor).points.to_dict()) == repr(points)
    file = tmp_path / "points"
    calls: list[Any] = []

    def cut(done: float, of: float) -> None:
        calls.append((done, of))
        if done == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tuned(resume=file, progress=cut)
    assert calls == [(i, 14) for i in range(1, 7)]
    calls.clear()
    assert repr(tuned(resume=file, progress=lambda *call: calls.append(call))) == repr(expected)
    assert calls == [(i, 14) for i in range(7, 15)]


def test_points_that_are_refused_are_learnt_from() -> None:
    """Above 500 each is refused: of those that are proposed after the spread fewer are."""
    pytest.importorskip("optuna")
    space = {TIMEOUT: eh.sweep.between(5.0, 2000.0)}
    found = tuned(space=space, policy=STRICT, points=24)
    refused = [error is not None for error in found.points["error"]]
    assert sum(refused[:8]) == 6  # a quarter of the space is allowed
    assert sum(refused[8:]) < 12
    assert found.settings[TIMEOUT] <= 500


def test_several_goals_have_a_front() -> None:
    pytest.importorskip("optuna")
    found = tuned(goal=["waiting.p95 < 100", "utilisation.cpu > 0.9"], at_most={"preemptions": 50})
    assert [str(b) for b in found.bounds] == [
        "waiting.p95 < 100",
        "utilisation.cpu > 0.9",
        "preemptions <= 50",
    ]
    front = found.front
    assert 1 <= len(front) <= 14
    rows = found.points
    best = min(w for w in rows["waiting.p95"] if w == w)
    assert best in front["waiting.p95"].tolist()
    assert max(u for u in rows["utilisation.cpu"] if u == u) in front["utilisation.cpu"].tolist()
    assert not any("better half" in (error or "") for error in rows["error"])


def test_without_optuna_points_are_drawn_and_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    found = tuned(sampler=None)
    assert found.sampler == "random"
    assert found.diagnostics[0].code == "optuna_missing"
    assert "optuna_missing: Optuna is not installed: 14 points were drawn at random" in repr(found)
    asked = tuned(sampler="random")
    assert repr(asked.points.to_dict()) == repr(found.points.to_dict())
    assert "optuna_missing" not in repr(asked)
    with pytest.raises(eh.MissingExtraError, match="optuna"):
        tuned(sampler="tpe")
    assert tuned(sampler=None, space={TIMEOUT: [5, 30]}).sampler == "grid"


def test_an_unknown_sampler_is_refused() -> None:
    with pytest.raises(eh.InputError, match="sampler"):
        tuned(sampler="grid")


@pytest.mark.parametrize("times", [1.0, 1 - 1e-9])
def test_a_run_is_ended_where_it_was_never_as_bad_in_a_better_one(times: float) -> None:
    """At the end of a window its strain so far is as large as the largest of those, or one step above."""
    end = WORK.end
    edges = (START.now, (START.now + end) / 2, end)
    judge = Judge((bound(GOAL),), edges)
    job, _ = job_of(START, POLICY, WORK, SPACE, ["waiting.p95"], warm_up=0, rng=None, until=end)
    job = replace(job, judge=judge)
    whole = job.run({})
    half = eh.simulate.measure(eh.simulate(START, POLICY, WORK, until=edges[1]))["waiting.p95"] / 100
    assert whole["strain.until.1"] == pytest.approx(half)
    assert whole["strain.window.1"] == pytest.approx(half)
    ended = replace(job, judge=replace(judge, most=(whole["strain.until.1"] * times,)))
    if times == 1:
        assert ended.run({}) == whole
        return
    with pytest.raises(eh.InputError, match="none of the better half of those before had then"):
        ended.run({})


def test_points_ended_early_are_counted_apart() -> None:
    errors = ["ended at 5 s: 4 preemptions", None, "ended at 6 s: 5 preemptions", "is wrong", None]
    assert refused_text(errors) == [
        "1 of 5 points were refused: is wrong",
        "2 of 5 points were ended early, as they could not be the best",
        "",
    ]


def test_of_level_points_the_one_that_is_better_in_windows_is_taken() -> None:
    """What is within a tenth of the least strain is level."""
    space = {TIMEOUT: [5, 20, 40, 60, 100, 200, 300, 490], "pools.y.weight": [1, 2, 4]}
    found = tuned(
        goal="slowdown.p95 < 3", space=space, points=24, train_windows=4, at_most={"lost_work.cpu": 1e9}
    )
    assert found.sampler == "grid"
    points = found.points.to_dict()
    windows = [points[f"strain.window.{i}"] for i in range(1, 5)]
    least = min(points["strain"])
    average = {
        i: sum(known) / len(known)
        for i, strain in enumerate(points["strain"])
        if strain <= least * 1.1 and (known := [w[i] for w in windows if w[i] == w[i]])
    }
    best = min(average, key=average.__getitem__)
    assert found.settings == {name: points[name][best] for name in space}
    assert points["strain"][best] > least, "it would be taken without windows"
    table = found.train_windows
    assert [*table["strain"]] == pytest.approx([w[best] for w in windows], nan_ok=True)
    known = [strain for strain in table["strain"] if strain == strain]
    assert f"; {min(known):.3g} to {max(known):.3g} in windows tuned on\n" in repr(found)


def test_the_settings_as_given_are_known_and_not_tried_again() -> None:
    pytest.importorskip("optuna")
    space = {TIMEOUT: [5, 30, 100, 300, 490, 495], "pace.max_victims_per_hour": [0, 1, 2, 3, 20]}
    found = tuned(policy=POLICY.replace(**{TIMEOUT: 30}), space=space, points=29)
    points = {*zip(found.points[TIMEOUT], found.points["pace.max_victims_per_hour"], strict=True)}
    every = {(a, b) for a in space[TIMEOUT] for b in space["pace.max_victims_per_hour"]}
    assert every - points == {(30, 20)}


@pytest.mark.parametrize("sampler", ["tpe", "random"])
def test_what_is_nearer_than_all_points_is_returned_as_it_was_given(sampler: str) -> None:
    """The settings as given preempt least, and all points more."""
    if sampler == "tpe":
        pytest.importorskip("optuna")
    space = {TIMEOUT: eh.sweep.between(5.0, 60.0), "pace.max_victims_per_hour": eh.sweep.between(0, 20)}
    policy = POLICY.replace(pace={"max_victims_per_hour": 0})
    found = tuned(policy=policy, space=space, goal="preemptions < 0.5", sampler=sampler, points=2, seed=1)
    assert 0 not in found.points["preemptions"].tolist()
    assert found.settings == {TIMEOUT: 30.0, "pace.max_victims_per_hour": 0}
    assert (found.met, found.worse, len(found.points)) == (True, None, 2)


@pytest.mark.parametrize(
    ("space", "point"),
    [
        ({TIMEOUT: [5, 30]}, {TIMEOUT: 30}),
        ({TIMEOUT: [5, 31]}, None),
        ({TIMEOUT: eh.sweep.between(30, 31)}, {TIMEOUT: 30}),
        ({TIMEOUT: eh.sweep.between(29.0, 30.0)}, {TIMEOUT: 30}),
        ({TIMEOUT: eh.sweep.between(30.001, 31)}, None),
        ({"pace.max_victims_per_hour": [20], "step_function_for_gang": [True]}, None),
        ({"pace.max_victims_per_hour": [20], TIMEOUT: [30]}, {"pace.max_victims_per_hour": 20, TIMEOUT: 30}),
        ({"pools.y.weight": [1, 2]}, None),
        ({"policy": [POLICY]}, None),
        ({"heartbeat_period": [5.0]}, None),
    ],
)
def test_the_point_of_the_settings_as_given(space: dict[str, Any], point: Any) -> None:
    assert Space(space, POLICY.replace(**{TIMEOUT: 30})).given() == point


@pytest.mark.parametrize(
    ("found", "stated", "much"),
    [
        ((9, 5), (), 0),
        ((10, 4), (), 0),
        ((9, 5.7), (), 0.05),
        ((8.3, 5), (), 0.05),
        ((8.3, 5.7), (), 0.1),
        ((8.3, 5.7), ("lost_work.cpu",), 0),
        ((8.3, 5.7), ("goodput.cpu",), 0.05),
        ((5, 6.4), ("lost_work.cpu",), 0.1),  # in vain
        ((9 - 1e-12, 5 + 1e-12), (), 0),
    ],
)
def test_how_much_is_worse(found: tuple[float, float], stated: tuple[str, ...], much: float) -> None:
    def metrics(kept: float, lost: float) -> dict[str, float]:
        return {"goodput.cpu": kept, "lost_work.cpu": lost}

    assert excess(metrics(*found), metrics(9, 5), stated) == pytest.approx(much)
    vain = found[1] > found[0]
    assert (much > 0) == (vain or worse(metrics(*found), metrics(9, 5), stated) is not None)


def test_a_goal_that_cannot_be_measured_in_a_window_tells_nothing() -> None:
    judge = Judge((bound("waiting.p95 < 5"), replace(bound("flaps < 1"), limit=True)), (0.0, 1.0))
    assert math.isnan(judge.within({"waiting.p95": math.nan, "flaps": 3}))
    assert judge.strain({"waiting.p95": math.nan, "flaps": 3}) == math.inf
    assert judge.within({"waiting.p95": 1, "flaps": math.nan}) == 0.2


def test_windows_that_keep_and_break_bounds_are_counted_where_all_can_be_measured() -> None:
    options: dict[str, Any] = {"sampler": "random", "points": 4, "windows": 4}
    seen = sorted(tuned(goal="utilisation.cpu > 0.1", **options).windows["utilisation.cpu"].tolist())
    assert seen[0] < seen[-1] < 1.1
    least = round((seen[0] + seen[-1]) / 2, 6)
    found = tuned(goal=f"utilisation.cpu > {least}", **options)
    keep = sum(value > least for value in found.windows["utilisation.cpu"].tolist())
    assert 0 < keep < 4
    assert f"; of its 4 windows {keep} keep all bounds, {4 - keep} break one or more\n" in repr(found)
    assert (type(found.sure), found.sure) == (float, keep / 4)
