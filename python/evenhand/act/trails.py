"""The trail of a job: which steps concerned it, what the plans said, and what the cluster answered."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from evenhand.accepted import checked
from evenhand.act.folder import PlanFolder
from evenhand.act.jobs import explained, named, several
from evenhand.act.reading import read
from evenhand.errors import InputError, NoSuchNameError
from evenhand.reasons import current

if TYPE_CHECKING:
    from evenhand.explain import Explanation
    from evenhand.plans import Plan

__all__ = ["Event", "Said", "Trail", "TrailStep", "trail", "trail_of"]


@dataclass(frozen=True, slots=True)
class Event:
    """What was asked of the cluster for a job, or seen of it.

    Attributes
    ----------
    when : float
        Seconds since 1970.
    job : str
    what : str
        An action (``"requeue_hold"``, ``"release"``, ``"resume"``, ...) that was asked for; ``"became"``
        (looking at it showed what became of it), ``"look"`` (the cluster did not answer that), ``"found"`` (a
        command that counted as lost has arrived) or ``"settled"`` (nothing is owed to it any more).
    status : str
        Of an action what the cluster said: ``"done"``, ``"refused"`` or ``"unknown"``; else how it stood:
        ``"left"``, ``"ended"``, ``"restarted"``, ``"stays"``, ``"freed"`` (it is held no more), ...
    message : str
        The cluster's own words.
    """

    when: float
    job: str
    what: str
    status: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class Said:
    """What a plan said of a job.

    Attributes
    ----------
    plan : str or None
        The name of its file; None: none is known.
    explanations : tuple of Explanation
        Of the job's parts; empty where the plan is not there.
    more : int
        Parts beside these.
    missing : str
        Why there is no explanation; empty if there is.
    """

    plan: str | None
    explanations: tuple[Explanation, ...] = ()
    more: int = 0
    missing: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "plan": self.plan,
            "explanations": [one.to_dict() for one in self.explanations],
            "more": self.more,
            "missing": self.missing,
        }


@dataclass(frozen=True, slots=True)
class TrailStep:
    """A step that concerned a job, or one that was refused.

    Attributes
    ----------
    when : float
        Seconds since 1970: when it began, or was refused; of several refusals the last one.
    step : int or None
        Its number in the journal; None: it was refused.
    role : str
        ``"victim"`` or ``"beneficiary"``.
    victims : tuple of str
    beneficiary : str or None
    action : str
        How the job was to leave; empty of a beneficiary and of what was refused.
    reason : str
        Codes: of the victim's decision, or of the refusal.
    outcome : str
        ``"refused"``, ``"open"``, or as `Row.outcome`.
    why : str
        The same in words.
    events : tuple of Event
        Of the job; of a beneficiary those of all victims.
    said : Said
        By the plan.
    times : int
        How often in a row it was refused for the same.
    first : float
        When it was first.
    """

    when: float
    step: int | None
    role: str
    victims: tuple[str, ...]
    beneficiary: str | None
    action: str
    reason: str
    outcome: str
    why: str
    events: tuple[Event, ...]
    said: Said
    times: int
    first: float


@dataclass(frozen=True, slots=True)
class Trail:
    """What a journal and the plans of a folder say of a job.

    Attributes
    ----------
    job : str
        Its name in full.
    steps : tuple of TrailStep
        That concerned it, in order.
    last : Said or None
        What the newest plan said that knew the job, where no step that began concerned it.
    """

    job: str
    steps: tuple[TrailStep, ...] = ()
    last: Said | None = field(default=None)

    @property
    def text(self) -> str:
        """All of it in sentences, with the numbers as aligned columns."""
        from evenhand.display.trails import trail_text

        return trail_text(self)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        from dataclasses import asdict

        steps = []
        for one in self.steps:
            plain = asdict(replace(one, said=Said(None)))
            steps.append(plain | {"victims": list(one.victims), "said": one.said.to_dict()})
        return {
            "job": self.job,
            "steps": [{**step, "events": list(step["events"])} for step in steps],
            "last": None if self.last is None else self.last.to_dict(),
        }

    def __str__(self) -> str:
        return self.text


@checked("trail")
def trail(journal: str | os.PathLike[str], job: str, plans: str | os.PathLike[str] | None = None) -> Trail:
    """Return what a journal says of a job, with what the plans said that it was decided by.

    Parameters
    ----------
    journal : str or path-like
    job : str
        As the cluster calls it: ``4711``, ``4711_3`` (Slurm) or ``4711.3`` (Grid Engine).
    plans : str or path-like, optional
        Folder of plans (`PlanFolder`) of the same cluster.

    Returns
    -------
    Trail

    Raises
    ------
    JournalError
        If the journal cannot be read.
    InputError
        If neither knows the job, it is an array of several tasks, or a file that is needed is damaged.

    Notes
    -----
    O(lines), and a plan is made again for every step that concerned the job.
    """
    return trail_of(read(journal), job, plans)


def trail_of(
    lines: Sequence[Mapping[str, Any]], job: str, plans: str | os.PathLike[str] | None = None
) -> Trail:
    """Return the same of the lines of a journal."""
    folder = None if plans is None else PlanFolder(plans)
    names = named(_jobs(lines), job)
    newest: str | None = None
    if not names and folder is not None:
        newest, names = folder._last(job) or (None, [])
    if len(names) != 1:
        raise _no_such(job, names, plans)
    whole = names[0]
    sayings = _Sayings(folder, whole)
    steps = tuple(_grouped(_steps(lines, whole, sayings)))
    if any(step.step is not None for step in steps) or folder is None:
        return Trail(whole, steps)
    newest = newest or folder.last(whole)
    return Trail(whole, steps, None if newest is None else sayings.of(newest))


class _Sayings:
    """What the plans of a folder say of a job; a plan is made again once."""

    def __init__(self, folder: PlanFolder | None, job: str) -> None:
        self._folder, self._job = folder, job
        self._known: dict[str, Said] = {}

    def of(self, name: str | None) -> Said:
        if name is None:
            return Said(None, missing="no plan was saved")
        if self._folder is None:
            return Said(name, missing="no folder of plans was named")
        if name not in self._known:
            self._known[name] = self._read(name, self._folder)
        return self._known[name]

    def _read(self, name: str, folder: PlanFolder) -> Said:
        if name not in folder:
            return Said(name, missing=f"it is not in {folder.path} (any more)")
        plan: Plan = folder.load(name)
        try:
            return Said(name, *explained(plan, self._job))
        except KeyError:
            return Said(name, missing="it does not know the job")


def _jobs(lines: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for line in lines:
        if line["kind"] == "step":
            yield from (victim["job"] for victim in line["victims"])
        elif line["kind"] == "refused":
            yield from line["victims"]
        if line["kind"] in ("step", "refused") and line["beneficiary"] is not None:
            yield line["beneficiary"]


def _steps(lines: Sequence[Mapping[str, Any]], job: str, sayings: _Sayings) -> Iterator[TrailStep]:
    ends = {line["step"]: line for line in lines if line["kind"] == "end"}
    events = _events(lines)
    for line in lines:
        if line["kind"] not in ("step", "refused"):
            continue
        begun = line["kind"] == "step"
        rows = {victim["job"]: victim for victim in line["victims"]} if begun else {}
        victims = tuple(rows) if begun else tuple(line["victims"])
        if job not in victims and job != line["beneficiary"]:
            continue
        end = ends.get(line["step"]) if begun else None
        mine = rows.get(job, {})
        reason = mine.get("reason", "") if begun else ", ".join(map(current, line["codes"]))
        about = (
            [one for one in events.get(line["step"], ()) if job in (one.job, line["beneficiary"])]
            if begun
            else []
        )
        yield TrailStep(
            when=line["t"],
            step=line["step"] if begun else None,
            role="victim" if job in victims else "beneficiary",
            victims=victims,
            beneficiary=line["beneficiary"],
            action=mine.get("action", ""),
            reason=current(reason) if begun else reason,
            outcome=(end["outcome"] if end else "open") if begun else "refused",
            why=(end["why"] if end else "") if begun else line["why"],
            events=tuple(about),
            said=sayings.of(_plan_of(line)),
            times=1,
            first=line["t"],
        )


def _plan_of(line: Mapping[str, Any]) -> str | None:
    """Return the plan's file that a line of a journal names."""
    plan = line.get("plan")
    name = plan.get("file") if isinstance(plan, dict) else None
    return name if isinstance(name, str) else None


