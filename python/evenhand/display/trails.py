"""The trail of a job as text: a paragraph a step, with the plan's sentences and the cluster's answers."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from evenhand.display.explanations import explanation_text
from evenhand.display.text import UNICODE, Glyphs, clean
from evenhand.table import Table

if TYPE_CHECKING:
    from evenhand.act.trails import Event, Said, Trail, TrailStep

__all__ = ["said_table", "said_text", "trail_table", "trail_text"]

_WIDTH = 80
_COLUMNS = (
    *("UTC", "step", "role", "victims", "for", "reason", "outcome", "why", "times"),
    *("plan", "part", "explanation"),
)


def trail_text(trail: Trail, room: int = _WIDTH, glyphs: Glyphs = UNICODE) -> str:
    """Return a trail as lines."""
    lines: list[str] = []
    for step in trail.steps:
        lines += [_head(trail.job, step), *_said(step.said, room, glyphs), ""]
        lines += [*map(_event, step.events), *([""] if step.events else [])]
    if trail.last is not None:
        lines += [
            f"No job left for {clean(trail.job)}, and it was not asked to leave. The last plan that knew it:",
            *_said(trail.last, room, glyphs),
        ]
    elif not any(step.step is not None for step in trail.steps):
        lines.append(f"No job left for {clean(trail.job)}, and it was not asked to leave.")
    return "\n".join(lines).rstrip("\n")


def trail_table(trail: Trail) -> Table:
    """Return a trail as a table, a row for each explanation of each step, the last plan's at the end."""
    rows: list[tuple[object, ...]] = []
    for step in trail.steps:
        head = (_utc(step.when), step.step, step.role, " ".join(step.victims), step.beneficiary)
        came = (step.reason, step.outcome, step.why, step.times)
        rows += [(*head, *came, *cells) for cells in _sentences(step.said)]
    if trail.last is not None:
        rows += [("", None, "", "", None, "", "", "", 0, *cells) for cells in _sentences(trail.last)]
    return Table({name: [row[i] for row in rows] for i, name in enumerate(_COLUMNS)}, title="trail")


def said_text(said: Said, room: int = _WIDTH, glyphs: Glyphs = UNICODE) -> str:
    """Return what a plan said of a job as lines."""
    parts = [clean(said.missing)] if said.missing else []
    parts += [explanation_text(one, room, glyphs) for one in said.explanations]
    parts += [_more(said)] if said.more else []
    return "\n\n".join(parts)


def said_table(said: Said) -> Table:
    """Return what a plan said of a job as a table, a row a part."""
    rows = _sentences(said)
    return Table(
        {name: [row[i] for row in rows] for i, name in enumerate(_COLUMNS[-3:])}, title="explanation"
    )


def _more(said: Said) -> str:
    return f"There are {said.more} more parts of the job."


def _sentences(said: Said) -> list[tuple[object, ...]]:
    if not said.explanations:
        return [(said.plan, "", said.missing)]
    return [(said.plan, str(one.name), " ".join(one.sentences)) for one in said.explanations]


def _utc(when: float) -> str:
    return f"{datetime.fromtimestamp(when, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _head(job: str, step: TrailStep) -> str:
    who = ", ".join(step.victims) or "no job"
    if step.role == "victim":
        what = f"{job} was to leave" + (f" for {step.beneficiary}" if step.beneficiary else "")
        what += f" ({', '.join(filter(None, (step.reason, step.action)))})" if step.step is not None else ""
    else:
        verb = "was" if len(step.victims) < 2 else "were"
        what = f"{who} {verb} to leave for {job}"
    number = "refused" if step.step is None else f"step {step.step}"
    came = f": {step.outcome}" if step.step is not None else ""
    why = f": {step.why}" if step.why else ""
    again = f" ({step.times} times since {_utc(step.first)})" if step.times > 1 else ""
    return clean(f"{_utc(step.when)}  {number}: {what}{came}{why}{again}")


def _said(said: Said, room: int, glyphs: Glyphs) -> Iterator[str]:
    if said.plan is not None:
        yield f"  {clean(said.plan)}{f': {clean(said.missing)}' if said.missing else ''}"
    for one in said.explanations:
        for line in explanation_text(one, room - 2, glyphs).split("\n"):
            yield f"  {line}".rstrip()
    if said.more:
        yield f"  {_more(said)}"


_BECAME = {"freed": "is held no more", "unknown": "cannot be seen to have left"}


def _event(event: Event) -> str:
    job, status = event.job, event.status
    if event.what == "became":
        said = f"{job} {_BECAME.get(status, status)}"
    elif event.what == "settled":
        said = f"{job} is {status}: nothing is owed to it any more"
    elif event.what == "found":
        said = f"{job} is {status}: a command that counted as lost has arrived"
    else:
        said = f"{event.what} of {job}: {status}"
    message = f" ({event.message})" if event.message else ""
    return clean(f"  {_utc(event.when)}  {said}{message}")
