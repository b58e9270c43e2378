"""Laws that every fair share obeys, as named functions.

The numbers are those of the YTsaurus fair-share specification, section 5. A law
takes a `Result` and raises `AssertionError` in the words of the field;
`check_shares` runs them all. Laws that compare two updates are in
`evenhand.testing.metamorphic`.

Laws 2, 3 and 13 are about functions that no result shows (the C++ tests hold
them); law 6 follows from law 5 on every path.

Not promised, however plausible (each has a counterexample):

* 22: Pareto efficiency, or that nothing is left over while someone wants it. One
  saturated resource stops every child of a pool: with two operations that want
  memory alone and one that wants cpu alone, half of the cpu is left over.
* 23: that asking for more never lowers one's share in some resource.
* 24: independence of the order of children with gangs in improved mode, or with
  several burst pools under one limit.
* 25: that a guarantee is always received: only as far as the demand's mix allows.
* 26: that a gang which fits into the empty cluster can get its share. One that
  wants all of a resource gets nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.testing.assertions import SharesLike

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.config.fair_share import FairShareSettings
    from evenhand.model import Snapshot
    from evenhand.state import State

__all__ = [
    "LAWS",
    "Result",
    "bounds_of_inputs",
    "check_shares",
    "children_add_up",
    "children_fit_their_pool",
    "guarantees_fit_their_pool",
    "guarantees_within_limits",
    "parts_add_up",
    "shares_within_demand",
    "shares_within_limits",
    "volumes_within_capacity",
]

EPSILON = 1e-9
JUMP = 1e-7
DETAILS = ("fair_share", "promised_guarantee_fair_share")
PARTS = ("strong_guarantee", "integral_guarantee", "weight_proportional")


@dataclass(frozen=True)
class Result:
    """One update: what went in and what came out.

    Attributes
    ----------
    shares : Shares
        The result.
    snapshot : Snapshot
        What it was computed from.
    settings : FairShareSettings
        What it was computed with.
    state : State, optional
        What the update before had left.
    """

    shares: SharesLike
    snapshot: Snapshot
    settings: FairShareSettings
    state: State | None = None

    @cached_property
    def parent(self) -> NDArray[np.int64]:
        """Row of every element's pool, (E,); -1 for the root."""
        kinds, names = self.shares.kinds, self.shares.names
        pools = {
            name: row for row, (kind, name) in enumerate(zip(kinds, names, strict=True)) if kind == "pool"
        }
        return np.array([-1 if parent is None else pools[parent] for parent in self.shares.parents])

    @cached_property
    def pools(self) -> NDArray[np.bool_]:
        """Which elements are pools, (E,)."""
        return np.array([kind == "pool" for kind in self.shares.kinds])

    def children_sums(self, quantity: str) -> NDArray[np.float64]:
        """Add up a quantity over every pool's children, (E, R)."""
        values = np.asarray(self.shares[quantity], float)
        sums = np.zeros_like(values)
        np.add.at(sums, self.parent[1:], values[1:])
        return sums

    def require(self, holds: NDArray[np.bool_], law: int, rule: str, **numbers: Any) -> None:
        """Raise unless `holds` everywhere, naming the first element and resource where it does not."""
        if holds.all():
            return
        at = tuple(int(i) for i in np.argwhere(~holds)[0])
        where = f"{self.shares.kinds[at[0]]} {self.shares.names[at[0]]!r}"
        if len(at) > 1:
            where += f", {self.shares.resources[at[1]]}"
        shown = ", ".join(
            f"{name.replace('_', ' ')} {np.broadcast_to(v, holds.shape)[at]:.17g}"
            for name, v in numbers.items()
        )
        raise AssertionError(f"law {law}: {where}: {rule}, but {shown}")


