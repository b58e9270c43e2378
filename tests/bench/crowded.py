"""Crowded clusters of any size for the benchmarks of preemption: by columns, from a seed."""

from __future__ import annotations

from typing import Any

import numpy as np

import evenhand as eh

__all__ = ["RESOURCES", "cluster", "given"]

RESOURCES = ("user_slots", "cpu", "gpu", "memory", "network")


def cluster(
    nodes: int,
    per_node: int,
    operations: int,
    starving: int,
    *,
    pools: int = 300,
    need: tuple[int, int] = (20, 60),
    seed: int = 0,
) -> eh.Snapshot:
    """Nodes that are full but for crumbs; operations of Zipf sizes; the last ones starve.

    Parameters
    ----------
    nodes, per_node, operations, pools : int
        How many; ``per_node`` allocations run on each node.
    starving : int
        The last so many operations run nothing and ask for more than any node has free.
    need : tuple of int
        Cpu of a request of these, at least and below.
    seed : int

    Returns
    -------
    Snapshot
        With five resources.
    """
    rng = np.random.default_rng(seed)
    count, served = nodes * per_node, operations - starving
    weights = 1 / np.arange(1, served + 1) ** 0.9
    operation = rng.choice(served, size=count, p=weights / weights.sum())
    node = np.repeat(np.arange(nodes), per_node)
    cpu = rng.integers(1, 8, size=count)
    holds = {r: np.zeros(count, np.int64) for r in RESOURCES}
    holds |= {"user_slots": np.ones(count, np.int64), "cpu": cpu, "memory": cpu * rng.integers(1, 4, count)}
    capacity = {r: np.bincount(node, weights=holds[r], minlength=nodes).astype(np.int64) for r in RESOURCES}
    capacity["user_slots"] += 5
    capacity["memory"] += rng.integers(0, 6, size=nodes)
    capacity["cpu"] += rng.integers(0, 2, size=nodes)
    wanted = rng.integers(1, 8, size=operations)
    wanted[served:] = rng.integers(*need, size=starving)
    names = {"nodes": nodes, "pools": pools, "operations": operations, "requests": operations}
    name = {table: [f"{table[0]}{i:06d}" for i in range(size)] for table, size in names.items()}
    return eh.Snapshot.from_frames(
        now=1000.0,
        resources={r: {"quantum": 1} for r in RESOURCES},
        nodes={"name": name["nodes"], **{f"capacity.{r}": capacity[r] for r in RESOURCES}},
        pools={"name": name["pools"]},
        operations={"name": name["operations"], "pool_index": rng.integers(0, pools, size=operations)},
        allocations={
            "name": [f"allocation-{i:07d}" for i in range(count)],
            "operation_index": operation,
            "node_index": node,
            "start_time": rng.integers(0, 900, size=count).astype(float),
            **{f"resources.{r}": holds[r] for r in RESOURCES},
        },
        requests={
            "name": name["requests"],
            "operation_index": np.arange(operations),
            "count": rng.integers(1, 40, size=operations),
            "resources.user_slots": np.ones(operations, np.int64),
            "resources.cpu": wanted,
            "resources.memory": wanted * 2,
        },
    )


def given(snapshot: eh.Snapshot, starving: int) -> dict[str, Any]:
    """States in which the last operations starve, and nothing else."""
    names = snapshot.element_names
    return {
        "starvation": {
            name: "starving" if row >= len(names) - starving else "non_starving"
            for row, name in enumerate(names)
        }
    }
