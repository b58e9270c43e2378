"""What is read of a Slurm cluster, whatever its release: which command says it, and in which form."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from evenhand.adapters.commands import Result
from evenhand.adapters.protocol import AdapterError
from evenhand.systems.slurm.adapter.arrays import expanded
from evenhand.systems.slurm.adapter.jobs import COLUMNS, Job, jobs_of_text, numbered_jobs_of_json
from evenhand.systems.slurm.adapter.licences import free_licences
from evenhand.systems.slurm.adapter.nodes import Node, nodes_of_json, nodes_of_text, reserved_of
from evenhand.systems.slurm.adapter.snapshot import Beside
from evenhand.systems.slurm.adapter.text import rows, version_in
from evenhand.systems.slurm.text.shown import shown_version

if TYPE_CHECKING:
    from evenhand.adapters.commands import Runner

__all__ = ["Reader", "said"]

#: Releases from which on nodes are in the JSON of scontrol, not of sinfo; and on which the JSON of jobs does
#: not say whether they take entire nodes.
_NODES_OF_SCONTROL, _EXCLUSIVE_IN_TEXT = (23, 2), (26, 5)


class Reader:
    """Asks a cluster's commands, and knows in which form this release answers."""

    def __init__(self, run: Runner, timeout: float) -> None:
        self.run, self.timeout = run, timeout
        self.seconds: dict[str, float] = {}
        self.json: bool | None = None
        self.version: str | None = None
        self.more: dict[str, int] = {}
        self._commands: str | None = None  # their release, which is not always the controller's

    def read(self, *arguments: str) -> Result:
        """Run a command that only reads."""
        begin = time.monotonic()
        result = self.run(arguments, self.timeout)
        self.seconds[arguments[0]] = self.seconds.get(arguments[0], 0.0) + time.monotonic() - begin
        return result

    def ask(self, *arguments: str) -> str:
        """Return what a command that only reads prints; raises `AdapterError` if it fails."""
        result = self.read(*arguments)
        if result.status != 0:
            raise AdapterError(f"{arguments[0]}: {said(result)}")
        if arguments == ("scontrol", "show", "config"):
            self.version = shown_version(result.out) or self.version
        return result.out

    def cluster(self) -> tuple[list[Job], list[Node]]:
        """Return jobs and nodes; raises `AdapterError` if a command fails or its answer is incomplete."""
        jobs, nodes = self.numbered()
        return self.next_tasks(jobs.values()), nodes

    def numbered(self) -> tuple[dict[int, Job], list[Node]]:
        """Return jobs by their own numbers, arrays that wait as one, and nodes; raises as `cluster`."""
        text = self._squeue()
        self._learn_version(text)
        sharing = self.sharing()
        if text is None:
            columns = ",".join(f"{c}:|" for c in COLUMNS)
            listed = jobs_of_text(self.ask("squeue", "-a", "-t", "all", "-O", columns), sharing)
            return dict(enumerate(listed)), self.nodes()
        nodes = self.nodes()
        jobs = numbered_jobs_of_json(text, {node.name: node.threads for node in nodes}, sharing)
        return self._with_switches(jobs, text), nodes

    def next_tasks(self, jobs: Iterable[Job]) -> list[Job]:
        """Return jobs with the next tasks of arrays that wait in their place, and count the others."""
        found, self.more = expanded(jobs)
        return found

    def reservations(self) -> dict[str, float]:
        """Return nodes of reservations with the time from which on the first one holds."""
        return reserved_of(self.ask("sinfo", "-a", "-T"))

    def beside(self, jobs: list[Job], *, own_rules: bool) -> Beside:
        """Return what is known beside jobs and nodes."""
        from evenhand.systems.slurm.adapter.settings import read_sharing

        asked = any(job.licences for job in jobs if job.state == "PENDING")
        licences = free_licences(self.ask("scontrol", "show", "lic")) if asked else {}
        return Beside(self.version, licences, read_sharing(self.ask), own_rules)

    # Forms

    def _squeue(self) -> str | None:
        """Return the JSON of all jobs, or None if ``squeue`` has none."""
        if self.json is False:
            return None
        result = self.read("squeue", "--json")
        if result.status != 0:
            if self.json is not None or result.status is None or "json" not in result.err.lower():
                raise AdapterError(f"squeue: {said(result)}")
            self.json = False
            return None
        self.json = True
        return result.out

    def _learn_version(self, text: str | None) -> None:
        if self._commands is None:
            found = None if text is None else version_in(text)
            if found is None:
                result = self.read("scontrol", "--version")
                found = version_in(result.out) if result.status == 0 else None
            self._commands = found
        self.version = self.version or self._commands

    def _release(self) -> tuple[int, int]:
        """Return the release of the commands; of one that does not say the oldest that is read."""
        year, month = (self._commands or "22.05").split(".")[:2]
        return int(year), int(month)

    def sharing(self) -> dict[int, str] | None:
        """Return whom jobs share their nodes with, by number; None where their JSON says it."""
        if self._release() < _EXCLUSIVE_IN_TEXT:
            return None
        cells = rows(self.ask("squeue", "-a", "-t", "all", "-O", "jobid:|,exclusive:|"), 2)
        return {int(job): "" if word in ("NO", "N/A", "(null)") else word for job, word in cells}

    def _with_switches(self, jobs: dict[int, Job], text: str) -> dict[int, Job]:
        """Return the jobs; those that ask for switches, which JSON before 23.02 does not show, are unfit."""
        if '"required_switches"' in text or not any(job.state == "PENDING" for job in jobs.values()):
            return jobs
        cells = rows(self.ask("squeue", "-a", "-t", "pending", "-O", "jobid:|,reqswitch:|"), 2)
        asking = {int(job) for job, switches in cells if switches not in ("", "0", "N/A")}
        return {
            name: replace(job, unfit="switches") if job.number in asking and not job.unfit else job
            for name, job in jobs.items()
        }

    def nodes(self) -> list[Node]:
        """Return nodes, in the form that this release has."""
        commands = [("scontrol", "show", "nodes", "--json"), ("sinfo", "-N", "--json")]
        if self._release() < _NODES_OF_SCONTROL:
            commands.reverse()
        for command in commands if self.json is not False else ():
            result = self.read(*command)
            if result.status == 0:
                try:
                    return nodes_of_json(result.out)
                except AdapterError:
                    if '"sinfo"' not in result.out:
                        raise
        nodes = nodes_of_text(self.ask("sinfo", "-a", "-N", "-o", "%N|%T|%c|%m|%G|%R|%b|"))
        if not nodes:
            raise AdapterError("sinfo: its answer is empty")
        return nodes


def said(result: Result) -> str:
    """Return what a command said, on one line that is safe to show."""
    from evenhand.display.text import clean

    text = clean(" ".join((result.err or result.out).split())[:200])
    if result.status is None:
        return text or "no answer"
    return f"{text} (exit status {result.status})".lstrip()
