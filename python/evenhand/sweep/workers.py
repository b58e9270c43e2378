"""Points to workers, wherever they are: a thread, a process, another machine.

A worker that lacks what all points have in common says so, and is sent it with a point. So it is sent about
once a worker, over whatever an executor uses, and to threads never. Points that may share a run go together
until they come apart; a worker that has their run so far continues it, any other begins it again.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from threading import Event
from typing import Any

from evenhand.simulate.running import Simulation
from evenhand.sweep.job import Job, Stopped
from evenhand.sweep.space import Point
from evenhand.sweep.together import Numbered, Outcome, families, together

__all__ = ["Outcome", "outcomes"]

_MISSING = "missing"
#: What this process knows, the latest last.
_KNOWN: dict[str, Job] = {}
_MOST_KNOWN = 4
#: Runs of this process that points share which are to continue from there, the latest last.
_PAUSED: dict[str, Simulation] = {}
_MOST_PAUSED = 64
#: Sweeps of this process that are to end.
_ENDING: dict[str, Event] = {}


def outcomes(
    job: Job,
    points: Iterable[tuple[int, Point]],
    executor: Executor | None,
    workers: int | None,
) -> Iterator[tuple[int, Outcome]]:
    """Yield what comes of points with their numbers, in the order in which they are done."""
    count = workers or getattr(executor, "_max_workers", None) or os.cpu_count() or 1
    name = job.fingerprint
    ending = _ENDING.setdefault(name, Event())
    _KNOWN[name] = job
    own = None if executor is not None else ThreadPoolExecutor(count)
    try:
        yield from _outcomes(executor or own, name, job, families(job, points), count)  # type: ignore[arg-type]
    finally:
        ending.set()
        if own is not None:
            own.shutdown(cancel_futures=True)
        _KNOWN.pop(name, None)
        _ENDING.pop(name, None)
        for paused in [key for key in list(_PAUSED) if key.startswith(name)]:
            _PAUSED.pop(paused, None)


def _outcomes(
    executor: Executor, name: str, job: Job, left: list[list[Numbered]], count: int
) -> Iterator[tuple[int, Outcome]]:
    # A few more are sent than are worked at, so that no worker waits; not all, as workers may not know the
    # job yet. What has come apart is sent first, to where its run may be found.
    futures: dict[Future[Any], list[Numbered]] = {}
    sent: bytes | None = None
    left.reverse()
    try:
        while True:
            while left and len(futures) < 2 * count:
                family = left.pop()
                futures[executor.submit(_answer, name, None, _points(family))] = family
            if not futures:
                return
            done, _ = wait(futures, return_when=FIRST_COMPLETED)
            for future in done:
                family = futures.pop(future)
                answer = future.result()
                if answer == _MISSING:
                    sent = sent or pickle.dumps(job)
                    futures[executor.submit(_answer, name, sent, _points(family))] = family
                    continue
                found, apart = answer
                left.extend([family[i] for i in part] for part in apart)
                for (number, _), outcome in zip(family, found, strict=True):
                    if outcome is not None:
                        yield number, outcome
    finally:
        for future in futures:
            future.cancel()


def _points(family: list[Numbered]) -> tuple[Point, ...]:
    return tuple(point for _, point in family)


def _answer(name: str, sent: bytes | None, points: tuple[Point, ...]) -> Any:
    """Return what comes of points, as a worker does, or that the job is not known here.

    Outcomes of those that share the first one's run until its end, None of the others; and these in parts.
    """
    job = _KNOWN.get(name)
    if job is None:
        if sent is None:
            return _MISSING
        job = pickle.loads(sent)  # noqa: S301 - from the process that sent this function's name
        while len(_KNOWN) >= _MOST_KNOWN:
            _KNOWN.pop(next(iter(_KNOWN)), None)
        _KNOWN[name] = job
    ending = _ENDING.get(name)

    def check(_: Simulation) -> None:
        if ending is not None and ending.is_set():
            raise Stopped

    found, apart = together(job, points, _PAUSED.pop(f"{name} {points!r}", None), check)
    for part, run in apart:
        if run is not None:
            while len(_PAUSED) >= _MOST_PAUSED:
                _PAUSED.pop(next(iter(list(_PAUSED))), None)
            _PAUSED[f"{name} {tuple(points[i] for i in part)!r}"] = run
    return found, [part for part, _ in apart]
