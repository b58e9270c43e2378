"""Settings that meet a goal, what they cost, and how sure that is."""

from __future__ import annotations

import importlib.util
import itertools
import math
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from evenhand.accepted import SEED, count_of, instant_from, kind_of_annotation, part_of, seconds_of, taken
from evenhand.arguments import expect
from evenhand.diagnostics import Diagnostic
from evenhand.errors import InputError, Problem, printable
from evenhand.simulate.metrics import Metrics, measure
from evenhand.simulate.progress import Progress
from evenhand.simulate.workload import Workload
from evenhand.sweep.bounds import Bound, Judge, bound, in_vain, worse
from evenhand.sweep.proposing import Tpe
from evenhand.sweep.running import job_of, proposed, swept, table_of
from evenhand.sweep.space import MOST_POINTS, applied
from evenhand.sweep.tuned import Tuned, refused_text
from evenhand.table import Table

if TYPE_CHECKING:
    from datetime import timedelta

    from evenhand.model import Snapshot
    from evenhand.simulate.result import Result
    from evenhand.systems.base import Policy

__all__ = ["tune"]

_MOST_POINTS = 64
_MOST_WINDOWS = 10_000
_LIMITS = kind_of_annotation("Mapping[str, float] | None")
_SAMPLERS = kind_of_annotation("Literal['tpe', 'random'] | None")
_RATE = "preemptions_per_hour"
#: Strains that differ by less than this factor are level: windows decide between such points.
_LEVEL = 1.1


