"""Google's cluster trace of May 2011 (clusterdata-2011-2): task events and machine events."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.accepted import SCALE, checked
from evenhand.arguments import expect
from evenhand.simulate.workload import Workload
from evenhand.table import Table
from evenhand.traces._blocks import blocks, file_name
from evenhand.traces._fields import Block, Wrong
from evenhand.traces._paths import objects, paths, pool_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

__all__ = ["BANDS", "google2011"]

#: Bands of priorities, and the first priority of each.
BANDS = {"free": 0, "middle": 2, "production": 9}

TASKS = (
    *("time", "missing", "job", "task", "machine", "event", "user", "class", "priority"),
    *("cpu", "memory", "disk", "different_machines"),
)
MACHINES = ("time", "machine", "event", "platform", "cpu", "memory")
_EVENTS = ("submitted", "scheduled", "evicted", "failed", "finished", "killed", "lost")
_SUBMIT, _SCHEDULE, _EVICT, _FAIL, _FINISH, _KILL, _LOST = range(7)
_ADD, _REMOVE, _UPDATE = range(3)
_BEGIN = 600_000_000  # what happened before the trace has the time 0
_AFTER = (1 << 63) - 1  # and what happened behind it this one
_QUANTUM = 1e-8
_WORDS = ("band", "user", "job")

Columns = dict[str, "NDArray[Any]"]


@checked("google2011", overcommit=SCALE, sample=SCALE)
def google2011(
    task_events: str | os.PathLike[str] | list[str | os.PathLike[str]],
    machine_events: str | os.PathLike[str] | None = None,
    pools: str | None = "band/user",
    *,
    overcommit: float = 1.0,
    sample: float = 1.0,
) -> Workload:
    """Read Google's trace of 2011, or a part of it from its start on.

    A job is an operation, named by its number; a task of it is a request of one allocation. Amounts are
    fractions of the largest machine, of ``cpu`` and ``memory``.

    Parameters
    ----------
    task_events : path, or list of paths
        Table of task events: parts in their order, as they are or compressed by gzip, bzip2, xz or zstd.
    machine_events : path, optional
        Table of machine events; only what happened by the last task event is read.
    pools : str or None
        ``"band"``, ``"user"``, ``"job"`` or several joined by ``/``. Bands are of the priority: free
        (0 to 1), middle (2 to 8), production (9 to 11).
    overcommit : float
        Factor of the machines' capacities: requests of what runs exceed them (cpu 1.13 times at the start).
    sample : float
        Part of the jobs, and of the machines, that is kept: by a hash of their numbers.

    Returns
    -------
    Workload
        ``workload.snapshot()`` has the machines as they were at the start, those which come later
        unschedulable until their event; ``workload.recorded`` counts events by band, evictions among them;
        ``workload.notes`` says how many tasks there were of each of the kinds below.

    Raises
    ------
    InputError
        A file is damaged, a line breaks a rule (each says line, field and rule), or there is no task.
    MissingExtraError
        A file is compressed by zstd, and zstandard is not installed.
    OSError
        If it cannot be read.

    Notes
    -----
    Source: Google cluster-usage traces, format and schema (clusterdata-2011-2). Times are the trace's, in
    seconds; what happened before it began (time 0) happens at 600 s, its first instant.

    * One request is one spell of a task: from a submission to the end of its last attempt. After an eviction
      the task is submitted again by the system, so the spell continues; after a failure, a kill or an end it
      is submitted by its owner, so another request arrives (`resubmitted`), at the recorded time.
    * Run time of a spell that finished or failed is the length of its last attempt. Of one that was killed,
      lost, or evicted for good it is the length of its longest attempt, which its true work exceeds
      (`censored`); so it is where the trace ended first (`cut_off`).
    * Spells that were never scheduled are left out, since nothing is known of their work: those killed or
      evicted while they waited (`never_started`) and those which still waited at the end (`still_waiting`).
    * What a spell asks for is what its last row says; spells without any amount are left out
      (`no_request`). Updates (events 7 and 8) are read for amounts only.
    * That tasks of a job must run on different machines is not followed (`different_machines`).

    One pass in blocks of 8 MiB, then O(rows log rows).
    """
    expect(overcommit > 0, "google2011", "overcommit", overcommit, "a positive number")
    expect(0 < sample <= 1, "google2011", "sample", sample, "a number above 0 and at most 1")
    words = pools.split("/") if isinstance(pools, str) else []
    known = pools is None or (bool(words) and set(words) <= set(_WORDS) and len(set(words)) == len(words))
    expect(known, "google2011", "pools", pools, f"of {', '.join(_WORDS)}, joined by /, or None")
    files = list(task_events) if isinstance(task_events, list | tuple) else [task_events]
    expect(bool(files), "google2011", "task_events", task_events, "one file or more")
    rows, users = _tasks(files, sample)
    end = int(rows["time"].max())
    spells = _spells(rows, end)
    notes: dict[str, Any] = {
        "files": [file_name(f) for f in files],
        "end": end / 1e6,
        "events": len(rows["time"]),
    }
    kept = _counted(spells, notes)
    machines, events = (
        ({}, {}) if machine_events is None else _machines(machine_events, end, overcommit, sample)
    )
    notes |= {"machines": len(machines.get("name", ())), "machine_events": len(events.get("time", ()))}
    operations = _operations(spells, kept, words, users)
    return Workload(
        _requests(spells, kept),
        operations,
        pool_rows(operations["pool"]) if words else None,
        events or None,
        resources={"cpu": {"quantum": _QUANTUM}, "memory": {"quantum": _QUANTUM}},
        machines=machines or None,
        notes=notes,
        recorded=_recorded(rows),
    )


def _tasks(files: list[str | os.PathLike[str]], sample: float) -> tuple[Columns, list[str]]:
    """Return columns of all rows in their order, and the users that `user` numbers."""
    parts: list[Columns] = []
    users: dict[str, int] = {}
    for path in files:
        wrong = Wrong(file_name(path))
        for first, text in blocks(path):
            block = Block(text, first, TASKS, b",", wrong)
            part: Columns = {"job": block.whole("job"), "time": block.whole("time")}
            for name, dtype in (("task", np.int32), ("event", np.int8), ("priority", np.int8)):
                part[name] = block.whole(name)
                most = 8 if name == "event" else np.iinfo(dtype).max
                said = f"is {{}}; it must be from 0 to {most}"
                bad = (part[name] < 0) | (part[name] > most)
                wrong.rows(bad, block.lines, name, "range", said, part[name])
                part[name] = part[name].astype(dtype)
            wrong.rows(
                part["time"] < 0, block.lines, "time", "range", "is {}; it must be at least 0", part["time"]
            )
            for name in ("cpu", "memory"):
                part[name] = block.numbers(name)
                said = "is {:g}; it must be at least 0"
                wrong.rows(part[name] < 0, block.lines, name, "range", said, part[name])
            part["different_machines"] = block.whole("different_machines", 0) == 1
            codes, texts = block.codes("user")
            part["user"] = np.array([users.setdefault(t, len(users)) for t in texts], np.int32)[codes]
            kept = part["time"] != _AFTER
            if sample < 1:
                kept &= _chosen(part["job"], sample)
            parts.append(part if kept.all() else {name: column[kept] for name, column in part.items()})
        if not wrong.count and not sum(len(p["job"]) for p in parts):
            wrong.add(1, None, "empty", "is missing: the file has no event of a task")
        wrong.done()
    rows = {name: np.concatenate([p[name] for p in parts]) for name in parts[0]}
    rows["time"] = np.maximum(rows["time"], _BEGIN)
    return rows, list(users)


def _chosen(ids: Ints, sample: float) -> NDArray[np.bool_]:
    """Tell which numbers a hash keeps: SplitMix64's output function."""
    x = ids.astype(np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return (x ^ (x >> np.uint64(31))) < np.uint64(int(sample * 2**64))


def _spells(rows: Columns, end: int) -> Columns:
    """Return one row a spell, in order of job, task and time."""
    jobs, job = np.unique(rows["job"], return_inverse=True)
    width = int(rows["task"].max(initial=0)) + 1
    order = np.argsort(job.reshape(-1) * width + rows["task"], kind="stable")
    r = {name: column[order] for name, column in rows.items()}
    key = job.reshape(-1)[order] * width + r["task"]
    first = np.diff(key, prepend=-1) != 0
    live = r["event"] <= _LOST  # updates are no steps of a life
    # The last step before each row; -1 before the first.
    step = np.where(live, np.arange(len(key)), -1)
    before = np.concatenate([[-1], np.maximum.accumulate(step)[:-1]])
    previous = np.where(before >= 0, r["event"][np.maximum(before, 0)], -1)
    previous = np.where((before < 0) | (key[np.maximum(before, 0)] != key), -1, previous)
    begins = first | ((r["event"] == _SUBMIT) & (previous != _EVICT))
    spell = np.cumsum(begins) - 1
    count = int(spell[-1]) + 1 if len(spell) else 0
    starts = np.flatnonzero(begins)
    # An attempt: from a SCHEDULE to the next step of the task, or to the end of the trace.
    at = np.flatnonzero(live)
    following = np.append(at[1:], at[:1]) if len(at) else at
    same = np.zeros(len(at), np.bool_)
    same[:-1] = spell[at[1:]] == spell[at[:-1]]
    stop = np.where(same, r["time"][following], end)
    runs = r["event"][at] == _SCHEDULE
    of, length = spell[at[runs]], (stop - r["time"][at])[runs]
    longest = np.zeros(count, np.int64)
    np.maximum.at(longest, of, length)
    last = np.full(count, -1, np.int64)
    last[of] = length  # the last one wins
    ended = np.full(count, -1, np.int8)
    ended[spell[at]] = r["event"][at]
    # Amounts: of the last row that has any.
    given = np.flatnonzero(~np.isnan(r["cpu"]) & ~np.isnan(r["memory"]))
    source = np.full(count, -1, np.int64)
    source[spell[given]] = given
    nth = _nth(first[starts])
    done = (ended == _FINISH) | (ended == _FAIL)
    return {
        "job": r["job"][starts],
        "task": r["task"][starts],
        "nth": nth,
        "submit": r["time"][starts],
        "user": r["user"][starts],
        "priority": r["priority"][starts],
        "ended": ended,
        "run_time": np.where(last < 0, -1, np.where(done, last, longest)),
        "cpu": np.where(source >= 0, r["cpu"][np.maximum(source, 0)], np.nan),
        "memory": np.where(source >= 0, r["memory"][np.maximum(source, 0)], np.nan),
        "different_machines": r["different_machines"][starts],
        "jobs": jobs,
    }


def _nth(first: NDArray[np.bool_]) -> Ints:
    """Return for each row how many stand before it since the last first one."""
    place = np.arange(len(first))
    return place - np.maximum.accumulate(np.where(first, place, 0)) if len(first) else place


def _counted(spells: Columns, notes: dict[str, Any]) -> Ints:
    """Return the rows that are kept, in order of submission; say how many are not."""
    ended, runs = spells["ended"], spells["run_time"] >= 0
    waiting = np.isin(ended, (_SUBMIT, _EVICT)) & ~runs
    given = ~np.isnan(spells["cpu"])
    kept = runs & given
    cut = np.isin(ended, (_SUBMIT, _SCHEDULE))
    notes |= {
        "tasks": int((spells["nth"] == 0).sum()),
        "requests": int(kept.sum()),
        "resubmitted": int((kept & (spells["nth"] > 0)).sum()),
        "censored": int((kept & np.isin(ended, (_KILL, _EVICT, _LOST))).sum()),
        "cut_off": int((kept & cut).sum()),
        "still_waiting": int((waiting & (ended == _SUBMIT)).sum()),
        "never_started": int((~runs & (ended != _SUBMIT)).sum()),
        "no_request": int((runs & ~given).sum()),
        "different_machines": int((kept & spells["different_machines"]).sum()),
    }
    rows = np.flatnonzero(kept)
    return rows[np.argsort(spells["submit"][rows], kind="stable")]


def _requests(spells: Columns, rows: Ints) -> Columns:
    s = {name: column[rows] for name, column in spells.items() if name != "jobs"}
    named = zip(s["job"].tolist(), s["task"].tolist(), s["nth"].tolist(), strict=True)
    names = np.empty(len(rows), object)
    names[:] = [f"{j}/{t}" if n == 0 else f"{j}/{t}#{n + 1}" for j, t, n in named]
    return {
        "name": names,
        "operation": s["job"],
        "submit_time": s["submit"] / 1e6,
        "run_time": s["run_time"] / 1e6,
        "cut_off": np.isin(s["ended"], (_SUBMIT, _SCHEDULE)),
        "priority": s["priority"].astype(np.int64),
        "resources.cpu": _rounded(s["cpu"]),
        "resources.memory": _rounded(s["memory"]),
    }


def _operations(spells: Columns, rows: Ints, words: list[str], users: list[str]) -> Columns:
    job = spells["job"][rows]
    names, first = np.unique(job, return_index=True)
    priority = np.zeros(len(names), np.int64)
    np.maximum.at(priority, np.searchsorted(names, job), spells["priority"][rows].astype(np.int64))
    # A pool is a path, so names have no slash; base64 has no underscore.
    user = objects(spells["user"][rows][first].astype(np.int64), lambda u: users[u].replace("/", "_"))
    found: Columns = {
        "name": names,
        "user": user,
        "priority": priority,
        "start_time": spells["submit"][rows][first] / 1e6,
    }
    if words:
        tier = {
            "band": objects(_band(priority), lambda b: list(BANDS)[b]),
            "user": user,
            "job": objects(names, str),
        }
        found["pool"] = paths([tier[word] for word in words])
    return found


def _recorded(rows: Columns) -> Table:
    """Return how many events of each kind there were in each band."""
    band = _band(rows["priority"])
    kinds = {
        word: np.bincount(band[rows["event"] == code], minlength=len(BANDS))
        for code, word in enumerate(_EVENTS)
    }
    return Table({"band": list(BANDS), **kinds}, title="recorded")


def _band(priority: NDArray[Any]) -> Ints:
    return np.searchsorted(list(BANDS.values()), priority, side="right").astype(np.int64) - 1


def _rounded(amounts: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.rint(amounts / _QUANTUM) * _QUANTUM


def _machines(
    path: str | os.PathLike[str], end: int, overcommit: float, sample: float
) -> tuple[Columns, Columns]:
    """Return the machines that are there at any time, and what happens to them."""
    wrong = Wrong(file_name(path))
    parts: list[Columns] = []
    for first, text in blocks(path):
        block = Block(text, first, MACHINES, b",", wrong)
        part: Columns = {name: block.whole(name) for name in ("time", "machine", "event")}
        wrong.rows(
            (part["event"] < 0) | (part["event"] > _UPDATE),
            block.lines, "event", "range", "is {}; it must be from 0 to 2", part["event"],
        )  # fmt: skip
        wrong.rows(
            part["time"] < 0, block.lines, "time", "range", "is {}; it must be at least 0", part["time"]
        )
        for name in ("cpu", "memory"):
            part[name] = block.numbers(name)
            wrong.rows(
                part[name] < 0, block.lines, name, "range", "is {:g}; it must be at least 0", part[name]
            )
        parts.append(part)
    if not parts:
        wrong.add(1, None, "empty", "is missing: the file has no event of a machine")
    wrong.done()
    e = {name: np.concatenate([p[name] for p in parts]) for name in parts[0]}
    kept = e["time"] <= end
    if sample < 1:
        kept &= _chosen(e["machine"], sample)
    e = {name: column[kept] for name, column in e.items()}
    capacity = {
        f"capacity.{name}": _rounded(np.nan_to_num(e[name]) * overcommit) for name in ("cpu", "memory")
    }
    names, first_row = np.unique(e["machine"], return_index=True)
    start = e["time"] == 0
    machines: Columns = {
        "name": names,
        "schedulable": start[first_row],
        **{name: column[first_row] for name, column in capacity.items()},
    }
    later = np.flatnonzero(~start)
    # An update changes amounts, an addition brings the machine back with them.
    words = np.array(["up", "down", "capacity"], object)
    return machines, {
        "time": np.maximum(e["time"][later], _BEGIN) / 1e6,
        "node": e["machine"][later],
        "event": words[e["event"][later]],
        **{
            name: np.where(e["event"][later] == _REMOVE, np.nan, column[later])
            for name, column in capacity.items()
        },
    }
