"""A preemptible partition of Slurm and its translation into Backend.AI priorities: both take the same."""

from __future__ import annotations

import random
from typing import Any

import pytest

import evenhand as eh
from tests.drawing import examples

STATES = min(5 * examples(), 1000)
ENOUGH = 20
"""More reorders than there are candidates: then Slurm, too, gives back whoever is not needed."""

Job = tuple[str, bool, int, int]


def random_state(rng: random.Random, *, one_size: bool) -> tuple[list[Job], int, int]:
    """Return jobs (name, whether of the low tier, cpus, start) on one node, its cpus, and cpus wanted."""
    jobs = [
        (f"j{i}", rng.random() < 0.7, 2 if one_size else rng.randint(1, 4), 10 * (i + 1))
        for i in range(rng.randint(1, 8))
    ]
    cpus = sum(size for _, _, size, _ in jobs) + rng.randint(0, 2)
    return jobs, cpus, rng.randint(1, cpus)


def snapshot(jobs: list[Job], cpus: int, wanted: int, **fields: tuple[Any, Any]) -> eh.Snapshot:
    """Return the state; ``fields`` have the values of high and of low ones."""
    operations: list[dict[str, Any]] = [
        {"name": name, "start_time": start, **{field: values[low] for field, values in fields.items()}}
        for name, low, _, start in jobs
    ]
    operations.append(
        {"name": "p", "start_time": 900, **{field: high for field, (high, _) in fields.items()}}
    )
    return eh.Snapshot.from_dict(
        {
            "now": 1000,
            "resources": {"cpu": {}},
            "nodes": [{"name": "n", "capacity": {"cpu": cpus}}],
            "operations": operations,
            "allocations": [
                {
                    "name": name,
                    "operation": name,
                    "node": "n",
                    "resources": {"cpu": size},
                    "start_time": start,
                }
                for name, _, size, start in jobs
            ],
            "requests": [{"name": "r", "operation": "p", "resources": {"cpu": wanted}}],
        }
    )


def victims(snapshot: eh.Snapshot, policy: Any) -> set[Any]:
    return {d.operation for d in eh.plan(snapshot, policy).decisions.victims}


@pytest.mark.parametrize(("one_size", "reorder_count"), [(True, 1), (False, ENOUGH), (False, 1)])
def test_both_choose_the_same_victims(one_size: bool, reorder_count: int) -> None:
    tiers = {"low": {"PriorityTier": 1}, "high": {"PriorityTier": 10, "PreemptMode": "OFF"}}
    slurm = eh.policies.Slurm(
        PreemptType="preempt/partition_prio",
        PreemptMode="CANCEL",
        reorder_count=reorder_count,
        partitions=tiers,
    )
    rng, some, different = random.Random(5), 0, 0
    for _ in range(STATES):
        state = random_state(rng, one_size=one_size)
        of_slurm = victims(snapshot(*state, partition=("high", "low")), slurm)
        of_backendai = victims(snapshot(*state, priority=(50, 5)), eh.policies.BackendAI())
        some += bool(of_backendai)
        if of_slurm != of_backendai:
            different += 1
            assert of_slurm > of_backendai, "what Slurm takes beyond need, with few reorders"
    assert some > STATES / 2
    if one_size or reorder_count == ENOUGH:
        assert different == 0
    else:
        assert 0 < different < STATES / 50, "jobs of several sizes, and one reorder, Slurm's default"
