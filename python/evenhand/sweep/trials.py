"""Sweeps that learn as they go: Optuna proposes points."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from evenhand.accepted import SEED, count_of, kind_of_annotation, seconds_of, taken
from evenhand.arguments import expect
from evenhand.errors import InputError, require, shorten
from evenhand.simulate.metrics import measure
from evenhand.simulate.workload import Workload
from evenhand.sweep.running import job_of
from evenhand.sweep.space import MOST_POINTS, Between, Point

if TYPE_CHECKING:
    from datetime import timedelta

    from evenhand.model import Snapshot
    from evenhand.systems.base import Policy

__all__ = ["objective", "suggest"]


def suggest(trial: Any, space: Mapping[str, Any]) -> Point:
    """Return a point of a space that a trial of Optuna proposes.

    Parameters
    ----------
    trial : optuna.Trial
        Of ``study.ask()``, or what an objective is called with.
    space : mapping of str to values
        As of `evenhand.sweep`; policies by label.

    Returns
    -------
    dict
        For ``evenhand.sweep(..., points=[...])``.
    """
    expect(isinstance(space, Mapping), "suggest", "space", space, "an object (dotted name: its values)")
    expect(hasattr(trial, "suggest_categorical"), "suggest", "trial", trial, "a trial of Optuna")
    point: Point = {}
    for name, values in space.items():
        if not isinstance(values, Between):
            listed = isinstance(values, Iterable) and not isinstance(values, str | bytes | type)
            expect(listed, "suggest", shorten(name), values, "a list of values, or between(low, high)")
            point[name] = trial.suggest_categorical(name, list(values))
        elif isinstance(values.low, int) and isinstance(values.high, int):
            point[name] = trial.suggest_int(name, values.low, values.high, log=values.log)
        else:
            point[name] = trial.suggest_float(name, values.low, values.high, log=values.log)
    return point


def objective(
    snapshot: Snapshot,
    policy: Policy,
    workload: Workload,
    space: Mapping[str, Any],
    metric: str,
    *,
    until: float | str | timedelta | None = None,
    warm_up: float | str | timedelta = 0.0,
    seed: int | None = None,
    steps: int = 8,
    **clocks: float | str,
) -> Callable[[Any], float]:
    """Return what ``study.optimize`` calls: the metric of a simulation at the point that a trial proposes.

    Parameters
    ----------
    snapshot, policy, workload, space, until, warm_up, seed, **clocks
        As of `evenhand.sweep`.
    metric : str
        Name of a metric of `evenhand.simulate.measure`.
    steps : int
        How often on the way the trial hears of the metric so far, and is asked whether it is hopeless: then
        the simulation ends, and the trial is pruned.

    Returns
    -------
    callable

    Raises
    ------
    InputError
        As of `evenhand.sweep`. A point that is refused prunes its trial.
    """
    steps = count_of("objective", "steps", steps, 1, MOST_POINTS)
    metric = taken("objective", "metric", metric, kind_of_annotation("str"))
    seed = None if seed is None else taken("objective", "seed", seed, SEED)
    warm_up = seconds_of("objective", "warm_up", warm_up)
    expect(isinstance(workload, Workload), "objective", "workload", workload, "a Workload")
    labels = space.get("policy") if isinstance(space, Mapping) else None
    job, of = job_of(
        snapshot, policy, workload, space, None, until=until, warm_up=warm_up, rng=seed, clocks=clocks
    )
    job.keeping([metric])
    until = job.until
    shown = {**space, **({"policy": [*of.labels]} if labels is not None else {})}

    def run(trial: Any) -> float:
        pruned = require("optuna", "optuna").TrialPruned
        (point,) = of.listed([suggest(trial, shown)])
        try:
            simulation = job.started(point)
        except InputError as error:
            raise pruned(str(error)) from error
        end = workload.end if until is None else until
        for step in range(1, steps):
            now = snapshot.now + (end - snapshot.now) * step / steps
            simulation.run(now)
            if now - snapshot.now <= warm_up:
                continue
            so_far = float(measure(simulation.result(), warm_up=warm_up)[metric])
            if so_far == so_far:
                trial.report(so_far, step)
                if trial.should_prune():
                    raise pruned
        simulation.run(until)
        return float(measure(simulation.result(), warm_up=warm_up)[metric])

    return run
