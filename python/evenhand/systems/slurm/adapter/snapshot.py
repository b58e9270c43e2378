"""A snapshot of Slurm's jobs and nodes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from evenhand.model import Snapshot
from evenhand.systems.slurm.adapter.arrays import begun_tasks, place_of
from evenhand.systems.slurm.adapter.fit import ALONE
from evenhand.systems.slurm.adapter.jobs import Job
from evenhand.systems.slurm.adapter.nodes import Node
from evenhand.systems.slurm.adapter.spread import Free, Piece

__all__ = ["Beside", "build", "left_out"]

#: Reasons for which a job waits that would start if there were room.
WAITS = {"None", "Priority", "Resources", ""}
_STATES = {"RUNNING": "running", "SUSPENDED": "preempted", "STOPPED": "suspended", "COMPLETING": "preempting"}
_NEVER_RESERVED = "reserved:never"  # no feature of a node: those have no colon
_TIME_END = 4_000_000_000.0  # Slurm's "never" lies beyond


@dataclass(frozen=True, slots=True)
class Beside:
    """What is known of a cluster beside its jobs and nodes."""

    version: str | None = None
    licences: Mapping[str, int] = field(default_factory=dict)
    sharing: Mapping[str, str] = field(default_factory=dict)
    own_rules: bool = True


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
    beside: Beside | None = None,
) -> Snapshot:
    """Return the snapshot of jobs and nodes."""
    beside = beside or Beside()
    apart = {node for job in jobs if _sharing(job, beside) in ALONE for node in job.parts}
    nodes = [replace(node, schedulable=False) if node.name in apart else node for node in nodes]
    places = {node.name for node in nodes}
    waits = _Waits(jobs, nodes, released, beside)
    live = [job for job in jobs if job.parts or job.state == "PENDING"]
    asking = [job for job in live if job.state == "PENDING" and not waits.why(job)]
    wanted = sorted({name for job in asking for name in job.licences})
    resources = sorted({r for node in nodes for r in node.capacity} | {"cpu", "memory"})
    choices = {job.partition for job in live if "," in job.partition}
    later = later or {}
    until = min(later.values(), default=_TIME_END)
    calls = {job.name: _calls(job, now, until) for job in asking}
    free = Free(nodes, _held(live))
    ranked = sorted(asking, key=lambda job: (-job.priority, job.number, job.task))
    pieces = {job.name: free.pieces(job, calls[job.name]) for job in ranked}
    begun = begun_tasks(jobs)
    order = {job.name: n for n, job in enumerate(sorted(live, key=lambda job: place_of(job, begun)))}
    submitted = _submitted(live, order)
    operations, allocations, requests = [], [], []
    names: set[str] = set()
    for job in live:
        first = job.partition.split(",")[0]
        pool = {"partition": first, "account": job.account, "user": job.user}[pools] or "none"
        names.add(pool)
        mine = pieces.get(job.name, [])
        several = sum(piece.count for piece in mine) > 1 or (not mine and job.count > 1)
        operations.append(_operation(job, pool, now, order[job.name], waits.why(job), gang=several))
        if job.parts:
            operations[-1]["start_time"] = min(submitted[job.name], now)
        if beside.own_rules and (job.parts or mine):
            operations[-1]["settings"] |= _own(job)
        for place, piece in enumerate(mine):
            row = _request(job, piece, place, calls[job.name], resources, now)
            if not several:
                row["resources"] |= _licences(job)
            requests.append(row)
        if several and mine and job.licences:
            requests.append(
                {"name": f"{job.name}/licenses", "operation": job.name, "resources": _licences(job)}
                | {"submit_time": min(job.submitted, now)}
            )
        may = job.requeue and job.single and not (job.state == "RUNNING" and job.held)
        may = may and bool(job.parts) and (preemptible is None or preemptible(job))
        for node, part in job.parts.items():
            if node in places:
                allocations.append(_allocation(job, node, part, may, leaving, now))
        if job.parts and (own := {n: v for n, v in _licences(job).items() if n[8:] in wanted}):
            allocations.append(_allocation(job, None, own, may, leaving, now))
    return Snapshot.from_dict(
        {
            "now": now,
            "root": {"settings": {"slurm_version": beside.version} if beside.version else {}},
            "resources": {
                **{name: {"quantum": 1, "available_after_preemption": name == "cpu"} for name in resources},
                **{
                    f"license/{name}": {
                        "quantum": 1,
                        "scope": "cluster",
                        "capacity": beside.licences.get(name, 0)
                        + sum(job.licences.get(name, 0) for job in live if job.parts),
                    }
                    for name in wanted
                },
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


def _submitted(live: list[Job], order: Mapping[str, int]) -> dict[str, float]:
    """Return when jobs that run were submitted; no later than those behind them in Slurm's list.

    One that was requeued, or a task of an array, keeps its place there, whatever its time says.
    """
    found: dict[str, float] = {}
    least = _TIME_END
    for job in sorted(live, key=lambda job: order[job.name], reverse=True):
        if job.parts:
            found[job.name] = least = min(least, job.submitted)
    return found


def _licences(job: Job) -> dict[str, int]:
    return {f"license/{name}": count for name, count in job.licences.items()}


def _own(job: Job) -> dict[str, Any]:
    """Return what Slurm's own rules read of a job beyond amounts."""
    found: dict[str, Any] = {}
    if job.sharing == "NODE":
        found["exclusive"] = True
    if job.time_min is not None:
        found["time_min"] = job.time_min
    if job.max_nodes > job.count:
        found["max_nodes"] = job.max_nodes
    if job.cpus_per_task > 1:
        found["cpus_per_task"] = job.cpus_per_task
    return found


