"""Queues, nodes, allocations and asks of YuniKorn as plain Python."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.reference.yunikorn.resources import Resource, add, min_all, sub, zero

if TYPE_CHECKING:
    from evenhand.model import Snapshot

__all__ = [
    "Allocation",
    "Ask",
    "Node",
    "Queue",
    "Reservation",
    "World",
    "inherited",
    "properties_of",
    "read_world",
    "world_of",
]

_DELAY = re.compile(r"(?:\d+(?:\.\d*)?(?:ns|us|µs|ms|s|m|h))+")
_PART = re.compile(r"(\d+(?:\.\d*)?)(ns|us|µs|ms|s|m|h)")
_UNIT = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass
class Allocation:
    """A container that runs."""

    key: str
    app: str
    queue: str
    node: str
    resources: Mapping[str, int]
    created: float
    priority: int = 0
    allow_self: bool = False
    originator: bool = False
    in_app: bool = True
    required_node: str = ""
    released: bool = False
    preempted: bool = False


@dataclass
class Ask:
    """A container that waits."""

    key: str
    app: str
    queue: str
    resources: Mapping[str, int]
    priority: int = 0
    required_node: str = ""


@dataclass
class Reservation:
    """A node kept for an ask."""

    ask: str
    priority: int
    age: float
    triggered: bool = False
    required_node: str = ""


@dataclass
class Node:
    """A machine."""

    name: str
    capacity: Mapping[str, int]
    schedulable: bool = True
    reservations: list[Reservation] = field(default_factory=list)


@dataclass
class Queue:
    """A queue, with its properties as they are after inheritance."""

    path: str
    parent: Queue | None
    maximum: Resource
    guaranteed: Resource
    settings: Mapping[str, Any]
    allocated: Resource = field(default_factory=dict)
    preempting: Resource = field(default_factory=dict)
    children: list[Queue] = field(default_factory=list)

    @property
    def leaf(self) -> bool:
        """Whether it has no queues below it."""
        return not self.children

    @property
    def effective_max(self) -> Resource:
        """The smallest maximum on its path."""
        return min_all(None if self.parent is None else self.parent.effective_max, self.maximum)

    def path_up(self) -> Iterator[Queue]:
        """Yield the queue and all above it."""
        queue: Queue | None = self
        while queue is not None:
            yield queue
            queue = queue.parent

    def tree(self) -> Iterator[Queue]:
        """Yield the queue and all below it, depth first."""
        yield self
        for child in self.children:
            yield from child.tree()


@dataclass
class World:
    """A partition."""

    root: Queue
    nodes: list[Node]
    allocations: list[Allocation]

    def __post_init__(self) -> None:
        self.queues = {queue.path: queue for queue in self.root.tree()}

    def running(self, queue: Queue) -> list[Allocation]:
        """Return the allocations of a leaf's applications."""
        return [a for a in self.allocations if a.queue == queue.path and a.in_app]

    def free(self, node: Node) -> Resource:
        """Return what nobody has on a node."""
        used: Resource = {}
        for allocation in self.allocations:
            if allocation.node == node.name:
                used = add(used, allocation.resources)
        return sub(node.capacity, used)


def _delay(text: str, default: float, *, off: bool = False) -> float:
    if off and text == "0":
        return 0.0
    if not _DELAY.fullmatch(text):
        return default
    found = sum(float(number) * _UNIT[unit] for number, unit in _PART.findall(text))
    return found if found > 0 else default


def _offset(text: str) -> int:
    try:
        found = int(text)
    except ValueError:
        return 0
    return found if -(2**31) <= found < 2**31 else 0


