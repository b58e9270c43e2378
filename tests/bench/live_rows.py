"""What it costs to put rows into a living cluster, and to take them out, at two sizes.

``python -m tests.bench.live_rows`` prints medians of wall time, a line a step and size.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import evenhand as eh
from tests.bench.fair_share import host

__all__ = ["columns"]


def columns(allocations: int) -> dict[str, Any]:
    """Frames of a cluster: 20 allocations a node, 40 an operation, 20 operations a pool, a request each."""
    nodes, operations = max(allocations // 20, 1), max(allocations // 40, 1)
    pools = max(operations // 20, 1)

    def named(letter: str, count: int) -> list[str]:
        return [f"{letter}{i:06d}" for i in range(count)]

    each = np.arange(allocations)
    return {
        "resources": {"cpu": {}, "memory": {}, "gpu": {"quantum": 1}},
        "now": 1000.0,
        "nodes": {
            "name": named("n", nodes),
            "capacity.cpu": np.full(nodes, 40.0),
            "capacity.memory": np.full(nodes, 400),
            "capacity.gpu": np.full(nodes, 8),
        },
        "pools": {"name": named("p", pools)},
        "operations": {"name": named("o", operations), "pool_index": np.arange(operations) % pools},
        "allocations": {
            "name": named("a", allocations),
            "operation_index": each % operations,
            "node_index": each % nodes,
            "resources.cpu": np.full(allocations, 1.0),
            "resources.memory": np.full(allocations, 4),
            "start_time": (each % 900).astype(np.float64),
        },
        "requests": {
            "name": named("r", operations),
            "operation_index": np.arange(operations),
            "resources.cpu": np.full(operations, 2.0),
            "count": np.full(operations, 3),
        },
    }


def median(step: Callable[[int], None], seconds: float) -> tuple[float, int]:
    """Median microseconds of a step that is told its number, and how often it ran."""
    took: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(took) < 5:
        begin = time.perf_counter_ns()
        step(len(took))
        took.append((time.perf_counter_ns() - begin) / 1e3)
    return float(np.median(took)), len(took)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[2_000, 200_000])
    parser.add_argument("--seconds", type=float, default=2.0, help="a step")
    given = parser.parse_args()
    print(host())
    for size in given.sizes:
        cluster = eh.Cluster(eh.Snapshot.from_frames(**columns(size)))

        def put(number: int, cluster: eh.Cluster = cluster) -> None:
            operation = {"name": f"late{number}", "pool": "p000000"}
            request = {
                "name": f"late{number}",
                "operation": f"late{number}",
                "resources": {"cpu": 1},
                "count": 4,
            }
            cluster.apply(
                [
                    {"event": "put", "table": "operations", "row": operation},
                    {"event": "put", "table": "requests", "row": request},
                ]
            )

        def remove(number: int, cluster: eh.Cluster = cluster) -> None:
            cluster.apply(
                [
                    {"event": "remove", "table": "requests", "name": f"late{number}"},
                    {"event": "remove", "table": "operations", "name": f"late{number}"},
                ]
            )

        def put_and_remove(number: int) -> None:
            put(number)
            remove(number)

        def again(number: int, cluster: eh.Cluster = cluster) -> None:
            row = {"name": "r000000", "operation": "o000000", "resources": {"cpu": 1}, "count": number + 1}
            cluster.apply([{"event": "put", "table": "requests", "row": row}])

        def start_and_end(_: int, cluster: eh.Cluster = cluster) -> None:
            row = {"name": "fresh", "operation": "o000000", "node": "n000000", "resources": {"cpu": 1}}
            cluster.apply([{"event": "start", "row": row}])
            cluster.apply([{"event": "end", "allocation": "fresh"}])

        def frozen(_: int, cluster: eh.Cluster = cluster) -> None:
            cluster.apply([{"event": "time", "now": cluster.now + 1}])
            cluster.snapshot()

        steps: dict[str, Callable[[int], None]] = {
            "put an operation and its request, remove both": put_and_remove,
            "put a request again": again,
            "start and end an allocation, two calls": start_and_end,
            "an instant later, then the snapshot": frozen,
        }
        for name, step in steps.items():
            microseconds, count = median(step, given.seconds)
            print(f"{size:>8,} allocations  {name:48} {microseconds:12,.1f} us ({count} times)")


if __name__ == "__main__":
    main()
