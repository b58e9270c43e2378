"""One simulation from its beginning to its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from evenhand.simulate.progress import Progress, Tell, telling
from evenhand.simulate.running import TURNS, Simulation

if TYPE_CHECKING:
    from datetime import timedelta

    import numpy as np

    from evenhand.model import Snapshot
    from evenhand.simulate.result import Result
    from evenhand.simulate.workload import Workload
    from evenhand.systems.base import Policy

__all__ = ["simulate"]

_SLICES = 100


def simulate(
    snapshot: Snapshot,
    policy: Policy,
    workload: Workload,
    until: float | str | timedelta | None = None,
    *,
    rng: int | np.random.Generator | None = None,
    progress: Progress = False,
    literal: bool = False,
    series_every: float | str | None = None,
    give_up_after: int = TURNS,
    **clocks: float | str,
) -> Result:
    """Return what happens when a policy runs a cluster to which a workload comes.

    Parameters
    ----------
    snapshot, policy, workload, rng, literal, series_every, give_up_after, **clocks
        As of `Simulation`.
    until : number, str or timedelta, optional
        Instant in seconds, or text such as ``"10d"``: so long after the beginning; by default until nothing
        can happen any more.
    progress : bool or callable
        True: a bar shows how far it is. A function is called now and then with two numbers: seconds that have
        been simulated, and those from the beginning to the last arrival (or to ``until``, if that is before).
        What it raises ends the simulation and comes out of this function.

    Returns
    -------
    Result

    Raises
    ------
    InputError
        As of `Simulation` and `Simulation.run`.

    Examples
    --------
    >>> import evenhand as eh
    >>> work = eh.simulate.Workload({"name": ["a", "b"], "resources.cpu": [2, 4], "submit_time": [0, 5],
    ...                              "run_time": [60, 30]})
    >>> result = eh.simulate(work.snapshot(nodes=1, cpu=4), eh.policies.YTsaurus(), work)
    >>> result.operations["waited"].tolist()
    [0.0, 55.0]
    """
    options = {"literal": literal, "series_every": series_every, "give_up_after": give_up_after}
    run = Simulation(snapshot, policy, workload, rng=rng, **options, **clocks)  # type: ignore[arg-type]
    begin = run.now
    instant = None if until is None else run._instant("until", until)
    end = max(workload.end if instant is None else min(workload.end, instant), begin)
    with telling("simulate", progress, round(end - begin), "s", "simulated") as tell:
        for i in range(1, _SLICES + 1) if tell is not None else ():
            run.run(begin + (end - begin) * i / _SLICES)
            cast("Tell", tell)(round(run.now - begin))
    run.run(instant)
    return run.result()
