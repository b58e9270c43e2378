"""What a living cluster costs to ask: events, heartbeats and updates, at two sizes.

``python -m tests.bench.live`` prints medians of wall and CPU time through Python, a line a step and size, and
the share of one core that such a cluster takes: 1,000 heartbeats every 10 s, 4 events before each, and an
update a second.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import time
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import numpy as np

import evenhand as eh
from tests.bench.fair_share import host

__all__ = ["Bench", "columns", "line", "median"]

NODES, OPERATIONS, POOLS = 10_000, 5_000, 250


def median(call: Callable[[int], object], seconds: float) -> tuple[float, float, int]:
    """Return the medians of a call's wall and CPU time (us), and how often it was made in about so long."""
    took: list[tuple[int, int]] = []
    end = time.perf_counter() + seconds
    while len(took) < 5 or time.perf_counter() < end:
        begin, cpu = time.perf_counter_ns(), time.thread_time_ns()
        call(len(took))
        took.append((time.perf_counter_ns() - begin, time.thread_time_ns() - cpu))
    wall, cpu_time = (statistics.median(one) / 1e3 for one in zip(*took, strict=True))
    return wall, cpu_time, len(took)


def line(what: str, took: tuple[float, float, int], times: int = 1) -> None:
    """Print a line of the table; of each of some equal parts of a call."""
    wall, cpu_time, runs = took
    print(f"{what:48} {wall / times:10.1f} us, {cpu_time / times:10.1f} of a core  ({runs:,} runs)")


def columns(allocations: int, pools: int = POOLS) -> dict[str, Any]:
    """Frames of a cluster: 20 allocations a node, 40 an operation; half of the operations wait."""
    nodes, operations = max(allocations // 20, 1), max(allocations // 40, 2)
    pools = max(min(pools, operations // 20), 1)
    each, of = np.arange(allocations), np.arange(operations)
    return {
        "resources": {"cpu": {}, "memory": {}, "gpu": {"quantum": 1}},
        "now": 1000.0,
        "nodes": {
            "name": [f"n{i}" for i in range(nodes)],
            "capacity.cpu": np.full(nodes, 40.0),
            "capacity.memory": np.full(nodes, 400),
            "capacity.gpu": np.full(nodes, 8),
        },
        "pools": {"name": [f"p{i}" for i in range(pools)], "strong_guarantee.cpu": np.full(pools, 8.0)},
        "operations": {"name": [f"o{i}" for i in range(operations)], "pool_index": of % pools},
        "allocations": {
            "name": [f"a{i}" for i in range(allocations)],
            "operation_index": each % operations,
            "node_index": each % nodes,
            "resources.cpu": np.full(allocations, 1.9),
            "resources.memory": np.full(allocations, 4),
            "start_time": (each % 900).astype(np.float64),
        },
        "requests": {
            "name": [f"r{i}" for i in range(0, operations, 2)],
            "operation_index": of[::2],
            "resources.cpu": np.full(len(of[::2]), 2.0),
            "resources.memory": np.full(len(of[::2]), 8),
            "count": np.full(len(of[::2]), 3),
        },
    }


class Bench:
    """A cluster that lives: allocations end and start, nodes report.

    Parameters
    ----------
    allocations, pools : int
    """

    def __init__(self, allocations: int, pools: int = POOLS) -> None:
        policy = eh.policies.YTsaurus(fair_share_update_period=60.0)
        self.cluster = eh.Cluster(eh.Snapshot.from_frames(**columns(allocations, pools)), policy)
        self.cluster.plan(on=eh.Heartbeat("n0"))
        self.cluster.update()
        self.nodes = max(allocations // 20, 1)
        self.operations = max(allocations // 40, 2)
        self._events = self._drawn(allocations)

    def _drawn(self, allocations: int) -> Iterator[dict[str, Any]]:
        """Yield events: one allocation ends, and another of its operation starts on its node."""
        for i in count():
            which = i * 7919 % allocations
            gone = f"a{which}" if i < allocations else f"b{i - allocations}"
            yield {"event": "end", "allocation": gone}
            row = {
                "name": f"b{i}",
                "operation": f"o{which % self.operations}",
                "node": f"n{which % self.nodes}",
                "resources": {"cpu": 1.9, "memory": 4},
            }
            yield {"event": "start", "row": row}

    def event(self, _: int = 0) -> None:
        """Let one event happen."""
        self.cluster.apply([next(self._events)])

    def events(self, number: int) -> None:
        """Let some events happen, at once."""
        self.cluster.apply([next(self._events) for _ in range(number)])

    def heartbeat(self, i: int) -> None:
        """Let a node report."""
        self.cluster.plan(on=eh.Heartbeat(f"n{i * 31 % self.nodes}"))

    def heartbeats(self, i: int, number: int = 64) -> None:
        """Let some nodes report in one call."""
        at = range(i * number, (i + 1) * number)
        self.cluster.plan(on=[eh.Heartbeat(f"n{k * 31 % self.nodes}") for k in at])


def core_share(bench: Bench, seconds: int = 10) -> float:
    """Return the share of a core that some seconds of a cluster's life take."""
    began = time.process_time()
    for second in range(seconds):
        bench.cluster.apply([{"event": "time", "now": bench.cluster.now + 1}])
        bench.cluster.update()
        for i in range(100):
            bench.events(4)
            bench.heartbeat(second * 100 + i)
    return (time.process_time() - began) / seconds


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[2_000, 200_000])
    parser.add_argument("--seconds", type=float, default=2.0, help="a step")
    given = parser.parse_args()
    print(host())
    for size in given.sizes:
        bench = Bench(size)
        gc.collect()

        def both(i: int, bench: Bench = bench) -> None:
            bench.event()
            bench.heartbeat(i)

        steps = {"event": bench.event, "heartbeat": bench.heartbeat, "event and heartbeat": both}
        for name, step in steps.items():
            line(f"{size:8,} allocations  {name}", median(step, given.seconds))
        line(f"{size:8,} allocations  64 heartbeats, each", median(bench.heartbeats, given.seconds), 64)
        for pools in (POOLS, 1):
            other = bench if pools == POOLS else Bench(size, pools)

            def update(_: int, other: Bench = other) -> None:
                other.event()
                other.cluster.update()

            line(f"{size:8,} allocations  event, update ({pools} pools)", median(update, given.seconds))
        print(f"{size:8,} allocations  share of a core {core_share(bench):20.2%}")


if __name__ == "__main__":
    main()
