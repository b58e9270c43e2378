"""Points that share a run until something tells them apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from evenhand.errors import InputError
from evenhand.simulate.running import Simulation
from evenhand.sweep.job import Job
from evenhand.sweep.space import Point, applied

__all__ = ["Outcome", "families", "together"]

#: Metrics of a point, or why it was refused.
Outcome = dict[str, float] | str
Numbered = tuple[int, Point]
Check = Callable[[Simulation], None]

_PORTION = 20_000
#: Between copies a shared run goes so many steps, and so large a part of all that it has gone.
_LEAST, _PART = 500, 8


def families(job: Job, points: Iterable[Numbered]) -> list[list[Numbered]]:
    """Return points in groups that may share runs, as they differ in nothing else."""
    found: dict[str, list[Numbered]] = {}
    for number, point in points:
        policy = job.policies[point.get("policy", 0)]
        own = point
        ended_early = job.most_preemptions is not None or (job.judge is not None and job.judge.most)
        if job.workload is not None and not ended_early:
            own = {name: value for name, value in point.items() if name not in policy.SHARED}
        shared = len(own) < len(point)
        key = repr(sorted(own.items(), key=lambda item: item[0])) if shared else f"{number}"
        found.setdefault(key, []).append((number, point))
    return list(found.values())


def together(
    job: Job, points: Sequence[Point], begun: Simulation | None, check: Check
) -> tuple[list[Outcome | None], list[tuple[list[int], Simulation | None]]]:
    """Run points until the end of the first one's simulation."""
    if len(points) == 1 and begun is None:
        return [_said(lambda: job.run(points[0], check))], []
    outcomes: list[Outcome | None] = [None] * len(points)
    apart: list[tuple[list[int], Simulation | None]] = []
    alive = list(range(len(points)))
    run = begun
    if run is None:
        try:
            policies = [applied(job.snapshot, job.policies[p.get("policy", 0)], p)[1] for p in points]
            run = job.started(points[0])
        except InputError:  # each says what is wrong with it
            return [None] * len(points), [([i], None) for i in alive]
        if not run._share(policies):
            return [_said(lambda: job.run(points[0], check)), *outcomes[1:]], [([i], None) for i in alive[1:]]
    while True:
        before = run.copy() if len(alive) > 1 else None
        portion = _PORTION if before is None else max(_LEAST, run._core.steps // _PART)
        ended = run.advance(job.until, portion)
        check(run)
        rows = [] if before is None else run._apart()
        if before is not None and rows:
            before._become(rows)
            apart.append(([alive[row] for row in rows], before))
            left = [row for row in range(len(alive)) if row not in set(rows)]
            run._become(left)
            alive = [alive[row] for row in left]
        if ended:
            break
    outcome = _said(lambda: _end(job, run))
    for i in alive:
        outcomes[i] = dict(outcome) if isinstance(outcome, dict) else outcome
    return outcomes, apart


def _end(job: Job, run: Simulation) -> dict[str, float]:
    run._must_end(job.until)
    return job.measured(run)


def _said(outcome: Callable[[], dict[str, float]]) -> Outcome:
    try:
        return outcome()
    except InputError as error:
        return "; ".join(problem.message for problem in error.problems)
