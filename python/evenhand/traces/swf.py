"""The Standard Workload Format of the Parallel Workloads Archive."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from evenhand.accepted import MOST, checked, count_of, scale_of
from evenhand.arguments import expect
from evenhand.building.problems import nearest, shorten
from evenhand.errors import InputError, Problem, printable
from evenhand.simulate.workload import Workload
from evenhand.table import Table
from evenhand.traces._blocks import blocks, file_name
from evenhand.traces._fields import Block, Wrong, foreign
from evenhand.traces._paths import objects, paths, pool_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FIELDS", "swf"]

#: The 18 fields of a line, in order.
FIELDS = (
    *("job", "submit", "wait", "run_time", "processors", "cpu_time", "memory"),
    *("requested_processors", "requested_time", "requested_memory", "status"),
    *("user", "group", "executable", "queue", "partition", "preceding_job", "think_time"),
)
_WHOLE = {"job", "processors", "requested_processors", "status", "user", "group", "queue", "partition"}
_UNKNOWN_OR_MORE = ("run_time", "requested_time")
#: What no rule reads: the job is read, whatever stands there.
_UNREAD = ("wait", "memory", "executable", "think_time")
_HEADER = re.compile(rb"^[ \t]*;[ \t]*(\w+)[ \t]*:[ \t]*([^\n]*?)[ \t]*$", re.MULTILINE)
_COMMENT = re.compile(rb"^[ \t]*;[^\n]*", re.MULTILINE)
_DIGITS = 18
_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?![\d,])|\d+")
_PARTS = ("queue", "group", "user", "partition")
_CANCELLED = 5
#: What a scheduler that keeps limits in 32 bits writes for none: Slurm's NO_VAL, and INFINITE above it.
_NO_LIMIT = 2**32 - 2
_PARTIAL = (2, 3, 4)
_NOTED = ("Computer", "MaxNodes", "MaxProcs", "UnixStartTime")
_LISTS = ("Queue", "Partition", "Note")
_KIB = 2.0**-20  # in GiB: the unit of requested memory

Columns = dict[str, "NDArray[Any]"]
Pools = str | Callable[[Columns], Any] | None


@checked("swf", pools="str | Callable | None")
def swf(
    path: str | os.PathLike[str],
    pools: Pools = None,
    *,
    processors_per_node: int | None = None,
    memory_per_node: float | None = None,
    priority: Mapping[str, int] | None = None,
    cancelled: Literal["drop", "keep"] = "drop",
) -> Workload:
    """Read a log in the Standard Workload Format: 18 numbers a line, -1 for what is unknown.

    A job is an operation, named by its number. It asks for as many whole allocations as it needs nodes:
    a job of at most one node's processors is one allocation, a larger one is a gang of equal allocations on
    as few nodes as hold it, each rounded up to a whole processor, and is interrupted as a whole.

    Parameters
    ----------
    path : str or path-like
        The log, also compressed by gzip, bzip2, xz or zstd.
    pools : str, callable or None
        The pool of each job: ``"queue"``, ``"group"``, ``"user"``, ``"partition"`` or several joined by
        ``/``, such as ``"queue/user"``, which gives pools in pools; or a function from the columns of the
        log (arrays by the names in `FIELDS`, and ``queue_name``) to one path a job, None for no pool.
        Jobs of an unknown one are in a pool of their own, such as ``queue-unknown``.
    processors_per_node : int, optional
        By default ``MaxProcs / MaxNodes`` of the header, 1 where it has ``MaxNodes`` alone; without these a
        job is one allocation.
    memory_per_node : number, optional
        GiB of each node. Then jobs ask for the memory that they requested, which the log has per processor;
        jobs of unknown memory ask for none. By default memory is left out.
    priority : mapping, optional
        The jobs' priority by the name of their queue. ``notes["priority_of_no_queue"]`` names those of
        which there is no job.
    cancelled : {"drop", "keep"}
        What is done with jobs that were cancelled before they ran: left out, or kept with a run time of 0.

    Returns
    -------
    Workload
        ``workload.snapshot()`` has the nodes of the header, ``workload.recorded`` what became of each job
        in the log (``name, wait, run_time, status``), ``workload.notes`` the header's fields and how many
        jobs there were of each of the kinds below.

    Raises
    ------
    InputError
        The file is damaged, a line breaks a rule (each says line, field and rule), or there is no job.
    MissingExtraError
        It is compressed by zstd, and zstandard is not installed.
    OSError
        If it cannot be read.

    Notes
    -----
    Source: D. Feitelson, "The Standard Workload Format", Parallel Workloads Archive. Times are seconds since
    the log's start (`notes["UnixStartTime"]`).

    * Processors are the requested ones (field 8), else those it got (5); a job of neither is left out
      (`no_processors`).
    * Jobs cancelled (status 5) before they ran, with a run time of 0 or unknown, are left out unless
      `cancelled` says otherwise (`cancelled_before_start`); one which ran works for as long as it did
      (`cancelled_running`). So does a failed job (`failed`).
    * Lines of status 2, 3 and 4 are parts of a job that has a line of its own: left out (`partial`).
    * A job of unknown run time works for the processor time (field 6) if that is known, else it is left out
      (`no_run_time`). A run time of 0 is kept (`zero_run_time`).
    * The requested time (9) is the `duration`; a job that ran longer is kept as it is (`over_limit`). From
      4,294,967,294 on, which 32-bit counters mean by "none", there is no limit.
    * What waited 0 s or unknown in the log is treated as any other. No rule reads the recorded wait, the
      memory that was used, the executable and the think time: a field of these that is no number counts as
      unknown (`no_number`), and a wait below 0 is recorded as it is (`negative_wait`).
    * A log whose lines all have more than 18 fields, as its first one has, is read without those behind the
      18th, whose meaning the format does not say (`more_fields`: how many a line).
    * A job of more than one node is `whole`: if one of its allocations is interrupted, all are (`whole`: how
      many jobs). The log does not say that; most such jobs are of processes that need each other.
    * Lines need not stand in the order of submission (`out_of_order`). Preceding jobs and think times (17,
      18) are not followed (`dependent`): the recorded submission has them in it.
    * No job is `cut_off`: a log has only jobs that ended.

    One pass in blocks of 8 MiB; O(bytes).
    """
    if processors_per_node is not None:
        processors_per_node = count_of("swf", "processors_per_node", processors_per_node, 1, 2**31 - 1)
    if memory_per_node is not None:
        memory_per_node = scale_of("swf", "memory_per_node", memory_per_node)
        expect(memory_per_node < 2**40, "swf", "memory_per_node", memory_per_node, "below 2^40 GiB")
    columns, header, wrong, more = _read(path, memory_per_node is not None)
    if not wrong.count and not len(columns["job"]):
        wrong.add(1, None, "empty", "is missing: the file has no job")
    wrong.done()
    if cancelled == "keep":
        columns["run_time"] = np.where(_never_ran(columns), 0, columns["run_time"])
    notes: dict[str, Any] = {"file": file_name(path), **{key: header[key] for key in _NOTED if key in header}}
    notes["more_fields"] = more
    log, processors, run = _kept(columns, notes, drop=cancelled == "drop")
    size, machines = _machines(header, processors_per_node)
    count = -(-processors // size) if size else np.ones(len(processors), np.int64)
    requests = _requests(log, count, -(-processors // count), run)
    _count(log, requests, processors, notes)
    resources: dict[str, Any] = {"cpu": {"quantum": 1}}
    if memory_per_node is not None:
        resources["memory"] = {"quantum": _KIB}
        asked = log["requested_memory"]
        amount = np.where(asked > 0, np.ceil(asked * requests["resources.cpu"]), 0)
        requests["resources.memory"] = amount * _KIB
        notes["no_memory"] = int((asked <= 0).sum())
        if machines:
            machines["capacity.memory"] = np.full(len(machines["name"]), round(memory_per_node / _KIB) * _KIB)
    named = _queue_names(header)
    queues = objects(log["queue"], lambda q: named.get(q) or _called("queue", "queue-unknown", q))
    if (log["queue"] >= 0).any():
        requests["qos"] = queues
    if priority is not None:
        requests["priority"] = objects(queues, priority.get)
        notes["priority_of_no_queue"] = sorted(map(str, set(priority).difference(queues)))
    given = _pool_paths(pools, {**log, "queue_name": queues})
    if given is not None:
        requests["pool"] = given
    recorded = {name: log[name] for name in ("wait", "run_time", "status")}
    return Workload(
        requests,
        pools=None if given is None else pool_rows(given),
        resources=resources,
        machines=machines or None,
        notes=notes,
        recorded=Table({"name": log["job"], **recorded}, title="recorded"),
    )


def _read(path: str | os.PathLike[str], memory: bool) -> tuple[Columns, dict[str, str], Wrong, int]:
    """Return the columns of all lines, the header, what is wrong, and how many columns more there are.

    memory: whether a rule reads it.
    """
    unread = _UNREAD if memory else (*_UNREAD, "requested_memory")
    wrong = Wrong(file_name(path))
    header: dict[str, str] = {}
    names: tuple[str, ...] = ()
    parts: list[Columns] = []
    lines: list[NDArray[np.int64]] = []
    for first, text in blocks(path):
        if b";" in text:
            for key, value in _HEADER.findall(text):
                word, said = key.decode("latin-1"), value.decode("utf-8", "replace")
                if word in _LISTS and word in header:
                    said = f"{header[word]}\n{said}"
                header[word] = said if word in _LISTS else header.get(word, said)
            text = _COMMENT.sub(b"", text)  # noqa: PLW2901  (empty lines keep the count)
        if not parts and (said := foreign(text, len(FIELDS), ";")):
            wrong.add(first + said[0], None, *said[1:])
            return {}, header, wrong, 0
        names = names or _names(text)
        block = Block(text, first, names, b"", wrong)
        parts.append(
            {
                n: block.whole(n)
                if n in _WHOLE
                else block.numbers_if_any(n)
                if n in unread
                else block.numbers(n)
                for n in FIELDS
            }
        )
        lines.append(block.lines)
    columns = {n: np.concatenate([p[n] for p in parts]) if parts else np.zeros(0) for n in FIELDS}
    if parts:
        _check(columns, np.concatenate(lines), wrong, memory)
    return columns, header, wrong, max(len(names) - len(FIELDS), 0)


def _names(text: bytes) -> tuple[str, ...]:
    """Return names of as many fields as the first line that has any; the format's 18 at least."""
    first = next((line for line in text.split(b"\n") if line.split()), b"")
    return (*FIELDS, *(f"field {number}" for number in range(len(FIELDS) + 1, len(first.split()) + 1)))


