"""Multifactor priorities of 10,000 jobs by 2,000 users of 50 accounts.

``python -m tests.bench.slurm.priority`` prints the median of the factors alone, of the table, and of a plan.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

import evenhand as eh
from evenhand.systems.slurm.columns import Jobs

JOBS, USERS, ACCOUNTS, NODES = 10_000, 2_000, 50, 1_000
TIMES = 9


def crowd(seed: int = 1) -> tuple[eh.Snapshot, eh.policies.Slurm]:
    """Jobs that wait, and a policy with all weights."""
    rng = np.random.default_rng(seed)
    tree: dict[str, Any] = {f"a{a}": {"shares": int(rng.integers(1, 9))} for a in range(ACCOUNTS)}
    for user in range(USERS):
        row = {"shares": int(rng.integers(1, 9)), "usage": float(rng.integers(10**6))}
        tree[f"a{user % ACCOUNTS}/u{user}"] = {"parent": f"a{user % ACCOUNTS}", **row}
    users = rng.integers(USERS, size=JOBS).tolist()
    snapshot = eh.Snapshot.from_dict(
        {
            "now": 10**6,
            "resources": {"cpu": {"quantum": 1}},
            "nodes": [{"name": n, "capacity": {"cpu": 64}} for n in range(NODES)],
            "operations": [
                {
                    "name": job,
                    "account": f"a{user % ACCOUNTS}",
                    "user": f"u{user}",
                    "partition": ("low", "high")[job % 2],
                    "qos": ("tin", "gold")[job % 3 == 0],
                    "start_time": int(rng.integers(10**6)),
                }
                for job, user in enumerate(users)
            ],
            "requests": [
                {"name": job, "operation": job, "resources": {"cpu": int(rng.integers(1, 32))}}
                for job in range(JOBS)
            ],
        }
    )
    weights = {
        f"PriorityWeight{w}": 1000 for w in ("Age", "Assoc", "Fairshare", "JobSize", "Partition", "QOS")
    }
    policy = eh.policies.Slurm(
        **weights,
        PriorityType="priority/multifactor",
        PriorityWeightTRES="cpu=100",
        shares=tree,
        association_priority={"a1/u1": 5},
        partitions={"low": {}, "high": {"PriorityJobFactor": 3}},
        qos={"tin": {"Priority": 1}, "gold": {"Priority": 5}},
    )
    return snapshot, policy


def measured(function: Callable[[], object]) -> float:
    """Median of some runs, in milliseconds."""
    spans = []
    for _ in range(TIMES):
        begun = time.perf_counter()
        function()
        spans.append(time.perf_counter() - begun)
    return median(spans) * 1e3


def main() -> None:
    """Print the figures."""
    snapshot, policy = crowd()
    jobs = Jobs(snapshot, policy.settings)

    def factors() -> object:
        for name in ("derived", "priorities"):
            vars(jobs).pop(name, None)
        return jobs.priorities

    print(f"{JOBS:,} jobs, {USERS:,} users")
    print(f"factors and priorities  {measured(factors):8.1f} ms")
    print(f"policy.priorities       {measured(lambda: policy.priorities(snapshot)):8.1f} ms")
    print(f"plan                    {measured(lambda: eh.plan(snapshot, policy)):8.1f} ms")


if __name__ == "__main__":
    main()
