"""What must hold of every history of acting, by the site's own log and the journal."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from evenhand.adapters.protocol import EVICTIONS
from evenhand.testing._laws import must
from evenhand.testing.acting.site import FORGET, POLL

if TYPE_CHECKING:
    from evenhand.testing.acting.histories import History
    from evenhand.testing.acting.site import Event

__all__ = ["LAWS", "judge"]


_HOUR = 3600.0
_FRESH = POLL + 0.5  # seconds that a look may be old when a job is asked: a poll, and what a call takes


def judge(history: History) -> None:
    """Hold a history against all laws.

    Parameters
    ----------
    history : History

    Raises
    ------
    AssertionError
        The seed, the first law that does not hold, and what was found.

    Notes
    -----
    O(lines of the log and the journal).
    """
    for law in LAWS:
        try:
            law(history)
        except AssertionError as error:
            raise AssertionError(f"history {history.seed}: {law.__name__}: {error}") from error


def drivers_end(history: History) -> None:
    """Every driver comes to its end."""
    must(not history.endless, "a driver does not come to its end")


def nothing_is_left(history: History) -> None:
    """Once nothing goes wrong any more, no step stays open, and no job is owed anything."""
    must(not history.open, f"steps {history.open} are open")
    must(not history.owed, f"jobs are owed something: {history.owed}")


def no_job_stays_held(history: History) -> None:
    """In the end no job is held or suspended but by a person.

    A suspension bears no mark. One that arrives after all that counted as lost is like that of a person.
    """
    for name, job in history.site.jobs.items():
        must(job.state != "held" or job.held_by == "person", f"{name} is held by a command")
        late = job.state == "suspended" and _arrived_late(history, name)
        must(job.state != "suspended" or late, f"{name} is suspended")


def _arrived_late(history: History, job: str) -> bool:
    """Whether a suspension was like a person's when it arrived.

    It counted as lost by then, or another one was taken for it: a person's, or one that was asked for later.
    """
    asked: list[Event] = []
    unlike = False
    for event in history.site.log:
        if event.job == job and event.what == "suspend" and event.kind == "asked":
            asked.append(event)
        person = event.kind == "person" and event.job == job and event.what == "suspend"
        unlike = unlike or (bool(asked) and (person or event.what == "sets the clock"))
        if event.job == job and event.what == "suspend" and event.kind == "arrived":
            unlike = unlike or len(asked) > 1 or event.at - asked[0].at > FORGET
    return unlike


def written_before_asked(history: History) -> None:
    """When a job is asked to leave, the journal has the intent as its last line; none is asked twice."""
    used = set()
    for event in _evictions(history):
        line = history.lines[event.written - 1] if event.written else {}
        fits = line.get("kind") == "intent" and (line["action"], line["job"]) == (event.what, event.job)
        must(fits, f"{event.what} of {event.job} is asked for, and the journal's last line is {line}")
        must(line["n"] not in used, f"{event.what} of {event.job} is asked for twice")
        used.add(line["n"])
    intents = Counter(
        (line["step"], line["job"])
        for line in history.lines
        if line["kind"] == "intent" and line["action"] in EVICTIONS
    )
    for (step, job), count in intents.items():
        must(count == 1, f"step {step} asks {job} to leave {count} times")


def only_what_steps_name(history: History) -> None:
    """Only victims of a step are touched, as it says, and given back only after that."""
    steps = {line["step"]: line for line in history.lines if line["kind"] == "step"}
    for line in history.lines:
        if line["kind"] == "intent":
            named = {v["job"]: v["action"] for v in steps[line["step"]]["victims"]}
            must(line["job"] in named, f"{line['action']} of {line['job']}, which its step does not name")
            own = line["action"] in ("release", "resume", named[line["job"]])
            must(own, f"{line['action']} of {line['job']}, which is to leave by {named[line['job']]}")
    for event in _asked(history):
        if event.what not in EVICTIONS:
            # A driver may have died between the line and the command.
            before = history.lines[: event.written]
            known = any(
                line["kind"] == "intent" and line["job"] == event.job and line["action"] in EVICTIONS
                for line in before
            )
            must(known, f"{event.what} of {event.job}, which no driver was to ask to leave")


def looked_at_when_asked(history: History) -> None:
    """Victims and beneficiaries stand as they must by the last look, right before the victim is asked."""
    last: dict[str, Event] = {}
    steps = {line["step"]: line for line in history.lines if line["kind"] == "step"}
    for event in history.site.log:
        if event.kind == "looked":
            last[event.job] = event
        if event.kind != "asked" or event.what not in EVICTIONS:
            continue
        line = history.lines[event.written - 1]
        step = steps[line["step"]]
        (turn,) = (v["turn"] for v in step["victims"] if v["job"] == event.job)
        for job, state in ((event.job, "running"), (step["beneficiary"], "pending")):
            look = last.get(job)
            must(look is not None, f"{event.job} is asked to leave without a look at {job}")
            assert look is not None  # noqa: S101 - for the type
            age = event.at - look.at
            must(age <= _FRESH, f"{event.job} is asked to leave {age:.2f} s after the last look at {job}")
            must(look.then is not None and look.then.state == state, f"{job} was seen as {look.then}")
            assert look.then is not None  # noqa: S101 - for the type
            if job == event.job:
                must(look.then.turn == turn, f"{job} was seen in turn {look.then.turn}, not {turn}")
                held = look.then.held_by if event.what == "requeue_hold" else ""
                must(not held, f"{job} was seen held by a {held}")


def caps_hold(history: History) -> None:
    """No more jobs are asked to leave than the caps say, where the clock was not set."""
    caps, asked = history.caps, _evictions(history)
    if any(event.what == "sets the clock" for event in history.site.log):
        return
    for place, event in enumerate(asked):
        hour = [e for e in asked[: place + 1] if e.at >= event.at - _HOUR]
        owned = [e for e in hour if e.then and event.then and e.then.user == event.then.user]
        for cap, count in ((caps.per_hour, len(hour)), (caps.per_owner, len(owned))):
            must(cap is None or count <= cap, f"{event.job} is number {count} where {cap} are allowed")
    for job, count in Counter(e.job for e in asked).items():
        must(caps.per_job is None or count <= caps.per_job, f"{job} was asked to leave {count} times")
    run = 0
    for event in history.site.log:
        run = 0 if event.kind == "driver" else run + (event in asked)
        must(caps.per_run is None or run <= caps.per_run, f"a driver asks {run} jobs to leave")


def every_step_has_its_end(history: History) -> None:
    """Every step that the journal begins it also ends, and says why."""
    ends = {line["step"]: line for line in history.lines if line["kind"] == "end"}
    for line in history.lines:
        if line["kind"] == "step":
            must(line["step"] in ends, f"step {line['step']} has no end")
            must(bool(ends[line["step"]]["why"]), f"the end of step {line['step']} says nothing")


def the_journal_tells_the_story(history: History) -> None:
    """Hold what has started, as the journal says, and what was touched, against the log."""
    ends = {line["step"]: line for line in history.lines if line["kind"] == "end"}
    for line in history.lines:
        if line["kind"] == "step" and ends[line["step"]]["outcome"] == "started":
            began = [e for e in history.site.log if e.kind == "started" and e.job == line["beneficiary"]]
            must(bool(began), f"{line['beneficiary']} has started, says the journal; it has not")
    wanted = {v["job"] for line in history.lines if line["kind"] == "step" for v in line["victims"]}
    touched = {event.job for event in _asked(history)}
    must(touched <= wanted, f"the journal does not know of {sorted(touched - wanted)}")


def _asked(history: History) -> list[Event]:
    return [event for event in history.site.log if event.kind == "asked"]


def _evictions(history: History) -> list[Event]:
    return [event for event in _asked(history) if event.what in EVICTIONS]


#: In the order in which they are held.
LAWS = (
    drivers_end,
    written_before_asked,
    only_what_steps_name,
    looked_at_when_asked,
    caps_hold,
    every_step_has_its_end,
    the_journal_tells_the_story,
    nothing_is_left,
    no_job_stays_held,
)
