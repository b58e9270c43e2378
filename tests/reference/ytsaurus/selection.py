"""Which of the eligible allocations go (policies: prefix, irreducible, minimum)."""

from __future__ import annotations

from collections.abc import Sequence

from tests.reference.costs import Costs, cheapest_set
from tests.reference.ytsaurus.vectors import Amounts, covers, plus
from tests.reference.ytsaurus.world import Allocation

__all__ = ["select"]


def select(
    wanted: Sequence[Allocation], room: Amounts, need: Sequence[float], how: str, costs: Costs
) -> list[Allocation] | None:
    """Return victims in the order in which they go, or None if all together do not make room.

    Parameters
    ----------
    wanted : sequence of Allocation
        Eligible ones, the most wanted victim first.
    room : amounts
        Free without any victim; may be negative.
    need : amounts
        What must fit; of a resource that may lack, minus infinity.
    how : {"prefix", "irreducible", "minimum"}
    costs : Costs
        Of "minimum".

    Returns
    -------
    list of Allocation or None

    Notes
    -----
    "minimum" tries all subsets: O(2^n).
    """

    def fits(victims: Sequence[Allocation]) -> bool:
        free = room
        for victim in victims:
            free = plus(free, victim.amounts)
        return covers(free, need)

    if not fits(wanted):
        return None
    if how == "minimum":
        return cheapest_set(wanted, lambda a: costs.of(a.operation.name, [a.name]), fits)
    taken = list(wanted[: next(count for count in range(len(wanted) + 1) if fits(wanted[:count]))])
    if how == "irreducible":
        for victim in reversed(list(taken)):
            without = [other for other in taken if other is not victim]
            if fits(without):
                taken = without
    return taken
