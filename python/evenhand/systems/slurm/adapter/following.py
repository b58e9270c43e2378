"""What has changed in a Slurm cluster since it was last read, by a listing of all jobs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from evenhand.adapters.protocol import AdapterError
from evenhand.systems.slurm.adapter.arrays import has_task
from evenhand.systems.slurm.adapter.jobs import COLUMNS, Job, numbered_jobs_of_json
from evenhand.systems.slurm.adapter.nodes import Node
from evenhand.systems.slurm.adapter.reading import Reader
from evenhand.systems.slurm.adapter.states import HOLDING, base_of
from evenhand.systems.slurm.adapter.text import rows, words

__all__ = ["Follower"]

_LASTS = 60.0  # seconds after which all is read anew: not all that JSON has is in the listing
_FEW, _PART = 200, 4  # more changed jobs than so many, and than this part of all, are read as a whole
_PLACE = {name: place for place, name in enumerate(COLUMNS)}
#: Of a job that waits: when Slurm expects it to start and end, which nothing reads.
_EXPECTED = (_PLACE["starttime"], _PLACE["endtime"])
_PRIORITY = _PLACE["prioritylong"]

Cells = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Seen:
    """What was read last: all of it at ``at``, some of it since; cells are no newer than their job."""

    at: float
    cells: Mapping[int, Cells]
    jobs: Mapping[int, Job]


class Follower(Reader):
    """Reads a cluster again by what has changed; see `Reader`."""

    _seen: _Seen | None = None

    def follow(self, about: Collection[str] | None, now: float) -> tuple[list[Job], list[Node]]:
        """Return jobs and nodes, as `cluster`."""
        cells = self._listing()
        if cells is not None and about is not None:
            found = self._by_changes(cells, about, now)
            if found is not None:
                return found
        self._seen = None
        jobs, nodes = self.numbered()
        if cells is not None and self.json:
            self._seen = _Seen(now, cells, jobs)
        return self.next_tasks(jobs.values()), nodes

    def _listing(self) -> dict[int, Cells] | None:
        """Return a row for each job, read before the jobs; None where all is read as text, or it fails."""
        if self.json is False:
            return None
        result = self.read("squeue", "-a", "-t", "all", "-O", ",".join(f"{c}:|" for c in COLUMNS))
        if result.status != 0:
            return None
        try:
            return {int(row[0]): tuple(row) for row in rows(result.out, len(COLUMNS), bars=True)}
        except (AdapterError, ValueError):
            return None

    def _by_changes(
        self, cells: dict[int, Cells], about: Collection[str], now: float
    ) -> tuple[list[Job], list[Node]] | None:
        """Return jobs and nodes, of which only some were read; None if all has to be."""
        seen = self._seen
        if seen is None or not 0.0 <= now - seen.at < _LASTS:
            return None
        sharing = self.sharing()
        wanted = {
            job
            for job, row in cells.items()
            if _differ(seen.cells.get(job), row)
            or (sharing is not None and job in seen.jobs and sharing.get(job, "") != seen.jobs[job].sharing)
            or _is_of(row, about)
        }
        if len(wanted) > max(_FEW, len(cells) // _PART):
            return None
        nodes = self.nodes()
        fresh = self._read(wanted, cells, nodes, sharing)
        if fresh is None:
            return None
        merged = {
            job: fresh[job] if job in fresh else _at_priority(known, cells[job])
            for job, known in seen.jobs.items()
            if job in cells and (job in fresh or job not in wanted)
        }
        merged |= {job: fresh[job] for job in sorted(fresh) if job not in merged}
        self._seen = _Seen(seen.at, cells, merged)
        return self.next_tasks(merged.values()), nodes

    def _read(
        self,
        wanted: Collection[int],
        cells: Mapping[int, Cells],
        nodes: list[Node],
        sharing: Mapping[int, str] | None,
    ) -> dict[int, Job] | None:
        """Return some jobs by their JSON; older commands answer with all, which is right too."""
        if not wanted:
            return {}
        result = self.read("squeue", "--json", f"--jobs={','.join(map(str, sorted(wanted)))}")
        if result.status != 0:
            return None
        try:
            found = numbered_jobs_of_json(result.out, {node.name: node.threads for node in nodes}, sharing)
        except AdapterError:
            return None
        if any(_lives(cells[job]) for job in wanted if job not in found):
            return None
        found = {job: one for job, one in found.items() if job in cells}
        if '"required_switches"' not in result.out:
            place = _PLACE["reqswitch"]
            for job, one in found.items():
                if one.state == "PENDING" and cells[job][place] not in ("", "0", "N/A") and not one.unfit:
                    found[job] = replace(one, unfit="switches")
        return found


def _lives(row: Cells) -> bool:
    return base_of(words(row[_PLACE["state"]])) in {"PENDING", "UNKNOWN", *HOLDING}


def _differ(before: Cells | None, row: Cells) -> bool:
    """Whether a job must be read anew; another priority is taken from the listing, unless it is a hold."""
    if before == row:
        return False
    if before is None or before[_PLACE["state"]] != row[_PLACE["state"]]:
        return True
    waits = row[_PLACE["state"]] == "PENDING"
    passed = {*(_EXPECTED if waits else ()), *((_PRIORITY,) if _rank(before) and _rank(row) else ())}
    return any(a != b for place, (a, b) in enumerate(zip(before, row, strict=True)) if place not in passed)


def _rank(row: Cells) -> int:
    return int(row[_PRIORITY]) if row[_PRIORITY].isdecimal() else 0


def _at_priority(job: Job, row: Cells) -> Job:
    return replace(job, priority=_rank(row)) if job.priority != _rank(row) else job


def _is_of(row: Cells, about: Collection[str]) -> bool:
    """Whether a row is of one of some jobs, or of the array in which such a task waits."""
    task, array = row[_PLACE["arraytaskid"]], row[_PLACE["arrayjobid"]]
    if task.isdecimal():
        return f"{array}_{task}" in about
    return row[0] in about or any(
        has_task(task, int(one.partition("_")[2])) for one in about if one.startswith(f"{array}_")
    )
