"""In which partition a job of Slurm is, or in which ones it is tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenhand.systems.slurm.settings import partitions_named

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenhand.model import Snapshot
    from evenhand.systems.slurm.settings import SlurmPartition

__all__ = ["by_tier", "settled"]


def by_tier(
    names: Sequence[str | None], partitions: Mapping[str | None, SlurmPartition]
) -> dict[int, tuple[str, ...]]:
    """Return the partitions of jobs that name several, in the order in which Slurm tries them.

    Parameters
    ----------
    names : sequence of str or None
        What each job names.
    partitions : mapping of str to SlurmPartition

    Returns
    -------
    dict of int to tuple of str
        By row: highest tier first, then as written. Jobs that name one partition, or one that is not known,
        are left out.

    Notes
    -----
    O(jobs). Source: Slurm, controller: a job is in the queue once for each of its partitions.
    """
    several: dict[int, tuple[str, ...]] = {}
    for row, text in enumerate(names):
        if text is None or text in partitions or "," not in text:
            continue
        parts = partitions_named(text)
        if parts and all(part in partitions for part in parts):
            several[row] = tuple(sorted(parts, key=lambda part: -partitions[part].PriorityTier))
    return several


def settled(
    snapshot: Snapshot, several: Mapping[int, Sequence[str]], masks: Mapping[str | None, Sequence[bool]]
) -> dict[int, str]:
    """Return where those of these jobs are that have something already.

    Parameters
    ----------
    snapshot : Snapshot
    several : mapping of int to sequence of str
        Partitions of a job, by row, in the order in which they are tried.
    masks : mapping
        Partition to whether each node is in it.

    Returns
    -------
    dict of int to str
        The first partition that has all of the job's nodes, else the first.
    """
    if not several:
        return {}
    core = snapshot._core
    nodes: dict[int, set[int]] = {}
    owners = np.asarray(core.column("allocations", "operation")).tolist()
    for row, node in zip(owners, np.asarray(core.column("allocations", "node")).tolist(), strict=True):
        if row in several:
            nodes.setdefault(row, set()).update({node} - {-1})
    return {
        row: next((part for part in several[row] if all(masks[part][n] for n in held)), several[row][0])
        for row, held in nodes.items()
    }
