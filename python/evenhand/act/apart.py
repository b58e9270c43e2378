"""Which steps may run side by side: those that share no node and no owner of a victim."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from evenhand.act.tasks import Task
    from evenhand.model import Snapshot

__all__ = ["Footprints", "users"]

Footprint = frozenset[tuple[str, str]]


class Footprints:
    """What each step of a plan touches.

    Parameters
    ----------
    snapshot : Snapshot
        Of the plan.
    tasks : sequence of Task

    Notes
    -----
    O(allocations + operations), by columns.
    """

    def __init__(self, snapshot: Snapshot, tasks: Sequence[Task]) -> None:
        core = snapshot._core
        names = list(map(str, snapshot.names("operations")))
        nodes = list(map(str, snapshot.names("nodes")))
        victims = {job for task in tasks for job in task.victims}
        rows = {name: row for row, name in enumerate(names) if name in victims}
        operation = np.asarray(core.column("allocations", "operation"))
        where = np.asarray(core.column("allocations", "node"))
        owner = users(snapshot)
        places: dict[str, set[tuple[str, str]]] = {}
        of_victims = np.isin(operation, np.fromiter(rows.values(), np.int64, len(rows)))
        for row, node in zip(operation[of_victims].tolist(), where[of_victims].tolist(), strict=True):
            if node >= 0:
                places.setdefault(names[row], set()).add(("node", nodes[node]))
        self._of: dict[int, Footprint] = {}
        for task in tasks:
            found = {("node", str(d.node)) for d in task.step.decisions if d.node is not None}
            for job in task.victims:
                found |= places.get(job, set())
                if job in owner:
                    found.add(("owner", owner[job]))
            self._of[task.step.number] = frozenset(found)

    def independent(self, waiting: Iterable[Task], running: Iterable[Task]) -> list[Task]:
        """Return the steps that share nothing with one that runs or waits before them."""
        taken: set[tuple[str, str]] = set()
        for task in running:
            taken |= self._of[task.step.number]
        found = []
        for task in waiting:
            own = self._of[task.step.number]
            if not own & taken:
                found.append(task)
            taken |= own
        return found


def users(snapshot: Snapshot) -> dict[str, str]:
    """Return whose each operation is, where that is known; O(operations)."""
    words, codes = snapshot._core.text("operations", "user")
    if not len(codes):
        return {}
    return {
        str(name): str(words[code])
        for name, code in zip(snapshot.names("operations"), codes.tolist(), strict=True)
        if code >= 0
    }
