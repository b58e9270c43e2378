"""Clusters of Slurm on which several jobs wait, most of them in one partition, some nodes idle."""

from __future__ import annotations

import random
from typing import Any

from evenhand.systems.slurm.releases import RELEASES
from evenhand.systems.slurm.settings import SlurmSettings

__all__ = ["queue"]

NOW = 1000


def queue(chance: random.Random) -> tuple[dict[str, Any], SlurmSettings]:
    """Return a snapshot's tables, and settings with the usual limits of both passes."""
    nodes = [f"n{i}" for i in range(chance.randint(2, 5))]
    free = {node: chance.choice((1, 2, 4)) for node in nodes}
    capacity = dict(free)
    idle = set(chance.sample(nodes, chance.randint(0, len(nodes) - 1)))
    operations: list[dict[str, Any]] = []
    allocations: list[dict[str, Any]] = []
    for i in range(chance.randint(1, 6)):
        at = [n for n in chance.sample(nodes, chance.choice((1, 1, 2))) if n not in idle and free[n]]
        if not at:
            continue
        cpus = chance.randint(1, min(free[n] for n in at))
        tier = chance.choice(("low", "low", "mid", "high"))
        operations.append({"name": f"j{i}", "partition": tier, "qos": chance.choice(("bronze", "silver"))})
        operations[-1]["start_time"] = chance.randint(0, 9)
        row = {"operation": f"j{i}", "resources": {"cpu": cpus}, "start_time": chance.choice((10, 20))}
        if chance.random() < 0.95:
            row["planned_end"] = NOW + chance.choice((30, 300, 1800, 3600))
        for n in at:
            free[n] -= cpus
            allocations.append({"name": f"j{i}@{n}", "node": n, **row})
    requests = []
    for i in range(chance.randint(1, 5)):
        row = {"name": f"p{i}", "partition": chance.choice(("high", "high", "high", "mid"))}
        row |= {"qos": chance.choice(("gold", "gold", "silver")), "priority": chance.randint(1, 3)}
        operations.append({**row, "start_time": chance.randint(0, 3)})
        asks: dict[str, Any] = {"name": f"p{i}-r", "operation": f"p{i}"}
        asks["resources"] = {"cpu": chance.choice((1, 1, 2, 4))}
        asks["count"] = chance.choice((1, 1, 2, len(nodes), len(nodes)))
        if chance.random() < 0.8:
            asks["duration"] = chance.choice((60, 600, 7200, 7200))
        requests.append(asks)
    some = chance.random() < 0.2
    partitions: dict[str, Any] = {
        "low": {"PriorityTier": 1, "GraceTime": chance.choice((0.0, 0.0, 20.0))},
        "mid": {"PriorityTier": 5},
        "high": {"PriorityTier": 10, "Nodes": nodes[:2] if some else ["ALL"]},
    }
    qos: dict[str, Any] = {
        "bronze": {},
        "silver": {"Priority": 1, "Preempt": ["bronze"]},
        "gold": {"Priority": 3, "Preempt": ["bronze", "silver"]},
    }
    s = SlurmSettings(
        PreemptType=chance.choice(("preempt/partition_prio", "preempt/partition_prio", "preempt/qos")),
        PreemptMode=chance.choice(("CANCEL", "REQUEUE")),
        SchedulerType=chance.choice(("sched/builtin", "sched/backfill")),
        SelectType="select/cons_tres",
        victim_selection=chance.choice(
            ("reorder", "reorder", "prefix", "irreducible", "minimum", "test_only")
        ),
        partitions=partitions,
        qos=qos,
        release=chance.choice((None, *RELEASES)),
    )
    data = {
        "now": NOW,
        "resources": {"cpu": {}},
        "nodes": [{"name": n, "capacity": {"cpu": capacity[n]}} for n in nodes],
        "operations": operations,
        "allocations": allocations,
        "requests": requests,
    }
    return data, s
