"""Carrying out a plan: which of its steps begin, side by side where they may, and what came of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.act.apart import Footprints
from evenhand.act.asking import Asking, Seen
from evenhand.act.judging import judge, known_refusals, standings_now
from evenhand.act.report import Row
from evenhand.act.tasks import Refusal, Task, tasks_of
from evenhand.act.together import Together

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from evenhand.act.course import Course
    from evenhand.act.driver import Driver
    from evenhand.act.journal import Journal
    from evenhand.adapters.protocol import Standing
    from evenhand.plans import Plan

__all__ = ["Execution"]

_RIVALS = 100  # jobs that are looked at to learn where room went


class Execution:
    """One plan on its way."""

    def __init__(self, driver: Driver, plan: Plan, journal: Journal | None) -> None:
        self._driver, self._plan, self._journal = driver, plan, journal
        self._waiting = [task for task in tasks_of(plan, driver.adapter) if task.victims]
        self._footprints = Footprints(plan.snapshot, self._waiting, whole=driver.adapter.whole)
        self._together = Together(driver.adapter, driver.timing)
        self._running: dict[Course, tuple[Task, float]] = {}
        self._done: set[int] = set()  # carried out, or begun
        self._skipped: set[int] = set()  # refused, or only rehearsed
        self._attempted: set[int] = set()  # steps by which jobs leave; of those that ended
        self._told: frozenset[int] = frozenset()
        self._error: Exception | None = None

    def run(self) -> None:
        """Carry it out; raises what the driver's ``act`` raises, once what was begun came to its end.

        Each turn of the loop begins steps, refuses some, or looks at those that are open, which pauses.
        """
        while self._waiting or self._together.open:
            # Also of those that stay open in the journal: what they share with others is not free.
            running = [task for task, _ in self._running.values()]
            ready = self._footprints.independent(self._waiting, running)
            if ready:
                self._safely(self._begin, ready)
                handled = self._done | self._skipped
                self._waiting = [task for task in self._waiting if task.step.number not in handled]
            elif not self._together.open:
                self._safely(self._give_up, self._waiting)
                self._waiting = []
            if self._together.open:
                for course in self._together.poll():
                    self._safely(self._ended, course)
            self._safely(self._remember, self._driver._attempts)
        error = self._error or self._together.error
        if error is not None:
            raise error

    def _safely(self, part: Callable[[Any], None], of: Any) -> None:
        """Do a part of it; if it fails, what was begun still comes to its end, and nothing else begins."""
        try:
            part(of)
        except Exception as error:  # also of a policy, or of a caller's ``progress``
            self._error, self._waiting = self._error or error, []

    def _remember(self, tell: Callable[[frozenset[int]], object]) -> None:
        """Say by which steps jobs leave, whenever that changes."""
        running = {task.step.number for course, (task, _) in self._running.items() if course.step.attempted}
        found = frozenset(self._attempted | running)
        if found != self._told:
            self._told = found
            tell(found)

    def _give_up(self, behind: Sequence[Task]) -> None:
        """Refuse the steps that wait for one that stays open: its jobs cannot be looked at."""
        said = "an earlier step that shares a node or an owner with it has not ended"
        for task in behind:
            self._refuse(task, [Refusal("busy", said)], self._driver.timing.now())

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
        timing, read = driver.timing, driver.timing.steady()
        about = dict.fromkeys(job for task in left for job in task.jobs)
        fresh = driver.prepared(driver.adapter.follow(driver.book.leaving(), about))
        judged = judge(plan, fresh, timing, done=self._done, skip=self._skipped)
        looked = timing.steady()
        found, standings = standings_now(left, fresh, driver.adapter, timing)
        for place, task in enumerate(left):
            # Commands to victims of the steps before may have taken their time.
            if driver.stopped() or (place and timing.steady() - read > timing.settle):
                return  # judged anew in the next turn, if at all
            if place and timing.steady() - looked > timing.poll:
                looked = timing.steady()
                found, standings = standings_now(left[place:], fresh, driver.adapter, timing)
            number = task.step.number
            refusals = judged.refusals(task) or found[number] or driver._capped(task, standings)
            if refusals:
                self._refuse(task, refusals, begin)
                judged.leave_out(number)
                continue
            if self._journal is None:
                self._skipped.add(number)  # it will not show
                driver._tell(driver._rehearsed(task, standings), begin)
            else:
                self._done.add(number)
                self._carry(task, standings, self._journal, begin, Seen(fresh, read, looked))

    def _refuse(self, task: Task, refusals: list[Refusal], begin: float) -> None:
        self._skipped.add(task.step.number)
        row = self._driver._refuse(self._plan, task, refusals)
        self._driver._tell(row, begin)
        if "plan_old" in row.codes:
            self._waiting = []  # so are the steps behind it

    def _carry(
        self, task: Task, standings: dict[str, Standing], journal: Journal, begin: float, seen: Seen
    ) -> None:
        from evenhand.plans.memory import fingerprint

        driver, number = self._driver, self._driver.book.steps
        driver._victims += len(task.victims)
        journal.append(
            "step",
            **driver.release,
            lock=driver._carrier.lock,
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
                **driver._file_of(self._plan),
            },
        )
        asking = Asking(driver, self._plan, task, seen, self._done)
        course = driver._carrier.begin(driver.book.open[number], asking)
        course.rivals = tuple(driver._aside.left)[:_RIVALS]
        self._running[course] = task, begin
        self._together.open.append(course)

    def _ended(self, course: Course) -> None:
        task, begin = self._running.pop(course)
        if course.step.attempted:
            self._attempted.add(task.step.number)
        self._driver._victims -= len(task.victims) - len(course.step.asked)
        row = Row(task.step.number, task.beneficiary, course.step.asked, course.outcome, (), course.why)
        self._driver._tell(row, begin)
