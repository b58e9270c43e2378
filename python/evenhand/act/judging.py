"""Whether a step may begin: first by what is known without asking the cluster, then by a fresh look."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

from evenhand.act.looking import look
from evenhand.act.tasks import Refusal, Task, partial, reclassified, standing_refusals
from evenhand.adapters.protocol import AdapterError

if TYPE_CHECKING:
    from evenhand.act.book import Book
    from evenhand.act.timing import Timing
    from evenhand.adapters.protocol import Adapter, Standing
    from evenhand.model import Snapshot
    from evenhand.plans import Plan

__all__ = ["known_refusals", "seen_refusals", "spare", "unserved", "without"]


def known_refusals(plan: Plan, task: Task, book: Book, timing: Timing) -> list[Refusal]:
    """Return why a step is not begun, as far as plan and journal tell.

    Parameters
    ----------
    plan : Plan
    task : Task
        One of its steps.
    book : Book
        What the journal adds up to.
    timing : Timing

    Returns
    -------
    list of Refusal
        ``plan_old``, ``busy`` or ``did_not_start``.
    """
    found = _old("plan", plan.snapshot, timing)
    busy = book.busy() & {*task.victims, task.beneficiary}
    found += [Refusal("busy", f"an earlier step has not let go of {job}") for job in sorted(map(str, busy))]
    return found + ([] if task.beneficiary is None else unserved(task.beneficiary, book, timing))


def unserved(job: str, book: Book, timing: Timing) -> list[Refusal]:
    """Return why a job is not served for a while, whatever a plan says.

    Parameters
    ----------
    job : str
    book : Book
    timing : Timing

    Returns
    -------
    list of Refusal
        ``did_not_start``: other jobs left for it, and it did not start. ``busy``: a command to one of its
        victims was not answered and may yet arrive.
    """
    late = [o.job for o in book.owed.values() if o.beneficiary == job and o.what.startswith("look:")]
    if late:
        said = f"whether {', '.join(late)} leaves for {job} is not known yet"
        return [Refusal("busy", said)]
    count, last = book.failures.get(job, (0, 0.0))
    left = min(last - timing.now(), 0.0) + timing.pause_after(count)  # also if the clock was set back
    if left <= 0.0:
        return []
    message = f"{job} did not start on the room of its last victims"
    times = f", {count} times in a row" if count > 1 else ""
    return [Refusal("did_not_start", f"{message}{times}; tried again in {left:.0f} s")]


def seen_refusals(
    plan: Plan,
    tasks: Sequence[Task],
    fresh: Snapshot,
    adapter: Adapter,
    timing: Timing,
    skip: Collection[int],
) -> tuple[dict[int, list[Refusal]], dict[str, Standing]]:
    """Return why steps are not begun as the cluster is now, and how the jobs of the others stand.

    Parameters
    ----------
    plan : Plan
    tasks : sequence of Task
        Steps of it.
    fresh : Snapshot
    adapter : Adapter
    timing : Timing
    skip : collection of int
        Steps of the plan that were carried out or refused before.

    Returns
    -------
    refusals : dict of int to list of Refusal
        By number of the step; empty lists of those that may begin.
    standings : dict of str to Standing

    Notes
    -----
    One check and one look for all of them; a look that fails is made again step by step.
    """
    found = {task.step.number: _old("snapshot", fresh, timing) for task in tasks}
    try:
        check = plan.check(fresh, skip=skip)
    except ValueError as error:
        return {n: [*said, Refusal("resources_changed", str(error))] for n, said in found.items()}, {}
    for finding in check.findings:
        if finding.step in found:
            found[finding.step].append(Refusal(finding.code, finding.message))
    for task in tasks:
        found[task.step.number] += partial(fresh, task) + reclassified(plan.snapshot, fresh, task)
    left = [task for task in tasks if not found[task.step.number]]
    standings, unseen = _look(left, adapter, timing)
    for task in left:
        said = unseen.get(task.step.number)
        found[task.step.number] = standing_refusals(task, standings, fresh) if said is None else said
    return found, standings


def _look(
    tasks: Sequence[Task], adapter: Adapter, timing: Timing
) -> tuple[dict[str, Standing], dict[int, list[Refusal]]]:
    if not tasks:
        return {}, {}
    try:
        return look(adapter, dict.fromkeys(job for task in tasks for job in task.jobs), timing), {}
    except AdapterError:
        pass  # it answered a moment ago: it is about some of these jobs
    standings: dict[str, Standing] = {}
    unseen: dict[int, list[Refusal]] = {}
    for task in tasks:
        try:
            standings |= adapter.look(task.jobs)
        except AdapterError as error:
            unseen[task.step.number] = [Refusal("not_seen", str(error), job) for job in task.victims]
    return standings, unseen


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


def without(snapshot: Snapshot, jobs: Collection[str]) -> Snapshot:
    """Return a snapshot in which some jobs wait without asking for anything.

    Parameters
    ----------
    snapshot : Snapshot
    jobs : collection of str
        Names of operations or requests; of others nothing is said.

    Returns
    -------
    Snapshot
        The same one if none of them asks.

    Notes
    -----
    O(cells), by columns.
    """
    from evenhand.building.changed import drop_rows
    from evenhand.building.problems import Report
    from evenhand.building.readback import read_back

    core = snapshot._core
    names = np.array([str(name) in jobs for name in snapshot.names("operations")], np.bool_)
    own = np.array([str(name) in jobs for name in snapshot.names("requests")], np.bool_)
    if not len(own) or not jobs:
        return snapshot
    asks = ~(own | names[np.asarray(core.column("requests", "operation"))])
    if asks.all():
        return snapshot
    raw = read_back(snapshot)
    drop_rows(raw, "requests", asks)
    return snapshot._build(raw, Report())


def _old(what: str, snapshot: Snapshot, timing: Timing) -> list[Refusal]:
    limit, age = timing.max_age, timing.now() - snapshot.now
    if -limit <= age <= limit:
        return []
    return [Refusal(f"{what}_old", f"the {what} is {age:.1f} s old; at most {limit:g} s are allowed")]
