"""A driver on a real Grid Engine, killed at random moments."""

from __future__ import annotations

import multiprocessing
import random
import time
from collections import Counter
from pathlib import Path

import pytest

from evenhand.act.book import Book
from evenhand.act.journal import read
from tests.live.gridengine import drive
from tests.live.gridengine.conftest import Cell
from tests.live.kills import MOMENTS, longest_wait, noted, text_of, written

pytestmark = [pytest.mark.live, pytest.mark.slow]

KILLS = 50
#: Seconds after which something hangs, however busy the machine is.
PATIENCE = 1800.0
#: Seconds that the scheduler may take to start a job for which there is room.
START = 120.0
#: Longer than the test takes on the slowest machine: no victim ends by itself, so one that is gone is lost.
LONG = 24 * 3600


def test_fifty_kills(cell: Cell, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No job is lost, doubled, left suspended or left held; every eviction has an end with a reason."""
    spawn = multiprocessing.get_context("forkserver")
    spawn.set_forkserver_preload(
        ["evenhand.act", "evenhand.systems.gridengine.adapter.live", "evenhand.policies"]
    )
    low = [cell.submit("-r", "y", seconds=LONG) for _ in range(6)]
    migrating = [cell.submit("-r", "y", "-ckpt", "saves", seconds=LONG) for _ in range(6)]
    victims = [*low, *migrating]
    until = time.monotonic() + PATIENCE
    while running(cell) < 4:
        assert time.monotonic() < until, cell.states()
        time.sleep(0.2)
    time.sleep(2.1)
    high: list[str] = []
    deaths: list[float] = []
    seed = random.randrange(10**9)
    chance, kills, begun_at = random.Random(seed), 0, time.monotonic()
    for number in range(KILLS):
        crowd(cell, high)
        if not any("q" in state for name, state in cell.states().items() if name in high):
            high.append(cell.submit("-p", "100", "-R", "y", seconds=1))
        options = {"action": allowed(cell, low, migrating, number % 3 == 2), "start": START}
        moment = chance.choice(MOMENTS)
        before, until = written(text_of(tmp_path), moment), time.monotonic() + 180
        driver = spawn.Process(target=drive.run, args=(cell.names, str(tmp_path), 0, options))
        driver.start()
        while written(text_of(tmp_path), moment) == before and time.monotonic() < until:
            driver.join(0.005)
        driver.join(chance.choice([0.0, chance.uniform(0.0, 0.5), chance.uniform(0.0, 5.0)]))
        if driver.is_alive():
            driver.kill()
            kills += 1
        driver.join()
        deaths.append(time.time())
    took = time.monotonic() - begun_at
    busy, until = True, time.monotonic() + PATIENCE
    while busy and time.monotonic() < until:
        # What killed commands left is looked after no longer, and what did not start is served again soon.
        action = allowed(cell, low, migrating, False)
        options = {"action": action, "start": START, "forget": 20.0, "retry": 5.0}
        driver = spawn.Process(target=drive.run, args=(cell.names, str(tmp_path), 3, options))
        driver.start()
        driver.join(PATIENCE)
        deaths.append(time.time())
        assert driver.exitcode == 0
        book = summed(tmp_path / "journal")
        waiting = [name for name in high if "q" in cell.states().get(name, "")]
        busy = bool(book.open or book.owed or waiting)
        time.sleep(0.5)
    lines, tasks = read(tmp_path / "journal"), cell.tasks()
    book = summed(tmp_path / "journal")
    intents = [x for x in lines if x["kind"] == "intent" and x["action"] == "requeue_hold"]
    ends = Counter(x["outcome"] for x in lines if x["kind"] == "end")
    errors = tmp_path / "errors"
    lost = set(victims) - set(tasks)
    went = [name for name in victims if name not in lost and "R" in tasks[name].state]
    waited, beside = longest_wait(lines, deaths), longest_wait(lines, deaths, noted(tmp_path))
    with capsys.disabled():
        print(
            f"\nseed {seed}: {kills} kills in {took:.0f} s, {len(high)} urgent jobs,"
            f" {sum(ends.values())} steps {dict(ends)}, {len(intents)} evictions asked for,"
            f" {len(went)} of {len(victims)} victims went"
            f" back to the queue, refused {dict(book.refusals)}, {len(lines)} lines,"
            f" at most {waited:.1f} s, {beside:.1f} s beside commands, for what another driver left,"
            f" {len(errors.read_text().splitlines()) if errors.exists() else 0} rounds without an answer"
        )
    assert not lost
    assert kills >= KILLS * 0.9
    assert len(went) >= 4
    assert beside <= 30.0
    assert not book.open
    assert not book.owed
    assert len(tasks) == len(victims) + len(set(tasks) & set(high)), "doubled"
    asked = {x["job"] for x in intents}
    for name in victims:
        state = tasks[name].state
        assert not set("sS") & set(state), "left suspended"
        assert "h" not in state, "left held"
        assert name in asked or "R" not in state, "evicted without an intent"
    per_step = Counter((x["step"], x["job"]) for x in intents)
    assert max(per_step.values()) == 1
    steps = {x["step"] for x in lines if x["kind"] == "step"}
    assert steps == {x["step"] for x in lines if x["kind"] == "end"}
    assert all(x["why"] for x in lines if x["kind"] == "end")


def running(cell: Cell) -> int:
    return sum(set(state) <= set("Rr") for state in cell.states().values())


def allowed(cell: Cell, low: list[str], migrating: list[str], saves: bool) -> str:
    """Return C or R: the one that is wanted, if a job that has a slot allows it."""
    taking = {name for name, state in cell.states().items() if "q" not in state}
    if saves:
        return "C" if taking & {*migrating} else "R"
    return "R" if taking & {*low} else "C"


def crowd(cell: Cell, high: list[str]) -> None:
    """Wait until no slot is free, and no urgent job has one, which would end and free it."""
    until = time.monotonic() + PATIENCE
    while True:
        taking = {name for name, state in cell.states().items() if "q" not in state}  # also what is held
        if len(taking) >= 4 and not taking & {*high}:
            return
        assert time.monotonic() < until, taking
        time.sleep(0.1)


def summed(path: Path) -> Book:
    book = Book()
    for line in read(path):
        book.add(line)
    return book
