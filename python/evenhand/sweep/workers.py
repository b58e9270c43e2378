"""Points to workers, wherever they are: a thread, a process, another machine.

A worker that lacks what all points have in common says so, and is sent it with a point. So it is sent about
once a worker, over whatever an executor uses, and to threads never.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from threading import Event
from typing import Any

from evenhand.errors import InputError
from evenhand.simulate.running import Simulation
from evenhand.sweep.job import Job, Stopped
from evenhand.sweep.space import Point

__all__ = ["Outcome", "outcomes"]

#: Metrics of a point, or why it was refused.
Outcome = dict[str, float] | str

_MISSING = "missing"
#: What this process knows, the latest last.
_KNOWN: dict[str, Job] = {}
_MOST_KNOWN = 4
#: Sweeps of this process that are to end.
_ENDING: dict[str, Event] = {}


def outcomes(
    job: Job,
    points: Iterable[tuple[int, Point]],
    executor: Executor | None,
    workers: int | None,
) -> Iterator[tuple[int, Outcome]]:
    """Yield what comes of points with their numbers, in the order in which they are done.

    Parameters
    ----------
    job : Job
    points : iterable of (number, point)
    executor : Executor, optional
        By default threads; the core leaves the interpreter to others while it works.
    workers : int, optional
        How many there are; by default as many as the executor says or the machine has processors.
    """
    count = workers or getattr(executor, "_max_workers", None) or os.cpu_count() or 1
    name = job.fingerprint
    ending = _ENDING.setdefault(name, Event())
    _KNOWN[name] = job
    own = None if executor is not None else ThreadPoolExecutor(count)
    try:
        yield from _outcomes(executor or own, name, job, iter(points), count)  # type: ignore[arg-type]
    finally:
        ending.set()
        if own is not None:
            own.shutdown(cancel_futures=True)
        _KNOWN.pop(name, None)
        _ENDING.pop(name, None)


def _outcomes(
    executor: Executor, name: str, job: Job, points: Iterator[tuple[int, Point]], count: int
) -> Iterator[tuple[int, Outcome]]:
    # A few more are sent than are worked at, so that no worker waits; not all, as workers may not know the
    # job yet.
    futures: dict[Future[Any], tuple[int, Point]] = {}
    sent: bytes | None = None
    left = True
    try:
        while True:
            while left and len(futures) < 2 * count:
                if (following := next(points, None)) is None:
                    left = False
                else:
                    futures[executor.submit(_answer, name, None, following[1])] = following
            if not futures:
                return
            done, _ = wait(futures, return_when=FIRST_COMPLETED)
            for future in done:
                number, point = futures.pop(future)
                answer = future.result()
                if answer == _MISSING:
                    sent = sent or pickle.dumps(job)
                    futures[executor.submit(_answer, name, sent, point)] = (number, point)
                else:
                    yield number, answer[0]
    finally:
        for future in futures:
            future.cancel()


def _answer(name: str, sent: bytes | None, point: Point) -> Any:
    """Return what comes of a point, as a worker does: a row of one, or that the job is not known here."""
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

    try:
        return (job.run(point, check),)
    except InputError as error:
        return ("; ".join(problem.message for problem in error.problems),)
