"""A made-up site: nodes, jobs and people, commands that arrive when they will, and a log of all of it."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import Any

from evenhand.adapters.protocol import EVICTIONS, State

__all__ = ["FORGET", "POLL", "Event", "Job", "Site"]

#: Seconds between two looks of its drivers, and after which a command that never showed counts as lost.
POLL, FORGET = 1.0, 600.0

_BEGIN = 1_700_000_000.0


@dataclass(frozen=True, slots=True)
class Job:
    """How a job stands in truth.

    Attributes
    ----------
    cpu, priority, user
        What it asks for, and whose it is.
    state : str
        ``"pending"``, ``"held"``, ``"running"``, ``"suspended"`` or ``"ended"``.
    node : str or None
    turn : int
        How often it went back to the queue.
    held_by : str
        Whose hold is on it: ``""``, ``"person"`` or ``"command"``; also while it runs, for its next turn.
    protected : bool
    """

    cpu: int
    priority: int
    user: str
    state: State = "pending"
    node: str | None = None
    turn: int = 0
    held_by: str = ""
    protected: bool = False


@dataclass(frozen=True, slots=True)
class Event:
    """A line of the site's log.

    Attributes
    ----------
    at : float
        Seconds, by a clock that is never set.
    kind : str
        ``"asked"`` (a command was sent), ``"arrived"``, ``"looked"``, ``"started"``, ``"person"``,
        ``"driver"`` (one begins), ``"killed"``.
    what : str
        The action, or the deed.
    job : str
    then : Job or None
        How it stood, or, of a look, how it was shown.
    written : int
        Of a command: how many lines the journal had on the disk.
    """

    at: float
    kind: str
    what: str = ""
    job: str = ""
    then: Job | None = None
    written: int = 0


class Site:
    """Nodes and jobs of which one knows all.

    Parameters
    ----------
    random : random.Random
        Draws everything that is not settled by the rules.
    faults : bool
        Whether commands and answers may go wrong, and people use the site.

    Attributes
    ----------
    steady : float
        Seconds by a clock that is never set; `clock` is the one on the wall.
    log : list of Event
    full, dark : bool
        Whether the journal's disk is full, and whether nothing is answered.
    eyed : list of str
        The jobs of the last look.
    before_write : callable
        Called before every write to the journal.
    """

    def __init__(self, random: Random, *, faults: bool = True) -> None:
        self.random, self.faults = random, faults
        self.steady, self.ahead = 0.0, _BEGIN
        self.full = self.dark = False
        self.eyed: list[str] = []
        self.before_write: Callable[[], object] = lambda: None
        self.log: list[Event] = []
        self.jobs: dict[str, Job] = {}
        self.nodes: dict[str, int] = {}
        self._past: list[tuple[float, dict[str, Job]]] = []
        self._due: list[tuple[float, int, Callable[[], object]]] = []
        self._order = itertools.count()
        self._draw()
        self.start()

    def _draw(self) -> None:
        draw = self.random
        self.nodes = {f"n{number}": 4 for number in range(draw.randint(2, 4))}
        users, most = draw.choice(["u", "uvw", "uvw"]), draw.choice([1, 2, 2, 4])
        for node in self.nodes:
            left = 4
            while left:
                cpu = draw.randint(1, min(left, most))
                job = Job(cpu, draw.randint(1, 5), draw.choice(users), "running", node)
                self.jobs[f"low{len(self.jobs)}"] = job
                left -= cpu
        for number in range(draw.randint(2, 4)):
            self.jobs[f"high{number}"] = Job(draw.randint(2, 4), draw.randint(10, 20), draw.choice(users))
        self._keep()

    # Time

    def clock(self) -> float:
        """Return what the clock on the wall says."""
        return self.steady + self.ahead

    def later(self, seconds: float, deed: Callable[[], object]) -> None:
        """Let something happen when so many seconds have passed."""
        heapq.heappush(self._due, (self.steady + seconds, next(self._order), deed))

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        end = self.steady + seconds
        while self._due and self._due[0][0] <= end:
            at, _, deed = heapq.heappop(self._due)
            self.steady = max(self.steady, at)
            deed()
            self.start()
        self.steady = max(self.steady, end)
        self.start()

    @property
    def waits(self) -> bool:
        """Whether something is still to happen."""
        return bool(self._due)

    # Jobs

    def note(self, kind: str, what: str = "", job: str = "", written: int = 0) -> None:
        """Write a line of the log."""
        self.log.append(Event(self.steady, kind, what, job, self.jobs.get(job), written))

    def change(self, name: str, **more: Any) -> None:
        """Change a job."""
        self.jobs[name] = replace(self.jobs[name], **more)
        self._keep()

    def _keep(self) -> None:
        self._past.append((self.steady, dict(self.jobs)))

    def at(self, age: float) -> dict[str, Job]:
        """Return all jobs as they were so many seconds ago."""
        found = self._past[0][1]
        for at, jobs in self._past:
            if at > self.steady - age:
                break
            found = jobs
        return found

    def room(self, node: str) -> int:
        """Return how many cpus of a node no running job has."""
        taken = sum(j.cpu for j in self.jobs.values() if j.node == node and j.state == "running")
        return self.nodes[node] - taken

    def start(self) -> None:
        """Start what waits and fits, the most urgent first, as the site does by itself."""
        waiting = [name for name, job in self.jobs.items() if job.state == "pending"]
        for name in sorted(waiting, key=lambda name: (-self.jobs[name].priority, name)):
            node = next((n for n in self.nodes if self.room(n) >= self.jobs[name].cpu), None)
            if node is not None:
                self.change(name, state="running", node=node)
                self.note("started", job=name)

    def back(self, name: str, held_by: str = "") -> None:
        """Send a job back to the queue."""
        job = self.jobs[name]
        hold = held_by or job.held_by
        state = "held" if hold else "pending"
        self.change(name, state=state, node=None, turn=job.turn + 1, held_by=hold)

    def arrive(self, action: str, name: str) -> bool:
        """Carry a command out, as far as the job lets it; whether it did anything."""
        job = self.jobs[name]
        self.note("arrived", action, name)
        if action in EVICTIONS and job.state not in ("running", "suspended"):
            return False
        if action == "requeue_hold":
            self.back(name, job.held_by or "command")
        elif action == "suspend":
            self.change(name, state="suspended")
        elif action == "release" and job.state == "held":
            self.change(name, state="pending", held_by="")
        elif action == "resume" and job.state == "suspended":
            self.change(name, state="running")
        else:
            return False
        return True

    # People

    def person(self) -> None:
        """Let a person do something."""
        draw = self.random
        # People look after the jobs that the driver looks at: that is when they meet.
        name = draw.choice(self.eyed if self.eyed and draw.random() < 0.7 else sorted(self.jobs))
        job, deeds = self.jobs[name], ["cancel", "protect", "urgent"]
        if job.state == "running":
            deeds += ["end", "hold", "suspend", "fail", "fail"]
        elif job.state == "pending":
            deeds += ["hold"]
        deed = draw.choice(deeds)
        if job.state == "ended":
            return
        self.note("person", deed, name)
        if deed in ("cancel", "end"):
            self.change(name, state="ended", node=None)
        elif deed == "protect":
            self.change(name, protected=not job.protected)
        elif deed == "urgent":
            self.change(name, priority=draw.randint(1, 20))
        elif deed == "suspend":
            self.change(name, state="suspended")
            self.later(draw.uniform(5, 100), lambda: self._resume(name))
        elif deed == "fail":
            self.fail(name)
        elif not job.held_by:
            self.change(name, held_by="person", state="held" if job.state == "pending" else job.state)

    def fail(self, name: str) -> None:
        """Let the node of a job fail: it goes back to the queue by itself."""
        if self.jobs[name].state == "running":
            self.back(name)

    def _resume(self, name: str) -> None:
        """Let a person take back the suspension of a job."""
        if self.jobs[name].state == "suspended":
            self.note("person", "resume", name)
            self.change(name, state="running")

    def trouble(self, seconds: float) -> None:
        """Draw what people do in so many seconds, when nothing is answered, and when the clock is set."""
        draw = self.random
        for _ in range(draw.randrange(6)):
            self.later(draw.uniform(0, seconds), self.person)
        for switch in ("dark", "full"):
            if draw.random() < 0.2:
                begin = draw.uniform(0, seconds)
                self.later(begin, partial(setattr, self, switch, True))
                self.later(begin + draw.choice([2.0, 20.0, 200.0]), partial(setattr, self, switch, False))
        if draw.random() < 0.1:
            self.later(draw.uniform(0, seconds), self._set)

    def _set(self) -> None:
        self.note("person", "sets the clock")
        self.ahead += self.random.choice([-7200.0, -30.0, 30.0, 7200.0])

    def make_room(self) -> None:
        """Let jobs end whose room a suspended one needs."""
        for job in list(self.jobs.values()):
            if job.state != "suspended" or job.node is None or self.room(job.node) >= job.cpu:
                continue
            for other in [n for n, j in self.jobs.items() if j.state == "running" and j.node == job.node]:
                self.note("person", "end", other)
                self.change(other, state="ended", node=None)

    def calm(self) -> None:
        """Let no more go wrong from now on; what was sent may yet arrive."""
        self.faults = self.dark = self.full = False