def tune(
    snapshot: Snapshot,
    policy: Policy,
    workload: Workload,
    space: Mapping[str, Any],
    goal: str | Sequence[str],
    at_most: Mapping[str, float] | None = None,
    *,
    points: int = _MOST_POINTS,
    sampler: Literal["tpe", "random"] | None = None,
    train_windows: int = 3,
    held_out: float = 0.3,
    windows: int = 5,
    warm_up: float | str | timedelta = 0.0,
    until: float | str | timedelta | None = None,
    seed: int | None = None,
    executor: Executor | None = None,
    workers: int | None = None,
    resume: str | os.PathLike[str] | None = None,
    progress: Progress = False,
    **clocks: float | str,
) -> Tuned:
    """Return settings that meet a goal, what they cost, and how sure it is.

    Every point is simulated on the first part of the time in which work arrives, and so are the settings as
    given; if the space has these, and points are drawn, they may be what is returned. Points at which more
    work is lost than kept come last, whatever bounds hold there; before them those that lose more work, or
    finish less, than the settings as given, unless ``at_most`` or the goal says how much ``lost_work`` (or
    ``goodput``) may be. Of the others those are looked at at which all bounds hold, if there are any, and
    whose nearest bound is about as far away as can be (a strain within a tenth of the least). Of these the
    one is taken that is best on average over the windows of that part of the time; of several that are equal
    in that the one that loses less work (of its resource of which that is the largest part), then the one
    that preempts less. Then the rest of the time is simulated, too, and measured on its own.

    Parameters
    ----------
    snapshot, policy, workload, space, warm_up, seed, executor, workers, resume, progress, **clocks
        As of `evenhand.sweep`.
    goal : str or sequence of str
        ``"starvation.p95 < 600"``: a metric of `evenhand.simulate.measure`, one of ``< <= > >=``, a number.
        A metric with nothing to measure does not meet it. Several are objectives of their own for the
        sampler; `Tuned.front` has the points that no other is better than.
    at_most : mapping of str to number, optional
        Further metrics, and what they may be at most. One with nothing to measure is not too much.
    points : int
        All combinations of values if there are no more than that; else so many are drawn.
    sampler : {"tpe", "random"}, optional
        How: Optuna's tree-structured Parzen estimator proposes points that learn from those before, or a
        Latin hypercube. By default the first where Optuna is installed, and the second, with the diagnostic
        ``optuna_missing``, where it is not.
    train_windows : int
        Equal windows of the part that is tuned on, by which points that are level are told apart.
    held_out : number
        Part of the time that is not tuned on, between 0 and 1.
    windows : int
        Equal parts of what is held out, in each of which the bounds are looked at.
    until : number, str or timedelta, optional
        Instant at which it ends, in seconds, or text such as ``"10d"``: so long after the beginning; by
        default when the last work arrives.

    Returns
    -------
    Tuned

    Raises
    ------
    InputError
        If an argument is wrong, there is no such metric, or every point was refused.
    MissingExtraError
        If the sampler is ``"tpe"`` and Optuna is not installed.
    OSError
        If the file of ``resume`` cannot be read or written.

    Notes
    -----
    A simulation a point, each ended as soon as a limit on preemptions is certain to break, and two others.
    Of the points that Optuna proposes every other one is replaced by a step from the best so far. They are
    proposed in a dozen batches, whatever the number of workers, and ended at the end of a window, too, where
    their strain so far is above that of all in the better half of those before (of one goal). A spell of
    starvation counts with its part in the time that is measured.

    Examples
    --------
    >>> import evenhand as eh
    >>> work = eh.simulate.Workload({
    ...     "name": range(60), "resources.cpu": [4] * 60, "pool": ["x", "x", "y"] * 20,
    ...     "run_time": [70] * 60, "submit_time": range(0, 2400, 40)})
    >>> policy = eh.policies.YTsaurus(fair_share_aggressive_starvation_timeout=900)
    >>> tuned = eh.tune(work.snapshot(nodes=1, cpu=8), policy, work,
    ...                 {"fair_share_starvation_timeout": [5, 60, 600]},
    ...                 goal="waiting.p95 < 30", at_most={"preemptions": 9})
    >>> tuned.settings, tuned.met, tuned.held
    ({'fair_share_starvation_timeout': 5}, True, True)
    """
    held_out = part_of("tune", "held_out", held_out)
    points = count_of("tune", "points", points, 1, MOST_POINTS)
    sampler = taken("tune", "sampler", sampler, _SAMPLERS)
    windows = count_of("tune", "windows", windows, 1, _MOST_WINDOWS)
    train_windows = count_of("tune", "train_windows", train_windows, 1, _MOST_WINDOWS)
    seed = None if seed is None else taken("tune", "seed", seed, SEED)
    warm_up = seconds_of("tune", "warm_up", warm_up)
    limits = taken("tune", "at_most", at_most, _LIMITS) or {}
    expect(isinstance(workload, Workload), "tune", "workload", workload, "a Workload")
    bounds = (*_goals(goal), *(Bound(str(name), "<=", float(v), True) for name, v in limits.items()))
    names = tuple(dict.fromkeys(b.metric for b in bounds))
    job, of = job_of(
        snapshot, policy, workload, space, (*names, _RATE), warm_up=warm_up, rng=seed, clocks=clocks
    )
    lost = {f"lost_work.{r}": max(float(amount), 1e-9) for r, amount in job.snapshot.total.items()}
    kept = [f"goodput.{resource}" for resource in job.snapshot.total]
    job = replace(job, metrics=tuple(dict.fromkeys([*names, *kept, *lost, _RATE])))
    begin, end = job.snapshot.now, workload.end
    if until is not None:
        end = instant_from("tune", "until", until, begin, least=begin, zone=workload._zone)
    split = end - (end - begin) * held_out
    expect(split - begin > warm_up, "tune", "warm_up", warm_up, "shorter than what is tuned on")
    hours = (split - begin - warm_up) / 3600
    counted = {"preemptions": 1.0, "preemptions_per_hour": hours}
    caps = [limits[name] * factor for name, factor in counted.items() if name in limits]
    judge = Judge(bounds, _edges(begin + warm_up, split, train_windows))
    job = replace(job, until=split, most_preemptions=min(caps, default=None), judge=judge)
    before = replace(job, policies=(policy,), most_preemptions=None).run({})
    stated = {b.metric for b in bounds}
    missing: tuple[Diagnostic, ...] = ()
    if of.combinations <= points:
        how, tried = "grid", of.grid()
    else:
        if sampler is None and importlib.util.find_spec("optuna") is None:
            missing = (_without_optuna(points),)
        how = sampler or ("random" if missing else "tpe")
    if how == "tpe":
        proposer = Tpe(of, judge, before, stated, seed or 0)
        tried, found = proposed(job, of, proposer, points, executor, workers, resume, progress)
    else:
        tried = tried if how == "grid" else of.latin(points, np.random.default_rng(seed or 0))
        found = swept(job, of, tried, executor, workers, resume, progress)

    if all(isinstance(outcome, str) for outcome in found):
        said = "; ".join(filter(None, refused_text([str(outcome) for outcome in found])))
        message = f"no point could be simulated to its end: {said}"
        raise InputError([Problem("tune", None, None, "space", "refused", None, printable(message))])
    table, count = table_of(job, of, tried, found), len(tried)
    given = None if how == "grid" else of.given()
    if given is not None:  # nothing is recommended that is farther from the goal than what there is
        tried, found = [*tried, given], [*found, before]
    strains = [math.nan if isinstance(outcome, str) else judge.strain(outcome) for outcome in found]
    lesser = [None if isinstance(outcome, str) else worse(outcome, before, stated) for outcome in found]
    met = [
        not isinstance(outcome, str) and not in_vain(outcome) and all(b.holds(outcome) for b in bounds)
        for outcome in found
    ]

    def standing(i: int) -> tuple[bool, bool, bool]:
        outcome = found[i]
        assert not isinstance(outcome, str)  # noqa: S101 - it has a strain
        return in_vain(outcome), lesser[i] is not None, not met[i]

    def cost(i: int) -> tuple[float, float, float, int]:
        outcome = found[i]
        assert not isinstance(outcome, str)  # noqa: S101
        parts = [v for name, v in outcome.items() if name.startswith("strain.window.") and v == v]
        average = sum(parts) / len(parts) if parts else math.inf
        most = max(outcome[name] / total for name, total in lost.items())
        return average, most, outcome[_RATE], i

    done = [i for i, strain in enumerate(strains) if strain == strain]
    first = min(done, key=lambda i: (*standing(i), strains[i]))
    level = [i for i in done if standing(i) == standing(first) and strains[i] <= strains[first] * _LEVEL]
    best = min(level, key=cost)
    point = tried[best]
    run = replace(job, metrics=None, judge=None).started(point)
    run.run(end)
    result = run.result()
    changed = applied(job.snapshot, of.policy_of(point), point)
    check = measure(result, warm_up=split - begin)
    held = _windows(result, judge, _edges(split, end, windows), names, end)
    rows = [bool(row) for row in held["holds"] if row is not None]
    return Tuned(
        settings={name: of.shown(name, [point])[0] for name in point},
        snapshot=changed[0],
        policy=changed[1],
        bounds=bounds,
        met=met[best] and lesser[best] is None,
        held=all(b.holds(check) for b in bounds),
        sure=sum(rows) / len(rows) if rows else math.nan,
        train=measure(result, warm_up=warm_up, until=split),
        check=check,
        points=Table(
            {
                **{name: table[name] for name in table.columns if not name.startswith("strain.until.")},
                "strain": strains[:count],
            },
            title="points",
            provenance=table.provenance,
        ),
        windows=held,
        train_windows=_windows(result, judge, judge.edges, names, end),
        sampler=how,
        diagnostics=(*missing, *result.diagnostics),
        before=before,
        worse=lesser[best],
        met_but_worse=sum(m and w is not None for m, w in zip(met, lesser, strict=True)),
    )


