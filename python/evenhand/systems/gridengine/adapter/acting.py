"""What is run to act on a job, and what came of it by the words that Grid Engine has for it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from evenhand.adapters.commands import Result
from evenhand.adapters.protocol import AdapterError, Answer

__all__ = ["MARK", "answer_of", "checked", "commands_of", "said_of"]

#: The variable of a job's context that says why it was asked to leave, and for which job.
MARK: Final = "evenhand"
_OTHER: Final = re.compile(r"[^A-Za-z0-9._:-]+")
_LONGEST: Final = 200
_NAME: Final = re.compile(r"[1-9]\d{0,17}(\.[1-9]\d{0,17})?")

#: A command whose exit status is 0 although it refuses: what it says if it has done something.
_DONE: Final = {
    "-rj": ("rescheduling of job",),
    "-sj": ("suspended job", "is already suspended"),
    "-usj": ("unsuspended job", "is already unsuspended"),
}
#: What commands say that did not reach the qmaster, or whose answer was lost.
_COMMLIB: Final = "commlib error"
_LOST: Final = (_COMMLIB, "unable to send message to qmaster", "unable to contact qmaster")
#: There was no connection, so nothing was asked.
_UNREACHED: Final = f"{_COMMLIB}: got select error (Connection refused)"


def commands_of(
    action: str,
    job: str,
    *,
    migrates: bool = False,
    stopped: bool = False,
    force: bool = False,
    reason: str = "",
) -> list[tuple[str, ...]]:
    """Return the commands of an action."""
    forced = ("-f",) if force else ()
    leaves = ("qmod", "-sj", job) if migrates else ("qmod", *forced, "-rj", job)
    known: dict[str, list[tuple[str, ...]]] = {
        "note": [_mark(job, reason)],
        "requeue": [leaves],
        "requeue_hold": [("qhold", "-h", "s", job), leaves],
        "cancel": [("qdel", job)],
        "suspend": [("qmod", "-sj", job)],
        "release": [("qrls", "-h", "s", job), *([("qmod", "-usj", job)] if stopped else [])],
        "resume": [("qmod", "-usj", job)],
    }
    return known[action]


def _mark(name: str, reason: str) -> tuple[str, ...]:
    """Return the command that marks a job; tasks share the context of their job, a variable each."""
    job, _, task = name.partition(".")
    said = _OTHER.sub("_", reason)[:_LONGEST]
    return "qalter", "-ac", f"{MARK}{'_' if task else ''}{task}={said}", job


def answer_of(arguments: Sequence[str], result: Result) -> Answer:
    """Return what came of a command."""
    if result.status is None:
        return Answer("unknown", said_of(result))
    text = f"{result.out}\n{result.err}"
    if any(words in text for words in _LOST):
        unreached = _UNREACHED in text and text.count(_COMMLIB) == 1
        return Answer("refused" if unreached else "unknown", said_of(result))
    if result.status != 0:
        return Answer("refused", said_of(result))
    words = next((_DONE[option] for option in arguments if option in _DONE), None)
    if words is not None and not any(word in re.sub("job-array task", "job", text) for word in words):
        return Answer("refused", said_of(result) or f"{arguments[0]} says nothing: the job does not run")
    return Answer("done")


def checked(name: Any) -> str:
    """Return the name of a job; `AdapterError` if it is none."""
    if not _NAME.fullmatch(str(name)):
        raise AdapterError(f"{str(name)[:40]!r} is not the number of a Grid Engine job")
    return str(name)


def said_of(result: Result) -> str:
    """Return what a command said, on one line that is safe to show."""
    from evenhand.display.text import clean

    text = clean(" ".join(f"{result.err} {result.out}".split())[:200])
    if result.status is None:
        return text or "no answer"
    return text if result.status == 0 else f"{text} (exit status {result.status})".lstrip()
