"""What victims cost, and the cheapest of them, by trying all."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, TypeVar

from evenhand.config.costs import MOST_LOST_WORK

__all__ = ["Costs", "cheapest_set", "read_costs"]

T = TypeVar("T")


@dataclass(frozen=True)
class Costs:
    """Costs of allocations and operations of a snapshot, by name.

    Attributes
    ----------
    kind : {"victims", "lost_work", "given"}
    lost : mapping of str to int
        Work that an allocation would lose; one that is not listed: 1.
    given : mapping of str to int
        What an operation's row says.
    """

    kind: str
    lost: Mapping[str, int]
    given: Mapping[str, int]

    def of(self, operation: Any, allocations: Iterable[Any]) -> int:
        """Return what it costs that these allocations of an operation go together."""
        if self.kind == "victims":
            return 1
        if self.kind == "given":
            return self.given[str(operation)]
        return min(MOST_LOST_WORK, sum(self.lost.get(str(allocation), 1) for allocation in allocations))


def read_costs(data: Mapping[str, Any], kind: str, *, logical_nodes: bool = False) -> Costs:
    """Read costs from a snapshot.

    Parameters
    ----------
    data : mapping
        As `Snapshot.to_dict` returns it.
    kind : {"victims", "lost_work", "given"}
    logical_nodes : bool, default False
        Whether a machine has what its logical nodes leave of it.

    Returns
    -------
    Costs
    """
    capacity = {str(row["name"]): dict(row.get("capacity") or {}) for row in data.get("nodes", [])}
    for row in data.get("nodes", []) if logical_nodes else ():
        machine = str(row.get("physical"))
        if machine in capacity and machine != str(row["name"]):
            for r, amount in (row.get("capacity") or {}).items():
                capacity[machine][r] = capacity[machine].get(r, 0) - amount
    lost = {}
    for row in data.get("allocations", []):
        since = row.get("last_job_start_time")
        times = [row.get("start_time", 0.0) if since is None else since, row.get("last_progress_time")]
        seconds = data.get("now", 0.0) - max(t for t in times if t is not None)
        has = capacity.get(str(row.get("node")), {})
        shares = [amount / has[r] for r, amount in (row.get("resources") or {}).items() if has.get(r, 0) > 0]
        lost[str(row["name"])] = max(1, math.ceil(seconds * min(1.0, max(shares, default=0.0)) - 1e-9))
    given = {
        str(row["name"]): (row.get("settings") or {}).get("preemption_cost", 1)
        for row in data.get("operations", [])
    }
    return Costs(kind, lost, given)


def cheapest_set(
    wanted: Sequence[T], cost: Callable[[T], int], suffices: Callable[[Sequence[T]], bool]
) -> list[T] | None:
    """Return the cheapest that suffice; of those the first in order.

    Parameters
    ----------
    wanted : sequence
        In order.
    cost : callable
        Of one, at least 1.
    suffices : callable

    Returns
    -------
    list or None
        None: no set does.

    Notes
    -----
    O(2^n).
    """
    prices = [cost(one) for one in wanted]
    best: tuple[int, tuple[int, ...]] | None = None
    for count in range(len(wanted) + 1):
        if best is not None and count > best[0]:
            break
        for places in combinations(range(len(wanted)), count):
            found = (sum(prices[i] for i in places), places)
            if (best is None or found < best) and suffices([wanted[i] for i in places]):
                best = found
    return None if best is None else [wanted[i] for i in best[1]]
