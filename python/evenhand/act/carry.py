"""Asking the cluster, with the journal: what a step does, and what is owed after it."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from evenhand.act.book import OpenStep, Owed, Victim
from evenhand.act.course import Course
from evenhand.act.looking import look
from evenhand.adapters.protocol import EVICTIONS, AdapterError, Standing

if TYPE_CHECKING:
    from evenhand.act.asking import Asking
    from evenhand.act.journal import Journal
    from evenhand.act.timing import Timing
    from evenhand.adapters.protocol import Adapter, Answer

__all__ = ["Carrier"]

_LOG = logging.getLogger("evenhand.act")
_REMEMBERED = 24 * 3600.0  # seconds


class Carrier:
    """Carries out steps and pays what is owed; no job is asked to leave before the journal has it.

    What gives jobs their place back needs no journal: its lines may be late (`Journal.note`).
    """

    def __init__(
        self,
        adapter: Adapter,
        journal: Journal,
        timing: Timing,
        stopping: Callable[[], bool],
        lock: str = "",
    ) -> None:
        self.adapter, self.journal, self.timing, self.stopping = adapter, journal, timing, stopping
        self.lock, self._taken, self._first = lock, timing.steady(), journal.book.steps

    # Steps

    def begin(self, step: OpenStep, asking: Asking) -> Course:
        """Ask the victims of a step that stands in the journal to leave."""
        course = Course(self, step, self.timing.start, asking)
        course.tell()
        return course

    def recover(self, step: OpenStep) -> Course:
        """Return the way to its end of a step that an earlier driver left open."""
        # However often drivers are killed, victims are not held longer than one driver would hold them.
        left = step.began + self.timing.start - self.timing.now()
        return Course(self, step, min(max(left, 0.0), self.timing.start), None)

    def do(self, step: int, action: str, victim: Victim, reason: str) -> Answer:
        """Ask the cluster for an action on a job.

        A job that is to leave was not asked if the journal cannot be written.
        """
        commands = self.adapter.commands(action, victim.name, reason)
        recorded = bool(commands) or action != "note"
        if recorded:
            write = self.journal.append if action in (*EVICTIONS, "note") else self.journal.note
            write("intent", step=step, action=action, job=victim.name, commands=[list(c) for c in commands])
        answer = self.adapter.do(action, victim.name, reason)
        if recorded:
            self.journal.note(
                "outcome",
                step=step,
                action=action,
                job=victim.name,
                status=answer.status,
                message=answer.message,
            )
        level = logging.INFO if answer.status == "done" else logging.WARNING
        said = answer.status if answer.status == "done" or not answer.message else answer.message
        data = {"step": step, "action": action, "job": victim.name, "status": answer.status}
        _LOG.log(level, "step %d: %s %s: %s", step, action, victim.name, said, extra={"evenhand": data})
        return answer

    def become(self, step: int, victim: Victim, answer: str) -> None:
        """Write down what became of a victim."""
        self.journal.note("victim", step=step, job=victim.name, answer=answer)

    def freed(self, step: int, victim: Victim) -> None:
        """Write down that a victim is held no more."""
        self.journal.note("victim", step=step, job=victim.name, freed=True)

    def unanswered(self, step: OpenStep, error: AdapterError) -> None:
        """Write down that the cluster did not answer while a step was under way."""
        if step.answered:
            job = step.beneficiary or next(iter(step.victims))
            more = {"status": "unknown", "message": str(error)}
            self.journal.note("outcome", step=step.number, action="look", job=job, **more)

    def end(self, step: OpenStep, outcome: str, why: str, owed: Mapping[str, str], *, blame: bool) -> None:
        """Write down the end of a step with what is still owed.

        A beneficiary that had its chance and did not start is not served again at once.
        """
        failures = (
            self.journal.book.failed(step, self.timing.now()) if outcome == "not_started" and blame else 0
        )
        more = {"failures": failures} if failures else {}
        self.journal.note("end", step=step.number, outcome=outcome, why=why, owed=dict(owed), **more)
        _LOG.log(
            logging.WARNING if "release" in owed.values() else logging.INFO,
            "step %d: %s: %s",
            step.number,
            outcome,
            why,
            extra={"evenhand": {"step": step.number, "outcome": outcome, "why": why, "owed": dict(owed)}},
        )

    def started(self, jobs: Sequence[str]) -> list[str]:
        """Return those of some jobs that run by now; none if they cannot be looked at."""
        try:
            found = self.adapter.look(jobs) if jobs else {}
        except AdapterError:
            return []
        return [name for name, standing in found.items() if standing.started]

    def _look(self, names: list[str]) -> dict[str, Standing]:
        return look(self.adapter, names, self.timing)

    # Debts

    def pay(self) -> None:
        """Release, resume or look after jobs that earlier steps left behind, as far as can be done now.

        A job that cannot be looked at keeps what it is owed, and holds up no other; a cluster that does not
        answer at all is not asked about every one, nor is one that fails once the driver is stopped.
        """
        until, answers = self.timing.steady() + self.timing.settle, False
        for owed in list(self.journal.book.owed.values()):
            try:
                self._pay(owed)
                answers = True
            except AdapterError as error:
                data = {"step": owed.step, "job": owed.job, "owed": owed.what}
                _LOG.warning(
                    "step %d: %s is still owed %s: %s",
                    owed.step,
                    owed.job,
                    owed.what,
                    error,
                    extra={"evenhand": data},
                )
                if self.stopping() or (not answers and self.timing.steady() > until):
                    return

    def see_commands_ended(self) -> None:
        """Look after jobs whose commands ended with an earlier driver until these show, or cannot any more.

        A command that has ended shows within `Timing.settle`. One that does not, and of which the journal has
        no answer, was not sent or did nothing: then its job may be a victim again. It is looked after all the
        same: that the command ended is no proof that the cluster has dropped it.
        """
        until = self._taken + self.timing.settle
        while jobs := self._awaited(over := self.timing.steady() >= until):
            try:
                standings = self._look(jobs)
                for job in jobs:
                    owed, standing = self.journal.book.owed[job], standings[job]
                    if self._due(owed, standing) != "wait":
                        self._pay(owed)
                    elif over and standing.state in ("running", "pending") and not standing.marked:
                        self.journal.note("command_ended", step=owed.step, job=job, state=standing.state)
            except AdapterError:
                return  # at the next beginning
            if over or self.stopping():
                return
            if self._awaited(over):
                self.timing.pause()

    def _awaited(self, over: bool) -> list[str]:
        """Return the jobs whose command has ended with an earlier driver; one that was done may yet show."""
        said = ("",) if over else ("", "done")
        return [
            job
            for job, owed in self.journal.book.owed.items()
            if (owed.lock == self.lock != "" and owed.step < self._first and not owed.ended)
            and owed.what.startswith("look:")
            and owed.said in said
        ]

    def _pay(self, owed: Owed) -> None:
        if any(owed.job in step.victims for step in self.journal.book.open.values()):
            return  # it was asked to leave once more, and that is not settled yet
        standing = self._look([owed.job])[owed.job]
        what = self._due(owed, standing)
        if what is None:
            self._settled(owed, standing)
        elif what == "release" or (what == "resume" and self._may_resume(owed)):
            victim = Victim(owed.job, standing.owner, what, owed.turn)
            self.do(owed.step, what, victim, "")
            standing = self._look([owed.job])[owed.job]
            if self._due(owed, standing) is None:
                self._settled(owed, standing)

    def _settled(self, owed: Owed, standing: Standing) -> None:
        self.journal.note("settled", job=owed.job, was=owed.what, state=standing.state, turn=standing.turn)

    def _due(self, owed: Owed, standing: Standing) -> str | None:
        """Return what a job is owed at this moment: an action, ``"wait"``, or None."""
        if standing.state in ("leaving", "unknown"):
            return "wait"
        if standing.state in ("ended", "gone"):
            return None
        if standing.marked and owed.what == "look:requeue_hold":
            # It may yet leave: one that writes a checkpoint stands suspended meanwhile.
            leaves = standing.state == "suspended" and self.timing.now() < owed.since + self.timing.forget
            return "wait" if leaves else "release"
        if owed.what in ("resume", "look:suspend"):
            if standing.state == "suspended":
                return "resume"
        elif standing.state == "held" and owed.what in ("release", "look:requeue_hold"):
            # If the driver's own command was not seen to arrive, the hold may be another person's.
            return None if standing.held and owed.what != "release" else "release"
        return "wait" if self.timing.now() < owed.since + self._patience(owed, standing) else None

    def _patience(self, owed: Owed, standing: Standing) -> float:
        """Return how long after its step a job is looked after that is owed nothing as it stands now."""
        as_it_was = standing.state in ("running", "suspended") and standing.turn == owed.turn
        if owed.what.startswith("look:") and not owed.given:
            # Also restarted, or suspended by a person: a hold may yet arrive.
            late = as_it_was or owed.what in ("look:requeue_hold", "look:suspend")
            return self.timing.forget if late else 0.0
        # It was seen to have left: then the look lies behind, or another person gave it back.
        return self.timing.settle if as_it_was and not owed.given else 0.0

    def reconcile(self) -> None:
        """Release jobs that a command holds after all that counted as lost, and say so.

        They bear its mark: sent back to the queue held, and held by no person's name.
        """
        book, now = self.journal.book, self.timing.now()
        busy = book.busy()  # asked to leave once more, later
        recent = [job for job, lost in book.lost.items() if lost.since >= now - _REMEMBERED]
        names = [job for job in recent if job not in busy]
        try:
            found = self._look(names) if names else {}
        except AdapterError:
            return  # at the next beginning, or end
        for job, standing in found.items():
            if not standing.marked and (standing.state != "held" or standing.held):
                continue
            step = book.lost[job].step
            self.journal.note("found", job=job, step=step, state=standing.state, turn=standing.turn)
            _LOG.warning(
                "step %d: %s is held by a command that counted as lost, and is released",
                step,
                job,
                extra={"evenhand": {"step": step, "job": job}},
            )
            with contextlib.suppress(AdapterError):  # it is owed its release from now on
                self._pay(book.owed[job])

    def _may_resume(self, owed: Owed) -> bool:
        """Whether the room of a suspended job is free again and no other job is to have it first.

        That is its beneficiary as long as it runs, and while it waits only if its start was not looked for.
        """
        if owed.beneficiary is not None and owed.outcome in ("started", "unwatched"):
            state = self._look([owed.beneficiary])[owed.beneficiary].state
            watched = owed.outcome == "started" or self.timing.now() >= owed.since + self.timing.start
            if state in ("running", "leaving", "unknown") or (state == "pending" and not watched):
                return False
        return self.adapter.room(owed.job)
