"""Free room in a cycle of YuniKorn, as it may have been when an ask was looked at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tests.reference.explanations.world import Amounts, World, same

if TYPE_CHECKING:
    from tests.reference.explanations.world import Row

__all__ = ["free_rooms"]


def free_rooms(world: World, node: object, request: Row) -> Iterator[Amounts]:
    """Yield free room on a node, with that of the cluster, after each decision of a cycle.

    What leaves for the request, or is reserved for it, counts as its own in one of two variants.

    Parameters
    ----------
    world : World
    node : str or int
    request : mapping
        The ask.
    """
    for own in (False, True):
        yield from _Room(world, node, request, own=own).over_time()
        if world.settings.preemption == "per_ask":  # what only waits there is said at the end of a plan
            for free in _Room(world, node, request, own=own).over_time():
                yield {r: a if r in world.wide else min(a, 0.0) for r, a in free.items()}


class _Room:
    """One node with what is wide."""

    def __init__(self, world: World, node: object, request: Row, *, own: bool) -> None:
        self.world, self.node, self.request, self.own = world, node, request, own
        spaces = world.data["resources"]
        self.free = world.amounts(world.row("nodes", node).get("capacity"))
        self.free |= {r: float((spaces.get(r) or {}).get("capacity", 0)) for r in world.wide}
        self.leaving: list[tuple[Row, Amounts]] = []
        self.reserved = [row for row in world.data.get("reservations", ()) if self._in_force(row)]
        for row in world.tables["allocations"].values():
            self._place(row)
        for row in self.reserved:
            if not (own and same(row.get("request"), request["name"])):
                self._book(row.get("node"), row.get("resources") or {}, 1)

    def _in_force(self, row: Mapping[str, Any]) -> bool:
        now = self.world.now
        begun = row.get("from") is None or row["from"] <= now
        return not row.get("soft") and begun and not (row.get("until") is not None and row["until"] <= now)

    def _book(self, place: object, amounts: Mapping[str, float], sign: float) -> None:
        for r, amount in amounts.items():
            if r in self.world.wide or same(place, self.node):
                self.free[r] -= sign * amount

    def _place(self, row: Row) -> None:
        state, has = World.state_of(row), row.get("resources") or {}
        if state == "preempted":
            has = row.get("held") or {}
        if state == "preempting":
            taken = row.get("settings", {}).get("room_taken", {})
            has = {r: a - min(a, taken.get(r, 0)) for r, a in has.items()}
            self.leaving.append((row, dict(has)))
            if self.own and _leaves_for(row, self.request):
                return
        self._book(row.get("node"), has, 1)

    def over_time(self) -> Iterator[Amounts]:
        """Yield free room at first, and after each decision that takes some."""
        yield dict(self.free)
        for d in self.world.decisions:
            if d["action"] == "start":
                self._start(d)
            elif d["action"] == "reserve":  # nothing else is placed there
                for r in self.free:
                    if r not in self.world.wide and same(d["node"], self.node):
                        self.free[r] = min(self.free[r], 0.0)
            else:
                continue
            yield dict(self.free)

    def _start(self, d: Row) -> None:
        """Take room of what leaves for it first, then of its victims, then what is free."""
        request = self.world.row("requests", d["request"])
        rest = {r: float(a) for r, a in (request.get("resources") or {}).items()}
        victims = [v["freed"] for v in self.world.victims_of(d["step"]) if same(v["node"], d["node"])]
        own = [
            left
            for row, left in self.leaving
            if same(row.get("node"), d["node"]) and _leaves_for(row, request)
        ]
        for gives in (*own, *map(dict, victims)):
            for r, needed in rest.items():
                took = min(needed, gives.get(r, 0.0))
                rest[r] = needed - took
                if took:
                    gives[r] -= took
        for place, row in enumerate(self.reserved):
            if same(row.get("request"), d["request"]) and same(row.get("node"), d["node"]):
                if not (self.own and same(row.get("request"), self.request["name"])):
                    self._book(row.get("node"), row.get("resources") or {}, -1)
                del self.reserved[place]
                break
        self._book(d["node"], rest, 1)


def _leaves_for(row: Row, request: Row) -> bool:
    """Return whether an allocation leaves for an ask, or for all of its application."""
    whose = row.get("beneficiary") or {}
    wanted = whose.get("request")
    if wanted is not None:
        return same(wanted, request["name"])
    return whose.get("operation") is not None and same(whose["operation"], request["operation"])
