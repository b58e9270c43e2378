"""Points that are proposed one batch after the other, by what came of those before."""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.errors import require
from evenhand.sweep.bounds import Judge, excess
from evenhand.sweep.space import Between, Point, Space

if TYPE_CHECKING:
    from evenhand.sweep.job import Job
    from evenhand.sweep.together import Outcome

__all__ = ["Tpe"]

#: In so many batches, of two points at least, however many workers there are: what is found does not depend
#: on them. Every other point of a batch is near the best so far: a normal step of this part of each range, or
#: another value of a list with this probability.
_BATCHES, _LEAST, _STEP = 12, 2, 0.15
#: So large a part of the points is spread over the space first, and so many at most.
_SPREAD, _MOST_SPREAD = 4, 10
#: So many have to be done before any is ended early.
_ENOUGH = 8
#: In place of infinity, and of what is refused.
_HOPELESS = 1e6
#: So often another is drawn in the place of a point that was tried.
_TRIES, _FEW = 20, 10_000


class Tpe:
    """Optuna's tree-structured Parzen estimator (Bergstra et al., 2011; of several goals Ozaki et al., 2022).

    That more work is lost, or less finished, than with the settings as given breaks a constraint.
    """

    def __init__(
        self, of: Space, judge: Judge, before: Mapping[str, float], stated: Collection[str], seed: int
    ) -> None:
        self._optuna = optuna = require("optuna", "optuna")
        self.name = f"tpe {optuna.__version__} {seed}"
        self._of, self._judge, self._before, self._stated = of, judge, before, stated
        self._goals = [one for one in judge.bounds if not one.limit]
        self._rng = np.random.default_rng(seed)
        self._distributions = {name: _distribution(optuna, values) for name, values in of.values.items()}
        with _quiet():
            sampler = optuna.samplers.TPESampler(
                seed=seed,
                n_startup_trials=0,
                multivariate=True,
                constant_liar=True,
                constraints_func=lambda trial: trial.user_attrs["excess"],
            )
            self._study = optuna.create_study(sampler=sampler, directions=["minimize"] * len(self._goals))
        self._batch, self._spread = 0, list[Point]()
        self._best: Point | None = None
        self._seen: set[str] = set()
        self._asked: list[tuple[Any, Point]] = []
        self._done: list[tuple[float, float, Mapping[str, float]]] = []
        if (given := of.given()) is not None:
            with _quiet():
                self._study.enqueue_trial(self._parameters(given))
                self._one()
            self.tell([{**before}])

    def ask(self, left: int) -> list[Point]:
        """Return the next points, of so many that are left."""
        if self._batch == 0:
            self._batch = max(left // _BATCHES, _LEAST)
            self._spread = self._of.latin(min(max(left // _SPREAD, _LEAST), _MOST_SPREAD, left), self._rng)
        with _quiet():
            return [self._one(near=i % 2 == 1) for i in range(min(self._batch, left))]

    def _one(self, *, near: bool = False) -> Point:
        if self._spread:
            self._study.enqueue_trial(self._parameters(self._spread.pop(0)))
        elif near and self._best is not None:
            self._study.enqueue_trial(self._parameters(self._near(self._best)))
        for tries in range(_TRIES):
            trial = self._study.ask(self._distributions)
            point = {name: self._value(name, found) for name, found in trial.params.items()}
            if repr(point) not in self._seen or tries == _TRIES - 1:
                break
            self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
            self._study.enqueue_trial(self._parameters(self._another()))
        self._seen.add(repr(point))
        self._asked.append((trial, point))
        return point

    def _another(self) -> Point:
        """Return a point at random; where there are few, one that was not tried."""
        if self._of.combinations > _FEW:
            return self._of.random(1, self._rng)[0]
        left = [point for point in self._of.grid() if repr(point) not in self._seen]
        return left[int(self._rng.integers(len(left)))]

    def _near(self, point: Point) -> Point:
        """Return a point near another one."""
        found = {}
        for name, values in self._of.values.items():
            if isinstance(values, Between):
                step = self._rng.normal(0, _STEP)
                found[name] = values.at(
                    min(max(_part(values, point[name]) + step, 0.0), math.nextafter(1, 0))
                )
            elif self._rng.random() < _STEP:
                found[name] = values[int(self._rng.integers(len(values)))]
            else:
                found[name] = point[name]
        return found

    def tell(self, outcomes: Sequence[Outcome]) -> None:
        """Learn what came of the points that were asked for last."""
        with _quiet():
            for (trial, point), outcome in zip(self._asked, outcomes, strict=True):
                if isinstance(outcome, str):
                    values, much = [_HOPELESS] * len(self._goals), _HOPELESS
                else:
                    values, much = self._judged(outcome)
                    if all((much, max(values)) < one[:2] for one in self._done):
                        self._best = point
                    self._done.append((much, max(values), outcome))
                trial.set_user_attr("excess", [much])
                self._study.tell(trial, [min(value, _HOPELESS) for value in values])
        self._asked = []

    def pruning(self, job: Job) -> Job:
        """Return the job, which ends what was never as bad in the better half of those that are done.

        Of several goals none says which half that is.
        """
        if len(self._goals) > 1 or len(self._done) < _ENOUGH:
            return job
        better = sorted(self._done, key=lambda one: one[:2])[: (len(self._done) + 1) // 2]
        most = tuple(
            max(outcome[f"strain.until.{i}"] for *_, outcome in better)
            for i in range(1, len(self._judge.edges) - 1)
        )
        return replace(job, judge=replace(self._judge, most=most))

    def _judged(self, outcome: Mapping[str, float]) -> tuple[list[float], float]:
        """Return what is to be as small as can be, and how much of the constraints is broken."""
        much = excess(outcome, self._before, self._stated)
        if len(self._goals) == 1:
            return [self._judge.strain(outcome)], much
        limits = [one.strain(outcome) for one in self._judge.bounds if one.limit]
        much += max(max(limits, default=0.0) - 1, 0.0)
        return [one.strain(outcome) for one in self._goals], min(much, _HOPELESS)

    def _value(self, name: str, found: Any) -> Any:
        values = self._of.values[name]
        return found if isinstance(values, Between) else values[found]

    def _parameters(self, point: Point) -> dict[str, Any]:
        return {
            name: point[name] if isinstance(values, Between) else values.index(point[name])
            for name, values in self._of.values.items()
        }


def _part(values: Between, value: float) -> float:
    """Return at which part of the way a number is, as `Between.at` takes it."""
    low, high, at = (math.log(v) if values.log else v for v in (values.low, values.high, value))
    return float((at - low) / (high - low))


def _distribution(optuna: Any, values: tuple[Any, ...] | Between) -> Any:
    """Return what Optuna draws: a number of a range, or the place of a value; in order if they have one."""
    kinds = optuna.distributions
    if isinstance(values, Between):
        whole = isinstance(values.low, int) and isinstance(values.high, int)
        kind = kinds.IntDistribution if whole else kinds.FloatDistribution
        return kind(values.low, values.high, log=values.log)
    numbers = all(isinstance(value, int | float) for value in values)
    if len(values) > 2 and numbers and sorted(values) in ([*values], [*reversed(values)]):
        return kinds.IntDistribution(0, len(values) - 1)
    return kinds.CategoricalDistribution(range(len(values)))


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep what Optuna says of its experimental features and of each trial to itself."""
    log = logging.getLogger("optuna")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(level)
