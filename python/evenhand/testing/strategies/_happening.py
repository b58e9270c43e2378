"""What may happen to a cluster next: events that the cluster takes, chosen by small numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenhand.cluster.events import Event

__all__ = ["Code", "Happening"]

Code = tuple[int, ...]
_ALL = ("time", "start", "end", "ask", "count", "leave", "suspend", "resume", "job", "resize", "node")


class Happening:
    """A cluster's rows, as far as events depend on them."""

    def __init__(self, data: Mapping[str, Any], *, overfull: bool = False) -> None:
        self.now: float = data.get("now", 0)
        self._overfull = overfull
        self._spaces = {name: fields or {} for name, fields in data["resources"].items()}
        self._nodes = {n["name"]: dict(n) for n in data.get("nodes", ()) if n.get("physical") is None}
        stated = ("usage", "demand")
        self._operations = [
            row["name"] for row in data.get("operations", ()) if not any(field in row for field in stated)
        ]
        self._allocations = {row["name"]: dict(row) for row in data.get("allocations", ())}
        self._requests = {row["name"]: dict(row) for row in data.get("requests", ())}
        self._made = 0

    def next(self, code: Code) -> Event:
        """Return an event that may happen now, and let it happen to the rows."""
        for turn in range(len(_ALL)):  # time always passes
            make: Callable[[Code], Event | None]
            make = getattr(self, "_" + _ALL[(code[0] + turn) % len(_ALL)])
            event = make(code[1:])
            if event is not None:
                return event
        raise AssertionError("no event may happen")

    def _counts(self, amounts: Mapping[str, Any]) -> dict[str, int]:
        return {r: round(a / self._spaces[r].get("quantum", 1)) for r, a in amounts.items()}

    def _units(self, counts: Mapping[str, int]) -> dict[str, Any]:
        return {r: count * self._spaces[r].get("quantum", 1) for r, count in counts.items() if count}

    def _free(self, node: Any) -> dict[str, int]:
        """Return the quanta that are free: of a node, and of the cluster's own resources."""
        wide = {r for r, fields in self._spaces.items() if fields.get("scope") == "cluster"}
        free = self._counts({r: fields.get("capacity", 0) for r, fields in self._spaces.items() if r in wide})
        free |= self._counts(self._nodes[node].get("capacity", {}))
        for row in self._allocations.values():
            held = row.get("held", {}) if row.get("state") == "preempted" else row.get("resources", {})
            for r, count in self._counts(held).items():
                if r in wide or row.get("node") == node:
                    free[r] = free.get(r, 0) - count
        return free

    def _fits(self, wanted: Mapping[str, int], node: Any) -> bool:
        free = self._free(node)
        return self._overfull or all(count <= free.get(r, 0) for r, count in wanted.items() if count)

    def _of_state(self, *states: str) -> list[dict[str, Any]]:
        return [row for row in self._allocations.values() if row.get("state", "running") in states]

    def _fresh(self, prefix: str, taken: Mapping[Any, Any]) -> str:
        self._made += 1
        while f"{prefix}{self._made}" in taken:
            self._made += 1
        return f"{prefix}{self._made}"

    def _time(self, code: Code) -> Event:
        from evenhand.cluster.events import Time

        self.now += 1 + 10 * code[0]
        return Time(self.now)

    def _start(self, code: Code) -> Event | None:
        from evenhand.cluster.events import Start

        asked = [r for r in self._requests.values() if r["operation"] in self._operations]
        asked = [r for r in asked if r.get("count", 1) > 0]
        nodes = [n for n, row in self._nodes.items() if row.get("schedulable", True)]
        if not asked or not nodes:
            return None
        request = asked[code[0] % len(asked)]
        node = request.get("required_node", nodes[code[1] % len(nodes)])
        wanted = request.get("resources", {})
        if node not in nodes or not self._fits(self._counts(wanted), node):
            return None
        row = {"name": self._fresh("new", self._allocations), "operation": request["operation"]}
        row |= {"node": node, "resources": dict(wanted)}
        self._allocations[row["name"]] = {**row, "state": "running"}
        self._set_count(request["name"], request.get("count", 1) - 1)
        return Start(row, request["name"])

    def _end(self, code: Code) -> Event | None:
        from evenhand.cluster.events import End

        if not self._allocations:
            return None
        name = list(self._allocations)[code[0] % len(self._allocations)]
        del self._allocations[name]
        return End(name)

    def _ask(self, code: Code) -> Event | None:
        from evenhand.cluster.events import Put

        if not self._operations:
            return None
        counts = {
            r: (1 + code[1] % 4 if i == 0 else code[2 + i % 2] % 4)
            for i, r in enumerate(r for r, f in self._spaces.items() if f.get("scope") != "cluster")
        }
        row = {
            "name": self._fresh("ask", self._requests),
            "operation": self._operations[code[0] % len(self._operations)],
            "resources": self._units(counts),
            "count": 1 + code[4] % 2,
            "submit_time": self.now,
        }
        self._requests[row["name"]] = dict(row)
        return Put("requests", row)

    def _count(self, code: Code) -> Event | None:
        from evenhand.cluster.events import Count

        if not self._requests:
            return None
        name = list(self._requests)[code[0] % len(self._requests)]
        count = code[1] % 4
        self._set_count(name, count)
        return Count(name, count)

    def _set_count(self, request: Any, count: int) -> None:
        self._requests[request]["count"] = count
        if not count:
            del self._requests[request]

    def _leave(self, code: Code) -> Event | None:
        from evenhand.cluster.events import Leave

        running = self._of_state("running")
        if not running:
            return None
        row = running[code[0] % len(running)]
        row["state"] = "preempting"
        whom = list(self._requests)
        beneficiary = whom[code[1] % len(whom)] if whom and code[2] % 2 else None
        return Leave(row["name"], self.now + code[3], beneficiary)

    def _suspend(self, code: Code) -> Event | None:
        from evenhand.cluster.events import Suspend

        there = self._of_state("running", "suspended", "preempting")
        if not there:
            return None
        row = there[code[0] % len(there)]
        counts = self._counts(row.get("resources", {}))
        held = self._units({r: count // 2 for r, count in counts.items()} if code[1] % 2 else {})
        row |= {"state": "preempted", "held": held}
        return Suspend(row["name"], held)

    def _resume(self, code: Code) -> Event | None:
        from evenhand.cluster.events import Resume

        away = self._of_state("preempted")
        if not away:
            return None
        row = away[code[0] % len(away)]
        held = self._counts(row.get("held", {}))
        lacking = {r: c - held.get(r, 0) for r, c in self._counts(row.get("resources", {})).items()}
        if row.get("node") not in self._nodes or not self._fits(lacking, row["node"]):
            return None
        row["state"] = "running"
        row.pop("held", None)
        return Resume(row["name"])

    def _job(self, code: Code) -> Event | None:
        from evenhand.cluster.events import Job

        running = self._of_state("running")
        if not running:
            return None
        name = running[code[0] % len(running)]["name"]
        return Job(name, self.now) if code[1] % 2 else Job(name, last_progress_time=self.now)

    def _resize(self, code: Code) -> Event | None:
        from evenhand.cluster.events import Resize

        running = self._of_state("running")
        if not running:
            return None
        row = running[code[0] % len(running)]
        counts = self._counts(row.get("resources", {}))
        resources = self._units(
            {r: max(count - code[1] % 2, 1 if count else 0) for r, count in counts.items()}
        )
        row["resources"] = resources
        return Resize(row["name"], resources)

    def _node(self, code: Code) -> Event | None:
        from evenhand.cluster.events import Node

        if not self._nodes:
            return None
        name = list(self._nodes)[code[0] % len(self._nodes)]
        row = self._nodes[name]
        if code[1] % 2:
            row["schedulable"] = not row.get("schedulable", True)
            return Node(name, schedulable=row["schedulable"])
        counts = self._counts(row.get("capacity", {}))
        least = {} if self._overfull else {r: c - max(f, 0) for (r, c), f in self._pairs(counts, name)}
        change = code[2] % 5 - 1
        row["capacity"] = self._units({r: max(c + change, least.get(r, 0), 0) for r, c in counts.items()})
        return Node(name, row["capacity"])

    def _pairs(self, counts: Mapping[str, int], node: Any) -> list[tuple[tuple[str, int], int]]:
        free = self._free(node)
        return [((r, count), free.get(r, 0)) for r, count in counts.items()]
