"""Random queues of arrays, devices, exclusive jobs, ranges, grace times and jobs of several partitions."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager

from tests.live.slurm import rounds
from tests.live.slurm.conftest import Cluster, started_with_accounts
from tests.live.slurm.rounds import CPUS, GROUPS, WIDTH, Group, Queued, nodes_of

DEVICES, GRACE = 2, 5
KINDS = ("plain", "array", "devices", "exclusive", "range", "partitions")
#: Ranges are drawn less often: plans take the fewest nodes, a controller as many as are free.
WEIGHTS = (4, 4, 4, 4, 1, 4)


def layout(chance: random.Random) -> list[dict[str, str]]:
    """Return lines of slurm.conf by partition, for each group; what runs in some has a grace time."""
    return [
        {
            name: said + (f" GraceTime={GRACE}" if chance.random() < 0.3 else "")
            for name, said in partitions.items()
        }
        for partitions in rounds.layout(chance)
    ]


@contextmanager
def started_for(groups: list[dict[str, str]]) -> Iterator[Cluster]:
    """Run the cluster of all groups; without a database no devices are accounted."""
    nodes = GROUPS * WIDTH
    lines = f"GresTypes=card\nAccountingStorageTRES=gres/card\nNodeName=DEFAULT Gres=card:{DEVICES}"
    with started_with_accounts(
        5000 + os.getpid() % 100 * 40,
        nasty=False,
        lines=f"{lines}\nAuthInfo=cred_expire=120",
        beyond=nodes + 4,
        files={"gres.conf": f"NodeName=n[1-{nodes}] Name=card Count={DEVICES}\n"},
        EMU_NODES=str(nodes),
        EMU_PARTS=rounds.lines_of(groups),
        EMU_PREEMPT=rounds.PREEMPTION,
    ) as accounted:
        yield accounted.cluster


def kind_of(job: Queued) -> str:
    """Return what is rare about a job."""
    if job.tasks or job.most:
        return "array" if job.tasks else "range"
    if job.more:
        return "devices" if job.more[0].startswith("--gres") else "exclusive"
    return "partitions" if "," in job.partition else "plain"


def draw(chance: random.Random, partitions: dict[str, str]) -> Group:
    """Return a group whose nodes are nearly full."""
    return Group(partitions, tuple(_running(chance, partitions)), tuple(_waiting(chance, partitions)))


def _running(chance: random.Random, partitions: dict[str, str]) -> list[Queued]:
    names = list(partitions)
    free = dict.fromkeys(sorted({node for said in partitions.values() for node in nodes_of(said)}), CPUS)
    devices = dict.fromkeys(free, DEVICES)
    running = []
    for _ in range(chance.randint(4, 9)):
        partition, kind = chance.choice([*names[:-1], *names]), chance.choice(["plain", *KINDS[:4]])
        cpus, width = chance.choice([1, 2, 2, 3, 4]), chance.choice([1, 1, 1, 2])
        each, tasks = (DEVICES if kind == "devices" else 0), (2 if kind == "array" else 0)
        if tasks:
            cpus, width = min(cpus, CPUS // tasks), 1
        taken = CPUS if kind == "exclusive" else cpus * (tasks or 1)
        places = [n for n in nodes_of(partitions[partition]) if free[n] >= taken and devices[n] >= each]
        if len(places) < width:
            continue
        nodes = tuple(sorted(chance.sample(places, width)))
        for node in nodes:
            free[node] -= taken
            devices[node] -= each
        more = _options(kind, each)
        running.append(Queued(partition, cpus, chance.choice([10, 20, 40, 120]), 0, nodes, 1, 0, more, tasks))
    return running


def _waiting(chance: random.Random, partitions: dict[str, str]) -> list[Queued]:
    names, waiting = list(partitions), []
    for priority in chance.sample(range(100, 2000), chance.randint(3, 9)):
        partition, kind = chance.choice([*names, *names[1:]]), chance.choices(KINDS, WEIGHTS)[0]
        if kind == "partitions":
            partition = ",".join(chance.sample(names, 2))
        most = min(len(nodes_of(partitions[name])) for name in partition.split(","))
        count, cpus = chance.choice([1, 1, 1, 2, min(3, most)]), chance.choice([1, 2, 3, 4])
        wide = min(count + chance.choice([1, 2]), most) if kind == "range" else 0
        waiting.append(
            Queued(
                partition,
                cpus,
                chance.choice([4, 14, 33, 90]),
                priority,
                count=count,
                most=wide if wide > count else 0,
                more=_options(kind, chance.randint(1, DEVICES)),
                tasks=chance.choice([2, 3]) if kind == "array" else 0,
            )
        )
    return waiting


def _options(kind: str, devices: int) -> tuple[str, ...]:
    return {"devices": (f"--gres=card:{devices}",), "exclusive": ("--exclusive",)}.get(kind, ())
