"""Jobs, nodes and free room of a snapshot, as plain Python."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from evenhand.fields import resource_kind
from evenhand.systems.slurm.releases import release_in_force
from evenhand.systems.slurm.settings import SlurmPartition, SlurmQos, SlurmSettings, split_mode
from tests.reference.costs import Costs, read_costs
from tests.reference.pace import Pace
from tests.reference.slurm.priority import reference_priorities, tried_in

if TYPE_CHECKING:
    from evenhand.model import Snapshot

__all__ = ["YEAR", "Allocation", "Job", "Request", "Room", "Turn", "World", "flags_of", "read_world"]

Amounts = dict[str, Fraction]

#: Time limit of a job that has none, where its partition has none either.
YEAR = 365 * 86_400.0

#: A partition in which a job is tried: its name, what it is, the priority there.
Turn = tuple[str | None, SlurmPartition, float]


def flags_of(settings: SlurmSettings, part: SlurmPartition | SlurmQos) -> frozenset[str]:
    """Return the flags of preemption for jobs of a partition or QOS: its own, and the cluster's."""
    return split_mode(settings.PreemptMode)[1] | split_mode(part.PreemptMode or "")[1]


@dataclass
class Allocation:
    """Something that a job has, on a node or on none."""

    name: str | int
    node: str | None
    amounts: Amounts
    start: float
    state: str
    held: Amounts
    preemptible: bool
    planned_end: float | None
    deadline: float | None
    beneficiary: str | None


@dataclass
class Request:
    """Something that a job waits for: `count` nodes with these amounts each."""

    name: str | int
    count: int
    amounts: Amounts
    tags: frozenset[str]
    node: str | None
    duration: float | None


@dataclass
class Job:
    """An operation with what it falls under."""

    name: str | int
    row: int
    submitted: float
    priority: float
    partition: SlurmPartition
    partition_name: str | None
    qos: SlurmQos | None
    qos_name: str | None
    batch: bool
    own: Mapping[str, Any]
    user: str | None = None
    pool: str | int | None = None
    account: str | None = None
    allocations: list[Allocation] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    #: Name, partition and priority there, of each partition in which it is tried.
    turns: list[Turn] = field(default_factory=list)
    #: It was preempted, and still runs in its grace time; for which job.
    in_grace: bool = False
    leaves_for: str | None = None

    def stand_in(self, turn: Turn) -> None:
        """Be in one of its partitions, whose turn it is."""
        self.partition_name, self.partition, self.priority = turn

    @property
    def running(self) -> list[Allocation]:
        """What runs, or what a person stopped."""
        return [a for a in self.allocations if a.state in ("running", "suspended")]

    @property
    def parts(self) -> list[Allocation]:
        """What runs or, where nothing else does, leaves."""
        return self.running or [a for a in self.allocations if a.state == "preempting"]

    @property
    def nodes(self) -> frozenset[str]:
        """Where it runs."""
        return frozenset(a.node for a in self.parts if a.node is not None)

    @property
    def start(self) -> float:
        """When its first part started."""
        return min(a.start for a in self.parts)

    def mode(self, settings: SlurmSettings) -> str:
        """Return what becomes of it if it is preempted."""
        part: SlurmPartition | SlurmQos | None = self.partition
        if settings.PreemptType == "preempt/qos":
            part = self.qos
        given = None if part is None else part.PreemptMode
        base, _ = split_mode(settings.PreemptMode if given is None else given)
        flags = (self.own.get("signal") or "").split(":")[:-1]
        return "CANCEL" if base == "SUSPEND" and "r" in "".join(flags).lower() else base

    def exempt(self, settings: SlurmSettings) -> float:
        """Run time before which it is no victim."""
        of_partition = settings.qos[self.partition.QOS] if self.partition.QOS else None
        for source in (self.qos, of_partition, settings):
            if source is not None and source.PreemptExemptTime is not None:
                return source.PreemptExemptTime
        return 0.0

    @property
    def whole_nodes(self) -> bool:
        """Whether no other job may be on its nodes."""
        return bool(self.own.get("exclusive")) or self.partition.OverSubscribe == "EXCLUSIVE"


