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
from evenhand.act.interrupts import Interrupts
from evenhand.act.journal import Journal, check_cluster, lock_of, read
from evenhand.act.judging import judge, known_refusals, spare, standing_now
from evenhand.act.lock import Lock, place_of
from evenhand.act.report import Report, Row
from evenhand.act.tasks import Refusal, Task, tasks_of
from evenhand.act.timing import Timing
from evenhand.adapters.guarded import guarded
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
        File of the lock; by default one a cluster, in /run/lock, ``$RUNTIME_DIRECTORY`` or the folder for
        temporary files.
    progress : callable, optional
        Called with a `Row` as soon as a step has come to something.
    rotate_at : int or None
        Bytes of the journal at which it begins anew (see `recover`). None: never.

    stop : threading.Event, optional
        By default an event of its own; one that signals set is heard while the driver is opened, too.

    Attributes
    ----------
    stop : threading.Event
        Set it, and no step begins any more; one that waits for its beneficiary is brought to its end.
    report : Report
        Of all that came to something since the driver was opened, or its last round began.

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
        stop: threading.Event | None = None,
    ) -> None:
        self.adapter, self.dry_run = guarded(adapter), dry_run
        self.caps, self.timing = caps or Caps(), timing or Timing()
        self.stop = stop or threading.Event()
        self.report = Report()
        self._stop_file = None if stop_file is None else Path(stop_file)
        self._progress = progress
        self._rotate_at = rotate_at
        self._interrupts = Interrupts()
        self._victims = 0
        self._owners: dict[str, str] = {}
        self._refused: dict[str, float] = {}  # as victims, and until when
        self._spared: set[str] = set()  # in the snapshot that was planned with
        self._book = Book()  # of a dry run
        self._locks: list[Lock] = []
        self._journal: Journal | None = None
        if dry_run:
            lines = read(journal) if Path(journal).exists() else []
            for line in lines:
                self._book.add(line)
            if lines:
                check_cluster(journal, self._book, self.adapter.identity)
            return
        try:
            # The journal's own lock: journals of one cluster on another machine, or with another lock.
            self._locks.append(Lock(lock or place_of(self.adapter.identity)))
            self._locks[0].leave_to(journal)
            self._locks.append(lock_of(journal))
            self._journal = Journal(journal, self.adapter.identity, self.timing.clock)
            self.adapter.keep(self._locks[0].descriptor)
            self._carrier = Carrier(self.adapter, self._journal, self.timing, self._stopping)
            self._journal.note("run", process=os.getpid(), caps=_plain(self.caps))
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
        if self._locks:
            self.adapter.keep(-1)
        for lock in self._locks:
            lock.release()
        self._locks = []

    def stopped(self) -> str | None:
        """Return why no step may begin, or None."""
        if self._stopping():
            return "the driver was told to stop"
        try:
            if self._stop_file is not None and self._stop_file.exists():
                return f"there is a stop file: {self._stop_file}"
        except OSError as error:
            return f"whether there is a stop file cannot be seen: {self._stop_file}: {error.strerror}"
        return None

    def _stopping(self) -> bool:
        return self.stop.is_set() or self._interrupts.came

    def begin_round(self) -> None:
        """Let ``per_run`` count anew, and forget the rows of earlier rounds: `watch` does, in every round."""
        self._victims = 0
        self.report.rows.clear()

    def snapshot(self) -> Snapshot:
        """Return what is, to plan with.

        Jobs that were told to leave are known to leave for their beneficiaries. Those that may not be victims
        now (an earlier step has not let go of them, a cap is reached, they may not be requeued) are not
        preemptible in it, so that a plan looks for others.

        Raises
        ------
        AdapterError
            If the cluster does not answer.
        """
        snapshot, now = self.adapter.snapshot(self.book.leaving()), self.timing.now()
        last = now + self.timing.forget  # what is later is of before the clock was set back
        there = set(map(str, snapshot.names("operations"))) | set(map(str, snapshot.names("allocations")))
        self._owners = {job: owner for job, owner in self._owners.items() if job in there}
        self._refused = {job: t for job, t in self._refused.items() if job in there and now < t <= last}
        jobs, owners = self.caps.spent(self.book, now)
        jobs |= {job for job, owner in self._owners.items() if owner in owners}
        self._spared = self.book.busy() | jobs | set(self._refused)
        return spare(snapshot, self._spared)

    def recover(self) -> None:
        """Bring open steps to their end, pay what is owed, and keep the journal short.

        Nothing of it in a dry run. A journal that is too large is kept beside its successor, which has all of
        the last 24 hours and all that is open. A step whose jobs cannot be looked at stays open, which is
        logged; only its jobs are busy.

        Raises
        ------
        JournalError
            If the journal cannot be written: after all that, so that no job waits for it.
        """
        if self._journal is not None:
            with self._interrupts:
                self._recover(self._journal)

    def _recover(self, journal: Journal) -> None:
        self.book.set_clock(self.timing.now())
        for step in list(self.book.open.values()):
            begin = self.timing.now()
            try:
                outcome, why = self._carrier.recover(step)
            except AdapterError as error:
                data = {"step": step.number, "outcome": "open", "why": str(error)}
                _LOG.warning("step %d stays open: %s", step.number, error, extra={"evenhand": data})
                continue
            row = Row(-1, step.beneficiary, step.told, outcome, (), why)
            self._tell(row, begin)
        self._carrier.pay()
        journal.write_late()
        if self._rotate_at is not None:
            journal.rotate(self._rotate_at)

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
            If the journal cannot be written; nobody is told to leave that it does not know of, and jobs that
            are held have been released.

        Notes
        -----
        A step begins only if the plan still holds for it on a fresh snapshot (`Plan.check`), every job stands
        as planned and the caps allow all of its victims. If one stays, the others get their place back.

        A keyboard interrupt ends waiting and is raised once victims have their place back; a second one at
        once: then the next driver sees to them.
        """
        with self._interrupts:
            return self._act_on(plan)

    def _act_on(self, plan: Plan) -> Report:
        first, run, known = len(self.report.rows), self._victims, len(self.book.evictions)
        before: set[int] = set()
        done: set[int] = set()
        try:
            for task in tasks_of(plan, self.adapter):
                begin = self.timing.now()
                row = self._act(plan, task, done, before)
                if row is not None:
                    # What was done shows by now; what was refused never will, nor does a dry run.
                    shows = row.outcome not in ("refused", "stopped", "dry_run")
                    (done if shows else before).add(task.step.number)
                    self._tell(row, begin)
                    if row.outcome == "stopped" or "plan_old" in row.codes:
                        break  # so are the steps behind it
            if self._journal is not None:
                self._journal.write_late()
        finally:
            if self._journal is None:  # nobody left
                self._victims = run
                del self._book.evictions[known:]
        return Report(self.report.rows[first:])

    def _act(self, plan: Plan, task: Task, done: set[int], before: set[int]) -> Row | None:
        number, victims = task.step.number, tuple(task.victims)
        if not victims:
            return None  # the cluster starts it by itself
        why = self.stopped()
        if why is not None:
            return Row(number, task.beneficiary, victims, "stopped", ("stopped",), why)
        if self._journal is not None:
            self._journal.check_room()
        standings: dict[str, Standing] = {}
        refusals = known_refusals(plan, task, self.book, self.caps, self.timing, self._victims)
        if not refusals:
            fresh = spare(self.adapter.snapshot(self.book.leaving()), self._spared)
            refusals = judge(plan, fresh, self.timing, done=done, skip=before).refusals(task)
            if not refusals:
                refusals, standings = standing_now(task, fresh, self.adapter, self.timing)
            refusals += self._capped(task, standings)
        if refusals:
            return self._refuse(plan, task, refusals)
        reason = _reason(task)
        self._victims += len(victims)
        if self._journal is None:
            now = self.timing.now()
            self._book.evictions += [(now, standings[job].owner, job) for job in task.victims]
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
        begun = self.book.open[step]
        outcome, said = self._carrier.carry(begun)
        return Row(number, task.beneficiary, begun.told, outcome, (), said)

    def _capped(self, task: Task, standings: dict[str, Standing]) -> list[Refusal]:
        """Return whether owners, who are known by now, may lose so many; jobs of those are spared next."""
        self._owners |= {job: standing.owner for job, standing in standings.items() if standing.owner}
        owners = [(job, standings[job].owner) for job in task.victims if job in standings]
        cap = self.caps.exceeded(self.book, self.timing.now(), self._victims, owners)
        return [Refusal("cap", cap)] if cap else []

    def _refuse(self, plan: Plan, task: Task, refusals: list[Refusal]) -> Row:
        self._refused |= {r.job: self.timing.now() + self.timing.forget for r in refusals if r.job}
        codes = tuple(dict.fromkeys(r.code for r in refusals))
        why = "; ".join(dict.fromkeys(r.message for r in refusals if r.code != "step_broken"))
        if self._journal is not None:
            self._journal.note(
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
