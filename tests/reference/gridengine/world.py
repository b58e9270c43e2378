"""Jobs, hosts, and room over time as a list of what takes it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from evenhand.fields import resource_kind

FOREVER = float("inf")
STOPPING = {"P": "preempt", "N": "enhanced_suspend", "S": "suspend"}
MODES = {"T": "terminate", "R": "requeue", "C": "checkpoint", **STOPPING}
LETTER = {mode: letter for letter, mode in MODES.items()}

Amounts = dict[str, float]


@dataclass
class Take:
    """Room of a node, None for what the cluster counts, that is taken for some time."""

    node: str | None
    amounts: Mapping[str, float]
    since: float
    until: float


@dataclass
class Job:
    """An operation with all that is there of it."""

    name: str
    priority: float
    user: str
    job_name: str | None
    start_time: float
    pool: str | None = None
    allocations: list[dict[str, Any]] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)

    def some(self, *states: str) -> list[dict[str, Any]]:
        """Allocations in one of these states."""
        return [a for a in self.allocations if a.get("state", "running") in states]


def minimum(a: Mapping[str, float], b: Mapping[str, float]) -> Amounts:
    return {r: min(amount, max(b.get(r, 0), 0)) for r, amount in a.items()}


def less(a: Mapping[str, float], b: Mapping[str, float]) -> Amounts:
    return {r: amount - b.get(r, 0) for r, amount in a.items() if amount != b.get(r, 0)}


class World:
    """What there is; settings beside it."""

    def __init__(self, data: Mapping[str, Any], settings: Any) -> None:
        def key(row: Mapping[str, Any]) -> bytes:
            return str(row["name"]).encode()

        self.settings = settings
        self.now = float(data["now"])
        self.resources = data["resources"]
        self.nodes = {str(n["name"]): n for n in sorted(data.get("nodes", ()), key=key)}
        self.jobs = {
            str(o["name"]): Job(
                *(str(o["name"]), o.get("priority") or 0, o.get("user") or ""),
                *((o.get("settings") or {}).get("job_name"), o.get("start_time", 0), o.get("pool")),
            )
            for o in sorted(data.get("operations", ()), key=key)
        }
        for row in sorted(data.get("allocations", ()), key=key):
            self.jobs[str(row["operation"])].allocations.append(row)
        for row in sorted(data.get("requests", ()), key=key):
            if row.get("count", 1):
                self.jobs[str(row["operation"])].requests.append(row)
        self.owner_of = {str(r["name"]): str(r["operation"]) for r in data.get("requests", ())}
        self.wide = {r for r, of in self.resources.items() if of.get("scope") == "cluster"}
        self.reservations = [
            row for row in data.get("reservations", ()) if not row.get("soft") and row.get("node")
        ]

    # --- what a job is

    def ends(self, allocation: Mapping[str, Any]) -> float:
        """When it is taken to have ended, or gone."""
        s = self.settings
        soon = self.now + max(s.DURATION_OFFSET, 1.0)
        if allocation.get("state") == "preempting":
            deadline = allocation.get("deadline")
            return float(deadline) if deadline is not None and deadline > self.now else soon
        end = allocation.get("planned_end")
        if end is None:
            if s.default_duration is None:
                return FOREVER
            end = allocation.get("start_time", 0) + s.default_duration
        end += s.DURATION_OFFSET
        return float(end) if end > self.now else soon

    def queue_name(self, allocation: Mapping[str, Any]) -> str | None:
        """That of its row, else that which is called like its job's pool."""
        own = (allocation.get("settings") or {}).get("queue")
        return (
            self.known(own) if own is not None else self.known(self.jobs[str(allocation["operation"])].pool)
        )

    def known(self, queue: str | None) -> str | None:
        """None: no setting says anything of it."""
        lists = [q.subordinate_list or "" for q in self.settings.queues.values()]
        named = any(re.search(rf"(^|[(, ]){re.escape(queue)}($|[:=), ])", text) for text in lists if queue)
        return queue if queue in self.settings.queues or named else None

    def queue(self, allocation: Mapping[str, Any]) -> Any:
        return self.settings.queues.get(self.queue_name(allocation))

    def checkpointable(self, job: Job) -> bool:
        return all(a.get("checkpointable") for a in job.some("running"))

    def rerunnable(self, job: Job) -> bool:
        return all(
            a.get("rerunnable") or ((q := self.queue(a)) is not None and q.rerun) for a in job.some("running")
        )

    def is_provider(self, job: Job) -> bool:
        """It runs, as a whole, and may be preempted."""
        return bool(job.some("running")) and not job.some("preempting", "suspended", "preempted")

    def turn(self, job: Job) -> tuple[float, float, int]:
        """Where a job that runs stands among those that may be preempted: the least goes first."""
        start = min(a.get("start_time", 0) for a in job.some("running"))
        return job.priority, -start, list(self.jobs).index(job.name)

    # --- what an action does

    def kind(self, resource: str) -> str:
        if resource in self.settings.lo_licenses:
            return "managed"
        kind = self.resources[resource].get("kind") or resource_kind(resource)
        return kind if kind in ("slots", "memory") else "other"

    def frees(self, letter: str, resource: str) -> bool:
        kind = self.kind(resource)
        available = self.resources[resource].get("available_after_preemption", True)
        if letter in "TRC" or kind == "managed":
            return True
        if letter == "S":
            return kind == "slots"
        return bool(available) and (letter == "P" or kind != "memory")

    def freed(self, letter: str, held: Mapping[str, float]) -> Amounts:
        return {r: amount for r, amount in held.items() if self.frees(letter, r)}

    # --- room

    def taken(self, as_if_running: Callable[[Job], bool] = lambda _: False) -> list[Take]:
        """Everything that is there, as long as it is taken to last."""
        found = []
        for job in self.jobs.values():
            for a in job.allocations:
                node, state = a.get("node"), a.get("state", "running")
                held = a.get("held") or {}
                if state == "preempted" and not as_if_running(job):
                    found.append(Take(node, held, self.now, FOREVER))
                    continue
                end = self.ends(a)
                found.append(Take(node, a["resources"], self.now, end))
                if state == "preempting":
                    found.append(Take(node, held, end, FOREVER))
        return found + [take for _, take in self.kept_rooms()]

    def kept_rooms(self) -> list[tuple[str | None, Take]]:
        """Whose it is, and what each hard reservation keeps."""
        found = []
        for row in self.reservations:
            since = max(row.get("from") if row.get("from") is not None else self.now, self.now)
            until = row.get("until") if row.get("until") is not None else FOREVER
            owner = self.owner_of.get(str(row["request"])) if row.get("request") else None
            if until > since:
                found.append((owner, Take(row["node"], row["resources"], since, until)))
        return found

    def capacity(self, node: str | None, resource: str) -> float:
        if resource in self.wide:
            return float(self.resources[resource].get("capacity", 0))
        return float(self.nodes[node].get("capacity", {}).get(resource, 0)) if node is not None else 0.0

    def free(self, takes: list[Take], node: str | None, resource: str, at: float) -> float:
        wide = resource in self.wide
        return self.capacity(node, resource) - sum(
            t.amounts.get(resource, 0) for t in takes if t.since <= at < t.until and (wide or t.node == node)
        )

    def fits(
        self, takes: list[Take], node: str | None, need: Mapping[str, float], since: float, until: float
    ) -> bool:
        """Whether it is there all the time."""
        instants = {since, *(x for t in takes for x in (t.since, t.until) if since <= x < until)}
        return all(
            amount <= self.free(takes, node, r, at) for r, amount in need.items() if amount for at in instants
        )

    def place(self, node: str, request: Mapping[str, Any]) -> str:
        """Why a request may not run on a node whatever is free; nothing: it may."""
        row = self.nodes[node]
        if request.get("required_node") not in (None, node):
            return "wrong_node"
        if not set(request.get("node_tags", ())) <= set(row.get("tags", ())):
            return "wrong_tags"
        return "" if row.get("schedulable", True) else "node_not_schedulable"
