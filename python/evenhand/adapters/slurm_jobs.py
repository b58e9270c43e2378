"""Jobs of Slurm, from its JSON where there is one and from its text where there is none."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evenhand.adapters.protocol import AdapterError
from evenhand.adapters.slurm_text import amounts, instant, number, rows, split_hosts, words

__all__ = ["COLUMNS", "Job", "Node", "jobs_of_json", "jobs_of_text", "nodes_of_json", "nodes_of_text"]

#: Cells of ``squeue -O`` that hold nobody's own words.
COLUMNS = (
    *("jobid", "arrayjobid", "arraytaskid", "hetjobid", "state", "reasonlist", "prioritylong", "numnodes"),
    *("numcpus", "minmemory", "starttime", "endtime", "submittime", "restartcnt", "userid", "partition"),
    *("qos", "requeue", "tres-alloc", "nodelist", "oversubscribe", "reqnodes", "licenses"),
)
_SETTLED = ("PENDING", "RUNNING", "SUSPENDED")


@dataclass(frozen=True, slots=True)
class Job:
    """One job.

    Attributes
    ----------
    name : str
        Its number.
    state : str
        ``PENDING``, ``RUNNING``, ``SUSPENDED``, ``COMPLETING``, or how it ended.
    reason : str
        Why it waits.
    parts : mapping of str to mapping
        What it holds, by node and resource.
    needs : mapping
        What it needs on each of ``count`` nodes.
    unfit : str
        Why a driver cannot serve it as a beneficiary; empty if it can.
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
    features: str = ""
    unfit: str = ""
    comment: str = ""
    single: bool = True
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
        raise AdapterError(f"the answer is cut off or no JSON of {table}: {error}") from error
    errors = data.get("errors")
    if errors:
        raise AdapterError(f"Slurm answers with errors: {str(errors)[:200]}")
    if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
        raise AdapterError(f"{table} is no list of objects")
    return found


def jobs_of_json(text: str) -> list[Job]:
    """Return the jobs of ``squeue --json``.

    Raises
    ------
    AdapterError
        If it is not whole, or reports errors.
    """
    try:
        return [_job(row) for row in _document(text, "jobs")]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise AdapterError(f"a job of squeue --json cannot be read: {error!r}") from error


def _job(row: dict[str, Any]) -> Job:
    state = words(row["job_state"])
    base = "COMPLETING" if "COMPLETING" in state else next(iter(sorted(state - {"REQUEUED"})), "UNKNOWN")
    nodes = split_hosts(row.get("nodes") or "")
    count = len(nodes) or max(number(row.get("node_count")) or 1, 1)
    cpus = max(number(row.get("cpus")) or 1, 1)
    asked = amounts(row.get("tres_req_str"))
    held = amounts(row.get("tres_alloc_str"))
    array_left = bool(row.get("array_task_string")) and number(row.get("array_task_id")) is None
    array = bool(number(row.get("array_job_id")))
    shared = words(row.get("shared"))
    unfit = _unfit(
        array=array and array_left,
        het=bool(number(row.get("het_job_id"))),
        exclusive=bool(shared & {"NONE", "USER", "MCS"}),
        licenses=row.get("licenses") or "",
        excluded=row.get("excluded_nodes") or "",
        dependency=row.get("dependency") or "",
        features=row.get("features") or "",
        required=split_hosts(row.get("required_nodes") or ""),
    )
    return Job(
        name=_name(number(row["job_id"]), number(row.get("array_job_id")), number(row.get("array_task_id"))),
        state=base,
        reason=str(row.get("state_reason") or ""),
        priority=number(row.get("priority")) or 0,
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
        needs=_each(cpus, count, asked),
        parts=_parts(row, nodes, cpus, held) if base in (*_SETTLED[1:], "COMPLETING") else {},
        required=tuple(split_hosts(row.get("required_nodes") or "")),
        features=str(row.get("features") or ""),
        unfit=unfit,
        comment=str(row.get("comment") or ""),
        single=not number(row.get("het_job_id")),
        number=number(row["job_id"]) or 0,
    )


