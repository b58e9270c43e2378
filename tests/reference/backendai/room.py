"""How much room there is, added up from the rows each time it is asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.systems.backendai.settings import BackendAISettings
from tests.reference.backendai.world import Amounts, Container, Request, Session, World

__all__ = ["Placed", "Room", "bar", "in_force", "lacking", "mode_of", "will_keep"]


@dataclass(frozen=True)
class Placed:
    """Something that is to stand on a node: a request once, or a suspended container."""

    what: Request | Container
    node: Any
    amounts: Amounts


def mode_of(session: Session, settings: BackendAISettings) -> str:
    """Return how a session leaves if it is preempted."""
    if settings.preemption_mode == "suspend" and session.kind != "batch":
        return "terminate"
    return {"reschedule": "requeue"}.get(settings.preemption_mode, settings.preemption_mode)


def will_keep(container: Container, world: World, settings: BackendAISettings) -> Amounts:
    """Return what a container keeps when it is preempted."""
    suspended = mode_of(container.session, settings) == "suspend" and settings.suspend_approach == "keep"
    return {r: a if suspended and r in world.stays else 0 for r, a in container.amounts.items()}


class Room:
    """Free room under a supposition: what is gone, what has been placed."""

    def __init__(
        self,
        world: World,
        settings: BackendAISettings,
        *,
        whose: Session | None = None,
        leaving_counts: bool = False,
        gone: Iterable[Session] = (),
        placed: Sequence[Placed] = (),
        fixed: Sequence[Placed] = (),
        kept: Mapping[tuple[Any, str], int] | None = None,
        standing: Sequence[Placed] = (),
        reservations: Sequence[dict[str, Any]] | None = None,
        all_left: bool = False,
        released: Iterable[Container] = (),
    ) -> None:
        self.world, self.settings = world, settings
        self.whose, self.leaving_counts = whose, leaving_counts
        self.gone = set(gone)
        self.fixed = list(fixed)
        self.placed = list(placed)
        self.kept = kept or {}
        self.standing = list(standing)
        self.reservations = world.reservations if reservations is None else reservations
        self.all_left = all_left
        self.released = set(released)

    def held_by(self, c: Container) -> Amounts:
        """Return what of a container's room no other may use."""
        if c.state == "preempted":
            return dict.fromkeys(c.amounts, 0) if c in self.released else c.held
        if c.state == "preempting" and self.all_left:
            return c.held
        own = {c.beneficiary.get("request")} & {r.name for r in self.whose.requests} if self.whose else set()
        named = c.beneficiary.get("operation")
        if c.state == "preempting" and self.leaving_counts and self.whose:
            mine = named == self.whose.name if named is not None else bool(own)
            if mine:
                return c.held
        if c.session in self.gone and c.state == "running":
            return will_keep(c, self.world, self.settings)
        return c.amounts

    def free(self, node: Any, resource: str) -> int:
        """Return how much of a resource is free on a node, or in the cluster if it is counted there."""
        everywhere = resource in self.world.in_cluster
        if everywhere:
            total = self.world.in_cluster[resource]
        else:
            total = self.world.nodes[node]["capacity"][resource]

        def here(other: Any) -> bool:
            return everywhere or other == node

        for c in self.world.containers():
            if here(c.node) and (c.node is not None or everywhere):
                total -= self.held_by(c)[resource]
        for p in (*self.placed, *self.fixed):
            if here(p.node):
                total -= p.amounts[resource]
        total -= self.kept.get((None if everywhere else node, resource), 0)
        for row in self.reservations:
            mine = self.whose and row.get("request") in {r.name for r in self.whose.requests}
            if here(row["node"]) and in_force(row, self.world) and not mine:
                total -= row["amounts"][resource]
        return total

    def fits(self, amounts: Amounts, node: Any) -> bool:
        """Return whether amounts fit on a node."""
        return all(a <= 0 or a <= self.free(node, r) for r, a in amounts.items())

    def containers_on(self, node: Any) -> int:
        """Count what stands on a node, those that leave included."""
        there = [c for c in self.world.containers() if c.node == node and c.state != "preempted"]
        return len(there) + sum(p.node == node for p in (*self.placed, *self.fixed, *self.standing))

    def allowed(self, what: Request | Container, node: Any) -> bool:
        """Return whether something may stand on a node, beside what stands there."""
        return bar(what, node, self.world, self.settings) is None and self.takes_one_more(node)

    def takes_one_more(self, node: Any) -> bool:
        """Return whether a node may have another container."""
        most = self.settings.max_containers
        return most is None or self.containers_on(node) < most

    def best(self, what: Request | Container, amounts: Amounts, among: Iterable[Any] | None = None) -> Any:
        """Return the node that is chosen, or None."""
        nodes = list(self.world.nodes if among is None else among)
        able = [n for n in nodes if self.fits(amounts, n) and self.allowed(what, n)]
        if not able or self.settings.agent_selection == "first":
            return able[0] if able else None
        first = [r for r in self.settings.agent_selection_resource_priority if r in self.world.resources]
        order = [*first, *(r for r in self.world.resources if r not in first)]
        sign = 1 if self.settings.agent_selection == "concentrated" else -1
        return min(able, key=lambda n: [sign * self.free(n, r) for r in order])


def in_force(row: dict[str, Any], world: World) -> bool:
    """Return whether a hard reservation holds now."""
    begun = row.get("from") is None or row["from"] <= world.now
    return begun and (row.get("until") is None or world.now < row["until"]) and not row.get("soft", False)


def bar(what: Request | Container, node: Any, world: World, settings: BackendAISettings) -> str | None:
    """Return why something may not run on a node, whatever stands there."""
    row = world.nodes[node]
    if isinstance(what, Container):
        keep = settings.suspend_approach == "keep" and what.node is not None
        only = what.node if keep else what.required_node
    else:
        only = what.required_node
    if only not in (None, node):
        return "wrong_node"
    if isinstance(what, Request) and not set(what.tags) <= set(row["tags"]):
        return "wrong_tags"
    return None if row["schedulable"] else "node_not_schedulable"


def lacking(room: Room, amounts: Amounts, node: Any) -> Amounts:
    """Return what a node lacks for amounts, without zeros."""
    free = {r: room.free(node, r) for r, a in amounts.items() if a > 0}
    return {r: amounts[r] - free[r] for r in free if amounts[r] > free[r]}
