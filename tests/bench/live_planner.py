"""What a planner that follows a cluster costs: events with a heartbeat, and updates after one change.

``python -m tests.bench.live_planner``. Calls of the core, one thread; bars are those of the project for an
idle machine.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import evenhand as eh
from evenhand import _core
from tests.bench import crowded
from tests.bench.fair_share import host
from tests.bench.ytsaurus.preemption import row

HEARTBEAT_BAR, POOLS_BAR, FLAT_BAR = 40.0, 0.8, 1.5


def live(snapshot: eh.Snapshot, policy: Any) -> tuple[_core.ClusterState, _core.Planner]:
    """A cluster, and a planner that follows it, after one update."""
    cluster = _core.ClusterState(snapshot._core)
    planner = _core.live_planner("ytsaurus", cluster, policy._inputs(snapshot, None, None)[0], False)
    planner.update(cluster.now)
    return cluster, planner


def median(call: Callable[[int], object], times: int) -> float:
    """Microseconds of a call, the median."""
    took = []
    for turn in range(times):
        begin = time.perf_counter_ns()
        call(turn)
        took.append((time.perf_counter_ns() - begin) / 1e3)
    return statistics.median(took)


def heartbeats(snapshot: eh.Snapshot, policy: Any) -> None:
    """Time an end, a start in its place, and heartbeats that are taken back."""
    cluster, planner = live(snapshot, policy)
    nodes, count = snapshot.node_count, snapshot.allocation_count
    now = cluster.now + 60_000_000
    cluster.advance(now)
    planner.update(now)  # whoever is below its share has waited long enough to starve
    operation = snapshot._core.column("allocations", "operation")
    node = snapshot._core.column("allocations", "node")
    slots = np.random.default_rng(1).permutation(count)
    decided = 0

    def beat(turn: int) -> None:
        nonlocal decided, now
        slot = int(slots[turn])
        amounts = cluster.amounts_of(slot)
        cluster.end(slot)
        if turn % 2:
            cluster.start(int(operation[slot]), int(node[slot]), amounts, now)
        planner.decide(np.array([turn % nodes], np.int32))
        decided += planner.decided
        planner.take_back()

    took = median(beat, min(4000, count))
    size = f"{count:,} allocations"
    row(f"end or end and start, heartbeat, back: {size}", took, "us", HEARTBEAT_BAR,
        f"{decided} decisions")  # fmt: skip

    def several(turn: int) -> None:
        planner.decide(((np.arange(64) + 64 * turn) % nodes).astype(np.int32))
        planner.take_back()

    row(f"one of 64 heartbeats in one call, back: {size}", median(several, 40) / 64, "us", 15.0)


def updates(pools: int, bar: float, policy: Any) -> None:
    """Time an update after one allocation has ended or started."""
    snapshot = crowded.cluster(10_000, 20, 5000, 50, pools=pools)
    cluster, planner = live(snapshot, policy)
    operation = snapshot._core.column("allocations", "operation")
    slots = np.random.default_rng(1).permutation(snapshot.allocation_count)
    took = []
    for turn in range(200):
        slot = int(slots[turn])
        amounts = cluster.amounts_of(slot)
        if turn % 2:
            cluster.end(slot)
        else:
            cluster.start(int(operation[slot]), 0, amounts, cluster.now)
        took.append(median(lambda _: planner.update(cluster.now), 1) / 1e3)
    row(f"update after one change, 5,000 operations in {pools} pools", statistics.median(took), "ms", bar)


def main() -> None:
    """Print the table."""
    policy = eh.policies.YTsaurus()
    print(host())
    for nodes, operations, pools in ((100, 50, 5), (10_000, 5000, 250)):
        heartbeats(crowded.cluster(nodes, 20, operations, max(operations // 100, 2), pools=pools), policy)
    updates(250, POOLS_BAR, policy)
    updates(1, FLAT_BAR, policy)


if __name__ == "__main__":
    main()
