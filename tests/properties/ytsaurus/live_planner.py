"""The core's planner of YTsaurus, which follows events by names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenhand.building.readback import NO_TIME
from evenhand.cluster.events import Count, End, Event, Job, Leave, Node, Resize, Start, Time

__all__ = ["LivePlanner"]


def planner_of(policy: Any, snapshot: Any, state: Any = None) -> Any:
    """Return the core's planner of a YTsaurus policy: heartbeats and deltas one after the other."""
    return policy._planner(snapshot, state)[0]


class LivePlanner:
    """A planner that follows the events, by names."""

    def __init__(self, policy: Any, snapshot: Any, state: Any = None) -> None:
        self.core = planner_of(policy, snapshot, state)
        self.snapshot = snapshot
        self.now = snapshot._core.now
        self.names = [str(name) for name in snapshot.names("allocations")]
        fields = ("last_job_start_time", "last_progress_time")
        rows = (snapshot._core.column("allocations", field) for field in fields)
        self.times = [list(pair) for pair in zip(*rows, strict=True)]
        self.requests = [str(name) for name in snapshot.names("requests")]
        self.operations = [str(name) for name in snapshot.names("operations")]
        self.nodes = [str(name) for name in snapshot.names("nodes")]
        self.count = dict(enumerate(snapshot._core.column("requests", "count").tolist()))

    def happens(self, event: Event) -> None:
        core = self.core
        match event:
            case Time(now):
                self.now = round(now * 1e6)
            case Start(row, request):
                started = round(row["start_time"] * 1e6) if "start_time" in row else self.now
                place = (self.operations.index(row["operation"]), self.nodes.index(row["node"]))
                slot = core.start(*place, self.quanta(row["resources"]), started)
                saved = round(row["last_progress_time"] * 1e6) if "last_progress_time" in row else NO_TIME
                core.touch(slot, started, saved)
                self.names.append(row["name"])
                self.times.append([started, saved])
                if request is not None:
                    self.ask(request, self.count[self.requests.index(request)] - 1)
            case End(name):
                core.end(self.slot(name))
            case Leave(name, _, whom):
                whom = whom if isinstance(whom, Mapping) else {"request": whom}
                core.preempt(self.slot(name), *self.beneficiary(whom.get("operation"), whom.get("request")))
            case Job(name, started, saved):
                times = self.times[self.slot(name)]
                for i, time in enumerate((started, saved)):
                    times[i] = times[i] if time is None else round(time * 1e6)
                core.touch(self.slot(name), *times)
            case Resize(name, resources):
                core.resize(self.slot(name), self.quanta(resources))
            case Count(request, count):
                self.ask(request, count)
            case Node(name, _, schedulable):
                core.set_schedulable(self.nodes.index(name), schedulable)

    def ask(self, request: Any, count: int) -> None:
        row = self.requests.index(request)
        self.count[row] = count
        self.core.set_pending(row, count)

    def beneficiary(self, operation: Any, request: Any) -> tuple[int, int]:
        if request is not None:  # one that has gone is nobody's
            row = self.requests.index(request) if request in self.requests else -1
            return -1, row if row >= 0 and self.count[row] > 0 else -1
        return (self.operations.index(operation) if operation in self.operations else -1), -1

    def slot(self, name: Any) -> int:
        return len(self.names) - 1 - self.names[::-1].index(str(name))

    def quanta(self, resources: Mapping[str, Any]) -> list[int]:
        return [round(resources.get(name, 0) / quantum) for name, quantum in self.snapshot.quantum.items()]
