"""One round: a plan whose steps may be begun, again without those that may not, carried out."""

from __future__ import annotations

import dataclasses
import logging
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from evenhand.act.judging import known_refusals, unserved
from evenhand.act.looking import look
from evenhand.act.naming import asking, users
from evenhand.act.tasks import Refusal, Task, tasks_of
from evenhand.act.waiting import held_up, starting, waiting
from evenhand.adapters.protocol import AdapterError
from evenhand.state import State

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenhand.act.caps import Excess
    from evenhand.act.driver import Driver
    from evenhand.act.report import Row
    from evenhand.model import Snapshot
    from evenhand.plans import Plan

__all__ = ["Round"]

_LOG = logging.getLogger("evenhand.act")

_PASSES = 4  # plans that are carried out
_PLANS = 8  # that are made for one of them
_PLANNING = 2.0  # seconds after which no further one is made
_OLD = {"plan_old", "snapshot_old"}
_SETS = 3  # of victims that are tried for one beneficiary within the caps


class Round:
    """Plans for a driver, leaves out the beneficiaries that may not be served now, and acts.

    Attributes
    ----------
    plan : Plan or None
        The last one.
    state : State or None
        What the next round starts from: clocks of the first plan, which has all requests, and attempts to
        preempt of steps by which jobs were asked to leave, unless the cluster refused all of it.
    seconds : dict of str to float
        How long reading, planning and acting took.
    """

    def __init__(self, driver: Driver, policy: Any, state: State | None, on: Any = None) -> None:
        self._driver, self._policy, self._before, self._on = driver, policy, state, on
        self.plan: Plan | None = None
        self.state = state
        self.seconds: dict[str, float] = {"snapshot": 0.0, "plan": 0.0, "act": 0.0}
        self._first: Plan | None = None
        self._tried: Counter[str] = Counter()
        self._capped: dict[str, tuple[Plan, Task, list[Refusal]]] = {}

    def run(self, save: Callable[[State], object]) -> None:
        """Plan and act.

        ``save`` is called with the state before any job is asked to leave, and again when one was: attempts
        to preempt are in it once they were made.
        """
        driver = self._driver
        for _ in range(_PASSES):
            with _Clock(self.seconds, "snapshot"):
                snapshot = driver.snapshot()
            self._set_back(snapshot.now)
            with _Clock(self.seconds, "plan"):
                plan = self._planned(snapshot)
            with _Clock(self.seconds, "act"):
                rows = self._act(plan, save)
            refused = {row.beneficiary: row for row in rows if row.outcome == "refused"}
            old = any(_OLD.intersection(row.codes) for row in refused.values())
            if old or self._in_order or driver.stopped() or not set(refused) - {None}:
                return
            for job, row in refused.items():
                if job is not None:
                    driver._aside.leave(job, Refusal(row.codes[0], row.why))

    def _set_back(self, now: float) -> None:
        """Move the clocks of the state back with the cluster's, or no plan could start from it."""
        if self._before is not None and self._before.time > now:
            late = self._before.time - now
            _LOG.warning("the clock was set back by %.0f s; the clocks of the state go with it", late)
            self._before = self._before.set_back(now)

    def _planned(self, snapshot: Snapshot) -> Plan:
        """Return a plan whose steps may be begun as far as plan, journal and caps show."""
        from evenhand.plans.planning import plan

        driver, begin = self._driver, time.monotonic()
        for number in range(_PLANS):
            made = self.plan = plan(driver.prepared(snapshot), self._policy, self._before, on=self._on)
            self._first = self._first or made
            late = number and time.monotonic() - begin > _PLANNING
            if late or number + 1 == _PLANS or not self._changed(made):
                break
        return made

    @property
    def _in_order(self) -> bool:
        """Whether the system starts no job behind the first that waits: then that one stays in the plan."""
        return bool(self._policy.serves_in_order)

    def _act(self, plan: Plan, save: Callable[[State], object]) -> list[Row]:
        from evenhand.plans.undone import without_steps

        numbers = {step.number for step in plan.steps()}

        def keep(attempted: frozenset[int]) -> None:
            first, last = (self._first or plan).state, without_steps(plan, numbers - attempted)
            self.state = dataclasses.replace(last, elements=first.elements, pools=first.pools)
            save(self.state)

        keep(frozenset())
        self._driver._attempts = keep
        try:
            return self._driver.act(plan).rows
        finally:
            self._driver._attempts = lambda _: None
            self._keep_attempts()

    def _keep_attempts(self) -> None:
        """Let the round's next plan know of the attempts so far; its clocks are those of the first one."""
        assert self.state is not None  # noqa: S101 - see `_act`
        left = self.state
        before = self._before or State(left.time, policy=left.policy, settings=left.settings)
        attempts = {table: getattr(left, table) for table in ("operations", "requests", "nodes", "victims")}
        self._before = dataclasses.replace(before, **attempts)

    def waiting(self, rows: list[Row]) -> dict[str, list[str]]:
        """Return the jobs that still wait, by reason; ``rows``: what came of the round."""
        if self.plan is None or self._first is None:
            return {}
        unread = getattr(self._driver.adapter, "left_out", None) or {}
        driver = self._driver
        return waiting(self._first, self.plan, rows, driver._aside.left, unread, whole=driver.adapter.whole)

    def held_up(self, found: dict[str, list[str]]) -> str:
        """Return which job blocks which and why, where the system starts no job behind the first."""
        if self.plan is None:
            return ""
        return held_up(found, self.plan, self._driver._aside.left, whole=self._driver.adapter.whole)

    # What leaves the plan

    def _changed(self, plan: Plan) -> bool:
        """Leave beneficiaries out and spare victims beyond a cap; whether there was anything of it to do."""
        driver = self._driver
        tasks = [task for task in tasks_of(plan, driver.adapter) if task.victims]
        changed = self._give_up(plan, tasks)
        for task in tasks:
            refusals = known_refusals(plan, task, driver.book, driver.timing)
            if refusals and task.beneficiary is not None and not self._in_order:
                self._refuse(plan, task, refusals)
                changed = True
        if changed:
            self._leave_unserved(plan.snapshot)
            return True
        self._learn_owners(tasks)
        ahead: list[str] = []
        for task in tasks:
            excess = self._excess([*ahead, *task.victims])
            if excess is None:
                ahead += task.victims
            elif task.beneficiary is not None:
                return self._within(plan, task, excess, ahead)
        return False

    def _refuse(self, plan: Plan, task: Task, refusals: list[Refusal]) -> None:
        driver = self._driver
        driver._tell(driver._refuse(plan, task, refusals), driver.timing.now())
        if task.beneficiary is not None:
            driver._aside.leave(task.beneficiary, refusals[0])

    def _no_other_set(self, plan: Plan, task: Task, refusals: list[Refusal]) -> bool:
        """Give up looking for another set; whether the plan is to be made again."""
        beneficiary = task.beneficiary
        assert beneficiary is not None  # noqa: S101 - see `_changed`
        spared = self._driver._aside.sets.pop(beneficiary, None)
        if self._in_order:  # acting says why it is not served
            self._tried[beneficiary] = _SETS
            return spared is not None
        self._refuse(plan, task, refusals)
        return True

    def _give_up(self, plan: Plan, tasks: list[Task]) -> bool:
        """Leave out those for which no other set was found within the caps."""
        served = {task.beneficiary for task in tasks}
        starts = starting(plan, whole=self._driver.adapter.whole)
        lost = [job for job in self._driver._aside.sets if job not in served and job not in starts]
        for job in lost:
            self._no_other_set(*self._capped[job])
        return bool(lost)

    def _leave_unserved(self, snapshot: Snapshot) -> None:
        """Leave out at once all jobs that would be refused like this, lest each of them costs a plan."""
        driver = self._driver
        asks = set(asking(snapshot, whole=driver.adapter.whole)) - set(driver._aside.left)
        known = {*driver.book.failures, *(owed.beneficiary for owed in driver.book.owed.values())}
        for job in sorted(asks.intersection(filter(None, known))):
            refusals = unserved(job, driver.book, driver.timing)
            if refusals:
                driver._aside.leave(job, refusals[0])

    def _learn_owners(self, tasks: list[Task]) -> None:
        driver = self._driver
        if driver.caps.per_owner is None:
            return
        unknown = [job for task in tasks for job in task.victims if job not in driver._owners]
        try:
            found = look(driver.adapter, dict.fromkeys(unknown), driver.timing) if unknown else {}
        except AdapterError:
            return  # it is about some of these jobs: the look before the step says which
        driver._owners |= {job: standing.owner for job, standing in found.items() if standing.owner}

    def _excess(self, victims: list[str]) -> Excess | None:
        driver = self._driver
        owners = [(job, driver._owners.get(job)) for job in victims]
        return driver.caps.exceeded(driver.book, driver.timing.now(), driver._victims, owners)

    def _within(self, plan: Plan, task: Task, excess: Excess, ahead: list[str]) -> bool:
        """Let the next plan look for another set within the caps; whether there is to be one."""
        beneficiary, sets = task.beneficiary, self._driver._aside.sets
        assert beneficiary is not None  # noqa: S101 - see `_changed`
        refusals = [Refusal("cap", excess.message)]
        self._tried[beneficiary] += 1
        more = self._beyond(plan, task, excess, ahead) - self._driver._aside.spared
        if self._tried[beneficiary] < _SETS and more:
            sets[beneficiary] = sets.get(beneficiary, set()) | more
            self._capped.setdefault(beneficiary, (plan, task, refusals))
            return True
        return self._no_other_set(plan, task, refusals)

    def _beyond(self, plan: Plan, task: Task, excess: Excess, ahead: list[str]) -> set[str]:
        """Return the jobs that the next plan spares: victims beyond the cap, and others of the same owner."""
        owners = self._driver._owners

        def about(job: str) -> bool:
            if excess.cap == "per_owner":
                return owners.get(job) == excess.whose
            return excess.cap != "per_job" or job == excess.whose

        counted = [job for job in (*ahead, *task.victims) if about(job)]
        kept = set(counted[: excess.left]) | set(ahead)
        spared = {job for job in task.victims if about(job)} - kept
        if excess.cap == "per_owner":
            user_of = users(plan.snapshot, whole=self._driver.adapter.whole)
            whose = {user_of[job] for job in counted if job in user_of}
            spared |= {job for job, user in user_of.items() if user in whose} - kept
        return spared


class _Clock:
    """Adds the seconds that a block takes."""

    def __init__(self, seconds: dict[str, float], part: str) -> None:
        self._seconds, self._part = seconds, part

    def __enter__(self) -> None:
        self._begin = time.monotonic()

    def __exit__(self, *_: object) -> None:
        self._seconds[self._part] += time.monotonic() - self._begin