def bounds_of_inputs(result: Result) -> None:
    """Law 1: usage share ≤ demand share; limits share within 0 .. 1."""
    usage, demand, limits = (result.shares[f"{q}_share"] for q in ("usage", "demand", "limits"))
    result.require(usage <= demand, 1, "usage stays within demand", usage=usage, demand=demand)
    result.require((limits >= 0) & (limits <= 1), 1, "limits share is within 0 and 1", limits=limits)


def guarantees_fit_their_pool(result: Result) -> None:
    """Law 4: a pool's strong guarantee is within its limits, and its children's within its own (1e-9)."""
    strong, limits = result.shares["strong_guarantee_share"], result.shares["limits_share"]
    inner = result.pools[:, None] & (result.parent >= 0)[:, None]
    result.require(
        ~inner | (strong <= limits), 4, "strong guarantee is within limits", strong=strong, limits=limits
    )
    sums = result.children_sums("strong_guarantee_share")
    # The root's is what its children have together, before each of them is cut to its own limits.
    result.require(
        sums <= strong + EPSILON, 4, "children's strong guarantees fit", children=sums, pool=strong
    )


def guarantees_within_limits(result: Result) -> None:
    """Laws 5 and 6: strong guarantee + integral guarantee ≤ limits, exactly, for every pool but the root."""
    strong, limits = result.shares["strong_guarantee_share"], result.shares["limits_share"]
    proposed = result.shares["proposed_integral_share"]
    inner = result.pools[:, None] & (result.parent >= 0)[:, None]
    result.require(
        ~inner | (strong + proposed <= limits),
        5,
        "strong and integral guarantee are within limits",
        strong=strong,
        integral=proposed,
        limits=limits,
    )


def children_fit_their_pool(result: Result) -> None:
    """Law 7: children's fair shares ≤ the pool's + 1e-9."""
    for detail in DETAILS:
        own, sums = result.shares[detail], result.children_sums(detail)
        inside = _computed(result, detail)[:, None]
        result.require(
            ~inside | (sums <= own + EPSILON), 7, f"children's {detail} fits", children=sums, pool=own
        )


def shares_within_demand(result: Result) -> None:
    """Law 8: fair share ≤ demand share + 1e-9."""
    demand = result.shares["demand_share"]
    for detail in DETAILS:
        own = result.shares[detail]
        result.require(
            own <= demand + EPSILON, 8, f"{detail} is within demand", fair_share=own, demand=demand
        )


def parts_add_up(result: Result) -> None:
    """Law 9: total = strong + integral + weight-proportional, none negative, within the guarantees."""
    strong, proposed = result.shares["strong_guarantee_share"], result.shares["proposed_integral_share"]
    for detail in DETAILS:
        total = result.shares[detail]
        parts = [result.shares[f"{detail}.{part}"] for part in PARTS]
        for name, part in zip(PARTS, parts, strict=True):
            result.require(np.isfinite(part) & (part >= 0), 9, f"{detail}.{name} is a share", part=part)
        result.require(
            np.abs(parts[0] + parts[1] + parts[2] - total) <= EPSILON,
            9,
            f"the parts of {detail} add up to it",
            strong=parts[0],
            integral=parts[1],
            weight_proportional=parts[2],
            total=total,
        )
        inner = (result.parent >= 0)[:, None]
        result.require(
            ~inner | (parts[0] <= strong), 9, f"strong part of {detail}", part=parts[0], guarantee=strong
        )
        result.require(
            parts[1] <= proposed, 9, f"integral part of {detail}", part=parts[1], guarantee=proposed
        )


