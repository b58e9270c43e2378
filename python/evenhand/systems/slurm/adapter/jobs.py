"""Jobs of Slurm, from its JSON where there is one and from its text where there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evenhand.adapters.protocol import AdapterError
from evenhand.systems.slurm.adapter.fit import (
    TEXT_COLUMNS,
    kinds_of,
    licences_of,
    node_count,
    range_of,
    sharing_of_json,
    sharing_of_text,
    unfit_of_json,
    unfit_of_text,
)
from evenhand.systems.slurm.adapter.parts import even, parts_of
from evenhand.systems.slurm.adapter.states import HOLDING, base_of, is_held
from evenhand.systems.slurm.adapter.text import (
    GARBLED,
    amounts,
    document,
    instant,
    number,
    rows,
    split_hosts,
    words,
)
from evenhand.systems.slurm.text.values import seconds

__all__ = ["COLUMNS", "Job", "jobs_of_json", "jobs_of_text", "numbered_jobs_of_json"]

#: Cells of ``squeue -O`` that hold no text of users.
COLUMNS = (
    *("jobid", "arrayjobid", "arraytaskid", "hetjobid", "state", "reasonlist", "prioritylong", "numnodes"),
    *("numcpus", "minmemory", "starttime", "endtime", "submittime", "restartcnt", "userid", "partition"),
    *("qos", "requeue", "tres-alloc", "nodelist", "oversubscribe", "reqnodes", "licenses", "timelimit"),
    *TEXT_COLUMNS,
)


# Slurm's words for "unset" and "unlimited" are the largest numbers of 32 bits.
_ENDLESS = 0xFFFFFFFE
_NO_NUMBER = 0xFFFE  # "unset" in 16 bits


@dataclass(frozen=True, slots=True)
class Job:
    """One job."""

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
    task: int = -1
    array: int = 0
    array_tasks: str = ""
    array_limit: int = 0
    sharing: str = ""
    time_min: float | None = None
    licences: Mapping[str, int] = field(default_factory=dict)
    max_nodes: int = 1
    cpus_per_task: int = 1


def jobs_of_json(
    text: str, threads: Mapping[str, int] | None = None, sharing: Mapping[int, str] | None = None
) -> list[Job]:
    """Return the jobs of ``squeue --json``."""
    return list(numbered_jobs_of_json(text, threads, sharing).values())


def numbered_jobs_of_json(
    text: str, threads: Mapping[str, int] | None = None, sharing: Mapping[int, str] | None = None
) -> dict[int, Job]:
    """Return the same by their own numbers, which tasks of arrays that began have, too."""
    found: dict[int, Job] = {}
    try:
        for row in document(text, "jobs"):
            name = number(row["job_id"])
            if name is None or name in found:
                raise AdapterError(f"squeue --json has job {name} twice, or a job without a number")
            found[name] = _job(row, threads or {}, sharing)
    except GARBLED as error:
        raise AdapterError(f"a job of squeue --json cannot be read: {error!r}") from error
    return found


def _job(row: dict[str, Any], threads: Mapping[str, int], sharing: Mapping[int, str] | None) -> Job:
    state = words(row["job_state"])
    base, priority = base_of(state), number(row.get("priority")) or 0
    nodes = split_hosts(row.get("nodes") or "")
    cpus = max(number(row.get("cpus")) or 1, 1)
    tasks = _tasks(row, cpus) if base == "PENDING" else 0
    waits = base == "PENDING"
    least, most = range_of(row)
    # Where tasks may be spread, the number of nodes is a guess: what is asked for is as of one. Of a range
    # the fewest nodes are enough to start; Slurm shows the most.
    shown = 1 if tasks else max(number(row.get("node_count")) or 1, 1)
    count = len(nodes) or (least if 0 < least < most else shown)
    needs = even(cpus, count, amounts(row.get("tres_req_str")))
    held = amounts(row.get("tres_alloc_str"))
    features = str(row.get("features") or "")
    comment = row.get("comment")
    job, array, task = (number(row.get(f)) for f in ("job_id", "array_job_id", "array_task_id"))
    shares = sharing_of_json(row) if sharing is None else sharing.get(job or 0, "")
    return Job(
        name=_name(job, array, task),
        state=base,
        reason=_reason(str(row.get("state_reason") or ""), str(row.get("dependency") or "")),
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
        parts=parts_of(row, nodes, cpus, held, threads) if base in HOLDING else {},
        required=tuple(split_hosts(row.get("required_nodes") or "")),
        tags=((features,) if features else ()) + kinds_of(row),
        unfit=unfit_of_json(row, needs["cpu"], shares) if waits else "",
        comment=comment if isinstance(comment, str) else None,
        held=is_held(state, priority),
        single=not number(row.get("het_job_id")),
        limit=_minutes(row.get("time_limit")),
        tasks=tasks,
        per_cpu=(number(row.get("memory_per_cpu")) or 0) if tasks else 0,
        number=(array or job or 0) if waits else job or 0,
        task=task if waits and array and task is not None else -1,
        array=array or 0,
        array_tasks=str(row.get("array_task_string") or "") if array and task is None else "",
        array_limit=number(row.get("array_max_tasks")) or 0,
        sharing=shares,
        time_min=_minutes(row.get("time_minimum")),
        licences=licences_of(str(row.get("licenses_allocated") or row.get("licenses") or "")) or {},
        max_nodes=max(most or number(row.get("tasks")) or 1, 1) if waits else 1,
        cpus_per_task=_cpus_per_task(row) if waits else 1,
    )


def _reason(reason: str, dependency: str) -> str:
    """Return why a job waits, with the jobs that it waits for."""
    return f"{reason}: {dependency}" if reason.startswith("Dependency") and dependency else reason


def _cpus_per_task(row: dict[str, Any]) -> int:
    """Return it of a job that asks for memory by cpu; else nothing depends on it."""
    each = number(row.get("cpus_per_task")) or 1
    return each if number(row.get("memory_per_cpu")) and 0 < each < _NO_NUMBER else 1


def _minutes(value: object) -> float | None:
    """Return a number of minutes in seconds; 0 and the word for none are no limit."""
    found = number(value)
    return 60.0 * found if found and found < _ENDLESS else None


def _tasks(row: dict[str, Any], cpus: int) -> int:
    """Return how many tasks may be spread over any nodes; 0 where nodes, or tasks on each, are counted.

    Where no number of nodes is asked for, the most of them is 0 (from 26.05 on the number of tasks, with a
    flag), and the number of nodes an estimate.
    """
    implied = "JOB_IMPLICIT_MAX_NODES" in words(row.get("flags"))
    counted = number(row.get("max_nodes")) != 0 and not implied
    if counted or number(row.get("tasks_per_node")) or row.get("required_nodes"):
        return 0
    if "gres/" in str(row.get("tres_req_str")) or node_count(row.get("tres_req_str")) > 1:
        return 0
    tasks = number(row.get("tasks")) or 0
    each = number(row.get("minimum_cpus_per_node")) or 1
    return tasks if tasks > 1 and cpus % tasks == 0 and each <= cpus // tasks else 0


def _name(job: object, array: object, task: object) -> str:
    """Return what a job is called: of an array ``array_task``, as its last task has the array's number."""
    return f"{array}_{task}" if array and task is not None else str(job)