def inherited(parent: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """Return the texts of a configured queue: its own, over what it has from its parent."""
    kept = {k: v for k, v in parent.items() if k not in ("priority.policy", "priority.offset")}
    if kept.get("preemption.policy", "").lower() == "fence":
        kept["preemption.policy"] = "default"
    return {**kept, **own}


def properties_of(texts: Mapping[str, str]) -> dict[str, Any]:
    """Return what texts of properties mean; a bad one is as if it were not there."""
    policy = texts.get("preemption.policy", "").lower()
    return {
        "preemption.policy": policy if policy in ("default", "fence", "disabled") else "default",
        "preemption.delay_s": _delay(texts.get("preemption.delay", ""), 30.0),
        "priority.policy": "fence" if texts.get("priority.policy", "").lower() == "fence" else "default",
        "priority.offset": _offset(texts.get("priority.offset", "")),
        "sort.policy": "fair" if texts.get("application.sort.policy", "").lower() == "fair" else "fifo",
        "sort.priority": texts.get("application.sort.priority", "").lower() != "disabled",
        "quota.preemption.delay_s": _delay(texts.get("quota.preemption.delay", ""), 0.0, off=True),
    }


def _queue(row: Mapping[str, Any], parent: Queue | None, texts: Mapping[str, str]) -> Queue:
    own = inherited(texts, row.get("properties") or {})
    # A maximum or a guarantee of zeros only is stored as if it were not set.
    found = Queue(
        path=row["name"] if parent is None else f"{parent.path}.{row['name']}",
        parent=parent,
        maximum=None if zero(row.get("max")) else row["max"],
        guaranteed=None if zero(row.get("guaranteed")) else row["guaranteed"],
        settings=properties_of(own),
    )
    found.children = [_queue(child, found, own) for child in row.get("children") or ()]
    return found


def world_of(case: Mapping[str, Any]) -> World:
    """Return the partition of a case in the vocabulary of the conformance cases."""
    allocations = [
        Allocation(
            row["key"],
            row["app"],
            row.get("queue", ""),
            row.get("node", ""),
            row["resources"],
            row["create_time_s"],
            row.get("priority", 0),
            row.get("allow_preempt_self", False),
            row.get("originator", False),
            row.get("in_app", True),
            row.get("required_node") or "",
            row.get("released", False),
            row.get("preempted", False),
        )
        for row in case.get("allocations", ())
    ]
    nodes = [
        Node(
            row["id"],
            row["capacity"],
            row.get("schedulable", True),
            [
                Reservation(
                    kept["ask_key"],
                    kept.get("priority", 0),
                    kept.get("age_s", 0),
                    kept.get("triggered_preemption", False),
                    kept.get("required_node") or "",
                )
                for kept in row.get("reservations", ())
            ],
        )
        for row in case.get("nodes", ())
    ]
    world = World(_queue(case["queues"], None, {}), nodes, allocations)
    for allocation in allocations:
        for queue in world.queues[allocation.queue].path_up():
            queue.allocated = add(queue.allocated, allocation.resources)
    _override(case["queues"], world.root)
    return world


def _override(row: Mapping[str, Any], queue: Queue) -> None:
    """Put what a case says of usage in the place of what its allocations add up to."""
    if "allocated" in row:
        queue.allocated = row["allocated"]
    if "preempting" in row:
        queue.preempting = row["preempting"]
    for child, below in zip(row.get("children") or (), queue.children, strict=True):
        _override(child, below)


def read_world(snapshot: Snapshot) -> tuple[World, list[Ask]]:
    """Return the partition of a snapshot, and its asks, each unit of a request one; amounts are quanta.

    Pools are named by their paths.
    """
    data = snapshot.to_dict()
    quanta = dict(zip(snapshot.resources, snapshot._head["quantum"], strict=True))
    now = data.get("now", 0.0)

    def amounts(given: Mapping[str, Any] | None) -> dict[str, int]:
        return {t: round(v / quanta[t]) for t, v in (given or {}).items()}

    total: dict[str, int] = {}
    for row in data.get("nodes", ()):
        total = add(total, amounts(row.get("capacity")))
    total = {t: v for t, v in (total | amounts(data.get("total"))).items() if v}
    rows: dict[str, dict[str, Any]] = {
        str(row["name"]): {
            "name": str(row["name"]),
            "max": amounts(row.get("limits")),
            "guaranteed": amounts(row.get("strong_guarantee")),
            "properties": row.get("settings", {}).get("properties") or {},
            "children": [],
        }
        for row in data.get("pools", ())
    }
    top = data.get("root", {})
    limits = amounts(top.get("limits"))
    root: dict[str, Any] = {
        "name": "root",
        "max": limits | {t: min(v, limits.get(t, v)) for t, v in total.items()},
        "properties": top.get("settings", {}).get("properties") or {},
        "children": [],
    }
    for row in data.get("pools", ()):
        above = root if row.get("parent") is None else rows[str(row["parent"])]
        own = rows[str(row["name"])]
        own["name"] = own["name"].removeprefix(f"{row.get('parent') or 'root'}.")
        above["children"].append(own)
    tree = _queue(root, None, {})
    owners = {str(op["name"]): op for op in data.get("operations", ())}

    def common(row: Mapping[str, Any]) -> tuple[str, str, str, dict[str, int]]:
        op = owners[str(row["operation"])]
        queue = "root" if op.get("pool") is None else str(op["pool"])
        return str(row["name"]), str(row["operation"]), queue, amounts(row.get("resources"))

    def priority(row: Mapping[str, Any]) -> int:
        own = row.get("priority")
        return int(owners[str(row["operation"])].get("priority") or 0 if own is None else own)

    allocations = []
    for row in data.get("allocations", ()):
        key, app, path, resources = common(row)
        allocations.append(
            Allocation(
                key,
                app,
                path,
                str(row["node"]),
                resources,
                row.get("start_time", 0.0),
                priority(row),
                row.get("preemptible", True),
                row.get("originator", False),
                required_node=str(row.get("required_node") or ""),
                preempted=row.get("state") == "preempting",
            )
        )
    asks = {}
    for row in data.get("requests", ()):
        key, app, path, resources = common(row)
        asks[key] = Ask(key, app, path, resources, priority(row), str(row.get("required_node") or ""))
    kept: dict[str, list[Reservation]] = {}
    for row in data.get("reservations", ()):
        ask = asks[str(row["request"])]
        age = now - row.get("from", now)
        kept.setdefault(str(row["node"]), []).append(
            Reservation(ask.key, ask.priority, age, required_node=ask.required_node)
        )
    nodes = [
        Node(
            str(row["name"]),
            amounts(row.get("capacity")),
            row.get("schedulable", True),
            kept.get(str(row["name"]), []),
        )
        for row in data.get("nodes", ())
    ]
    world = World(tree, nodes, allocations)
    for allocation in allocations:
        for queue in world.queues[allocation.queue].path_up():
            queue.allocated = add(queue.allocated, allocation.resources)
            if allocation.preempted:
                queue.preempting = add(queue.preempting, allocation.resources)
    counts = {str(row["name"]): row.get("count", 1) for row in data.get("requests", ())}
    return world, [ask for key, ask in asks.items() for _ in range(counts[key])]
