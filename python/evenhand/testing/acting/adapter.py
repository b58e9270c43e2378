"""The adapter of a made-up site: calls take their time, and commands and answers get lost."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evenhand.adapters.protocol import AdapterError, Answer, Standing
from evenhand.testing.acting.site import Event

if TYPE_CHECKING:
    from evenhand.model import Snapshot
    from evenhand.testing.acting.site import Job, Site

__all__ = ["SiteAdapter"]

_PATIENCE = 30.0  # seconds after which a command counts as unanswered
_LASTS = 60.0  # seconds for which a look at everything is good
_STALE = 3.0  # seconds that an answer may lie behind, at most


class SiteAdapter:
    """The adapter of a site; every call takes its time, and may be a driver's last.

    Parameters
    ----------
    site : Site
    evict : str
        How victims leave.
    identity : str
    written : callable
        How many lines the journal has on the disk.
    """

    name, whole, notices = "site", True, ()

    def __init__(self, site: Site, evict: str, identity: str, written: Callable[[], int]) -> None:
        self.site, self.evict, self.identity, self._written = site, evict, identity, written
        self.before: Callable[[], object] = lambda: None
        self._seen: dict[str, Job] = {}
        self._read = -_LASTS  # when all of it was

    def _answers(self) -> float:
        """Let a call take its time; return how far its answer lies behind."""
        self.before()
        site = self.site
        site.sleep(site.random.uniform(0.001, 0.2))
        if not site.faults:
            return 0.0
        if site.random.random() < 0.1:
            self._slow(8.0)
        if site.dark or site.random.random() < 0.03:
            site.sleep(site.random.choice([0.0, _PATIENCE]))
            raise AdapterError("the site does not answer")
        return site.random.uniform(0, _STALE) if site.random.random() < 0.2 else 0.0

    def _slow(self, most: float) -> None:
        """Let a call take long; people do something meanwhile."""
        seconds = self.site.random.uniform(1.0, most)
        if self.site.random.random() < 0.5:
            self.site.later(self.site.random.uniform(0, seconds), self.site.person)
        self.site.sleep(seconds)

    def policy(self, preset: str = "documented", **changes: Any) -> Any:
        """Return rules by which any more urgent job may preempt."""
        from evenhand.systems.backendai.policy import BackendAI

        return BackendAI(preset, **{"preemptors": "every", "preemption_mode": "reschedule", **changes})

    def snapshot(self, leaving: Mapping[str, str] | None = None) -> Snapshot:
        """Return what is, or was a moment ago."""
        age = self._answers()
        return self._shown(self.site.at(age), age, leaving)

    def follow(self, leaving: Mapping[str, str], about: Collection[str] | None = None) -> Snapshot:
        """Return the same by what has changed: nothing shows whether another job was protected meanwhile."""
        age = self._answers()
        found, now = dict(self.site.at(age)), self.site.steady
        if about is None or not 0.0 <= now - self._read < _LASTS:
            self._read = now
        else:
            for name, job in found.items():
                before = self._seen.get(name)
                if before is not None and name not in about:
                    found[name] = before if replace(before, protected=job.protected) == job else job
        self._seen = found
        return self._shown(found, age, leaving)

    def _shown(self, jobs: Mapping[str, Job], age: float, leaving: Mapping[str, str] | None) -> Snapshot:
        from evenhand.model import Snapshot

        now = self.site.clock() - age
        tables: dict[str, list[Any]] = {"operations": [], "allocations": [], "requests": []}
        for name, job in jobs.items():
            row = {"name": name, "operation": name, "resources": {"cpu": job.cpu}}
            tables["operations"].append({"name": name, "priority": job.priority, "user": job.user})
            if job.node is not None:
                whom = (leaving or {}).get(name)
                state = "preempting" if whom else "suspended" if job.state == "suspended" else "running"
                more = {"beneficiary": {"operation": whom}} if whom else {}
                protected = {"preemptible": not job.protected, "state": state}
                tables["allocations"].append({**row, "node": job.node, **protected, **more})
            elif job.state == "pending":
                tables["requests"].append(row)
        nodes = [{"name": name, "capacity": {"cpu": cpu}} for name, cpu in self.site.nodes.items()]
        return Snapshot.from_dict({"now": now, "resources": {"cpu": {}}, "nodes": nodes, **tables})

    def look(self, names: Iterable[str]) -> dict[str, Standing]:
        """Return how jobs stand, or stood a moment ago."""
        age = self._answers()
        jobs = self.site.at(age)
        self.site.eyed = list(names)
        for name in self.site.eyed:
            self.site.log.append(Event(self.site.steady, "looked", job=name, then=jobs.get(name)))
        return {name: _standing(name, jobs.get(name)) for name in self.site.eyed}

    def action(self, mode: str | None) -> str:
        """Return how victims leave, whatever the mode."""
        del mode
        return self.evict

    def commands(self, action: str, name: str, reason: str) -> list[tuple[str, ...]]:
        """Return what would be run."""
        del reason
        return [] if action == "note" else [("sitectl", action, name)]

    def do(self, action: str, name: str, reason: str) -> Answer:
        """Send a command; it may be refused, lost or late, and so may its answer."""
        del reason
        if action == "note":
            return Answer("done")
        self.before()
        site, draw = self.site, self.site.random
        site.note("asked", action, name, self._written())
        fate = draw.random() if site.faults else 1.0
        if site.faults and draw.random() < 0.3:
            site.later(draw.uniform(0, 40), site.person)
        if site.dark and site.faults:
            fate = 0.0
        if fate < 0.05:  # lost on its way
            site.sleep(_PATIENCE)
            return Answer("unknown", "no answer")
        if fate < 0.2:  # its answer is lost, and it may be late
            late = draw.choice([0.0, 1.0, 5.0, 45.0, 300.0, 5000.0])
            site.later(late, lambda: site.arrive(action, name))
            if late and draw.random() < 0.4:  # its node fails: that is why
                site.later(draw.uniform(0, min(late, 30.0)), lambda: site.fail(name))
            site.sleep(_PATIENCE)
            return Answer("unknown", "no answer")
        if fate < 0.3:  # done, it says, and a little later it is
            site.later(draw.uniform(0, 4), lambda: site.arrive(action, name))
            return Answer("done")
        if fate < 0.35:
            return Answer("refused", "not now")
        if fate < 0.4:
            site.arrive(action, name)
            return Answer("refused", "done, and taken for a failure")
        site.sleep(draw.uniform(0.001, 0.2))
        if fate > 0.75 and site.faults:
            self._slow(20.0)
        return Answer("done") if site.arrive(action, name) else Answer("refused", "it is not so")

    def room(self, name: str) -> bool:
        """Whether a suspended job has its room."""
        job = self.site.jobs[name]
        return job.node is not None and self.site.room(job.node) >= job.cpu

    def keep(self, descriptor: int) -> None:
        """No command is a process: none inherits a lock."""


def _standing(name: str, job: Job | None) -> Standing:
    if job is None:
        return Standing.gone(name)
    runs = job.state == "running"
    held = job.held_by == "person"
    return Standing(
        name, job.state, job.turn, started=runs or job.state == "suspended", owner=job.user, held=held
    )
