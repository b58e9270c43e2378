"""Jobs of Slurm, from its JSON where there is one and from its text where there is none."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evenhand.adapters.protocol import AdapterError
from evenhand.systems.slurm.adapter.fit import (
    TEXT_COLUMNS,
    kinds_of,
    node_count,
    unfit_of_json,
    unfit_of_text,
)
from evenhand.systems.slurm.adapter.states import HOLDING, base_of, is_held
from evenhand.systems.slurm.adapter.text import amounts, instant, number, rows, split_hosts, words
from evenhand.systems.slurm.text.values import seconds

__all__ = [
    "COLUMNS",
    "Job",
    "Node",
    "jobs_of_json",
    "jobs_of_text",
    "nodes_of_json",
    "nodes_of_text",
    "reserved_of",
]

#: Cells of ``squeue -O`` that hold no text of users.
COLUMNS = (
    *("jobid", "arrayjobid", "arraytaskid", "hetjobid", "state", "reasonlist", "prioritylong", "numnodes"),
    *("numcpus", "minmemory", "starttime", "endtime", "submittime", "restartcnt", "userid", "partition"),
    *("qos", "requeue", "tres-alloc", "nodelist", "oversubscribe", "reqnodes", "licenses", "timelimit"),
    *TEXT_COLUMNS,
)


# Slurm's words for "unset" and "unlimited" are the largest numbers of 32 bits.
_ENDLESS = 0xFFFFFFFE

# What JSON of another shape than Slurm's raises where it is read; an infinite number the last.
_GARBLED = (KeyError, TypeError, ValueError, AttributeError, OverflowError)


@dataclass(frozen=True, slots=True)
class Job:
    """One job.

    Attributes
    ----------
    name : str
        Its number.
    state : str
        ``PENDING``, ``RUNNING``, ``SUSPENDED``, ``STOPPED`` (suspended, and keeps its cpus), ``COMPLETING``,
        how it ended, or ``UNKNOWN``.
    reason : str
        Why it waits.
    parts : mapping of str to mapping
        What it holds, by node and resource.
    needs : mapping
        What it needs on each of ``count`` nodes.
    partition : str
        Of one that waits, several with commas between them if it may start in any of them.
    tags : tuple of str
        What its nodes must be called for: features, kinds of devices.
    comment : str or None
        Of any user; None where it was not read.
    held : bool
        Whether it waits for a person to release it or, if it runs, is to wait for that once it is back in the
        queue.
    unfit : str
        Why a driver cannot serve one that waits as a beneficiary; empty if it can.
    limit : float or None
        Time limit in seconds; None: it has none.
    tasks : int
        Of one that waits and asks for no number of nodes: its tasks may be spread over any. Else 0.
    per_cpu : int
        Memory of such a one that it needs for each cpu, in MiB; 0: its memory is what it needs on each node.
    number : int
        Numbers of jobs, and of tasks of arrays, rise in the order in which Slurm looks at them.
    """

    name: str
    state: str
    reason: str
    priority: int
    turn: int
    user: str
    account: str
    partition: str
    qos: str
    requeue: bool
    submitted: float
    started: float | None
    ends: float | None
    count: int
    needs: Mapping[str, int]
    parts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    unfit: str = ""
    comment: str | None = None
    held: bool = False
    single: bool = True
    limit: float | None = None
    tasks: int = 0
    per_cpu: int = 0
    number: int = 0


@dataclass(frozen=True, slots=True)
class Node:
    """One node: what it offers, what it is called for, and whether it takes work."""

    name: str
    capacity: Mapping[str, int]
    tags: tuple[str, ...]
    schedulable: bool


def _document(text: str, table: str) -> list[dict[str, Any]]:
    try:
        data = json.loads(text, strict=False)  # names may hold control characters
        found = data[table]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise AdapterError(f"the answer is cut off or is not JSON of {table}: {error}") from error
    errors = data.get("errors")
    if errors:
        raise AdapterError(f"Slurm answers with errors: {str(errors)[:200]}")
    if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
        raise AdapterError(f"{table} is not a list of objects")
    return found


def jobs_of_json(text: str) -> list[Job]:
    """Return the jobs of ``squeue --json``.

    Raises
    ------
    AdapterError
        If it is incomplete, or reports errors.
    """
    try:
        return [_job(row) for row in _document(text, "jobs")]
    except _GARBLED as error:
        raise AdapterError(f"a job of squeue --json cannot be read: {error!r}") from error


def _job(row: dict[str, Any]) -> Job:
    state = words(row["job_state"])
    base, priority = base_of(state), number(row.get("priority")) or 0
    nodes = split_hosts(row.get("nodes") or "")
    cpus = max(number(row.get("cpus")) or 1, 1)
    tasks = _tasks(row, cpus) if base == "PENDING" else 0
    # Where tasks may be spread, the number of nodes is a guess: what is asked for is as of one.
    count = len(nodes) or (1 if tasks else max(number(row.get("node_count")) or 1, 1))
    needs = _each(cpus, count, amounts(row.get("tres_req_str")))
    held = amounts(row.get("tres_alloc_str"))
    features = str(row.get("features") or "")
    comment = row.get("comment")
    return Job(
        name=_name(number(row["job_id"]), number(row.get("array_job_id")), number(row.get("array_task_id"))),
        state=base,
        reason=str(row.get("state_reason") or ""),
        priority=priority,
        turn=number(row.get("restart_cnt")) or 0,
        user=str(row.get("user_name") or number(row.get("user_id"))),
        account=str(row.get("account") or ""),
        partition=str(row.get("partition") or ""),
        qos=str(row.get("qos") or ""),
        requeue=bool(row.get("requeue")) and bool(row.get("batch_flag", True)),
        submitted=float(number(row.get("submit_time")) or 0),
        started=float(number(row.get("start_time")) or 0) or None,
        ends=float(number(row.get("end_time")) or 0) or None,
        count=count,
        needs=needs,
        parts=_parts(row, nodes, cpus, held) if base in HOLDING else {},
        required=tuple(split_hosts(row.get("required_nodes") or "")),
        tags=((features,) if features else ()) + kinds_of(row),
        unfit=unfit_of_json(row, needs["cpu"]) if base == "PENDING" else "",
        comment=comment if isinstance(comment, str) else None,
        held=is_held(state, priority),
        single=not number(row.get("het_job_id")),
        limit=_minutes(row.get("time_limit")),
        tasks=tasks,
        per_cpu=(number(row.get("memory_per_cpu")) or 0) if tasks else 0,
        number=number(row["job_id"]) or 0,
    )


def _minutes(value: object) -> float | None:
    """Return a number of minutes in seconds; 0 and the word for none are no limit."""
    found = number(value)
    return 60.0 * found if found and found < _ENDLESS else None


def _tasks(row: dict[str, Any], cpus: int) -> int:
    """Return how many tasks may be spread over any nodes; 0 where nodes, or tasks on each, are counted.

    Where no number of nodes is asked for, the most of them is 0, and the number of nodes an estimate.
    """
    if number(row.get("max_nodes")) != 0 or number(row.get("tasks_per_node")) or row.get("required_nodes"):
        return 0
    if "gres/" in str(row.get("tres_req_str")) or node_count(row.get("tres_req_str")) > 1:
        return 0
    tasks = number(row.get("tasks")) or 0
    each = number(row.get("minimum_cpus_per_node")) or 1
    return tasks if tasks > 1 and cpus % tasks == 0 and each <= cpus // tasks else 0


def _name(job: object, array: object, task: object) -> str:
    """Return what a job is called: of an array ``array_task``, as its last task has the array's number."""
    return f"{array}_{task}" if array and task is not None else str(job)


