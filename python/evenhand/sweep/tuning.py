"""Settings that meet a goal, what they cost, and how sure that is."""

from __future__ import annotations

import itertools
import math
import os
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.accepted import SEED, count_of, instant_from, kind_of_annotation, part_of, seconds_of, taken
from evenhand.arguments import expect
from evenhand.errors import InputError, Problem, printable
from evenhand.simulate.metrics import Metrics, measure
from evenhand.simulate.progress import Progress
from evenhand.simulate.workload import Workload
from evenhand.sweep.running import job_of, swept, table_of
from evenhand.sweep.space import MOST_POINTS, applied
from evenhand.table import Table, Tabular

if TYPE_CHECKING:
    from datetime import timedelta

    from evenhand.diagnostics import Diagnostic
    from evenhand.model import Snapshot
    from evenhand.systems.base import Policy

__all__ = ["Bound", "Tuned", "bound", "tune"]

_FORM = re.compile(r"\s*([\w.]+)\s*(<=|>=|<|>)\s*(\S+)\s*")
_MOST_POINTS = 64
_MOST_WINDOWS = 10_000
_LIMITS = kind_of_annotation("Mapping[str, float] | None")
_RATE = "preemptions_per_hour"
_ROUNDING = 1e-9  # of sums
_COSTS = (
    "goodput",
    "lost_work",
    "preemptions_per_hour",
    "flaps",
    "victims.in_vain",
    "utilisation",
    "waiting.p95",
)


@dataclass(frozen=True)
class Bound:
    """A metric and what it must not exceed, or fall below.

    Attributes
    ----------
    metric : str
    sign : {"<", "<=", ">", ">="}
    value : number
    limit : bool
        Whether it bounds what may happen, so that it holds where there is nothing to measure. No goal is
        met there.
    """

    metric: str
    sign: str
    value: float
    limit: bool = False

    def holds(self, metrics: Mapping[str, float]) -> bool:
        """Tell whether it holds."""
        found = metrics[self.metric]
        if found != found:
            return self.limit
        match self.sign:
            case "<":
                return found < self.value
            case "<=":
                return found <= self.value
            case ">":
                return found > self.value
            case _:
                return found >= self.value

    def strain(self, metrics: Mapping[str, float]) -> float:
        """Return how near it is to breaking: below 1 it holds, infinite: it cannot be told."""
        found = float(metrics[self.metric])
        if found != found:
            return 0.0 if self.limit else math.inf
        a, b = (found, self.value) if self.sign[0] == "<" else (self.value, found)
        if b > 0:
            return max(a, 0.0) / b
        return 0.0 if a < b or (a == b and "=" in self.sign) else math.inf

    def __str__(self) -> str:
        return f"{self.metric} {self.sign} {self.value:g}"


def bound(text: str) -> Bound:
    """Read a goal such as ``"starvation.p95 < 600"``.

    Parameters
    ----------
    text : str
        Name of a metric, one of ``< <= > >=``, and a number.

    Returns
    -------
    Bound

    Raises
    ------
    InputError
        If it is something else.

    Examples
    --------
    >>> bound("starvation.p95 < 600")
    Bound(metric='starvation.p95', sign='<', value=600.0, limit=False)
    """
    expect(isinstance(text, str), "tune", "goal", text, 'text such as "starvation.p95 < 600"')
    found = _FORM.fullmatch(text)
    try:
        value = float(found[3]) if found else math.nan
    except ValueError:
        value = math.nan
    if found is None or not math.isfinite(value):
        said = f'goal is "{text}"; it must be a metric, one of < <= > >=, and a number'
        raise InputError([Problem("tune", None, None, "goal", "format", printable(text), printable(said))])
    return Bound(found[1], found[2], value)


