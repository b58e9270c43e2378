"""From a case on YTsaurus' preemption to snapshots in the file format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tests.conformance.ytsaurus.fair_share_input import QUANTUM, RESOURCES

NOW = 100_000.0
"""Later than all times of cases."""

UNKNOWN_TIME = NOW
"""An allocation without any job yet has only just started."""

SSD = "ssd"

NOT_SETTINGS = {
    "heartbeat_period_s",
    "ssd_priority_preemption_enabled_on_node",
    "enable_conditional_preemption",
    "preemption_check_starvation",
    "preemption_check_satisfaction",
}
"""Keys of a case's configuration that describe the scene, or were removed upstream."""

Row = dict[str, Any]


def plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings under their own names: durations without ``_s``."""
    return {key.removesuffix("_s"): value for key, value in settings.items()}


def settings(case: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tree's settings of a case."""
    given = {**defaults, **case.get("config", {})}
    made = plain({key: value for key, value in given.items() if key not in NOT_SETTINGS})
    if case.get("config", {}).get("ssd_priority_preemption_enabled_on_node"):
        made["ssd_priority_preemption"] = {"enable": True, "node_tag_filter": SSD, "medium_names": [SSD]}
    return made


def total(case: Mapping[str, Any]) -> dict[str, float]:
    """Return the cluster's total."""
    cluster = case.get("cluster", {"nodes": []})
    if "total" in cluster:
        return {r: cluster["total"].get(r, 0) for r in RESOURCES}
    return {r: sum(n["count"] * n["resources"].get(r, 0) for n in cluster["nodes"]) for r in RESOURCES}


