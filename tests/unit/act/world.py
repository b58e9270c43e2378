"""A cluster, a driver that may be killed, and what must hold afterwards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import evenhand as eh
from evenhand.act import Caps, Driver, Timing
from evenhand.act.journal import Journal, read
from evenhand.adapters.protocol import EVICTIONS, AdapterError
from evenhand.systems.slurm.adapter.live import Slurm
from tests.unit.act.faults import Fault, Faults
from tests.unit.act.scripted import Scripted
from tests.unit.act.slurm.cluster import Clock, FakeSlurm, job

JOBS = [
    job(1, 2, node="n1", user="ann", uid=1000),
    job(2, 2, node="n1", user="bob", uid=1001),
    job(3, 4, node="n2", user="ann", uid=1000),
    job(4, 1, node="n3", user="cyd", uid=1002),
    job(5, 3, node="n3", user="cyd", uid=1002),
    job(8, 3, priority=90, user="dan", uid=1003),
    job(9, 4, priority=100, user="eve", uid=1004),
]
NODES = {"n1": 4, "n2": 4, "n3": 4}


class Killed(BaseException):
    """A driver dies here."""


class World:
    """A fake cluster, and drivers on it."""

    def __init__(
        self,
        folder: Path,
        jobs: list[dict[str, Any]] | None = None,
        faults: Mapping[int, Fault] | None = None,
        **options: Any,
    ) -> None:
        self.clock = Clock()
        self.cluster = FakeSlurm(self.clock, NODES, jobs or JOBS)
        self.faults = Faults(self.cluster, dict(faults or {}), self._die)
        self.options: dict[str, Any] = options
        self.journal, self.lock = folder / "journal", folder / "lock"
        self.policy = Scripted(mode=options.pop("mode", "requeue"))
        self.messages: list[str] = []

    def _die(self) -> None:
        raise Killed

    def timing(self, **more: float) -> Timing:
        values: dict[str, Any] = {"start": 20.0, "settle": 3.0, "poll": 1.0} | more
        return Timing(clock=self.clock, sleep=self.clock.sleep, **values)

    def adapter(self) -> Slurm:
        adapter = Slurm(runner=self.faults, clock=self.clock, **self.options)
        adapter.identity = "fake"
        return adapter

    def driver(self, **more: Any) -> Driver:
        more = {"timing": self.timing(), "caps": Caps(None, None, None, None)} | more
        return Driver(self.adapter(), self.journal, lock=self.lock, **more)

    def round(self) -> bool:
        """One driver, one plan; whether it came to its end."""
        try:
            with self.driver() as driver:
                driver.act(eh.plan(driver.snapshot(), self.policy))
        except Killed:
            self.messages.append("killed")
            return False
        except AdapterError as error:
            self.messages.append(str(error))
            return False
        return True

    def calm(self, rounds: int = 8) -> None:
        """No fault any more; drivers go on until nothing is open."""
        self.faults.arrive()
        self.faults._schedule.clear()
        for _ in range(rounds):
            self.clock.now += 61.0
            with self.driver() as driver:
                book = driver.book
            if not book.open and not book.owed:
                break
            self.clock.now += 300.0

    def check(self) -> None:
        """No job is lost, doubled or held; the journal is whole and says what was done and why."""
        lines = read(self.journal)
        assert not any("\n" in message for message in self.messages)
        with self.driver() as driver:
            assert not driver.book.open
            assert not driver.book.owed, driver.book.owed
        holds(self.cluster, lines)


def holds(cluster: FakeSlurm, lines: list[dict[str, Any]]) -> None:
    """No job is lost, doubled or held; every eviction was written down first, every step has its end."""
    jobs = cluster.jobs
    assert len(jobs) == len({j["id"] for j in jobs.values()})
    for name, j in jobs.items():
        assert j["state"] in ("RUNNING", "COMPLETED", "PENDING"), (name, j)
        assert j["priority"] > 0, f"{name} is held"
    asked = Counter(x["job"] for x in lines if x["kind"] == "intent" and x["action"] in EVICTIONS)
    done = Counter(name for what, name, _ in cluster.events if what == "evict")
    assert all(done[name] <= asked[name] for name in done), (done, asked)
    steps = {x["step"]: x for x in lines if x["kind"] == "step"}
    ends = {x["step"]: x for x in lines if x["kind"] == "end"}
    per_step = Counter((x["step"], x["job"], x["action"]) for x in lines if x["kind"] == "intent")
    again = ("release", "resume", "note")  # which change nothing the second time; a note is taken back
    assert all(count == 1 for (_, _, action), count in per_step.items() if action not in again)
    assert set(steps) == set(ends)
    started = {name for what, name, _ in cluster.events if what == "start"}
    for number, end in ends.items():
        assert end["why"]
        if end["outcome"] == "started":
            assert steps[number]["beneficiary"] in started


def appends(monkeypatch: Any, die_at: int, *, after: bool) -> list[int]:
    """Let the n-th line of a journal be the last thing that a driver does (or the first that it does not)."""
    count = [0]
    plain = Journal._write

    def write(self: Journal, line: dict[str, Any]) -> None:
        count[0] += 1
        if count[0] == die_at and not after:
            raise Killed
        plain(self, line)
        if count[0] == die_at:
            raise Killed

    monkeypatch.setattr(Journal, "_write", write)
    return count
