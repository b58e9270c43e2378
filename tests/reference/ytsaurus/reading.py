"""From a snapshot to the plain objects that a plan is made on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from evenhand.fields import resource_kind
from evenhand.systems.ytsaurus.rows import read_settings
from evenhand.systems.ytsaurus.settings import (
    YTsaurusAllocationSettings,
    YTsaurusOperationSettings,
    YTsaurusPoolSettings,
    YTsaurusSettings,
)
from evenhand.systems.ytsaurus.tag_filter import TagFilter
from tests.reference.costs import read_costs
from tests.reference.pace import Pace
from tests.reference.ytsaurus.vectors import Amounts, micros, zeros
from tests.reference.ytsaurus.world import Allocation, Element, Node, Request, World, room

if TYPE_CHECKING:
    from evenhand.model import Snapshot

__all__ = ["read_world"]


def read_world(
    snapshot: Snapshot, settings: YTsaurusSettings, state: Mapping[str, Any] | None = None
) -> World:
    """Read a snapshot; nothing of the update is computed yet.

    Raises
    ------
    InputError
        If settings of a row, or resources named by settings, are wrong.
    """
    return _Reader(snapshot, settings).read(state or {})


class _Reader:
    """Reads the rows of one snapshot; rows stand in canonical order."""

    def __init__(self, snapshot: Snapshot, settings: YTsaurusSettings) -> None:
        self.data = snapshot.to_dict()
        self.rows = read_settings(snapshot, settings)
        self.resources = snapshot.resources
        self.quantum = list(snapshot.quantum.values())
        self.total = snapshot.total
        self.settings = settings
        spaces = [self.data["resources"][r] for r in self.resources]
        self.kinds = [
            space.get("kind", resource_kind(r)) for r, space in zip(self.resources, spaces, strict=True)
        ]
        self.in_cluster = [space.get("scope") == "cluster" for space in spaces]
        self.capacity = {r: s.get("capacity", 0) for r, s in zip(self.resources, spaces, strict=True)}

    def amounts(self, given: dict[str, float] | None) -> Amounts:
        pairs = zip(self.resources, self.quantum, strict=True)
        return [round((given or {}).get(r, 0) / q) for r, q in pairs]

    def limits(self, given: dict[str, float] | None) -> list[int | None]:
        pairs = zip(self.resources, self.quantum, strict=True)
        return [round(given[r] / q) if given and r in given else None for r, q in pairs]

    def read(self, state: Mapping[str, Any]) -> World:
        pools = [self.pool(i, row) for i, row in enumerate([self.data.get("root", {}), *self._rows("pools")])]
        by_name = {pool.name: pool for pool in pools[1:]}
        operations = [self.operation(i, len(pools), row) for i, row in enumerate(self._rows("operations"))]
        parents = [row.get("parent") for row in self._rows("pools")]
        parents += [row.get("pool") for row in self._rows("operations")]
        for element, parent in zip(pools[1:] + operations, parents, strict=True):
            element.parent = pools[0] if parent is None else by_name[parent]
            element.parent.children.append(element)
        for pool in pools:
            pool.children.sort(key=lambda child: child.index)
        world = World(
            resources=self.resources,
            quantum=self.quantum,
            in_cluster=self.in_cluster,
            cluster_capacity=self.amounts(self.capacity),
            total=self.amounts(self.total),
            now=micros(self.data["now"]),
            settings=self.settings,
            costs=read_costs(self.data, self.settings.victim_cost),
            pace=Pace(self.settings.pace, self.data, state),
            pools=pools,
            operations=operations,
        )
        self.tables(world)
        for operation, row in zip(operations, self._rows("operations"), strict=True):
            world.use(operation, self.usage(operation, row), 1)
        return world

    def _rows(self, table: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.data.get(table, [])
        return rows

    def pool(self, index: int, row: dict[str, Any]) -> Element:
        own = self.rows["pools"].get(index, YTsaurusPoolSettings())
        name = row.get("name", "<Root>") if index else "<Root>"
        made = Element(index, name, True, own, self.limits(row.get("limits")), zeros(self.resources))
        made.is_fifo = row.get("mode") == "fifo"
        if index:  # the root is owed nothing
            made.guarantee = self.amounts(row.get("strong_guarantee", {}))
        return made

    def operation(self, index: int, pools: int, row: dict[str, Any]) -> Element:
        own = self.rows["operations"].get(index, YTsaurusOperationSettings())
        limits = self.limits(row.get("limits"))
        made = Element(pools + index, row["name"], False, own, limits, zeros(self.resources))
        made.gang = row.get("gang", False)
        return made

    def usage(self, operation: Element, row: dict[str, Any]) -> Amounts:
        """Return what an operation uses: all but what is leaving; of what was preempted the part it keeps."""
        if "usage" in row:
            return self.amounts(row["usage"])
        used = zeros(self.resources)
        for allocation in operation.allocations:
            used = [u + a for u, a in zip(used, room(allocation), strict=True)]
        return used

    def tables(self, world: World) -> None:
        operations = {operation.name: operation for operation in world.operations}
        ssd = self.settings.ssd_priority_preemption
        formula = TagFilter(ssd.node_tag_filter)
        for row, data in enumerate(self._rows("nodes")):
            tags = set(data.get("tags", ()))
            over = data.get("overcommitted_since")
            world.nodes.append(
                Node(
                    row=row,
                    name=data["name"],
                    capacity=self.amounts(data.get("capacity")),
                    tags=tags,
                    schedulable=data.get("schedulable", True),
                    over_since=None if over is None else micros(over),
                    ssd_mode=ssd.enable and formula.accepts(tags),
                )
            )
        nodes = {node.name: node for node in world.nodes}
        for row, data in enumerate(self._rows("allocations")):
            node = nodes[data["node"]] if "node" in data else None
            made = self.allocation(row, data, operations[data["operation"]], node)
            world.allocations.append(made)
            made.operation.allocations.append(made)
            if made.node is not None:
                made.node.allocations.append(made)
        for row, data in enumerate(self._rows("requests")):
            wanted = Request(
                row=row,
                name=data["name"],
                operation=operations[data["operation"]],
                amounts=self.amounts(data.get("resources")),
                left=data.get("count", 1),
                tags=set(data.get("node_tags", ())),
                required_node=data.get("required_node"),
            )
            world.requests.append(wanted)
            if wanted.left:
                wanted.operation.requests.append(wanted)

    def allocation(self, row: int, data: dict[str, Any], operation: Element, node: Node | None) -> Allocation:
        own = self.rows["allocations"].get(row, YTsaurusAllocationSettings())
        start = data.get("start_time", 0.0)
        progress, deadline = data.get("last_progress_time"), data.get("deadline")
        end = data.get("planned_end")
        beneficiary = data.get("beneficiary") or {}
        amounts = self.amounts(data.get("resources"))
        limits = self.limits(own.resource_limits)
        gap = any(
            kind == "cpu" and limit is not None and amount < limit
            for kind, limit, amount in zip(self.kinds, limits, amounts, strict=True)
        )
        return Allocation(
            row=row,
            name=data["name"],
            operation=operation,
            node=node,
            amounts=amounts,
            state=data.get("state", "running"),
            start=micros(start),
            last_job_start=micros(data.get("last_job_start_time", start)),
            last_progress=None if progress is None else micros(progress),
            opted_out=not data.get("preemptible", True),
            own=own,
            held=self.amounts(data.get("held")),
            beneficiary=(beneficiary.get("operation"), beneficiary.get("request")),
            room_taken=self.amounts(own.room_taken),
            deadline=None if deadline is None else micros(deadline),
            cpu_gap=gap,
            planned_end=None if end is None else micros(end),
        )
