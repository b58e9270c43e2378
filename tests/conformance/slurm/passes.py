"""Several jobs wait at once: the passes of a real controller, one after the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import evenhand as eh
from tests.conformance.slurm.cases import STATES

#: Of a requeued job: from the end of its epilog until it may start again.
HELD = 121.0
#: Between a preemption and the pass that the end of the victims' epilogs begins.
EPILOG = 0.1


@dataclass(frozen=True)
class Event:
    """Something that a controller did: a pass, or a job's epilog reported from a node.

    Attributes
    ----------
    at
        When.
    what
        "main", "backfill" or "end".
    job, node
        Of an end: whose, and where.
    """

    at: float
    what: str
    job: str = ""
    node: str = ""


Planner = Callable[[dict[str, Any], Mapping[str, Any], Any, str], tuple[Mapping[str, Any], Any]]


class Passes:
    """A cluster that does what one pass after the other says."""

    def __init__(self, tables: dict[str, Any], settings: Mapping[str, Any], plan: Planner) -> None:
        self.tables, self.settings, self.plan = tables, settings, plan
        self.state: Any = None
        self.preempted: dict[str, str] = {}
        self.started: dict[str, list[str]] = {}
        self.beneficiaries: dict[str, list[str]] = {}
        self.first: dict[str, Any] | None = None
        self.parts: dict[str, list[dict[str, Any]]] = {}  # of jobs of which some nodes have ended

    def play(self, seconds: float, interval: float, first: str = "main", idle: int | None = None) -> None:
        """Let passes follow each other as the controller's do, until nothing changes or the time is over.

        All victims end at once. ``idle`` is after how many passes that do nothing it stops; none: never.
        """
        backfills = self.settings["SchedulerType"] == "sched/backfill"
        now, name, nothing = self.tables["now"], first, 0
        until, next_backfill = now + seconds, now + interval
        while now < until and (idle is None or nothing < idle):
            self.tables["now"] = now
            did = self.run(name)
            nothing = 0 if did else nothing + 1
            if did == "preempt":
                now += EPILOG
                self.end(self._leaving(), now)
                name = "main"
            elif backfills and name == "main":
                now, name = max(now, next_backfill), "backfill"
                next_backfill = now + interval
            else:
                name = "main"

    def follow(self, events: Sequence[Event]) -> None:
        """Let passes run, and victims end, in the order in which a controller's did.

        What no later event ends (the controller did not preempt it, or did so earlier) ends before the
        next main pass.
        """
        for place, event in enumerate(events):
            ends = {(event.job, event.node)}
            if event.what != "end":
                self.tables["now"] = event.at
                later = {(e.job, e.node) for e in events[place:] if e.what == "end"}
                ends = self._leaving() - later if event.what == "main" else set()
            self.end(ends, event.at)
            if event.what != "end":
                self.run(event.what)

    def _leaving(self) -> set[tuple[str, str]]:
        """Return which victims are to end, and where."""
        return {
            (row["operation"], row["node"])
            for row in self.tables["allocations"]
            if row.get("state") == "preempting"
        }

    def run(self, name: str) -> str | None:
        """Plan one pass and carry it out; the strongest of what it did."""
        found, self.state = self.plan(self.tables, self.settings, self.state, name)
        decisions = found["decisions"]
        told: dict[str, list[str]] = {}
        starts: dict[str, list[str]] = {}
        for d in decisions:
            job = str(d["operation"])
            if d["action"] == "preempt":
                self.preempted[job] = STATES[d["mode"]]
                told.setdefault(str(d["beneficiary"]["operation"]), []).append(job)
                self._leave(d)
            elif d["action"] == "start":
                starts.setdefault(job, []).append(str(d["node"]))
                self._start(d)
        for job, victims in told.items():
            self.beneficiaries.setdefault(job, []).extend(dict.fromkeys(victims))
        self.started |= {job: sorted(nodes) for job, nodes in starts.items()}
        if self.first is None:
            self.first = {
                "scheduler": name,
                "preempted": sorted({job for victims in told.values() for job in victims}),
                "beneficiaries": {job: sorted(set(victims)) for job, victims in told.items()},
                "started": {job: sorted(nodes) for job, nodes in starts.items()},
            }
        return "preempt" if told else "start" if starts else None

    def _leave(self, decision: Mapping[str, Any]) -> None:
        for row in self.tables["allocations"]:
            if row["name"] == decision["allocation"]:
                row |= {"state": "preempting", "deadline": self.tables["now"]}
                row["beneficiary"] = {"operation": decision["beneficiary"]["operation"]}

    def _start(self, decision: Mapping[str, Any]) -> None:
        (request,) = (row for row in self.tables["requests"] if row["name"] == decision["request"])
        request["count"] = request.get("count", 1) - 1
        now = math.floor(self.tables["now"])  # the controller counts whole seconds
        self.tables["allocations"].append(
            {
                "name": f"{request['operation']}@{decision['node']}",
                "operation": request["operation"],
                "node": decision["node"],
                "resources": request["resources"],
                "start_time": now,
                "planned_end": now + request["duration"],
            }
        )
        self.tables["requests"] = [row for row in self.tables["requests"] if row.get("count", 1)]

    def end(self, ends: set[tuple[str, str]], now: float) -> None:
        """End victims on nodes; a requeued job waits once it has ended on all of its own."""
        gone = [
            row
            for row in self.tables["allocations"]
            if row.get("state") == "preempting" and (row["operation"], row["node"]) in ends
        ]
        self.tables["allocations"] = [row for row in self.tables["allocations"] if row not in gone]
        for job in dict.fromkeys(row["operation"] for row in gone):
            self.started.pop(job, None)
            parts = self.parts.setdefault(job, [])
            parts += [row for row in gone if row["operation"] == job]
            stays = any(row["operation"] == job for row in self.tables["allocations"])
            if self.preempted[job] != "PENDING" or stays:
                continue
            (operation,) = (row for row in self.tables["operations"] if row["name"] == job)
            operation["start_time"] = now
            operation["settings"] = {**operation.get("settings", {}), "eligible_time": now + HELD}
            self.tables["requests"].append(
                {
                    "name": f"{job}? again",
                    "operation": job,
                    "count": len(parts),
                    "resources": parts[0]["resources"],
                    "duration": parts[0]["planned_end"] - parts[0]["start_time"],
                }
            )
            del self.parts[job]


def tables_of(case: Mapping[str, Any]) -> dict[str, Any]:
    """Return the snapshot of a case; the release is at its end of second 100,000."""
    release = 100_000.0
    allocations = []
    operations = [
        {
            "name": job["id"],
            "partition": job["partition"],
            "qos": job["qos"],
            "priority": float(job["priority"]),
            "start_time": release - 1000 + job["submit_order"],
            "order": job["submit_order"],
            "settings": {"requeue": job["requeue"]},
        }
        for job in (*case["running"], *case["waiting"])
    ]
    for job in case["running"]:
        allocations += [
            {
                "name": f"{job['id']}@{node}",
                "operation": job["id"],
                "node": node,
                "resources": {"cpu": job["cpus_per_node"]},
                "start_time": release + job["start_s"] + job["start_order"] / 1000,
                "planned_end": release + job["end_s"],
            }
            for node in job["nodes"]
        ]
    requests = [
        {
            "name": f"{job['id']}?",
            "operation": job["id"],
            "count": job["node_count"],
            "resources": {"cpu": job["cpus_per_node"]},
            "duration": job["time_limit_min"] * 60.0,
        }
        for job in case["waiting"]
    ]
    return {
        "now": release,
        "resources": {"cpu": {"quantum": 1, "kind": "cpu"}},
        "nodes": [
            {
                "name": node["name"],
                "capacity": {"cpu": node["cpus"]},
                "schedulable": node["state"] == "up",
                "order": place,
            }
            for place, node in enumerate(case["nodes"])
        ],
        "operations": operations,
        "allocations": allocations,
        "requests": requests,
    }


def settings_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the policy's settings of a case."""
    same = (
        *("PreemptType", "PreemptMode", "SchedulerType", "SelectType", "PriorityType", "KillWait"),
        *("MessageTimeout", "PreemptExemptTime", "reorder_count", "strict_order", "youngest_first"),
    )
    settings = {name: config[name] for name in same if config.get(name) is not None}
    settings["JobRequeue"] = bool(config["JobRequeue"])
    settings["partitions"] = {
        name: {
            "PriorityTier": part["PriorityTier"],
            "PreemptMode": part["PreemptMode"],
            "Nodes": part["nodes"],
            "State": part["State"],
            "MaxTime": None if part["MaxTime_min"] is None else part["MaxTime_min"] * 60.0,
        }
        for name, part in config["partitions"].items()
    }
    if config["qos"]:
        settings["qos"] = {
            name: {"Priority": q["Priority"], "Preempt": q["Preempt"], "PreemptMode": q["PreemptMode"]}
            for name, q in config["qos"].items()
        }
    return settings


