"""One attempt of generic preemption: for one ask, from the candidates to the victims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.reference.yunikorn.resources import (
    Resource,
    above_existing,
    add,
    fits,
    fits_actual,
    matches_any,
    same,
    sub_clamped,
)
from tests.reference.yunikorn.snapshots import (
    Snapshot,
    copied,
    over_guaranteed,
    snapshots_of,
    under_guaranteed,
)
from tests.reference.yunikorn.world import Allocation, Ask, Node, Queue, Reservation, World

__all__ = ["Attempt", "Outcome", "attempt_round", "may_try", "score"]

_UNFIT, _OPTED_OUT, _ORIGINATOR = 2**35, 2**34, 2**33
_SATISFACTORY = 2**32
_BATCH = 10
_SLACK = 2.0  # seconds over twice the time-out of a reservation


@dataclass
class Outcome:
    """What became of an attempt."""

    failure: str | None = None
    node: str | None = None
    victims: list[str] = field(default_factory=list)

    @property
    def success(self) -> bool:
        """Whether the node is reserved for the ask."""
        return self.failure is None


@dataclass
class Solution:
    """A node on which the ask fits when victims leave, as far as amounts say."""

    node: Node
    start: int
    victims: list[Allocation]


def may_try(ask: Mapping[str, Any], delay: float, retry: float) -> bool:
    """Whether an ask may try now; fields as in the cases of that kind."""
    last = ask["since_last_check_s"]
    return bool(
        ask["allow_preempt_other"]
        and not ask["already_triggered"]
        and not ask["required_node"]
        and ask["age_s"] >= delay
        and (last is None or last >= retry)
    )


def score(candidates: Sequence[Allocation] | None, index: int, *, success: bool) -> int:
    """Return how good an answer of the predicates is; less is better."""
    if not success or candidates is None:
        return _UNFIT
    if index < 0:
        return 0
    if index >= len(candidates):
        return _UNFIT
    first = candidates[: index + 1]
    found = _OPTED_OUT if any(not a.allow_self for a in first) else 0
    found += _ORIGINATOR if any(a.originator for a in first) else 0
    return found + index + 1


class Attempt:
    """One attempt for one ask; `run` makes its steps."""

    def __init__(
        self,
        world: World,
        ask: Ask,
        *,
        nodes_tried: bool = False,
        predicates: Mapping[str, Any] | None = None,
        released_meanwhile: Sequence[str] = (),
        reservation_timeout: float = 3600.0,
    ) -> None:
        self.world, self.ask = world, ask
        self.nodes_tried = nodes_tried
        self.predicates = predicates or {"mode": "none"}
        self.released_meanwhile = set(released_meanwhile)
        self.reservation_timeout = reservation_timeout
        self.leaf = world.queues[ask.queue]
        self.cancelled: list[tuple[str, str]] = []
        self.levels, self.fence_root = self._fence()
        self.candidates: list[Allocation] = []
        self._walk(self.fence_root, self.levels[self.fence_root.path], free=False)
        leaves = [world.queues[path] for path in sorted({a.queue for a in self.candidates})]
        self.snapshots = snapshots_of([self.leaf, *leaves], self.leaf)

    def _fence(self) -> tuple[dict[str, int], Queue]:
        """Go up to the fence: the priority of the ask at each queue, and the queue at which it stops."""
        levels: dict[str, int] = {}
        level = self.ask.priority
        for queue in self.leaf.path_up():
            offset = queue.settings["priority.offset"]
            level = offset if queue.settings["priority.policy"] == "fence" else level + offset
            levels[queue.path] = level
            most = queue.effective_max
            wanted = add(queue.allocated, self.ask.resources)
            if (
                queue.parent is None
                or queue.settings["preemption.policy"] == "fence"
                or (most and not above_existing(most, wanted, strictly=False))
            ):
                return levels, queue
        raise AssertionError("the root is a fence")

    def _walk(self, queue: Queue, level: int, *, free: bool) -> None:
        """Collect the candidates below a queue; below a fence of priorities all are free to take."""
        if queue is self.leaf:
            return
        if not queue.leaf:
            for child in queue.children:
                offset = child.settings["priority.offset"]
                if child.path in self.levels:
                    self._walk(child, self.levels[child.path], free=free)
                elif child.settings["priority.policy"] != "fence":
                    self._walk(child, level - offset, free=free)
                elif offset <= level:
                    self._walk(child, level, free=True)
            return
        if queue.settings["preemption.policy"] == "disabled":
            return
        remaining = snapshots_of([queue], self.leaf)[queue.path].remaining_guaranteed()
        if remaining is not None and all(v >= 0 for v in remaining.values()):
            return
        self.candidates += [
            a
            for a in self.world.running(queue)
            if matches_any(self.ask.resources, a.resources)
            and not (a.required_node or a.released or a.preempted)
            and (free or a.priority <= level)
        ]

    def guarantee_check(self) -> bool:
        """Whether the queue could be within its guarantee if everything were taken."""
        what_if = copied(self.snapshots)
        asking = what_if[self.leaf.path]
        remaining = asking.remaining_guaranteed()
        if remaining is not None and fits_actual(remaining, self.ask.resources):
            return True
        asking.give(self.ask.resources)
        for victim in self.candidates:
            what_if[victim.queue].take(victim.resources)
            if under_guaranteed(self.ask.resources, asking.remaining_guaranteed()):
                return True
        return False

    def _in(self, node: Node) -> bool:
        """Whether a node may be used; old reservations of lesser asks are cancelled."""
        if not node.schedulable or not fits(node.capacity, self.ask.resources):
            return False
        others = [kept for kept in node.reservations if kept.ask != self.ask.key]
        if not others:
            return True
        old = [
            kept
            for kept in others
            if not kept.required_node
            and not kept.triggered
            and kept.priority < self.ask.priority
            and kept.age > 2 * self.reservation_timeout + _SLACK
        ]
        self.cancelled += [(node.name, kept.ask) for kept in old]
        return bool(old)

    def _set_up(self) -> None:
        """Say which nodes are in, what is free there, and which candidates they have, in order."""
        self.nodes = [node for node in self.world.nodes if self._in(node)]
        self.free = {node.name: self.world.free(node) for node in self.nodes}
        self.by_node: dict[str, list[Allocation]] = {}
        for candidate in self.candidates:
            if candidate.node in self.free:
                self.by_node.setdefault(candidate.node, []).append(candidate)
        for there in self.by_node.values():
            there.sort(key=lambda a: (not a.allow_self, a.originator, -a.created))

    def _take(self, victim: Allocation, what_if: dict[str, Snapshot]) -> bool:
        """Take a victim from its queue; it is put back, and the answer is no, if it must stay."""
        leaf = what_if[victim.queue]
        before = leaf.remaining_guaranteed()
        leaf.take(victim.resources)
        left = leaf.preemptable()
        if all(v >= 0 for v in (left or {}).values()) and over_guaranteed(self.ask.resources, before):
            return True
        leaf.give(victim.resources)
        return False

    def _ordered(self, node: Node) -> list[Allocation]:
        """Return candidates of a node: those that help the ask there first."""
        what_if = copied(self.snapshots)
        asking = what_if[self.leaf.path]
        free, head, tail = self.free[node.name], [], []
        for victim in self.by_node.get(node.name, ()):
            if not self._take(victim, what_if):
                continue
            remaining = asking.remaining_guaranteed()
            if remaining is None or not fits_actual(remaining, victim.resources):
                what_if[victim.queue].give(victim.resources)
                break
            asking.give(victim.resources)
            larger = add(free, victim.resources)
            wanted = self.ask.resources
            if same(sub_clamped(wanted, free), sub_clamped(wanted, larger)):
                asking.take(victim.resources)
                what_if[victim.queue].give(victim.resources)
                tail.append(victim)
            else:
                free = larger
                head.append(victim)
        return head + tail

    def solution(self, node: Node) -> Solution | None:
        """Return what must leave on a node, or None."""
        if fits(self.free[node.name], self.ask.resources):
            return Solution(node, -1, [])
        what_if = copied(self.snapshots)
        free, start = self.free[node.name], None
        victims: list[Allocation] = []
        for victim in self._ordered(node):
            if not self._take(victim, what_if):
                continue
            free = add(free, victim.resources)
            victims.append(victim)
            if start is None and fits(free, self.ask.resources):
                start = len(victims) - 1
        return None if start is None else Solution(node, start, victims)

    def solutions(self) -> list[Solution]:
        """Return the nodes that may do, in the order in which they are tried."""
        found = [s for node in self.nodes if (s := self.solution(node)) is not None]
        found = [s for s in found if s.victims or not self.nodes_tried]
        return sorted(found, key=lambda s: (s.start, s.node.name))

    def _answer(self, solution: Solution) -> int | None:
        """Return the index of the last victim that the predicates need gone, -1: none; None: it fails."""
        mode = self.predicates["mode"]
        if mode == "all" or (mode == "nodes" and solution.node.name in self.predicates["nodes"]):
            return solution.start
        if not solution.victims:
            only = self.predicates.get("fits_without_preemption", {}).get(self.ask.key)
            return -1 if only == solution.node.name else None
        for call in self.predicates.get("preemption", ()):
            if (
                call["node"] == solution.node.name
                and call["victims"] == [v.key for v in solution.victims]
                and call["start_index"] == solution.start
            ):
                return int(call["ok_index"])
        return None

    def choose(self) -> tuple[Node, list[Allocation]] | None:
        """Return the node and who must leave there."""
        solutions = self.solutions()
        if self.predicates["mode"] == "none":
            return (solutions[0].node, solutions[0].victims[: solutions[0].start + 1]) if solutions else None
        best: tuple[int, Solution, int] | None = None
        for place in range(0, len(solutions), _BATCH):
            for solution in solutions[place : place + _BATCH]:
                index = self._answer(solution)
                if index is None:
                    continue
                said = score(self.by_node.get(solution.node.name), index, success=True)
                if best is None or said < best[0]:
                    best = (said, solution, index)
            if best is not None and best[0] < _SATISFACTORY:
                break
        if best is None:
            return None
        return best[1].node, best[1].victims[: best[2] + 1]

    def additional(self, chosen: list[Allocation]) -> list[Allocation] | None:
        """Return victims for room in the quota, on whatever node; None: they would not bring it."""
        what_if = copied(self.snapshots)
        asking = what_if[self.leaf.path]
        for victim in chosen:
            what_if[victim.queue].take(victim.resources)
        rest = [a for a in self.candidates if a not in chosen]
        rest.sort(key=lambda a: (not a.allow_self, a.originator, -a.created))
        found: list[Allocation] = []
        for victim in rest:
            if not self._take(victim, what_if):
                continue
            before = asking.remaining_guaranteed()
            if before is None or not fits_actual(before, victim.resources):
                what_if[victim.queue].give(victim.resources)
                break
            asking.give(victim.resources)
            if same(before, asking.remaining_guaranteed()):
                asking.take(victim.resources)
                what_if[victim.queue].give(victim.resources)
            else:
                found.append(victim)
        if found and not under_guaranteed(self.ask.resources, asking.remaining_guaranteed()):
            return None
        return found

    def run(self) -> Outcome:
        """Make the attempt."""
        if not self.guarantee_check():
            return Outcome("queue_guarantee_check")
        self._set_up()
        chosen = self.choose()
        if chosen is None:
            return Outcome("no_node")
        node, victims = chosen
        more = self.additional(victims)
        if more is None:
            return Outcome("additional_victims_over_guarantee")
        named = victims + more
        if not named:
            return Outcome("no_victims")
        fits_now = fits(self.free[node.name], self.ask.resources)
        final: list[Allocation] = []
        total: Resource = {}
        for victim in named:
            if not fits_now and victim.node != node.name:
                continue
            if above_existing(self.ask.resources, total, strictly=True):
                final.append(victim)
            total = add(total, victim.resources)
        if above_existing(self.ask.resources, total, strictly=True):
            return Outcome("shortfall")
        if any(victim.key in self.released_meanwhile for victim in final):
            return Outcome("victim_released")
        return Outcome(None, node.name, [victim.key for victim in final])


def attempt_round(world: World, asks: Sequence[Ask], **config: Any) -> list[Outcome]:
    """Make attempts in turn: victims stay and count as leaving, the node is kept for the ask."""
    found: list[Outcome] = []
    by_key = {a.key: a for a in world.allocations}
    nodes = {node.name: node for node in world.nodes}
    for ask in asks:
        outcome = Attempt(world, ask, **config).run()
        found.append(outcome)
        for victim in (by_key[key] for key in outcome.victims):
            victim.preempted = True
            for queue in world.queues[victim.queue].path_up():
                queue.preempting = add(queue.preempting, victim.resources)
        if outcome.node is not None:
            nodes[outcome.node].reservations.append(Reservation(ask.key, ask.priority, 0.0, triggered=True))
    return found
