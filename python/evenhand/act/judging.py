"""Whether a step may begin: first by what is known without asking the cluster, then by a fresh look."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from evenhand.act.carry import look
from evenhand.act.tasks import Refusal, Task, partial, reclassified, standing_refusals
from evenhand.adapters.protocol import AdapterError
from evenhand.errors import InputError
from evenhand.plans.again import Again
from evenhand.plans.check import Check, check

if TYPE_CHECKING:
    from evenhand.act.book import Book
    from evenhand.act.caps import Caps
    from evenhand.act.timing import Timing
    from evenhand.adapters.protocol import Adapter, Standing
    from evenhand.model import Snapshot
    from evenhand.plans import Plan

__all__ = ["Judged", "judge", "known_refusals", "spare", "standing_now"]


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


class Judged:
    """What one fresh snapshot says of the steps of a plan; made by `judge`.

    Attributes
    ----------
    plan : Plan
    fresh : Snapshot
    """

    def __init__(
        self, plan: Plan, fresh: Snapshot, timing: Timing, done: Collection[int], skip: Collection[int]
    ) -> None:
        self.plan, self.fresh = plan, fresh
        self._done, self._skip = frozenset(done), set(skip)
        self._all = _old("snapshot", fresh, timing)
        self._again: Again | None = None
        self._check: Check | None = None
        if self._all:
            return
        try:
            self._again = Again(plan, fresh, self._done)
            self._look()
        except InputError as error:
            self._all = [Refusal("cannot_plan", f"no plan can be made now: {error.problems[0]}")]
        except ValueError as error:
            self._all = [Refusal("resources_changed", str(error))]

    def _look(self) -> None:
        self._check = check(self.plan, self.fresh, self._done, self._skip, self._again)
        self._findings: dict[int, list[Refusal]] = {}
        for f in self._check.findings:
            self._findings.setdefault(f.step, []).append(Refusal(f.code, f.message))

    def refusals(self, task: Task) -> list[Refusal]:
        """Return why a step is not begun as the cluster is now; empty if it may begin.

        Parameters
        ----------
        task : Task
            One of the plan's steps.

        Returns
        -------
        list of Refusal
            ``snapshot_old``, ``resources_changed``, ``cannot_plan``, the codes of `Plan.check`,
            ``partial_victim``, ``partial_start``, ``victim_reclassified``, ``beneficiary_reclassified``.

        Notes
        -----
        O(allocations + requests + operations).
        """
        if self._all:
            return list(self._all)
        found = self._findings.get(task.step.number, [])
        return [*found, *partial(self.fresh, task), *reclassified(self.plan.snapshot, self.fresh, task)]

    def leave_out(self, step: int) -> None:
        """Judge the other steps without one that will not be carried out: its room is not there for them.

        Parameters
        ----------
        step : int
            Its number.

        Notes
        -----
        O(rows + decisions): the fresh plan is not made again.
        """
        if step not in self._skip:
            self._skip.add(step)
            if self._check is not None:
                self._look()


def judge(
    plan: Plan,
    fresh: Snapshot,
    timing: Timing,
    *,
    done: Collection[int] = (),
    skip: Collection[int] = (),
) -> Judged:
    """Judge all steps of a plan by one fresh snapshot, with one fresh plan.

    Parameters
    ----------
    plan : Plan
    fresh : Snapshot
        What is now, with the same jobs spared as in the snapshot that the plan was made of (`spare`).
    timing : Timing
        How old the snapshot may be.
    done : collection of int
        Steps that were carried out, or begun, and show in the fresh snapshot.
    skip : collection of int
        Steps that were refused.

    Returns
    -------
    Judged
        Asked for each step with `Judged.refusals`. It stays good for several steps that begin side by side;
        after a step has ended, judge again by a new snapshot.

    Notes
    -----
    One plan, and O(rows + decisions).
    """
    return Judged(plan, fresh, timing, done, skip)


def standing_now(
    task: Task, fresh: Snapshot, adapter: Adapter, timing: Timing
) -> tuple[list[Refusal], dict[str, Standing]]:
    """Return why a step is not begun by how its jobs stand at this moment, and how they stand.

    Parameters
    ----------
    task : Task
        One of the plan's steps, of which `Judged.refusals` says nothing.
    fresh : Snapshot
    adapter : Adapter
    timing : Timing

    Returns
    -------
    refusals : list of Refusal
    standings : dict of str to Standing
        Empty if the jobs cannot be looked at.
    """
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
