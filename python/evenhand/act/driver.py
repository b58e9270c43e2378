"""The driver: one that may act on a cluster, from its lock and its journal to its report."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from evenhand.act.book import Book
from evenhand.act.caps import Caps
from evenhand.act.carry import Carrier
from evenhand.act.journal import Journal, read
from evenhand.act.lock import Lock, place_of
from evenhand.act.report import Report, Row
from evenhand.act.tasks import Refusal, Task, partial, reclassified, standing_refusals, tasks_of
from evenhand.act.timing import Timing
from evenhand.adapters.protocol import AdapterError
from evenhand.plans.memory import fingerprint

if TYPE_CHECKING:
    from evenhand.adapters.protocol import Adapter, Standing
    from evenhand.model import Snapshot
    from evenhand.plans import Plan

__all__ = ["Driver"]

_LOG = logging.getLogger("evenhand.act")


class Driver:
    """May act on a cluster: holds its lock, its journal and its caps. A context manager.

    Parameters
    ----------
    adapter : Adapter
    journal : str or path-like
        File of the journal; made if it is not there.
    dry_run : bool
        Change nothing: no command but those that read, no line in the journal, no lock.
    caps : Caps
    stop_file : str or path-like, optional
        While it exists no step begins.
    timing : Timing
    lock : str or path-like, optional
        File of the lock; by default one a cluster, in /run/lock or the temporary folder.
    progress : callable, optional
        Called with a `Row` as soon as a step has come to something.
    rotate_at : int or None
        Bytes of the journal at which it begins anew (see `recover`). None: never.

    Attributes
    ----------
    stop : threading.Event
        Set it, and no step begins any more; one that waits for its beneficiary is brought to its end.
    report : Report
        Of all that came to something since the driver was opened.

    Raises
    ------
    LockedError
        If another driver acts on the cluster.
    JournalError
        If the journal cannot be used.
    """

    def __init__(
        self,
        adapter: Adapter,
        journal: str | os.PathLike[str],
        *,
        dry_run: bool = False,
        caps: Caps | None = None,
        stop_file: str | os.PathLike[str] | None = None,
        timing: Timing | None = None,
        lock: str | os.PathLike[str] | None = None,
        progress: Callable[[Row], object] | None = None,
        rotate_at: int | None = 16 * 1024**2,
    ) -> None:
        self.adapter, self.dry_run = adapter, dry_run
        self.caps, self.timing = caps or Caps(), timing or Timing()
        self.stop = threading.Event()
        self.report = Report()
        self._stop_file = None if stop_file is None else Path(stop_file)
        self._progress = progress
        self._rotate_at = rotate_at
        self._victims = 0
        self._book = Book()  # of a dry run
        self._locks: list[Lock] = []
        self._journal: Journal | None = None
        if dry_run:
            for line in read(journal) if Path(journal).exists() else ():
                self._book.add(line)
            return
        try:
            # The journal's own lock: journals of one cluster on another machine, or with another lock.
            for place in (lock or place_of(adapter.identity), f"{os.fspath(journal)}.lock"):
                self._locks.append(Lock(place))
            self._journal = Journal(journal, adapter.identity, self.timing.clock)
            adapter.keep(self._locks[0].descriptor)
            self._carrier = Carrier(adapter, self._journal, self.timing, self.stop.is_set)
            self._journal.append("run", process=os.getpid(), caps=_plain(self.caps))
            self.recover()
        except BaseException:
            self.close()
            raise

    @property
    def book(self) -> Book:
        """What the journal adds up to."""
        return self._book if self._journal is None else self._journal.book

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give up journal and lock."""
        if self._journal is not None:
            self._journal.close()
        for lock in self._locks:
            lock.release()
        self._locks = []

    def stopped(self) -> str | None:
        """Return why no step may begin, or None."""
        if self.stop.is_set():
            return "the driver was told to stop"
        if self._stop_file is not None and self._stop_file.exists():
            return f"there is a stop file: {self._stop_file}"
        return None

    def snapshot(self) -> Snapshot:
        """Return what is; jobs that were told to leave are known to leave for their beneficiaries."""
        return self.adapter.snapshot(self.book.leaving())

    def recover(self) -> None:
        """Bring open steps to their end, pay what is owed, and keep the journal short.

        Nothing of it in a dry run. A journal that is too large is kept beside its successor, which has all of
        the last 24 hours and all that is open. A step whose jobs cannot be looked at stays open, which is
        logged; only its jobs are busy.
        """
        if self._journal is None:
            return
        for step in list(self.book.open.values()):
            begin = self.timing.now()
            try:
                outcome, why = self._carrier.recover(step)
            except AdapterError as error:
                data = {"step": step.number, "outcome": "open", "why": str(error)}
                _LOG.warning("step %d stays open: %s", step.number, error, extra={"evenhand": data})
                continue
            row = Row(-1, step.beneficiary, tuple(step.victims), outcome, (), why)
            self._tell(row, begin)
        self._carrier.pay()
        if self._rotate_at is not None:
            self._journal.rotate(self._rotate_at)

    def act(self, plan: Plan) -> Report:
        """Carry out the steps of a plan, one after the other, each after a look at the cluster.

        Parameters
        ----------
        plan : Plan
            Made from a snapshot of the adapter.

        Returns
        -------
        Report
            Of this plan.

        Raises
        ------
        AdapterError
            If the cluster does not answer; what was begun stays open in the journal.
        JournalError
            If the journal cannot be written; nobody is told to leave that it does not know of.

        Notes
        -----
        A step begins only if the plan still holds for it on a fresh snapshot (`Plan.check`), every job stands
        as planned and the caps allow all of its victims. If one stays, the others get their place back.
        """
        first = len(self.report.rows)
        for task in tasks_of(plan, self.adapter):
            begin = self.timing.now()
            row = self._act(plan, task)
            if row is not None:
                self._tell(row, begin)
                if row.outcome == "stopped":
                    break
        return Report(self.report.rows[first:])

    def _act(self, plan: Plan, task: Task) -> Row | None:
        number, victims = task.step.number, tuple(task.victims)
        if not victims:
            return None  # the cluster starts it by itself
        why = self.stopped()
        if why is not None:
            return Row(number, task.beneficiary, victims, "stopped", ("stopped",), why)
        if self._journal is not None:
            self._journal.check_room()
        refusals, standings = self._refusals(plan, task)
        if refusals:
            return self._refuse(plan, task, refusals)
        reason = _reason(task)
        if self._journal is None:
            commands = [
                command
                for job, action in task.victims.items()
                for what in ("note", action)
                for command in self.adapter.commands(what, job, reason)
            ]
            for job, action in task.victims.items():
                if action == "requeue_hold":
                    commands += self.adapter.commands("release", job, reason)
            return Row(number, task.beneficiary, victims, "dry_run", (), reason, tuple(commands))
        step = self.book.steps
        self._journal.append(
            "step",
            step=step,
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
            reason=reason,
            node=task.step.node,
            plan={"now": plan.snapshot.now, "step": number, "policy": fingerprint(plan.policy)},
        )
        self._victims += len(victims)
        outcome, said = self._carrier.carry(self.book.open[step])
        return Row(number, task.beneficiary, victims, outcome, (), said)

    def _refusals(self, plan: Plan, task: Task) -> tuple[list[Refusal], dict[str, Standing]]:
        """Return every reason not to begin, and how the jobs stand."""
        limit = self.timing.max_age
        fresh = self.snapshot()
        found = []
        for what, snapshot in (("plan", plan.snapshot), ("snapshot", fresh)):
            age = self.timing.now() - snapshot.now
            if not -limit <= age <= limit:
                message = f"the {what} is {age:.1f} s old; at most {limit:g} s are allowed"
                found.append(Refusal(f"{what}_old", message))
        try:
            check = plan.check(fresh)
        except ValueError as error:
            return [*found, Refusal("resources_changed", str(error))], {}
        found += [Refusal(f.code, f.message) for f in check.findings if f.step == task.step.number]
        found += partial(fresh, task) + reclassified(plan.snapshot, fresh, task)
        busy = self.book.busy() & {*task.victims, task.beneficiary}
        found += [
            Refusal("busy", f"an earlier step has not let go of {job}") for job in sorted(map(str, busy))
        ]
        if found:
            return found, {}
        jobs = [*task.victims, *([] if task.beneficiary is None else [task.beneficiary])]
        standings = self.adapter.look(jobs)
        found += standing_refusals(task, standings, fresh)
        owners = [(job, standings[job].owner) for job in task.victims]
        cap = self.caps.exceeded(self.book, self.timing.now(), self._victims, owners)
        return found + ([Refusal("cap", cap)] if cap else []), standings

    def _refuse(self, plan: Plan, task: Task, refusals: list[Refusal]) -> Row:
        codes = tuple(dict.fromkeys(r.code for r in refusals))
        why = "; ".join(dict.fromkeys(r.message for r in refusals if r.code != "step_broken"))
        if self._journal is not None:
            self._journal.append(
                "refused",
                beneficiary=task.beneficiary,
                victims=list(task.victims),
                codes=list(codes),
                why=why,
                plan={"now": plan.snapshot.now, "step": task.step.number},
            )
        return Row(task.step.number, task.beneficiary, tuple(task.victims), "refused", codes, why)

    def _tell(self, row: Row, begin: float) -> None:
        import dataclasses

        row = dataclasses.replace(row, seconds=max(self.timing.now() - begin, 0.0))
        self.report.rows.append(row)
        _LOG.info(
            "%s for %s: %s",
            row.outcome,
            row.beneficiary,
            row.why,
            extra={"evenhand": dataclasses.asdict(row)},
        )
        if self._progress is not None:
            self._progress(row)


def _reason(task: Task) -> str:
    codes = ", ".join(dict.fromkeys(task.reasons.values()))
    return f"gives way to {task.beneficiary}: {codes}" if task.beneficiary else f"gives way: {codes}"


def _plain(caps: Caps) -> dict[str, Any]:
    import dataclasses

    return dataclasses.asdict(caps)
