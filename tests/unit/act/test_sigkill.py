"""A driver in a process of its own, killed with SIGKILL again and again."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import sys
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
from tests.waiting import HANG

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

KILLS = min(examples(0.5), 200)
WHEN = ("before", "unanswered", "answered")
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


def test_kills(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is evicted twice, lost or held for ever; the journal is whole and knows of every eviction."""
    monkeypatch.setattr(cluster, "DELAY", 0.05)
    chance = random.Random(7)
    nodes = {f"n{i}": 4 for i in range(4)}
    low = [job(n, 2, node=f"n{n // 2 % 4}" if n < 8 else None) for n in range(12)]
    clock = cluster.Clock()
    fake = served.Brief(clock, nodes, low)
    fake.chance = chance
    server = served.Served(Recorder(fake, tmp_path / "recording"), clock, tmp_path / "socket")
    spawn = multiprocessing.get_context("forkserver")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    spawn.set_forkserver_preload(["tests.unit.act.served"])
    journal = tmp_path / "journal"

    def process(rounds: int) -> Any:
        arguments = (str(tmp_path / "socket"), str(tmp_path), rounds)
        return spawn.Process(target=served.drive, args=arguments)

    for number in range(KILLS):
        driver = process(0)
        # Every third in the midst of a step: when it asks for an eviction.
        commands = "" if number % 3 else "requeuehold"
        server.kill = served.Kill(driver, chance.randrange(60), commands, WHEN[chance.randrange(3)])
        driver.start()
        driver.join(HANG)
        assert driver.exitcode == -9
        server.drain()
    fake.busy = False
    for _ in range(30):
        driver = process(5)
        driver.start()
        driver.join(HANG)
        assert driver.exitcode == 0
        server.drain()
        book = book_of(journal)
        if not book.open and not book.owed and not fake.urgent:
            break
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
        f"\n{KILLS} kills, {cut(lines)} of them in the midst of a step, "
        f"{sum(book.ends.values())} steps {book.ends}, {sum(asked.values())} evictions asked for, "
        f"{sum(told.values())} told, {len(lines)} lines"
    )
    assert cut(lines) >= WITHIN_A_STEP
    server.close()
