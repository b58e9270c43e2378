"""Threads that compute at the same time in one process give the bytes of a computation alone."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand import synthetic
from tests.waiting import HANG

SETTINGS = eh.FairShareSettings(step_function_for_gang=True, fifo_reordering=True)


def result_bytes(snapshot: eh.Snapshot, settings: eh.FairShareSettings = SETTINGS) -> bytes:
    shares = eh.fair_share(snapshot, settings)
    arrays = b"".join(np.ascontiguousarray(shares[quantity]).tobytes() for quantity in shares.quantities)
    return arrays + repr(shares.diagnostics).encode()


def test_two_threads_give_the_bytes_of_one() -> None:
    sizes = {"pools": 60, "depth": 4, "operations": 800, "allocations": 3000, "nodes": 60}
    first, second = (eh.Snapshot.from_frames(**synthetic.columns(seed=seed, **sizes)) for seed in (1, 2))
    plain = eh.FairShareSettings()
    # One snapshot with itself, with other settings, with another snapshot.
    pairs = [
        ((first, SETTINGS), (first, SETTINGS)),
        ((first, SETTINGS), (first, plain)),
        ((first, plain), (second, SETTINGS)),
    ]
    alone = [[result_bytes(*given) for given in pair] for pair in pairs]
    assert len({found for pair in alone for found in pair}) == 3  # the inputs can be told apart
    together = Barrier(2)

    def repeatedly(given: tuple[eh.Snapshot, eh.FairShareSettings]) -> set[bytes]:
        together.wait(timeout=HANG)
        return {result_bytes(*given) for _ in range(20)}

    with ThreadPoolExecutor(2) as pool:
        for pair, expected in zip(pairs, alone, strict=True):
            assert list(pool.map(repeatedly, pair)) == [{e} for e in expected]


@pytest.mark.parametrize(
    "policy",
    [eh.policies.YTsaurus(fair_share_update_period=60), eh.policies.Slurm(), eh.policies.BackendAI()],
    ids=lambda policy: policy.system,
)
def test_threads_on_one_cluster_take_turns(policy: Any) -> None:
    """Events, updates, plans and what is asked of them, from four threads at once."""
    frames = synthetic.columns(seed=3, pools=20, depth=3, operations=60, allocations=400, nodes=12)
    first = eh.Snapshot.from_frames(**frames)
    cluster = eh.Cluster(first, policy)
    operation, (resource, *_) = first.names("operations")[0], first.resources
    names = [str(name) for name in first.names("nodes")]
    together = Barrier(4)

    def work(thread: int) -> int:
        together.wait(timeout=HANG)
        decided = 0
        for i in range(30):
            row = {"name": f"t{thread}-{i}", "operation": operation, "resources": {resource: 0}}
            cluster.apply([{"event": "start", "row": row}])
            if i % 10 == thread:
                cluster.update()
            node = names[(i + thread) % len(names)]
            plan = cluster.plan(on=None if policy.period is None else eh.Heartbeat(node))
            decided += len(plan.decisions)
            assert plan.snapshot.allocation_count > first.allocation_count
            if i % 15 == thread:
                assert [d.to_dict() for d in plan.decisions] == plan.to_dict()["decisions"]
                assert cluster.copy().now == cluster.now
            if i % 3 == 0:
                cluster.apply([{"event": "end", "allocation": f"t{thread}-{i}"}])
        return decided

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    started = {str(name) for name in cluster.snapshot().names("allocations") if str(name).startswith("t")}
    assert {f"t{t}-{i}" for t in range(4) for i in range(30) if i % 3} <= started
    assert cluster.snapshot().allocation_count == first.allocation_count + 4 * 20