def jobs_of_text(text: str, sharing: Mapping[int, str] | None = None) -> list[Job]:
    """Return the jobs of ``squeue -O`` with `COLUMNS`; a multi-node job is taken to be spread evenly."""
    found = []
    for cells in rows(text, len(COLUMNS), bars=True):
        row = dict(zip(COLUMNS, cells, strict=True))
        try:
            said = {n: "" if v in ("N/A", "(null)") else v for n, v in row.items()}
            found.append(_text_job(said, sharing))
        except ValueError as error:
            raise AdapterError(f"a row of squeue cannot be read: {error}") from error
    return found


# Text shows the description where there is one, JSON both; of jobs for which higher tiers leave no room:
_DESCRIBED = {
    "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions": "Resources"
}


def _text_job(row: dict[str, str], sharing: Mapping[int, str] | None) -> Job:
    state = words(row["state"])
    base, priority = base_of(state), int(row["prioritylong"] or 0)
    nodes = split_hosts(row["nodelist"]) if base in HOLDING else []
    count, cpus = len(nodes) or max(int(row["numnodes"].split("-")[0] or 1), 1), int(row["numcpus"] or 1)
    held = amounts(row["tres-alloc"])
    needs = even(cpus, count, held)
    tasks = row["arraytaskid"]
    job, array = int(row["jobid"]), int(row["arrayjobid"] or 0) if tasks else 0
    shares = sharing_of_text(row["oversubscribe"]) if sharing is None else sharing.get(job, "")
    waits, reason = base == "PENDING", row["reasonlist"].strip("()")
    return Job(
        name=_name(row["jobid"], row["arrayjobid"], tasks if tasks.isdecimal() else None),
        state=base,
        reason=_reason(_DESCRIBED.get(reason, reason), row["dependency"]),
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
        parts={node: even(held.get("cpu", cpus), len(nodes), held) for node in nodes},
        required=tuple(split_hosts(row["reqnodes"])),
        tags=(row["feature"],) if row["feature"] else (),
        unfit=unfit_of_text(row, needs["cpu"], shares) if waits else "",
        held=is_held(state, priority),
        single=row["hetjobid"] in ("", "0"),
        limit=seconds(row["timelimit"]) if row["timelimit"] not in ("", "NOT_SET", "INVALID") else None,
        number=array or job if waits else job,
        task=int(tasks) if waits and tasks.isdecimal() else -1,
        array=array,
        array_tasks="" if tasks.isdecimal() else tasks,
        array_limit=int(most) if (most := tasks.partition("%")[2]).isdecimal() else 0,
        sharing=shares,
        licences=licences_of(row["licenses"]) or {},
    )
