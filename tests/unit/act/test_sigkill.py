"""A driver in a process of its own, killed with SIGKILL again and again."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from evenhand.act.book import Book
from evenhand.act.journal import read
from evenhand.adapters.recording import Recorder
from tests.drawing import examples
from tests.unit.act import served
from tests.unit.act.slurm import cluster
from tests.unit.act.slurm.cluster import job
from tests.unit.act.world import holds

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

KILLS = min(examples(), 200)
WITHIN_A_STEP = KILLS // 10
"""Kills that fall between the first and the last line of a step, at least."""


def book_of(journal: Path) -> Book:
    book = Book()
    for line in read(journal) if journal.exists() else ():
        book.add(line)
    return book


def cut(lines: list[dict[str, Any]]) -> int:
    """Return how many drivers found a step of an earlier one unfinished when they started."""
    book, found = Book(), 0
    for line in lines:
        found += line["kind"] == "run" and bool(book.open or book.owed)
        book.add(line)
    return found


def waiting(fake: cluster.FakeSlurm) -> int:
    return sum(j["state"] == "PENDING" and "lasts" in j for j in fake.jobs.values())


def test_kills(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is evicted twice, lost or held for ever; the journal is whole and knows of every eviction."""
    monkeypatch.setattr(cluster, "DELAY", 0.05)
    seed = random.randrange(10**9)
    chance = random.Random(seed)
    nodes = {f"n{i}": 4 for i in range(4)}
    low = [job(n, 2, node=f"n{n // 2 % 4}" if n < 8 else None) for n in range(12)]
    fake = served.Brief(served.Now(), nodes, low)  # type: ignore[arg-type]
    server = served.Served(Recorder(fake, tmp_path / "recording"), tmp_path / "socket")
    spawn = multiprocessing.get_context("forkserver")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    spawn.set_forkserver_preload(["tests.unit.act.served"])
    journal, urgent = tmp_path / "journal", 1000

    def start(rounds: int) -> Any:
        process = spawn.Process(target=served.drive, args=(str(tmp_path / "socket"), str(tmp_path), rounds))
        process.start()
        return process

    kills, patience, begin = 0, 0.3, time.monotonic()
    # A busy machine needs more kills until enough of them have fallen within a step.
    while (kills < KILLS or cut(read(journal)) < WITHIN_A_STEP) and time.monotonic() - begin < 200:
        with server.lock:
            for _ in range(chance.randrange(2, 6) - waiting(fake)):
                urgent += 1
                fake.jobs[str(urgent)] = job(urgent, chance.choice([2, 3, 4]), priority=90, lasts=0.05)
        size = journal.stat().st_size if journal.exists() else 0
        driver = start(0)
        if kills % 8:  # after some of its lines; else at any time, its start too
            size += chance.randrange(1, 2500)
            until = time.monotonic() + patience
            while (not journal.exists() or journal.stat().st_size < size) and time.monotonic() < until:
                time.sleep(0.0005)
            # On a busy machine drivers need longer to write so much.
            patience = 0.3 if time.monotonic() < until else min(1.5 * patience, 1.0)
        time.sleep(chance.uniform(0.0, 0.005))
        if driver.is_alive():
            driver.kill()
            kills += 1
        driver.join()
        assert driver.exitcode == -9
        server.drain()
    seconds = time.monotonic() - begin
    for _ in range(30):
        driver = start(5)
        driver.join(60)
        assert driver.exitcode == 0
        server.drain()
        book = book_of(journal)
        if not book.open and not book.owed and not waiting(fake):
            break
        time.sleep(0.1)
    lines = read(journal)
    holds(fake, lines)
    assert not book.open
    assert not book.owed
    asked = Counter(x["job"] for x in lines if x["kind"] == "intent" and x["action"] == "requeue_hold")
    recorded = (tmp_path / "recording").read_text().splitlines()
    commands = [json.loads(line)["arguments"] for line in recorded]
    told = Counter(command[-1] for command in commands if command[:2] == ["scontrol", "requeuehold"])
    assert all(count <= asked[name] for name, count in told.items())
    print(
        f"\nseed {seed}: {kills} kills in {seconds:.0f} s, {cut(lines)} of them in the midst of a step, "
        f"{sum(book.ends.values())} steps {book.ends}, {sum(asked.values())} evictions asked for, "
        f"{sum(told.values())} told, {len(lines)} lines"
    )
    assert kills >= KILLS
    assert cut(lines) >= WITHIN_A_STEP
    server.close()
