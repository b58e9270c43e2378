"""Laws that compare an update with another one of a changed snapshot.

The numbers are those of the YTsaurus fair-share specification, section 5. Every
law takes a snapshot in the file format and a function that computes shares of
one (`Compute`), and raises `AssertionError` in the words of the field. Its
condition stands in its docstring; the caller sees to it that it is met.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Protocol

import numpy as np

from evenhand.testing.assertions import SharesLike, assert_shares_close

__all__ = [
    "Compute",
    "amounts_scale",
    "doubled_weight_never_lowers",
    "fast_fifo_agrees",
    "idle_operation_changes_nothing",
    "improved_agrees",
    "names_only_name",
    "operation_order_is_irrelevant",
    "repeated_update_agrees",
    "row_order_is_irrelevant",
    "weights_scale",
]

ROUNDING = 1e-9
DETAILS = ("fair_share", "promised_guarantee_fair_share")
AMOUNTS = ("demand", "usage", "limits", "strong_guarantee", "capacity", "resources", "held",
           "resource_flow", "burst", "accumulated_volume")  # fmt: skip

Data = Mapping[str, Any]


class Compute(Protocol):
    """Computes shares of a snapshot in the file format; options are those of `FairShareSettings`."""

    def __call__(self, snapshot: Data, /, **options: Any) -> SharesLike:
        """Return the shares."""


def fast_fifo_agrees(snapshot: Data, compute: Compute) -> None:
    """Law 11: fast and generic FIFO give the same, bit for bit. No condition."""
    assert_shares_close(compute(snapshot, fast_fifo=True), compute(snapshot, fast_fifo=False), 0)


def repeated_update_agrees(snapshot: Data, compute: Compute) -> None:
    """Law 12: the same input gives the same shares again, bit for bit. No condition."""
    assert_shares_close(compute(snapshot), compute(deepcopy(snapshot)), 0)


def row_order_is_irrelevant(snapshot: Data, compute: Compute, permutation: Mapping[str, list[int]]) -> None:
    """Canonical order: how rows are shuffled in their tables changes nothing, bit for bit. No condition.

    Parameters
    ----------
    snapshot, compute
        See the module.
    permutation : mapping
        Table -> order of its rows.
    """
    shuffled = dict(snapshot)
    for table, order in permutation.items():
        shuffled[table] = [snapshot[table][i] for i in order]
    assert_shares_close(compute(shuffled), compute(snapshot), 0)


def names_only_name(snapshot: Data, compute: Compute) -> None:
    """Names only name: with others that sort alike nothing but the names changes, bit for bit.

    Condition: the snapshot has no reservations.
    """
    renamed = deepcopy(dict(snapshot))
    new = {table: _successors(snapshot.get(table, ())) for table in ("pools", "operations", "nodes")}
    for table, names in new.items():
        for row in renamed.get(table, ()):
            row["name"] = names[row["name"]]
    for table, field, target in (
        ("pools", "parent", "pools"),
        ("operations", "pool", "pools"),
        ("allocations", "operation", "operations"),
        ("allocations", "node", "nodes"),
        ("requests", "operation", "operations"),
    ):
        for row in renamed.get(table, ()):
            if row.get(field) is not None:
                row[field] = new[target][row[field]]
    old: dict[str, dict[Any, Any]] = {
        kind: {after: before for before, after in new[f"{kind}s"].items()} for kind in ("pool", "operation")
    }
    assert_shares_close(
        compute(renamed), compute(snapshot), 0, rename=lambda kind, name: old[kind].get(name, name)
    )


def weights_scale(snapshot: Data, compute: Compute, factor: float = 4.0) -> None:
    """Law 16: multiplying all weights by a constant changes nothing; bit for bit if it is a power of two.

    Condition: no weight is or falls below 1e-9, where weights no longer count.
    """
    scaled = deepcopy(dict(snapshot))
    for row in (*scaled["pools"], *scaled["operations"]):
        row["weight"] = row.get("weight", 1) * factor
    exact = np.frexp(factor)[0] == 0.5
    assert_shares_close(compute(scaled), compute(snapshot), 0 if exact else ROUNDING)


def idle_operation_changes_nothing(
    snapshot: Data, compute: Compute, pool: str | int | None = None, weight: float = 1.0
) -> None:
    """Law 17: an operation without demand changes no other share, whatever its weight.

    Condition: no exact ties (a knife edge can tip), and `weight` is above 1e-9.

    Parameters
    ----------
    snapshot, compute
        See the module.
    pool : name or None
        Pool that the operation is added to; None is the root.
    weight : float
        Its weight.
    """
    name = "idle" if all(isinstance(row["name"], str) for row in snapshot["operations"]) else -1
    idle = {"name": name, "pool": pool, "weight": weight}
    crowded = dict(snapshot) | {"operations": [*snapshot["operations"], idle]}
    before, after = compute(snapshot), compute(crowded)
    assert_shares_close(_Without(after, name), before, ROUNDING, quantities=_details(before))


def doubled_weight_never_lowers(snapshot: Data, compute: Compute, operation: str | int) -> None:
    """Law 18: an operation of twice the weight has no less than before in any resource.

    Condition: its pool is no FIFO pool, and there are no gangs and no ties.
    """
    doubled = deepcopy(dict(snapshot))
    for row in doubled["operations"]:
        if row["name"] == operation:
            row["weight"] = 2 * row.get("weight", 1)
    before, after = (_fair_share(compute(data), operation) for data in (snapshot, doubled))
    lost = np.flatnonzero(after < before - ROUNDING)
    if len(lost):
        resource = list(snapshot["resources"])[lost[0]]
        raise AssertionError(
            f"law 18: operation {operation!r}, {resource}: fair share {before[lost[0]]:.17g} fell to"
            f" {after[lost[0]]:.17g} with twice the weight"
        )


def operation_order_is_irrelevant(snapshot: Data, compute: Compute, order: list[int]) -> None:
    """Law 19: in which order operations stand changes nothing but rounding.

    Condition: no FIFO pools, no gangs, no ties.

    Parameters
    ----------
    snapshot, compute
        See the module.
    order : list of int
        The field `order` of every operation.
    """
    placed = dict(snapshot)
    placed["operations"] = [
        {**row, "order": place} for row, place in zip(snapshot["operations"], order, strict=True)
    ]
    before = compute(snapshot)
    assert_shares_close(compute(placed), before, ROUNDING, quantities=_details(before))


def improved_agrees(snapshot: Data, compute: Compute) -> None:
    """Law 20: plain and improved computation agree within 1e-6.

    Condition: no gangs and no ties, so that no two children jump at the same place.
    """
    plain = compute(snapshot, improved=False)
    assert_shares_close(compute(snapshot, improved=True), plain, 1e-6, quantities=_details(plain))


def amounts_scale(snapshot: Data, compute: Compute, factor: int = 4) -> None:
    """Law 21: multiplying all amounts by a constant changes no share.

    Condition: no guarantees and no integral pools: what is inferred for them is rounded to the quantum.
    """
    scaled = {
        key: _scaled(value, factor)
        if key in {"total", "pools", "operations", "nodes", "allocations", "requests"}
        else value
        for key, value in snapshot.items()
    }
    if "total" in snapshot:
        scaled["total"] = {name: amount * factor for name, amount in snapshot["total"].items()}
    before = compute(snapshot)
    exact = factor & (factor - 1) == 0
    assert_shares_close(compute(scaled), before, 0 if exact else ROUNDING, quantities=_details(before))


def _scaled(value: Any, factor: int) -> Any:
    if isinstance(value, list):
        return [_scaled(item, factor) for item in value]
    if isinstance(value, Mapping):
        return {
            key: {name: amount * factor for name, amount in inner.items()}
            if key in AMOUNTS
            else _scaled(inner, factor)
            for key, inner in value.items()
        }
    return value


def _successors(rows: Any) -> dict[Any, str]:
    """Return new names that sort as the old ones do."""
    names = sorted((row["name"] for row in rows), key=lambda name: str(name).encode())
    return {name: f"{place:06d}" for place, name in enumerate(names)}


def _details(shares: SharesLike) -> list[str]:
    return [q for q in shares.quantities if q.split(".")[0] in DETAILS]


def _fair_share(shares: SharesLike, operation: str | int) -> Any:
    rows = zip(shares.kinds, shares.names, strict=True)
    row = next(i for i, key in enumerate(rows) if key == ("operation", operation))
    return np.asarray(shares["fair_share"])[row]


class _Without:
    """Shares without one operation."""

    def __init__(self, shares: SharesLike, operation: str | int) -> None:
        rows = enumerate(zip(shares.kinds, shares.names, strict=True))
        self._shares = shares
        self._keep = [i for i, key in rows if key != ("operation", operation)]
        self.resources, self.quantities = shares.resources, shares.quantities
        self.names = [shares.names[i] for i in self._keep]
        self.kinds = [shares.kinds[i] for i in self._keep]
        self.parents = [shares.parents[i] for i in self._keep]

    def __getitem__(self, quantity: str) -> Any:
        return np.asarray(self._shares[quantity])[self._keep]
