"""One step on its way: its victims leave, its beneficiary starts, and what is held is released."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenhand.adapters.protocol import AdapterError, Answer, Standing
from evenhand.errors import EvenhandError
from evenhand.units.text import duration

if TYPE_CHECKING:
    from evenhand.act.asking import Asking
    from evenhand.act.book import OpenStep, Victim
    from evenhand.act.carry import Carrier

__all__ = ["Course"]

_LOG = logging.getLogger("evenhand.act")
_TRIES = 3  # of a release
_STAYS = "was not asked to leave after all"
_GONE = ("left", "ended", "restarted")
_SAID = ("done", "refused", "unknown")


@dataclass(slots=True)
class _Asked:
    """A victim whose fate is not known yet: what the cluster said, and how long to look."""

    answer: Answer | None
    late: float
    until: float


@dataclass(slots=True)
class _Release:
    """A held victim that is to be released: how often that was asked for, when again, until when.

    ``seen``: the turn in which it was seen to be held; ``given``: the cluster said that it is released.
    """

    until: float
    seen: int | None = None
    given: bool = False
    asked: int = 0
    again: float = 0.0
    said: str = ""


class Course:
    """How far a step has come; it moves on with every look at its jobs and never waits itself.

    Without an asking an earlier driver began the step: then no further victim is asked to leave, and one look
    shows what became of those that were.

    Attributes
    ----------
    outcome, why : str
        As the journal's ``end`` has them; empty while the step is open.
    rivals : sequence of str
        Jobs that waited when it began and were left out of the plan: the cluster may give them the room.
    """

    def __init__(self, carrier: Carrier, step: OpenStep, seconds: float, asking: Asking | None) -> None:
        self.carrier, self.step, self.outcome, self.why = carrier, step, "", ""
        self.rivals: Sequence[str] = ()
        self._seconds, self._asking = seconds, asking
        self._answered = step.answered
        self._until: float | None = None
        self._verdict: tuple[str, str, bool] | None = None
        self._releases: dict[str, _Release] = {}
        self._owed: dict[str, str] = {}
        self._asked: dict[str, _Asked] = {}
        self._held: dict[str, int] = {}  # in which turn
        self._not_asked: list[Victim] = []
        self._said: dict[str, str] = {}
        self._withheld = ""
        now = carrier.timing.steady()
        for victim in step.victims.values():
            if victim.asked and victim.answer not in _GONE:
                said = Answer(victim.said) if victim.said in _SAID else None  # type: ignore[arg-type]
                self._asked[victim.name] = _Asked(said, now, now)
            elif not victim.asked and asking is not None:
                self._not_asked.append(victim)
        self._noted: set[str] = set()

    @property
    def ended(self) -> bool:
        """Whether the journal has its end."""
        return bool(self.outcome)

    # Asking victims to leave

    def tell(self, *, waited: bool = False) -> None:
        """Ask all victims to leave, one command after the other without a wait between.

        After an answer other than "done" no further one is asked before it is seen what became of that one.
        Those that may not be asked any more are left alone, and those before them get their place back.
        """
        try:
            self._withheld = self._tell(waited)
        except EvenhandError as error:
            self._withheld = str(error)
        except Exception as error:  # of a policy that is asked whether they may
            _LOG.exception("step %d: no further job is asked to leave", self.step.number)
            self._withheld = f"{type(error).__name__}: {error}"
        if self._withheld:
            self._leave_alone()

    def _tell(self, waited: bool) -> str:
        """Return why the others are left alone; empty if none has to be."""
        assert self._asking is not None  # noqa: S101 - of a step that an earlier driver began none is asked
        carrier, clock = self.carrier, self.carrier.timing
        self._note()
        while self._not_asked:
            names = [victim.name for victim in self._not_asked]
            why = self._asking(self.step, names, waited=waited)
            if why:
                return f"{', '.join(names)} was not asked to leave: {why}"
            waited = False
            victim = self._not_asked.pop(0)
            answer = carrier.do(self.step.number, victim.action, victim, self.step.reason)
            late = clock.steady() + clock.settle
            # After a refusal no command is under way: one look is enough.
            until = clock.steady() if answer.status == "refused" else late
            self._asked[victim.name] = _Asked(answer, late, until)
            self._said[victim.name] = answer.message or answer.status
            if answer.status != "done":
                break
        return ""

    def _note(self) -> None:
        """Write down where people look why victims are about to leave; not between two that are asked."""
        for victim in self._not_asked if not self._noted else ():
            self._noted.add(victim.name)
            self.carrier.do(self.step.number, "note", victim, self.step.reason)

    def _leave_alone(self) -> None:
        """Take the reasons back of victims that are not asked after all."""
        victims, self._not_asked = self._not_asked, []
        with contextlib.suppress(EvenhandError):  # as a reason that cannot be written
            for victim in victims:
                if victim.name in self._noted:
                    self.carrier.do(self.step.number, "note", victim, _STAYS)

    # Looks

    def wanted(self) -> list[str]:
        """Return the jobs that the next look must show."""
        if self._verdict is not None:
            return list(self._releases)
        beneficiary = self.step.beneficiary
        return [*self._asked, *([] if beneficiary is None else [beneficiary])]

    def missed(self) -> None:
        """Take into account that the cluster did not answer a look."""
        self._answered = False

    def see(self, standings: Mapping[str, Standing]) -> bool:
        """Move on by a look at all `wanted` jobs; whether the next look is due at once."""
        if self._verdict is None:
            self._settle(standings)
            if self._asked:
                return False
            if self._not_asked and self._all_gone() and self._waits(standings):
                self.tell(waited=True)
                return True
            self._verdict = self._judge(standings)
            if self._verdict is None:
                return False
            self._owe()
            again = bool(self._releases)
        else:
            again = self._release(standings)
        if not self._releases:
            self._end()
        return again

    def unseen(self, error: AdapterError) -> bool:
        """Take into account that its jobs cannot be looked at; whether the step stays open."""
        self.missed()
        if self._verdict is None:
            self.carrier.unanswered(self.step, error)
            return True
        for name in self._releases:
            self._still_held(name, str(error))
        self._releases = {}
        self._end()
        return False

    # Victims

    def _settle(self, standings: Mapping[str, Standing]) -> None:
        """Find out what became of victims: the cluster's word is not enough."""
        now = self.carrier.timing.steady()
        for name, asked in list(self._asked.items()):
            victim, standing = self.step.victims[name], standings[name]
            refused = asked.answer is not None and asked.answer.status == "refused"
            fate = _fate(victim, standing)
            # Refused, it may be leaving by itself: whether it does shows at the end.
            if refused and standing.state == "leaving" and now < asked.late:
                continue
            if fate is None:
                if now < asked.until:
                    continue
                moved = standing.turn > victim.turn
                fate = "restarted" if moved else "stays" if refused else "unknown"
            del self._asked[name]
            if standing.state == "held" and fate == "left":
                self._held[name] = standing.turn
            self.carrier.become(self.step.number, victim, fate)

    def _all_gone(self) -> bool:
        return all(v.answer in _GONE for v in self.step.victims.values() if v.asked)

    def _waits(self, standings: Mapping[str, Standing]) -> bool:
        beneficiary = self.step.beneficiary
        return beneficiary is None or standings[beneficiary].state in ("pending", "unknown")

    # The beneficiary

    def _judge(self, standings: Mapping[str, Standing]) -> tuple[str, str, bool] | None:
        """Return outcome, why and whether the beneficiary had its chance; None while it has to be awaited."""
        victims = self.step.victims.values()
        if self._asking is None and not all(v.answer in _GONE for v in victims):
            unsure = ", ".join(v.name for v in victims if v.asked and v.answer not in _GONE)
            why = f"it was sure that {unsure} left" if unsure else "all its victims were asked to leave"
            return "not_started", f"the driver ended before {why}", False
        stays = next((v for v in victims if v.asked and v.answer not in _GONE), None)
        if stays is not None:
            return "not_started", f"victim {stays.name} did not leave: {self._said[stays.name]}", False
        clock, beneficiary = self.carrier.timing, self.step.beneficiary
        if self._withheld and (beneficiary is None or not standings[beneficiary].started):
            return "not_started", self._withheld, False
        if beneficiary is None:
            return "repaired", "the victims have left", True
        if self._until is None:
            self._until = clock.steady() + self._seconds
        standing, chance = standings[beneficiary], self._answered
        if standing.started:
            return "started", f"{beneficiary} started", True
        if standing.state not in ("pending", "running", "unknown"):
            why = f"{beneficiary} does not wait any more: {standing.state} ({standing.detail})"
            return "not_started", why, chance
        if self.carrier.stopping():
            return "unwatched", f"the driver was stopped before {beneficiary} was seen to start", True
        if clock.steady() < self._until:
            return None
        why = f"{beneficiary} did not start within {duration(clock.start)}: {standing.detail}"
        rivals = self.carrier.started(self.rivals)
        if rivals:  # the room went to one that stands before it in the queue
            why, chance = f"{why}; {', '.join(rivals)} started instead", False
        return "not_started", why, chance

    # What is owed

    def _owe(self) -> None:
        clock = self.carrier.timing
        for victim in self.step.victims.values():
            if not victim.asked or victim.freed or victim.answer == "ended":
                continue
            if victim.answer != "left":
                self._owed[victim.name] = f"look:{victim.action}"
            elif victim.action == "requeue_hold":
                until = clock.steady() + clock.settle
                self._releases[victim.name] = _Release(until, self._held.get(victim.name))
            elif victim.action == "suspend":
                self._owed[victim.name] = "resume"

    def _release(self, standings: Mapping[str, Standing]) -> bool:
        """Release held victims; whether the next look is due at once.

        Asked for again while the cluster does not say that it is done: a second release changes nothing.
        A victim that was never seen to be held may have left by another cause: the command may yet arrive.
        """
        carrier, clock, again = self.carrier, self.carrier.timing, False
        for name, release in list(self._releases.items()):
            victim, standing = self.step.victims[name], standings[name]
            if _free(victim, standing, release):
                carrier.freed(self.step.number, victim)
                del self._releases[name]
                continue
            if standing.state == "held":
                release.seen = standing.turn
            release.said = release.said or standing.detail
            due = not release.asked or clock.steady() >= release.again
            if standing.state == "held" and release.asked < _TRIES and due:
                answer = self._ask_to_release(victim)
                release.given = answer.status == "done"
                release.asked = _TRIES if release.given else release.asked + 1
                release.said = answer.message or answer.status
                release.again = clock.steady() + clock.settle / _TRIES
                again = True
            elif clock.steady() >= release.until:
                if release.seen is not None or standing.state in ("leaving", "unknown"):
                    self._still_held(name, release.said)
                else:
                    self._owed[name] = f"look:{victim.action}"
                del self._releases[name]
        return again

    def _ask_to_release(self, victim: Victim) -> Answer:
        try:
            return self.carrier.do(self.step.number, "release", victim, "")
        except AdapterError as error:  # of what is to be run: it was not
            return Answer("unknown", str(error))

    def _still_held(self, name: str, said: str) -> None:
        self._owed[name] = "release"
        self.why += f"; {name} is still held: {said}"

    def _end(self) -> None:
        assert self._verdict is not None  # noqa: S101 - see `see`
        outcome, why, chance = self._verdict
        self.outcome, self.why = outcome, why + self.why
        self.carrier.end(self.step, outcome, self.why, self._owed, blame=chance)


def _free(victim: Victim, standing: Standing, release: _Release) -> bool:
    """Return whether a victim that left is held no more.

    Seen in an earlier turn than the one in which it was held it is not: the look lies behind.
    """
    if standing.state in ("ended", "gone"):
        return True
    if release.seen is None or standing.state in ("held", "leaving", "unknown"):
        return False
    return standing.turn >= release.seen or (release.given and standing.turn > victim.turn)


def _fate(victim: Victim, standing: Standing) -> str | None:
    """Return what became of a victim, or None while it is not known whether the command has arrived.

    A higher turn alone does not say so where the command does more than to end the turn.
    """
    state, action = standing.state, victim.action
    if state in ("ended", "gone"):
        return "left" if action == "cancel" else "ended"
    if state == "leaving" or (state == "suspended" and action == "suspend"):
        return "left"
    if action == "requeue_hold":
        return "left" if state == "held" and not standing.held else None
    if state == "held" or (action == "requeue" and standing.turn > victim.turn):
        return "left"
    return None
