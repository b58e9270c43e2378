"""What the lines of a journal add up to: steps that are open, jobs that are owed something, counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from evenhand.adapters.protocol import EVICTIONS
from evenhand.reasons import current

__all__ = ["Book", "OpenStep", "Victim"]

_REMEMBERED = 24 * 3600.0  # seconds


@dataclass(slots=True)
class Victim:
    """A job that is to leave in a step, and how far that went.

    Attributes
    ----------
    name, owner : str
    action : str
        How it leaves.
    turn : int
        Its turn when the step began; a higher one says that it has left.
    asked : bool
        Whether the cluster may have received the command.
    answer : str or None
        What the driver found out: ``"left"``, ``"ended"`` (by itself), ``"restarted"`` (it left, perhaps by
        another cause: the command may yet arrive), ``"stays"``, ``"unknown"``.
    freed : bool
        Whether a release or resume was found to be done.
    said : str
        What the cluster answered to the command, as `Answer.status`; empty: the journal has no answer.
    """

    name: str
    owner: str
    action: str
    turn: int
    asked: bool = False
    answer: str | None = None
    freed: bool = False
    said: str = ""


@dataclass(slots=True)
class OpenStep:
    """A step that began and has not ended; ``answered``: no look at its jobs failed for good.

    ``lock`` is the token of the lock that its commands inherited; empty: it is not known.
    """

    number: int
    began: float
    beneficiary: str | None
    victims: dict[str, Victim] = field(default_factory=dict)
    reason: str = ""
    answered: bool = True
    lock: str = ""

    @property
    def asked(self) -> tuple[str, ...]:
        """The victims that the cluster may have been asked to evict."""
        return tuple(victim.name for victim in self.victims.values() if victim.asked)

    @property
    def attempted(self) -> bool:
        """Whether a victim may be leaving, or has left: not if the cluster refused all that was asked for."""
        return any(
            victim.said != "refused" if victim.answer is None else victim.answer != "stays"
            for victim in self.victims.values()
            if victim.asked
        )


@dataclass(slots=True)
class Owed:
    """What a job is owed yet: ``"release"``, ``"resume"``, or ``"look:<action>"`` (did it arrive?).

    ``since`` is when its step ended, ``outcome`` how; ``given``: the cluster said that it is released, or
    resumes; ``refused``: the command to leave was, and the job stays. ``lock`` and ``said``: as of its step
    and victim; ``ended``: the command has, and did not show: the job is looked after, and may be a victim.
    """

    job: str
    what: str
    turn: int
    beneficiary: str | None
    step: int
    since: float
    outcome: str = ""
    given: bool = False
    refused: bool = False
    lock: str = ""
    said: str = ""
    ended: bool = False


class Book:
    """Adds up the lines of a journal, kind by kind.

    ``journal`` (schema, cluster; steps and totals of before it began anew) · ``run`` (a driver begins) ·
    ``refused`` (a step that was not begun, and why) · ``step`` (a step begins: victims, beneficiary,
    reasons) · ``intent`` (an action is about to be asked for) · ``outcome`` (what the cluster said) ·
    ``victim`` (what became of a victim) · ``end`` (of a step: its outcome, why, what is still owed) ·
    ``settled`` (nothing is owed to a job any more) · ``found`` (a command that counted as lost has arrived
    after all: something is owed again) · ``command_ended`` (of a driver that was killed, without a trace).

    Attributes
    ----------
    open : dict of int to OpenStep
        Steps without end, by number.
    owed : dict of str to Owed
        Jobs that have to be released, resumed or looked after.
    lost : dict of str to Owed
        Jobs that were to go back to the queue held, and to which nothing is owed any more because that never
        showed; of the last day at least. ``since`` is when that was given up.
    evictions : list of tuple
        (time, owner, job) of every eviction that was asked for; of the last day at least.
    evicted : int
        How many were asked for in all, before the journal began anew too; likewise `ends` and `refusals`.
    ends : dict of str to int
        How many steps ended how.
    refusals : dict of str to int
        Refused steps by code.
    failures : dict of str to tuple
        (how many times in a row, when last) of beneficiaries for which jobs left, and which did not start.
    """

    def __init__(self) -> None:
        self.cluster = ""
        self.steps = 0
        self.open: dict[int, OpenStep] = {}
        self.owed: dict[str, Owed] = {}
        self.lost: dict[str, Owed] = {}
        self.evictions: list[tuple[float, str, str]] = []
        self.evicted = 0
        self.ends: dict[str, int] = {}
        self.refusals: dict[str, int] = {}
        self.failures: dict[str, tuple[int, float]] = {}
        self._now = 0.0

    def add(self, line: dict[str, Any]) -> None:
        """Take a line into account; kinds that are not known change nothing but the time."""
        self.set_clock(line["t"])
        handle = _HANDLES.get(line["kind"])
        if handle is not None:
            handle(self, line)

    def set_clock(self, now: float) -> None:
        """Take into account what time it is: if the clock was set back, nothing is of later than now.

        Else caps and pauses would last as much longer as it was set back.

        Parameters
        ----------
        now : float
            Seconds since 1970.

        Notes
        -----
        O(1), unless the clock was set back: O(evictions + failures).
        """
        if now < self._now:
            self.evictions = [(min(t, now), owner, job) for t, owner, job in self.evictions]
            self.failures = {name: (count, min(t, now)) for name, (count, t) in self.failures.items()}
            for owed in (*self.owed.values(), *self.lost.values()):
                owed.since = min(owed.since, now)
            for step in self.open.values():
                step.began = min(step.began, now)
        self._now = now

    def _journal(self, line: dict[str, Any]) -> None:
        self.cluster = line["cluster"]
        self.steps = line.get("steps", 0)
        totals = line.get("totals", {})
        self.evicted += totals.get("evictions", 0)
        for counts, earlier in ((self.ends, "ends"), (self.refusals, "refusals")):
            for written, count in totals.get(earlier, {}).items():
                word = current(written)
                counts[word] = counts.get(word, 0) + count

    def _step(self, line: dict[str, Any]) -> None:
        number = line["step"]
        self.steps = max(self.steps, number + 1)
        victims = {v["job"]: Victim(v["job"], v["owner"], v["action"], v["turn"]) for v in line["victims"]}
        self.open[number] = OpenStep(
            number, line["t"], line["beneficiary"], victims, line.get("reason", ""), lock=line.get("lock", "")
        )

    def _intent(self, line: dict[str, Any]) -> None:
        step = self.open.get(line["step"])
        victim = step.victims.get(line["job"]) if step is not None else None
        if line["action"] in EVICTIONS and victim is not None:
            victim.asked = True
            self.evicted += 1
            self.evictions.append((line["t"], victim.owner, victim.name))

    def _outcome(self, line: dict[str, Any]) -> None:
        step = self.open.get(line["step"])
        if line["action"] == "look" and step is not None:
            step.answered = False
        victim = step.victims.get(line["job"]) if step is not None else None
        if line["action"] in EVICTIONS and victim is not None:
            victim.said = line.get("status", "")
        owed = self.owed.get(line["job"])
        if line["action"] in ("release", "resume") and line.get("status") == "done" and owed is not None:
            owed.given = True

    def _victim(self, line: dict[str, Any]) -> None:
        step = self.open.get(line["step"])
        victim = step.victims.get(line["job"]) if step is not None else None
        if victim is not None:
            victim.answer = line.get("answer", victim.answer)
            victim.freed = line.get("freed", victim.freed)

    def _end(self, line: dict[str, Any]) -> None:
        step = self.open.pop(line["step"], None)
        self.ends[line["outcome"]] = self.ends.get(line["outcome"], 0) + 1
        for job, what in line["owed"].items():
            victim = step.victims.get(job) if step is not None else None
            owed = Owed(job, what, 0, None, line["step"], line["t"], line["outcome"])
            if step is not None:
                owed.beneficiary, owed.lock = step.beneficiary, step.lock
            if victim is not None:
                owed.turn, owed.refused, owed.said = victim.turn, victim.answer == "stays", victim.said
            self.owed[job] = owed
        if step is not None and step.beneficiary is not None:
            if line["outcome"] == "started":
                self.failures.pop(step.beneficiary, None)
            elif line.get("failures"):
                self.failures = {n: f for n, f in self.failures.items() if f[1] >= line["t"] - _REMEMBERED}
                self.failures[step.beneficiary] = line["failures"], line["t"]

    def _settled(self, line: dict[str, Any]) -> None:
        owed = self.owed.pop(line["job"], None)
        if owed is None or owed.what != "look:requeue_hold" or owed.given:
            return
        if line.get("state") not in ("ended", "gone"):
            owed.since = line["t"]
            self.lost = {
                job: lost for job, lost in self.lost.items() if lost.since >= line["t"] - _REMEMBERED
            }
            self.lost[owed.job] = owed

    def _found(self, line: dict[str, Any]) -> None:
        owed = self.lost.pop(line["job"], None)
        if owed is not None:
            owed.what, owed.since = "release", line["t"]
            self.owed[owed.job] = owed

    def _command_ended(self, line: dict[str, Any]) -> None:
        owed = self.owed.get(line["job"])
        if owed is not None:
            owed.ended = True

    def _refused(self, line: dict[str, Any]) -> None:
        for code in map(current, line["codes"]):
            self.refusals[code] = self.refusals.get(code, 0) + 1

    def failed(self, step: OpenStep, now: float) -> int:
        """Return how many times in a row a beneficiary will have failed that does not start in this step.

        0 where it is not to blame: its victims have not all left.
        """
        answers = [victim.answer for victim in step.victims.values()]
        if step.beneficiary is None or "left" not in answers or not {"left", "ended"}.issuperset(answers):
            return 0
        count, last = self.failures.get(step.beneficiary, (0, 0.0))
        return count + 1 if last >= now - _REMEMBERED else 1

    def leaving(self) -> dict[str, str]:
        """Return the jobs that were asked to leave, each with its beneficiary."""
        owed = (owed for owed in self.owed.values() if not (owed.ended or owed.refused))
        found = {one.job: one.beneficiary for one in owed}
        for step in self.open.values():
            found |= {name: step.beneficiary for name, victim in step.victims.items() if victim.asked}
        return {job: beneficiary for job, beneficiary in found.items() if beneficiary is not None}

    def promised(self, but: int | None = None) -> list[tuple[str, str]]:
        """Return owners and jobs of what steps that began may still ask to leave, but for one of them."""
        return [
            (victim.owner, victim.name)
            for step in self.open.values()
            for victim in step.victims.values()
            if not victim.asked and step.number != but
        ]

    def busy(self) -> set[str]:
        """Return the jobs of which something is open; a driver begins nothing with them."""
        jobs = {job for job, owed in self.owed.items() if not owed.ended}
        for step in self.open.values():
            jobs |= set(step.victims)
        return jobs


_HANDLES = {
    "journal": Book._journal,
    "step": Book._step,
    "intent": Book._intent,
    "outcome": Book._outcome,
    "victim": Book._victim,
    "end": Book._end,
    "settled": Book._settled,
    "found": Book._found,
    "command_ended": Book._command_ended,
    "refused": Book._refused,
}
