"""Which steps may run side by side: those that share no node and no owner of a victim."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from evenhand.act.naming import asking, holding, users

if TYPE_CHECKING:
    from evenhand.act.tasks import Task
    from evenhand.model import Snapshot

__all__ = ["Footprints"]

Footprint = frozenset[tuple[str, str]]


class Footprints:
    """What each step of a plan touches."""

    def __init__(self, snapshot: Snapshot, tasks: Sequence[Task], *, whole: bool) -> None:
        nodes = list(map(str, snapshot.names("nodes")))
        victims = {job for task in tasks for job in task.victims}
        where = np.asarray(snapshot._core.column("allocations", "node")).tolist()
        owner = users(snapshot, whole=whole)
        places: dict[str, set[tuple[str, str]]] = {}
        for job, node in zip(holding(snapshot, whole=whole), where, strict=True):
            if node >= 0 and job in victims:
                places.setdefault(job, set()).add(("node", nodes[node]))
        self._of: dict[int, Footprint] = {}
        for task in tasks:
            found = {("node", str(d.node)) for d in task.step.decisions if d.node is not None}
            for job in task.victims:
                found |= places.get(job, set())
                if job in owner:
                    found.add(("owner", owner[job]))
            self._of[task.step.number] = frozenset(found)
        self._reach = _Reach(snapshot, tasks, whole)

    def independent(self, waiting: Iterable[Task], running: Iterable[Task]) -> list[Task]:
        """Return the steps that share nothing with one that runs or waits before them.

        Nor could the beneficiary of one that waits start in their room: it stands before them in the queue,
        and the cluster would give it the room.
        """
        taken: set[tuple[str, str]] = set()
        for task in running:
            taken |= self._of[task.step.number]
        found: list[Task] = []
        later: list[Task] = []
        for task in waiting:
            own = self._of[task.step.number]
            nodes = {name for kind, name in own if kind == "node"}
            if own & taken or any(self._reach.may(before, nodes) for before in later):
                later.append(task)
            else:
                found.append(task)
            taken |= own
        return found


class _Reach:
    """Where beneficiaries may start, as far as tags and required nodes show."""

    def __init__(self, snapshot: Snapshot, tasks: Sequence[Task], whole: bool) -> None:
        core = snapshot._core
        nodes, tags = list(map(str, snapshot.names("nodes"))), _tags(snapshot, "nodes", "tags")
        self._tags = dict(zip(nodes, tags, strict=True))
        wanted = {task.beneficiary for task in tasks}
        self._asks: dict[str, list[tuple[frozenset[str], str | None]]] = {}
        if not snapshot.request_count:
            return
        jobs = asking(snapshot, whole=whole)
        where = np.asarray(core.column("requests", "required_node")).tolist()
        for row, calls in enumerate(_tags(snapshot, "requests", "node_tags")):
            name = jobs[row]
            if name in wanted:
                node = nodes[where[row]] if where[row] >= 0 else None
                self._asks.setdefault(name, []).append((calls, node))

    def may(self, task: Task, nodes: set[str]) -> bool:
        """Whether the beneficiary of a step may start on one of some nodes."""
        return any(
            (required is None or node == required) and calls <= self._tags.get(node, frozenset())
            for calls, required in self._asks.get(task.beneficiary or "", ())
            for node in nodes
        )


def _tags(snapshot: Snapshot, table: str, column: str) -> list[frozenset[str]]:
    words, offsets, codes = snapshot._core.text_list(table, column)
    if not len(codes):
        return [frozenset()] * len(snapshot.names(table))
    ends = np.asarray(offsets).tolist()
    return [
        frozenset(str(words[code]) for code in codes[first:last]) for first, last in itertools.pairwise(ends)
    ]
