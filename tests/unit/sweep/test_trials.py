"""Points that Optuna proposes."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh
from tests.unit.sweep.small import POLICY, START, STRICT, WORK

SPACE: dict[str, Any] = {
    "fair_share_starvation_timeout": eh.sweep.between(5.0, 490.0, log=True),
    "pace.max_victims_per_hour": eh.sweep.between(0, 20),
    "pools.y.weight": [1, 4],
}


class Trial:
    """A trial that takes the middle, as far as the tests need one."""

    def __init__(self, hopeless_at: int = 99) -> None:
        self.hopeless_at, self.reported = hopeless_at, [(0, 0.0)][:0]

    def suggest_float(self, _: str, low: float, high: float, *, log: bool) -> float:
        return (low * high) ** 0.5 if log else (low + high) / 2

    def suggest_int(self, _: str, low: int, high: int, *, log: bool) -> int:
        assert not log
        return (low + high) // 2

    def suggest_categorical(self, _: str, values: list[Any]) -> Any:
        return values[0]

    def report(self, value: float, step: int) -> None:
        self.reported.append((step, value))

    def should_prune(self) -> bool:
        return self.reported[-1][0] >= self.hopeless_at


def test_a_trial_proposes_a_point() -> None:
    point = eh.sweep.suggest(Trial(), SPACE)
    assert point == {
        "fair_share_starvation_timeout": 2450**0.5,
        "pace.max_victims_per_hour": 10,
        "pools.y.weight": 1,
    }
    table = eh.sweep(START, POLICY, WORK, SPACE, points=[point])
    assert table["error"] == [None]


def test_ask_and_tell() -> None:
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    run = eh.sweep.objective(START, POLICY, WORK, SPACE, "waiting.p95")
    study.optimize(run, n_trials=3)
    table = eh.sweep(START, POLICY, WORK, SPACE, points=[t.params for t in study.trials])
    assert [t.value for t in study.trials] == table["waiting.p95"].tolist()


def test_hopeless_trials_are_pruned() -> None:
    optuna = pytest.importorskip("optuna")
    run = eh.sweep.objective(START, POLICY, WORK, SPACE, "waiting.p95", steps=5)
    whole = Trial()
    last = run(whole)
    assert [step for step, _ in whole.reported] == [1, 2, 3, 4]
    assert last >= 0
    pruned = Trial(hopeless_at=2)
    with pytest.raises(optuna.TrialPruned):
        run(pruned)
    assert pruned.reported == whole.reported[:2]


def test_refused_points_are_pruned() -> None:
    optuna = pytest.importorskip("optuna")
    space = {"fair_share_starvation_timeout": eh.sweep.between(600, 601)}
    with pytest.raises(eh.InputError):
        eh.sweep.objective(START, POLICY, WORK, {"nothing": [1]}, "jobs")
    run = eh.sweep.objective(START, STRICT, WORK, space, "jobs")
    with pytest.raises(optuna.TrialPruned, match="must not be shorter"):
        run(Trial())
