"""The driver: one that may act on a cluster, from its lock and its journal to its report."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from evenhand.accepted import COUNT, checked
from evenhand.act.aside import Aside
from evenhand.act.book import Book
from evenhand.act.caps import Caps
from evenhand.act.carry import Carrier
from evenhand.act.execution import Execution
from evenhand.act.folder import KEPT, PlanWriter
from evenhand.act.interrupts import Interrupts
from evenhand.act.journal import Journal, check_cluster, lock_of, read
from evenhand.act.lock import Lock, place_of
from evenhand.act.naming import users
from evenhand.act.report import Report, Row
from evenhand.act.sparing import spare, without
from evenhand.act.tasks import Refusal, Task
from evenhand.act.timing import Timing
from evenhand.act.together import Together
from evenhand.adapters.guarded import guarded
from evenhand.adapters.protocol import AdapterError
from evenhand.arguments import expect
from evenhand.errors import InputError

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
    plans : str or path-like, optional
        Folder (`PlanFolder`) in which each plan is saved that decides something or leads to a refusal, and
        else the first of every hour (UTC); lines of the journal name the file. Not in a dry run. A plan that
        cannot be saved is logged once, and stops nothing.
    keep_plans : int
        How many the folder holds at most; the oldest leave first.

    Attributes
    ----------
    stop : threading.Event
        Set it, and no step begins any more; one that waits for its beneficiary is brought to its end.
    report : Report
        Of all that came to something since the driver was opened, or its last round began.

    Raises
    ------
    LockedError
        If another driver acts on the cluster, or saves plans in the folder.
    JournalError
        If the journal cannot be used.
    OSError
        If the folder of plans cannot be made.
    """

    @checked("Driver", adapter="Any", stop="Any", keep_plans=COUNT)
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
        plans: str | os.PathLike[str] | None = None,
        keep_plans: int = KEPT,
    ) -> None:
        self.adapter, self.dry_run = guarded(adapter), dry_run
        self.caps, self.timing = caps or Caps(), timing or Timing()
        expect(stop is None or callable(getattr(stop, "is_set", None)), "Driver", "stop", stop, "an event")
        self.stop = stop or threading.Event()
        self.report = Report()
        self._stop_file = None if stop_file is None else Path(stop_file)
        self._progress = progress
        self._rotate_at = rotate_at
        self._interrupts = Interrupts()
        self._victims = 0
        self._owners: dict[str, str] = {}
        self._refused: dict[str, float] = {}  # as victims, and until when
        self._spared: set[str] = set()  # no victims: something of them is open, or a cap is reached
        self._aside = Aside()
        self._attempts: Callable[[frozenset[int]], object] = lambda _: None
        self._book = Book()  # of a dry run
        self._locks: list[Lock] = []
        self._journal: Journal | None = None
        self._writer: PlanWriter | None = None
        self._saved: list[tuple[weakref.ref[Plan], str | None]] = []  # plans, and their files
        self._unsaved = False  # which was logged
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
            self._carrier = Carrier(
                self.adapter, self._journal, self.timing, self._stopping, self._locks[0].token
            )
            self._writer = None if plans is None else PlanWriter(plans, keep_plans)
            self._journal.note("run", **self.release, process=os.getpid(), caps=_plain(self.caps))
            self.recover()
        except BaseException:
            self.close()
            raise

    @property
    def book(self) -> Book:
        """What the journal adds up to."""
        return self._book if self._journal is None else self._journal.book

    @property
    def release(self) -> dict[str, str]:
        """The release of the cluster's system, as ``version`` for the journal; empty: it is not known."""
        version = getattr(self.adapter, "version", None)
        return {"version": version} if isinstance(version, str) else {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give up journal and lock, whatever goes wrong with one of them."""
        with contextlib.ExitStack() as last:
            for lock in self._locks:
                last.callback(lock.release)
            if self._journal is not None:
                last.callback(self._journal.close)
            if self._writer is not None:
                last.callback(self._writer.close)
            if self._locks:
                self._locks = []
                self._let_go()

    def _let_go(self) -> None:
        try:
            self.adapter.keep(-1)
        except AdapterError as error:  # the lock is free all the same
            _LOG.warning("the adapter still keeps the descriptor of the lock: %s", error)

    def stopped(self) -> str | None:
        """Return why no step may begin, or None."""
        if self._stopping():
            return "the driver was asked to stop"
        try:
            if self._stop_file is not None and self._stop_file.exists():
                return f"there is a stop file: {self._stop_file}"
        except OSError as error:
            return f"cannot check for the stop file: {self._stop_file}: {error.strerror}"
        return None

    def _stopping(self) -> bool:
        return self.stop.is_set() or self._interrupts.came

    def begin_round(self) -> None:
        """Let ``per_run`` count anew, and forget the rows of earlier rounds: `watch` does, in every round."""
        self._victims = 0
        self._aside = Aside()
        self.report.rows.clear()

    def snapshot(self) -> Snapshot:
        """Return what is, to plan with.

        Jobs that were asked to leave are known to leave for their beneficiaries. Jobs that may not be victims
        now (an earlier step has not let go of them, a cap is reached, they may not be requeued) are not
        preemptible in it, so that a plan looks for others.

        Raises
        ------
        AdapterError
            If the cluster does not answer.
        """
        snapshot, now = self.adapter.follow(self.book.leaving()), self.timing.now()
        last = now + self.timing.forget  # what is later is of before the clock was set back
        there = set(map(str, snapshot.names("operations"))) | set(map(str, snapshot.names("allocations")))
        self._owners = {job: owner for job, owner in self._owners.items() if job in there}
        self._refused = {job: t for job, t in self._refused.items() if job in there and now < t <= last}
        jobs, owners = self.caps.spent(self.book, now)
        self._spared = self.book.busy() | jobs | self._jobs_of(owners, snapshot) | set(self._refused)
        return self.prepared(snapshot)

    @checked("Driver.prepared")
    def prepared(self, snapshot: Snapshot) -> Snapshot:
        """Return a snapshot as this round plans with it: some jobs are no victims, some ask for nothing."""
        whole = self.adapter.whole
        spared = spare(snapshot, self._spared | self._aside.spared, whole=whole)
        return without(spared, self._aside.left, whole=whole)

    def _jobs_of(self, owners: set[str], snapshot: Snapshot) -> set[str]:
        """Return the jobs of owners, as far as they are known from jobs that were looked at."""
        found = {job for job, owner in self._owners.items() if owner in owners}
        user_of = users(snapshot, whole=self.adapter.whole)
        named = {user_of[job] for job in found if job in user_of}
        return found | {job for job, user in user_of.items() if user in named}

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
        begin = self.timing.now()
        together = Together(self.adapter, self.timing)
        together.open = [self._carrier.recover(step) for step in self.book.open.values()]
        for course in together.to_their_ends():
            step = course.step
            self._tell(Row(-1, step.beneficiary, step.asked, course.outcome, (), course.why), begin)
        for number in self.book.open:
            data = {"step": number, "outcome": "open", "why": str(together.error)}
            _LOG.warning("step %d stays open: %s", number, together.error, extra={"evenhand": data})
        self._carrier.pay()
        self._carrier.see_commands_ended()
        self._carrier.reconcile()
        journal.write_late()
        if self._rotate_at is not None:
            journal.rotate(self._rotate_at)

    @checked("act")
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
            If the journal cannot be written; no job is asked to leave before the journal has it, and held
            jobs have been released.

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
        try:
            if self._writer is not None and self._writer.wants(plan):
                self._file_of(plan)
            Execution(self, plan, self._journal).run()
            if self._journal is not None:
                self._carrier.reconcile()
                self._journal.write_late()
        finally:
            if self._journal is None:  # no job left
                self._victims = run
                del self._book.evictions[known:]
        return Report(self.report.rows[first:])

    def _file_of(self, plan: Plan) -> dict[str, str]:
        """Return what a line of the journal says of the file of a plan, which is saved unless it was."""
        if self._writer is None:
            return {}
        self._saved = [(other, name) for other, name in self._saved if other() is not None]
        known = [name for other, name in self._saved if other() is plan]
        if not known:
            known = [self._save(plan, self._writer)]
            self._saved.append((weakref.ref(plan), known[0]))
        return {} if known[0] is None else {"file": known[0]}

    def _save(self, plan: Plan, writer: PlanWriter) -> str | None:
        name = None
        try:
            name = writer.add(plan)
            writer.prune()
        except (OSError, InputError) as error:
            why = error.problems[0].message if isinstance(error, InputError) else error.strerror or error
            if not self._unsaved:
                _LOG.warning("plans %s: cannot be written: %s; the driver continues", writer.path, why)
            self._unsaved = True
        else:
            self._unsaved = False
        return name

    def _rehearsed(self, task: Task, standings: dict[str, Standing]) -> Row:
        """Return what would be run; it counts for the caps of this plan."""
        now, reason = self.timing.now(), task.reason
        self._victims += len(task.victims)
        self._book.evictions += [(now, standings[job].owner, job) for job in task.victims]
        asked = [("note", job) for job in task.victims]
        asked += [(action, job) for job, action in task.victims.items()]
        asked += [("release", job) for job, action in task.victims.items() if action == "requeue_hold"]
        commands = [command for what, job in asked for command in self.adapter.commands(what, job, reason)]
        victims = tuple(task.victims)
        return Row(task.step.number, task.beneficiary, victims, "dry_run", (), reason, tuple(commands))

    def _capped(self, task: Task, standings: dict[str, Standing]) -> list[Refusal]:
        """Return whether so many may leave; of owners as far as they are known.

        Jobs that were looked at and have no owner count as those of one.
        """
        self._owners |= {job: standing.owner for job, standing in standings.items() if standing.owner}
        owners = [(job, self._owners.get(job, "" if job in standings else None)) for job in task.victims]
        excess = self.caps.exceeded(self.book, self.timing.now(), self._victims, owners)
        return [Refusal("cap", excess.message)] if excess else []

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
                plan={"now": plan.snapshot.now, "step": task.step.number, **self._file_of(plan)},
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


def _plain(caps: Caps) -> dict[str, Any]:
    import dataclasses

    return dataclasses.asdict(caps)
