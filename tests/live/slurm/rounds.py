"""Random queues on a real Slurm: several small clusters side by side in one, and what becomes of each."""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.live.slurm.conftest import Cluster, emulator, started

GROUPS, WIDTH, CPUS = 4, 4, 4
TIERS = (1, 5, 10, 20)
WATCH = 30.0


@dataclass(frozen=True)
class Queued:
    """A job: where it runs, or on how many nodes it wants to; further options; of an array, its tasks."""

    partition: str
    cpus: int
    minutes: int
    priority: int
    nodes: tuple[str, ...] = ()
    count: int = 1
    most: int = 0
    more: tuple[str, ...] = ()
    tasks: int = 0


@dataclass(frozen=True)
class Group:
    """Nodes of their own, with two to four partitions, what runs there and what waits."""

    partitions: dict[str, str]
    running: tuple[Queued, ...]
    waiting: tuple[Queued, ...]


@dataclass
class Seen:
    """What started and what was preempted of a group, by the places of the jobs and tasks."""

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


PREEMPTION = "PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE"


def lines_of(groups: list[dict[str, str]]) -> str:
    """Return the lines of all partitions."""
    return "\n".join(
        f"PartitionName={name} {said} MaxTime=INFINITE State=UP"
        for one in groups
        for name, said in one.items()
    )


@contextmanager
def started_for(groups: list[dict[str, str]]) -> Iterator[Cluster]:
    """Run the cluster of all groups."""
    with started(
        emulator(),
        port=20,
        nodes=GROUPS * WIDTH,
        partitions=lines_of(groups),
        preemption=PREEMPTION,
        expiry=120,
    ) as cluster:
        yield cluster


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


def submit(cluster: Cluster, job: Queued) -> list[str]:
    """Return the names of what comes: of an array, those of its tasks."""
    where = ("-w", ",".join(job.nodes)) if job.nodes else ()
    rank = (f"--priority={job.priority}",) if job.priority else ()
    count = f"{job.count}-{job.most}" if job.most else str(len(job.nodes) or job.count)
    array = (f"--array=1-{job.tasks}",) if job.tasks else ()
    name = cluster.run(
        *("sbatch", "--parsable", "-p", job.partition, "-N", count, *array, *job.more),
        *(f"--ntasks-per-node={job.cpus}", "--mem-per-cpu=10", "-t", str(job.minutes), *where, *rank),
        *("-o", "/dev/null", "-D", "/tmp", "--wrap", "sleep 900"),
    ).strip()
    return [f"{name}_{task + 1}" for task in range(job.tasks)] or [name]


def standings(cluster: Cluster) -> dict[str, tuple[str, bool]]:
    """Return states of jobs by name, tasks of arrays one by one, and whether they have been preempted."""
    columns = "jobarrayid:|,state:|,restartcnt:|,preempttime:|"
    text = cluster.run("squeue", "-a", "-r", "-h", "-t", "all", "-O", columns)
    rows = (line.split("|") for line in text.splitlines())
    return {name: (state, restarts != "0" or at != "N/A") for name, state, restarts, at, *_ in rows}


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
    names = [[name for job in group.running for name in submit(cluster, job)] for group in groups]
    until = time.monotonic() + 120
    while True:
        found = standings(cluster)
        waits = [name for some in names for name in some if found[name][0] != "RUNNING"]
        if not waits:
            return names
        assert time.monotonic() < until, waits
        time.sleep(0.1)


def watch(cluster: Cluster, running: list[list[str]], waiting: list[list[str]], until: float) -> list[Seen]:
    """Return what became of each group's jobs once the watch is over."""
    time.sleep(max(until - time.monotonic(), 0))
    jobs = standings(cluster)
    found = []
    for runs, waits in zip(running, waiting, strict=True):
        seen = Seen()
        for place, name in enumerate(runs):
            state, preempted = jobs[name]
            if state in ("PREEMPTED", "COMPLETING") or preempted:
                seen.preempted.add(place)
        seen.started = {place for place, name in enumerate(waits) if jobs[name][0] == "RUNNING"}
        found.append(seen)
    return found
