"""What a plan does to the room of nodes, followed decision by decision; and the snapshot after it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

__all__ = ["Ledger", "Step", "carried_out"]

EPSILON = 1e-6

Amounts = dict[str, float]


@dataclass(frozen=True)
class Step:
    """One start with its victims."""

    node: Any
    request: Any
    need: Amounts
    room: Amounts
    victims: list[Amounts]

    def fits(self, victims: Sequence[Amounts]) -> bool:
        """Return whether the request fits once these victims are gone."""
        return all(
            self.room[r] + sum(victim.get(r, 0) for victim in victims) + EPSILON >= self.need.get(r, 0)
            for r in self.room
        )


class Ledger:
    """Room of every node."""

    def __init__(self, snapshot: Mapping[str, Any], victims_room: str) -> None:
        spaces: Mapping[str, Any] = snapshot["resources"]
        self._resources = [r for r, space in spaces.items() if (space or {}).get("scope") != "cluster"]
        self._held = victims_room == "held_until_gone"
        self._requests = {row["name"]: row for row in snapshot.get("requests", ())}
        self._unused = {
            node["name"]: {r: node.get("capacity", {}).get(r, 0) for r in self._resources}
            for node in snapshot.get("nodes", ())
        }
        self._leaving: dict[Any, list[tuple[Mapping[str, Any], Amounts]]] = {n: [] for n in self._unused}
        for allocation in snapshot.get("allocations", ()):
            if "node" in allocation:
                self._place(allocation)

    def _place(self, allocation: Mapping[str, Any]) -> None:
        node, state = allocation["node"], allocation.get("state", "running")
        has = allocation.get("held" if state == "preempted" else "resources", {})
        if state != "preempting":
            self._change(node, has, -1)
            return
        taken = allocation.get("settings", {}).get("room_taken", {})
        left = {r: has.get(r, 0) - taken.get(r, 0) for r in self._resources}
        self._leaving[node].append((allocation.get("beneficiary") or {}, left))

    def _change(self, node: Any, amounts: Mapping[str, float], sign: int) -> None:
        for r in self._resources:
            self._unused[node][r] += sign * amounts.get(r, 0)

    def room(self, node: Any, request: Mapping[str, Any]) -> Amounts:
        """Return what a request may use; nothing of what leaves is free twice."""
        room = {}
        for r, unused in self._unused[node].items():
            others = [left[r] for whose, left in self._leaving[node] if not _meant(whose, request)]
            room[r] = unused - sum(others) if self._held else unused
        return room

    def leaves(self, node: Any) -> bool:
        """Return whether anything is leaving a node."""
        return bool(self._leaving[node])

    def steps(self, decisions: Sequence[Mapping[str, Any]]) -> Iterator[Step]:
        """Follow the decisions; yield every start with its victims."""
        waiting: dict[Any, list[Mapping[str, Any]]] = {}
        for decision in decisions:
            if decision["action"] == "start":
                yield self._start(decision, waiting.pop(decision["step"], []))
            elif decision.get("beneficiary"):
                waiting.setdefault(decision["step"], []).append(decision)
            else:
                self._leave(decision)
        if waiting:
            raise AssertionError(f"victims without a start: {waiting}")

    def _leave(self, decision: Mapping[str, Any]) -> None:
        node, freed = decision["node"], decision["freed"]
        self._change(node, freed, 1)
        self._leaving[node].append(
            (decision.get("beneficiary") or {}, {r: freed.get(r, 0) for r in self._resources})
        )

    def _start(self, decision: Mapping[str, Any], victims: list[Mapping[str, Any]]) -> Step:
        node, request = decision["node"], self._requests[decision["request"]]
        need: Amounts = {r: request.get("resources", {}).get(r, 0) for r in self._resources}
        room = self.room(node, request)
        for victim in victims:
            self._leave(victim)
        self._change(node, need, -1)
        for r in self._resources:
            lacking = need[r]
            for whose, left in self._leaving[node]:
                if _meant(whose, request):
                    taken = min(lacking, left[r])
                    left[r] -= taken
                    lacking -= taken
        return Step(node, decision["request"], need, room, [dict(victim["freed"]) for victim in victims])


def _meant(beneficiary: Mapping[str, Any], request: Mapping[str, Any]) -> bool:
    wanted = beneficiary.get("request")
    if wanted is None:
        return bool(beneficiary.get("operation") == request["operation"])
    return bool(wanted == request["name"])


def carried_out(snapshot: Mapping[str, Any], plan: Mapping[str, Any]) -> dict[str, Any]:
    """Return the snapshot once a plan is carried out and nothing has ended yet."""
    data = deepcopy(dict(snapshot))
    allocations = {row["name"]: row for row in data.get("allocations", ())}
    requests = {row["name"]: row for row in data.get("requests", ())}
    for number, decision in enumerate(plan["decisions"]):
        if decision["action"] == "preempt":
            row = allocations[decision["allocation"]]
            row.update(state="preempting", deadline=decision["until"])
            if decision.get("beneficiary"):
                row["beneficiary"] = dict(decision["beneficiary"])
        elif decision["action"] == "start":
            request = requests[decision["request"]]
            request["count"] = request.get("count", 1) - 1
            name = f"{decision['request']}/{number}"
            allocations[name] = {
                "name": name,
                "operation": request["operation"],
                "node": decision["node"],
                "resources": dict(request.get("resources", {})),
                "start_time": decision["at"],
            }
    data["allocations"] = list(allocations.values())
    data["requests"] = [row for row in requests.values() if row.get("count", 1) > 0]
    for operation in data.get("operations", ()):
        operation.pop("usage", None)
        operation.pop("demand", None)
    return data
