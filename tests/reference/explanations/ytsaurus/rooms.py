"""The room of nodes after each decision of a plan of the YTsaurus policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tests.reference.explanations.world import Amounts, World, same

if TYPE_CHECKING:
    from tests.reference.explanations.world import Row

__all__ = ["Rooms"]

_Leaving = list[tuple[Mapping[str, Any], Amounts]]


class Rooms:
    """What is unused and what leaves, on every node and in the cluster, as decisions are carried out.

    Parameters
    ----------
    world : World

    Notes
    -----
    With ``victims_room`` "held_until_gone" what leaves stands in the way of all but its beneficiary.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.held = world.settings.victims_room == "held_until_gone"
        spaces = world.data["resources"]
        self.unused: dict[Any, Amounts] = {
            str(row["name"]): world.amounts(row.get("capacity")) for row in world.tables["nodes"].values()
        }
        self.unused[None] = {r: float((spaces.get(r) or {}).get("capacity", 0)) for r in world.resources}
        self.leaving: dict[Any, _Leaving] = {place: [] for place in self.unused}
        for row in world.tables["allocations"].values():
            self._place(row)

    def _place(self, row: Row) -> None:
        state, whose = World.state_of(row), row.get("beneficiary") or {}
        if state == "preempting":
            taken = row.get("settings", {}).get("room_taken", {})
            has = self.world.amounts(row.get("resources"))
            self._leave(row.get("node"), whose, {r: a - min(a, taken.get(r, 0)) for r, a in has.items()})
            return
        self._use(
            row.get("node"), self.world.amounts(row.get("held" if state == "preempted" else "resources")), 1
        )

    def _use(self, node: object, amounts: Mapping[str, float], sign: int) -> None:
        for place in ([] if node is None else [str(node)]) + [None]:
            for r, amount in amounts.items():
                self.unused[place][r] -= sign * amount

    def _leave(self, node: object, whose: Mapping[str, Any], amounts: Amounts) -> None:
        self.leaving[None].append((whose, amounts))
        if node is not None:
            self.leaving[str(node)].append((whose, amounts))

    def carry_out(self, decision: Row) -> None:
        """Carry out one decision."""
        if decision["action"] == "preempt":
            self._use(decision["node"], decision["freed"], -1)
            self._leave(
                decision["node"], decision["beneficiary"] or {}, self.world.amounts(decision["freed"])
            )
        elif decision["action"] == "start":
            request = self.world.row("requests", decision["request"])
            need = self.world.amounts(request.get("resources"))
            self._use(decision["node"], need, 1)
            for whose, left in self.leaving[str(decision["node"])]:
                if meant(whose, request):
                    for r in need:
                        taken = min(need[r], left[r])
                        left[r] -= taken
                        need[r] -= taken

    def free(self, node: object, request: Row | None) -> Amounts:
        """Return what a request may use on a node, in its units."""
        found = {}
        for r in self.world.resources:
            place = None if r in self.world.wide else str(node)
            found[r] = self.unused[place][r]
            if self.held:
                found[r] -= sum(left[r] for _, left in self.leaving[place])
                found[r] += sum(
                    left[r]
                    for whose, left in self.leaving[str(node)]
                    if request is not None and meant(whose, request)
                )
        return found


def meant(beneficiary: Mapping[str, Any], request: Row) -> bool:
    """Return whether what leaves does so for a request."""
    wanted = beneficiary.get("request")
    if wanted is None:
        return same(beneficiary.get("operation"), request["operation"])
    return same(wanted, request["name"])
