"""Job arrays of Slurm that wait: the tasks that are next, as jobs of their own."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from evenhand.systems.slurm.adapter.jobs import Job
from evenhand.systems.slurm.adapter.states import HOLDING

__all__ = ["MOST", "begun_tasks", "expanded", "has_task", "place_of", "tasks_of"]

#: Tasks of an array that are read. As many as a backfill pass plans by default (``bf_max_job_array_resv``).
MOST = 20

_RANGE = re.compile(r"(\d+)(?:-(\d+)(?::(\d+))?)?")


def tasks_of(text: str) -> tuple[list[int], int]:
    """Return the first tasks of ``0-5:2,9%3``, at most `MOST` of them, and how many there are."""
    found: list[int] = []
    count = 0
    for part in text.partition("%")[0].strip("[]").split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            continue
        low = int(match[1])
        every = range(low, int(match[2] or low) + 1, max(int(match[3] or 1), 1))
        count += len(every)
        found += every[: MOST - len(found)]
    return found, count


def has_task(text: str, task: int) -> bool:
    """Whether a task is among those of ``0-5:2,9%3``."""
    matches = [_RANGE.fullmatch(part.strip()) for part in text.partition("%")[0].strip("[]").split(",")]
    return any(task in range(int(m[1]), int(m[2] or m[1]) + 1, max(int(m[3] or 1), 1)) for m in matches if m)


def expanded(jobs: Iterable[Job]) -> tuple[list[Job], dict[str, int]]:
    """Return jobs with the next tasks of arrays in the place of arrays that wait."""
    listed = list(jobs)
    running = Counter(job.array for job in listed if job.array and job.state in HOLDING)
    found: list[Job] = []
    more: dict[str, int] = {}
    for job in listed:
        if job.state != "PENDING" or not job.array_tasks:
            found.append(job)
            continue
        tasks, count = tasks_of(job.array_tasks)
        may = max(job.array_limit - running[job.array], 0) if job.array_limit else count
        if not tasks or not may:
            reason = job.reason if tasks else "ArrayTasksUnknown"
            found.append(replace(job, reason="JobArrayTaskLimit" if tasks else reason))
            continue
        found += [
            replace(job, name=f"{job.array}_{task}", number=job.array, task=task) for task in tasks[:may]
        ]
        if count > len(tasks[:may]):
            more[job.name] = count - len(tasks[:may])
    return found, more


def begun_tasks(jobs: Iterable[Job]) -> dict[int, list[int]]:
    """Return the numbers of tasks that have begun by their array, in the order in which they began."""
    found: dict[int, list[int]] = {}
    for job in jobs:
        if job.array and job.state != "PENDING":
            found.setdefault(job.array, []).append(job.number)
    # The last task of an array gets its number.
    return {array: sorted(numbers, key=lambda n: (n == array, n)) for array, numbers in found.items()}


def place_of(job: Job, begun: Mapping[int, list[int]]) -> tuple[int, int, int]:
    """Return where a job stands in Slurm's list, by which jobs that may be preempted are in order.

    A task that begins stays where its array stood; what is left of the array comes to the end of the list.
    """
    if job.state == "PENDING" or not job.array:
        return job.number, 0, job.task
    numbers = begun[job.array]
    before = numbers.index(job.number)
    return (numbers[before - 1], 1, 0) if before else (job.array, 0, 0)
