"""Times of a workload, multiplied; what would be later than any instant is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.accepted import LATEST
from evenhand.building.readback import NO_TIME
from evenhand.building.single import CellError, one_duration
from evenhand.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["arrivals", "durations", "works"]

_LATEST = LATEST * 1e6


def arrivals(micros: NDArray[np.int64], first: int, factor: float) -> NDArray[np.int64]:
    """Return instants whose distance from the first one is multiplied."""
    farther = np.rint((micros - first) * factor)
    if len(micros) and not np.abs(first + farther).max() <= _LATEST:
        said = f"interval is {factor:g}: arrivals would come later than any instant"
        raise InputError.about("workload", "interval", "range", said)
    return first + farther.astype(np.int64)


def works(micros: NDArray[np.int64], factor: float) -> NDArray[np.int64]:
    """Return spans of work that are multiplied; `NO_TIME` stays."""
    longer = np.rint(np.where(micros < 0, 0, micros) * factor)
    if len(longer) and not longer.max() <= _LATEST:
        said = f"run_time is {factor:g}: work would last longer than any instant"
        raise InputError.about("workload", "run_time", "range", said)
    return np.where(micros == NO_TIME, NO_TIME, longer.astype(np.int64))


def durations(column: NDArray[Any], factor: float) -> NDArray[Any]:
    """Return what users said of run times, multiplied; what is no duration stays, and is refused later."""

    def longer(cell: Any) -> Any:
        try:
            return cell if cell is None else one_duration(cell) * factor
        except CellError:
            return cell

    if column.dtype.kind in "iuf":
        return column.astype(np.float64) * factor
    out = np.empty(len(column), object)
    out[:] = [longer(cell) for cell in column.tolist()]
    return out