def _name(job: object, array: object, task: object) -> str:
    """Return what a job is called: of an array ``array_task``, as its last task has the array's number."""
    return f"{array}_{task}" if array and task is not None else str(job)


def _unfit(
    *,
    array: bool,
    het: bool,
    exclusive: bool,
    licenses: str,
    excluded: str,
    dependency: str,
    features: str,
    required: list[str],
) -> str:
    if array:
        return "array"
    if het:
        return "heterogeneous"
    if exclusive:
        return "exclusive"
    if licenses not in ("", "(null)"):
        return "licenses"
    if excluded:
        return "excluded nodes"
    if dependency:
        return "dependency"
    if len(required) > 1:
        return "required nodes"
    return "" if re.fullmatch(r"[\w.+-]*", features) else "features"


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
        If a row is not whole.
    """
    found = []
    for cells in rows(text, len(COLUMNS)):
        row = dict(zip(COLUMNS, cells, strict=True))
        try:
            found.append(_text_job({n: "" if v in ("N/A", "(null)") else v for n, v in row.items()}))
        except ValueError as error:
            raise AdapterError(f"a row of squeue cannot be read: {error}") from error
    return found


def _text_job(row: dict[str, str]) -> Job:
    nodes = split_hosts(row["nodelist"]) if row["state"] != "PENDING" else []
    count, cpus = len(nodes) or max(int(row["numnodes"].split("-")[0] or 1), 1), int(row["numcpus"] or 1)
    held = amounts(row["tres-alloc"])
    required = split_hosts(row["reqnodes"])
    tasks = row["arraytaskid"]
    unfit = _unfit(
        array=bool(tasks) and not tasks.isdecimal(),
        het=row["hetjobid"] not in ("", "0"),
        exclusive=row["oversubscribe"] in ("NO", "USER", "MCS"),
        licenses=row["licenses"],
        excluded="",
        dependency="",
        features="",
        required=required,
    )
    return Job(
        name=_name(row["jobid"], row["arrayjobid"], tasks if tasks.isdecimal() else None),
        state=row["state"],
        reason=row["reasonlist"].strip("()"),
        priority=int(row["prioritylong"] or 0),
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
        needs=_each(cpus, count, held),
        parts={node: _each(held.get("cpu", cpus), len(nodes), held) for node in nodes}
        if row["state"] in (*_SETTLED[1:], "COMPLETING")
        else {},
        required=tuple(required),
        unfit=unfit,
        single=row["hetjobid"] in ("", "0"),
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
        except (KeyError, TypeError, ValueError) as error:
            raise AdapterError(f"a node of sinfo --json cannot be read: {error!r}") from error
        tags = (*(f"partition:{p}" for p in row.get("partitions") or ()), *features)
        found[name] = Node(name, capacity, tags, _takes_work(state))
    return list(found.values())


def nodes_of_text(text: str) -> list[Node]:
    """Return the nodes of ``sinfo -N -o '%N|%T|%c|%m|%G|%R|%b|'``: a row a node and partition."""
    found: dict[str, Node] = {}
    for name, state, cpus, memory, gres, partition, features in rows(text, 7):
        capacity = {"cpu": int(cpus), "memory": int(memory)}
        for part in re.sub(r"\([^)]*\)", "", gres).split(","):
            kind, *_, size = part.split(":") if ":" in part else ("", "")
            if kind and size.isdecimal():
                capacity[f"gres/{kind}"] = capacity.get(f"gres/{kind}", 0) + int(size)
        tags = (f"partition:{partition}", *(f for f in features.split(",") if f and f != "(null)"))
        before = found[name].tags if name in found else ()
        takes = _takes_work(words(state.rstrip("*~#!%$@^-"))) and not state.endswith("*")
        found[name] = Node(name, capacity, tuple(dict.fromkeys((*before, *tags))), takes)
    return list(found.values())
