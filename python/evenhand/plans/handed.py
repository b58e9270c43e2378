"""Room of leaving allocations that their beneficiaries have taken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.building.readback import matrix

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from evenhand.model import Snapshot

__all__ = ["taken_in_all"]


def taken_in_all(
    base: Snapshot, settings: Mapping[int, Mapping[str, Any]], handed: Mapping[str, NDArray[Any]]
) -> dict[int, dict[str, Any]]:
    """Return by row the room that has been taken of leaving allocations, with what was taken before.

    Settings of allocations are by the rows of `handed`; of a snapshot the resources are asked for.
    """
    rows, quanta = handed["allocation"].tolist(), np.array(handed["amounts"], np.int64)
    quantum = base.quantum
    for place, row in enumerate(rows):
        before = settings.get(row, {}).get("room_taken") or {}
        quanta[place] += [round(before.get(name, 0) / quantum[name]) for name in base.resources]
    amounts = matrix(quanta, np.asarray(base._head["quantum"])).tolist()
    # Whole amounts as whole numbers: a snapshot that is read from its rows has them so.
    return {
        row: {
            name: int(value) if float(value).is_integer() else value
            for name, value in zip(base.resources, values, strict=True)
            if value
        }
        for row, values in zip(rows, amounts, strict=True)
    }
