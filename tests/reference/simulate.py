"""A simulation in plain Python: a live cluster, asked at every tick of the clock. Slow and readable."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import evenhand as eh
from evenhand.cluster.events import Count, End, Event, Leave, Node, Put, Remove, Resume, Start, Suspend
from evenhand.cluster.steps import events_of
from evenhand.config.triggers import Cycle, Heartbeat, SchedulingRun
from evenhand.simulate import Workload

SECOND = 1_000_000
OWN = ("run_time", "checkpoint_every", "cut_off", "replica", "whole")
# In the order in which they happen at one instant.
ENDS, NODES, GRACES, AGAIN, SAVES, ARRIVALS, UPDATES, DECISIONS = range(8)


@dataclass
class Run:
    """A run of an allocation on a node."""

    name: str
    request: str
    operation: str
    node: str
    start: int
    done: int = 0
    saved: int = 0
    began: int | None = None
    end: int | None = None
    outcome: str = "running"
    kept: int = 0
    fate: str = "gone"
    amounts: dict[str, float] = field(default_factory=dict)

    def said(self) -> tuple[Any, ...]:
        """What a result says of it, too."""
        return (self.request, self.node, self.start, self.began, self.end, self.outcome, self.kept)


class Reference:
    """One simulation.

    Parameters
    ----------
    snapshot : Snapshot
        Nodes and pools; nothing runs or waits there.
    policy, workload
    clocks : mapping of str to float
        As for `evenhand.simulate`.
    """

    def __init__(
        self, snapshot: eh.Snapshot, policy: Any, workload: Workload, clocks: Mapping[str, float]
    ) -> None:
        self.cluster = eh.Cluster(snapshot, policy)
        self.policy = policy
        self.clocks = {name: round(s * SECOND) for name, s in {**policy.CLOCKS, **clocks}.items()}
        self.begin = self.now = round(snapshot.now * SECOND)
        self.nodes = list(map(str, snapshot.names("nodes")))
        self.capacity = {str(row["name"]): dict(row["capacity"]) for row in snapshot.to_dict()["nodes"]}
        self.room = {name: dict(amounts) for name, amounts in self.capacity.items()}
        self.held: dict[str, list[Run]] = {name: [] for name in self.nodes}
        self.waiting: dict[str, list[Run]] = {name: [] for name in self.nodes}
        self.leaving: set[str] = set()
        self.runs: list[Run] = []
        self.live: dict[str, Run] = {}
        self.kept: dict[str, list[int]] = {}
        self.events: list[tuple[int, int, int, Any]] = []
        self.pushed = 0
        self.changed = False  # by an event that a pass follows
        self.serial = 0
        self.by_allocation = policy.system in ("ytsaurus", "yunikorn")  # their unit
        self.read(workload)

    def read(self, workload: Workload) -> None:
        """Take over what comes."""
        table, operations = workload.table(), workload.operations()
        self.asked: dict[str, dict[str, Any]] = {}
        self.owners = {}
        for i, name in enumerate(operations["name"]):
            self.owners[name] = nested({c: cell(operations, c, i) for c in operations.columns})
        order = sorted(range(len(table)), key=lambda i: str(table["name"][i]))
        for i in sorted(order, key=lambda i: table["submit_time"][i]):
            row = nested({c: cell(table, c, i) for c in table.columns})
            own = {key: row.pop(key, None) for key in OWN}
            self.asked[row["name"]] = {"row": row, **own, "open": row.get("count", 1), "pending": 0}
            self.push(max(round(row["submit_time"] * SECOND), self.begin), ARRIVALS, row["name"])
        self.to_come = dict.fromkeys(self.owners, 0)
        for asked in self.asked.values():
            self.to_come[asked["row"]["operation"]] += 1
        happens = workload.node_events()
        for i in range(len(happens) if happens.columns else 0):
            event = {c: cell(happens, c, i) for c in happens.columns}
            self.push(max(round(event["time"] * SECOND), self.begin), NODES, event)

    def push(self, time: int, phase: int, what: Any) -> None:
        """Let something happen later."""
        heapq.heappush(self.events, (time, phase, self.pushed, what))
        self.pushed += 1

    def apply(self, *events: Event) -> None:
        """Change the cluster."""
        self.serial += 1
        self.cluster.apply(list(events))

    def run(self, until: float) -> list[Run]:
        """Let time go by, tick by tick."""
        last = round(until * SECOND)
        for time, phase in self.ticks(last):
            self.until(time, phase)
            if phase == UPDATES:
                self.go_to(time)
                self.cluster.update()
            else:
                self.decide(time)
        self.until(last, DECISIONS)
        return self.runs

    def ticks(self, last: int) -> Any:
        """Yield the instants at which the policy is asked."""
        raise NotImplementedError

    def until(self, time: int, phase: int) -> None:
        """Let happen what happens before a phase of an instant."""
        while self.events and self.events[0][:2] < (time, phase):
            at, which, _, what = heapq.heappop(self.events)
            self.go_to(at)
            self.happen(which, what)

    def go_to(self, time: int) -> None:
        if time != self.now:
            self.now = time
            self.apply(eh.cluster.events.Time(time / SECOND))

    def happen(self, phase: int, what: Any) -> None:
        """One event."""
        count = self.serial
        self.one(phase, what)
        self.changed |= phase == NODES or self.serial != count

    def one(self, phase: int, what: Any) -> None:
        if phase == ENDS and self.runs_on(what):
            self.end(what, "completed")
        elif phase == GRACES and self.runs_on(what):
            self.end(what, "aborted")
        elif phase == NODES:
            self.node_event(what)
        elif phase == AGAIN:
            self.count(what, 1)
        elif phase == SAVES and self.runs_on(what):
            self.apply(eh.cluster.events.Job(what.name, last_progress_time=self.now / SECOND))
            self.push(self.now + self.every(what), SAVES, what)
        elif phase == ARRIVALS:
            self.arrive(what)

    def runs_on(self, run: Run) -> bool:
        return self.live.get(run.name) is run and run.outcome == "running"

    def arrive(self, name: str) -> None:
        asked = self.asked[name]
        operation = asked["row"]["operation"]
        if not self.has("operations", operation):
            self.apply(Put("operations", self.owners[operation]))
        self.apply(Put("requests", asked["row"]))
        asked["pending"] = asked["row"].get("count", 1)

    def count(self, name: str, more: int) -> None:
        asked = self.asked[name]
        asked["pending"] += more
        if self.has("requests", name):
            self.apply(Count(name, asked["pending"]))
        else:  # a live cluster drops one of which nothing waits
            self.apply(Put("requests", {**asked["row"], "count": asked["pending"]}))

    def has(self, table: str, name: str) -> bool:
        return bool(self.cluster._stage.find(table, name) >= 0)

    def node_event(self, event: Mapping[str, Any]) -> None:
        name, word = event["node"], event["event"]
        if word == "capacity":
            given = {
                k.partition(".")[2]: v
                for k, v in event.items()
                if k.startswith("capacity.") and v is not None
            }
            self.capacity[name] |= given
            self.room[name] = dict(self.capacity[name])
            self.apply(Node(name, self.room[name]))
            self.begin_waiting(name)
        elif word == "up":
            self.room[name] = dict(self.capacity[name])
            self.apply(Node(name, self.room[name], True))
        elif word == "drain":
            self.apply(Node(name, None, False))
        else:
            self.apply(Node(name, None, False))
            gone = [run for run in self.live.values() if run.node == name]
            if not self.by_allocation:
                jobs = {run.operation for run in gone}
                gone = [run for run in self.live.values() if run.operation in jobs]
            wholes = {run.request for run in gone if self.asked[run.request]["whole"] and self.by_allocation}
            gone += [run for run in self.live.values() if run.request in wholes and run not in gone]
            for run in sorted(gone, key=self.runs.index):
                self.end(run, "lost_node")
            self.room[name] = dict.fromkeys(self.room[name], 0)
            self.apply(Node(name, self.room[name]))

    # --- allocations

    def every(self, run: Run) -> int:
        return round(self.asked[run.request]["checkpoint_every"] * SECOND)

    def progress(self, run: Run) -> int:
        if run.outcome == "suspended":
            return run.kept  # its processes stand still, also when their node goes down later
        return run.done + (0 if run.began is None else self.now - run.began)

    def track(self, run: Run) -> None:
        self.runs.append(run)
        self.live[run.name] = run
        self.waiting[run.node].append(run)
        self.begin_waiting(run.node)

    def begin_waiting(self, node: str) -> None:
        leaves = any(run.name in self.leaving for run in self.live.values() if run.node == node)
        for run in list(self.waiting[node]):
            used = {r: sum(other.amounts.get(r, 0) for other in self.held[node]) for r in run.amounts}
            fits = all(a == 0 or used[r] + a <= self.room[node].get(r, 0) for r, a in run.amounts.items())
            if fits or not leaves:
                self.waiting[node].remove(run)
                self.begin_work(run)

    def begin_work(self, run: Run) -> None:
        run.began = self.now
        self.held[run.node].append(run)
        asked = self.asked[run.request]
        if asked["run_time"] is not None:
            self.push(self.now + max(round(asked["run_time"] * SECOND) - run.done, 0), ENDS, run)
        saves = self.policy.system == "ytsaurus" and self.policy.settings.order_key == "last_progress"
        if saves and asked["checkpoint_every"] is not None:
            self.push(self.now + self.every(run) - run.done % self.every(run), SAVES, run)

    def end(self, run: Run, outcome: str) -> None:
        asked = self.asked[run.request]
        done = outcome == "completed"
        if outcome == "aborted" and run.began is None:
            outcome = "preempted"
        fate = "gone" if done else "again" if outcome == "lost_node" else run.fate
        again = not done and (fate != "gone" or bool(asked["replica"]))
        so_far = self.progress(run)
        run.kept = so_far if done else run.saved
        if not done and asked["checkpoint_every"] is not None:
            run.kept = max(run.saved, so_far // self.every(run) * self.every(run))
        if run.outcome == "running":
            run.end, run.outcome = self.now, outcome
        if run in self.held[run.node]:
            self.held[run.node].remove(run)
        if run in self.waiting[run.node]:
            self.waiting[run.node].remove(run)
        self.leaving.discard(run.name)
        del self.live[run.name]
        self.apply(End(run.name))
        self.begin_waiting(run.node)
        if again:
            self.kept.setdefault(run.request, []).append(run.kept)
            delay = self.clocks.get("requeue_delay", 0)
            if delay:
                self.push(self.now + delay, AGAIN, run.request)
            else:
                self.count(run.request, 1)
        else:
            asked["open"] -= 1
            if asked["open"] == 0:
                if self.has("requests", run.request):
                    self.apply(Remove("requests", run.request))
                self.to_come[run.operation] -= 1
                if self.to_come[run.operation] == 0:
                    self.apply(Remove("operations", run.operation))
        if outcome in ("preempted", "aborted") and asked["whole"] and self.by_allocation:
            for other in sorted(self.parts(run), key=self.runs.index):
                other.fate = run.fate
                self.end(other, "lost_part")

    def parts(self, run: Run) -> list[Run]:
        """Return what else runs of a request."""
        every = self.live.values()
        return [one for one in every if one.request == run.request and one.outcome == "running"]

    # --- decisions

    def carry_out(self, plan: Any) -> None:
        """Change the cluster as a plan says, names in the order of starting."""
        events = events_of(plan, self.cluster._stage)
        assert events is not None
        decisions = list(plan.decisions)
        victims = [d for d in decisions if d.action == "preempt"]
        for event in events:
            if isinstance(event, Start):
                self.start(event)
            elif isinstance(event, Suspend):
                self.suspend(event)
            elif isinstance(event, Resume):
                self.resume(event)
            elif not (isinstance(event, Put) and event.row.get("soft")):
                self.apply(event)
                if isinstance(event, Leave):
                    self.leaving.add(str(event.allocation))
                    d = next(d for d in victims if str(d.allocation) == str(event.allocation))
                    if d.mode == "suspend" and d.until is None:  # nothing says how long it takes
                        self.suspend(Suspend(event.allocation, d.kept or {}))
        for d in victims:
            if d.mode in ("preempt", "enhanced_suspend", "suspend"):
                continue
            if str(d.allocation) not in self.live:  # with another part of it
                continue
            run = self.live[str(d.allocation)]
            run.fate = "gone" if d.mode == "terminate" else "again"
            left = self.now if d.until is None else round(d.until * SECOND)
            if left > self.now and run.began is not None:
                self.push(left, GRACES, run)
            else:
                self.end(run, "preempted")

    def start(self, event: Start) -> None:
        request = str(event.request)
        asked = self.asked[request]
        name = f"{request}#{len(self.runs)}"
        row = {**event.row, "name": name, "order": len(self.runs), "start_time": self.now / SECOND}
        limit = asked["row"].get("duration")
        if limit is not None and self.policy.system in ("slurm", "gridengine"):
            row["planned_end"] = self.now / SECOND + limit
        self.apply(Start(row, event.request))
        asked["pending"] -= 1
        kept = self.kept.get(request) or [0]
        run = Run(name, request, str(row["operation"]), str(row["node"]), self.now, kept.pop(0))
        run.saved = run.done
        run.amounts, run.kept = dict(row.get("resources", {})), run.done
        self.track(run)

    def suspend(self, event: Suspend) -> None:
        run = self.live[str(event.allocation)]
        run.kept = self.progress(run)
        run.end, run.outcome = self.now, "suspended"
        for of in (self.held, self.waiting):
            if run in of[run.node]:
                of[run.node].remove(run)
        self.leaving.discard(run.name)
        self.apply(event)
        self.begin_waiting(run.node)

    def resume(self, event: Resume) -> None:
        before = self.live[str(event.allocation)]
        self.apply(event)
        limit = self.asked[before.request]["row"].get("duration")
        if limit is not None and self.policy.system in ("slurm", "gridengine"):
            # Time that it was stopped is no run time: of its limit there is what it has not run.
            rows = self.cluster.snapshot().to_dict()["allocations"]
            row = next(row for row in rows if row["name"] == before.name)
            row["planned_end"] = (self.now - before.kept) / SECOND + limit
            self.apply(Put("allocations", row))
        where = before.node if event.node is None else str(event.node)
        run = Run(before.name, before.request, before.operation, where, self.now, before.kept)
        run.amounts, run.kept, run.saved = before.amounts, before.kept, before.saved
        self.live[run.name] = run
        self.runs.append(run)
        self.begin_work(run)

    def decide(self, time: int) -> None:
        raise NotImplementedError


class YTsaurus(Reference):
    """Heartbeats on their grid, and an update at each tick of its own."""

    def ticks(self, last: int) -> Any:
        period, second = self.clocks["heartbeat_period"], self.policy.period
        update, turn = self.begin, 0
        while True:
            of, node = divmod(turn, len(self.nodes))
            beat = self.begin + of * period + node * period // len(self.nodes)
            while update <= min(beat, last):
                yield update, UPDATES
                update += second
            if beat > last:
                return
            self.node = self.nodes[node]
            yield beat, DECISIONS
            turn += 1

    def decide(self, time: int) -> None:
        self.go_to(time)
        plan = self.cluster.plan(on=Heartbeat(self.node))
        if len(plan.decisions):
            self.carry_out(plan)


class Cycles(Reference):
    """Both cycles at ticks, whatever has happened since."""

    def ticks(self, last: int) -> Any:
        for time in range(self.begin, last + 1, self.clocks["preemption_interval"]):
            yield time, DECISIONS

    def decide(self, time: int) -> None:
        self.go_to(time)
        plan = self.cluster.plan(on=Cycle("both"))
        if len(plan.decisions):
            self.carry_out(plan)


class Runs(Reference):
    """Passes over the queue: at ticks and, of Slurm, after whatever happens; backfill at its own ticks."""

    def run(self, until: float) -> list[Run]:
        last = round(until * SECOND)
        slurm = self.policy.system == "slurm"
        period = self.clocks["sched_interval" if slurm else "schedule_interval"]
        backfills = slurm and self.policy.settings.SchedulerType == "sched/backfill"
        main, backfill = self.begin, self.begin if backfills else None
        passed: int | None = None
        while True:
            due = min(time for time in (main, backfill) if time is not None)
            if self.events and self.events[0][0] <= min(due, last):
                time = self.events[0][0]
                before = len(self.events) + self.pushed
                self.until(time, DECISIONS)
                assert len(self.events) + self.pushed != before
                if slurm and self.changed:
                    main = min(main, time if passed is None else max(time, passed + 2))
                self.changed = False
                continue
            if due > last:
                self.go_to(last)
                return self.runs
            self.go_to(due)
            passes = tuple(name for name, at in (("main", main), ("backfill", backfill)) if at == due)
            plan = self.cluster.plan(on=SchedulingRun(passes)) if slurm else self.cluster.plan()
            if main == due:
                passed = due
                main = self.begin + ((due - self.begin) // period + 1) * period
            if backfill == due:
                backfill += self.clocks["bf_interval"]
            if len(plan.decisions):
                self.carry_out(plan)
                if slurm:
                    main = min(main, due if passed is None else max(due, passed + 2))
            self.changed = False


def reference(snapshot: eh.Snapshot, policy: Any, workload: Any, until: float, clocks: Any) -> list[Run]:
    """Return the runs of allocations in the order in which they started."""
    kinds: dict[str, type[Reference]] = {
        "ytsaurus": YTsaurus,
        "slurm": Runs,
        "backendai": Runs,
        "yunikorn": Cycles,
        "gridengine": Runs,
    }
    return kinds[policy.system](snapshot, policy, workload, clocks).run(until)


def cell(table: Any, column: str, row: int) -> Any:
    value = table[column][row]
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and value != value else value


def nested(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with inner objects, without what is null."""
    out: dict[str, Any] = {}
    for key, value in row.items():
        head, _, rest = key.partition(".")
        if value is None:
            continue
        if rest:
            out.setdefault(head, {})[rest] = value
        else:
            out[key] = value
    return out
