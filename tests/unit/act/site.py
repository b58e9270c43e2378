"""A small site with a clock and a log of its own, and its adapter, as "Write an adapter" has them."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import evenhand as eh
from evenhand.act import Driver, Report, Timing
from evenhand.adapters.protocol import EVICTIONS, Answer, Standing
from evenhand.errors import EvenhandError

_NUMBERS = itertools.count()

Job = dict[str, Any]


class Site:
    """Nodes and jobs: (cpu, priority, node or None), and a user where it is not called like the job.

    ``later(seconds, what)`` is done when the clock gets there; ``asked`` is the log of what was asked for.
    """

    def __init__(self, nodes: dict[str, int], **jobs: tuple[Any, ...]) -> None:
        self.now, self.nodes = 1_000_000.0, nodes
        self.asked: list[tuple[str, str]] = []
        self.jobs: dict[str, Job] = {}
        self._later: list[tuple[float, Callable[[], object]]] = []
        for name, (cpu, priority, node, *user) in jobs.items():
            self.jobs[name] = {
                "cpu": cpu,
                "priority": priority,
                "node": node,
                "state": "running" if node else "pending",
                "turn": 0,
                "user": user[0] if user else name,
                "held": False,
                "protected": False,
            }

    def clock(self) -> float:
        return self.now

    def later(self, seconds: float, what: Callable[[], object]) -> None:
        self._later.append((self.now + seconds, what))

    def sleep(self, seconds: float) -> None:
        end = self.now + seconds
        while due := sorted((at, n) for n, (at, _) in enumerate(self._later) if at <= end):
            at, what = self._later.pop(due[0][1])
            self.now = max(self.now, at)
            what()
        self.now = end

    def set(self, name: str, **more: Any) -> None:
        self.jobs[name].update(more)

    def leave(self, name: str, state: str = "held") -> None:
        self.set(name, state=state, node=None, turn=self.jobs[name]["turn"] + 1)

    def start(self, name: str, node: str) -> None:
        self.set(name, state="running", node=node)

    def end(self, name: str) -> None:
        self.set(name, state="ended", node=None)

    def room(self, node: str) -> int:
        return self.nodes[node] - sum(job["cpu"] for job in self.jobs.values() if job["node"] == node)

    def evicted(self) -> list[str]:
        """The jobs that were asked to leave, in order."""
        return [name for action, name in self.asked if action in EVICTIONS]

    def timing(self, **more: float) -> Timing:
        values: dict[str, Any] = {"start": 60.0, "settle": 10.0, "poll": 1.0} | more
        return Timing(clock=self.clock, sleep=self.sleep, **values)


class SiteAdapter:
    """What a command does is ``on[action, job]``, which returns its answer; by default it is done at once."""

    name, notices = "site", ()

    def __init__(self, site: Site, evict: str = "requeue_hold") -> None:
        self.site, self.evict, self.identity = site, evict, f"site {os.getpid()} {next(_NUMBERS)}"
        self.whole = self.users = True
        self.on: dict[tuple[str, str], Callable[[], Answer]] = {}
        self.before_look: Callable[[], object] = lambda: None
        self.before_snapshot: Callable[[], object] = lambda: None

    def policy(self, preset: str = "documented", **changes: Any) -> Any:
        return eh.policies.BackendAI(
            preset, **{"preemptors": "every", "preemption_mode": "reschedule", **changes}
        )

    def snapshot(self, leaving: Mapping[str, str] | None = None) -> eh.Snapshot:
        self.before_snapshot()
        nodes = [{"name": name, "capacity": {"cpu": cpu}} for name, cpu in self.site.nodes.items()]
        tables: dict[str, Any] = {"operations": [], "allocations": [], "requests": [], "nodes": nodes}
        for name, job in self.site.jobs.items():
            row = {"name": name, "operation": name, "resources": {"cpu": job["cpu"]}}
            user = {"user": job["user"]} if self.users else {}
            tables["operations"].append({"name": name, "priority": job["priority"]} | user)
            if job["node"]:
                standing = self._standing(job, (leaving or {}).get(name))
                more = {"node": job["node"], "preemptible": not job["protected"]}
                tables["allocations"].append(row | more | standing)
            elif job["state"] == "pending":
                tables["requests"].append(row)
        return eh.Snapshot.from_dict({"now": self.site.now, "resources": {"cpu": {}}} | tables)

    def _standing(self, job: Job, leaves_for: str | None) -> dict[str, Any]:
        if leaves_for:
            return {"state": "preempting", "beneficiary": {"operation": leaves_for}}
        return {"state": "suspended" if job["state"] == "suspended" else "running"}

    def look(self, names: Iterable[str]) -> dict[str, Standing]:
        self.before_look()
        return {name: self._stands(name) for name in names}

    def _stands(self, name: str) -> Standing:
        if name not in self.site.jobs:
            return Standing.gone(name)
        job = self.site.jobs[name]
        runs = job["state"] == "running"
        return Standing(name, job["state"], job["turn"], started=runs, owner=job["user"], held=job["held"])

    def action(self, mode: str | None) -> str:
        return self.evict

    def commands(self, action: str, name: str, reason: str) -> list[tuple[str, ...]]:
        return [] if action == "note" else [("sitectl", action, name)]

    def do(self, action: str, name: str, reason: str) -> Answer:
        if action == "note":
            return Answer("done")
        self.site.asked.append((action, name))
        return self.on[action, name]() if (action, name) in self.on else self.done(action, name)

    def done(self, action: str, name: str) -> Answer:
        if action == "suspend":
            self.site.set(name, state="suspended")
        elif action == "resume":
            self.site.set(name, state="running")
        elif action == "release":
            self.site.set(name, state="pending")
        elif action == "cancel":
            self.site.end(name)
        else:
            self.site.leave(name, "held" if action == "requeue_hold" else "pending")
        return Answer("done")

    def late(self, name: str, seconds: float = 3.0) -> None:
        """Let the eviction of a job be done so many seconds after it was asked for, without an answer."""

        def unanswered() -> Answer:
            self.site.later(seconds, lambda: self.done(self.evict, name))
            return Answer("unknown", "no answer")

        self.on[self.evict, name] = unanswered

    def room(self, name: str) -> bool:
        return True

    def keep(self, descriptor: int) -> None:
        pass


def acted(adapter: SiteAdapter, folder: Path, state: Any = None, **more: Any) -> Report | EvenhandError:
    """Act on a plan made now; the report, or what was raised."""
    plan = eh.plan(adapter.snapshot(), adapter.policy(), state)
    try:
        with driver_of(adapter, folder, **more) as driver:
            return driver.act(plan)
    except EvenhandError as error:
        return error


def driver_of(adapter: SiteAdapter, folder: Path, *, max_age: float = 60.0, **more: Any) -> Driver:
    """Return a driver with its journal and its lock in a folder."""
    timing = adapter.site.timing(max_age=max_age)
    return Driver(adapter, folder / "journal", lock=folder / "lock", timing=timing, **more)


def paid(adapter: SiteAdapter, folder: Path, seconds: float = 900.0) -> Driver:
    """Drivers that come by every 30 s and see to what is owed; the last one."""
    for _ in range(int(seconds) // 30):
        adapter.site.sleep(30.0)
        with driver_of(adapter, folder) as driver:
            pass
    return driver
