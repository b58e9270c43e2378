"""Several waiting jobs on a real Slurm: no head of the queue holds up the others, and 5,000 of them wait."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand.act import Caps, Driver, Timing, watch
from evenhand.act.journal import Journal, read
from evenhand.act.watching import Cycle
from evenhand.adapters.commands import Result, Subprocesses
from evenhand.systems.slurm.adapter.live import Slurm
from tests.live.slurm import drive
from tests.live.slurm.conftest import Cluster

pytestmark = pytest.mark.live

#: Accounts of every Debian, one a node: steps that share an owner of victims do not run side by side.
USERS = ("daemon", "bin", "sys", "games", "man", "lp", "mail", "news")
LATE = ["-t", "5"]  # ends before anything that the head of the queue is planned for


def waits(cluster: Cluster, *names: str) -> None:
    until = time.monotonic() + 120
    while any(cluster.jobs()[name]["state_reason"] not in ("Resources", "Priority") for name in names):
        assert time.monotonic() < until, [cluster.jobs()[name]["state_reason"] for name in names]
        time.sleep(0.1)


def one_round(folder: Path, policy: Any = None, caps: Caps | None = None) -> Cycle:
    cycles: list[Cycle] = []
    timing = Timing(start=120.0, settle=5.0, poll=0.05)
    caps = caps or Caps(None, None, None, None)
    with Driver(Slurm(), folder / "journal", lock=folder / "lock", caps=caps, timing=timing) as driver:
        watch(driver, policy or eh.policies.Slurm(**drive.TIERS), once=True, each=cycles.append)
    return cycles[0]


def full(cluster: Cluster, nodes: Sequence[int] = range(1, 9)) -> list[str]:
    low = [cluster.submit(4, "-w", f"n{node}", f"--uid={USERS[node - 1]}") for node in nodes]
    cluster.wait(low, "RUNNING")
    return low


def test_a_refused_head_holds_up_no_other(cluster: Cluster, tmp_path: Path) -> None:
    """The first in the queue did not start when jobs left for it a moment ago; it wants the last node."""
    full(cluster)
    head = cluster.submit(4, "-w", "n8", partition="high")
    behind = cluster.submit(4, *LATE, partition="high")
    waits(cluster, head, behind)
    victim = {"job": "1", "owner": "0", "action": "requeue_hold", "turn": 0, "reason": "x"}
    with Journal(tmp_path / "journal", Slurm().identity, time.time) as journal:
        journal.append("step", step=0, beneficiary=head, victims=[victim], reason="", node="n1")
        journal.append("intent", step=0, action="requeue_hold", job="1", commands=[])
        journal.append("victim", step=0, job="1", answer="left")
        journal.append("end", step=0, outcome="not_started", why="x", owed={}, failures=1)
    cycle = one_round(tmp_path)
    assert [(row.outcome, row.beneficiary) for row in cycle.report.rows] == [
        ("refused", head),
        ("started", behind),
    ]
    assert cycle.waiting["did_not_start"] == [head]
    assert cluster.jobs()[behind]["job_state"] == "RUNNING"


def test_a_capped_head_holds_up_no_other(cluster: Cluster, tmp_path: Path) -> None:
    """It wants two nodes, and one job may leave."""
    low = full(cluster)
    head = cluster.submit(4, "-N2", "-n8", "--ntasks-per-node=4", partition="high")
    behind = cluster.submit(4, *LATE, partition="high")
    waits(cluster, head, behind)
    cycle = one_round(tmp_path, caps=Caps(1, None, None, None))
    assert [(row.outcome, row.beneficiary) for row in cycle.report.rows] == [
        ("refused", head),
        ("started", behind),
    ]
    assert cycle.report.rows[0].codes == ("cap",)
    jobs = cluster.jobs()
    assert sum(jobs[name]["restart_cnt"] for name in low) == 1
    assert jobs[behind]["job_state"] == "RUNNING"


def test_an_impossible_head_holds_up_no_other(cluster: Cluster, tmp_path: Path) -> None:
    """It wants a node on which a job runs that no job may preempt."""
    strong = cluster.submit(4, "-w", "n8", partition="high")
    cluster.wait([strong], "RUNNING")
    low = full(cluster, range(1, 8))
    head = cluster.submit(4, "-w", "n8", partition="high")
    behind = cluster.submit(4, *LATE, partition="high")
    waits(cluster, head, behind)
    cycle = one_round(tmp_path)
    assert [(row.outcome, row.beneficiary) for row in cycle.report.rows] == [("started", behind)]
    assert head in [name for names in cycle.waiting.values() for name in names]
    jobs = cluster.jobs()
    assert sum(jobs[name]["restart_cnt"] for name in low) == 1


def test_one_an_owner_serves_several_owners(cluster: Cluster, tmp_path: Path) -> None:
    """Steps of several owners run side by side; each owner gives way once."""
    from tests.unit.act.scripted import Scripted

    low = full(cluster)
    high = [cluster.submit(4, *LATE, partition="high") for _ in range(4)]
    waits(cluster, *high)
    cycle = one_round(tmp_path, Scripted(urgent="high"), Caps(None, None, 1, None))
    assert cycle.report.counts == {"started": 4}
    order = [x["kind"] for x in read(tmp_path / "journal") if x["kind"] in ("step", "end")]
    assert order == ["step"] * 4 + ["end"] * 4
    jobs = cluster.jobs()
    assert sum(jobs[name]["restart_cnt"] for name in low) == 4


class Timed:
    """Runs commands and sleeps, and adds up how long both take."""

    def __init__(self) -> None:
        self.run, self.seconds, self.slept = Subprocesses(), 0.0, 0.0

    def __call__(self, arguments: Sequence[str], timeout: float) -> Result:
        begin = time.monotonic()
        try:
            return self.run(arguments, timeout)
        finally:
            self.seconds += time.monotonic() - begin

    def sleep(self, seconds: float) -> None:
        begin = time.monotonic()
        time.sleep(seconds)
        self.slept += time.monotonic() - begin


def crowded(cluster: Cluster) -> None:
    """Wait until no cpu is free: what ended has followers."""
    until = time.monotonic() + 120
    while sum(j["cpus"] for j in cluster.jobs().values() if j["job_state"] == "RUNNING") < 32:
        assert time.monotonic() < until
        time.sleep(0.2)


@pytest.mark.slow
def test_five_thousand_wait(cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Twenty steps in a row with two victims each: none in vain, each round quick beside Slurm itself."""
    words = "sbatch -Q -p low -N1 -n2 --mem=50 -t 60 -o /dev/null -D /tmp --wrap 'sleep 900' >/dev/null"
    subprocess.run(
        ["bash", "-c", f"for i in $(seq 1250); do for j in 1 2 3 4; do {words} & done; wait; done"],
        env=cluster.environment,
        check=True,
    )
    run = Timed()
    own: list[float] = []
    wall: list[float] = []
    timing = Timing(start=120.0, settle=60.0, poll=0.1, max_age=600.0, sleep=run.sleep)
    caps = Caps(None, None, None, None)
    policy = eh.policies.Slurm(**drive.TIERS)
    cycles: list[Cycle] = []
    with Driver(
        Slurm(runner=run), tmp_path / "journal", lock=tmp_path / "lock", caps=caps, timing=timing
    ) as driver:
        for _ in range(20):
            crowded(cluster)
            high = cluster.submit(4, *LATE, partition="high")
            waits(cluster, high)
            begin = time.process_time()  # of this process: neither of Slurm's commands nor of others
            start, beside = time.monotonic(), run.seconds + run.slept
            watch(driver, policy, once=True, each=cycles.append)
            own.append(time.process_time() - begin)
            wall.append(time.monotonic() - start - (run.seconds + run.slept - beside))
            assert cluster.jobs()[high]["job_state"] == "RUNNING", cycles[-1].report
            cluster.run("scancel", high)
        ends = dict(driver.book.ends)
        victims = driver.book.evicted
    count = sum(job["job_state"] == "PENDING" for job in cluster.jobs().values())
    with capsys.disabled():
        print(
            f"\n{count} jobs wait; 20 rounds: {ends}, {victims} evictions; a round beside Slurm's commands "
            f"{sorted(own)[10]:.2f} s of cpu in the middle, {max(own):.2f} s at most, and "
            f"{sorted(wall)[10]:.2f} s of time, {max(wall):.2f} s at most; all commands {run.seconds:.0f} s"
        )
    assert count >= 4900
    assert ends == {"started": 20}
    assert victims == 40
    assert max(own) <= 3.0
