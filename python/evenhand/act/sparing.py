"""Snapshots in which some jobs are no victims, and some ask for nothing."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.model import Snapshot

__all__ = ["spare", "without"]


def spare(snapshot: Snapshot, jobs: Collection[str]) -> Snapshot:
    """Return a snapshot in which some jobs cannot be preempted.

    Parameters
    ----------
    snapshot : Snapshot
    jobs : collection of str
        Names of operations or allocations; names that are not there are ignored.

    Returns
    -------
    Snapshot
        The same one if none of them holds anything.

    Notes
    -----
    O(cells), by columns.
    """
    from evenhand.building.problems import Report
    from evenhand.building.readback import read_back

    spared = _rows_of(snapshot, "allocations", jobs)
    if not spared.any():
        return snapshot
    raw = read_back(snapshot)
    may = np.asarray(snapshot._core.column("allocations", "preemptible")).astype(np.bool_)
    raw.tables["allocations"]["preemptible"] = may & ~spared
    return snapshot._build(raw, Report())


def without(snapshot: Snapshot, jobs: Collection[str]) -> Snapshot:
    """Return a snapshot in which some jobs wait without asking for anything.

    Parameters
    ----------
    snapshot : Snapshot
    jobs : collection of str
        Names of operations or requests; names that are not there are ignored.

    Returns
    -------
    Snapshot
        The same one if none of them asks.

    Notes
    -----
    O(cells), by columns.
    """
    from evenhand.building.changed import drop_rows
    from evenhand.building.problems import Report
    from evenhand.building.readback import read_back

    asking = _rows_of(snapshot, "requests", jobs)
    if not asking.any():
        return snapshot
    raw = read_back(snapshot)
    drop_rows(raw, "requests", ~asking)
    return snapshot._build(raw, Report())


def _rows_of(snapshot: Snapshot, table: str, jobs: Collection[str]) -> NDArray[np.bool_]:
    """Return which rows of a table are among some jobs, by their own name or their operation's."""
    own = np.array([str(name) in jobs for name in snapshot.names(table)], np.bool_)
    if not own.size or not jobs:
        return np.zeros(own.size, np.bool_)
    names = np.array([str(name) in jobs for name in snapshot.names("operations")], np.bool_)
    return own | names[np.asarray(snapshot._core.column(table, "operation"))]
