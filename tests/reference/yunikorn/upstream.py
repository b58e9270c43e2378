"""Passes as YuniKorn makes them today: each ask that cannot be placed preempts by itself. Readable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.reference.yunikorn.attempt import Attempt
from tests.reference.yunikorn.ordering import app_order, fair_max, priorities, queue_order
from tests.reference.yunikorn.required import required_victims
from tests.reference.yunikorn.resources import Resource, add, sub
from tests.reference.yunikorn.world import Allocation, Ask, Node, Queue, Reservation, World, read_world

if TYPE_CHECKING:
    from evenhand.model import Snapshot

__all__ = ["Passes", "reference_passes"]

_NOTHING = -(2**31)


@dataclass
class Waiting:
    """A request: its ask, how many of them may still be served, and how many have a node reserved."""

    ask: Ask
    left: int
    submitted: float
    tags: frozenset[str]
    reserved: int = 0
    tried: bool = False


@dataclass
class Passes:
    """What is decided until nothing more can be.

    Attributes
    ----------
    decisions : list of tuple
        Action, name of the allocation or request, node.
    """

    world: World
    waiting: list[Waiting]
    apps: Mapping[str, Mapping[str, Any]]
    tags: Mapping[str, frozenset[str]]
    now: float
    attempts: int = 10
    free: dict[str, Resource] = field(default_factory=dict)
    decisions: list[tuple[str, str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.free = {node.name: self.world.free(node) for node in self.world.nodes}
        self.limits = {path: queue.maximum for path, queue in self.world.queues.items() if queue.parent}
        self.used = {name: row["allocated"] for name, row in self.apps.items()}

    def run(self) -> None:
        """Pass after pass, each until its first result."""
        while self.one_pass():
            pass

    def one_pass(self) -> bool:
        """Make a pass; False: nothing came of it."""
        for leaf in self.leaves(self.world.root, self.handed()):
            budget = [self.attempts]
            for row in self.asks(leaf):
                if self.serve(row, budget):
                    return True
        return False

    def handed(self) -> dict[str, int]:
        """Return the priorities that queues hand upward."""
        asking = [(row.ask.queue, row.ask.priority) for row in self.waiting if row.left + row.reserved > 0]
        return priorities(self.world.root, asking)

    def pending(self, queue: Queue) -> Resource:
        """Return what waits below a queue."""
        total: Resource = {}
        for row in self.waiting:
            if queue in self.world.queues[row.ask.queue].path_up():
                for _ in range(row.left + row.reserved):
                    total = add(total, row.ask.resources)
        return total

    def leaves(self, queue: Queue, handed: Mapping[str, int]) -> list[Queue]:
        """Return the leaves below a queue in the order in which they are asked."""
        if queue.leaf:
            return [queue]
        rows = [
            {
                "name": child.path,
                "allocated": child.allocated,
                "guaranteed": child.guaranteed,
                "pending": self.pending(child),
                "fair_max": fair_max(child),
                "priority": handed[child.path],
            }
            for child in queue.children
            if handed[child.path] > _NOTHING
        ]
        first = queue.settings["sort.priority"]
        order = queue_order(rows, "fair", priority_first=first)
        return [leaf for path in order for leaf in self.leaves(self.world.queues[path], handed)]

    def asks(self, leaf: Queue) -> list[Waiting]:
        """Return the asks of a leaf: applications in order, the asks of each by priority and age."""
        mine = [row for row in self.waiting if row.ask.queue == leaf.path and row.left > 0 and not row.tried]
        mine.sort(key=lambda row: (-row.ask.priority, row.submitted))
        highest: dict[str, int] = {}
        for row in mine:
            highest[row.ask.app] = max(row.ask.priority, highest.get(row.ask.app, _NOTHING))
        apps = [
            {
                "id": name,
                "allocated": self.used[name],
                "submit_time_s": row["start_time"],
                "priority": highest[name],
            }
            for name, row in self.apps.items()
            if name in highest
        ]
        order = app_order(apps, "fifo", leaf.guaranteed, priority_first=leaf.settings["sort.priority"])
        return [row for app in order for row in mine if row.ask.app == app]

    def has_headroom(self, ask: Ask) -> bool:
        """Whether the ask fits below all maxima."""
        for queue in self.world.queues[ask.queue].path_up():
            most = self.limits.get(queue.path) or {}
            used = add(queue.allocated, ask.resources)
            if any(t in most and used.get(t, 0) > most[t] for t in ask.resources):
                return False
        return True

    def place(self, row: Waiting) -> Node | None:
        """Return the first node where the ask fits now."""
        for node in self.world.nodes:
            required = row.ask.required_node
            allowed = node.schedulable and row.tags <= self.tags[node.name]
            if allowed and required in ("", node.name) and self.fits_now(row.ask, node):
                return node
        return None

    def fits_now(self, ask: Ask, node: Node) -> bool:
        """Whether there is room that is kept for no other."""
        free = self.free[node.name] or {}
        return all(free.get(t, 0) >= v for t, v in ask.resources.items() if v > 0)

    def serve(self, row: Waiting, budget: list[int]) -> bool:
        """Place an ask, or preempt for it; False: nothing came of it."""
        ask = row.ask
        if not self.has_headroom(ask):
            if self.preempt(row, budget, nodes_tried=False):
                return True
        elif (node := self.place(row)) is not None:
            self.start(row, node)
            return True
        elif ask.required_node:
            if self.on_its_node(row):
                return True
        elif self.preempt(row, budget, nodes_tried=True):
            return True
        row.tried = True
        return False

    def start(self, row: Waiting, node: Node) -> None:
        """Let one start."""
        ask = row.ask
        row.left -= 1
        self.free[node.name] = sub(self.free[node.name], ask.resources)
        self.used[ask.app] = add(self.used[ask.app], ask.resources)
        self.world.allocations.append(
            Allocation(ask.key, ask.app, ask.queue, node.name, ask.resources, self.now, in_app=False)
        )
        for queue in self.world.queues[ask.queue].path_up():
            queue.allocated = add(queue.allocated, ask.resources)
        self.decisions.append(("start", ask.key, node.name))

    def preempt(self, row: Waiting, budget: list[int], *, nodes_tried: bool) -> bool:
        """Make an attempt."""
        ask = row.ask
        delay = self.world.queues[ask.queue].settings["preemption.delay_s"]
        if budget[0] <= 0 or ask.required_node or self.now - row.submitted < delay:
            return False
        budget[0] -= 1
        config = {"mode": "nodes", "nodes": [n for n, tags in self.tags.items() if row.tags <= tags]}
        predicates = config if row.tags else None
        outcome = Attempt(self.world, ask, nodes_tried=nodes_tried, predicates=predicates).run()
        if outcome.node is None:
            return False
        self.leave(outcome.victims)
        self.reserve(row, outcome.node)
        return True

    def leave(self, victims: Sequence[str]) -> None:
        """Let victims leave: they count as used, and as leaving."""
        by_key = {a.key: a for a in self.world.allocations if a.in_app}
        for victim in (by_key[key] for key in victims):
            victim.preempted = True
            for queue in self.world.queues[victim.queue].path_up():
                queue.preempting = add(queue.preempting, victim.resources)
            self.used[victim.app] = sub(self.used[victim.app], victim.resources)
            self.decisions.append(("preempt", victim.key, victim.node))

    def reserve(self, row: Waiting, node: str) -> None:
        """Keep a node for an ask."""
        row.left -= 1
        row.reserved += 1
        next(n for n in self.world.nodes if n.name == node).reservations.append(
            Reservation(
                row.ask.key,
                row.ask.priority,
                0.0,
                triggered=True,
                required_node=row.ask.required_node,
            )
        )
        free = self.free[node] or {}
        self.free[node] = {t: min(v, 0) for t, v in free.items()}  # nothing else is placed there
        self.decisions.append(("reserve", row.ask.key, node))

    def on_its_node(self, row: Waiting) -> bool:
        """Preempt on the only node where an ask can run."""
        node = next(n for n in self.world.nodes if n.name == row.ask.required_node)
        if row.reserved:
            return False
        there = [a for a in self.world.allocations if a.node == node.name and a.in_app]
        victims = required_victims(row.ask, there, self.free[node.name])
        if not victims:
            return False
        self.leave([a.key for a in victims])
        self.reserve(row, node.name)
        return True


def reference_passes(snapshot: Snapshot) -> list[tuple[str, str, str]]:
    """Return what passes over a snapshot decide, with the preset "upstream" and no state."""
    data = snapshot.to_dict()
    world, units = read_world(snapshot)
    rows = {str(row["name"]): row for row in data.get("requests", ())}
    first = {ask.key: ask for ask in units}
    waiting = [
        Waiting(
            first[key],
            row.get("count", 1),
            row.get("submit_time", 0.0),
            frozenset(row.get("node_tags", ())),
        )
        for key, row in rows.items()
        if key in first
    ]
    apps: dict[str, dict[str, Any]] = {
        str(row["name"]): {"start_time": row.get("start_time", 0.0), "allocated": {}}
        for row in data.get("operations", ())
    }
    for allocation in world.allocations:
        if not allocation.preempted:
            of = apps[allocation.app]
            of["allocated"] = add(of["allocated"], allocation.resources)
    tags = {str(row["name"]): frozenset(row.get("tags", ())) for row in data.get("nodes", ())}
    passes = Passes(world, waiting, apps, tags, data.get("now", 0.0))
    passes.run()
    return passes.decisions