class Room:
    """Free amounts by node, of licences for all together; which job is where."""

    def __init__(self, free: dict[str | None, Amounts], there: dict[str, list[Job]]) -> None:
        self.free = {node: dict(amounts) for node, amounts in free.items()}
        self.there = {node: list(jobs) for node, jobs in there.items()}

    def copy(self) -> Room:
        """Return a trial."""
        return Room(self.free, self.there)

    def add(self, node: str | None, amounts: Amounts, sign: int, licences: Iterable[str]) -> None:
        """Free amounts (1) or use them (-1)."""
        for resource, amount in amounts.items():
            where = None if resource in licences else node
            if resource in licences or node is not None:
                self.free[where][resource] = self.free[where].get(resource, Fraction(0)) + sign * amount


@dataclass
class World:
    """All that a run looks at."""

    settings: SlurmSettings
    release: str
    now: float
    nodes: list[str]
    tags: dict[str, frozenset[str]]
    schedulable: dict[str, bool]
    licences: frozenset[str]
    kinds: dict[str, str]
    capacity: dict[str, Amounts]
    jobs: list[Job]
    room: Room
    costs: Costs
    pace: Pace
    reserved: list[tuple[str | None, str, Amounts]]

    def since(self, release: str) -> bool:
        """Whether a rule that a release brought is in force."""
        return self.release >= release

    def spared(self, job: Job) -> str | None:
        """Return why the pace spares a job, None if it does not."""
        ends = [a.planned_end for a in job.running]
        known = [round(end * 1e6) for end in ends if end is not None]
        end = max(known) if len(known) == len(ends) else None
        return self.pace.spares(job.name, job.pool, round(job.start * 1e6), end)

    def beyond_caps(self, victims: Sequence[Job]) -> list[Job]:
        """Return the victims of one step that are beyond the caps of pools."""
        places = self.pace.beyond([(job.name, job.pool) for job in victims])
        return [victims[place] for place in sorted(places)]

    def reserve(self, room: Room, job: Job, sign: int) -> None:
        """Add what is reserved for a job to a room (1), or take it off again (-1)."""
        for owner, node, amounts in self.reserved:
            if owner == str(job.name):
                room.add(node, amounts, sign, self.licences)

    def partition_nodes(self, job: Job) -> frozenset[str]:
        """Nodes of a job's partition."""
        names = job.partition.Nodes
        return frozenset(self.nodes) if "ALL" in names else frozenset(names)

    def only_licences(self, request: Request) -> bool:
        """Whether a request needs no node."""
        wants = {r for r, v in request.amounts.items() if v > 0}
        return bool(wants) and wants <= self.licences

    def open_to(self, job: Job, request: Request) -> frozenset[str]:
        """Nodes on which a request may run if there is room."""
        return frozenset(
            node
            for node in self.partition_nodes(job)
            if self.schedulable[node] and request.tags <= self.tags[node] and request.node in (None, node)
        )

    def limit(self, job: Job) -> float | None:
        """Return the time limit of a pending job; None: it has none."""
        limits = [q.duration for q in job.requests]
        known = [limit for limit in limits if limit is not None]
        return job.partition.DefaultTime if None in limits else max(known, default=None)

    def lasts(self, job: Job, *, backfill: bool) -> float:
        """Return how long a pending job would run at most."""
        longest = YEAR if job.partition.MaxTime is None else job.partition.MaxTime
        limit = self.limit(job)
        length = longest if limit is None else min(limit, longest)
        shortest = job.own.get("time_min")
        return min(length, shortest) if backfill and shortest is not None else length

    def grace(self, job: Job) -> float:
        """Return the time that a victim has to end."""
        if self.settings.PreemptType == "preempt/qos":
            return job.qos.GraceTime if job.qos is not None else 0.0
        return job.partition.GraceTime

    def has_ended(self, a: Allocation) -> bool:
        """Whether all that is left of what was preempted is its epilog."""
        return a.deadline is None or a.deadline <= self.now


def _exact(amounts: Mapping[str, Any] | None) -> Amounts:
    return {resource: Fraction(str(value)) for resource, value in (amounts or {}).items()}


