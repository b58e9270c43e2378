"""Settings and jobs of Slurm as the core's columns."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand import _core
from evenhand.building.readback import NO_TIME
from evenhand.config.columns import COST, Cells, columns_of, micros, micros_or_none
from evenhand.config.costs import COSTS
from evenhand.config.pace import pace_columns
from evenhand.config.rows import later_rows, raise_found
from evenhand.errors import Problem
from evenhand.fields import TABLES
from evenhand.systems.slurm.limits import limit_columns
from evenhand.systems.slurm.priority import (
    Priorities,
    check_factors,
    partition_factors,
    qos_factors,
    weights,
)
from evenhand.systems.slurm.releases import RELEASES, release_in_force
from evenhand.systems.slurm.rows import MODELS, SlurmOperationSettings, read_jobs
from evenhand.systems.slurm.settings import BASES, SlurmPartition, partitions_named, split_mode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from evenhand.model import Snapshot
    from evenhand.plans.memory import LiveRows
    from evenhand.systems.slurm.settings import SlurmQos, SlurmSettings

__all__ = ["Jobs", "later_columns", "row_columns", "switches"]

_TYPES = (None, "preempt/partition_prio", "preempt/qos")
_SELECTIONS = ("reorder", "prefix", "irreducible", "minimum", "test_only")
_COUNTS = (
    *("partition_job_depth", "sched_max_job_start", "bf_max_job_test", "bf_max_job_start"),
    *("bf_max_job_part", "bf_max_job_user", "bf_job_part_count_reserve", "bf_min_prio_reserve"),
    "bf_one_resv_per_job",
)
_SPANS = ("bf_window", "bf_resolution", "bf_min_age_reserve")
_FREED_BY_SUSPEND = ("slots", "cpu")
_AS_CLUSTER = 2


def _mode(s: SlurmSettings, of: SlurmSettings | SlurmPartition | SlurmQos) -> int:
    return BASES.index(split_mode(s.PreemptMode if of.PreemptMode is None else of.PreemptMode)[0])


def _plain_queue(s: SlurmSettings) -> bool:
    """Return whether there is neither backfill nor a difference of priorities or tiers to sort by."""
    tiers = {partition.PriorityTier for partition in s.partitions.values()}
    plain = s.SchedulerType == "sched/builtin" and s.PriorityType == "priority/basic"
    return plain and len(tiers) <= 1


def switches(snapshot: Snapshot, s: SlurmSettings) -> dict[str, Any]:
    """Return the settings of the cluster, its partitions and QOS under the core's names."""
    flags = split_mode(s.PreemptMode)[1]
    # Slurm ignores its parameters where partitions are gang scheduled.
    plain = "GANG" in flags and s.PreemptType == "preempt/partition_prio"
    words = TABLES["resources"]["kind"].words
    kinds = [words[kind] for kind in np.asarray(snapshot._head["kind"]).tolist()]
    return {
        "release": RELEASES.index(release_in_force(snapshot, s)),
        "type": _TYPES.index(s.PreemptType),
        "mode": _mode(s, s),
        "requeue": s.JobRequeue,
        "partition": _default(s),
        "partitions": _partitions(s),
        "qos": _qualities(s),
        "weights": weights(snapshot, s),
        "node_weights": dict(s.node_weights),
        "limits": limit_columns(snapshot, s),
        "suspend_frees": np.array([kind in _FREED_BY_SUSPEND for kind in kinds], np.uint8),
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
        "gang_exempt_by_release": s.gang_exempt_time == "by_release",
        "backfill": s.SchedulerType == "sched/backfill",
        "plain_queue": _plain_queue(s),
        "backoff": micros(s.KillWait + s.MessageTimeout),
        "kill_wait": micros(s.KillWait),
        **{name: getattr(s, name) for name in _COUNTS},
        **{name: micros(getattr(s, name)) for name in _SPANS},
        "bf_node_space_size": s.bf_node_space_size or max(s.bf_max_job_test, 2),
        "minimum_budget": s.minimum_budget,
        "victim_cost": COSTS.index(s.victim_cost),
        **pace_columns(snapshot, s.pace),
    }


def _default(s: SlurmSettings) -> int:
    """Return the number of the partition of jobs that name none; without a default the last."""
    return next((n for n, p in enumerate(s.partitions.values()) if p.Default), len(s.partitions))


def _parts(s: SlurmSettings) -> dict[str | None, SlurmPartition]:
    parts: dict[str | None, SlurmPartition] = {}
    parts.update(s.partitions)
    parts[None] = SlurmPartition()
    return parts