def _check(columns: Columns, lines: NDArray[np.int64], wrong: Wrong, memory: bool) -> None:
    if wrong.count:
        return  # columns hold stand-ins
    for name in (*_UNKNOWN_OR_MORE, "requested_memory") if memory else _UNKNOWN_OR_MORE:
        values = columns[name]
        said = "is {:g}; it must be at least 0, or -1 for unknown"
        wrong.rows((values < 0) & (values != -1), lines, name, "range", said, values)
    wrong.rows(
        columns["submit"] < 0, lines, "submit", "range", "is {:g}; it must be at least 0", columns["submit"]
    )
    jobs = columns["job"]
    # Parts of a job have its number.
    whole = np.flatnonzero(~np.isin(columns["status"], _PARTIAL))
    order = whole[np.argsort(jobs[whole], kind="stable")]
    again = np.zeros(len(jobs), np.bool_)
    again[order[1:]] = jobs[order[1:]] == jobs[order[:-1]]
    wrong.rows(again, lines, "job", "unique", "is {}, as that of an earlier line; it must be unique", jobs)


def _never_ran(log: Columns) -> NDArray[np.bool_]:
    return (log["status"] == _CANCELLED) & (log["run_time"] <= 0)


def _kept(
    log: Columns, notes: dict[str, Any], *, drop: bool
) -> tuple[Columns, NDArray[np.int64], NDArray[np.float64]]:
    """Return the jobs that are kept, their processors and run times; say how many are not."""
    status = log["status"]
    processors = np.where(log["requested_processors"] > 0, log["requested_processors"], log["processors"])
    run = np.where(log["run_time"] >= 0, log["run_time"], log["cpu_time"])
    kept = np.ones(len(status), np.bool_)
    notes["lines"] = len(status)
    absent = {name: np.isnan(log[name]) for name in (*_UNREAD, "requested_memory")}
    notes["no_number"] = int(np.any(list(absent.values()), axis=0).sum())
    log = log | {name: np.where(rows, -1, log[name]) for name, rows in absent.items()}
    for reason, rows in (
        ("partial", np.isin(status, _PARTIAL)),
        ("cancelled_before_start", _never_ran(log)),
        ("no_processors", processors <= 0),
        ("no_run_time", run < 0),
    ):
        notes[reason] = int((kept & rows).sum())
        if drop or reason != "cancelled_before_start":
            kept &= ~rows
    notes["jobs"] = int(kept.sum())
    return {name: column[kept] for name, column in log.items()}, processors[kept], run[kept]


