"""Random queues on a real Slurm: several small clusters side by side in one, and what becomes of each."""

from __future__ import annotations

import random
import subprocess
import time
from dataclasses import dataclass, field
from typing import Any

from tests.live.slurm.conftest import Cluster

GROUPS, WIDTH, CPUS = 4, 4, 4
TIERS = (1, 5, 10, 20)
WATCH = 30.0


@dataclass(frozen=True)
class Queued:
    """A job: where it runs, or on how many nodes it wants to."""

    partition: str
    cpus: int
    minutes: int
    priority: int
    nodes: tuple[str, ...] = ()
    count: int = 1


@dataclass(frozen=True)
class Group:
    """Nodes of their own, with two to four partitions, what runs there and what waits."""

    partitions: dict[str, str]
    running: tuple[Queued, ...]
    waiting: tuple[Queued, ...]


@dataclass
class Seen:
    """What started and what was preempted of a group, by the places of the jobs."""

    started: set[int] = field(default_factory=set)
    preempted: set[int] = field(default_factory=set)


def layout(chance: random.Random) -> list[dict[str, str]]:
    """Return lines of slurm.conf by partition, for each group."""
    groups = []
    for g in range(GROUPS):
        nodes = [f"n{g * WIDTH + i + 1}" for i in range(WIDTH)]
        tiers = sorted(chance.sample(TIERS, chance.randint(2, 4)))
        partitions = {}
        for place, tier in enumerate(tiers):
            some = nodes if chance.random() < 0.6 else sorted(chance.sample(nodes, chance.randint(2, WIDTH)))
            mode = " PreemptMode=CANCEL" if chance.random() < 0.2 else ""
            partitions[f"g{g}t{place}"] = f"Nodes={','.join(some)} PriorityTier={tier}{mode}"
        groups.append(partitions)
    return groups


def options(groups: list[dict[str, str]]) -> dict[str, Any]:
    """Return what the cluster of all groups is started with."""
    lines = [
        f"PartitionName={name} {said} MaxTime=INFINITE State=UP"
        for one in groups
        for name, said in one.items()
    ]
    return {
        "partitions": "\n".join(lines),
        "preemption": "PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE",
        "expiry": 120,
    }


def nodes_of(said: str) -> list[str]:
    """Return the nodes of a partition's line."""
    return said.partition("Nodes=")[2].partition(" ")[0].split(",")


def draw(chance: random.Random, partitions: dict[str, str]) -> Group:
    """Return a group whose nodes are nearly full."""
    names = list(partitions)
    free = dict.fromkeys(sorted({node for said in partitions.values() for node in nodes_of(said)}), CPUS)
    running = []
    for _ in range(chance.randint(4, 9)):
        partition = chance.choice([*names[:-1], *names])
        cpus = chance.choice([1, 2, 2, 3, 4])
        places = [node for node in nodes_of(partitions[partition]) if free[node] >= cpus]
        width = chance.choice([1, 1, 1, 2])
        if len(places) < width:
            continue
        nodes = tuple(sorted(chance.sample(places, width)))
        for node in nodes:
            free[node] -= cpus
        running.append(Queued(partition, cpus, chance.choice([10, 20, 40, 120]), 0, nodes))
    waiting = []
    for priority in chance.sample(range(100, 2000), chance.randint(3, 12)):
        partition = chance.choice([*names, *names[1:]])
        width = chance.choice([1, 1, 1, 2, min(3, len(nodes_of(partitions[partition])))])
        cpus, minutes = chance.choice([1, 2, 3, 4]), chance.choice([4, 14, 33, 90])
        waiting.append(Queued(partition, cpus, minutes, priority, count=width))
    return Group(partitions, tuple(running), tuple(waiting))


def submit(cluster: Cluster, job: Queued) -> str:
    where = ("-w", ",".join(job.nodes)) if job.nodes else ()
    rank = (f"--priority={job.priority}",) if job.priority else ()
    return cluster.run(
        *("sbatch", "--parsable", "-p", job.partition, "-N", str(len(job.nodes) or job.count)),
        *(f"--ntasks-per-node={job.cpus}", "--mem-per-cpu=10", "-t", str(job.minutes), *where, *rank),
        *("-o", "/dev/null", "-D", "/tmp", "--wrap", "sleep 900"),
    ).strip()


def switch(cluster: Cluster, groups: list[Group], state: str) -> None:
    """Put all partitions up or down within milliseconds."""
    lines = [f"update PartitionName={name} State={state}" for group in groups for name in group.partitions]
    said = subprocess.run(
        ["scontrol"],
        input="\n".join([*lines, "quit", ""]),
        env=cluster.environment,
        text=True,
        capture_output=True,
        check=False,
    )
    assert said.returncode == 0, said.stdout + said.stderr


def fill(cluster: Cluster, groups: list[Group]) -> list[list[str]]:
    """Let what runs run; return the names of each group's jobs."""
    cluster.clear()
    switch(cluster, groups, "UP")
    names = [[submit(cluster, job) for job in group.running] for group in groups]
    cluster.wait([name for some in names for name in some], "RUNNING", seconds=120)
    return names


def watch(cluster: Cluster, running: list[list[str]], waiting: list[list[str]], until: float) -> list[Seen]:
    """Return what became of each group's jobs once the watch is over."""
    time.sleep(max(until - time.monotonic(), 0))
    jobs = cluster.jobs()
    found = []
    for runs, waits in zip(running, waiting, strict=True):
        seen = Seen()
        for place, name in enumerate(runs):
            job = jobs[name]
            if job["job_state"] in ("PREEMPTED", "COMPLETING") or job["restart_cnt"]:
                seen.preempted.add(place)
        seen.started = {place for place, name in enumerate(waits) if jobs[name]["job_state"] == "RUNNING"}
        found.append(seen)
    return found
