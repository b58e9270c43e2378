"""Several jobs wait at once: the passes of a real controller, one after the other."""

from __future__ import annotations

import itertools
import math
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import evenhand as eh
from tests.conformance.slurm.cases import STATES

#: Of a requeued job: from the end of its epilog until it may start again.
HELD = 121.0
MICROSECOND = 1e-6
PASSES = ("main", "backfill")
#: The name of a task of an array, as a controller has it.
TASK = re.compile(r"(\d+)_\d+")


@dataclass(frozen=True)
class Event:
    """Something that a controller did: a pass, a start in it, or a job's epilog reported from a node.

    Attributes
    ----------
    at
        When.
    what
        "main", "backfill", "start" or "end".
    job, node
        Of a start or an end: whose; of an end, where.
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
        self.graced: set[str] = set()  # of them, those that leave after a grace time
        self.over: set[str] = set()  # of these, those whose grace time is over
        self.started: dict[str, list[str]] = {}
        self.beneficiaries: dict[str, list[str]] = {}
        self.first: dict[str, Any] | None = None
        self.parts: dict[str, list[dict[str, Any]]] = {}  # of jobs of which some nodes have ended
        self.places: dict[str, int] = {}  # of what is left of arrays, in the controller's list
        self.length = len(tables["operations"])  # of that list
        self.seconds: dict[str, float] = {}  # when the controller started jobs in this pass

    def follow(self, events: Sequence[Event]) -> None:
        """Let passes run, and victims end, in the order in which a controller's did.

        What no later event ends (the controller did not preempt it, or did so earlier) ends before the
        next main pass; with a grace time, after which a later pass ends it, only by an event.
        """
        for place, event in enumerate(events):
            if event.what == "start":
                continue
            ends = {(event.job, event.node)}
            if event.what != "end":
                self.tables["now"] = event.at
                later = {(e.job, e.node) for e in events[place:] if e.what == "end"}
                ends = self._leaving() - later if event.what == "main" else set()
            self.end(ends, event.at)
            if event.what != "end":
                starts = itertools.takewhile(lambda e: e.what not in PASSES, events[place + 1 :])
                self.seconds = {e.job: e.at for e in starts if e.what == "start"}
                self.run(event.what)

    def running(self) -> set[str]:
        """Return the jobs that run, those in their grace time among them."""
        return {
            row["operation"]
            for row in self.tables["allocations"]
            if row.get("state") != "preempting" or row["operation"] in self.graced
        }

    def _leaving(self) -> set[tuple[str, str]]:
        """Return which victims without grace time are to end, and where."""
        return {
            (row["operation"], row["node"])
            for row in self.tables["allocations"]
            if row.get("state") == "preempting" and row["operation"] not in self.graced
        }

    def _overdue(self) -> None:
        """Let victims run on whose grace time is over: they do until the controller asks them again."""
        over: set[str] = set()
        for row in self.tables["allocations"]:
            late = row.get("state") == "preempting" and row["deadline"] <= self.tables["now"]
            if late and row["operation"] in self.graced - self.over:
                over.add(row["operation"])
                row |= {"state": "running", "planned_end": row.pop("deadline")}
                del row["beneficiary"]
        self.over |= over

    def run(self, name: str) -> None:
        """Plan one pass and carry it out."""
        self._overdue()
        found, self.state = self.plan(self.tables, self.settings, self.state, name)
        decisions = found["decisions"]
        told: dict[str, list[str]] = {}
        starts: dict[str, list[str]] = {}
        for d in decisions:
            job = str(d["operation"])
            if d["action"] == "preempt":
                self.preempted[job] = STATES[d["mode"]]
                told.setdefault(str(d["beneficiary"]["operation"]), []).append(job)
                self.graced |= {job} if d["grace"] else set()
                self._leave(d)
            elif d["action"] == "start":
                if job not in starts:
                    self._place(job)
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

    def _leave(self, decision: Mapping[str, Any]) -> None:
        for row in self.tables["allocations"]:
            if row["name"] == decision["allocation"]:
                over = row["operation"] in self.over  # then it ends at once
                row |= {"state": "preempting", "deadline": self.tables["now"] if over else decision["until"]}
                row["beneficiary"] = {"operation": decision["beneficiary"]["operation"]}

    def _place(self, job: str) -> None:
        """Put a task that starts where its array stood: what is left of that goes to the end of the list."""
        match = TASK.fullmatch(job)
        if match is None:
            return
        rows = self.tables["operations"]
        (operation,) = (row for row in rows if row["name"] == job)
        if match[1] in self.places:
            latest = max(row["start_time"] for row in rows)
            operation |= {"start_time": latest, "order": self.places[match[1]]}
        self.places[match[1]] = self.length
        self.length += 1

    def _start(self, decision: Mapping[str, Any]) -> None:
        (request,) = (row for row in self.tables["requests"] if row["name"] == decision["request"])
        request["count"] = request.get("count", 1) - 1
        at = self.seconds.get(request["operation"], self.tables["now"])  # a pass may take some seconds
        now = math.floor(at)  # the controller counts whole ones
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
            if (row.get("state") == "preempting" or row["operation"] in self.graced)
            and (row["operation"], row["node"]) in ends
        ]
        self.tables["allocations"] = [row for row in self.tables["allocations"] if row not in gone]
        for row in self.tables["allocations"]:  # it ends on its other nodes, too
            if row.get("state") == "running" and row["operation"] in {one["operation"] for one in gone}:
                row |= {"state": "preempting", "deadline": now}
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
    """Return the snapshot of a case; the release is at its end of second 100,000, if it does not say when."""
    release = float(case.get("release_epoch", 100_000))
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


def settings_of(case: Mapping[str, Any]) -> dict[str, Any]:
    """Return the policy's settings of a case; without a version it was recorded on 22.05."""
    config = case["config"]
    same = (
        *("PreemptType", "PreemptMode", "SchedulerType", "SelectType", "PriorityType", "KillWait"),
        *("MessageTimeout", "PreemptExemptTime", "reorder_count", "strict_order", "youngest_first"),
        "min_exempt_priority",
    )
    settings = {name: config[name] for name in same if config.get(name) is not None}
    settings["release"] = case.get("version", "22.05")
    settings["node_weights"] = {
        node["name"]: node["weight"] for node in case["nodes"] if node.get("weight", 1) != 1
    }
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


