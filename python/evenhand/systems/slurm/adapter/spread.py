"""Jobs of Slurm that ask for tasks and no number of nodes: how their tasks are spread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from evenhand.systems.slurm.adapter.jobs import Job
from evenhand.systems.slurm.adapter.nodes import Node

__all__ = ["Free", "Piece"]


@dataclass(frozen=True, slots=True)
class Piece:
    """What a job needs on each of some nodes, or on one that is named."""

    needs: Mapping[str, int]
    count: int = 1
    node: str | None = None


class Free:
    """What is free on the nodes, and how jobs whose tasks may be spread would use it."""

    def __init__(self, nodes: list[Node], held: Mapping[str, Mapping[str, int]]) -> None:
        self._nodes = {node.name: node for node in nodes}
        self._left = {
            node.name: {r: amount - held.get(node.name, {}).get(r, 0) for r, amount in node.capacity.items()}
            for node in nodes
        }

    def pieces(self, job: Job, tags: list[str]) -> list[Piece]:
        """Return how a job is to be read; what it uses is not free for the next one."""
        if not job.tasks:
            return [Piece(job.needs, job.count)]
        cpus = job.needs["cpu"] // job.tasks
        usable = [n for n in self._nodes.values() if n.schedulable and set(tags) <= set(n.tags)]
        tasks = {node.name: self._tasks(job, node.name, cpus) for node in usable}
        if max(tasks.values(), default=0) >= job.tasks:
            return [Piece(job.needs)]
        found, rest = [], job.tasks
        for name in sorted(tasks, key=lambda name: -tasks[name]):
            here = min(tasks[name], rest)
            if here:
                needs = _needs(job, here * cpus)
                for resource, amount in needs.items():
                    self._left[name][resource] = self._left[name].get(resource, 0) - amount
                found.append(Piece(needs, 1, name))
                rest -= here
        if rest:
            largest = max((node.capacity.get("cpu", 0) // cpus for node in usable), default=0)
            count = -(-rest // largest) if largest else 1
            found.append(Piece(_needs(job, -(-rest // count) * cpus), count))
        return found

    def _tasks(self, job: Job, node: str, cpus: int) -> int:
        """Return how many tasks fit on what is free of a node."""
        left = self._left[node]
        found, memory = max(left.get("cpu", 0) // cpus, 0), left.get("memory", 0)
        if job.per_cpu:
            return max(min(found, memory // (job.per_cpu * cpus)), 0)
        return found if memory >= job.needs.get("memory", 0) else 0


def _needs(job: Job, cpus: int) -> dict[str, int]:
    memory = job.per_cpu * cpus or job.needs.get("memory", 0)
    return {"cpu": cpus, **({"memory": memory} if memory else {})}
