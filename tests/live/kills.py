"""What the journals of drivers that were killed say: how long a beneficiary waits for what is known."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evenhand.adapters.commands import Result, Subprocesses

__all__ = ["MOMENTS", "Noted", "longest_wait", "noted", "text_of", "written"]

#: What a driver that is killed has just written: it reads, begins a step, asks, knows, gives back.
MOMENTS = (
    ('"kind": "run"',),
    ('"kind": "step"',),
    ('"kind": "intent"', '"action": "requeue_hold"'),
    ('"kind": "outcome"', '"action": "requeue_hold"'),
    ('"kind": "victim"', '"answer": "left"'),
    ('"kind": "intent"', '"action": "release"'),
)


def text_of(folder: Path) -> str:
    """Return the journal in a folder; empty where there is none."""
    path = folder / "journal"
    return path.read_text() if path.exists() else ""


def written(journal: str, moment: Sequence[str]) -> int:
    """Return how many lines of a journal have all words of a moment."""
    return sum(all(word in line for word in moment) for line in journal.splitlines())


class Noted(Subprocesses):
    """Runs commands, and writes down from when until when each of them ran."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.path = folder / "commands"

    def _run(self, arguments: Sequence[str], timeout: float, inherited: tuple[int, ...]) -> Result:
        begin = time.time()
        try:
            return super()._run(arguments, timeout, inherited)
        finally:
            with self.path.open("a") as file:
                file.write(f"{begin} {time.time()}\n")


def noted(folder: Path) -> list[tuple[float, float]]:
    """Return from when until when the commands of all drivers ran, but for those that died with one."""
    rows = [line.split() for line in (folder / "commands").read_text().splitlines()]
    return [(float(begin), float(end)) for begin, end in rows]


def longest_wait(
    lines: Sequence[dict[str, Any]],
    deaths: Sequence[float],
    commands: Sequence[tuple[float, float]] = (),
) -> float:
    """Return the longest time in which a driver did nothing for a beneficiary whose step another left open.

    Parameters
    ----------
    lines
        Of the journal.
    deaths
        When drivers ended, in seconds since 1970.
    commands
        From when until when commands of the cluster ran: that is no time of the driver's.

    Notes
    -----
    A driver has done something once it knows that all victims left (then the cluster lets the beneficiary
    start), ends the step as one that started or as that of a job that does not wait any more, or begins or
    refuses another step for the same job. A job that no later driver does anything for has started by itself.
    """

    def waited(since: float, until: float) -> float:
        ran = ((max(begin, since), min(end, until)) for begin, end in commands)
        return until - since - sum(max(end - begin, 0.0) for begin, end in ran)

    named = {one["beneficiary"]: one["t"] for one in lines if one["kind"] in ("step", "refused")}  # the last
    longest = 0.0
    open_: dict[int, tuple[str, set[str]]] = {}  # beneficiaries, and victims that may still be there
    waits: dict[str, float] = {}  # beneficiaries of steps that an earlier driver left open; since when
    death = float("inf")
    for line in lines:
        kind = line["kind"]
        if line["t"] > death:
            left = (waited(since, death) for job, since in waits.items() if named[job] >= line["t"])
            longest = max(longest, *left, 0.0)
            waits, death = {}, float("inf")
        if kind == "run":
            death = min((t for t in deaths if t >= line["t"]), default=float("inf"))
            waits = {job: line["t"] for job, victims in open_.values() if victims}
        elif kind == "step":
            open_[line["step"]] = line["beneficiary"], {victim["job"] for victim in line["victims"]}
        job, victims = open_.get(line.get("step", -1), (line.get("beneficiary", ""), set()))
        if kind == "victim" and line.get("answer") in ("left", "gone"):
            victims.discard(line["job"])
        elif kind == "end":
            del open_[line["step"]]
        ended = kind == "end" and (line["outcome"] == "started" or line.get("failures"))
        if kind in ("step", "refused") or ended or (kind == "victim" and not victims):
            longest = max(longest, waited(waits.pop(job, line["t"]), line["t"]))
    return longest
