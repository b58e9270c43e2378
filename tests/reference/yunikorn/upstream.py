"""Passes as YuniKorn makes them today: each ask that cannot be placed preempts by itself. Readable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.reference.yunikorn.attempt import Attempt
from tests.reference.yunikorn.ordering import app_order, fair_max, priorities, queue_order
from tests.reference.yunikorn.required import required_victims
from tests.reference.yunikorn.resources import Resource, add, sub
from tests.reference.yunikorn.world import Allocation, Ask, Queue, Reservation, World, read_world

if TYPE_CHECKING:
    from evenhand.model import Snapshot

__all__ = ["Passes", "reference_passes"]

_RESERVES_AFTER = 2.0  # seconds
_RESERVED_FOR = 2 * 3600.0 + 2


@dataclass
class Waiting:
    """A request: its ask, and how many of them have no node reserved."""

    ask: Ask
    left: int
    submitted: float
    tags: frozenset[str]
    may_preempt: bool = True
    tried: bool = False
    attempted: bool = False  # which it may only after a while again


@dataclass(eq=False)
class Kept:
    """A node that one of an ask has reserved: it waits there for victims that leave, or only for room."""

    row: Waiting
    node: str
    age: float
    triggered: bool
    fresh: bool = False
    said: bool = False
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
    kept: list[Kept]
    apps: Mapping[str, Mapping[str, Any]]
    tags: Mapping[str, frozenset[str]]
    now: float
    attempts: int = 10
    free: dict[str, Resource] = field(default_factory=dict)
    decisions: list[tuple[str, str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.nodes = {node.name: node for node in self.world.nodes}
        self.free = {node.name: self.world.free(node) for node in self.world.nodes}
        self.used = {name: row["allocated"] for name, row in self.apps.items()}
        self.tell()

    def run(self) -> None:
        """Pass after pass, each until its first result; what only waits on a node is said at the end."""
        while self.reserved_pass() or self.one_pass():
            pass
        for kept in self.kept:
            if kept.fresh and not kept.said:
                self.decisions.append(("reserve", kept.row.ask.key, kept.node))

    # -- who asks ------------------------------------------------------------------------------------

    def pends(self, row: Waiting) -> int:
        """Return how many of an ask wait, also on a node that they have reserved."""
        return row.left + sum(kept.row is row for kept in self.kept)

    def handed(self) -> dict[str, int]:
        """Return the priorities that queues hand upward."""
        asking = [(row.ask.queue, row.ask.priority) for row in self.waiting if self.pends(row)]
        return priorities(self.world.root, asking)

    def below(self, queue: Queue) -> list[Waiting]:
        """Return what waits in a queue and below it."""
        return [row for row in self.waiting if queue in self.world.queues[row.ask.queue].path_up()]

    def pending(self, queue: Queue) -> Resource:
        """Return what waits below a queue."""
        total: Resource = {}
        for row in self.below(queue):
            for _ in range(self.pends(row)):
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
            if any(self.pends(row) for row in self.below(child))
        ]
        first = queue.settings["sort.priority"]
        order = queue_order(rows, "fair", priority_first=first)
        return [leaf for path in order for leaf in self.leaves(self.world.queues[path], handed)]

    def asks(self, leaf: Queue) -> list[Waiting]:
        """Return the asks of a leaf: applications in order, the asks of each by priority and age."""
        mine = [row for row in self.waiting if row.ask.queue == leaf.path and self.pends(row)]
        mine.sort(key=lambda row: (-row.ask.priority, row.submitted))
        highest: dict[str, int] = {}
        for row in mine:
            highest[row.ask.app] = max(row.ask.priority, highest.get(row.ask.app, row.ask.priority))
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
        order = app_order(
            apps,
            leaf.settings["sort.policy"],
            leaf.guaranteed,
            priority_first=leaf.settings["sort.priority"],
        )
        return [row for app in order for row in mine if row.ask.app == app]

    # -- passes --------------------------------------------------------------------------------------

    def one_pass(self) -> bool:
        """Make a pass; False: nothing came of it."""
        for leaf in self.leaves(self.world.root, self.handed()):
            budget = [self.attempts]
            for row in self.asks(leaf):
                if self.serve_kept(row, budget):
                    return True
                if row.left > 0 and not row.tried and self.serve(row, budget):
                    return True
        return False

    def has_headroom(self, ask: Ask) -> bool:
        """Whether the ask fits below all maxima."""
        for queue in self.world.queues[ask.queue].path_up():
            most = queue.maximum or {}
            used = add(queue.allocated, ask.resources)
            if any(t in most and used.get(t, 0) > most[t] for t, v in ask.resources.items() if v > 0):
                return False
        return True

    def place(self, ask: Ask, tags: frozenset[str]) -> str | None:
        """Return the first node that nobody has reserved where the ask fits now."""
        reserved = {kept.node for kept in self.kept}
        for node in self.world.nodes:
            allowed = node.schedulable and tags <= self.tags[node.name] and node.name not in reserved
            if allowed and self.fits_now(ask, node.name):
                return node.name
        return None

    def fits_now(self, ask: Ask, node: str) -> bool:
        """Whether there is room on a node."""
        free = self.free[node] or {}
        return all(free.get(t, 0) >= v for t, v in ask.resources.items() if v > 0)

    def serve(self, row: Waiting, budget: list[int]) -> bool:
        """Place an ask, let it wait on a node, or preempt for it; False: nothing came of it."""
        ask = row.ask
        if not self.has_headroom(ask):
            if self.preempt(row, budget, nodes_tried=False):
                return True
        elif ask.required_node:
            if self.on_its_node(row):
                return True
        elif (node := self.place(ask, row.tags)) is not None:
            self.start(row, node)
            return True
        elif (node := self.to_reserve(row)) is not None:
            self.reserve(Kept(row, node, 0.0, triggered=False, fresh=True))
            return True
        elif self.preempt(row, budget, nodes_tried=True):
            return True
        row.tried = True
        return False

    def start(self, row: Waiting, node: str) -> None:
        """Let one start."""
        ask = row.ask
        row.left -= 1
        self.free[node] = sub(self.free[node], ask.resources)
        self.used[ask.app] = add(self.used[ask.app], ask.resources)
        self.world.allocations.append(
            Allocation(ask.key, ask.app, ask.queue, node, ask.resources, self.now, in_app=False)
        )
        for queue in self.world.queues[ask.queue].path_up():
            queue.allocated = add(queue.allocated, ask.resources)
        self.decisions.append(("start", ask.key, node))

    def preempt(
        self, row: Waiting, budget: list[int], *, nodes_tried: bool, kept: Kept | None = None
    ) -> bool:
        """Make an attempt; `kept`: of one that has a node reserved."""
        ask = row.ask
        delay = self.world.queues[ask.queue].settings["preemption.delay_s"]
        young = self.now - row.submitted < delay
        if budget[0] <= 0 or ask.required_node or young or not row.may_preempt or row.attempted:
            return False
        budget[0] -= 1
        row.attempted = True
        config = {"mode": "nodes", "nodes": [n for n, tags in self.tags.items() if row.tags <= tags]}
        predicates = config if row.tags else None
        attempt = Attempt(self.world, ask, nodes_tried=nodes_tried, predicates=predicates)
        outcome = attempt.run()
        for node, key in attempt.cancelled:
            self.drop(next(k for k in self.kept if k.node == node and k.row.ask.key == key))
        if outcome.node is None:
            return False
        self.leave(outcome.victims)
        if kept is not None:
            if kept.node != outcome.node and not kept.fresh:
                self.decisions.append(("release", ask.key, kept.node))
            kept.fresh = kept.fresh or kept.node != outcome.node
            self.kept.remove(kept)
            row.left += 1
        fresh = kept is None or kept.fresh
        self.reserve(Kept(row, outcome.node, 0.0, triggered=True, fresh=fresh, said=True))
        others = [k for k in self.kept if k.row is row and not k.triggered]
        row.attempted = row.left == 0 and not others  # each of the others may once, too
        if fresh:
            self.decisions.append(("reserve", ask.key, outcome.node))
        return True

    def leave(self, victims: Sequence[str]) -> None:
        """Let victims leave: they count as used, and as leaving."""
        by_key = {a.key: a for a in self.world.allocations if a.in_app}
        for victim in (by_key[key] for key in victims):
            victim.preempted = True
            for queue in self.world.queues[victim.queue].path_up():
                queue.preempting = add(queue.preempting, victim.resources)
            self.decisions.append(("preempt", victim.key, victim.node))

    # -- reservations --------------------------------------------------------------------------------

    def reserved_pass(self) -> bool:
        """Start one of those that have a node reserved: there, else elsewhere; False: none starts."""
        if not self.kept:
            return False
        for leaf in self.leaves(self.world.root, self.handed()):
            for app in self.apps:
                mine = [k for k in self.kept if k.row.ask.queue == leaf.path and k.row.ask.app == app]
                if self.start_kept(mine):
                    return True
        return False

    def start_kept(self, mine: Sequence[Kept]) -> bool:
        """Start one of an application's."""
        for kept in mine:
            ask = kept.row.ask
            if not self.has_headroom(ask):
                if not ask.required_node and kept.age > _RESERVED_FOR:
                    self.drop(kept)
            elif self.nodes[kept.node].schedulable and self.fits_now(ask, kept.node):
                return self.leave_for(kept, kept.node)
            elif ask.required_node and not (kept.triggered or kept.tried):
                kept.tried = True
                kept.triggered = self.clear(kept.row, kept.node)
                self.tell()
        for kept in mine:
            if kept not in self.kept or kept.row.ask.required_node or not self.has_headroom(kept.row.ask):
                continue
            node = self.place(kept.row.ask, kept.row.tags)
            if node is not None:
                return self.leave_for(kept, node)
        return False

    def leave_for(self, kept: Kept, node: str) -> bool:
        """Let one that has a node reserved start."""
        self.kept.remove(kept)
        kept.row.left += 1
        self.start(kept.row, node)
        if node != kept.node and not kept.fresh and self.pends(kept.row):
            self.decisions.append(("release", kept.row.ask.key, kept.node))
        self.tell()
        return True

    def serve_kept(self, row: Waiting, budget: list[int]) -> bool:
        """Let one that only waits on a node look for victims, once."""
        if row.ask.required_node:
            return False
        for kept in self.kept:
            if kept.row is row and not (kept.triggered or kept.tried):
                kept.tried = True
                return self.preempt(row, budget, nodes_tried=self.has_headroom(row.ask), kept=kept)
        return False

    def to_reserve(self, row: Waiting) -> str | None:
        """Return where an ask that fits nowhere waits: where the least is free beyond what it asks for."""
        if self.now - row.submitted <= _RESERVES_AFTER:
            return None
        reserved = {kept.node for kept in self.kept}
        best, least = None, float("inf")
        for node in self.world.nodes:
            wants = row.ask.resources
            ever = all(v <= (node.capacity or {}).get(t, 0) for t, v in wants.items())
            if not node.schedulable or node.name in reserved or not ever:
                continue
            free = {t: v for t, v in (self.free[node.name] or {}).items() if v > 0}
            score = sum(max(v - wants.get(t, 0), 0) / v for t, v in free.items())
            if score < least:
                best, least = node.name, score
        return best if best is not None and row.tags <= self.tags[best] else None

    def reserve(self, kept: Kept) -> None:
        """Keep a node for an ask."""
        kept.row.left -= 1
        self.kept.append(kept)
        self.tell()

    def drop(self, kept: Kept) -> None:
        """Cancel a reservation; the ask asks again."""
        self.kept.remove(kept)
        kept.row.left += 1
        kept.row.tried = False
        if kept.said or not kept.fresh:
            self.decisions.append(("release", kept.row.ask.key, kept.node))
        self.tell()

    def tell(self) -> None:
        """Let nodes know who waits there."""
        for node in self.world.nodes:
            node.reservations[:] = [
                Reservation(
                    kept.row.ask.key,
                    kept.row.ask.priority,
                    kept.age,
                    triggered=kept.triggered,
                    required_node=kept.row.ask.required_node,
                )
                for kept in self.kept
                if kept.node == node.name
            ]

    def on_its_node(self, row: Waiting) -> bool:
        """Place an ask on the only node where it can run, or let it wait there, and others leave."""
        ask, node = row.ask, self.nodes[row.ask.required_node]
        ever = all(v <= (node.capacity or {}).get(t, 0) for t, v in ask.resources.items())
        if not node.schedulable or not row.tags <= self.tags[node.name] or not ever:
            return False
        for kept in reversed(self.kept[:]):
            if kept.node == node.name and not kept.row.ask.required_node:
                self.drop(kept)
        others = any(kept.node == node.name for kept in self.kept)
        if not others and self.fits_now(ask, node.name):
            self.start(row, node.name)
            return True
        triggered = self.clear(row, node.name)
        self.reserve(Kept(row, node.name, 0.0, triggered=triggered, fresh=True, said=triggered))
        if triggered:
            self.decisions.append(("reserve", ask.key, node.name))
        return True

    def clear(self, row: Waiting, node: str) -> bool:
        """Let work leave the node that one of an ask needs; True: some does."""
        there = [a for a in self.world.allocations if a.node == node and a.in_app]
        victims = required_victims(row.ask, there, self.free[node])
        self.leave([a.key for a in victims])
        return bool(victims)


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
            row.get("settings", {}).get("allow_preempt_other", True),
        )
        for key, row in rows.items()
        if key in first
    ]
    by_key = {row.ask.key: row for row in waiting}
    leaves_for = {
        str((row.get("beneficiary") or {}).get("request"))
        for row in data.get("allocations", ())
        if row.get("state") == "preempting"
    }
    now = data.get("now", 0.0)
    kept = []
    for row in data.get("reservations", ()):
        of = by_key.get(str(row.get("request")))
        if of is not None and of.left > 0:
            of.left -= 1
            age = now - row.get("from", now)
            kept.append(Kept(of, str(row["node"]), age, triggered=of.ask.key in leaves_for))
    apps: dict[str, dict[str, Any]] = {
        str(row["name"]): {"start_time": row.get("start_time", 0.0), "allocated": {}}
        for row in data.get("operations", ())
    }
    for allocation in world.allocations:
        app = apps[allocation.app]
        app["allocated"] = add(app["allocated"], allocation.resources)
    tags = {str(row["name"]): frozenset(row.get("tags", ())) for row in data.get("nodes", ())}
    passes = Passes(world, waiting, kept, apps, tags, now)
    passes.run()
    return passes.decisions
