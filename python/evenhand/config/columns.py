"""What rows set, as the core's columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.building.readback import NO_TIME

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.model import Snapshot

__all__ = ["COST", "Cells", "columns_of", "micros", "micros_or_none", "quanta", "room_taken"]


@dataclass(frozen=True, slots=True)
class Cells:
    """How a column comes from the settings of rows.

    Attributes
    ----------
    absent : Any
        What a row has that sets nothing.
    dtype : Any
    of : callable
        Returns a row's cell from its settings, of one width in all rows; None: it sets nothing.
    """

    absent: Any
    dtype: Any
    of: Callable[[Any], Any]


#: What preempting an operation costs.
COST = Cells(1, np.int64, lambda own: None if own.preemption_cost == 1 else own.preemption_cost)


def columns_of(rows: Mapping[int, Any], count: int, cells: Mapping[str, Cells]) -> dict[str, NDArray[Any]]:
    """Return columns by name, a cell for each of `count` rows; without those in which none sets anything."""
    out = {}
    for name, column in cells.items() if rows else ():
        found = {row: cell for row, own in rows.items() if (cell := column.of(own)) is not None}
        if found:
            width = np.shape(next(iter(found.values())))
            out[name] = np.full((count, *width), column.absent, column.dtype)
            for row, cell in found.items():
                out[name][row] = cell
    return out


def micros(seconds: float) -> int:
    """Return a time in the core's unit."""
    return round(seconds * 1e6)


def micros_or_none(seconds: float | None) -> int:
    """Return a time in the core's unit, or that there is none."""
    return NO_TIME if seconds is None else micros(seconds)


def quanta(snapshot: Snapshot, amounts: Mapping[str, float]) -> list[int]:
    """Return amounts in the core's units, a resource each; 0 of those that are not named."""
    return [round(amounts.get(r, 0) / quantum) for r, quantum in snapshot.quantum.items()]


def room_taken(snapshot: Snapshot, leaving: Mapping[int, Any]) -> dict[str, NDArray[Any]]:
    """Return the room of allocations that their beneficiaries have taken already, by row; nothing: none."""
    taken = {row: own.room_taken for row, own in leaving.items() if own.room_taken is not None}
    if not taken:
        return {}
    return {
        "room_taken_rows": np.array([*taken], np.int32),
        "room_taken": np.array([quanta(snapshot, amounts) for amounts in taken.values()], np.int64),
    }
