"""Cases of Slurm's preemption: pending jobs played until nothing changes any more."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import evenhand as eh

PLENTY = 1_000_000
NOW = 100_000.0
#: What Slurm says of a victim, by the plan's mode.
STATES = {"requeue": "PENDING", "terminate": "PREEMPTED", "suspend": "SUSPENDED"}


def _job(job: Mapping[str, Any]) -> dict[str, Any]:
    """An operation with what its submit options say."""
    submitted = float(job.get("start_order", 1_000))
    operation: dict[str, Any] = {
        "name": str(job["id"]),
        "partition": job["partition"],
        "start_time": submitted,
    }
    options = list(job.get("submit_args", ()))
    settings: dict[str, Any] = {}
    if "--no-requeue" in options:
        settings["requeue"] = False
    for option in options:
        if option.startswith("--signal="):
            settings["signal"] = option.partition("=")[2]
    return operation | ({"settings": settings} if settings else {})


def _licences(job: Mapping[str, Any]) -> dict[str, float]:
    options = list(job.get("submit_args", ()))
    if "-L" not in options:
        return {}
    name, _, count = options[options.index("-L") + 1].partition(":")
    return {name: float(count or 1)}


class World:
    """A small cluster that does what plans say: who is preempted has gone at once."""

    def __init__(self, case: Mapping[str, Any]) -> None:
        config = case["config"]
        self.policy = eh.policies.Slurm(**_settings(config), release=case.get("version", "22.05"))
        order = {node["name"]: place for place, node in enumerate(case["nodes"])}
        cpus = {node["name"]: node.get("cpus", 1) for node in case["nodes"]}
        self.cpus = cpus
        resources: dict[str, Any] = {"cpu": {"quantum": 1, "kind": "cpu"}}
        for part in str(config.get("extra") or "").split():
            if part.startswith("Licenses="):
                name, _, count = part.partition("=")[2].partition(":")
                licence = {"kind": "license", "scope": "cluster", "capacity": float(count or 1)}
                resources[name] = licence
        self.tables: dict[str, Any] = {
            "schema": "evenhand/snapshot/1",
            "now": NOW,
            "resources": resources,
            "nodes": [
                {"name": name, "capacity": {"cpu": cpus[name]}, "order": place}
                for name, place in order.items()
            ],
            "operations": [],
            "allocations": [],
            "requests": [],
        }
        self.state: eh.State | None = None
        self.ended: dict[str, str] = {}
        for job in case.get("running", ()):
            self.run(job)

    def run(self, job: Mapping[str, Any]) -> None:
        """Let a job run where the case has it."""
        self.tables["operations"].append(_job(job) | {"order": len(self.tables["operations"])})
        name, start = str(job["id"]), float(job.get("start_order", 0))
        row = {"operation": name, "start_time": start}
        rows = [
            {
                "name": f"{name}@{node}",
                "node": node,
                "resources": {"cpu": job.get("cpus_per_node", self.cpus[node])},
            }
            for node in job["nodes"]
        ]
        if licences := _licences(job):
            rows.append({"name": f"{name}@", "resources": licences})
        self.tables["allocations"] += [row | part for part in rows]

    def submit(self, job: Mapping[str, Any]) -> None:
        """Put a job into the queue."""
        for table in ("operations", "allocations", "requests"):
            self.tables.setdefault(table, [])
        name = str(job["id"])
        self.tables["operations"].append(_job(job) | {"order": len(self.tables["operations"])})
        cpus = job.get("cpus_per_node", max(self.cpus.values()))
        request = {"name": f"{name}?", "operation": name, "count": job.get("node_count", 1)}
        self.tables["requests"].append(request | {"resources": {"cpu": cpus}})
        if licences := _licences(job):
            self.tables["requests"].append(
                {"name": f"{name}? licences", "operation": name, "resources": licences}
            )

    def finish(self, name: Any) -> None:
        """Let a job end by itself."""
        self._drop("allocations", lambda row: row["operation"] == str(name))

    def settle(self) -> None:
        """Plan, and carry it out, until nothing changes."""
        for _ in range(20):
            snapshot = eh.Snapshot.from_dict(self.tables)
            plan = eh.plan(snapshot, self.policy, self.state, on=eh.SchedulingRun())
            if not any(d.action in ("preempt", "start", "resume") for d in plan.decisions):
                return
            self.state = plan.state
            for decision in plan.decisions.victims:
                self.ended[str(decision.operation)] = STATES[str(decision.mode)]
            for decision in plan.decisions:
                if decision.action == "resume":
                    self.ended.pop(str(decision.operation), None)
            self.tables = snapshot.after(plan).to_dict()
            gone = self._drop("allocations", lambda row: row.get("state") == "preempting")
            for name in dict.fromkeys(row["operation"] for row in gone):
                if self.ended.get(str(name)) == "PENDING":
                    self._requeue(str(name), [row for row in gone if row["operation"] == name])
        raise AssertionError("it never settles")

    def _requeue(self, name: str, rows: list[dict[str, Any]]) -> None:
        """Put a victim back into the queue; it may not start again for two minutes."""
        (operation,) = (row for row in self.tables["operations"] if str(row["name"]) == name)
        operation["settings"] = {**operation.get("settings", {}), "eligible_time": NOW + 121}
        for number, row in enumerate(rows):
            again = {"name": f"{name}? again {number}", "operation": name, "resources": row["resources"]}
            self.tables["requests"] = [*self.tables.get("requests", ()), again]

    def _drop(self, table: str, gone: Callable[[Mapping[str, Any]], bool]) -> list[dict[str, Any]]:
        rows = self.tables.get(table, [])
        self.tables[table] = [row for row in rows if not gone(row)]
        return [row for row in rows if gone(row)]

    def jobs(self, *states: str) -> list[str]:
        """Jobs with an allocation in one of these states, in order of names."""
        found = {
            str(row["operation"])
            for row in self.tables.get("allocations", ())
            if row.get("state", "running") in states
        }
        return sorted(found)

    def waiting(self) -> list[str]:
        """Jobs with a request."""
        return sorted({str(row["operation"]) for row in self.tables.get("requests", ())})

    def nodes_of(self, name: Any) -> list[str]:
        """Nodes where a job runs."""
        rows = [row for row in self.tables.get("allocations", ()) if str(row["operation"]) == str(name)]
        return sorted(str(row["node"]) for row in rows if row.get("node") is not None)


def _settings(config: Mapping[str, Any]) -> dict[str, Any]:
    known = (
        "PreemptType",
        "PreemptMode",
        "PreemptExemptTime",
        "reorder_count",
        "strict_order",
        "youngest_first",
    )
    settings = {name: config[name] for name in known if config.get(name) is not None}
    partitions = {}
    for name, given in config["partitions"].items():
        partition = {k: v for k, v in given.items() if k != "other" and v is not None}
        for part in str(given.get("other") or "").split():
            key, _, value = part.partition("=")
            partition[key] = float(value) if key == "GraceTime" else value
        partitions[name] = partition
    return settings | {"partitions": partitions}


def live(case: Mapping[str, Any]) -> dict[str, Any]:
    """One pending job on a running cluster."""
    world = World(case)
    job = case["pending"]
    world.submit(job)
    world.settle()
    running = str(job["id"]) in world.jobs("running")
    return {
        "victims": sorted(world.ended),
        "victim_states": world.ended,
        "preemptor_state": "RUNNING" if running else "PENDING",
        "preemptor_nodes": world.nodes_of(job["id"]),
    }


def doc_placement(case: Mapping[str, Any]) -> dict[str, Any]:
    """The same on whole nodes, and what happens when the pending job ends."""
    world = World(case)
    job = case["pending"]
    world.submit(job)
    world.settle()
    victims = sorted(world.ended)
    answer = {
        "victims": victims,
        "action": {"SUSPENDED": "suspend", "PENDING": "requeue", "PREEMPTED": "cancel"}[
            min(set(world.ended.values()), default="PREEMPTED")
        ],
        "preemptor_nodes": world.nodes_of(job["id"]),
        "untouched": sorted(set(world.jobs("running")) - {str(job["id"])} - set(victims)),
    }
    before = {name: world.nodes_of(name) for name in victims}
    world.finish(job["id"])
    world.settle()
    resumed = [name for name in victims if name in world.jobs("running")]
    answer["after_preemptor_ends"] = {
        "resumed": resumed,
        "same_nodes": all(world.nodes_of(name) == before[name] for name in resumed),
    }
    return answer


def doc_steps(case: Mapping[str, Any]) -> dict[str, Any]:
    """Jobs that come and end one after the other."""
    world = World(case)
    states = []
    for number, step in enumerate(case["steps"]):
        if "submit" in step:
            world.submit({**step["submit"], "start_order": number})
        else:
            world.finish(step["finish"])
        world.settle()
        states.append(
            {
                "running": world.jobs("running"),
                "suspended": world.jobs("preempted"),
                "pending": world.waiting(),
            }
        )
    return {"after_steps": states}


def config_validation(case: Mapping[str, Any]) -> dict[str, Any]:
    """Which settings are refused."""
    valid = []
    for settings in case["input"]:
        try:
            eh.policies.Slurm(**settings)
        except eh.InputError:
            valid.append(False)
        else:
            valid.append(True)
    return {"valid": valid}


KINDS: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
    "live": live,
    "doc_placement": doc_placement,
    "doc_steps": doc_steps,
    "config_validation": config_validation,
}

SETS = frozenset(
    {"victims", "preemptor_nodes", "untouched", "after_preemptor_ends.resumed"}
    | {f"after_steps.{i}.{key}" for i in range(9) for key in ("running", "suspended", "pending")}
)
"""What may stand in any order; names are compared as texts."""
