"""Pods that come, are placed, and preempt each other until nothing changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.reference.yunikorn.attempt import Attempt
from tests.reference.yunikorn.resources import add, fits, sub
from tests.reference.yunikorn.world import Allocation, Ask, World

__all__ = ["Scenario"]

#: A pod that waits: its ask, and whether it lets itself be preempted.
Waiting = tuple[Ask, bool]


class Scenario:
    """A partition in which time does not count."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.waiting: list[Waiting] = []
        self.number = 0

    def submit(self, pods: Mapping[str, Any]) -> int:
        """Let equal pods come, and return how many were preempted until all is quiet."""
        for _ in range(pods["count"]):
            self.number += 1
            key = f"{pods['app']}-{self.number}"
            ask = Ask(key, pods["app"], pods["queue"], pods["resources"], pods["priority"])
            self.waiting.append((ask, pods["allow_preempt_self"]))
        preempted = 0
        while True:
            placed = [self._place(pod) for pod in tuple(self.waiting)]
            victims = [self._preempt(pod) for pod in tuple(self.waiting)]
            preempted += sum(victims)
            if not any(placed) and not any(victims):
                return preempted

    def usage(self, queues: Sequence[str]) -> dict[str, dict[str, int]]:
        """Return what queues use, without what is 0."""
        found = {path: self.world.queues[path].allocated or {} for path in queues}
        return {path: {t: v for t, v in used.items() if v} for path, used in found.items()}

    def _within_max(self, ask: Ask) -> bool:
        return all(
            used <= (queue.maximum or {}).get(t, used)
            for queue in self.world.queues[ask.queue].path_up()
            for t, used in add(queue.allocated, ask.resources).items()
        )

    def _start(self, pod: Waiting, node: str) -> None:
        ask, allow = pod
        self.waiting.remove(pod)
        self.number += 1
        self.world.allocations.append(
            Allocation(ask.key, ask.app, ask.queue, node, ask.resources, self.number, ask.priority, allow)
        )
        for queue in self.world.queues[ask.queue].path_up():
            queue.allocated = add(queue.allocated, ask.resources)

    def _place(self, pod: Waiting) -> bool:
        if self._within_max(pod[0]):
            for node in self.world.nodes:
                if fits(self.world.free(node), pod[0].resources):
                    self._start(pod, node.name)
                    return True
        return False

    def _preempt(self, pod: Waiting) -> int:
        """Make an attempt for a pod; victims leave at once, and wait behind all others."""
        outcome = Attempt(self.world, pod[0], nodes_tried=self._within_max(pod[0])).run()
        if outcome.node is None:
            return 0
        for victim in [a for a in self.world.allocations if a.key in outcome.victims]:
            self.world.allocations.remove(victim)
            for queue in self.world.queues[victim.queue].path_up():
                queue.allocated = sub(queue.allocated, victim.resources)
            ask = Ask(victim.key, victim.app, victim.queue, victim.resources, victim.priority)
            self.waiting.append((ask, victim.allow_self))
        self._start(pod, outcome.node)
        return len(outcome.victims)
