"""Drawn events, and the rows that they lead to when every one is written by hand."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import strategies as st

from evenhand import _core
from evenhand.building.readback import NO_TIME
from evenhand.cluster.columns import Listed
from evenhand.cluster.events import Count, End, Event, Job, Leave, Node, Put, Resize, Start, Take, Time
from evenhand.cluster.stage import Stage
from evenhand.plans.memory import read_memory
from evenhand.share_inputs import memory_of, options_of
from evenhand.systems.ytsaurus import columns


def cut(drawn: bytes) -> list[bytes]:
    """Return five bytes an event."""
    return [drawn[i : i + 5] for i in range(0, len(drawn) - 4, 5)]


codes = st.binary(max_size=200 * 5).map(cut)


@contextmanager
def no_event_is_plain() -> Iterator[None]:
    """Let the rules of tables carry out what the core does else: all that is not plain."""

    def happen(_: Listed, stage: Stage, *, recorded: bool) -> int:
        if not recorded:
            stage.forget()
        stage.mark()
        return 0

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Listed, "happen", happen)
        patch.setattr(Listed, "plain", lambda _, __, first: first)
        yield


class Rows:
    """A snapshot in the file format that is edited row by row."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data: dict[str, Any] = copy.deepcopy(dict(data))
        self.started = 0

    def table(self, name: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.data.setdefault(name, [])
        return rows

    def named(self, table: str, name: Any) -> dict[str, Any]:
        return next(row for row in self.table(table) if row["name"] == name)

    def events(self, drawn: list[bytes], kinds: tuple[str, ...] = ()) -> Iterator[Event]:
        """Yield events that are right when they come; the caller lets each happen here before the next."""
        for code in drawn:
            event = self.event(code)
            if event is not None and (not kinds or type(event).__name__ in kinds):
                yield event

    def event(self, code: bytes) -> Event | None:
        kind, which, a, b, c = code
        space = tuple(self.data["resources"])
        amounts = {name: number % 5 for name, number in zip(space, (a % 4 + 1, b, c, a), strict=False)}
        present = self.table("allocations")
        holding = [r for r in present if r.get("state", "running") in ("running", "suspended")]
        now = self.data.get("now", 0)
        match kind % 11:
            case 0:
                return Time(now + which / 8)
            case 1 | 2:
                return self.start(code, amounts, now)
            case 3 if present:
                return End(present[which % len(present)]["name"])
            case 4 if holding:
                row = holding[which % len(holding)]
                whom = (
                    {"operation": f"o{b}", "request": f"r{c % 9}"}
                    if b % 2
                    else f"r{c % 9}"
                    if c % 2
                    else None
                )
                return Leave(row["name"], now + a if a % 2 else None, whom)
            case 5 if present:
                row = present[which % len(present)]
                return Job(row["name"], now - a % 16 if b % 2 else None, now - c % 16 if c % 2 else None)
            case 6 if holding:
                return Resize(holding[which % len(holding)]["name"], amounts)
            case 7 if self.table("requests"):
                requests = self.table("requests")
                return Count(requests[which % len(requests)]["name"], a % 4)
            case 8:
                nodes = self.table("nodes")
                size = {name: 3 * n for name, n in amounts.items()} if a % 2 else None
                return Node(nodes[which % len(nodes)]["name"], size, bool(b % 4) if c % 2 else None)
            case 9:
                operations = self.table("operations")
                names = {row["name"] for row in self.table("requests")}
                row = {
                    "operation": operations[a % len(operations)]["name"],
                    "resources": amounts,
                    "count": b % 3 + 1,
                }
                name = next(f"q{i}" for i in range(300) if f"q{i}" not in names)
                return Put("requests", {"name": name, **row, **({"priority": 3} if c % 2 else {})})
        return None

    def start(self, code: bytes, amounts: dict[str, Any], now: float) -> Event | None:
        kind, which, a, b, c = code
        node = self.table("nodes")[b % len(self.table("nodes"))]["name"]
        row: dict[str, Any] = {"name": f"z{self.started:06d}", "node": node}
        if kind % 2 and self.table("requests"):
            request = self.table("requests")[which % len(self.table("requests"))]
            row |= {"operation": request["operation"], "resources": request.get("resources", {})}
            return Start(row, request["name"])
        operation = self.table("operations")[which % len(self.table("operations"))]["name"]
        row |= {"operation": operation, "resources": amounts}
        if c % 3 == 0:
            row["start_time"] = now - a
        if c % 5 == 0:
            row["last_progress_time"] = now - 1
        return Start(row)

    def happens(self, event: Event) -> None:
        """Edit the rows."""
        match event:
            case Time(now):
                self.data["now"] = now
            case Start(row, request):
                self.started += 1
                self.table("allocations").append({"start_time": self.data["now"], **row})
                if request is not None:
                    self.count(request, self.named("requests", request).get("count", 1) - 1)
            case End(name):
                self.table("allocations").remove(self.named("allocations", name))
            case Leave(name, deadline, whom):
                told = {"state": "preempting", "deadline": deadline, "beneficiary": whom}
                row = self.named("allocations", name)
                row.pop("held", None)
                row |= told
            case Take(name, resources):
                self.named("allocations", name).setdefault("settings", {})["room_taken"] = resources
            case Job(name, started, saved):
                row = self.named("allocations", name)
                times = {"last_job_start_time": started, "last_progress_time": saved}
                row |= {field: time for field, time in times.items() if time is not None}
            case Resize(name, resources):
                self.named("allocations", name)["resources"] = resources
            case Count(request, count):
                self.count(request, count)
            case Node(name, capacity, schedulable):
                cells = {"capacity": capacity, "schedulable": schedulable}
                row = self.named("nodes", name)
                row |= {field: cell for field, cell in cells.items() if cell is not None}
            case Put(table, row):
                self.table(table).append(dict(row))

    def count(self, request: Any, count: int) -> None:
        row = self.named("requests", request)
        if count:
            row["count"] = count
        else:
            self.table("requests").remove(row)


def planner_of(policy: Any, snapshot: Any, state: Any = None) -> Any:
    """Return the core's planner of a YTsaurus policy: heartbeats and deltas one after the other."""
    settings = policy.settings
    volumes = None if state is None else memory_of(snapshot, settings.fair_share, state)[0]
    return _core.ytsaurus_planner(
        snapshot._core,
        columns.tree_settings(snapshot, settings),
        options_of(snapshot, settings.fair_share)[0],
        columns.row_columns(snapshot, settings),
        read_memory(snapshot, policy, state)[0],
        volumes,
        {},
    )


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
