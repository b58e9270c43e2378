"""Random scenarios of preemption: what runs where, and who comes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

NODES, CPUS = 8, 4
EXEMPT = 10  # seconds


@dataclass(frozen=True)
class Configuration:
    """What slurm.conf says of preemption."""

    partitions: dict[str, str]
    mode: str
    parameters: tuple[str, ...] = ()
    exempt: bool = False

    def options(self) -> dict[str, Any]:
        """Return it as options of a cluster."""
        lines = [
            f"PartitionName={name} Nodes=n[1-{NODES}] MaxTime=INFINITE State=UP {said}"
            for name, said in self.partitions.items()
        ]
        preemption = ["PreemptType=preempt/partition_prio", f"PreemptMode={self.mode}"]
        preemption += [f"PreemptExemptTime=00:00:{EXEMPT}"] if self.exempt else []
        return {
            "partitions": "\n".join(lines),
            "preemption": "\n".join(preemption),
            "parameters": ",".join(self.parameters),
            "expiry": 120,
        }


@dataclass(frozen=True)
class Job:
    partition: str
    nodes: tuple[str, ...]
    cpus: int
    late: bool = False  # a second or more after those before it


@dataclass(frozen=True)
class Scenario:
    configuration: Configuration
    nodes: int
    cpus: int
    jobs: tuple[Job, ...] = field(default=())


def configurations(chance: random.Random) -> Iterator[Configuration]:
    """Yield six configurations that differ in what matters to the choice of victims."""
    three = {
        "low": "PriorityTier=1 Default=YES",
        "mid": "PriorityTier=5",
        "high": "PriorityTier=10 PreemptMode=OFF",
    }
    two = {name: said for name, said in three.items() if name != "mid"}

    def passes() -> str:
        return f"preempt_reorder_count={chance.choice([0, 1, 2, 3])}"

    yield Configuration(three, "REQUEUE")
    yield Configuration(three, "CANCEL", ("preempt_strict_order", passes()))
    yield Configuration(two, "REQUEUE", ("preempt_youngest_first", passes()))
    mixed = three | {"low": three["low"] + " PreemptMode=CANCEL"}
    mixed["mid"] += chance.choice(["", " PreemptMode=OFF"])
    yield Configuration(mixed, "REQUEUE", (passes(), *chance.choice([(), ("preempt_strict_order",)])))
    yield Configuration(three, "REQUEUE", chance.choice([(), ("preempt_youngest_first",)]), exempt=True)
    shared = " OverSubscribe=FORCE:1"
    gang = {name: said + shared for name, said in three.items()}
    gang["low"] += chance.choice(["", " PreemptMode=REQUEUE", " PreemptMode=CANCEL"])
    yield Configuration(gang, "SUSPEND,GANG")


def draw(chance: random.Random, configuration: Configuration) -> Scenario:
    """Return a scenario in which the job that comes fits only if others go."""
    while True:
        free = dict.fromkeys((f"n{number + 1}" for number in range(NODES)), CPUS)
        lower = [name for name in configuration.partitions if name != "high"]
        weights = [2, 1][: len(lower)]
        jobs = []
        for _ in range(chance.randint(6, 14)):
            width, cpus = chance.choice([1, 1, 1, 1, 2, 2, 3, 4, 8]), chance.choice([1, 2, 2, 3, 4])
            places = [node for node, left in free.items() if left >= cpus]
            if len(places) < width:
                continue
            nodes = tuple(sorted(chance.sample(places, width)))
            (partition,) = chance.choices(lower, weights)
            jobs.append(Job(partition, nodes, cpus, late=chance.random() < 0.5))
            for node in nodes:
                free[node] -= cpus
        nodes, cpus = chance.choice([1, 2, 3, 4, 5, 6]), chance.choice([1, 2, 3, 4, 4])
        if sum(left >= cpus for left in free.values()) < nodes:
            return Scenario(configuration, nodes, cpus, tuple(jobs))
