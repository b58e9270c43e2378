"""Rounds of many asks on several nodes: what was found for one ask is found anew where another changed it."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

import evenhand as eh
from tests.properties.yunikorn.test_documented import engine, reference
from tests.reference.yunikorn.documented import Rules


def partition(rng: np.random.Generator) -> dict[str, Any]:
    """Draw a dozen queues on three levels, full nodes, and asks of few classes of those that have little."""

    def amounts(most: int, least: int = 0) -> dict[str, int]:
        return {r: int(rng.integers(least, most + 1)) for r in ("cpu", "memory")}

    def one_of(values: Any) -> Any:
        return values[int(rng.integers(len(values)))]

    pools: list[dict[str, Any]] = []
    for q in range(int(rng.integers(4, 13))):
        above = one_of([None, *(p["name"] for p in pools[:4])]) if pools else None
        pool = {"name": f"q{q}", "parent": above}
        pools.append(pool | ({"limits": amounts(30, 4)} if rng.random() < 0.2 else {}))
    above = {pool["parent"] for pool in pools}
    leaves = [pool["name"] for pool in pools if pool["name"] not in above]
    operations = [
        {"name": f"app{i}", "pool": leaves[i % len(leaves)], "priority": int(rng.integers(3))}
        for i in range(2 * len(leaves))
    ]
    rich = {leaf for leaf in leaves if rng.random() < 0.5} or {leaves[0]}
    running = [op["name"] for op in operations if op["pool"] in rich or rng.random() < 0.3]
    waiting = [op["name"] for op in operations if op["pool"] not in rich or rng.random() < 0.2]
    for pool in pools:
        pool["strong_guarantee"] = (
            amounts(2) if pool["name"] in rich else amounts(int(rng.integers(3, 13)), 1)
        )
    nodes: list[dict[str, Any]] = []
    allocations: list[dict[str, Any]] = []
    shapes = [amounts(3, 1) for _ in range(3)]
    for n in range(int(rng.integers(2, 7))):
        left = amounts(14, 6)
        nodes.append({"name": f"n{n}", "capacity": dict(left)})
        for _ in range(12):
            wanted = one_of(shapes)
            if any(wanted[r] > left[r] for r in left):
                continue
            left = {r: left[r] - wanted[r] for r in left}
            allocations.append(
                {
                    "name": f"a{len(allocations)}",
                    "operation": one_of(running),
                    "node": f"n{n}",
                    "resources": wanted,
                    "start_time": int(rng.integers(10)),
                    "priority": int(rng.integers(3)),
                    "preemptible": bool(rng.random() < 0.8),
                    "originator": bool(rng.random() < 0.2),
                }
            )
    classes = [amounts(5, 1) for _ in range(3)]
    requests = [
        {
            "name": f"r{i}",
            "operation": one_of(waiting),
            "resources": one_of(classes),
            "count": int(rng.integers(1, 6)),
            "submit_time": int(rng.integers(10, 13)),
        }
        for i in range(int(rng.integers(3, 13)) if waiting else 0)
    ]
    return {
        "now": 20,
        "resources": {"cpu": {"quantum": 1}, "memory": {"quantum": 1}},
        "nodes": nodes,
        "pools": pools,
        "operations": operations,
        "allocations": allocations,
        "requests": requests,
    }


@given(st.integers(0, 2**32))
@example(15)  # the node with fewer victims has the dearer ones
@example(7)  # an asker above its guarantee has victims in the same round
def test_the_engine_decides_as_the_reference(seed: int) -> None:
    rng = np.random.default_rng(seed)
    snapshot = eh.Snapshot.from_dict(partition(rng))
    policies = (("inter_queue",), ("intra_queue",), ("inter_queue", "intra_queue"))
    rules = Rules(
        ask_candidates=int(rng.integers(1, 6)),
        limit=None,
        policies=policies[int(rng.integers(3))],
        cost=("default", "live_time", "priority", "kind")[int(rng.integers(4))],
        dead_zone=float(rng.choice([0, 0, 0.1])),
        n_alloc=int(rng.integers(1, 30)),
    )
    for cycle in ("preemption", "allocation"):
        assert engine(snapshot, rules, cycle) == reference(snapshot, rules, cycle)