class Scene:
    """The tables of a snapshot, filled step by step from a case."""

    def __init__(self, case: Mapping[str, Any], *, now: float = NOW) -> None:
        self.total = total(case)
        self.now = now
        self.pools = [self._pool(pool) for pool in case.get("pools", ())]
        self.operations = [self._operation(operation) for operation in case.get("operations", ())]
        self.nodes: list[Row] = []
        self.allocations: list[Row] = []
        self.requests: list[Row] = []
        self.later: list[Row] = []
        """Events after the update: usage that grew above the demand of then."""

    def data(self) -> dict[str, Any]:
        """Return the snapshot; rows stand in the order of the case."""
        return {
            "schema": "evenhand/snapshot/1",
            "now": self.now,
            "resources": {r: {"quantum": QUANTUM[r]} for r in RESOURCES},
            "total": self.total,
            "nodes": self.nodes,
            "pools": self.pools,
            "operations": self.operations,
            "allocations": self.allocations,
            "requests": self.requests,
        }

    def operation(self, name: str) -> Row:
        """Return an operation's row; one that the case does not describe is a plain one."""
        for row in self.operations:
            if row["name"] == name:
                return row
        self.operations.append({"name": name})
        return self.operations[-1]

    def node(self, name: str, capacity: Mapping[str, float], **fields: Any) -> None:
        """Add a node."""
        self.nodes.append({"name": name, "capacity": _amounts(capacity), **fields})

    def cluster_nodes(self, case: Mapping[str, Any]) -> None:
        """Add the case's nodes, called node0, node1, …"""
        for kind in case["cluster"]["nodes"]:
            for _ in range(kind["count"]):
                self.node(f"node{len(self.nodes)}", kind["resources"])

    def running(self, operation: Mapping[str, Any]) -> None:
        """Add what an operation runs, on no node in particular."""
        for name, start, resources in runs(operation):
            self.allocation(name, operation["id"], resources, start)

    def allocation(
        self, name: str, operation: str, resources: Mapping[str, float], start: float, **fields: Any
    ) -> None:
        """Add an allocation whose job started when it did itself."""
        row = {"name": name, "operation": operation, "resources": _amounts(resources), "start_time": start}
        self.allocations.append({**row, **fields})

    def request(self, operation: str, resources: Mapping[str, float], count: int = 1, **fields: Any) -> None:
        """Add a request."""
        name = f"{operation}?{len(self.requests)}"
        row = {"name": name, "operation": operation, "resources": _amounts(resources), "count": count}
        self.requests.append({**row, **fields})

    def on_node(self, node: str, running: list[Mapping[str, Any]]) -> None:
        """Add what runs on a node."""
        for entry in running:
            start = entry.get("progress_start_time_s", 0)
            own: Row = {}
            if "resource_limits" in entry:
                own["resource_limits"] = _amounts(entry["resource_limits"])
            if entry.get("uses_ssd"):
                own["disk_medium"] = SSD
            operation = entry.get("operation", f"op of {entry['id']}")
            row = self.operation(operation)
            if not entry.get("aggressive_preemption_allowed", True):
                row["pool"] = f"pool of {entry['id']}"
                spared = {"allow_aggressive_preemption": False}
                self.pools.append({"name": row["pool"], "settings": spared})
            state = "preempting" if entry.get("already_preempted") else "running"
            start = UNKNOWN_TIME if start is None else start
            resources = entry.get("resources", {"cpu": 1})
            self.allocation(entry["id"], operation, resources, start, node=node, state=state, settings=own)

    def shares(self, operation: Mapping[str, Any]) -> None:
        """Add what an operation runs and asks for, so that its usage and demand shares are the case's."""
        name, row = operation["id"], self.operation(operation["id"])
        running = list(runs(operation))
        used = {r: sum(resources.get(r, 0) for *_, resources in running) for r in RESOURCES}
        pending = operation.get("pending_allocations", 0)
        least = operation.get("min_needed")
        if "demand_share" not in operation:
            self.running(operation)
            if least and pending:
                self.request(name, least, pending)
            return
        demand = self._amounts_of(operation["demand_share"])
        told = self._amounts_of(operation["usage_share"]) if "usage_share" in operation else used
        if any(abs(told[r] - used[r]) > QUANTUM[r] / 2 for r in RESOURCES):
            row["usage"], row["demand"] = told, demand
            return
        early = used
        if all(used[r] <= demand[r] + QUANTUM[r] / 2 for r in RESOURCES):
            self.running(operation)
        else:
            early = self._up_to(demand, name, running)
        lacking = {r: demand[r] - early[r] for r in RESOURCES}
        if least and all(abs(least.get(r, 0) * pending - lacking[r]) < QUANTUM[r] / 2 for r in RESOURCES):
            self.request(name, least, pending)
        elif any(lacking.values()):
            self.request(name, lacking)

    def _up_to(
        self, demand: Mapping[str, float], operation: str, running: list[tuple[str, float, dict[str, float]]]
    ) -> dict[str, float]:
        """Add allocations that a demand covers, all others as events; return what is used first."""
        used, full = dict.fromkeys(RESOURCES, 0.0), False
        for name, start, resources in sorted(running, key=lambda run: run[1]):
            grown = {r: used[r] + resources.get(r, 0) for r in RESOURCES}
            full = full or any(grown[r] > demand[r] + QUANTUM[r] / 2 for r in RESOURCES)
            if full:
                row = {"name": name, "operation": operation, "resources": _amounts(resources)}
                self.later.append({"event": "start", "row": {**row, "start_time": start}})
            else:
                used = grown
                self.allocation(name, operation, resources, start)
        return used

    def _amounts_of(self, shares: Mapping[str, float]) -> dict[str, float]:
        return {r: round(shares.get(r, 0) * self.total[r] / QUANTUM[r]) * QUANTUM[r] for r in RESOURCES}

    def _pool(self, pool: Mapping[str, Any]) -> Row:
        row: Row = {"name": pool["id"], "settings": plain(pool.get("settings", {}))}
        if pool.get("parent", "root") != "root":
            row["parent"] = pool["parent"]
        return {**row, **({"mode": pool["mode"]} if "mode" in pool else {})}

    def _operation(self, operation: Mapping[str, Any]) -> Row:
        own = plain(operation.get("settings", {}))
        for key in ("preemption_mode", "unschedulable_reason"):
            if key in operation:
                own[key] = operation[key]
        row: Row = {"name": operation["id"], "settings": own, "gang": operation.get("is_gang", False)}
        if operation.get("parent", "root") != "root":
            row["pool"] = operation["parent"]
        return row


def runs(operation: Mapping[str, Any]) -> Iterator[tuple[str, float, dict[str, float]]]:
    """Yield name, start and resources of every allocation of an operation, the oldest first."""
    for run in operation.get("allocations", ()):
        first, step = run.get("first_start_time_s", 0), run.get("start_time_step_s", 0)
        for number in range(run["count"]):
            yield f"{run['id_prefix']}{number}", first + number * step, run["resources"]


def given_shares(case: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Return the fair shares that a case gives."""
    elements = [*case.get("pools", ()), *case.get("operations", ())]
    return {e["id"]: e["fair_share"] for e in elements if "fair_share" in e}


def given_starvation(case: Mapping[str, Any]) -> dict[str, str]:
    """Return the states of all elements of a case."""
    elements = [*case.get("pools", ()), *case.get("operations", ())]
    return {e["id"]: e.get("starvation", "non_starving") for e in elements}


def _amounts(given: Mapping[str, float]) -> dict[str, float]:
    return {r: amount for r, amount in given.items() if amount}
