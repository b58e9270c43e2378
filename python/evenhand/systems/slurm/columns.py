"""Settings and jobs of Slurm as the core's columns."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.building.readback import NO_TIME
from evenhand.config.costs import COSTS, cost_columns
from evenhand.config.rows import raise_found
from evenhand.errors import Problem
from evenhand.fields import TABLES
from evenhand.systems.slurm.partitions import by_tier, settled
from evenhand.systems.slurm.priority import Priorities, priorities
from evenhand.systems.slurm.rows import SlurmOperationSettings, SlurmRows
from evenhand.systems.slurm.settings import BASES, SlurmPartition, SlurmQos, partitions_named, split_mode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from evenhand.model import Snapshot
    from evenhand.systems.slurm.settings import SlurmSettings

__all__ = ["Jobs", "exempt_of", "first_come", "job_columns", "mode_of", "switches"]

_TYPES = (None, "preempt/partition_prio", "preempt/qos")
_SELECTIONS = ("reorder", "prefix", "irreducible", "minimum", "test_only")
_COUNTS = (
    *("partition_job_depth", "sched_max_job_start", "bf_max_job_test", "bf_max_job_start"),
    *("bf_max_job_part", "bf_max_job_user", "bf_job_part_count_reserve", "bf_min_prio_reserve"),
    "bf_one_resv_per_job",
)
_SPANS = ("bf_window", "bf_resolution", "bf_min_age_reserve")
_FREED_BY_SUSPEND = ("slots", "cpu")
_BATCH = TABLES["operations"]["kind"].words.index("batch")
_NOTHING = SlurmOperationSettings()


def _micros(seconds: float) -> int:
    return round(seconds * 1e6)


def _or_none(seconds: float | None) -> int:
    return NO_TIME if seconds is None else _micros(seconds)


def first_come(s: SlurmSettings) -> bool:
    """Return whether jobs are tried as they were submitted, whatever their priority and QOS.

    Parameters
    ----------
    s : SlurmSettings

    Returns
    -------
    bool
        True without backfill, priorities and tiers that would distinguish jobs, under preempt/qos.
    """
    tiers = {partition.PriorityTier for partition in s.partitions.values()}
    plain = s.SchedulerType == "sched/builtin" and s.PriorityType == "priority/basic"
    return plain and s.PreemptType == "preempt/qos" and len(tiers) == 1


def switches(s: SlurmSettings) -> dict[str, Any]:
    """Return the settings of the cluster under the core's names.

    Parameters
    ----------
    s : SlurmSettings

    Returns
    -------
    dict
    """
    flags = split_mode(s.PreemptMode)[1]
    # Slurm ignores its parameters where partitions are gang scheduled.
    plain = "GANG" in flags and s.PreemptType == "preempt/partition_prio"
    return {
        "type": _TYPES.index(s.PreemptType),
        "selection": _SELECTIONS.index(s.victim_selection),
        "gang": "GANG" in flags,
        "within": "WITHIN" in flags,
        "priority": "PRIORITY" in flags,
        "reorder_count": 1 if plain else s.reorder_count,
        "strict_order": s.strict_order and not plain,
        "youngest_first": s.youngest_first and not plain,
        "reclaim_licenses": s.reclaim_licenses,
        "whole_nodes": s.SelectType == "select/linear",
        "has_min_exempt_priority": s.min_exempt_priority is not None,
        "min_exempt_priority": s.min_exempt_priority or 0.0,
        "gang_honours_exempt_time": s.gang_exempt_time == "honoured",
        "backfill": s.SchedulerType == "sched/backfill",
        "first_come": first_come(s),
        "backoff": _micros(s.KillWait + s.MessageTimeout),
        "kill_wait": _micros(s.KillWait),
        **{name: getattr(s, name) for name in _COUNTS},
        **{name: _micros(getattr(s, name)) for name in _SPANS},
        "bf_node_space_size": s.bf_node_space_size or max(s.bf_max_job_test, 2),
        "minimum_budget": s.minimum_budget,
        "victim_cost": COSTS.index(s.victim_cost),
    }


class Jobs:
    """Partition, QOS, settings and priority of every job.

    Parameters
    ----------
    snapshot : Snapshot
    s : SlurmSettings

    Raises
    ------
    InputError
        If a job names a partition or a QOS that the settings do not have, or its own settings are wrong.
    """

    def __init__(self, snapshot: Snapshot, s: SlurmSettings) -> None:
        self.snapshot, self.settings = snapshot, s
        self.found: list[Problem] = []
        self.partitions: dict[str | None, SlurmPartition] = {None: SlurmPartition()}
        self.partitions.update(s.partitions)
        default = next((name for name, p in s.partitions.items() if p.Default), None)
        self.partition = self._named("partition", s.partitions, default)
        self.several = by_tier(self.partition, self.partitions)
        self.qos = self._named("qos", s.qos, None)
        self.rows = SlurmRows.of(snapshot).operations
        self.masks = {name: _nodes_of(snapshot, self, name) for name in (*s.partitions, None)}
        raise_found(self.found)
        for row, where in settled(snapshot, self.several, self.masks).items():
            self.partition[row] = where
            del self.several[row]
        for row, parts in self.several.items():
            self.partition[row] = parts[0]

    @cached_property
    def priorities(self) -> Priorities:
        """Priorities of all jobs; of those that wait in several partitions as of the first."""
        return self._priorities(self.partition)

    def _priorities(self, partition: list[str | None]) -> Priorities:
        return priorities(self.snapshot, self.settings, self.rows, partition, self.qos, self.masks)

    def further(self) -> list[tuple[int, str, float]]:
        """Return row, partition and priority there of the further turns of jobs in the queue."""
        turns: list[tuple[int, str, float]] = []
        for place in range(1, max(map(len, self.several.values()), default=1)):
            there = {row: parts[place] for row, parts in self.several.items() if place < len(parts)}
            total = self._priorities([there.get(row, of) for row, of in enumerate(self.partition)]).total
            turns += [(row, part, float(total[row])) for row, part in there.items()]
        return turns

    def _named(self, field: str, known: Mapping[str, Any], default: str | None) -> list[str | None]:
        values, codes = self.snapshot._core.text("operations", field)
        if not known or not len(codes):  # without any in the settings, what jobs name says nothing
            return [default] * self.snapshot.operation_count
        names = [default if code < 0 else str(values[code]) for code in codes]
        for name in sorted({name for name in names if name is not None} - set(known)):
            parts = partitions_named(name) if field == "partition" else ()
            if not parts or not set(parts) <= set(known):
                self._stranger(names.index(name), field, name, known)
        return names

    def _stranger(self, row: int, field: str, name: str, known: Mapping[str, Any]) -> None:
        job = self.snapshot.names("operations")[row]
        message = f"{field} of the operation {job!r} is {name!r}; the settings have {', '.join(known)}"
        self.found.append(Problem("operations", row, job, field, "exists", repr(name), message))

    def exclusive(self, row: int, partition: str | None) -> bool:
        """Return whether a job takes entire nodes in a partition."""
        return self.rows.get(row, _NOTHING).exclusive or (
            self.partitions[partition].OverSubscribe == "EXCLUSIVE"
        )

    def of(self, row: int) -> tuple[SlurmPartition, SlurmQos | None, SlurmOperationSettings]:
        """Return what a job falls under."""
        qos = self.qos[row]
        return (
            self.partitions[self.partition[row]],
            None if qos is None else self.settings.qos[qos],
            self.rows.get(row, _NOTHING),
        )


def job_columns(jobs: Jobs) -> dict[str, NDArray[Any]]:
    """Return what partition, QOS and its own settings make of every job.

    Parameters
    ----------
    jobs : Jobs

    Returns
    -------
    dict of str to array
        One row an operation; ``turn_...`` one row a further partition of a job that waits in several,
        ``partition_down`` one a partition; ``node_of_partition`` (partitions x nodes), ``qos_preempts``
        (QOS x QOS) and ``suspend_frees`` (R) are flat.
    """
    snapshot, s = jobs.snapshot, jobs.settings
    order = list(jobs.masks)
    masks = np.array(list(jobs.masks.values()), np.uint8)
    count = snapshot.operation_count
    rows = [jobs.of(row) for row in range(count)]
    kinds = np.asarray(snapshot._core.column("operations", "kind"))
    by_qos = s.PreemptType == "preempt/qos"
    places = {name: place for place, name in enumerate(order)}
    quality = {name: place for place, name in enumerate(s.qos)}
    names = list(zip(jobs.partition, jobs.qos, strict=True))
    further = jobs.further()

    def column(dtype: Any, values: Sequence[Any]) -> NDArray[Any]:
        return np.array(values, dtype).reshape(-1)

    return {
        "partition": column(np.int32, [places[partition] for partition, _ in names]),
        "qos": column(np.int32, [-1 if qos is None else quality[qos] for _, qos in names]),
        "tier": column(np.int32, [partition.PriorityTier for partition, _, _ in rows]),
        "rank": column(
            np.int64,
            [
                (qos.Priority if qos else 0) if by_qos else partition.PriorityTier
                for partition, qos, _ in rows
            ],
        ),
        "priority": jobs.priorities.total,
        "mode": column(np.uint8, [mode_of(s, *row) for row in rows]),
        "grace": column(
            np.int64,
            [_micros((qos.GraceTime if qos else 0.0) if by_qos else p.GraceTime) for p, qos, _ in rows],
        ),
        "exempt": column(np.int64, [exempt_of(s, partition, qos) for partition, qos, _ in rows]),
        "requeue": column(
            np.uint8,
            [
                (s.JobRequeue if own.requeue is None else own.requeue) and kind == _BATCH
                for (_, _, own), kind in zip(rows, kinds.tolist(), strict=True)
            ],
        ),
        "suspendable": column(np.uint8, [p.OverSubscribe[:3] in ("YES", "FOR") for p, _, _ in rows]),
        "exclusive": column(
            np.uint8, [jobs.exclusive(row, partition) for row, partition in enumerate(jobs.partition)]
        ),
        "expedited": column(np.uint8, [own.expedited for _, _, own in rows]),
        "eligible": column(
            np.int64,
            [NO_TIME if own.eligible_time is None else _micros(own.eligible_time) for _, _, own in rows],
        ),
        **cost_columns(jobs.rows, count),
        "node_of_partition": masks.reshape(-1),
        "partition_down": column(
            np.uint8, [jobs.partitions[name].State in ("DOWN", "INACTIVE") for name in order]
        ),
        "user": np.asarray(snapshot._core.text("operations", "user")[1], np.int32)
        if len(snapshot._core.text("operations", "user")[1])
        else column(np.int32, [-1] * count),
        "time_min": column(np.int64, [_or_none(own.time_min) for _, _, own in rows]),
        "partition_max_time": column(np.int64, [_or_none(jobs.partitions[name].MaxTime) for name in order]),
        "partition_default_time": column(
            np.int64, [_or_none(jobs.partitions[name].DefaultTime) for name in order]
        ),
        "turn_job": column(np.int32, [row for row, _, _ in further]),
        "turn_partition": column(np.int32, [places[part] for _, part, _ in further]),
        "turn_tier": column(np.int32, [jobs.partitions[part].PriorityTier for _, part, _ in further]),
        "turn_priority": column(np.float64, [priority for _, _, priority in further]),
        "turn_exclusive": column(np.uint8, [jobs.exclusive(row, part) for row, part, _ in further]),
        "qos_preempts": column(np.uint8, _preempts(s)),
        "suspend_frees": column(
            np.uint8, [_kind(snapshot, r) in _FREED_BY_SUSPEND for r in snapshot.resources]
        ),
    }


def _nodes_of(snapshot: Snapshot, jobs: Jobs, name: str | None) -> list[bool]:
    wanted = jobs.partitions[name].Nodes
    if "ALL" in wanted:
        return [True] * snapshot.node_count
    names = [str(node) for node in snapshot.names("nodes")]
    known, inside = frozenset(names), frozenset(wanted)
    for node in [node for node in dict.fromkeys(wanted) if node not in known]:
        message = f"partitions.{name}.Nodes names {node!r}, which is no node of the snapshot"
        jobs.found.append(
            Problem("settings", None, None, f"partitions.{name}.Nodes", "exists", repr(node), message)
        )
    return [node in inside for node in names]


def mode_of(
    s: SlurmSettings, partition: SlurmPartition, qos: SlurmQos | None, own: SlurmOperationSettings
) -> int:
    """Return what becomes of a job that is preempted, by its place in `BASES`."""
    given = (qos.PreemptMode if qos else None) if s.PreemptType == "preempt/qos" else partition.PreemptMode
    base, _ = split_mode(s.PreemptMode if given is None else given)
    if base == "SUSPEND" and own.signal is not None:
        flags, colon, _ = own.signal.partition(":")  # [{R|B}:]signal[@time]
        if colon and "R" in flags.upper():
            base = "CANCEL"
    return BASES.index(base)


def exempt_of(s: SlurmSettings, partition: SlurmPartition, qos: SlurmQos | None) -> int:
    """Return the run time in microseconds before which a job is no victim."""
    of_partition = None if partition.QOS is None else s.qos[partition.QOS]
    for source in (qos, of_partition, s):
        if source is not None and source.PreemptExemptTime is not None:
            return _micros(source.PreemptExemptTime)
    return 0


def _preempts(s: SlurmSettings) -> list[bool]:
    within = "WITHIN" in split_mode(s.PreemptMode)[1]
    cells = []
    for name, qos in s.qos.items():
        own = within or "WITHIN" in split_mode(qos.PreemptMode or "")[1]
        cells += [own if name == other else other in qos.Preempt for other in s.qos]
    return cells


def _kind(snapshot: Snapshot, resource: str) -> str:
    row = snapshot.resources.index(resource)
    return TABLES["resources"]["kind"].words[int(np.asarray(snapshot._head["kind"])[row])]