def _partitions(s: SlurmSettings) -> dict[str, Any]:
    parts = list(_parts(s).values())
    exempt = [None if p.QOS is None else s.qos[p.QOS].PreemptExemptTime for p in parts]
    usual = s.PreemptExemptTime or 0.0
    return {
        "names": list(s.partitions),
        "tier": np.array([p.PriorityTier for p in parts], np.int32),
        "mode": np.array([_mode(s, p) for p in parts], np.uint8),
        "grace": np.array([micros(p.GraceTime) for p in parts], np.int64),
        "exempt": np.array([micros(usual if own is None else own) for own in exempt], np.int64),
        "suspendable": np.array([p.OverSubscribe[:3] in ("YES", "FOR") for p in parts], np.uint8),
        "exclusive": np.array([p.OverSubscribe == "EXCLUSIVE" for p in parts], np.uint8),
        "down": np.array([p.State in ("DOWN", "INACTIVE") for p in parts], np.uint8),
        "priority": np.array(["PRIORITY" in split_mode(p.PreemptMode or "")[1] for p in parts], np.uint8),
        "max_time": np.array([micros_or_none(p.MaxTime) for p in parts], np.int64),
        "default_time": np.array([micros_or_none(p.DefaultTime) for p in parts], np.int64),
        "factor": partition_factors(s),
        "all_nodes": np.array(["ALL" in p.Nodes for p in parts], np.uint8),
        "nodes": [[] if "ALL" in p.Nodes else list(p.Nodes) for p in parts],
    }


def _qualities(s: SlurmSettings) -> dict[str, Any]:
    every = list(s.qos.values())
    within = "WITHIN" in split_mode(s.PreemptMode)[1]
    preempts = [
        (within or "WITHIN" in split_mode(qos.PreemptMode or "")[1])
        if name == other
        else other in qos.Preempt
        for name, qos in s.qos.items()
        for other in s.qos
    ]
    return {
        "names": list(s.qos),
        "rank": np.array([qos.Priority for qos in every], np.int64),
        "mode": np.array([_mode(s, qos) for qos in every], np.uint8),
        "grace": np.array([micros(qos.GraceTime) for qos in every], np.int64),
        "exempt": np.array([micros_or_none(qos.PreemptExemptTime) for qos in every], np.int64),
        "factor": qos_factors(s),
        "priority": np.array(["PRIORITY" in split_mode(q.PreemptMode or "")[1] for q in every], np.uint8),
        "preempts": np.array(preempts, np.uint8),
    }


def row_columns(rows: Mapping[int, SlurmOperationSettings], count: int, s: SlurmSettings) -> dict[str, Any]:
    """Return what rows of jobs set."""
    accrues = "ACCRUE_ALWAYS" not in s.PriorityFlags
    return columns_of(
        *(rows, count),
        {
            "requeue": Cells(_AS_CLUSTER, np.uint8, lambda own: own.requeue),
            "exclusive": Cells(0, np.uint8, lambda own: own.exclusive),
            "expedited": Cells(0, np.uint8, lambda own: own.expedited),
            "cancelled": Cells(0, np.uint8, _cancelled),
            "eligible": Cells(NO_TIME, np.int64, lambda own: micros_or_none(own.eligible_time)),
            "accrue": Cells(
                NO_TIME, np.int64, lambda own: micros_or_none(_accrues(own) if accrues else None)
            ),
            "time_min": Cells(NO_TIME, np.int64, lambda own: micros_or_none(own.time_min)),
            "site": Cells(0, np.float64, lambda own: own.site_factor),
            "nice": Cells(0, np.float64, lambda own: own.nice),
            "cpus_per_task": Cells(1, np.int32, lambda own: own.cpus_per_task),
            "max_nodes": Cells(1, np.int32, lambda own: own.max_nodes),
            "preemption_cost": COST,
        },
    )


def later_columns(
    live: LiveRows, s: SlurmSettings, table: str, given: Mapping[int, Mapping[str, Any]]
) -> dict[str, Any]:
    """Return what rows that came later set of their own, a cell for each of them."""
    found: list[Problem] = []
    own = later_rows(given, MODELS, live.base, table, found)
    if table != "operations":
        if table == "nodes":
            found += _absent_nodes(s, lambda name: live.core.find("nodes", name) >= 0)
        raise_found(found)
        return {}
    for row in given:
        said = live.core.said_of_operation(row)
        for field, known in (("partition", s.partitions), ("qos", s.qos)):
            if field in said and _is_stranger(said[field], field, known):
                found.append(_stranger(row, live.core.name(table, row), field, said[field], known))
        if "priority" not in said:
            check_factors(s)
    raise_found(found)
    return row_columns(own, len(given), s)


