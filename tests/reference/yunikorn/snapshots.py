"""Snapshots of queues: what remains of a guarantee, and what may be taken."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from tests.reference.yunikorn.resources import (
    Resource,
    add,
    merge_missing,
    min_all,
    min_existing,
    positives,
    sub,
    sub_existing,
)
from tests.reference.yunikorn.world import Queue

__all__ = ["Snapshot", "copied", "over_guaranteed", "snapshots_of", "under_guaranteed"]


@dataclass
class Snapshot:
    """A queue as a what-if sees it.

    ``asking`` is the snapshot of the leaf that asks as it was at first, also in a copy.
    """

    path: str
    parent: Snapshot | None
    allocated: Resource
    preempting: Resource
    guaranteed: Resource
    asking: Snapshot | None = None

    def remaining_guaranteed(self) -> Resource:
        """Return what is left of its guarantee; None: no guarantee applies."""
        above = None if self.parent is None else self.parent.remaining_guaranteed()
        if not above and not self.guaranteed:
            return None
        own = sub_existing(self.guaranteed, sub_existing(self.allocated, self.preempting))
        asking = self.asking
        if asking is not None:
            if self.path == asking.path and own:
                return merge_missing(own, above)
            used = sub_existing(asking.allocated, asking.preempting)
            shared = asking.path.startswith(self.path)  # a text, so that root.a is above root.ab
            if own and shared and sub_existing(asking.guaranteed, used):
                return None
        return min_all(own, above)

    def preemptable(self) -> Resource:
        """Return what may be taken from it; None: nothing is there."""
        if not self.allocated:
            return None
        own = positives(sub_existing(sub_existing(self.allocated, self.preempting), self.guaranteed))
        if not own or self.parent is None:
            return own
        return min_existing(own, self.parent.preemptable())

    def give(self, resources: Resource) -> None:
        """Count more as used, here and above."""
        self.allocated = add(self.allocated, resources)
        if self.parent is not None:
            self.parent.give(resources)

    def take(self, resources: Resource) -> None:
        """Count less as used, here and above."""
        self.allocated = sub(self.allocated, resources)
        if self.parent is not None:
            self.parent.take(resources)


def snapshots_of(queues: Iterable[Queue], asking: Queue | None) -> dict[str, Snapshot]:
    """Return snapshots of queues and of all above them, by path."""
    found: dict[str, Snapshot] = {}

    def of(queue: Queue) -> Snapshot:
        if queue.path not in found:
            above = None if queue.parent is None else of(queue.parent)
            found[queue.path] = Snapshot(
                queue.path, above, queue.allocated, queue.preempting, queue.guaranteed
            )
        return found[queue.path]

    for queue in queues:
        of(queue)
    if asking is not None:
        leaf = of(asking)
        for snapshot in found.values():
            snapshot.asking = None if snapshot.parent is None else leaf
    return found


def copied(snapshots: dict[str, Snapshot]) -> dict[str, Snapshot]:
    """Return copies for a what-if; they still see the leaf that asks as it was."""
    found: dict[str, Snapshot] = {}
    for path, snapshot in snapshots.items():  # a parent stands before those below it
        above = None if snapshot.parent is None else found[snapshot.parent.path]
        found[path] = replace(snapshot, parent=above)
    return found


def under_guaranteed(ask: Resource, remaining: Resource) -> bool:
    """Whether a queue with that rest is within its guarantee in all types of the ask."""
    return remaining is not None and all(remaining.get(t, 0) >= 0 for t in ask or {})


def over_guaranteed(ask: Resource, remaining: Resource) -> bool:
    """Whether a queue with that rest is over its guarantee in some type of the ask."""
    return remaining is None or any(remaining.get(t, 0) < 0 for t in ask or {})
