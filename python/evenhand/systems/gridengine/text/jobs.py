"""Jobs as ``qstat`` shows them: what each task is doing, and what its job asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from evenhand.building.problems import shorten
from evenhand.systems.gridengine.text.machines import Instance, instance_of
from evenhand.systems.gridengine.text.xml import Element, parse
from evenhand.systems.texts import Found

__all__ = ["Details", "Task", "name_of", "read_details", "read_jobs", "read_tasks"]

#: Letters of states: d deletion, E error, h hold, q queued, r running, R restarted, s, S, N, P and T stopped,
#: t transferring, w waiting.
_LETTERS: Final = frozenset("dEhqrRsSNPTtw")
#: What has ended, and is shown with ``-s z`` or by Altair's for a while.
_FINISHED: Final = frozenset("fz")
#: From here on a time that is a number is in milliseconds (Univa's, Altair's), from there in microseconds
#: (Open Cluster Scheduler): as seconds these would be in the years 5138 and 3,170,843.
_MILLISECONDS: Final = 10**11
_MICROSECONDS: Final = 10**14
_DIGITS: Final = 17
_RANGE: Final = re.compile(r"(\d+)(?:-(\d+)(?::(\d+))?)?")
_MOST_TASKS: Final = 100_000

#: Bits of ``JB_checkpoint_attr``: a checkpoint when the job is suspended (``-c x``).
_WHEN_SUSPENDED: Final = 4
#: Values of ``JB_restart``: the queue says, yes, no.
_RERUN: Final = {"0": None, "1": True, "2": False}


@dataclass(slots=True)
class Task:
    """A job, or a task of an array, as it stands."""

    job: str
    task: str
    name: str
    owner: str
    state: str
    priority: float
    since: float
    parts: dict[str, int]
    slots: int
    requests: Mapping[str, str] = field(default_factory=dict)
    environment: str = ""
    placed: bool = True
    detailed: bool = False
    unknown: str = ""

    @property
    def key(self) -> str:
        """What commands call it: ``job`` or ``job.task``."""
        return name_of(self.job, self.task)

    @property
    def waits(self) -> bool:
        """Whether it is in the queue."""
        return "q" in self.state

    @property
    def held(self) -> bool:
        """Whether it is held."""
        return "h" in self.state


@dataclass(frozen=True, slots=True)
class Details:
    """What ``qstat -j`` adds of a job."""

    job: str
    submitted: float
    reserve: bool
    rerun: bool | None
    checkpoint: str
    migrates: bool
    not_before: float
    slots: tuple[tuple[int, int, int], ...]
    environment: str
    queues: tuple[str, ...]
    concurrency: int
    starts: Mapping[str, float]
    asks: tuple[str, ...] = ()
    requests: Mapping[str, str] = field(default_factory=dict)
    places: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


def name_of(job: str, task: str) -> str:
    """Return what commands call a job or a task of an array."""
    return f"{job}.{task}" if task else job


def _instant(said: str, *, utc: bool) -> float:
    """Return an instant of ``qstat``: time since 1970, or a time in its own zone or that of the command."""
    if said.isascii() and said.isdecimal():
        if len(said) > _DIGITS:
            raise ValueError("beyond the year 5138, in microseconds too")
        number = int(said)
        unit = 1_000_000 if number >= _MICROSECONDS else 1000 if number >= _MILLISECONDS else 1
        return number / unit
    there = datetime.fromisoformat(said)
    if there.tzinfo is None:
        there = there.replace(tzinfo=UTC) if utc else there.astimezone()
    return there.timestamp()


class _Row:
    """An element whose parts are read, and what is wrong with them."""

    def __init__(self, element: Element, found: Found, subject: str, *, utc: bool = False) -> None:
        self.element, self.found, self.subject, self.utc = element, found, subject, utc

    def text(self, tag: str) -> str:
        return self.element.said(tag)

    def wrong(self, tag: str, said: str, must: str) -> None:
        message = f"{tag} of {self.subject} is {shorten(said) or 'missing'}; it must be {must}"
        self.found.add(self.element.line, tag, "type", said, message)

    def number(self, tag: str, default: str = "") -> str:
        """Return digits; what is none is found, and 0 returned."""
        said = self.text(tag) or default
        if not (said.isascii() and said.isdecimal() and len(said) < 19):
            self.wrong(tag, said, "a whole number")
            return "0"
        return said

    def instant(self, *tags: str) -> float:
        for tag in tags:
            said = self.text(tag)
            if said:
                try:
                    return _instant(said, utc=self.utc)
                except (ValueError, OverflowError, OSError):
                    self.wrong(tag, said, "a time")
                    return 0.0
        return 0.0

    def real(self, tag: str) -> float:
        said = self.text(tag)
        if not re.fullmatch(r"-?\d+(\.\d*)?", said) or len(said) > 40:
            self.wrong(tag, said, "a number")
            return 0.0
        return float(said)


def read_tasks(text: str, *, utc: bool = False) -> list[Task]:
    """Read the jobs of ``qstat -xml -u '*' -r -g t``; see `read_jobs`."""
    return read_jobs(text, utc=utc)[0]


def read_jobs(text: str, *, utc: bool = False) -> tuple[list[Task], dict[str, tuple[Instance, ...]]]:
    """Read ``qstat -xml -u '*' -r -g t``, or with ``-f``, which has queue instances with their jobs."""
    root, found = parse(text, "qstat -xml", "job_info"), Found("qstat -xml")
    tasks: dict[str, Task] = {}
    instances: dict[str, list[Instance]] = {}
    for listed in root.all("queue_info", "Queue-List"):
        name = listed.said("name")
        queue, at, host = name.partition("@")
        if not (queue and at and host):
            message = f"name of a queue instance is {shorten(name) or 'missing'}; it must be queue@host"
            found.add(listed.line, "name", "type", name, message)
        slots, state = listed.said("slots_total"), listed.said("state")
        instances.setdefault(host, []).append(instance_of(queue, host, slots, state, listed.line, found))
        for element in listed.all("job_list"):
            _add(element, tasks, found, utc=utc, instance=name)
    for element in (*root.all("queue_info", "job_list"), *root.all("job_info", "job_list")):
        _add(element, tasks, found, utc=utc)
    for one in tasks.values():
        _settle_slots(one)
    found.complain()
    return list(tasks.values()), {host: tuple(rows) for host, rows in instances.items()}


def _add(element: Element, tasks: dict[str, Task], found: Found, *, utc: bool, instance: str = "") -> None:
    """Add the rows that one element stands for; `instance` is where it stands in a list of these."""
    job = element.said("JB_job_number")
    row = _Row(element, found, f"job {shorten(job)}", utc=utc)
    job = row.number("JB_job_number")
    state = row.text("state")
    if not state.isalpha() or not state.isascii():
        row.wrong("state", state, f"made of the letters {''.join(sorted(_LETTERS))}")
        return
    if _FINISHED.intersection(state) and "q" not in state:
        return
    slots = int(row.number("slots", "1"))
    requests = {one.attributes.get("name", ""): one.text for one in element.all("hard_request")}
    granted = element.first("granted_pe") or element.first("requested_pe")
    environment = "" if granted is None else granted.attributes.get("name", "")
    total = element.said("granted_pe")
    for number in _tasks(row):
        key = name_of(job, number)
        one = tasks.get(key)
        if one is None or (one.waits and "q" in state):
            if one is not None:
                found.add(element.line, "JB_job_number", "unique", key, f"{key} waits twice")
            one = tasks[key] = Task(
                job=job,
                task=number,
                name=row.text("JB_name"),
                owner=row.text("JB_owner"),
                state=state,
                priority=row.real("JAT_prio"),
                since=row.instant("JAT_start_time", "JB_submission_time"),
                parts={},
                slots=int(total) if total.isdecimal() else slots,
                requests=requests,
                environment=environment,
                detailed=element.first("full_job_name") is not None,
                unknown="".join(sorted(set(state) - _LETTERS)),
            )
        place = row.text("queue_name") or instance
        if "q" in state:
            continue
        if "@" not in place:
            row.wrong("queue_name", place, "queue@host")
            continue
        master = row.text("master")
        # Without -g t a job is one row, at its master's queue instance.
        one.placed = one.placed and (slots <= 1 or bool(master or instance))
        if master == "MASTER":  # it comes first
            one.parts = {place: 0, **one.parts}
        one.parts[place] = one.parts.get(place, 0) + slots
        one.requests = one.requests or requests


def _tasks(row: _Row) -> list[str]:
    """Return the numbers of tasks that a row stands for: ``3``, ``1-9:2``, ``2,5-7:1``."""
    said = row.text("tasks")
    if not said:
        return [""]
    numbers: list[str] = []
    for part in said.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None or len(part) > 40:
            row.wrong("tasks", said, "numbers and ranges such as 1-9:2")
            return []
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
        if step < 1 or last < first or (last - first) // step + len(numbers) >= _MOST_TASKS:
            row.wrong("tasks", said, f"ranges that rise, of at most {_MOST_TASKS} tasks")
            return []
        numbers += [str(number) for number in range(first, last + 1, step)]
    return numbers


def _settle_slots(one: Task) -> None:
    """Take away the row of a master that takes no slot: it stands beside those of the job's slots."""
    rows = sum(one.parts.values())
    if one.parts and one.slots > 1 and rows == one.slots + 1:
        master = next(iter(one.parts))
        one.parts[master] -= 1
    if one.parts:
        one.slots = sum(one.parts.values())