def _sharing(job: Job, beside: Beside) -> str:
    """Return whom a job shares its nodes with, by itself or by its partition."""
    by_partition = (beside.sharing.get(name, "") for name in job.partition.split(","))
    return job.sharing if job.sharing in ALONE else next(filter(None, by_partition), job.sharing)


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


def left_out(
    jobs: list[Job], nodes: list[Node], released: Collection[str] = (), beside: Beside | None = None
) -> dict[str, list[str]]:
    """Return the jobs that wait for room and are no requests, by what a driver cannot judge."""
    waits = _Waits(jobs, nodes, released, beside or Beside())
    found: dict[str, list[str]] = {}
    for job in jobs:
        if job.state == "PENDING" and waits.for_room(job) and (why := waits.unfit(job)):
            found.setdefault(why, []).append(job.name)
    return found


class _Waits:
    """Which jobs wait for room, and which of them can be planned for."""

    def __init__(self, jobs: list[Job], nodes: list[Node], released: Collection[str], beside: Beside) -> None:
        self._places = {node.name for node in nodes}
        self._largest: dict[str, int] = {}
        for node in nodes:
            for name, amount in node.capacity.items():
                self._largest[name] = max(self._largest.get(name, 0), amount)
        self._nodes, self._released, self._beside = len(nodes), released, beside
        self._known = set(beside.licences) | {name for job in jobs if job.parts for name in job.licences}

    def why(self, job: Job) -> str:
        """Return why a job that waits is not planned for; empty if it is, or does not wait."""
        if job.state != "PENDING":
            return ""
        if not self.for_room(job):
            return job.reason or "it is held"
        return self.unfit(job)

    def for_room(self, job: Job) -> bool:
        """Whether a waiting job would start if there were room."""
        asks = not job.held and set(job.reason.split(",")) <= WAITS
        return asks or job.name in self._released or (job.task >= 0 and str(job.array) in self._released)

    def unfit(self, job: Job) -> str:
        """Return what a waiting job asks for that cannot be judged, or could never be had."""
        if job.unfit:
            return job.unfit
        sharing = _sharing(job, self._beside)
        if sharing in ALONE:
            return ALONE[sharing]
        if sharing and not self._beside.own_rules:
            return "entire nodes"
        if not self._places.issuperset(job.required):
            return "a node that is not there"
        if not self._known.issuperset(job.licences):
            return "a license that is not there"
        needs = job.needs
        if job.tasks:  # each task fits on a node, however many there are
            cpus = needs["cpu"] // job.tasks
            needs = {"cpu": cpus, "memory": job.per_cpu * cpus or needs.get("memory", 0)}
        if job.count > self._nodes or any(
            amount > self._largest.get(name, 0) for name, amount in needs.items()
        ):
            return "more than there is"
        return ""


def _several(node: Node, choices: Collection[str]) -> list[str]:
    """Return tags for jobs that may start in any of several partitions, of which the node is in one."""
    return [
        f"partition:{choice}"
        for choice in choices
        if any(f"partition:{partition}" in node.tags for partition in choice.split(","))
    ]


def _operation(job: Job, pool: str, now: float, order: int, why: str, *, gang: bool) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": job.name,
        "pool": pool,
        "user": job.user,
        "account": job.account,
        "partition": job.partition,
        "qos": "" if "," in job.qos else job.qos,  # of several it has none yet
        "priority": job.priority,
        "start_time": min(job.submitted, now),
        "gang": gang,
        "order": order,
        "settings": {"waits_for": why} if why else {},
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
    job: Job, node: str | None, part: Mapping[str, int], may: bool, leaving: Mapping[str, str], now: float
) -> dict[str, Any]:
    state = _STATES[job.state]
    started = min(job.started or 0.0, now)
    row: dict[str, Any] = {
        "name": f"{job.name}@{node or 'licenses'}",
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
