"""Rounds of YuniKorn's preemption cycle: a thousand asks on 5,000 nodes, 400 queues, 100,000 allocations.

``python -m tests.bench.yunikorn.cycles``. Calls of the core, one thread; bars are those of the project for
an idle machine. The shotgun's victims are of the same state.
"""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

import evenhand as eh
from evenhand import _core
from evenhand.reasons import ACTIONS
from tests.bench.fair_share import host
from tests.bench.ytsaurus.preemption import row

RESOURCES = ("cpu", "memory", "gpu", "disk")
ROUND_BAR, FIRST_BAR, SHOTGUN_BAR = 30.0, 100.0, 10.0
SERVED = 1000
TIMES = 9


def crowded(
    nodes: int = 5000,
    queues: int = 400,
    per_node: int = 20,
    asks: int = 2500,
    *,
    parents: int = 20,
    shapes: int = 0,
    seed: int = 1,
) -> eh.Snapshot:
    """Full nodes; one queue of five asks, half of the asks for no more than one allocation has.

    Parameters
    ----------
    nodes, queues, per_node, asks : int
    parents : int
        Queues that the leaf queues stand below, evenly; 0: they stand below the root.
    shapes : int
        How many different asks there are; 0: each is its own.
    seed : int

    Returns
    -------
    Snapshot
        With four resources, of which each ask names one to four.
    """
    rng = np.random.default_rng(seed)
    count = nodes * per_node
    cpu = rng.choice([1, 2, 4], size=count, p=[0.5, 0.3, 0.2])
    amounts = np.stack(
        [
            cpu,
            cpu * rng.choice([1, 2, 4], size=count),
            (rng.random(count) < 0.1).astype(np.int64),
            rng.integers(0, 3, size=count),
        ],
        axis=1,
    )
    asking = np.arange(queues) % 5 == 0
    givers = np.flatnonzero(~asking)
    queue = givers[rng.integers(0, len(givers), size=count)]
    node = np.repeat(np.arange(nodes), per_node)
    capacity = np.stack([np.bincount(node, weights=a, minlength=nodes) for a in amounts.T], axis=1)
    used = np.stack([np.bincount(queue, weights=a, minlength=queues) for a in amounts.T], axis=1)
    guarantee = np.where(asking[:, None], capacity.sum(axis=0) // queues, used // 4)

    wanted = np.zeros((asks, len(RESOURCES)), np.int64)
    for i in range(shapes or asks):
        many = 1 if i % 2 else int(rng.integers(2, 7))
        on = int(rng.integers(0, nodes)) * per_node
        amount = amounts[on + rng.choice(per_node, size=many, replace=False)].sum(axis=0)
        named = rng.permutation(len(RESOURCES))[: int(rng.integers(1, 5))]
        wanted[i, named] = amount[named]
        wanted[i, 0] = max(wanted[i, 0], not wanted[i].any())
    if shapes:
        wanted = wanted[np.arange(asks) % shapes]
    pools = [f"p{i:02d}" for i in range(parents)]
    leaves = [f"q{i:03d}" for i in range(queues)]
    of = rng.choice(np.flatnonzero(asking), size=asks)

    def by_resource(name: str, matrix: np.ndarray) -> dict[str, Any]:
        return {f"{name}.{r}": matrix[:, i].astype(np.int64) for i, r in enumerate(RESOURCES)}

    owed = np.concatenate([np.zeros((parents, len(RESOURCES))), guarantee])
    above = [None] * parents + [pools[i * parents // queues] if parents else None for i in range(queues)]
    return eh.Snapshot.from_frames(
        now=1_000_000.0,
        resources={r: {"quantum": 1} for r in RESOURCES},
        nodes={"name": [f"n{i:05d}" for i in range(nodes)], **by_resource("capacity", capacity)},
        pools={
            "name": pools + leaves,
            **({"parent": above} if parents else {}),
            **by_resource("strong_guarantee", owed),
        },
        operations={"name": leaves, "pool": leaves},
        allocations={
            "name": [f"a{i:07d}" for i in range(count)],
            "operation_index": queue,
            "node_index": node,
            "start_time": rng.permutation(count).astype(float),
            "priority": rng.integers(0, 3, size=count).astype(float),
            **by_resource("resources", amounts),
        },
        requests={
            "name": [f"r{i:06d}" for i in range(asks)],
            "operation_index": of,
            "submit_time": np.arange(asks).astype(float),
            **by_resource("resources", wanted),
        },
    )


def planner(snapshot: eh.Snapshot, **settings: Any) -> _core.Planner:
    """A planner, before its first update."""
    return eh.policies.YuniKorn(**settings)._planner(snapshot)[0]


def round_of(snapshot: eh.Snapshot, **settings: Any) -> _core.Planner:
    """A planner after its first round."""
    made = planner(snapshot, **settings)
    made.update(snapshot._core.now)
    made.decide(cycle="preemption")
    return made


def limit_for(snapshot: eh.Snapshot, served: int) -> float:
    """The least amount of cpu with which a round serves so many asks."""
    low, high = 1, snapshot.node_count * 100
    while low < high:
        middle = (low + high) // 2
        if round_of(snapshot, limit={"cpu": middle}).counts()["cycle.started"] < served:
            low = middle + 1
        else:
            high = middle
    return low


def median(call: Callable[[], object], times: int = TIMES) -> float:
    """Milliseconds of processor time of a call, the median."""
    took = []
    for _ in range(times):
        begin = time.process_time_ns()
        call()
        took.append((time.process_time_ns() - begin) / 1e6)
    return statistics.median(took)


def decided(plan: _core.Planner, action: str) -> dict[str, np.ndarray]:
    """Decisions of an action."""
    found = {name: np.asarray(column) for name, column in plan.decisions().items()}
    rows = found["action"] == ACTIONS.index(action)
    return {name: column[rows] for name, column in found.items()}


def in_vain(snapshot: eh.Snapshot, shotgun: _core.Planner) -> tuple[int, int]:
    """How many victims of the shotgun there are, and how many helped no ask.

    Asks are placed when all victims have gone. Those that could come back to their node then, from the last
    one on, with all asks still there, have helped none.
    """
    victims = decided(shotgun, "preempt")
    after = planner(snapshot, n_alloc=2**31)
    for slot in victims["allocation"].tolist():
        after.end(slot)
    after.update(snapshot._core.now)
    after.decide(cycle="allocation")
    starts = decided(after, "start")
    free = np.zeros((snapshot.node_count, len(RESOURCES)), np.int64)
    np.add.at(free, victims["node"], victims["freed"])
    np.subtract.at(free, starts["node"], starts["needed"])
    back = 0
    for node, amounts in zip(victims["node"][::-1], victims["freed"][::-1], strict=True):
        if (free[node] >= amounts).all():
            free[node] -= amounts
            back += 1
    return len(victims["node"]), back


def measured(snapshot: eh.Snapshot, what: str, served: int = SERVED) -> None:
    """Print what a round costs and decides, and the shotgun beside it."""
    print(f"-- {what}")
    limit = {"cpu": limit_for(snapshot, served)}
    live = planner(snapshot, limit=limit)
    update = median(lambda: live.update(snapshot._core.now))
    took = median(lambda: live.decide(cycle="preemption"))
    counts = live.counts()
    sizes = Counter(Counter(decided(live, "preempt")["step"].tolist()).values())
    note = ", ".join(f"{size}: {sizes[size]}" for size in sorted(sizes))
    row(
        "a round, after its update",
        took,
        "ms",
        ROUND_BAR,
        f"{counts['cycle.started']} asks served, {counts['cycle.failed']} not",
    )
    print(f"asks by their number of victims: {note}")
    row("its update", update, "ms")
    row("the first round of a snapshot", median(lambda: round_of(snapshot, limit=limit), 5), "ms", FIRST_BAR)
    shotgun = planner(snapshot, limit=limit, mode="shotgun")
    shotgun.update(snapshot._core.now)
    took = median(lambda: shotgun.decide(cycle="preemption"))
    victims, useless = in_vain(snapshot, shotgun)
    row("the shotgun, after its update", took, "ms", SHOTGUN_BAR,
        f"{victims} victims, of which {useless} helped no ask")  # fmt: skip


def main() -> None:
    """Print the table."""
    print(host())
    measured(crowded(), "400 queues below 20, each ask its own")
    measured(crowded(shapes=20), "400 queues below 20, asks of 20 kinds")
    measured(crowded(parents=0), "400 queues below the root, each ask its own")


if __name__ == "__main__":
    main()
