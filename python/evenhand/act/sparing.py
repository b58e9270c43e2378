"""Snapshots in which some jobs are no victims, and some ask for nothing."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from evenhand.act.naming import asking, holding

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.model import Snapshot

__all__ = ["spare", "without"]


def spare(snapshot: Snapshot, jobs: Collection[str], *, whole: bool) -> Snapshot:
    """Return a snapshot in which some jobs cannot be preempted."""
    from evenhand.building.problems import Report
    from evenhand.building.readback import read_back

    spared = _among(holding(snapshot, whole=whole), jobs)
    if not spared.any():
        return snapshot
    raw = read_back(snapshot)
    may = np.asarray(snapshot._core.column("allocations", "preemptible")).astype(np.bool_)
    raw.tables["allocations"]["preemptible"] = may & ~spared
    return snapshot._build(raw, Report())


def without(snapshot: Snapshot, jobs: Collection[str], *, whole: bool) -> Snapshot:
    """Return a snapshot in which some jobs wait without asking for anything."""
    from evenhand.building.changed import drop_rows
    from evenhand.building.problems import Report
    from evenhand.building.readback import read_back

    asks = _among(asking(snapshot, whole=whole), jobs)
    if not asks.any():
        return snapshot
    raw = read_back(snapshot)
    drop_rows(raw, "requests", ~asks)
    return snapshot._build(raw, Report())


def _among(names: list[str], jobs: Collection[str]) -> NDArray[np.bool_]:
    return np.array([name in jobs for name in names], np.bool_)
