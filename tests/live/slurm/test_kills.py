"""A driver on a real Slurm, killed at random moments."""

from __future__ import annotations

import multiprocessing
import random
import time
from collections import Counter
from pathlib import Path

import pytest

from evenhand.act.book import Book
from evenhand.act.journal import read
from tests.live.kills import MOMENTS, longest_wait, noted, text_of, written
from tests.live.slurm import drive
from tests.live.slurm.conftest import Cluster
from tests.live.slurm.test_several import USERS

pytestmark = [pytest.mark.live, pytest.mark.slow]

KILLS = 50
#: Seconds after which something hangs, however busy the machine is.
PATIENCE = 1800.0
#: Seconds that the scheduler may take to start a job for which there is room.
START = 120.0
#: Longer than the test takes on the slowest machine: no victim ends by itself, so one that is gone is lost.
LONG = 24 * 3600
LIVE = ("PENDING", "RUNNING", "COMPLETING")


@pytest.mark.parametrize("several", [False, True], ids=["one", "several"])
def test_fifty_kills(
    several: bool, cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody is evicted twice, lost or held for ever; every eviction has an end with a reason."""
    spawn = multiprocessing.get_context("forkserver")
    spawn.set_forkserver_preload(["evenhand.act", "evenhand.systems.slurm.adapter.live", "evenhand.policies"])
    # More than there is room for: who leaves has followers. Steps about jobs of one user do not run at once.
    low = [cluster.submit(2, f"--uid={USERS[n % len(USERS)]}", "-t", "0", seconds=LONG) for n in range(40)]
    options = {"several": several, "start": START}
    cluster.wait(low[:16], "RUNNING")
    high: list[str] = []
    deaths: list[float] = []
    seed = random.randrange(10**9)
    chance = random.Random(seed)
    kills = 0
    for number in range(KILLS):
        if number % 2:
            crowd(cluster, high)
        queue = cluster.jobs()  # without those that have ended long ago
        if sum(name in queue and queue[name]["job_state"] == "PENDING" for name in high) < 6:
            high += [
                cluster.submit(chance.choice([2, 3, 4]), partition="high", seconds=1)
                for _ in range(chance.randrange(2, 6) if several else chance.randrange(1, 4))
            ]
        driver = spawn.Process(target=drive.run, args=(cluster.conf, str(tmp_path), 0, options))
        driver.start()
        if number % 2:  # in the midst of a step
            moment = chance.choice(MOMENTS)
            before, until = written(text_of(tmp_path), moment), time.monotonic() + 180
            while written(text_of(tmp_path), moment) == before and time.monotonic() < until:
                driver.join(0.002)
            driver.join(chance.uniform(0.0, 0.15))
        else:
            driver.join(chance.uniform(0.1, 1.2))
        if driver.is_alive():
            driver.kill()
            kills += 1
        driver.join()
        deaths.append(time.time())
    busy = True
    until = time.monotonic() + PATIENCE
    while busy and time.monotonic() < until:
        # What killed commands left is looked after no longer, and what did not start is served again soon.
        last = options | {"forget": 20.0, "retry": 5.0}
        driver = spawn.Process(target=drive.run, args=(cluster.conf, str(tmp_path), 3, last))
        driver.start()
        driver.join(PATIENCE)
        deaths.append(time.time())
        assert driver.exitcode == 0
        book = summed(tmp_path / "journal")
        waiting = [name for name, job in cluster.jobs().items() if name in high and job["job_state"] in LIVE]
        busy = bool(book.open or book.owed or waiting)
        time.sleep(0.5)
    lines = read(tmp_path / "journal")
    book = summed(tmp_path / "journal")
    jobs = cluster.jobs()
    intents = [x for x in lines if x["kind"] == "intent" and x["action"] == "requeue_hold"]
    asked = Counter(x["job"] for x in intents)
    evicted = {name: jobs[name]["restart_cnt"] for name in low}
    ends = Counter(x["outcome"] for x in lines if x["kind"] == "end")
    errors = tmp_path / "errors"
    waited, beside = longest_wait(lines, deaths), longest_wait(lines, deaths, noted(tmp_path))
    running = Book()
    cut = most = 0
    for line in lines:
        cut += line["kind"] == "run" and bool(running.open or running.owed)
        running.add(line)
        most = max(most, len(running.open))
    with capsys.disabled():
        print(
            f"\nseed {seed}: {kills} kills, {len(high)} urgent jobs, "
            f"{sum(x['kind'] == 'run' for x in lines)} drivers, "
            f"{cut} of them after a step was cut, at most {most} steps at once, "
            f"{sum(ends.values())} steps {dict(ends)}, {len(intents)} evictions asked for, "
            f"{sum(evicted.values())} seen, refused {dict(book.refusals)}, {len(lines)} lines, "
            f"at most {waited:.1f} s, {beside:.1f} s beside commands, for what another driver left, "
            f"{len(errors.read_text().splitlines()) if errors.exists() else 0} rounds without an answer"
        )
    assert kills >= KILLS * 0.9
    assert sum(evicted.values()) >= 15
    assert most > 1 if several else most >= 1
    assert beside <= 30.0
    assert not book.open
    assert not book.owed
    for name in low:
        assert jobs[name]["job_state"] in LIVE, "lost"
        assert jobs[name]["priority"] > 0, "held for ever"
        assert evicted[name] <= asked[name], "evicted without an intent"
    per_step = Counter((x["step"], x["job"]) for x in intents)
    assert max(per_step.values()) == 1
    steps = {x["step"]: x for x in lines if x["kind"] == "step"}
    for line in lines:
        if line["kind"] == "end":
            assert line["why"]
            if line["outcome"] == "started":
                served = jobs.get(steps[line["step"]]["beneficiary"])  # long after its end Slurm forgets it
                assert served is None or served["job_state"] in ("RUNNING", "COMPLETING", "COMPLETED")
    assert set(steps) == {x["step"] for x in lines if x["kind"] == "end"}


def crowd(cluster: Cluster, high: list[str]) -> None:
    """Wait until no urgent job runs, and one waits for room, or no cpu is free."""
    until = time.monotonic() + PATIENCE
    while True:
        jobs = cluster.jobs()
        running = {name: job["cpus"] for name, job in jobs.items() if job["job_state"] == "RUNNING"}
        urgent = [jobs[name] for name in high if name in jobs]  # those that ended long ago are forgotten
        waits = any(job["state_reason"] == "Resources" for job in urgent if job["job_state"] == "PENDING")
        if (waits or sum(running.values()) == 32) and not running.keys() & {*high}:
            return
        assert time.monotonic() < until, running
        time.sleep(0.1)


def summed(path: Path) -> Book:
    book = Book()
    for line in read(path) if path.exists() else ():
        book.add(line)
    return book