@dataclass(frozen=True, repr=False)
class Tuned(Tabular):
    """What was found: settings, and how they did where they were tuned and where they were not.

    Attributes
    ----------
    settings : dict
        By dotted name.
    snapshot, policy
        With these settings.
    bounds : tuple of Bound
        The goal, then the limits.
    met : bool
        Whether all of them hold in the part that was tuned on, and more work is kept there than lost, and no
        less kept or more lost than before. If not, these are the settings that come nearest.
    held : bool
        Whether they hold in the part that was held out.
    sure : float
        In how many of those windows of the part that was held out in which the goal can be measured they
        hold, from 0 to 1; NaN if it can in none.
    train, check : Metrics
        Of the part that was tuned on, and of the one that was held out.
    points : Table
        One row for each point that was tried: settings, metrics of the bounds and of the cost, ``strain``
        (the bound that is nearest to breaking: below 1 all hold; infinite where the goal has nothing to
        measure), ``error``.
    windows : Table
        One row for each window of the part that was held out: ``from, until``, metrics of the bounds, and
        whether they hold (null: the goal has nothing to measure).
    diagnostics : tuple of Diagnostic
        What the run of both parts with these settings says; see `evenhand.simulate.Result`.
    before : mapping of str to number
        Goodput, lost work and metrics of the bounds with the settings as they were given, in the part that
        was tuned on.
    worse : str or None
        What these settings lose or do not finish that those did: then all that were tried do so.
    met_but_worse : int
        How many points met all bounds, but lost more work or finished less than the settings as given.
    """

    settings: dict[str, Any]
    snapshot: Snapshot
    policy: Any
    bounds: tuple[Bound, ...]
    met: bool
    held: bool
    sure: float
    train: Metrics
    check: Metrics
    points: Table
    windows: Table
    diagnostics: tuple[Diagnostic, ...] = ()
    before: Mapping[str, float] = field(default_factory=dict)
    worse: str | None = None
    met_but_worse: int = 0

    def table(self) -> Table:
        """Return one row a metric of the bounds and of what they cost: ``name, bound, train, check``."""
        named = {b.metric: f"{b.sign} {b.value:g}" for b in self.bounds}
        costs = [m for m in self.train if m not in named and m.startswith(_COSTS)]
        names = [*named, *costs]
        return Table(
            {
                "name": names,
                "bound": [named.get(name) for name in names],
                **{
                    part: np.array([float(metrics.get(name, math.nan)) for name in names])
                    for part, metrics in (("train", self.train), ("check", self.check))
                },
            }
        )

    def __repr__(self) -> str:
        from evenhand.display.terminal import table_text

        rows = [held for held in self.windows["holds"] if held is not None]
        told = [f"{name} = {value!r}" for name, value in self.settings.items()]
        refused = _refused_text([*self.points["error"]])
        done = f"goodput: {_done_text(self.train)}; as given: {_done_text(self.before)}"
        lines = [*refused, done, "", *told, ""]
        if self.met:
            met = "all bounds hold"
        elif _in_vain(self.train):
            met = "at all settings that were tried more work is lost than kept; these come nearest"
        elif self.worse is not None:
            met = f"all settings that were tried do worse than those given; these come nearest: {self.worse}"
        else:
            met = "no settings that were tried meet all bounds, these come nearest"
            met += "".join(
                f"; {b} is {self.train[b.metric]:.4g}" for b in self.bounds if not b.holds(self.train)
            )
        if self.met_but_worse and not self.met:
            count = self.met_but_worse
            met += (
                f"; {count} of {len(self.points)} points meet{'s' if count == 1 else ''} all bounds, but lose"
                f"{'s' if count == 1 else ''} more work or finish{'es' if count == 1 else ''} less than the"
                " settings given: at_most says how much lost_work may be"
            )
        held = "they hold" if self.held else "they do not hold"
        sure = f"they hold in {sum(rows)} of its {len(rows)} windows"
        if len(rows) < len(self.windows):
            sure += f" with {self.bounds[0].metric}, of {len(self.windows)}"
        if not rows:
            sure = f"none of its {len(self.windows)} windows has any {self.bounds[0].metric}"
        nothing = f"; {self.bounds[0].metric} has nothing to measure there, which meets no goal"
        goal = [m[self.bounds[0].metric] for m in (self.train, self.check)]
        unknown = [nothing if value != value else "" for value in goal]
        lines += [f"tuned: {met}{unknown[0]}", f"held out: {held} as a whole; {sure}{unknown[1]}"]
        lines += [*(printable(f"{d.code}: {d.message}") for d in self.diagnostics), ""]
        table = self.table()
        return "\n".join(lines) + table_text(table, max_rows=len(table))


