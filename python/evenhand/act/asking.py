"""Whether a victim of a step may be asked to leave at this moment, and not only when the step began."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenhand.act.judging import plan_age, rest_refusals, snapshot_age
from evenhand.act.looking import look
from evenhand.act.tasks import Refusal, Task, standing_refusals

if TYPE_CHECKING:
    from collections.abc import Collection

    from evenhand.act.book import OpenStep
    from evenhand.act.driver import Driver
    from evenhand.model import Snapshot
    from evenhand.plans import Plan

__all__ = ["Asking", "Seen"]


@dataclass(slots=True)
class Seen:
    """What the last look at a step showed, and when, by the clock for waiting.

    Attributes
    ----------
    fresh : Snapshot
    read : float
        When reading it began.
    looked : float
        When the look at the step's jobs began.
    """

    fresh: Snapshot
    read: float
    looked: float


class Asking:
    """Says of each victim of a step, right before it is asked to leave, whether it may be.

    A look is good for as long as lies between two looks, a snapshot for as long as the effect of a command
    may take to show; after any wait both are taken anew.
    """

    def __init__(self, driver: Driver, plan: Plan, task: Task, seen: Seen, done: Collection[int]) -> None:
        self._driver, self._plan, self._task, self._seen, self._done = driver, plan, task, seen, done

    def __call__(self, step: OpenStep, left: Sequence[str], *, waited: bool) -> str:
        """Return why the victims that are left are not asked; empty if the first of them may be."""
        why = self._driver.stopped()
        if why is not None:
            return why
        refusals = self._refusals(step, self._task.part(left), waited)
        return "; ".join(dict.fromkeys(refusal.message for refusal in refusals))

    def _refusals(self, step: OpenStep, rest: Task, waited: bool) -> list[Refusal]:
        driver, seen = self._driver, self._seen
        timing, adapter = driver.timing, driver.adapter
        if found := plan_age(self._plan, timing) or self._capped(step, rest):
            return found
        if waited or timing.steady() - seen.read > timing.settle:
            seen.read = timing.steady()
            seen.fresh = driver.prepared(adapter.follow(driver.book.leaving(), rest.jobs))
            others = set(self._done) - {rest.step.number}
            if found := rest_refusals(self._plan, rest, seen.fresh, timing, others):
                return found
        if waited or timing.steady() - seen.looked > timing.poll:
            seen.looked = timing.steady()
            now = look(adapter, rest.jobs, timing)
            found = standing_refusals(rest, now, seen.fresh)
            found += [
                Refusal("victim_restarted", f"{job} runs in another turn than when the step began")
                for job in rest.victims
                if now[job].turn != step.victims[job].turn
            ]
            if found:
                return found
        # What was read took its time.
        return plan_age(self._plan, timing) or snapshot_age(seen.fresh, timing)

    def _capped(self, step: OpenStep, rest: Task) -> list[Refusal]:
        driver = self._driver
        owners = [(job, step.victims[job].owner) for job in rest.victims]
        run = driver._victims - len(owners)  # which has them since the step began
        excess = driver.caps.exceeded(driver.book, driver.timing.now(), run, owners, step.number)
        return [Refusal("cap", excess.message)] if excess else []
