"""Acting on one plan: all of it as one call, also for asyncio."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from evenhand.accepted import checked
from evenhand.act.driver import Driver
from evenhand.act.timing import Timing

if TYPE_CHECKING:
    from typing import Any

    from evenhand.act.caps import Caps
    from evenhand.act.report import Report, Row
    from evenhand.adapters.protocol import Adapter
    from evenhand.plans import Plan

__all__ = ["act", "act_async"]


@checked("act", adapter="Any", plan="Any")
def act(
    plan: Plan,
    adapter: Adapter,
    *,
    journal: str | os.PathLike[str],
    dry_run: bool = False,
    caps: Caps | None = None,
    stop_file: str | os.PathLike[str] | None = None,
    max_age: float | None = None,
    timing: Timing | None = None,
    progress: Callable[[Row], object] | None = None,
    plans: str | os.PathLike[str] | None = None,
) -> Report:
    """Carry out a plan on a cluster, step by step.

    Parameters
    ----------
    plan : Plan
        Made from a snapshot of the adapter.
    adapter : Adapter
        The cluster.
    journal : str or path-like
        Where is written what is about to be done and what came of it. If an earlier driver left something
        open there, that is brought to its end first.
    dry_run : bool
        Only say what would be run.
    caps : Caps, optional
        Most victims; the defaults are `Caps`'s.
    stop_file : str or path-like, optional
        While it exists no step begins.
    max_age : float, optional
        Oldest plan and snapshot to act on, in seconds; by default the timing's (60).
    timing : Timing, optional
        How long to wait for what.
    progress : callable, optional
        Called with a `Row` for each step.
    plans : str or path-like, optional
        Folder in which the plan is saved, as by a `Driver`.

    Returns
    -------
    Report
        One row a step; prints as a table.

    Raises
    ------
    LockedError
        If another driver acts on the cluster.
    JournalError
        If the journal cannot be used.
    AdapterError
        If the cluster does not answer.
    """
    timing = _timing(timing, max_age)
    with Driver(
        adapter,
        journal,
        dry_run=dry_run,
        caps=caps,
        stop_file=stop_file,
        timing=timing,
        progress=progress,
        plans=plans,
    ) as driver:
        driver.act(plan)
        return driver.report


@checked("act", adapter="Any", plan="Any")
async def act_async(
    plan: Plan,
    adapter: Adapter,
    *,
    journal: str | os.PathLike[str],
    dry_run: bool = False,
    caps: Caps | None = None,
    stop_file: str | os.PathLike[str] | None = None,
    max_age: float | None = None,
    timing: Timing | None = None,
    progress: Callable[[Row], object] | None = None,
    plans: str | os.PathLike[str] | None = None,
) -> Report:
    """Carry out a plan without blocking an event loop.

    Parameters
    ----------
    plan, adapter, journal, dry_run, caps, stop_file, max_age, timing, plans
        As in `act`.
    progress : callable, optional
        Called in the event loop's thread.

    Returns
    -------
    Report

    Notes
    -----
    Cancelled, also more than once, it lets the step that was begun come to its end, and begins no other; the
    lock is given up after that.
    """
    import asyncio

    loop = asyncio.get_running_loop()
    timing = _timing(timing, max_age)

    def tell(row: Row) -> None:
        if progress is not None:
            loop.call_soon_threadsafe(progress, row)

    made: list[Driver] = []

    def begin() -> None:
        options: dict[str, Any] = {"dry_run": dry_run, "caps": caps, "stop_file": stop_file, "plans": plans}
        made.append(Driver(adapter, journal, timing=timing, progress=tell, **options))

    try:
        await _to_its_end(begin, lambda: None)
        driver = made[0]
        await _to_its_end(lambda: driver.act(plan), driver.stop.set)
    finally:
        for driver in made:
            driver.close()
    return driver.report


def _timing(timing: Timing | None, max_age: float | None) -> Timing:
    import dataclasses

    timing = timing or Timing()
    return timing if max_age is None else dataclasses.replace(timing, max_age=max_age)


async def _to_its_end(work: Callable[[], object], stop: Callable[[], object]) -> None:
    """Let work be done in a thread, and return or raise when it is done, however often one is cancelled."""
    import asyncio

    # A future, no task: a loop that ends cancels its tasks, and would not know whether the thread still runs.
    future = asyncio.get_running_loop().run_in_executor(None, work)
    cancelled: asyncio.CancelledError | None = None
    while not future.done():
        try:
            await asyncio.shield(future)
        except asyncio.CancelledError as error:
            cancelled = error
            stop()
        except Exception:
            break  # of the work
    if cancelled is not None:
        future.exception()  # seen
        raise cancelled
    future.result()