_ASKS: Final = {
    "JB_soft_resource_list": "",  # no more than a wish
    "JB_master_hard_queue_list": "a queue of the master task",
    "JB_jid_predecessor_list": "",  # it is held until they have ended
}


#: What ``qstat -j`` writes where there is no job, in some versions with tags that have no name.
_NO_JOB: Final = re.compile(r"\s*(<\?xml[^>]*>)?\s*<unknown_jobs\b")
_BEGINS: Final = re.compile(r"(?=<\?xml\s)")


def read_details(text: str, unread: dict[str, str] | None = None) -> dict[str, Details]:
    """Read ``qstat -xml -j '*'``."""
    details: dict[str, Details] = {}
    for part in [part for part in _BEGINS.split(text) if part.strip()] or [text]:
        if not _NO_JOB.match(part):
            _read_details(part, details, unread)
    return details


def _read_details(text: str, details: dict[str, Details], unread: dict[str, str] | None) -> None:
    command = "qstat -xml -j"
    root, found = parse(text, command, "detailed_job_info", "unknown_jobs"), Found(command)
    for element in root.all("djob_info", "element"):
        before = len(found.problems)
        one = _details(element, found)
        if unread is not None and len(found.problems) > before and one.job != "0":
            unread[one.job] = found.problems[before].message
            del found.problems[before:]
        else:
            details[one.job] = one
    found.complain()