def _each(cpus: int, count: int, total: Mapping[str, int]) -> dict[str, int]:
    """Return what each of ``count`` nodes gives, rounded up."""
    needs = {name: -(-value // count) for name, value in total.items()}
    return {"cpu": -(-cpus // count), **{n: v for n, v in needs.items() if n != "cpu" and v}}


def _parts(
    row: dict[str, Any], nodes: list[str], cpus: int, held: Mapping[str, int]
) -> dict[str, dict[str, int]]:
    """Return what a job holds on each node: exact cpus and memory in the JSON of 22.05, else even parts."""
    even = {node: _each(held.get("cpu", cpus), len(nodes), held) for node in nodes}
    places = (row.get("job_resources") or {}).get("allocated_nodes")
    if not isinstance(places, list):
        return even
    for place in places:
        name = place.get("nodename")
        cores = [
            state
            for socket in (place.get("sockets") or {}).values()
            for state in (socket.get("cores") or {}).values()
        ]
        if name in even and cores and cpus == sum(_cores(p) for p in places):
            even[name]["cpu"] = cores.count("allocated")
        if name in even and number(place.get("memory_allocated")):
            even[name]["memory"] = int(place["memory_allocated"])
    return even


def _cores(place: dict[str, Any]) -> int:
    sockets = (place.get("sockets") or {}).values()
    return sum(list((socket.get("cores") or {}).values()).count("allocated") for socket in sockets)


def jobs_of_text(text: str) -> list[Job]:
    """Return the jobs of ``squeue -O`` with `COLUMNS`; a multi-node job is taken to be spread evenly.

    Raises
    ------
    AdapterError
        If a row is incomplete.
    """
    found = []
    for cells in rows(text, len(COLUMNS), bars=True):
        row = dict(zip(COLUMNS, cells, strict=True))
        try:
            found.append(_text_job({n: "" if v in ("N/A", "(null)") else v for n, v in row.items()}))
        except ValueError as error:
            raise AdapterError(f"a row of squeue cannot be read: {error}") from error
    return found


# Text shows the description where there is one, JSON both; of jobs for which higher tiers leave no room:
_DESCRIBED = {
    "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions": "Resources"
}


def _text_job(row: dict[str, str]) -> Job:
    state = words(row["state"])
    base, priority = base_of(state), int(row["prioritylong"] or 0)
    nodes = split_hosts(row["nodelist"]) if base in HOLDING else []
    count, cpus = len(nodes) or max(int(row["numnodes"].split("-")[0] or 1), 1), int(row["numcpus"] or 1)
    held = amounts(row["tres-alloc"])
    needs = _each(cpus, count, held)
    tasks = row["arraytaskid"]
    return Job(
        name=_name(row["jobid"], row["arrayjobid"], tasks if tasks.isdecimal() else None),
        state=base,
        reason=_DESCRIBED.get(row["reasonlist"].strip("()"), row["reasonlist"].strip("()")),
        priority=priority,
        turn=int(row["restartcnt"] or 0),
        user=row["userid"],
        account="",
        partition=row["partition"],
        qos=row["qos"],
        requeue=row["requeue"] == "1",
        submitted=instant(row["submittime"]) or 0.0,
        started=instant(row["starttime"]),
        ends=instant(row["endtime"]),
        count=count,
        needs=needs,
        parts={node: _each(held.get("cpu", cpus), len(nodes), held) for node in nodes},
        required=tuple(split_hosts(row["reqnodes"])),
        tags=(row["feature"],) if row["feature"] else (),
        unfit=unfit_of_text(row, needs["cpu"]) if base == "PENDING" else "",
        held=is_held(state, priority),
        single=row["hetjobid"] in ("", "0"),
        limit=seconds(row["timelimit"]) if row["timelimit"] not in ("", "NOT_SET", "INVALID") else None,
        number=int(row["jobid"]),
    )


_FREE = {"IDLE", "MIXED", "ALLOCATED", "COMPLETING"}
_CLOSED = {"DRAIN", "DRAINING", "DRAINED", "DOWN", "FAIL", "FAILING", "MAINT", "MAINTENANCE", "NO_RESPOND"}
_CLOSED |= {"NOT_RESPONDING", "POWERED_DOWN", "POWERING_DOWN", "POWER_DOWN", "REBOOT", "RESERVED", "FUTURE"}


def _takes_work(state: set[str]) -> bool:
    return bool(state & _FREE) and not state & _CLOSED


def nodes_of_json(text: str) -> list[Node]:
    """Return the nodes of ``sinfo -N --json`` as 22.05 has them; raises `AdapterError` where it has none."""
    found = {}
    for row in _document(text, "nodes"):
        try:
            name = str(row["name"])
            capacity = amounts(row.get("tres"))
            capacity.setdefault("cpu", int(row["cpus"]))
            capacity.setdefault("memory", int(row["real_memory"]))
            state = words(row["state"]) | words(row.get("state_flags"))
            features = [f for f in str(row.get("active_features") or "").split(",") if f]
            parts = [f"partition:{p}" for p in row.get("partitions") or ()]
        except _GARBLED as error:
            raise AdapterError(f"a node of sinfo --json cannot be read: {error!r}") from error
        tags = (*parts, *features, *_kinds(row.get("gres")))
        found[name] = Node(name, capacity, tags, _takes_work(state))
    return list(found.values())


def nodes_of_text(text: str) -> list[Node]:
    """Return the nodes of ``sinfo -N -o '%N|%T|%c|%m|%G|%R|%b|'``: a row a node and partition."""
    found: dict[str, Node] = {}
    for name, state, cpus, memory, gres, partition, features in rows(text, 7):
        try:
            capacity = {"cpu": int(cpus), "memory": int(memory)}
        except ValueError as error:
            raise AdapterError(f"node {name} of sinfo cannot be read: {error}") from error
        for part in re.sub(r"\([^)]*\)", "", gres).split(","):
            kind, *_, size = part.split(":") if ":" in part else ("", "")
            if kind and size.isdecimal():
                capacity[f"gres/{kind}"] = capacity.get(f"gres/{kind}", 0) + int(size)
        offered = (f for f in features.split(",") if f and f != "(null)")
        tags = (f"partition:{partition}", *offered, *_kinds(gres))
        before = found[name].tags if name in found else ()
        takes = _takes_work(words(state.rstrip("*~#!%$@^-"))) and not state.endswith("*")
        found[name] = Node(name, capacity, tuple(dict.fromkeys((*before, *tags))), takes)
    return list(found.values())


def _kinds(gres: Any) -> tuple[str, ...]:
    """Return ``gres/gpu:a100`` of ``gpu:a100:4(S:0-1)``, for devices of which a node has one kind only."""
    kinds: dict[str, set[str]] = {}
    for part in re.sub(r"\([^)]*\)", "", str(gres or "")).split(","):
        device, *kind, size = part.split(":") if ":" in part else ("", "")
        if device and size:
            kinds.setdefault(device, set()).add(":".join(kind))
    return tuple(
        f"gres/{device}:{kind}"
        for device, found in kinds.items()
        for kind in found
        if kind and len(found) == 1
    )


def reserved_of(text: str) -> dict[str, float]:
    """Return the nodes of reservations by ``sinfo -T`` with the time from which on the first one holds.

    Those that are in force hold from 0 on.

    Raises
    ------
    AdapterError
        If it is incomplete.
    """
    head, *lines = text.split("\n")
    if lines[-1:] != [""]:
        raise AdapterError("sinfo -T: the answer is cut off")
    if head.startswith("No reservations"):
        return {}
    found: dict[str, float] = {}
    for line in lines[:-1]:
        name, state, start, _, _, nodes = (*line.split(), *[""] * 6)[:6]
        begins = 0.0 if state == "ACTIVE" else instant(start)
        if not name or state not in ("ACTIVE", "INACTIVE") or begins is None:
            raise AdapterError("sinfo -T: the answer is garbled")
        for node in split_hosts(nodes) if nodes != "(null)" else ():
            found[node] = min(found.get(node, begins), begins)
    return found