def _or_none(cells: Any, known: Any) -> Any:
    """Return a column in which null stands for what is not known."""
    if known.all():
        return cells
    cells = cells.astype(object)
    cells[~known] = None
    return cells


def _requests(log: Columns, count: NDArray[np.int64], each: NDArray[np.int64], run: Any) -> Columns:
    limit = log["requested_time"]
    requests: Columns = {
        "name": log["job"],
        "submit_time": log["submit"],
        "run_time": run,
        "duration": _or_none(limit, (limit > 0) & (limit < _NO_LIMIT)),
        "count": count,
        "gang": count > 1,
        "whole": count > 1,
        "resources.cpu": each,
    }
    for name, column in (("user", "user"), ("account", "group"), ("partition", "partition")):
        if (log[column] >= 0).any():
            requests[name] = objects(log[column], partial(_called, column, None))
    return requests


def _count(log: Columns, requests: Columns, processors: NDArray[np.int64], notes: dict[str, Any]) -> None:
    run = requests["run_time"]
    limits = zip(run.tolist(), requests["duration"].tolist(), strict=True)
    notes |= {
        "failed": int((log["status"] == 0).sum()),
        "negative_wait": int(((log["wait"] < 0) & (log["wait"] != -1)).sum()),
        "cancelled_running": int(((log["status"] == _CANCELLED) & ~_never_ran(log)).sum()),
        "zero_run_time": int((run == 0).sum()),
        "over_limit": sum(limit is not None and ran > limit for ran, limit in limits),
        "out_of_order": int((np.diff(log["submit"]) < 0).sum()),
        "dependent": int((log["preceding_job"] > 0).sum()),
        "whole": int(requests["whole"].sum()),
        "processors_rounded_up": int((requests["count"] * requests["resources.cpu"] > processors).sum()),
    }