def _is_stranger(name: str, field: str, known: Mapping[str, Any]) -> bool:
    """Return whether a name of a job's is of no partition or QOS, nor a list of partitions."""
    parts = partitions_named(name) if field == "partition" else ()
    return bool(known) and name not in known and (not parts or not set(parts) <= set(known))


def _stranger(row: int, job: Any, field: str, name: str, known: Mapping[str, Any]) -> Problem:
    message = f"{field} of the operation {job!r} is {name!r}; the settings have {', '.join(known)}"
    return Problem("operations", row, job, field, "exists", repr(name), message)


def _absent_nodes(s: SlurmSettings, there: Callable[[str], bool]) -> list[Problem]:
    """Find nodes of partitions, and with weights, that are none."""
    found = []
    named = {f"partitions.{name}.Nodes": p.Nodes for name, p in s.partitions.items() if "ALL" not in p.Nodes}
    for field, nodes in {**named, "node_weights": tuple(s.node_weights)}.items():
        for node in [node for node in dict.fromkeys(nodes) if not there(node)]:
            message = f"{field} names {node!r}, which is no node of the snapshot"
            found.append(Problem("settings", None, None, field, "exists", repr(node), message))
    return found


class Jobs:
    """Partition, QOS, settings and priority of every job."""

    @classmethod
    def of(cls, snapshot: Snapshot, s: SlurmSettings) -> Jobs:
        """Return those of a snapshot: read once for the same settings."""
        known: Jobs | None = snapshot._cache.get("slurm")
        if known is None or known.settings is not s:
            known = snapshot._cache["slurm"] = cls(snapshot, s)
        return known

    def __init__(self, snapshot: Snapshot, s: SlurmSettings) -> None:
        self.snapshot, self.settings = snapshot, s
        self._found: list[Problem] = []
        self.partitions = _parts(s)
        self._check_names("partition", s.partitions)
        self._check_names("qos", s.qos)
        self.rows = read_jobs(snapshot)
        self._check_nodes()
        raise_found(self._found)
        given = np.asarray(snapshot._core.column("operations", "priority_given")).astype(np.bool_)
        if not given.all():
            check_factors(s)
        self.columns = row_columns(self.rows, snapshot.operation_count, s)

    def _check_names(self, field: str, known: Mapping[str, Any]) -> None:
        values, codes = self.snapshot._core.text("operations", field)
        for code, name in enumerate(map(str, values)) if known else ():
            if _is_stranger(name, field, known):
                row = int(np.flatnonzero(codes == code)[0])
                job = self.snapshot.names("operations")[row]
                self._found.append(_stranger(row, job, field, name, known))

    def _check_nodes(self) -> None:
        s = self.settings
        wanted = bool(s.node_weights) or any("ALL" not in p.Nodes for p in s.partitions.values())
        known = frozenset(map(str, self.snapshot.names("nodes"))) if wanted else frozenset()
        self._found += _absent_nodes(self.settings, known.__contains__)

    @cached_property
    def switches(self) -> dict[str, Any]:
        """Settings under the core's names."""
        return switches(self.snapshot, self.settings)

    @cached_property
    def derived(self) -> dict[str, NDArray[Any]]:
        """What partition, QOS, its row and the cluster make of every job."""
        found: dict[str, NDArray[Any]] = _core.slurm_jobs(self.snapshot._core, self.switches, self.columns)
        return found

    @cached_property
    def priorities(self) -> Priorities:
        """Priorities of all jobs; of those that wait in several partitions as of the first."""
        return Priorities.of(self.snapshot, self.settings, self.columns, self.derived)

    def partition(self, row: int) -> str | None:
        """Return the name of a job's partition."""
        return list(self.partitions)[int(self.derived["partition"][row])]

    def qos(self, row: int) -> str | None:
        """Return the name of a job's QOS."""
        code = int(self.derived["qos"][row])
        return None if code < 0 else list(self.settings.qos)[code]

    def further(self, row: int) -> list[str]:
        """Return in which partitions a job that has nothing yet is tried after its first."""
        values, codes = self.snapshot._core.text("operations", "partition")
        name = "" if codes[row] < 0 else str(values[codes[row]])
        if name in self.partitions or self.derived["started"][row] != NO_TIME or not self.settings.partitions:
            return []
        return sorted(partitions_named(name), key=lambda part: -self.partitions[part].PriorityTier)[1:]


def _cancelled(own: SlurmOperationSettings) -> bool:
    """Return whether a job is cancelled where others are suspended: ``[{R|B}:]signal[@time]``."""
    flags, colon, _ = (own.signal or "").partition(":")
    return bool(colon) and "R" in flags.upper()


def _accrues(own: SlurmOperationSettings) -> float | None:
    return own.eligible_time if own.accrue_time is None else own.accrue_time