def volumes_within_capacity(result: Result) -> None:
    """Law 10: volumes stay ≥ 0 and never rise above max(old volume, capacity of the pool)."""
    shares, resources = result.shares, result.shares.resources
    total, quantum = (
        np.array([of[r] for r in resources]) for of in (result.snapshot.total, result.snapshot.quantum)
    )
    after = np.asarray(shares["volume.accumulated_after"], float)
    result.require(np.isfinite(after) & (after >= 0), 10, "a volume is not negative", volume=after)
    # The flow is rounded to the quantum before it is multiplied by the period.
    flow = total * np.asarray(shares["ratios.flow"])[:, None] + quantum
    capacity = flow * result.settings.integral_pool_capacity_saturation_period_s
    saved = _saved_volumes(result)
    old = np.array(
        [
            [saved.get(name, {}).get(r, 0) if kind == "pool" else 0 for r in resources]
            for kind, name in zip(shares.kinds, shares.names, strict=True)
        ]
    )
    bound = np.maximum(old, capacity) * (1 + EPSILON) + quantum
    result.require(
        after <= bound, 10, "a volume does not rise above capacity", volume=after, old=old, capacity=capacity
    )


def _saved_volumes(result: Result) -> Mapping[str | int, Mapping[str, float]]:
    """Return the volumes before the update by pool."""
    if result.state is not None:
        return {name: values["accumulated_volume"] for name, values in result.state.pools.items()}
    pools = result.snapshot.to_dict().get("pools", [])
    return {pool["name"]: pool.get("integral", {}).get("accumulated_volume", {}) for pool in pools}


def shares_within_limits(result: Result) -> None:
    """Law 14: fair share ≤ limits share + 1e-9 for every element; the root's ≤ 1 + 1e-9."""
    limits = result.shares["limits_share"]
    for detail in DETAILS:
        own = result.shares[detail]
        bound = np.where((result.parent >= 0)[:, None], limits, 1.0)
        result.require(own <= bound + EPSILON, 14, f"{detail} is within limits", fair_share=own, limits=bound)


def children_add_up(result: Result) -> None:
    """Law 15: a pool's fair share is what its children have together, within 1e-7.

    Condition: no jumps of several children at the same place, as exact ties make them.
    """
    own, sums = result.shares["fair_share"], result.children_sums("fair_share")
    close = np.abs(own - sums) <= JUMP
    result.require(
        ~result.pools[:, None] | close, 15, "children's fair share adds up", children=sums, pool=own
    )


def _computed(result: Result, detail: str) -> NDArray[np.bool_]:
    """Return which pools' totals are meant: the promised ones exist only in trees that opted in."""
    if detail == "fair_share":
        return result.pools
    # Above such a tree everything stays zero, and so it does in a tree that has no guarantee to promise.
    return result.pools & np.asarray(result.shares[detail]).any(axis=1)


HARD: dict[str, Callable[[Result], None]] = {
    law.__name__: law
    for law in (
        bounds_of_inputs,
        guarantees_fit_their_pool,
        guarantees_within_limits,
        children_fit_their_pool,
        shares_within_demand,
        parts_add_up,
        volumes_within_capacity,
        shares_within_limits,
    )
}
LAWS: dict[str, Callable[[Result], None]] = HARD | {"children_add_up": children_add_up}
"""Name to law; the last one has a condition."""


def check_shares(
    shares: SharesLike,
    snapshot: Snapshot | None = None,
    settings: FairShareSettings | None = None,
    *,
    state: State | None = None,
    ties: bool = False,
) -> None:
    """Check all laws that a single result must obey.

    Parameters
    ----------
    shares : Shares
        The result.
    snapshot : Snapshot, optional
        What it was computed from; by default the one that `shares` knows.
    settings : FairShareSettings, optional
        What it was computed with; by default those that `shares` knows.
    state : State, optional
        What the update before had left, if it was handed in.
    ties : bool
        Whether the input may have exact ties: then laws that they break are left out.

    Raises
    ------
    AssertionError
        A law does not hold; the message has its number, the element, the resource and the numbers.
    """
    known: Any = shares
    result = Result(
        shares,
        known.snapshot if snapshot is None else snapshot,
        known.settings if settings is None else settings,
        state,
    )
    for law in (HARD if ties else LAWS).values():
        law(result)
