"""A snapshot of Slurm's jobs and nodes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Literal

from evenhand.adapters.slurm_jobs import Job, Node
from evenhand.model import Snapshot

__all__ = ["build"]

#: Reasons for which a job waits that would start if there were room.
WAITS = {"None", "Priority", "Resources", ""}
_STATES = {"RUNNING": "running", "SUSPENDED": "preempted", "COMPLETING": "preempting"}
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
        Jobs that were told to leave, with the job that they leave for.
    released : collection of str
        Jobs whose reason to wait does not count.
    accounts : mapping, optional
        Parent and weight of accounts, by name; they are pools even without jobs.

    Returns
    -------
    Snapshot
        Memory is in MiB. Suspended jobs keep all but their cpus.

    Notes
    -----
    O(jobs + nodes).
    """
    places = {node.name for node in nodes}
    resources = sorted({r for node in nodes for r in node.capacity} | {"cpu", "memory"})
    live = [job for job in jobs if (job.state == "PENDING" and _waits(job, released)) or job.parts]
    operations, allocations, requests = [], [], []
    names: set[str] = set()
    for job in live:
        pool = {"partition": job.partition, "account": job.account, "user": job.user}[pools] or "none"
        names.add(pool)
        operations.append(_operation(job, pool))
        if job.state == "PENDING":
            requests.append(_request(job, resources))
        else:
            may = job.requeue and job.single and (preemptible is None or preemptible(job))
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
                    "tags": sorted(node.tags),
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


def _pools(names: set[str], accounts: Mapping[str, tuple[str | None, float]]) -> list[dict[str, Any]]:
    """Return the pools that jobs are in, and the tree that they stand in."""
    rows: list[dict[str, Any]] = [{"name": name} for name in sorted(names - set(accounts))]
    for name, (parent, weight) in sorted(accounts.items()):
        rows.append({"name": name, "parent": parent, "weight": weight})
    return rows


def _waits(job: Job, released: Collection[str]) -> bool:
    asks = job.priority > 0 and set(job.reason.split(",")) <= WAITS
    return not job.unfit and (asks or job.name in released)


def _operation(job: Job, pool: str) -> dict[str, Any]:
    row = {
        "name": job.name,
        "pool": pool,
        "user": job.user,
        "account": job.account,
        "partition": job.partition,
        "qos": job.qos,
        "priority": job.priority,
        "start_time": job.submitted,
        "gang": job.count > 1,
        "order": job.number,
    }
    return {key: value for key, value in row.items() if value != ""}


def _request(job: Job, resources: list[str]) -> dict[str, Any]:
    tags = ([f"partition:{job.partition}"] if job.partition else []) + (
        [job.features] if job.features else []
    )
    row: dict[str, Any] = {
        "name": job.name,
        "operation": job.name,
        "resources": {r: v for r, v in job.needs.items() if r in resources},
        "count": job.count,
        "submit_time": job.submitted,
        "node_tags": tags,
    }
    if job.required:
        row["required_node"] = job.required[0]
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