def _kept_and_lost(metrics: Mapping[str, float]) -> dict[str, tuple[float, float]]:
    """Return hours of work that were kept, and that were lost, by resource."""
    return {
        name.partition(".")[2]: (float(kept), float(metrics[f"lost_work.{name.partition('.')[2]}"]))
        for name, kept in metrics.items()
        if name.startswith("goodput.")
    }


def _in_vain(metrics: Mapping[str, float]) -> bool:
    """Whether more work is lost than kept, of any resource."""
    return any(lost > kept for kept, lost in _kept_and_lost(metrics).values())


def _worse(found: Mapping[str, float], before: Mapping[str, float], stated: Collection[str]) -> str | None:
    """Say what is lost or not finished that was before, of resources of which no bound says how much."""
    had = _kept_and_lost(before)
    for resource, (kept, lost) in _kept_and_lost(found).items():
        if f"lost_work.{resource}" in stated:
            continue
        finished, gone = had[resource]
        if lost > gone + _ROUNDING * (1 + gone):
            return f"{lost:,.4g} {resource}-hours of work are lost, and were {gone:,.4g}"
        if f"goodput.{resource}" not in stated and kept < finished - _ROUNDING * (1 + finished):
            return f"{kept:,.4g} {resource}-hours of work are finished, and were {finished:,.4g}"
    return None


def _done_text(metrics: Mapping[str, float]) -> str:
    """Say how much work is kept."""
    said = [
        f"{kept:,.1f} of {kept + lost:,.1f} {resource}-hours"
        for resource, (kept, lost) in _kept_and_lost(metrics).items()
    ]
    return ", ".join(said) or "none"


def _refused_text(errors: Sequence[str | None]) -> list[str]:
    """Say how many points were refused, and why, the most frequent reason first."""
    reasons = Counter(error for error in errors if error is not None)
    if not reasons:
        return [f"0 of {len(errors)} points were refused", ""]
    (first, most), others = reasons.most_common(1)[0], len(reasons) - 1
    count = sum(reasons.values())
    lines = [f"{count} of {len(errors)} points were refused: {first}"]
    if others:
        lines[0] = f"{count} of {len(errors)} points were refused, {most} of them: {first}"
        lines.append(f"{others} other reason{'s' if others > 1 else ''}: points.to_dict()['error']")
    return [*lines, ""]


