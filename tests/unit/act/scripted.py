"""A policy of one rule: who waits takes the room of the youngest with a lower priority, on one node."""

from __future__ import annotations

from typing import Any

import evenhand as eh
from evenhand.plans import Plan
from tests.unit.plans.fake import FakeCore, FakePolicy


class Scripted(FakePolicy):
    """For jobs of one node; it looks at cpus only. The partition ``urgent`` comes before all others."""

    def __init__(self, at_most: int = 100, mode: str = "requeue", urgent: str = "") -> None:
        super().__init__()
        self.at_most, self.mode, self.urgent = at_most, mode, urgent

    def to_dict(self) -> dict[str, Any]:
        return {"policy": "scripted"}

    def plan(self, snapshot: eh.Snapshot, state: Any = None, on: Any = None, given: Any = None) -> Plan:
        data = snapshot.to_dict()
        priority = {
            o["name"]: o.get("partition") == self.urgent if self.urgent else o.get("priority", 0)
            for o in data.get("operations", ())
        }
        free = {n["name"]: n["capacity"].get("cpu", 0) for n in data["nodes"]}
        running: dict[str, list[dict[str, Any]]] = {name: [] for name in free}
        pieces: dict[str, int] = {}
        for a in data.get("allocations", ()):
            if a.get("state", "running") == "running":
                pieces[a["operation"]] = pieces.get(a["operation"], 0) + 1
                free[a["node"]] -= a["resources"].get("cpu", 0)
                running[a["node"]].append(a)
        said: list[dict[str, Any]] = []
        step = 0
        waiting = data.get("requests", ())
        several = {r["operation"] for r in waiting if r["name"] != r["operation"]}  # parts on several nodes
        requests = [r for r in waiting if r["operation"] not in several]
        for r in sorted(requests, key=lambda r: (-priority[r["operation"]], int(r["name"]))):
            if step >= self.at_most or r.get("count", 1) > 1:
                continue
            need = r["resources"].get("cpu", 0)
            if any(room >= need for room in free.values()):
                node = next(n for n, room in free.items() if room >= need)
                free[node] -= need
                continue
            node, victims = self._victims(r, need, priority, free, running, pieces)
            if node is None:
                continue
            for a in victims:
                said.append(self._victim(a, r, node, step))
                running[node].remove(a)
                free[node] += a["resources"].get("cpu", 0)
            free[node] -= need
            said.append(self._start(r, node, step))
            step += 1
        return Plan(snapshot, self, FakeCore(snapshot, said), state, on)

    def _victims(
        self, r: Any, need: int, priority: Any, free: Any, running: Any, pieces: Any
    ) -> tuple[str | None, list[dict[str, Any]]]:
        best: tuple[str | None, list[dict[str, Any]]] = (None, [])
        for node, there in running.items():
            taken, room = [], free[node]
            for a in sorted(there, key=lambda a: -a.get("start_time", 0)):
                may = a.get("preemptible", True) and pieces[a["operation"]] == 1
                if room < need and may and priority[a["operation"]] < priority[r["operation"]]:
                    taken.append(a)
                    room += a["resources"].get("cpu", 0)
            if room >= need and (best[0] is None or len(taken) < len(best[1])):
                best = (node, taken)
        return best

    def _victim(self, a: Any, r: Any, node: str, step: int) -> dict[str, Any]:
        freed = {"cpu": a["resources"]["cpu"]} if self.mode == "suspend" else a["resources"]
        return {
            "action": "preempt",
            "allocation": a["name"],
            "operation": a["operation"],
            "node": node,
            "mode": self.mode,
            "reason": "preemption",
            "stage": "preemptive",
            "step": step,
            "for_operation": r["operation"],
            "for_request": r["name"],
            "freed": freed,
            "needed": r["resources"],
        }

    def _start(self, r: Any, node: str, step: int) -> dict[str, Any]:
        return {
            "action": "start",
            "request": r["name"],
            "operation": r["operation"],
            "node": node,
            "reason": "fits_after_preemption",
            "stage": "preemptive",
            "step": step,
            "for_operation": r["operation"],
            "for_request": r["name"],
            "needed": r["resources"],
        }