def read_world(snapshot: Snapshot, settings: SlurmSettings, state: Mapping[str, Any] | None = None) -> World:
    """Read a snapshot.

    Parameters
    ----------
    snapshot : Snapshot
    settings : SlurmSettings
    state : mapping, optional
        "victims" of the last plan.

    Returns
    -------
    World
    """
    data = snapshot.to_dict()
    resources = data["resources"]
    licences = frozenset(r for r, spec in resources.items() if spec.get("scope") == "cluster")
    kinds = {r: _kind(r, spec) for r, spec in resources.items()}
    default = next((name for name, p in settings.partitions.items() if p.Default), None)
    operations = data.get("operations", ())
    tried = {str(op["name"]): tried_in(data, settings, op, default) for op in operations}
    found = []
    if settings.PriorityType == "priority/multifactor":
        for place in range(max(map(len, tried.values()), default=1)):
            there = {name: names[min(place, len(names) - 1)] for name, names in tried.items()}
            found.append(reference_priorities(snapshot, settings, there))
    jobs = []
    for row, op in enumerate(operations):
        qos = op.get("qos") if settings.qos else None
        turns = [
            (
                name,
                SlurmPartition() if name is None else settings.partitions[name],
                found[place][str(op["name"])]["priority"] if found else op.get("priority", 1.0),
            )
            for place, name in enumerate(tried[str(op["name"])])
        ]
        jobs.append(
            Job(
                op["name"],
                row,
                op.get("start_time", 0.0),
                turns[0][2],
                turns[0][1],
                turns[0][0],
                settings.qos[qos] if qos is not None else None,
                qos,
                op.get("kind", "batch") == "batch",
                op.get("settings", {}),
                op.get("user"),
                op.get("pool"),
                op.get("account"),
                turns=turns,
            )
        )
    by_name = {str(job.name): job for job in jobs}
    owners = {str(q["name"]): str(q["operation"]) for q in data.get("requests", ())}
    for a in data.get("allocations", ()):
        whom = a.get("beneficiary") or {}
        whose = (
            whom["operation"] if whom.get("operation") is not None else owners.get(str(whom.get("request")))
        )
        by_name[str(a["operation"])].allocations.append(
            Allocation(
                a["name"],
                None if a.get("node") is None else str(a["node"]),
                _exact(a.get("resources")),
                a.get("start_time", 0.0),
                a.get("state", "running"),
                _exact(a.get("held")),
                a.get("preemptible", True),
                a.get("planned_end"),
                a.get("deadline"),
                None if whose is None else str(whose),
            )
        )
    for job in jobs:
        leaving = [] if job.running else job.parts
        job.in_grace = any(a.deadline is not None and a.deadline > data.get("now", 0.0) for a in leaving)
        job.leaves_for = leaving[0].beneficiary if leaving else None
    for q in data.get("requests", ()):
        if q.get("count", 1) == 0:
            continue
        node = q.get("required_node")
        by_name[str(q["operation"])].requests.append(
            Request(
                q["name"],
                q.get("count", 1),
                _exact(q.get("resources")),
                frozenset(q.get("node_tags", ())),
                None if node is None else str(node),
                q.get("duration"),
            )
        )
    nodes = data.get("nodes", ())
    names = [str(node["name"]) for node in nodes]
    free: dict[str | None, Amounts] = {str(node["name"]): _exact(node.get("capacity")) for node in nodes}
    free[None] = {r: Fraction(str(spec.get("capacity", 0))) for r, spec in resources.items() if r in licences}
    room = Room(free, {name: [] for name in names})
    for job in jobs:
        for allocation in job.allocations:
            gone = allocation.state == "preempted"
            room.add(allocation.node, allocation.held if gone else allocation.amounts, -1, licences)
            if not gone and allocation.node is not None:
                room.there[allocation.node].append(job)
    reserved = []
    for row in data.get("reservations", ()):
        until = row.get("until")
        lasts = row.get("from", 0.0) <= data.get("now", 0.0) and (until is None or data["now"] < until)
        if lasts and row.get("node") is not None and not row.get("soft", False):
            owner = owners.get(str(row.get("request")))
            reserved.append((owner, str(row["node"]), _exact(row.get("resources"))))
            room.add(str(row["node"]), reserved[-1][2], -1, licences)
    return World(
        settings,
        release_in_force(snapshot, settings),
        data.get("now", 0.0),
        names,
        {str(node["name"]): frozenset(node.get("tags", ())) for node in nodes},
        {str(node["name"]): node.get("schedulable", True) for node in nodes},
        licences,
        kinds,
        {str(node["name"]): _exact(node.get("capacity")) for node in nodes},
        jobs,
        room,
        read_costs(data, settings.victim_cost),
        Pace(settings.pace, data, state or {}),
        reserved,
    )


def _kind(name: str, spec: Mapping[str, Any]) -> str:
    return str(spec.get("kind") or resource_kind(name))