def tune(
    snapshot: Snapshot,
    policy: Policy,
    workload: Workload,
    space: Mapping[str, Any],
    goal: str,
    at_most: Mapping[str, float] | None = None,
    *,
    points: int = _MOST_POINTS,
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

    Every point of the space is simulated on the first part of the time in which work arrives, and so are
    the settings as given. Points at which more work is lost than kept come last, whatever bounds hold there;
    before them those that lose more work, or finish less, than the settings as given, unless ``at_most`` or
    the goal says how much ``lost_work`` (or ``goodput``) may be. Of those at which all bounds hold, the one
    is taken whose nearest bound is farthest away; of several that are equal in that the one that loses less
    work (of its resource of which that is the largest part), then the one that preempts less. Then the rest
    of the time is simulated, too, and measured on its own.

    Parameters
    ----------
    snapshot, policy, workload, space, warm_up, seed, executor, workers, resume, progress, **clocks
        As of `evenhand.sweep`.
    goal : str
        ``"starvation.p95 < 600"``: a metric of `evenhand.simulate.measure`, one of ``< <= > >=``, a number.
        A metric with nothing to measure does not meet it.
    at_most : mapping of str to number, optional
        Further metrics, and what they may be at most. One with nothing to measure is not too much.
    points : int
        All combinations of values if there are no more than that; else so many are drawn (Latin hypercube).
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
    OSError
        If the file of ``resume`` cannot be read or written.

    Notes
    -----
    A simulation a point, each ended as soon as a limit on preemptions is certain to break, and one whole
    simulation. A spell of starvation counts with its part in the time that is measured.

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
    windows = count_of("tune", "windows", windows, 1, _MOST_WINDOWS)
    seed = None if seed is None else taken("tune", "seed", seed, SEED)
    warm_up = seconds_of("tune", "warm_up", warm_up)
    limits = taken("tune", "at_most", at_most, _LIMITS) or {}
    expect(isinstance(workload, Workload), "tune", "workload", workload, "a Workload")
    bounds = (bound(goal), *(Bound(str(name), "<=", float(v), True) for name, v in limits.items()))
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
    job = replace(job, until=split, most_preemptions=min(caps, default=None))
    tried = of.grid() if of.combinations <= points else of.latin(points, np.random.default_rng(seed or 0))
    found = swept(job, of, tried, executor, workers, resume, progress)

    strains = [
        math.nan if isinstance(outcome, str) else max(b.strain(outcome) for b in bounds) for outcome in found
    ]
    if all(strain != strain for strain in strains):
        said = _refused_text([outcome if isinstance(outcome, str) else None for outcome in found])[0]
        message = f"no point could be simulated to its end: {said}"
        raise InputError([Problem("tune", None, None, "space", "refused", None, printable(message))])

    before = replace(job, policies=(policy,), most_preemptions=None).run({})
    stated = {b.metric for b in bounds}
    worse = [None if isinstance(outcome, str) else _worse(outcome, before, stated) for outcome in found]

    def rank(i: int) -> tuple[bool, bool, float, float, float, int]:
        outcome = found[i]
        assert not isinstance(outcome, str)  # noqa: S101 - it has a strain
        most = max(outcome[name] / total for name, total in lost.items())
        return _in_vain(outcome), worse[i] is not None, strains[i], most, outcome[_RATE], i

    best = min(rank(i) for i, strain in enumerate(strains) if strain == strain)[-1]
    point = tried[best]
    run = replace(job, metrics=None).started(point)
    run.run(end)
    result = run.result()
    part = (end - split) / windows
    edges = [split - begin + part * i for i in range(windows + 1)]
    measured = [
        measure(result, warm_up=a, until=begin + b if b < edges[-1] else None)
        for a, b in itertools.pairwise(edges)
    ]
    seen = [m[bounds[0].metric] == m[bounds[0].metric] for m in measured]
    held = [all(b.holds(m) for b in bounds) if s else None for m, s in zip(measured, seen, strict=True)]
    train = measure(result, warm_up=warm_up, until=split)
    check = measure(result, warm_up=split - begin)
    table = table_of(job, of, tried, found)
    met = [
        not isinstance(outcome, str) and not _in_vain(outcome) and all(b.holds(outcome) for b in bounds)
        for outcome in found
    ]
    changed = applied(job.snapshot, of.policy_of(point), point)
    return Tuned(
        settings={name: of.shown(name, [point])[0] for name in point},
        snapshot=changed[0],
        policy=changed[1],
        bounds=bounds,
        met=met[best] and worse[best] is None,
        held=all(b.holds(check) for b in bounds),
        sure=sum(map(bool, held)) / sum(seen) if any(seen) else math.nan,
        train=train,
        check=check,
        points=Table(
            {**{name: table[name] for name in table.columns}, "strain": strains},
            title="points",
            provenance=table.provenance,
        ),
        windows=Table(
            {
                "from": [begin + a for a in edges[:-1]],
                "until": [begin + b for b in edges[1:]],
                **{name: [float(m.get(name, 0)) for m in measured] for name in names},
                "holds": held,
            },
            title="windows",
        ),
        diagnostics=result.diagnostics,
        before=before,
        worse=worse[best],
        met_but_worse=sum(m and w is not None for m, w in zip(met, worse, strict=True)),
    )
