"""Plans of a live cluster, made again of what had happened until then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast
from weakref import ReferenceType

import numpy as np

from evenhand.building.readback import seconds
from evenhand.cluster.log import Entry, Log, Planned, Updated
from evenhand.plans.mapped import frozen_answers
from evenhand.plans.plan import Plan

if TYPE_CHECKING:
    from evenhand.cluster.live import Cluster
    from evenhand.model import Snapshot
    from evenhand.state import State

__all__ = ["Past"]


def _updates(entry: Entry, policy: Any) -> bool:
    """Return whether a policy's planner is updated with an entry."""
    if isinstance(entry, Planned):
        return entry.updates and bool(entry.policy == policy)
    return isinstance(entry, Updated) and bool(entry.policy == policy)


class Past:
    """Where in a cluster's log a plan was made."""

    __slots__ = ("_at", "_cluster", "_log", "_place", "base")

    def __init__(
        self, log: Log, place: int, base: Snapshot, at: int, cluster: ReferenceType[Cluster]
    ) -> None:
        self._log, self._place, self.base, self._at, self._cluster = log, place, base, at, cluster

    @property
    def now(self) -> float:
        """The instant in seconds."""
        return float(seconds(np.array([self._at]))[0])

    def snapshot(self) -> Snapshot:
        """Return the cluster as it was; O(1) where it is so still and has a snapshot."""
        cluster = self._cluster()
        found = None if cluster is None else cluster._snapshot_of(self._log, self._place)
        return self._until(self._place)[0].snapshot() if found is None else found

    def plan(self) -> Plan:
        """Return the equal plan of the frozen cluster."""
        entry = cast("Planned", self._log.entries[self._place])
        if entry.updates:
            cluster, _ = self._until(self._place)
            state = cluster._state_before(cluster._attachment(entry.policy))
            return cast("Plan", entry.policy.plan(cluster.snapshot(), state, entry.on))
        return self._between(entry)

    def _until(self, place: int, policy: Any = None) -> tuple[Cluster, State | None]:
        """Return a cluster to which the same has happened, and the state that a policy's last update had."""
        from evenhand.cluster.live import Cluster

        state = None
        cluster = Cluster._made_of(self._log.contents)
        for entry in self._log.entries[:place]:
            if _updates(entry, policy):
                state = cluster._state_before(cluster._attachment(policy))
            entry.again(cluster)
        return cluster, state

    def _between(self, entry: Planned) -> Plan:
        """Return a plan of heartbeats that use an earlier update."""
        policy = entry.policy
        cluster, state = self._until(self._place, policy)
        stage, attachment = cluster._stage, cluster._attachment(policy)
        attachment.hand_over()
        arguments = policy.decides(entry.on, cluster._find)
        attachment.planner.decide(**arguments)

        def traced(kind: str, row: int) -> Any:
            again, _ = self._until(self._place)
            followed = again._attachment(policy)
            followed.hand_over()
            return followed.planner.traced(kind, row, **arguments)

        frozen = frozen_answers(attachment.planner, stage.freeze_with_rows, policy.RECORD.memory, traced)
        snapshot, core = frozen
        earlier = attachment.updated is not None and attachment.updated < stage.core.now
        return Plan(snapshot, policy, core, state, entry.on, updated=attachment.instant if earlier else None)
