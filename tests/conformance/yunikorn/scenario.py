"""Scenarios of the user guide: pods come, are placed where they fit, and preempt until nothing changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.conformance.yunikorn.world import World, added

_PASSES = 1000


def scenario(case: Mapping[str, Any]) -> Any:
    """Return the final usage, and after each step the usage and how many were preempted in it."""
    cluster, steps = _Cluster(case), []
    for step in case["steps"]:
        cluster.submit(step["submit"])
        preempted = cluster.settle()
        steps.append({"usage": cluster.usage(), "preempted_total": preempted})
    return {"final_usage": cluster.usage(), "steps": steps}


class _Cluster:
    def __init__(self, case: Mapping[str, Any]) -> None:
        self.case = case
        self.running: list[dict[str, Any]] = []
        self.pending: list[dict[str, Any]] = []
        self.clock = 0

    def submit(self, pods: Mapping[str, Any]) -> None:
        same = {name: pods[name] for name in ("app", "queue", "resources", "priority", "allow_preempt_self")}
        self.pending += [{"key": f"{pods['app']}-{i}", **same} for i in range(pods["count"])]

    def usage(self) -> dict[str, dict[str, int]]:
        world = World({**self.case, "allocations": self.running})
        return {
            path: added(row["resources"] for row in self.running if row["queue"] == path)
            for path, _, queue in world.queues
            if queue.get("leaf")
        }

    def settle(self) -> int:
        preempted = 0
        for _ in range(_PASSES):
            placed = sum(map(self.place, list(self.pending)))
            taken = sum(map(self.preempt, list(self.pending)))
            preempted += taken
            if not placed and not taken:
                return preempted
        raise AssertionError("the scenario does not end")

    def place(self, pod: dict[str, Any]) -> bool:
        if not self.has_headroom(pod):
            return False
        for node in self.case["nodes"]:
            used = added(row["resources"] for row in self.running if row["node"] == node["id"])
            if all(used.get(r, 0) + a <= node["capacity"].get(r, 0) for r, a in pod["resources"].items()):
                self.clock += 1
                self.running.append({**pod, "node": node["id"], "create_time_s": self.clock})
                self.pending.remove(pod)
                return True
        return False

    def has_headroom(self, pod: Mapping[str, Any]) -> bool:
        for path, _, queue in World({**self.case, "allocations": self.running}).queues:
            if f"{pod['queue']}.".startswith(f"{path}.") and "max" in queue:
                used = added(r["resources"] for r in self.running if f"{r['queue']}.".startswith(f"{path}."))
                total = added([used, pod["resources"]])
                if any(total.get(r, 0) > most for r, most in queue["max"].items()):
                    return False
        return True

    def preempt(self, pod: dict[str, Any]) -> int:
        world = World({**self.case, "allocations": self.running, "asks": [pod]})
        world.begin(pod)
        found = world.core.attempt(self.has_headroom(pod), None, [])
        if not found["success"]:
            return 0
        gone = world.keys(found["victims"])
        for row in [row for row in self.running if row["key"] in gone]:
            self.running.remove(row)
            del row["node"], row["create_time_s"]
            self.pending.append(row)
        self.place(pod)
        return len(gone)