def simulated(case: Mapping[str, Any], *, backfill_first: bool) -> Any:
    """Let passes follow each other as the controller's do; what waits comes at the release.

    All victims end at once. A main pass runs at once, a backfill pass at its ticks: the first tick is at
    the release if that pass is the first, just after a main pass, else just before it.
    """
    tables = tables_of(case)
    interval = float(case["config"]["SchedulerParameters"]["bf_interval"])
    before = tables["now"] - MICROSECOND
    coming = {job["id"] for job in case["waiting"]}
    start = {
        **tables,
        "now": tables["now"] - interval if backfill_first else before,
        "operations": [row for row in tables["operations"] if row["name"] not in coming],
        "requests": [],
    }
    node = next(row["name"] for row in tables["nodes"] if row["schedulable"])
    workload = eh.simulate.Workload(
        [{**row, "submit_time": tables["now"], "run_time": 1e7} for row in tables["requests"]],
        operations=[row for row in tables["operations"] if row["name"] in coming],
        nodes=[{"time": before, "node": node, "event": "up"}] if backfill_first else None,
        resources=tables["resources"],
    )
    return eh.simulate.simulate(
        eh.Snapshot.from_dict(start),
        eh.policies.Slurm(**settings_of(case)),
        workload,
        until=tables["now"] + case["observed_s"],
        bf_interval=interval,
        series_every=0,
    )


def _backfill_first(case: Mapping[str, Any]) -> bool:
    return case["name"].startswith("live_several_backfill_first")


def first_pass(case: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a case expects of the first pass alone."""
    world = Passes(tables_of(case), settings_of(case), engine_plan)
    world.run("backfill" if _backfill_first(case) else "main")
    return {"first_pass": world.first}


def answer(case: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a case expects of all passes: a simulation of them."""
    result = simulated(case, backfill_first=_backfill_first(case))
    preempted: dict[str, str] = {}
    beneficiaries: dict[str, set[str]] = defaultdict(set)
    nodes: dict[str, list[str]] = defaultdict(list)
    names = ("action", "operation", "mode", "beneficiary_operation")
    for action, job, mode, beneficiary in zip(*(result.decisions[name] for name in names), strict=True):
        if action == "preempt":
            preempted[job] = STATES[mode]
            beneficiaries[beneficiary].add(job)
    columns = ("outcome", "operation", "node")
    for outcome, job, node in zip(*(result.allocations[name] for name in columns), strict=True):
        if outcome == "running":
            nodes[job].append(node)
    waiting: Sequence[str] = [job["id"] for job in case["waiting"]]
    return {
        "preempted": sorted(preempted),
        "preempted_states": preempted,
        "started": sorted(job for job in waiting if job in nodes),
        "started_nodes": {job: sorted(nodes[job]) for job in waiting if job in nodes},
        "still_waiting": sorted(set(waiting) - set(nodes) - set(preempted)),
        "beneficiaries": {job: sorted(victims) for job, victims in beneficiaries.items()},
    }
