"""What metrics are computed of: a run's columns, and what was asked for, as plain arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.building.readback import NO_TIME
from evenhand.plans.columns import rows_by_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.simulate.result import Result

__all__ = ["NO_TIME", "Record", "record_of"]

Ints = "NDArray[np.int64]"
Floats = "NDArray[np.float64]"


@dataclass(frozen=True)
class Record:
    """A run as its metrics read it.

    Attributes
    ----------
    begin, end : int
        Microseconds between which it was simulated.
    resources : tuple of str
        R names.
    capacity_time, capacity : arrays, (K,) and (K, R)
        What nodes had in all, in the units of resources, from each of these instants on; the first is the
        begin.
    amounts : array, (Q, R)
        What one allocation of each request holds, in units.
    count, gang, request_operation : arrays, (Q,)
        Allocations that it wants, whether only all of them are of use, and its operation.
    work : array of int64, (Q,)
        Microseconds that each allocation works; `NO_TIME`: for ever, or unknown.
    pool, cut_off : arrays, (O,)
        Of each operation.
    parent : array, (P,)
        Pool above each pool, -1 above the root.
    tables : mapping
        ``allocations, operations, decisions, series, spells`` as `Result.raw` has them.
    stages, reasons : tuple of str
        Words of the codes in decisions.
    shares : bool
        Whether the policy computes fair shares: else nothing is known of starvation and of what is due.
    """

    begin: int
    end: int
    resources: tuple[str, ...]
    capacity_time: NDArray[np.int64]
    capacity: NDArray[np.float64]
    amounts: NDArray[np.float64]
    count: NDArray[np.int64]
    gang: NDArray[np.bool_]
    request_operation: NDArray[np.int64]
    work: NDArray[np.int64]
    pool: NDArray[np.int64]
    cut_off: NDArray[np.bool_]
    parent: NDArray[np.int64]
    tables: Mapping[str, Mapping[str, NDArray[Any]]]
    stages: tuple[str, ...]
    reasons: tuple[str, ...]
    shares: bool = True


def record_of(result: Result) -> Record:
    """Return a simulation's result as its metrics read it."""
    from evenhand.reasons import REASONS, STAGES

    start, later = result.snapshot._core, result._parsed.rows._core
    quantum = np.array(list(result.snapshot.quantum.values()))
    begin = round(result.span[0] * 1e6)
    first = result.snapshot.operation_count

    def joined(field: str) -> NDArray[Any]:
        return np.concatenate([np.asarray(core.column("requests", field)) for core in (start, later)])

    operation = joined("operation").astype(np.int64)
    operation[len(start.column("requests", "operation")) :] += first
    unknown = np.full(len(start.column("requests", "operation")), NO_TIME)
    time, capacity = _capacity(result, begin)
    return Record(
        begin=begin,
        end=round(result.span[1] * 1e6),
        resources=tuple(result.snapshot.resources),
        capacity_time=time,
        capacity=capacity * quantum,
        amounts=joined("resources") * quantum,
        count=joined("count").astype(np.int64),
        gang=joined("gang").astype(np.bool_),
        request_operation=operation,
        work=np.concatenate([unknown, result._parsed.run_time]),
        pool=result.operation_pools.astype(np.int64),
        cut_off=result.cut_off,
        parent=np.asarray(start.column("pools", "parent"), np.int64),
        tables=result.raw,
        stages=tuple(STAGES),
        reasons=tuple(REASONS),
        shares=result.policy.RECORD.shares,
    )


def _capacity(result: Result, begin: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return instants, and the capacity of all nodes that take work from each of them on."""
    core, events = result.snapshot._core, result.workload._events
    own = np.asarray(core.column("nodes", "capacity"), np.int64).copy()
    up = np.asarray(core.column("nodes", "schedulable")).astype(np.bool_)
    total = (own * up[:, None]).sum(axis=0)
    times, totals = [begin], [total.copy()]
    if not events:
        return np.array(times, np.int64), np.array(totals)
    row = rows_by_name(result.snapshot, "nodes")
    quanta = list(result.snapshot.quantum.items())
    cells = [
        (r, events[f"capacity.{name}"], q)
        for r, (name, q) in enumerate(quanta)
        if f"capacity.{name}" in events
    ]
    for i, (time, name, word) in enumerate(
        zip(events["micros"].tolist(), events["node"].tolist(), events["event"].tolist(), strict=True)
    ):
        n = row[str(name)]
        before = own[n] * up[n]
        if word == "capacity":
            for r, column, q in cells:
                if column[i] is not None and column[i] == column[i]:
                    own[n, r] = round(float(column[i]) / q)
        else:
            up[n] = word == "up"
        total += own[n] * up[n] - before
        times.append(max(time, begin))
        totals.append(total.copy())
    return np.array(times, np.int64), np.array(totals)
