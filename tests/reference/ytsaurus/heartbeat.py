"""One node's heartbeat: passes and stages in their order (section 3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenhand.systems.ytsaurus.settings import YTsaurusSettings
from tests.reference.ytsaurus.book import Book
from tests.reference.ytsaurus.candidates import Attempt, entitled, first_in_line, may_be_candidate
from tests.reference.ytsaurus.groups import cut, may_be_victim, most_wanted_first
from tests.reference.ytsaurus.repair import over_limits, over_node, stage_repair
from tests.reference.ytsaurus.room import ClusterRoom, Room
from tests.reference.ytsaurus.vectors import micros
from tests.reference.ytsaurus.world import Element, Node, World

__all__ = ["Planner", "stages_of"]


def stages_of(tree: YTsaurusSettings, ssd_mode: bool) -> list[str]:
    """Return the preemptive stages of a node in their order."""
    plain = ["preemptive", "aggressive"]
    if tree.stage_order == "regular_aggressive_preemptive":
        plain.reverse()
    on_ssd = [f"ssd_{stage}" for stage in plain] if ssd_mode else []
    full_host = ["full_host"] if tree.default_gpu_full_host_preemption.enable else []
    return on_ssd + plain + full_host


class Planner:
    """Handles heartbeats one after the other on a world whose update is done."""

    def __init__(self, world: World, given_groups: Mapping[Any, str]) -> None:
        self.world = world
        self.book = Book(world)
        self._given = given_groups
        self._cluster = ClusterRoom(world)

    @property
    def decisions(self) -> list[dict[str, Any]]:
        """All decisions so far."""
        return self.book.decisions

    def refusals(self) -> list[dict[str, Any]]:
        """Return the requests of which something is left, and why."""
        return self.book.refusals()

    def heartbeat(self, node: Node) -> None:
        """Handle the heartbeat of a node."""
        cut(self.world, self._given)
        room = Room(self.world, node, self._cluster)
        self.graceful_pass(node, room)
        self.regular_stage(node, room)
        if self.attempt_is_due(node):
            node.last_preemptive = self.world.now
            self.preemptive_stages(node, room)
        if self.world.settings.limit_repair == "every_heartbeat":
            over_limits(self.world, node, room, self.book)
        over_node(self.world, node, room, self.book)

    def graceful_pass(self, node: Node, room: Room) -> None:
        """Ask preemptible allocations of graceful operations to leave, needed or not."""
        leaving = [
            a
            for a in most_wanted_first([a for a in node.allocations if a.running], self.world.settings)
            if a.operation.graceful
            and a.group == "preemptible"
            and not a.opted_out
            and self.world.spared(a) is None
        ]
        beyond = self.world.beyond_caps(leaving)
        leaving = [a for a in leaving if a not in beyond]
        self.book.take(leaving, "graceful")
        room.give_up(leaving)

    def regular_stage(self, node: Node, room: Room) -> None:
        """Start what fits into free room, the least satisfied first."""
        active = {op for op in self.world.operations if may_be_candidate(op)}
        attempt = Attempt(self.world, node, room, self.book, "regular")
        while active:
            operation = first_in_line(self.world, active)
            if not attempt.start(operation, []):
                active.remove(operation)

    def attempt_is_due(self, node: Node) -> bool:
        """Tell whether the back-off is over."""
        backoff = micros(self.world.settings.preemptive_scheduling_backoff)
        return node.last_preemptive is None or self.world.now > node.last_preemptive + backoff

    def preemptive_stages(self, node: Node, room: Room) -> None:
        """Run the preemptive stages until no more may start."""
        tree = self.world.settings
        for stage in stages_of(tree, node.ssd_mode):
            candidates = {op for op in self.world.operations if entitled(self.world, op, stage)}
            if not candidates and stage != "preemptive":
                continue
            started = self.run_stage(node, room, stage, candidates)
            if tree.limit_repair == "stage" and (started or stage == "preemptive"):
                stage_repair(self.world, node, room, self.book, stage)
            if started and tree.preemptive_starts == "one_per_heartbeat":
                for operation in candidates:
                    for request in operation.requests:
                        self.book.refused(request, "stage_taken")
                return

    def run_stage(self, node: Node, room: Room, stage: str, candidates: set[Element]) -> bool:
        """Start at most one allocation, by taking what the stage may take; tell whether it did."""
        tree = self.world.settings
        eligible = [a for a in node.allocations if may_be_victim(a, node, stage, tree)]
        eligible = [a for a in eligible if self.world.spared(a) is None]
        attempt = Attempt(self.world, node, room, self.book, stage)
        active = set(candidates)
        while active:
            operation = first_in_line(self.world, active)
            if attempt.start(operation, most_wanted_first(eligible, tree)):
                return True
            active.remove(operation)
        return False
