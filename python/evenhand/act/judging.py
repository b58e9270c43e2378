"""Whether a step may begin: first by what is known without asking the cluster, then by a fresh look."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from evenhand.act.carry import look
from evenhand.act.tasks import Refusal, Task, partial, reclassified, standing_refusals
from evenhand.adapters.protocol import AdapterError

if TYPE_CHECKING:
    from evenhand.act.book import Book
    from evenhand.act.caps import Caps
    from evenhand.act.timing import Timing
    from evenhand.adapters.protocol import Adapter, Standing
    from evenhand.model import Snapshot
    from evenhand.plans import Plan

__all__ = ["known_refusals", "seen_refusals", "spare"]


def known_refusals(plan: Plan, task: Task, book: Book, caps: Caps, timing: Timing, run: int) -> list[Refusal]:
    """Return why a step is not begun, as far as plan and journal tell.

    Parameters
    ----------
    plan : Plan
    task : Task
        One of its steps.
    book : Book
        What the journal adds up to.
    caps : Caps
    timing : Timing
    run : int
        Victims of this run so far.

    Returns
    -------
    list of Refusal
        ``plan_old``, ``busy``, ``did_not_start`` or ``cap``.
    """
    found = _old("plan", plan.snapshot, timing)
    busy = book.busy() & {*task.victims, task.beneficiary}
    found += [Refusal("busy", f"an earlier step has not let go of {job}") for job in sorted(map(str, busy))]
    if task.beneficiary is not None:
        count, last = book.failures.get(task.beneficiary, (0, 0.0))
        left = min(last - timing.now(), 0.0) + timing.pause_after(count)  # also if the clock was set back
        if left > 0.0:
            message = f"{task.beneficiary} did not start on the room of its last victims"
            times = f", {count} times in a row" if count > 1 else ""
            found.append(Refusal("did_not_start", f"{message}{times}; tried again in {left:.0f} s"))
    cap = caps.exceeded(book, timing.now(), run, [(job, None) for job in task.victims])
    return found + ([Refusal("cap", cap)] if cap else [])


def seen_refusals(
    plan: Plan,
    task: Task,
    fresh: Snapshot,
    adapter: Adapter,
    timing: Timing,
    skip: Collection[int],
) -> tuple[list[Refusal], dict[str, Standing]]:
    """Return why a step is not begun as the cluster is now, and how its jobs stand if nothing else speaks.

    Parameters
    ----------
    plan : Plan
    task : Task
        One of its steps.
    fresh : Snapshot
    adapter : Adapter
    timing : Timing
    skip : collection of int
        Steps of the plan that were carried out or refused before.

    Returns
    -------
    refusals : list of Refusal
    standings : dict of str to Standing
    """
    found = _old("snapshot", fresh, timing)
    try:
        check = plan.check(fresh, skip=skip)
    except ValueError as error:
        return [*found, Refusal("resources_changed", str(error))], {}
    found += [Refusal(f.code, f.message) for f in check.findings if f.step == task.step.number]
    found += partial(fresh, task) + reclassified(plan.snapshot, fresh, task)
    if found:
        return found, {}
    jobs = [*task.victims, *([] if task.beneficiary is None else [task.beneficiary])]
    try:
        standings = look(adapter, jobs, timing)
    except AdapterError as error:  # it answered a moment ago: it is about these jobs
        return [Refusal("not_seen", str(error), job) for job in task.victims], {}
    return standing_refusals(task, standings, fresh), standings


def spare(snapshot: Snapshot, jobs: Collection[str]) -> Snapshot:
    """Return a snapshot in which nobody preempts some jobs.

    Parameters
    ----------
    snapshot : Snapshot
    jobs : collection of str
        Names of operations or allocations; of others nothing is said.

    Returns
    -------
    Snapshot
        The same one if none of them holds anything.

    Notes
    -----
    O(cells), by columns.
    """
    from evenhand.building.problems import Report
    from evenhand.building.readback import read_back

    core = snapshot._core
    names = np.array([str(name) in jobs for name in snapshot.names("operations")], np.bool_)
    own = np.array([str(name) in jobs for name in snapshot.names("allocations")], np.bool_)
    if not len(own) or not jobs:
        return snapshot
    spared = own | names[np.asarray(core.column("allocations", "operation"))]
    if not spared.any():
        return snapshot
    raw = read_back(snapshot)
    may = np.asarray(core.column("allocations", "preemptible")).astype(np.bool_)
    raw.tables["allocations"]["preemptible"] = may & ~spared
    return snapshot._build(raw, Report())


def _old(what: str, snapshot: Snapshot, timing: Timing) -> list[Refusal]:
    limit, age = timing.max_age, timing.now() - snapshot.now
    if -limit <= age <= limit:
        return []
    return [Refusal(f"{what}_old", f"the {what} is {age:.1f} s old; at most {limit:g} s are allowed")]
