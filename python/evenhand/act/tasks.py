"""From the steps of a plan to the commands of an adapter; and why a step is not begun."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from evenhand.plans.columns import Name

if TYPE_CHECKING:
    from evenhand.adapters.protocol import Adapter, Standing
    from evenhand.model import Snapshot
    from evenhand.plans import Decision, Plan, Step

__all__ = ["Refusal", "Task", "partial", "reclassified", "standing_refusals", "tasks_of"]

_CLASSES = ("partition", "qos", "account", "user")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a step is not begun: a code, the same in words, and which job is no victim for a while."""

    code: str
    message: str
    job: str = ""


@dataclass(frozen=True, slots=True)
class Task:
    """A step in the adapter's words.

    Attributes
    ----------
    step : Step
    beneficiary : str or None
        The job that is to start.
    victims : dict of str to str
        Jobs that are to leave, in order, with the action by which they do.
    reasons : dict of str to str
        Code of each victim's reason.
    whole : bool
        Whether its jobs are operations; else its victims are allocations, its beneficiary is a request
        (`evenhand.act.naming`).
    """

    step: Step
    beneficiary: str | None
    victims: dict[str, str]
    reasons: dict[str, str]
    whole: bool = True

    def job(self, victim: Decision) -> str:
        """Return the job that leaves by a decision."""
        return str(victim.operation if self.whole else victim.allocation)

    def part(self, jobs: Collection[str]) -> Task:
        """Return what is left of it when only some of its victims are yet to leave."""
        victims = tuple(victim for victim in self.step.victims if self.job(victim) in jobs)
        return replace(
            self,
            step=replace(self.step, victims=victims),
            victims={job: action for job, action in self.victims.items() if job in jobs},
        )

    @property
    def jobs(self) -> list[str]:
        """All jobs that it is about."""
        return [*self.victims, *([] if self.beneficiary is None else [self.beneficiary])]

    @property
    def reason(self) -> str:
        """Why its victims leave, in words."""
        codes = ", ".join(dict.fromkeys(self.reasons.values()))
        return f"gives way to {self.beneficiary}: {codes}" if self.beneficiary else f"gives way: {codes}"


def tasks_of(plan: Plan, adapter: Adapter) -> list[Task]:
    """Return the steps of a plan as tasks, in order; O(decisions)."""
    tasks, whole = [], adapter.whole
    for step in plan.steps():
        beneficiary = step.beneficiary
        named: Name | None = None
        if beneficiary is not None:
            named = beneficiary.operation if whole else beneficiary.request
        victims, reasons = {}, {}
        for decision in step.victims:
            if decision.action == "preempt":
                job = str(decision.operation if whole else decision.allocation)
                victims[job] = adapter.action(decision.mode)
                reasons[job] = decision.reason
        tasks.append(Task(step, None if named is None else str(named), victims, reasons, whole))
    return tasks


def partial(fresh: Snapshot, task: Task) -> list[Refusal]:
    """Return what a cluster that evicts jobs only as a whole cannot do as planned; nothing of others."""
    if not task.whole:
        return []
    core = fresh._core
    names = [str(name) for name in fresh.names("operations")]
    found = []
    if task.victims:
        rows = np.bincount(np.asarray(core.column("allocations", "operation")), minlength=len(names))
        holds = {name: int(rows[row]) for row, name in enumerate(names) if name in task.victims}
        taken = Counter(str(d.operation) for d in task.step.victims if d.action == "preempt")
        for job, count in taken.items():
            if count < holds.get(job, 0):
                part = f"{count} of {holds[job]} allocations of {job} must leave"
                message = f"{part}, but a job can only leave as a whole"
                found.append(Refusal("partial_victim", message))
    starts = [d for d in task.step.decisions if d.action == "start"]
    if starts and task.beneficiary in names:
        of = np.asarray(core.column("requests", "operation")) == names.index(task.beneficiary)
        wanted = int(np.asarray(core.column("requests", "count"))[of].sum())
        if len(starts) < wanted:
            part = f"{len(starts)} of {wanted} parts of {task.beneficiary} would start"
            message = f"{part}, but a job can only start as a whole"
            found.append(Refusal("partial_start", message))
    return found


def reclassified(planned: Snapshot, fresh: Snapshot, task: Task) -> list[Refusal]:
    """Return the jobs that are of another partition, QOS, account or user than was planned with."""
    roles = {str(d.operation): "victim" for d in task.step.victims}
    if task.step.beneficiary is not None:
        roles[str(task.step.beneficiary.operation)] = "beneficiary"
    before, now = (_classes(snapshot, set(roles)) for snapshot in (planned, fresh))
    return [
        Refusal(f"{roles[job]}_reclassified", f"{field} of {job} is {new!r}; it was {before[job][field]!r}")
        for job, classes in now.items()
        for field, new in classes.items()
        if new != before[job][field]
    ]


def _classes(snapshot: Snapshot, jobs: set[str]) -> dict[str, dict[str, str | None]]:
    texts = {name: snapshot._core.text("operations", name) for name in _CLASSES}
    return {
        str(name): {
            field: None if not len(codes) or codes[row] < 0 else str(values[codes[row]])
            for field, (values, codes) in texts.items()
        }
        for row, name in enumerate(snapshot.names("operations"))
        if str(name) in jobs
    }


def standing_refusals(task: Task, now: Mapping[str, Standing], snapshot: Snapshot) -> list[Refusal]:
    """Return why a step cannot begin, from how its jobs stand at this moment."""
    found = []
    for job, action in task.victims.items():
        standing = now[job]
        if standing.state != "running":
            found.append(Refusal("victim_not_running", f"{job} is {standing.state} ({standing.detail})"))
        elif action in ("requeue", "requeue_hold") and not standing.requeueable:
            message = f"{job} may not be requeued: it would end for good"
            found.append(Refusal("not_requeueable", message, job))
        elif action == "requeue_hold" and standing.held:
            message = (
                f"{job} runs and is held for its next turn: a release after the requeue would lift that hold"
            )
            found.append(Refusal("victim_held", message, job))
    if task.beneficiary is not None and now[task.beneficiary].state != "pending":
        standing = now[task.beneficiary]
        message = f"{task.beneficiary} does not wait: it is {standing.state} ({standing.detail})"
        found.append(Refusal("beneficiary_not_pending", message))
    if "suspend" in task.victims.values():
        stay = {
            resource
            for resource, frees in zip(
                snapshot.resources, snapshot._head["available_after_preemption"], strict=True
            )
            if not frees
        }
        for decision in task.step.victims:
            kept = sorted(stay & {r for r, amount in decision.freed.items() if amount})
            if kept and task.victims.get(task.job(decision)) == "suspend":
                message = f"suspended, {task.job(decision)} would not give back {', '.join(kept)}"
                found.append(Refusal("suspend_frees_less", message))
    return found
