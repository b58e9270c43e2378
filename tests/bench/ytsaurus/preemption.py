"""Speed of YTsaurus' preemption: heartbeats, rounds, groups, memory, beside the readable reference.

``python -m tests.bench.ytsaurus.preemption``. One thread; bars are those of the project for an idle machine.
The yardstick is `tests.reference`, measured in the same run on the same snapshots.
"""

from __future__ import annotations

import argparse
import itertools
import math
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import evenhand as eh
from evenhand import _core
from evenhand.systems.ytsaurus.settings import YTsaurusSettings
from tests.bench import crowded
from tests.bench.fair_share import host, measure
from tests.reference.ytsaurus import reference_plan

HEARTBEAT_BAR, ROUND_BAR, GROUPS_BAR, MEMORY_BAR = 8.0, 100.0, 2.0, 200.0
SIZES = (100, 1000, 10_000, 100_000)


def planner(snapshot: eh.Snapshot, policy: Any, given: Any) -> _core.Planner:
    """A long-lived planner after one update."""
    made, _ = policy._planner(snapshot, None, given)
    made.update(snapshot._core.now)
    return made


def row(what: str, value: float, unit: str, bar: float | None = None, note: str = "") -> None:
    """Print one measurement."""
    limit = "" if bar is None else f"bar {bar:g} {unit}"
    print(f"{what:64} {value:10.3f} {unit:6} {limit:14} {note}", flush=True)


def timed(call: Callable[..., object], *arguments: object) -> float:
    """Return the microseconds of one call, Python's share included."""
    begin = time.perf_counter_ns()
    call(*arguments)
    return (time.perf_counter_ns() - begin) / 1e3


def heartbeats(policy: Any) -> None:
    """Time heartbeats on nodes of 100 allocations with 1,000 starving candidates, each on a fresh node."""
    nodes = [np.array([node], np.int32) for node in range(600)]
    for need in ((8, 14), (40, 60), (2000, 3000)):
        snapshot = crowded.cluster(600, 100, 4000, 1000, need=need)
        took: list[float] = []
        for _ in range(5):
            made = planner(snapshot, policy, crowded.given(snapshot, 1000))
            took += [timed(made.decide, n) for n in nodes]
        counts = policy.plan(snapshot, None, None, crowded.given(snapshot, 1000)).counts
        victims = counts.get("preemptive.victims", 0) / 600
        note = f"p95 {np.percentile(took, 95):.2f}"
        row(f"heartbeat, 100 allocations, 1,000 candidates, {victims:.1f} victims", statistics.median(took),
            "us", HEARTBEAT_BAR, note)  # fmt: skip


def rounds(policy: Any, clock: Callable[[], int], seconds: float) -> None:
    """Time whole plans: update, groups, a heartbeat of every node."""
    snapshot = crowded.cluster(10_000, 20, 5000, 50)
    given = crowded.given(snapshot, 50)
    got = measure(lambda: policy.plan(snapshot, None, None, given), clock, seconds)
    decided = len(got.result.decisions)
    row("round: 10,000 nodes, 200,000 allocations, 5,000 operations, 50 starving", got.median, "ms",
        ROUND_BAR, f"min {min(got.times):.1f}; {decided} decisions")  # fmt: skip


def groups(policy: Any) -> None:
    """Time starts and ends with their groups, in operations small and large."""
    snapshot = crowded.cluster(2000, 50, 500, 5)
    sizes = np.bincount(snapshot._core.column("allocations", "operation"), minlength=500)
    for operation in (int(np.argmax(sizes)), int(np.argsort(sizes)[250])):
        made = planner(snapshot, policy, crowded.given(snapshot, 5))
        amounts, took = np.array([1, 2, 0, 4, 0]), list[float]()
        no_nodes = np.empty(0, np.int32)
        for node in range(2000):
            took += [
                timed(made.start, operation, node, amounts, snapshot._core.now),
                timed(made.decide, no_nodes),
                timed(made.end, snapshot.allocation_count + node),
                timed(made.decide, no_nodes),
            ]
        pairs = np.reshape(took, (-1, 2)).sum(axis=1)  # an event, and the groups after it
        row(f"groups after one start or end, operation of {sizes[operation]:,}",
            float(np.median(pairs)), "us", GROUPS_BAR)  # fmt: skip


def memory(policy: Any) -> None:
    """Count bytes an allocation: snapshot with names, state and groups."""
    snapshot = crowded.cluster(10_000, 20, 5000, 50)
    made = planner(snapshot, policy, crowded.given(snapshot, 50))
    count = snapshot.allocation_count
    row("snapshot with names, five resources", snapshot._core.nbytes / count, "B/a")
    row("state and groups on top", made.memory_bytes / count, "B/a")
    row("both", (snapshot._core.nbytes + made.memory_bytes) / count, "B/a", MEMORY_BAR)


def growth(policy: Any, clock: Callable[[], int], seconds: float) -> None:
    """Time rounds of growing clusters, and the reference on the small ones."""
    times: list[tuple[int, float]] = []
    for size in SIZES:
        nodes = max(5, size // 20)
        snapshot = crowded.cluster(
            nodes, 20, max(20, size // 40), max(2, size // 4000), pools=max(3, size // 700)
        )
        given = crowded.given(snapshot, max(2, size // 4000))
        got = measure(lambda s=snapshot, g=given: policy.plan(s, None, None, g), clock, seconds)  # type: ignore[misc]
        times.append((size, got.median))
        note = ""
        if size <= 1000:
            start = time.perf_counter()
            expected = reference_plan(snapshot, policy.settings, given=given)
            slow = (time.perf_counter() - start) * 1e3
            same = [d["action"] for d in expected["decisions"]] == [d.action for d in got.result.decisions]
            what = "same" if same else "OTHER"
            note = f"reference {slow:.0f} ms, ratio {slow / got.median:.0f}, {what} decisions"
        row(f"round of {size:,} allocations", got.median, "ms", None, note)
    steps = [
        f"{a[0]:,} to {b[0]:,}: {math.log(b[1] / a[1]) / math.log(b[0] / a[0]):.2f}"
        for a, b in itertools.pairwise(times)
    ]
    print("growth exponent: " + ", ".join(steps))


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--preset", default="documented")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    parser.add_argument("--seconds", type=float, default=3.0, help="about so long a measurement")
    args = parser.parse_args()
    clock = time.perf_counter_ns if args.clock == "wall" else time.process_time_ns
    policy = eh.policies.YTsaurus(args.preset)
    assert isinstance(policy.settings, YTsaurusSettings)
    print(f"{host()}; preset {args.preset}, {args.clock} clock")
    heartbeats(policy)
    rounds(policy, clock, args.seconds)
    groups(policy)
    memory(policy)
    growth(policy, clock, args.seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