def _goals(goal: Any) -> tuple[Bound, ...]:
    """Read one goal, or several."""
    several = isinstance(goal, Sequence) and not isinstance(goal, str) and len(goal) > 0
    return tuple(bound(one) for one in (goal if several else [goal]))


def _edges(begin: float, end: float, count: int) -> tuple[float, ...]:
    """Return where so many equal windows begin and end."""
    return (*(begin + (end - begin) / count * i for i in range(count)), end)


def _windows(result: Result, judge: Judge, edges: Sequence[float], names: Sequence[str], end: float) -> Table:
    """Return the metrics of bounds in windows, how near the nearest is to breaking, and whether all hold."""
    begin = result.snapshot.now
    measured: list[Metrics] = [
        measure(result, warm_up=a - begin, until=b if b < end else None) for a, b in itertools.pairwise(edges)
    ]
    strains = [judge.within(m) for m in measured]
    return Table(
        {
            "from": [*edges[:-1]],
            "until": [*edges[1:]],
            **{name: [float(m.get(name, 0)) for m in measured] for name in names},
            "strain": strains,
            "holds": [
                None if s != s else all(b.holds(m) for b in judge.bounds)
                for m, s in zip(measured, strains, strict=True)
            ],
        },
        title="windows",
    )


def _without_optuna(points: int) -> Diagnostic:
    said = (
        f"Optuna is not installed: {points} points were drawn at random, which learn nothing from each other;"
        " pip install 'evenhand[optuna]', or choose the sampler \"random\" where that is what is wanted"
    )
    return Diagnostic("optuna_missing", (), said, {"points": points})
