"""Snapshots in which some jobs are no victims, and some ask for nothing."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from evenhand.model import Snapshot

__all__ = ["spare", "without"]


def spare(snapshot: Snapshot, jobs: Collection[str]) -> Snapshot:
    """Return a snapshot in which nobody preempts some jobs.

    Parameters
    ----------
    snapshot : Snapshot
    jobs : collection of str
        Names of operations or allocations; of others nothing is said.

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

    core = snapshot._core
    names = np.array([str(name) in jobs for name in snapshot.names("operations")], np.bool_)
    own = np.array([str(name) in jobs for name in snapshot.names("allocations")], np.bool_)
    if not len(own) or not jobs:
        return snapshot
    spared = own | names[np.asarray(core.column("allocations", "operation"))]
    if not spared.any():
        return snapshot
    raw = read_back(snapshot)
    may = np.asarray(core.column("allocations", "preemptible")).astype(np.bool_)
    raw.tables["allocations"]["preemptible"] = may & ~spared
    return snapshot._build(raw, Report())


def without(snapshot: Snapshot, jobs: Collection[str]) -> Snapshot:
    """Return a snapshot in which some jobs wait without asking for anything.

    Parameters
    ----------
    snapshot : Snapshot
    jobs : collection of str
        Names of operations or requests; of others nothing is said.

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

    core = snapshot._core
    names = np.array([str(name) in jobs for name in snapshot.names("operations")], np.bool_)
    own = np.array([str(name) in jobs for name in snapshot.names("requests")], np.bool_)
    if not len(own) or not jobs:
        return snapshot
    asks = ~(own | names[np.asarray(core.column("requests", "operation"))])
    if asks.all():
        return snapshot
    raw = read_back(snapshot)
    drop_rows(raw, "requests", asks)
    return snapshot._build(raw, Report())