def engine_plan(
    tables: dict[str, Any], settings: Mapping[str, Any], state: Any, name: str
) -> tuple[Mapping[str, Any], Any]:
    """Plan one pass with the engine."""
    snapshot = eh.Snapshot.from_dict(tables)
    plan = eh.plan(snapshot, eh.policies.Slurm(**settings), state, on=eh.SchedulingRun(passes=(name,)))
    return plan.to_dict(), plan.state


def answer(case: Mapping[str, Any], plan: Planner = engine_plan) -> dict[str, Any]:
    """Play a case, and return what it expects."""
    config = case["config"]
    world = Passes(tables_of(case), settings_of(config), plan)
    backfills = config["SchedulerType"] == "sched/backfill"
    world.play(
        case["observed_s"],
        float(config["SchedulerParameters"]["bf_interval"]),
        "backfill" if case["name"].startswith("live_several_backfill_first") else "main",
        idle=2 if backfills else 1,
    )
    running = {row["operation"] for row in world.tables["allocations"]}
    waiting: Sequence[str] = [job["id"] for job in case["waiting"]]
    started = [job for job in waiting if job in running]
    return {
        "preempted": sorted(world.preempted),
        "preempted_states": world.preempted,
        "started": sorted(started),
        "started_nodes": {job: world.started[job] for job in started},
        "still_waiting": sorted(set(waiting) - set(started) - set(world.preempted)),
        "beneficiaries": {job: sorted(set(jobs)) for job, jobs in world.beneficiaries.items()},
        "first_pass": world.first,
    }
