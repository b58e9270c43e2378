"""What Grid Engine's policy compared, in names and numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from evenhand.model import Snapshot
    from evenhand.systems.gridengine.settings import GridEngineSettings

__all__ = ["compared"]


def compared(snapshot: Snapshot, s: GridEngineSettings, code: str, row: int, asks: int) -> dict[str, Any]:
    """Return what was compared where a code was said of a job."""
    if code in ("max_preemptees", "within_preemption_distance"):
        name = code.removeprefix("within_")
        return {name: getattr(s, name)}
    if code == "not_lower_priority" and asks >= 0:
        names = snapshot.names("operations")
        priorities = np.asarray(snapshot._core.column("operations", "priority"))
        given = priorities.tolist() if len(priorities) else [0.0] * snapshot.operation_count
        return {f"priority_of_{names[of]}": given[of] for of in (row, asks)}
    return {}
