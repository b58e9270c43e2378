"""Whether a step may begin: first by what is known without asking the cluster, then by a fresh look."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from evenhand.act.looking import look
from evenhand.act.tasks import Refusal, Task, partial, reclassified, standing_refusals
from evenhand.adapters.protocol import AdapterError
from evenhand.errors import InputError
from evenhand.plans.again import Again
from evenhand.plans.check import Check, check, check_rest
from evenhand.units.text import duration

if TYPE_CHECKING:
    from evenhand.act.book import Book
    from evenhand.act.timing import Timing
    from evenhand.adapters.protocol import Adapter, Standing
    from evenhand.model import Snapshot
    from evenhand.plans import Plan

__all__ = [
    "Judged",
    "judge",
    "known_refusals",
    "plan_age",
    "rest_refusals",
    "snapshot_age",
    "standings_now",
    "unserved",
]


def known_refusals(plan: Plan, task: Task, book: Book, timing: Timing) -> list[Refusal]:
    """Return why a step is not begun, as far as plan and journal show."""
    found = plan_age(plan, timing)
    busy = book.busy() & {*task.victims, task.beneficiary}
    found += [Refusal("busy", f"an earlier step with {job} has not ended") for job in sorted(map(str, busy))]
    return found + ([] if task.beneficiary is None else unserved(task.beneficiary, book, timing))


def plan_age(plan: Plan, timing: Timing) -> list[Refusal]:
    """Return why nothing of a plan is begun, or continued: ``plan_old``."""
    return _old("plan", plan.snapshot, timing)


def snapshot_age(snapshot: Snapshot, timing: Timing) -> list[Refusal]:
    """Return why nothing is judged by a snapshot any more: ``snapshot_old``."""
    return _old("snapshot", snapshot, timing)


def unserved(job: str, book: Book, timing: Timing) -> list[Refusal]:
    """Return why a job is not served for a while, whatever a plan says.

    Others left for it and it did not start, or a command to one of its victims was not answered and may yet
    arrive. A command that was refused is answered: others may leave.
    """
    late = [
        o.job
        for o in book.owed.values()
        if o.beneficiary == job and o.what.startswith("look:") and not (o.refused or o.ended)
    ]
    if late:
        said = f"whether {', '.join(late)} leaves for {job} is not known yet"
        return [Refusal("busy", said)]
    count, last = book.failures.get(job, (0, 0.0))
    left = min(last - timing.now(), 0.0) + timing.pause_after(count)  # also if the clock was set back
    if left <= 0.0:
        return []
    message = f"{job} did not start on the room of its last victims"
    times = f", {count} times in a row" if count > 1 else ""
    return [Refusal("did_not_start", f"{message}{times}; tried again in {duration(math.ceil(left))}")]


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
        self._all = snapshot_age(fresh, timing)
        self._again: Again | None = None
        self._check: Check | None = None
        if self._all:
            return
        try:
            self._again = Again(plan, fresh, self._done)
            self._look()
        except InputError as error:
            self._all = [_cannot_plan(error)]

    def _look(self) -> None:
        self._check = check(self.plan, self.fresh, self._done, self._skip, self._again)
        self._findings: dict[int, list[Refusal]] = {}
        for f in self._check.findings:
            self._findings.setdefault(f.step, []).append(Refusal(f.code, f.message))

    def refusals(self, task: Task) -> list[Refusal]:
        """Return why a step is not begun as the cluster is now; empty if it may begin."""
        if self._all:
            return list(self._all)
        found = self._findings.get(task.step.number, [])
        return [*found, *partial(self.fresh, task), *reclassified(self.plan.snapshot, self.fresh, task)]

    def leave_out(self, step: int) -> None:
        """Judge the other steps without one that will not be carried out: its room is not there for them."""
        if step not in self._skip:
            self._skip.add(step)
            if self._check is not None:
                self._look()


def _cannot_plan(error: InputError) -> Refusal:
    first = error.problems[0]
    if first.rule == "another":  # the resources, as a plan's check says
        return Refusal("resources_changed", first.message)
    return Refusal("cannot_plan", f"no plan can be made now: {first}")


def judge(
    plan: Plan,
    fresh: Snapshot,
    timing: Timing,
    *,
    done: Collection[int] = (),
    skip: Collection[int] = (),
) -> Judged:
    """Judge all steps of a plan by one fresh snapshot, with one fresh plan.

    It stays good for several steps that begin side by side; after a step has ended, judge again. The same
    jobs must be spared as in the snapshot that the plan was made of (`spare`).
    """
    return Judged(plan, fresh, timing, done, skip)


def rest_refusals(
    plan: Plan, rest: Task, fresh: Snapshot, timing: Timing, done: Collection[int]
) -> list[Refusal]:
    """Return why the victims that are left of a step that was begun are not asked, by a fresh snapshot."""
    if found := snapshot_age(fresh, timing):
        return found
    left = {str(d.allocation) for d in rest.step.victims}
    try:
        findings = check_rest(plan, fresh, rest.step.number, left, done)
    except InputError as error:
        return [_cannot_plan(error)]
    found = [Refusal(f.code, f.message) for f in findings]
    return [*found, *partial(fresh, rest), *reclassified(plan.snapshot, fresh, rest)]


def standings_now(
    tasks: Sequence[Task], fresh: Snapshot, adapter: Adapter, timing: Timing
) -> tuple[dict[int, list[Refusal]], dict[str, Standing]]:
    """Return why steps are not begun by how their jobs stand at this moment, and how they stand.

    One look for all of them; if it fails, one a step.
    """
    if not tasks:
        return {}, {}
    standings: dict[str, Standing] = {}
    unseen: dict[int, list[Refusal]] = {}
    try:
        standings = look(adapter, dict.fromkeys(job for task in tasks for job in task.jobs), timing)
    except AdapterError as error:  # it answered a moment ago: it is about some of these jobs
        until, last = timing.steady() + timing.settle, error
        for task in tasks:
            try:
                # A cluster that does not answer at all is not asked about every step.
                if not standings and unseen and timing.steady() > until:
                    raise last
                standings |= adapter.look(task.jobs)
            except AdapterError as error:
                last = error
                unseen[task.step.number] = [Refusal("not_seen", str(error), job) for job in task.victims]
    return {
        task.step.number: unseen.get(task.step.number) or standing_refusals(task, standings, fresh)
        for task in tasks
    }, standings


def _old(what: str, snapshot: Snapshot, timing: Timing) -> list[Refusal]:
    limit, age = timing.max_age, timing.now() - snapshot.now
    if -limit <= age <= limit:
        return []
    return [Refusal(f"{what}_old", f"the {what} is {_aged(age)}; at most {duration(limit)} are allowed")]


def _aged(age: float) -> str:
    """Return an age: ``35.5 s old``, ``20 s ahead of the clock``."""
    return f"{duration(round(age, 1))} old" if age >= 0 else f"{duration(round(-age, 1))} ahead of the clock"