def _called(word: str, unknown: str | None, number: int) -> str | None:
    return f"{word}{number}" if number >= 0 else unknown


def _header_number(header: dict[str, str], word: str) -> int:
    """Return a number of the header; 0: it has none."""
    found = _NUMBER.match(header.get(word, ""))
    digits = found[0].replace(",", "") if found else "0"
    if len(digits) > _DIGITS:
        said = f"{word} of the header has {len(digits):,} digits; a number has at most {_DIGITS}"
        raise InputError.about("swf", word, "range", said, shorten(digits))
    return int(digits)


def _machines(header: dict[str, str], per_node: int | None) -> tuple[int | None, Columns]:
    """Return the processors of a node, and the table of nodes; none where the log does not say."""
    total, nodes = (_header_number(header, word) for word in ("MaxProcs", "MaxNodes"))
    size = per_node or (total // nodes if nodes and total >= nodes else 1 if nodes and not total else None)
    if size is None or not (total or nodes):
        return size, {}
    nodes = -(-total // size) if total else nodes
    if nodes > MOST:
        said = f"the header has {nodes:,} nodes; at most {MOST:,} are read"
        raise InputError.about("swf", "MaxNodes", "range", said, str(nodes))
    digits = len(str(nodes))
    names = objects(range(1, nodes + 1), lambda i: f"n{i:0{digits}d}")
    return size, {"name": names, "capacity.cpu": np.full(nodes, size, np.int64)}


def _queue_names(header: dict[str, str]) -> dict[int, str]:
    """Return the queues that the header names: lines such as ``; Queue: 2 high``."""
    found: dict[int, str] = {}
    for line in header.get("Queue", "").splitlines():
        number, _, rest = line.strip().partition(" ")
        words = rest.split()
        if number.isdigit() and words and not words[0].isdigit():
            found[int(number)] = words[0].replace("/", "-")
    # Two queues of one name would be one pool.
    twice = {name for name in found.values() if list(found.values()).count(name) > 1}
    return {number: name for number, name in found.items() if name not in twice}


def _pool_paths(pools: Pools, log: Columns) -> NDArray[Any] | None:
    if pools is None:
        return None
    if callable(pools):
        answer = pools(log)
        right = hasattr(answer, "__len__") and len(answer) == len(log["job"])
        expect(right, "swf", "pools", answer, "a function to one path a job")
        return objects(answer, lambda path: None if path is None else str(path))
    words = pools.split("/") if isinstance(pools, str) else []
    if unknown := [word for word in words if word and word not in _PARTS]:
        said = f"pools names {unknown[0]!r}; it must be of {', '.join(_PARTS)}, joined by /"
        said = printable(said + nearest(unknown[0], _PARTS))
        raise InputError([Problem("swf", None, None, "pools", "choice", printable(shorten(pools)), said)])
    known = bool(words) and all(words) and len(set(words)) == len(words)
    words_of = f"of {', '.join(_PARTS)}, each once, joined by /, a function, or None"
    expect(known, "swf", "pools", pools, words_of)
    tiers = [
        log["queue_name"] if word == "queue"
        else objects(log[word], partial(_called, word, f"{word}-unknown"))
        for word in words
    ]  # fmt: skip
    return paths(tiers)