def _events(lines: Iterable[Mapping[str, Any]]) -> dict[int, list[Event]]:
    """Return the events of each step: each request with its answer, each look that told something."""
    found: dict[int, list[Event]] = {}
    asked: dict[tuple[int, str, str], int] = {}
    owed: dict[str, int] = {}
    for line in lines:
        kind, job = line["kind"], line.get("job")
        step = owed.get(str(job)) if kind == "settled" else line.get("step")
        if kind == "end":
            owed |= dict.fromkeys(line["owed"], line["step"])
        if not isinstance(step, int) or job is None:
            continue
        events = found.setdefault(step, [])
        if kind == "intent":
            asked[step, line["action"], job] = len(events)
            events.append(Event(line["t"], job, line["action"], "unknown", "no answer was written down"))
        elif kind == "outcome":
            status, message = str(line.get("status")), str(line.get("message", ""))
            place = asked.pop((step, line["action"], job), None)
            if place is None:
                events.append(Event(line["t"], job, line["action"], status, message))
            else:
                events[place] = replace(events[place], status=status, message=message)
        elif kind == "victim":
            seen = "freed" if line.get("freed") else str(line.get("answer"))
            events.append(Event(line["t"], job, "became", seen))
        elif kind in ("found", "settled"):
            events.append(Event(line["t"], job, kind, str(line.get("state"))))
    return found


def _grouped(steps: Iterable[TrailStep]) -> list[TrailStep]:
    """Return refusals in a row for the same reason as one."""
    found: list[TrailStep] = []
    for one in steps:
        before = found[-1] if found else None
        if before is not None and one.step is None and _same(before, one):
            found[-1] = replace(one, times=before.times + 1, first=before.first)
        else:
            found.append(one)
    return found


def _same(before: TrailStep, one: TrailStep) -> bool:
    return (before.step, before.role, before.victims, before.beneficiary, before.reason) == (
        *(one.step, one.role, one.victims, one.beneficiary, one.reason),
    )


def _no_such(job: str, names: Sequence[str], plans: str | os.PathLike[str] | None) -> InputError:
    if names:
        said = several(job, names)
    elif plans is None:
        said = f"no step of the journal concerned a job {job!r}; a folder of plans (--plans) may know it"
    else:
        said = f"no step of the journal concerned a job {job!r}, and no plan of {os.fspath(plans)} knows it"
    return NoSuchNameError.about("trail", "job", "exists", said, job)