def _details(element: Element, found: Found) -> Details:
    job = element.said("JB_job_number")
    row = _Row(element, found, f"job {shorten(job)}")
    restart, when = row.text("JB_restart") or "0", row.number("JB_checkpoint_attr", "0")
    if restart not in _RERUN:
        row.wrong("JB_restart", restart, "0, 1 or 2")
    ranges = []
    for part in element.all("JB_pe_range", "ranges"):
        one = _Row(part, found, row.subject)
        ranges.append((int(one.number("RN_min")), int(one.number("RN_max")), int(one.number("RN_step", "1"))))
    starts, places = {}, {}
    for part in (task for tasks in element.all("JB_ja_tasks") for task in tasks.children):
        one = _Row(part, found, row.subject)
        number = one.number("JAT_task_number")
        starts[number] = one.instant("JAT_start_time")
        places[number] = _places(part, found, row.subject)
    asks = [words for tag, words in _ASKS.items() if words and element.first(tag) is not None]
    if row.number("JB_ar", "0") != "0":
        asks.append("an advance reservation")
    return Details(
        job=row.number("JB_job_number"),
        submitted=row.instant("JB_submission_time"),
        reserve=row.text("JB_reserve") == "true",
        rerun=_RERUN.get(restart),
        checkpoint=row.text("JB_checkpoint_name"),
        migrates=bool(int(when) & _WHEN_SUSPENDED),
        not_before=row.instant("JB_execution_time"),
        slots=tuple(ranges),
        environment=row.text("JB_pe"),
        queues=tuple(one.said("QR_name") for one in element.all("JB_hard_queue_list", "destin_ident_list")),
        concurrency=int(row.number("JB_ja_task_concurrency", "0")),
        starts=starts,
        asks=tuple(asks),
        requests={
            one.said("CE_name"): one.said("CE_stringval")
            for one in element.all("JB_hard_resource_list", "qstat_l_requests")
        },
        places=places,
    )


def _places(task: Element, found: Found, subject: str) -> dict[str, int]:
    """Return slots by queue instance; nothing where one of them is not told."""
    places: dict[str, int] = {}
    for part in (one for listed in task.all("JAT_granted_destin_identifier_list") for one in listed.children):
        name = part.said("JG_qname")
        if "@" not in name or part.first("JG_slots") is None:
            return {}
        places[name] = places.get(name, 0) + int(_Row(part, found, subject).number("JG_slots"))
    return places
