"""From the core's columns (row numbers, quanta, microseconds) to names, amounts and seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from evenhand.building.readback import NO_TIME, matrix, plain, seconds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from evenhand.model import Snapshot

__all__ = [
    "CorePlan",
    "Name",
    "amounts_of",
    "element_keys",
    "objects",
    "picked",
    "rows_by_name",
    "seconds_of",
]

Name = str | int


class CorePlan(Protocol):
    """What a policy's core says of one plan, as columns.

    Rows are canonical rows of the snapshot (-1: none), times int64 microseconds, amounts int64 quanta
    (n, R), enumerations the places of their codes in `evenhand.reasons`.
    """

    @property
    def shares(self) -> Any:
        """Fair shares, as `evenhand.shares.Shares` takes them; asked only of systems that have them."""

    @property
    def next_due(self) -> int | None:
        """Microseconds: when a plan can first decide anything else; None: never."""

    def decisions(self) -> Mapping[str, NDArray[Any]]:
        """One row a decision, in the order in which they are to be carried out."""

    def elements(self) -> Mapping[str, NDArray[Any]]:
        """One row an element: pools with the root first, then operations; empty without fair shares."""

    def groups(self) -> NDArray[Any]:
        """Group of every allocation; 255 is none."""

    def counts(self) -> Mapping[str, int]:
        """How often what came of a try, by ``"<stage>.<outcome>"``."""

    def refusals(self) -> Mapping[str, NDArray[Any]]:
        """One row a request that did not start."""

    def memory(self) -> Mapping[str, NDArray[Any]]:
        """Columns that the system's record declares, for the next plan."""

    def trace(self, kind: str, row: int) -> Mapping[str, NDArray[Any]]:
        """Decide again with a recorder: all that was looked at for one allocation or request."""


def rows_by_name(snapshot: Snapshot, table: str) -> Mapping[str, int]:
    """Return the row of each name as text, by which it is known; made once for a snapshot and its table."""
    rows: Mapping[str, int] = snapshot._once(
        f"rows of {table}", lambda: {str(name): row for row, name in enumerate(snapshot.names(table))}
    )
    return rows


def picked(names: Sequence[Name], rows: NDArray[Any]) -> list[Name | None]:
    """Return the name of each row number; -1 is None."""
    return [None if row < 0 else names[row] for row in rows.tolist()]


def seconds_of(micros: NDArray[np.int64]) -> list[float | None]:
    """Return times in seconds, None where there is none."""
    values = seconds(np.asarray(micros)).tolist()
    return [None if t == NO_TIME else s for t, s in zip(micros.tolist(), values, strict=True)]


def amounts_of(snapshot: Snapshot, quanta: NDArray[Any]) -> NDArray[Any]:
    """Return quanta (n, R) in the units of the resources."""
    return matrix(np.asarray(quanta), np.asarray(snapshot._head["quantum"]))


def objects(snapshot: Snapshot, quanta: NDArray[Any], *, zeros: bool = False) -> list[dict[str, float]]:
    """Return one object resource → amount a row, without its zeros unless they are asked for."""
    quanta = np.asarray(quanta)
    if len(quanta) == 0:
        return []
    resources = snapshot.resources
    rows = zip(*map(plain, amounts_of(snapshot, quanta).T), strict=True)
    if zeros:
        return [dict(zip(resources, row, strict=True)) for row in rows]
    return [{r: value for r, value in zip(resources, row, strict=True) if value} for row in rows]


def element_keys(snapshot: Snapshot) -> list[str]:
    """Return the key of every element in results: its name, or ``"<name> (operation)"`` if a pool has it."""
    pools = [str(name) for name in snapshot.names("pools")]
    taken = set(pools)
    operations = map(str, snapshot.names("operations"))
    return pools + [f"{name} (operation)" if name in taken else name for name in operations]
