"""A sweep: what comes of every point of a space of settings."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, closing, contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.accepted import SEED, count_of, instant_from, kind_of_annotation, seconds_of, taken
from evenhand.arguments import expect
from evenhand.plans.own import expect_acting, expect_unchanged
from evenhand.plans.planning import expect_policy, waited_for
from evenhand.simulate.progress import Progress, telling
from evenhand.sweep.job import COUNTED, Job
from evenhand.sweep.journal import Journal
from evenhand.sweep.space import MOST_POINTS, Point, Space
from evenhand.sweep.workers import Outcome, outcomes
from evenhand.table import Table

if TYPE_CHECKING:
    from datetime import timedelta

    from evenhand.model import Snapshot
    from evenhand.simulate.workload import Workload
    from evenhand.state import State
    from evenhand.sweep.proposing import Tpe
    from evenhand.systems.base import Policy

_MOST_WORKERS = 100_000
_KINDS = {
    "executor": kind_of_annotation("Executor | None"),
    "resume": kind_of_annotation("str | os.PathLike[str] | None"),
}

__all__ = ["job_of", "proposed", "sweep", "swept", "table_of"]


def sweep(
    snapshot: Snapshot,
    policy: Policy | None = None,
    workload: Workload | None = None,
    space: Mapping[str, Any] | None = None,
    *,
    random: int | None = None,
    lhs: int | None = None,
    points: Sequence[Mapping[str, Any]] | None = None,
    metrics: Iterable[str] | None = None,
    until: float | str | timedelta | None = None,
    warm_up: float | str | timedelta = 0.0,
    seed: int | None = None,
    state: State | None = None,
    on: Any = None,
    as_if_waiting: float | str | timedelta | None = None,
    executor: Executor | None = None,
    workers: int | None = None,
    resume: str | os.PathLike[str] | None = None,
    progress: Progress = False,
    **clocks: float | str,
) -> Table:
    """Return what comes of many settings: one row a point.

    Parameters
    ----------
    snapshot : Snapshot
        What is; of a workload, at its beginning.
    policy : policy, optional
        What settings are changed of; not needed if the space has policies.
    workload : Workload, optional
        What comes: a simulation a point. Without it a plan a point, of the snapshot.
    space : mapping of str to values
        By dotted name: a setting of the policy (``"pace.victim_cooldown"``), a clock
        (``"heartbeat_period"``), or a row's cell (``"pools.research.weight"``; what is no field of the table
        is a setting of the row). ``"policy"``: policies, as a list or by label. Values are a list, or
        `between` two numbers.
    random, lhs : int, optional
        So many points, drawn one by one, or as a Latin hypercube; by default all combinations of values.
    points : list of mapping, optional
        These points.
    metrics : iterable of str, optional
        Columns that are wanted; by default all. See `evenhand.simulate.measure`; of plans ``victims,
        victims.operations, victims.within_fair_share, victims.stage.<s>, served`` (operations that victims
        leave for), ``starts, refused, starving, freed.<r>``.
    until, warm_up : number, str or timedelta
        As of `evenhand.simulate` and `evenhand.simulate.measure`.
    seed : int, optional
        Draws points, and the order of heartbeats, which is the same at every point; by default points are
        drawn from 0, and heartbeats come in the order of the snapshot.
    state, on, as_if_waiting
        As of `evenhand.plan`; not with a workload. Without a state nothing has waited yet: then no point of
        a system with fair shares has a victim.
    executor : concurrent.futures.Executor, optional
        What computes points: processes, ``Client.get_executor()`` of Dask and so on; by default threads.
        Snapshot and workload are sent once a worker.
    workers : int, optional
        How many points are computed at a time; by default what the executor says, or one a processor.
    resume : str or path-like, optional
        File to which a line is added for each point that is done. Points that are in it already are not
        computed again.
    progress : bool or callable
        True: a bar shows how far it is. A function is called after each point with two numbers: how many are
        done, and how many there are. What it raises ends the sweep and comes out of this function; what is
        done stays in ``resume``.
    **clocks
        As of `evenhand.simulate`.

    Returns
    -------
    Table
        Settings, metrics, and ``error``: why a point was refused, else null. The same bytes from whatever
        computes it.

    Raises
    ------
    InputError
        If an argument is wrong, a name says nothing to any policy, or the file is of another sweep.
    OSError
        If the file of ``resume`` cannot be read or written.

    Notes
    -----
    Equal points are computed once. A plan or a simulation a point, two for each worker at a time; points that
    differ in a policy's `SHARED` settings alone share a run until these come to something different.

    Examples
    --------
    >>> import evenhand as eh
    >>> work = eh.simulate.Workload({
    ...     "name": ["a", "b"], "resources.cpu": [4, 4], "count": [2, 1], "pool": ["x", "y"],
    ...     "run_time": [60, 60], "submit_time": [0, 20]})
    >>> eh.sweep(work.snapshot(nodes=2, cpu=4), eh.policies.YTsaurus(), work,
    ...          {"fair_share_starvation_timeout": [5, 60]}, metrics=["preemptions", "waiting.max"])
    sweep
    fair_share_starvation_timeout  preemptions  waiting.max  error
                                5            1      15.0000
                               60            0      40.0000
    """
    seed = None if seed is None else taken("sweep", "seed", seed, SEED)
    shared = {"until": until, "warm_up": warm_up, "rng": seed, "state": state, "on": on, "clocks": clocks}
    shared["as_if_waiting"] = as_if_waiting
    job, of = job_of(snapshot, policy, workload, space, metrics, **shared)
    found = _points(of, random, lhs, points, seed)
    return table_of(job, of, found, swept(job, of, found, executor, workers, resume, progress))


def swept(
    job: Job,
    of: Space,
    points: Sequence[Point],
    executor: Executor | None,
    workers: int | None,
    resume: str | os.PathLike[str] | None,
    progress: Progress,
) -> list[Outcome]:
    """Return what comes of each point; parameters are those of `sweep`."""
    # Equal points have equal outcomes.
    first: dict[str, int] = {}
    same = [first.setdefault(repr(sorted(point.items())), i) for i, point in enumerate(points)]
    todo = {i: points[i] for i in dict.fromkeys(same)}
    with _computing(job, of, points, len(todo), executor, workers, resume, progress) as (done, compute):
        compute(job, todo)
    return [done[i] for i in same]


def proposed(
    job: Job,
    of: Space,
    proposer: Tpe,
    count: int,
    executor: Executor | None,
    workers: int | None,
    resume: str | os.PathLike[str] | None,
    progress: Progress,
) -> tuple[list[Point], list[Outcome]]:
    """Return so many points that learn from those before, and what comes of each."""
    points: list[Point] = []
    named = [proposer.name, count, *of.values.items()]
    with _computing(job, of, named, count, executor, workers, resume, progress) as (done, compute):
        while len(points) < count:
            batch = dict(enumerate(proposer.ask(count - len(points)), len(points)))
            compute(proposer.pruning(job), batch)
            proposer.tell([done[i] for i in batch])
            points += batch.values()
    return points, [done[i] for i in range(count)]


@contextmanager
def _computing(
    job: Job,
    of: Space,
    named: Any,
    count: int,
    executor: Executor | None,
    workers: int | None,
    resume: str | os.PathLike[str] | None,
    progress: Progress,
) -> Iterator[tuple[Mapping[int, Outcome], Callable[[Job, Mapping[int, Point]], None]]]:
    """Yield what is done by number, and what computes some points; `named` tells the sweep from others."""
    workers = None if workers is None else count_of("sweep", "workers", workers, 1, _MOST_WORKERS)
    for name, value in (("executor", executor), ("resume", resume)):
        taken("sweep", name, value, _KINDS[name])
    with ExitStack() as stack:
        done: dict[int, Outcome] = {}
        keep = done.__setitem__
        if resume is not None:
            text = repr([job.fingerprint, of.labels, named])
            name = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
            journal = stack.enter_context(closing(Journal(resume, name)))
            done, keep = journal.done, journal.add
        tell = stack.enter_context(telling("sweep", progress, count, "point", "swept"))

        def compute(job: Job, points: Mapping[int, Point]) -> None:
            left = {i: point for i, point in points.items() if i not in done}
            with closing(outcomes(job, left.items(), executor, workers)) as found:  # type: ignore[type-var]
                for number, outcome in found:
                    keep(number, outcome)
                    if tell is not None:
                        tell(len(done))

        yield done, compute


def job_of(
    snapshot: Snapshot,
    policy: Any,
    workload: Workload | None,
    space: Mapping[str, Any] | None,
    metrics: Iterable[str] | None,
    **shared: Any,
) -> tuple[Job, Space]:
    """Return what all points have in common, and the space.

    Parameters are those of `sweep`; `shared` are fields of `Job`.
    """
    from evenhand.model import Snapshot
    from evenhand.simulate.workload import Workload

    expect(isinstance(snapshot, Snapshot), "sweep", "snapshot", snapshot, "a Snapshot")
    of = Space(space, policy)
    for one in of.policies:
        expect_policy("sweep", one)
        expected = expect_unchanged if workload is None else expect_acting
        expected("sweep", one, "a sweep" if workload is None else "a sweep over a workload")
    if workload is not None:
        expect(isinstance(workload, Workload), "sweep", "workload", workload, "a Workload")
        snapshot = workload.joined(snapshot)
    if shared.get("until") is not None and workload is not None:
        begin = snapshot.now
        zone = workload._zone
        shared["until"] = instant_from("sweep", "until", shared["until"], begin, least=begin, zone=zone)
    shared["warm_up"] = seconds_of("sweep", "warm_up", shared["warm_up"])
    job = Job(snapshot, of.policies, workload, **shared)
    if workload is None and job.as_if_waiting is not None:
        waited_for("sweep", job.as_if_waiting, job.state)
    for name in ("state", "on", "as_if_waiting") if workload is not None else ("until", "clocks"):
        given = getattr(job, name)
        beside = "without" if workload is None else "beside"
        expect(given is None or given == {}, "sweep", name, given, f"left out {beside} a workload")
    of.check(snapshot)
    return job if metrics is None else job.keeping(metrics), of


def _points(of: Space, random: int | None, lhs: int | None, points: Any, seed: int | None) -> list[Point]:
    given = {"random": random, "lhs": lhs, "points": points}
    several = [name for name, value in given.items() if value is not None]
    expect(len(several) <= 1, "sweep", " and ".join(several), several, "one of random, lhs, points")
    random, lhs = (
        None if count is None else count_of("sweep", name, count, 1, MOST_POINTS)
        for name, count in (("random", random), ("lhs", lhs))
    )
    rng = np.random.default_rng(seed or 0)
    if points is not None:
        return of.listed(points)
    if random is not None:
        return of.random(random, rng)
    return of.grid() if lhs is None else of.latin(lhs, rng)


def table_of(job: Job, of: Space, points: Sequence[Point], found: Sequence[Outcome]) -> Table:
    """Return the rows of points; what a point has no metric of is NaN, but counts that are 0."""
    names = dict.fromkeys(name for outcome in found if isinstance(outcome, dict) for name in outcome)
    settings = {name: of.shown(name, points) for name in of.values}
    columns = {
        name: [
            outcome.get(name, 0 if name.startswith(COUNTED) else math.nan)
            if isinstance(outcome, dict)
            else math.nan
            for outcome in found
        ]
        for name in names
    }
    errors = [outcome if isinstance(outcome, str) else None for outcome in found]
    return Table({**settings, **columns, "error": errors}, title="sweep", provenance=lambda: job.provenance)
