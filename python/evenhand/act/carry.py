"""Carrying out one step: victims, what became of them, the beneficiary, and what is owed afterwards."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from evenhand.act.book import OpenStep, Owed, Victim
from evenhand.act.journal import JournalError
from evenhand.adapters.protocol import EVICTIONS, AdapterError, Standing

if TYPE_CHECKING:
    from evenhand.act.journal import Journal
    from evenhand.act.timing import Timing
    from evenhand.adapters.protocol import Adapter, Answer

__all__ = ["Carrier", "look"]

_LOG = logging.getLogger("evenhand.act")
_TRIES = 3  # of looking


class Carrier:
    """Carries out steps and pays what is owed; no job is told to leave that the journal does not know of.

    What gives jobs their place back needs no journal: its lines may be late (`Journal.note`).

    Parameters
    ----------
    adapter : Adapter
    journal : Journal
    timing : Timing
        How long to wait for what.
    stopping : callable
        Whether waiting should end.
    """

    def __init__(
        self, adapter: Adapter, journal: Journal, timing: Timing, stopping: Callable[[], bool]
    ) -> None:
        self.adapter, self.journal, self.timing, self.stopping = adapter, journal, timing, stopping

    # Steps

    def carry(self, step: OpenStep) -> tuple[str, str]:
        """Carry out a step that stands in the journal.

        Returns
        -------
        outcome, why : str
            As the journal's ``end`` has them.
        """
        for place, victim in enumerate(step.victims.values()):
            if place and not self._still_waits(step):
                break  # nobody more leaves for it
            try:
                self._do(step.number, "note", victim, step.reason)
                answer = self._do(step.number, victim.action, victim, step.reason)
            except JournalError as error:  # before it was told
                return self._finish(step, "not_started", str(error), blame=False)
            self._become(step.number, victim, self._settle(victim, answer))
            if victim.answer not in ("left", "ended"):
                why = f"victim {victim.name} did not leave: {answer.message or answer.status}"
                return self._finish(step, "not_started", why)
        return self._await(step, self.timing.start)

    def _still_waits(self, step: OpenStep) -> bool:
        if step.beneficiary is None:
            return True
        return self._look([step.beneficiary])[step.beneficiary].state in ("pending", "unknown")

    def recover(self, step: OpenStep) -> tuple[str, str]:
        """Bring a step to its end that an earlier driver left open; nobody more is told to leave."""
        missing = []
        for victim in step.victims.values():
            if victim.asked and victim.answer not in ("left", "ended"):
                self._become(step.number, victim, self._settle(victim, None))
            if victim.answer not in ("left", "ended"):
                missing.append(victim.name)
        if missing:
            why = f"the driver ended before it was sure that {', '.join(missing)} left"
            return self._finish(step, "not_started", why, blame=False)
        # However often drivers are killed, victims are not held longer than one driver would hold them.
        left = step.began + self.timing.start - self.timing.now()
        return self._await(step, min(max(left, 0.0), self.timing.start))

    def _do(self, step: int, action: str, victim: Victim, reason: str) -> Answer:
        commands = self.adapter.commands(action, victim.name, reason)
        told = bool(commands) or action != "note"
        if told:
            write = self.journal.append if action in (*EVICTIONS, "note") else self.journal.note
            write("intent", step=step, action=action, job=victim.name, commands=[list(c) for c in commands])
        answer = self.adapter.do(action, victim.name, reason)
        if told:
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

    def _become(self, step: int, victim: Victim, answer: str) -> None:
        self.journal.note("victim", step=step, job=victim.name, answer=answer)

    def _settle(self, victim: Victim, answer: Answer | None) -> str:
        """Look until it is seen what became of a victim: the cluster's word is not enough."""
        clock, refused = self.timing, answer is not None and answer.status == "refused"
        late = clock.steady() + clock.settle
        # After a refusal, and where no command can be under way any more, one look tells.
        until = clock.steady() if answer is None or refused else late
        while True:
            standing = self._look([victim.name])[victim.name]
            fate = _fate(victim, standing)
            # Refused, it may be leaving by itself: whether it does, the end tells.
            by_itself = refused and standing.state == "leaving" and clock.steady() < late
            if fate is not None and not by_itself:
                return fate
            if fate is None and clock.steady() >= until:
                return "stays" if refused else "unknown"
            clock.pause()

    def _look(self, names: Iterable[str]) -> dict[str, Standing]:
        return look(self.adapter, names, self.timing)

    # The beneficiary

    def _await(self, step: OpenStep, seconds: float) -> tuple[str, str]:
        if step.beneficiary is None:
            return self._finish(step, "repaired", "the victims have left")
        clock, name = self.timing, step.beneficiary
        until = clock.steady() + seconds
        while True:
            standing = self._look([name])[name]
            if standing.started:
                return self._finish(step, "started", f"{name} started")
            if standing.state not in ("pending", "running", "unknown"):
                return self._finish(
                    step,
                    "not_started",
                    f"{name} does not wait any more: {standing.state} ({standing.detail})",
                )
            if self.stopping():
                return self._finish(
                    step, "unwatched", f"the driver was stopped before {name} was seen to start"
                )
            if clock.steady() >= until:
                why = f"{name} did not start within {clock.start:g} s: {standing.detail}"
                return self._finish(step, "not_started", why)
            clock.pause()

    def _finish(self, step: OpenStep, outcome: str, why: str, *, blame: bool = True) -> tuple[str, str]:
        """Give back what can be given back now, and write down the end with what is still owed.

        Unless it had no chance, a beneficiary that did not start is not served again at once.
        """
        owed: dict[str, str] = {}
        for victim in step.victims.values():
            if not victim.asked or victim.freed or victim.answer == "ended":
                continue
            if victim.answer != "left":
                owed[victim.name] = f"look:{victim.action}"
            elif victim.action == "requeue_hold":
                held = self._release(step.number, victim)
                if held is not None:
                    owed[victim.name] = "release"
                    why += f"; {victim.name} is still held: {held}"
            elif victim.action == "suspend":
                owed[victim.name] = "resume"
        failures = (
            self.journal.book.failed(step, self.timing.now()) if outcome == "not_started" and blame else 0
        )
        more = {"failures": failures} if failures else {}
        self.journal.note("end", step=step.number, outcome=outcome, why=why, owed=owed, **more)
        _LOG.log(
            logging.WARNING if "release" in owed.values() else logging.INFO,
            "step %d: %s: %s",
            step.number,
            outcome,
            why,
            extra={"evenhand": {"step": step.number, "outcome": outcome, "why": why, "owed": owed}},
        )
        return outcome, why

    def _release(self, step: int, victim: Victim) -> str | None:
        """Release a held victim; why it is not seen to be free (or never held) afterwards, or None.

        Asked for again while the cluster does not say that it is done: a second release changes nothing.
        """
        clock = self.timing
        until = clock.steady() + clock.settle
        asked, again, said = 0, 0.0, ""
        while True:
            try:
                standing = self._look([victim.name])[victim.name]
            except AdapterError as error:
                return str(error)
            if standing.state not in ("held", "leaving", "unknown"):
                self.journal.note("victim", step=step, job=victim.name, freed=True)
                return None
            said = said or standing.detail
            if standing.state == "held" and asked < _TRIES and (not asked or clock.steady() >= again):
                answer = self._do(step, "release", victim, "")
                asked = _TRIES if answer.status == "done" else asked + 1
                said = answer.message or answer.status
                again = clock.steady() + clock.settle / _TRIES
                continue
            if clock.steady() >= until:
                return said
            clock.pause()

    # Debts

    def pay(self) -> None:
        """Release, resume or look after jobs that earlier steps left behind, as far as can be done now.

        A job that cannot be looked at keeps what it is owed, and holds up no other; a cluster that does not
        answer at all is not asked about every one.
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
                if not answers and self.timing.steady() > until:
                    return

    def _pay(self, owed: Owed) -> None:
        standing = self._look([owed.job])[owed.job]
        what = self._due(owed, standing)
        if what is None:
            self._settled(owed, standing)
        elif what == "release" or (what == "resume" and self._may_resume(owed)):
            victim = Victim(owed.job, standing.owner, what, owed.turn)
            self._do(owed.step, what, victim, "")
            standing = self._look([owed.job])[owed.job]
            if self._due(owed, standing) is None:
                self._settled(owed, standing)

    def _settled(self, owed: Owed, standing: Standing) -> None:
        self.journal.note("settled", job=owed.job, was=owed.what, state=standing.state, turn=standing.turn)

    def _due(self, owed: Owed, standing: Standing) -> str | None:
        """Return what a job is owed at this moment: an action, ``"wait"``, or None."""
        if standing.state in ("leaving", "unknown"):
            return "wait"
        if owed.what in ("resume", "look:suspend"):
            if standing.state == "suspended":
                return "resume"
        elif standing.state == "held" and (
            owed.what == "release" or (standing.turn > owed.turn and owed.what != "look:requeue")
        ):
            # Where nobody saw the driver's own command arrive, the hold may be somebody else's.
            return None if standing.held and owed.what.startswith("look:") else "release"
        # Also suspended by somebody: the command may yet arrive.
        as_it_was = standing.state in ("running", "suspended") and standing.turn == owed.turn
        lost = owed.what.startswith("look:") and as_it_was
        return "wait" if lost and self.timing.now() < owed.since + self.timing.forget else None

    def _may_resume(self, owed: Owed) -> bool:
        """Whether the room of a suspended job is free again and nobody is to have it first.

        That is its beneficiary as long as it runs, and while it waits only if nobody saw whether it starts.
        """
        if owed.beneficiary is not None and owed.outcome in ("started", "unwatched"):
            state = self._look([owed.beneficiary])[owed.beneficiary].state
            watched = owed.outcome == "started" or self.timing.now() >= owed.since + self.timing.start
            if state in ("running", "leaving", "unknown") or (state == "pending" and not watched):
                return False
        return self.adapter.room(owed.job)


def look(adapter: Adapter, names: Iterable[str], timing: Timing) -> dict[str, Standing]:
    """Return how jobs stand, by the third attempt at the latest; raises `AdapterError` if that fails too."""
    wanted = list(names)
    for left in reversed(range(_TRIES)):
        try:
            return adapter.look(wanted)
        except AdapterError:
            if not left:
                raise
            timing.pause()
    raise AssertionError


def _fate(victim: Victim, standing: Standing) -> str | None:
    """Return what became of a victim, or None while it is as it was."""
    if standing.state in ("ended", "gone"):
        return "left" if victim.action == "cancel" else "ended"
    if standing.state in ("held", "leaving") or standing.turn > victim.turn:
        return "left"
    if standing.state == "suspended" and victim.action == "suspend":
        return "left"
    return None
