"""What an adapter calls the jobs behind the rows of a snapshot: operations, or their parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from evenhand.model import Snapshot

__all__ = ["asking", "holding", "users"]


def holding(snapshot: Snapshot, *, whole: bool) -> list[str]:
    """Return of each allocation the job that would leave: its operation, or else itself."""
    return _jobs(snapshot, "allocations", whole=whole)


def asking(snapshot: Snapshot, *, whole: bool) -> list[str]:
    """Return of each request the job that would start; as `holding`."""
    return _jobs(snapshot, "requests", whole=whole)


def _jobs(snapshot: Snapshot, table: str, *, whole: bool) -> list[str]:
    own = snapshot.names(table)
    if not whole or not own:
        return list(map(str, own))
    names = list(map(str, snapshot.names("operations")))
    return [names[row] for row in np.asarray(snapshot._core.column(table, "operation")).tolist()]


def users(snapshot: Snapshot, *, whole: bool) -> dict[str, str]:
    """Return whose each job that would leave is, where that is known; O(operations + allocations)."""
    words, codes = snapshot._core.text("operations", "user")
    if not len(codes):
        return {}
    of = {row: str(words[code]) for row, code in enumerate(codes.tolist()) if code >= 0}
    if whole:
        return {str(name): of[row] for row, name in enumerate(snapshot.names("operations")) if row in of}
    names = snapshot.names("allocations")
    operation = np.asarray(snapshot._core.column("allocations", "operation")).tolist() if names else []
    return {str(name): of[row] for name, row in zip(names, operation, strict=True) if row in of}
