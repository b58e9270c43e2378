"""Carrying out a plan: which of its steps begin, side by side where they may, and what came of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.act.apart import Footprints
from evenhand.act.judging import judge, known_refusals, standings_now
from evenhand.act.report import Row
from evenhand.act.tasks import Refusal, Task, tasks_of
from evenhand.act.together import Together
from evenhand.adapters.protocol import AdapterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.act.course import Course
    from evenhand.act.driver import Driver
    from evenhand.act.journal import Journal
    from evenhand.adapters.protocol import Standing
    from evenhand.errors import EvenhandError
    from evenhand.plans import Plan

__all__ = ["Execution"]

_RIVALS = 100  # jobs that are looked at to learn where room went


class Execution:
    """One plan on its way.

    Parameters
    ----------
    driver : Driver
    plan : Plan
    journal : Journal or None
        None: a dry run.
    """

    def __init__(self, driver: Driver, plan: Plan, journal: Journal | None) -> None:
        self._driver, self._plan, self._journal = driver, plan, journal
        self._waiting = [task for task in tasks_of(plan, driver.adapter) if task.victims]
        self._footprints = Footprints(plan.snapshot, self._waiting)
        self._together = Together(driver.adapter, driver.timing)
        self._running: dict[Course, tuple[Task, float]] = {}
        self._done: set[int] = set()  # carried out, or begun
        self._skipped: set[int] = set()  # refused, or only rehearsed
        self._error: EvenhandError | None = None

    def run(self) -> None:
        """Carry it out; raises what the driver's ``act`` raises, once what was begun came to its end."""
        from evenhand.act.journal import JournalError

        while self._waiting or self._together.open:
            running = [task for task, _ in self._running.values()]
            ready = self._footprints.independent(self._waiting, running)
            if ready:
                try:
                    self._begin(ready)
                except (AdapterError, JournalError) as error:
                    # What was begun is brought to its end as far as can be, and nothing else begins.
                    self._error, self._waiting = error, []
                handled = self._done | self._skipped
                self._waiting = [task for task in self._waiting if task.step.number not in handled]
            if self._together.open:
                for course in self._together.poll():
                    self._ended(course)
            self._error = self._error or self._together.error
        if self._error is not None:
            raise self._error

    def _begin(self, ready: Sequence[Task]) -> None:
        """Begin the steps that hold, after one look at the cluster for all of them."""
        driver, plan, begin = self._driver, self._plan, self._driver.timing.now()
        why = driver.stopped()
        if why is not None:
            first = ready[0]
            row = Row(
                first.step.number, first.beneficiary, tuple(first.victims), "stopped", ("stopped",), why
            )
            driver._tell(row, begin)
            self._waiting = []
            return
        if self._journal is not None:
            self._journal.check_room()
        left = []
        for task in ready:
            refusals = known_refusals(plan, task, driver.book, driver.timing) + driver._capped(task, {})
            if refusals:
                self._refuse(task, refusals, begin)
            else:
                left.append(task)
        if not left:
            return
        fresh = driver.prepared(driver.adapter.snapshot(driver.book.leaving()))
        judged = judge(plan, fresh, driver.timing, done=self._done, skip=self._skipped)
        seen, standings = standings_now(left, fresh, driver.adapter, driver.timing)
        for task in left:
            number = task.step.number
            refusals = judged.refusals(task) or seen[number] or driver._capped(task, standings)
            if refusals:
                self._refuse(task, refusals, begin)
                judged.leave_out(number)
                continue
            if self._journal is None:
                self._skipped.add(number)  # it will not show
                driver._tell(driver._rehearsed(task, standings), begin)
            else:
                self._done.add(number)
                self._carry(task, standings, self._journal, begin)

    def _refuse(self, task: Task, refusals: list[Refusal], begin: float) -> None:
        self._skipped.add(task.step.number)
        row = self._driver._refuse(self._plan, task, refusals)
        self._driver._tell(row, begin)
        if "plan_old" in row.codes:
            self._waiting = []  # so are the steps behind it

    def _carry(self, task: Task, standings: dict[str, Standing], journal: Journal, begin: float) -> None:
        from evenhand.plans.memory import fingerprint

        driver, number = self._driver, self._driver.book.steps
        driver._victims += len(task.victims)
        journal.append(
            "step",
            step=number,
            beneficiary=task.beneficiary,
            victims=[
                {
                    "job": job,
                    "owner": standings[job].owner,
                    "action": action,
                    "turn": standings[job].turn,
                    "reason": task.reasons[job],
                }
                for job, action in task.victims.items()
            ],
            reason=task.reason,
            node=task.step.node,
            plan={
                "now": self._plan.snapshot.now,
                "step": task.step.number,
                "policy": fingerprint(self._plan.policy),
            },
        )
        course = driver._carrier.begin(driver.book.open[number])
        course.rivals = tuple(driver._aside.left)[:_RIVALS]
        self._running[course] = task, begin
        self._together.open.append(course)

    def _ended(self, course: Course) -> None:
        task, begin = self._running.pop(course)
        row = Row(task.step.number, task.beneficiary, course.step.asked, course.outcome, (), course.why)
        self._driver._tell(row, begin)
