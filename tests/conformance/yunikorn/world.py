"""A case's tree of queues, nodes and allocations as the columns of the core's parts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any

from evenhand.systems.yunikorn.properties import QueueProperties, inherited, properties_of
from evenhand.systems.yunikorn.settings import SWITCHES, YuniKornSettings

#: Parts of policies, one by one: published wheels go without (`EVENHAND_PARTS`).
parts: Any = import_module("evenhand._parts")

Amounts = dict[str, int] | None
POLICIES = ("default", "fence", "disabled")


def switches(**changes: Any) -> dict[str, Any]:
    """Return the switches of the preset "upstream" as the core takes them."""
    settings = YuniKornSettings.preset("upstream", **changes)
    return {name: getattr(settings, name) for name in SWITCHES}


class Types:
    """Numbers of resource types, as they come."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def of(self, amounts: Amounts) -> dict[int, int] | None:
        """Return amounts by number."""
        if amounts is None:
            return None
        for name in amounts:
            if name not in self.names:
                self.names.append(name)
        return {self.names.index(name): amount for name, amount in amounts.items()}

    def named(self, amounts: Mapping[int, int] | None) -> Amounts:
        """Return amounts by name."""
        return None if amounts is None else {self.names[r]: amount for r, amount in amounts.items()}


def added(amounts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Add amounts over all types that they have."""
    sums: dict[str, int] = {}
    for one in amounts:
        for name, amount in one.items():
            sums[name] = sums.get(name, 0) + amount
    return sums


def flat(tree: Mapping[str, Any]) -> list[tuple[str, int, Mapping[str, Any]]]:
    """Return path, parent's place and node of each queue, parents first."""
    found: list[tuple[str, int, Mapping[str, Any]]] = []

    def walk(queue: Mapping[str, Any], above: str, parent: int) -> None:
        path = f"{above}.{queue['name']}" if above else queue["name"]
        found.append((path, parent, queue))
        place = len(found) - 1
        for child in queue.get("children", ()):
            walk(child, path, place)

    walk(tree, "", -1)
    return found


class World:
    """The world of a case, with its names."""

    def __init__(self, case: Mapping[str, Any], **changes: Any) -> None:
        self.types = Types()
        self.queues = flat(case["queues"])
        self.place = {path: row for row, (path, _, _) in enumerate(self.queues)}
        self.rows = list(case.get("allocations", ()))
        nodes = case.get("nodes") or [
            {"id": name} for name in sorted({r.get("node", "n") for r in self.rows})
        ]
        self.nodes = sorted(nodes, key=lambda node: str(node["id"]))
        self.node_ids = [node["id"] for node in self.nodes]
        self.asks: dict[str, int] = {}
        for node in self.nodes:
            self.types.of(node.get("capacity", {}))
        queues, held = self._queues(), self._held()
        ask = case.get("ask") or {}
        for one in (ask, *case.get("asks", ())):
            self.types.of(one.get("resources", {}))
        width = len(self.types.names)
        timeout = case.get("config", {}).get("reservation_wait_timeout_s", 3600)
        settings = {**switches(), "reservation_timeout": int(timeout * 1e6)} | changes
        self.core = parts.YuniKornWorld(settings, queues, held, self._nodes(width), self._reserved(), width)

    def _queues(self) -> dict[str, Any]:
        of_leaf: dict[Any, list[Mapping[str, int]]] = {}
        for row in self.rows:
            of_leaf.setdefault(row.get("queue"), []).append(row["resources"])
        sums = {path: added(amounts) for path, amounts in of_leaf.items()}
        texts: list[dict[str, str]] = []
        properties: list[QueueProperties] = []
        used: list[Amounts] = []
        for row, (path, parent, queue) in enumerate(self.queues):
            above = texts[parent] if parent >= 0 else {}
            texts.append(inherited(above, queue.get("properties", {})))
            properties.append(properties_of(texts[-1]))
            below = added(own for leaf, own in sums.items() if f"{leaf}.".startswith(f"{path}."))
            used.append(queue.get("allocated", below))
            assert row == self.place[path]
        return {
            "parent": [parent for _, parent, _ in self.queues],
            "leaf": [bool(queue.get("leaf")) for _, _, queue in self.queues],
            "policy": [POLICIES.index(p.preemption_policy) for p in properties],
            "priority_fence": [p.priority_policy == "fence" for p in properties],
            "offset": [p.priority_offset for p in properties],
            "path": [path for path, _, _ in self.queues],
            "max": [self.types.of(queue.get("max")) for _, _, queue in self.queues],
            "guaranteed": [self.types.of(queue.get("guaranteed")) for _, _, queue in self.queues],
            "allocated": [self.types.of(amounts) for amounts in used],
            "preempting": [self.types.of(queue.get("preempting")) for _, _, queue in self.queues],
        }

    def _held(self) -> dict[str, Any]:
        return held_columns(self.rows, self.types, self.place, self.node_ids)

    def _nodes(self, width: int) -> dict[str, Any]:
        capacity = [self._dense(node.get("capacity", {}), width) for node in self.nodes]
        free = [list(row) for row in capacity]
        place = {node: number for number, node in enumerate(self.node_ids)}
        for row in self.rows:
            if row.get("node") in place:
                of = free[place[row["node"]]]
                for r, amount in enumerate(self._dense(row["resources"], width)):
                    of[r] -= amount
        return {
            "schedulable": [node.get("schedulable", True) for node in self.nodes],
            "capacity": [amount for row in capacity for amount in row],
            "free": [amount for row in free for amount in row],
        }

    def _dense(self, amounts: Mapping[str, int], width: int) -> list[int]:
        return [amounts.get(name, 0) for name in self.types.names[:width]]

    def _reserved(self) -> dict[str, Any]:
        rows = [(place, one) for place, node in enumerate(self.nodes) for one in node.get("reservations", ())]
        return {
            "node": [place for place, _ in rows],
            "ask": [self.ask_row(one["ask_key"]) for _, one in rows],
            "priority": [one["priority"] for _, one in rows],
            "age": [round(one["age_s"] * 1e6) for _, one in rows],
            "triggered": [bool(one.get("triggered_preemption")) for _, one in rows],
            "required": [bool(one.get("required_node")) for _, one in rows],
        }

    def ask_row(self, key: str) -> int:
        """Return the number of an ask."""
        return self.asks.setdefault(key, len(self.asks))

    def begin(self, ask: Mapping[str, Any]) -> None:
        """Begin with an ask."""
        self.core.begin(
            self.ask_row(ask["key"]),
            self.place[ask["queue"]],
            self.types.of(ask["resources"]),
            ask["priority"],
        )

    def keys(self, rows: Iterable[int]) -> list[str]:
        """Return names of allocations."""
        return [self.rows[row]["key"] for row in rows]

    def predicates(self, config: Mapping[str, Any], ask: str) -> dict[str, Any] | None:
        """Return a plug-in as the core's parts take it; None: there is none."""
        given = config.get("predicates", {"mode": "none"})
        if given["mode"] == "none":
            return None
        place = {row["key"]: number for number, row in enumerate(self.rows)}
        fits = given.get("fits_without_preemption", {}).get(ask)
        return {
            "all": given["mode"] == "all",
            "fits_on": self.node_ids.index(fits) if fits in self.node_ids else -1,
            "calls": [
                (
                    self.node_ids.index(call["node"]),
                    [place[key] for key in call["victims"]],
                    call["start_index"],
                    call["ok_index"],
                )
                for call in given.get("preemption", ())
            ],
        }


def held_columns(
    rows: Iterable[Mapping[str, Any]],
    types: Types,
    queues: Mapping[str, int] | None = None,
    nodes: list[str] | None = None,
) -> dict[str, Any]:
    """Return allocations as columns."""
    rows = list(rows)
    place = {node: number for number, node in enumerate(nodes or ())}
    return {
        "queue": [-1 if queues is None else queues[row["queue"]] for row in rows],
        "node": [place.get(row.get("node"), -1) for row in rows],
        "priority": [row.get("priority", 0) for row in rows],
        "created": [round(row.get("create_time_s", 0) * 1e6) for row in rows],
        "allows": [row.get("allow_preempt_self", False) for row in rows],
        "originator": [row.get("originator", False) for row in rows],
        "barred": [
            bool(row.get("required_node")) or row.get("released", False) or not row.get("in_app", True)
            for row in rows
        ],
        "preempted": [row.get("preempted", False) for row in rows],
        "resources": [types.of(row["resources"]) for row in rows],
    }
