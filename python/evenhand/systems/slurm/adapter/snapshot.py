"""A snapshot of Slurm's jobs and nodes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Literal

from evenhand.model import Snapshot
from evenhand.systems.slurm.adapter.jobs import Job, Node
from evenhand.systems.slurm.adapter.spread import Free, Piece

__all__ = ["build", "left_out"]

#: Reasons for which a job waits that would start if there were room.
WAITS = {"None", "Priority", "Resources", ""}
_STATES = {"RUNNING": "running", "SUSPENDED": "preempted", "STOPPED": "suspended", "COMPLETING": "preempting"}
_NEVER_RESERVED = "reserved:never"  # no feature of a node: those have no colon
_TIME_END = 4_000_000_000.0  # Slurm's "never" lies beyond


def build(
    jobs: list[Job],
    nodes: list[Node],
    now: float,
    pools: Literal["partition", "account", "user"],
    preemptible: Callable[[Job], bool] | None,
    leaving: Mapping[str, str],
    released: Collection[str] = (),
    accounts: Mapping[str, tuple[str | None, float]] | None = None,
    later: Mapping[str, float] | None = None,
) -> Snapshot:
    """Return the snapshot of jobs and nodes.

    Parameters
    ----------
    jobs, nodes : list
    now : float
        The instant, in seconds since 1970.
    pools : str
        What becomes a pool.
    preemptible : callable or None
        Which jobs may be victims.
    leaving : mapping of str to str
        Jobs that were asked to leave, with the job that they leave for.
    released : collection of str
        Jobs whose reason to wait does not count.
    accounts : mapping, optional
        Parent and weight of accounts, by name; they are pools even without jobs.
    later : mapping of str to float, optional
        Nodes of reservations that begin later, and when: a job that may still run then starts elsewhere.

    Returns
    -------
    Snapshot
        Memory is in MiB. Nodes are called for by features, partitions and, for jobs that name several, by
        those together; a job's pool is its first partition's. Suspended jobs keep all but their cpus, stopped
        ones all. Jobs that were held while they run are no victims, as they are not to
        start again.

    Notes
    -----
    O(jobs + nodes).
    """
    places = {node.name for node in nodes}
    resources = sorted({r for node in nodes for r in node.capacity} | {"cpu", "memory"})
    largest = _largest(nodes)
    live = [
        job
        for job in jobs
        if job.parts or (_waits(job, released) and not _why_not(job, places, largest, len(nodes)))
    ]
    choices = {job.partition for job in live if "," in job.partition}
    later = later or {}
    until = min(later.values(), default=_TIME_END)
    calls = {job.name: _calls(job, now, until) for job in live if job.state == "PENDING"}
    free = Free(nodes, _held(live))
    waiting = sorted((job for job in live if job.name in calls), key=lambda job: (-job.priority, job.number))
    pieces = {job.name: free.pieces(job, calls[job.name]) for job in waiting}
    operations, allocations, requests = [], [], []
    names: set[str] = set()
    for job in live:
        first = job.partition.split(",")[0]
        pool = {"partition": first, "account": job.account, "user": job.user}[pools] or "none"
        names.add(pool)
        parts = sum(piece.count for piece in pieces.get(job.name, ())) or job.count
        operations.append(_operation(job, pool, now, gang=parts > 1))
        if job.state == "PENDING":
            for place, piece in enumerate(pieces[job.name]):
                requests.append(_request(job, piece, place, calls[job.name], resources, now))
        else:
            may = job.requeue and job.single and not (job.state == "RUNNING" and job.held)
            may = may and (preemptible is None or preemptible(job))
            for node, part in job.parts.items():
                if node in places:
                    allocations.append(_allocation(job, node, part, may, leaving, now))
    return Snapshot.from_dict(
        {
            "now": now,
            "resources": {
                name: {"quantum": 1, "available_after_preemption": name == "cpu"} for name in resources
            },
            "nodes": [
                {
                    "name": node.name,
                    "capacity": dict(node.capacity),
                    "tags": sorted(
                        {
                            *node.tags,
                            *_several(node, choices),
                            *([_NEVER_RESERVED] if later and node.name not in later else []),
                        }
                    ),
                    "schedulable": node.schedulable,
                    "order": place,
                }
                for place, node in enumerate(nodes)
            ],
            "pools": _pools(names, accounts or {}),
            "operations": operations,
            "allocations": allocations,
            "requests": requests,
        }
    )


def _held(live: list[Job]) -> dict[str, dict[str, int]]:
    """Return what jobs hold on each node; suspended ones give back their cpus."""
    found: dict[str, dict[str, int]] = {}
    for job in live:
        for node, part in job.parts.items():
            there = found.setdefault(node, {})
            for resource, amount in part.items():
                if resource != "cpu" or job.state != "SUSPENDED":
                    there[resource] = there.get(resource, 0) + amount
    return found


def _calls(job: Job, now: float, until: float) -> list[str]:
    """Return what the nodes of a waiting job must be called for."""
    stays = job.limit is None or now + job.limit > until
    return [
        *([f"partition:{job.partition}"] if job.partition else []),
        *job.tags,
        *([_NEVER_RESERVED] if stays and until < _TIME_END else []),
    ]


def _pools(names: set[str], accounts: Mapping[str, tuple[str | None, float]]) -> list[dict[str, Any]]:
    """Return the pools that jobs are in, and the tree that they stand in."""
    rows: list[dict[str, Any]] = [{"name": name} for name in sorted(names - set(accounts))]
    for name, (parent, weight) in sorted(accounts.items()):
        rows.append({"name": name, "parent": parent, "weight": weight})
    return rows


def left_out(jobs: list[Job], nodes: list[Node], released: Collection[str] = ()) -> dict[str, list[str]]:
    """Return the jobs that wait for room and are no requests of the snapshot, by what a driver cannot judge.

    Parameters
    ----------
    jobs, nodes, released
        As of `build`.

    Returns
    -------
    dict of str to list of str
        What they ask for, in words, and their names.

    Notes
    -----
    O(jobs + nodes).
    """
    places, largest = {node.name for node in nodes}, _largest(nodes)
    found: dict[str, list[str]] = {}
    for job in jobs:
        why = _why_not(job, places, largest, len(nodes)) if _waits(job, released) else ""
        if why:
            found.setdefault(why, []).append(job.name)
    return found


def _waits(job: Job, released: Collection[str]) -> bool:
    asks = not job.held and set(job.reason.split(",")) <= WAITS
    return job.state == "PENDING" and (asks or job.name in released)


def _why_not(job: Job, places: set[str], largest: Mapping[str, int], nodes: int) -> str:
    """Return what a waiting job asks for that cannot be judged, or could never be had."""
    if job.unfit:
        return job.unfit
    if not places.issuperset(job.required):
        return "a node that is not there"
    needs = job.needs
    if job.tasks:  # each task fits on a node, however many there are
        cpus = needs["cpu"] // job.tasks
        needs = {"cpu": cpus, "memory": job.per_cpu * cpus or needs.get("memory", 0)}
    if job.count > nodes or any(amount > largest.get(name, 0) for name, amount in needs.items()):
        return "more than there is"
    return ""


def _largest(nodes: list[Node]) -> dict[str, int]:
    found: dict[str, int] = {}
    for node in nodes:
        for name, amount in node.capacity.items():
            found[name] = max(found.get(name, 0), amount)
    return found


def _several(node: Node, choices: Collection[str]) -> list[str]:
    """Return tags for jobs that may start in any of several partitions, of which the node is in one."""
    return [
        f"partition:{choice}"
        for choice in choices
        if any(f"partition:{partition}" in node.tags for partition in choice.split(","))
    ]


def _operation(job: Job, pool: str, now: float, *, gang: bool) -> dict[str, Any]:
    row = {
        "name": job.name,
        "pool": pool,
        "user": job.user,
        "account": job.account,
        "partition": job.partition,
        "qos": job.qos,
        "priority": job.priority,
        "start_time": min(job.submitted, now),
        "gang": gang,
        "order": job.number,
    }
    return {key: value for key, value in row.items() if value != ""}


def _request(
    job: Job, piece: Piece, place: int, calls: list[str], resources: list[str], now: float
) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": f"{job.name}/{place}" if place else job.name,
        "operation": job.name,
        "resources": {r: v for r, v in piece.needs.items() if r in resources},
        "count": piece.count,
        "submit_time": min(job.submitted, now),
        "node_tags": calls,
    }
    if job.limit is not None:
        row["duration"] = job.limit
    required = piece.node or (job.required[0] if job.required else None)
    if required:
        row["required_node"] = required
    return row


def _allocation(
    job: Job, node: str, part: Mapping[str, int], may: bool, leaving: Mapping[str, str], now: float
) -> dict[str, Any]:
    state = _STATES[job.state]
    started = min(job.started or 0.0, now)
    row: dict[str, Any] = {
        "name": f"{job.name}@{node}",
        "operation": job.name,
        "node": node,
        "resources": dict(part),
        "start_time": started,
        "state": state,
        "rerunnable": job.requeue,
        "preemptible": may,
    }
    if job.ends and now < job.ends < _TIME_END:
        row["planned_end"] = job.ends
    if state == "preempted":
        row["held"] = {r: v for r, v in part.items() if r != "cpu"}
    if state == "preempting" and job.name in leaving:
        row["beneficiary"] = {"operation": leaving[job.name]}
    return row
