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


BATCH = 500


def single(size: int) -> dict[str, Callable[[int], list[list[dict[str, Any]]]]]:
    """Steps by name: the calls of `apply` that a step makes, in pairs that leave things as they were."""
    nodes, operations = max(size // 20, 1), max(size // 40, 1)

    def name(letter: str, number: int, count: int) -> str:
        return f"{letter}{number * 7919 % count:06d}"

    def row(number: int) -> dict[str, Any]:
        place = {"operation": name("o", number, operations), "node": name("n", number, nodes)}
        return {"name": f"z{number:07d}", **place, "resources": {"cpu": 1}}

    def about(kind: str, **fields: Any) -> Callable[[int], list[list[dict[str, Any]]]]:
        return lambda number: [[{"event": kind, "allocation": name("a", number, size // 2), **fields}]]

    def away(number: int) -> list[list[dict[str, Any]]]:
        allocation = name("a", number, size // 2)
        return [[{"event": kind, "allocation": allocation}] for kind in ("suspend", "resume")]

    def started(number: int) -> list[list[dict[str, Any]]]:
        return [
            [{"event": "start", "row": row(number)}],
            [{"event": "end", "allocation": row(number)["name"]}],
        ]

    def placed(table: str, row_of: Callable[[int], dict[str, Any]]) -> Any:
        def step(number: int) -> list[list[dict[str, Any]]]:
            own = row_of(number)
            gone = {"event": "remove", "table": table, "name": own["name"]}
            return [[{"event": "put", "table": table, "row": own}], [gone]]

        return step

    def asked(number: int) -> list[list[dict[str, Any]]]:
        operation: dict[str, Any] = {"name": f"late{number}", "pool": "p000000"}
        request = {"name": f"late{number}", "operation": f"late{number}", "resources": {"cpu": 1}, "count": 4}
        rows = {"operations": operation, "requests": request}
        return [
            [{"event": "put", "table": table, "row": own} for table, own in rows.items()],
            [{"event": "remove", "table": table, "name": rows[table]["name"]} for table in reversed(rows)],
        ]

    return {
        "time": lambda number: [[{"event": "time", "now": 1000 + number / 1000}]],
        "start, then end": started,
        "suspend, then resume": away,
        "job": about("job", last_job_start_time=990),
        "resize": about("resize", resources={"cpu": 1, "memory": 4}),
        "count": lambda n: [[{"event": "count", "request": name("r", n, operations), "count": n % 5 + 1}]],
        "node": lambda n: [[{"event": "node", "node": name("n", n, nodes), "schedulable": n % 2 == 0}]],
        "put and remove an operation with its request": asked,
        "put an allocation again": lambda n: [
            [
                {
                    "event": "put",
                    "table": "allocations",
                    "row": row(n) | {"name": name("a", n, size // 2), "priority": n % 9},
                }
            ]
        ],
        "put, then remove a node": placed("nodes", lambda n: {"name": f"m{n}", "capacity": {"cpu": 8}}),
        "put, then remove a reservation": placed(
            "reservations",
            lambda n: {"name": f"v{n}", "node": name("n", n, nodes), "request": name("r", n, operations)},
        ),
        "put, then remove what states its demand": placed(
            "operations", lambda n: {"name": f"s{n}", "demand": {"cpu": 2}}
        ),
    }


def batches(size: int) -> dict[str, Callable[[int], list[dict[str, Any]]]]:
    """Steps by name: columns of `BATCH` events a call."""
    half, operations = size // 2, max(size // 40, 1)
    each = np.arange(BATCH)

    def some(letter: str, number: int, count: int) -> list[str]:
        return [f"{letter}{i:06d}" for i in ((number * BATCH + each) * 7919 % count).tolist()]

    def columns(kind: str, **more: Any) -> dict[str, Any]:
        return {"event": [kind] * BATCH, **more}

    def row(number: int) -> dict[str, Any]:
        return {
            "row.name": [f"z{i}" for i in (number * BATCH + each).tolist()],
            "row.operation": some("o", number, operations),
            "row.node": some("n", number, max(size // 20, 1)),
            "row.resources.cpu": np.ones(BATCH),
        }

    return {
        "start, then end": lambda n: [
            columns("start", **row(n)),
            columns("end", allocation=row(n)["row.name"]),
        ],
        "suspend, then resume": lambda n: [
            columns(kind, allocation=some("a", n, half)) for kind in ("suspend", "resume")
        ],
        "job": lambda n: [columns("job", allocation=some("a", n, half), last_job_start_time=np.ones(BATCH))],
        "resize": lambda n: [
            columns("resize", allocation=some("a", n, half), **{"resources.cpu": np.ones(BATCH)})
        ],
        "count": lambda n: [
            columns("count", request=some("r", n, operations), count=np.full(BATCH, n % 5 + 1))
        ],
        "leave": lambda n: [
            columns("leave", allocation=[f"a{half + (n * BATCH + i) % half:06d}" for i in range(BATCH)])
        ],
    }


def timed(cluster: eh.Cluster, calls: list[Any], events: int) -> list[float]:
    """Microseconds an event of each call."""
    took = []
    for call in calls:
        begin = time.perf_counter_ns()
        cluster.apply(call)
        took.append((time.perf_counter_ns() - begin) / 1e3 / events)
    return took


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[2_000, 200_000])
    parser.add_argument("--seconds", type=float, default=1.0, help="a step")
    given = parser.parse_args()
    print(host())
    clusters = [eh.Cluster(eh.Snapshot.from_frames(**columns(size))) for size in given.sizes]

    def print_medians(name: str, calls: Callable[[int, int], tuple[list[Any], int]]) -> None:
        cells = []
        for size, cluster in zip(given.sizes, clusters, strict=True):
            cluster.snapshot()  # so that no step pays for those before it
            took: list[list[float]] = []
            end = time.perf_counter() + given.seconds
            while time.perf_counter() < end or len(took) < 5:
                step, events = calls(size, len(took))
                try:
                    took.append(timed(cluster, step, events))
                except eh.InputError:  # all of them have happened
                    break
            medians = np.median(np.array(took), axis=0).tolist()
            cells.append(" ".join(f"{median:8.2f}" for median in medians))
        print(f"{name:55} {' | '.join(cells)}")

    print(f"{'us an event, a column a call':55} {' | '.join(f'{size:,}' for size in given.sizes)}")
    steps = {size: single(size) for size in given.sizes}
    for name in steps[given.sizes[0]]:
        print_medians(f"one by one: {name}", lambda size, n: (steps[size][name](n), 1))  # noqa: B023
    many = {size: batches(size) for size in given.sizes}
    for name in many[given.sizes[0]]:
        print_medians(f"columns: {name}", lambda size, n: (many[size][name](n), BATCH))  # noqa: B023


if __name__ == "__main__":
    main()
