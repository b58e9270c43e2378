"""Multifactor priorities of a real Slurm with a database: all factors of jobs that wait, as sprio has it."""

from __future__ import annotations

import os
import pwd
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import evenhand as eh
from tests.live.slurm.conftest import Accounted, Cluster, started_with_accounts
from tests.unit.slurm.sprio import FORMAT, compare

pytestmark = pytest.mark.live

JOBS = 30
#: Usage is printed in whole numbers: cpus count much, so that seven digits can be compared.
PARTITIONS = """\
PartitionName=DEFAULT State=UP TRESBillingWeights=CPU=1000000.0
PartitionName=low Nodes=n[1-8] Default=YES MaxTime=INFINITE State=UP PriorityJobFactor=10
PartitionName=high Nodes=n[1-4] MaxTime=INFINITE State=UP PriorityTier=10 PriorityJobFactor=40"""
PRIORITY = """\
PriorityType=priority/multifactor
PriorityWeightAge=1000
PriorityWeightAssoc=500
PriorityWeightFairshare=10000
PriorityWeightJobSize=2000
PriorityWeightPartition=3000
PriorityWeightQOS=4000
PriorityWeightTRES=CPU=700,Mem=300
PriorityMaxAge=02:00:00
PriorityCalcPeriod=1"""
CLASSIC = "PriorityFlags=NO_FAIR_TREE\nFairShareDampeningFactor=3\nPriorityFavorSmall=YES"

#: Account, the one above, shares; users with shares. Shares are prime to what these jobs use, so that
#: nobody who has used anything ties: sshare rounds usage, and does not tell which of tied accounts is first.
ACCOUNTS = {
    "labs": ("root", "41", {}),
    "phys": ("labs", "31", {"games": "7", "man": "5", "news": "parent"}),
    "chem": ("labs", "11", {"lp": "1", "games": "parent"}),
    "industry": ("root", "61", {"mail": "11", "sys": "7"}),
    "solo": ("industry", "parent", {"bin": "5", "daemon": "0"}),
}
OWNERS = [(user, account) for account, (_, _, users) in ACCOUNTS.items() for user in users]


@pytest.fixture(scope="module")
def world() -> Iterator[Accounted]:
    port = 27000 + os.getpid() % 200 * 20
    with started_with_accounts(port, nasty=False, lines=PRIORITY, EMU_PARTS=PARTITIONS) as accounted:
        run = accounted.cluster.run
        for name, (above, shares, _) in ACCOUNTS.items():
            run("sacctmgr", "-i", "add", "account", name, f"parent={above}", f"fairshare={shares}")
        for name, (_, _, users) in ACCOUNTS.items():
            for user, shares in users.items():
                run("sacctmgr", "-i", "add", "user", user, f"account={name}", f"fairshare={shares}")
        for qos, priority in (("gold", 100), ("silver", 50)):
            run("sacctmgr", "-i", "add", "qos", qos, f"priority={priority}")
        for user in {user for user, _ in OWNERS}:
            run("sacctmgr", "-i", "modify", "user", user, "set", "qos=normal,gold,silver")
        run("sacctmgr", "-i", "modify", "account", "phys", "set", "priority=7")
        yield accounted


def submit(cluster: Cluster, owner: tuple[str, str], *more: str, seconds: float) -> str:
    user, account = owner
    group = pwd.getpwnam(user).pw_gid
    return cluster.run(
        *("sbatch", "--parsable", f"--uid={user}", f"--gid={group}", "-A", account, "-o", "/dev/null"),
        *("-D", "/tmp", *more, "--wrap", f"sleep {seconds}"),
    ).strip()


def some_jobs(cluster: Cluster, chance: random.Random) -> list[str]:
    names = []
    for _ in range(JOBS):
        nodes = chance.randrange(1, 4)
        more = [
            "-N",
            str(nodes),
            "-n",
            str(nodes * chance.randrange(1, 4)),
            f"--mem={chance.randrange(10, 900)}",
        ]
        more += [
            "-p",
            chance.choice(["low", "low", "high"]),
            f"--qos={chance.choice(['normal', 'gold', 'silver'])}",
        ]
        more += [f"--nice={chance.choice([0, 0, 500, 20000])}", "-t", str(chance.randrange(1, 300))]
        names.append(submit(cluster, chance.choice(OWNERS), *more, seconds=60))
    return names


def settled(cluster: Cluster, names: list[str]) -> dict[str, str]:
    """What is printed once priorities were computed after the last job came, and while they stand."""
    until = time.monotonic() + 150
    while True:
        factors, priorities = (
            cluster.run("sprio", "-h", *more) for more in (("-n", "-o", FORMAT), ("-o", "%i|%Y"))
        )
        texts = {
            "factors": factors,
            "priorities": priorities,
            "shares": cluster.run("sshare", "-a", "-P", "-m"),
            "associations": cluster.run("sacctmgr", "-P", "show", "assoc"),
            "qos": cluster.run("sacctmgr", "-P", "show", "qos"),
            "jobs": cluster.run("scontrol", "-o", "show", "job"),
            "config": cluster.run("scontrol", "show", "config"),
            "partitions": cluster.run("scontrol", "-o", "show", "partition"),
        }
        ages = {line.split("|")[0]: float(line.split("|")[1]) for line in factors.splitlines()}
        fresh = set(names) <= set(ages) and all(ages[name] > 0 for name in names)
        if fresh and cluster.run("sprio", "-h", "-n", "-o", FORMAT) == factors:
            return texts
        assert time.monotonic() < until, "no priorities"
        time.sleep(1)


def against(texts: dict[str, str]) -> int:
    policy = eh.policies.Slurm.from_conf(
        texts["config"],
        partitions=texts["partitions"],
        qos=texts["qos"],
        shares=texts["shares"],
        associations=texts["associations"],
        preset="upstream",
    )
    return compare(policy, texts["jobs"], texts["factors"], texts["priorities"], nodes=8, cpus=4, memory=4000)


def restart(cluster: Cluster, lines: str) -> None:
    conf = Path(cluster.conf)
    conf.write_text(conf.read_text() + lines + "\n")
    cluster.stop_controller()
    cluster.start_controller()


def test_every_factor_is_that_of_sprio(world: Accounted) -> None:
    """Fair Tree, then the classic fair share with small jobs favoured."""
    cluster = world.cluster
    seed = int(os.environ.get("EVENHAND_SEED", "1"))
    chance = random.Random(seed)
    # Usage is counted each minute, of jobs that run.
    ran = [submit(cluster, owner, "-n", str(chance.randrange(1, 4)), seconds=70) for owner in OWNERS]
    cluster.wait(ran, "COMPLETED", seconds=200)
    cluster.run("scontrol", "update", "nodename=n[1-8]", "state=drain", "reason=test")
    names = some_jobs(cluster, chance)
    texts = settled(cluster, names)
    used = [line.split("|")[5] for line in texts["shares"].splitlines()[1:]]
    fair = against(texts)
    restart(cluster, CLASSIC)
    last = submit(cluster, OWNERS[0], "-N1", "-n1", "--mem=10", seconds=60)
    classic = against(settled(cluster, [*names, last]))
    print(f"\nseed {seed}: usage by row {' '.join(used)}")
    print(f"as in sprio: {fair} jobs by Fair Tree, {classic} by the classic fair share")
    assert len(set(used)) > len(ACCOUNTS)
    assert (fair, classic) == (JOBS, JOBS + 1)
