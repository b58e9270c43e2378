"""Slot-wise suspension on subordinate: what is predicted is what a real Grid Engine does."""

from __future__ import annotations

import os
import random
import time
from typing import Any

import pytest

from evenhand.systems.gridengine.slotwise import suspended
from evenhand.systems.gridengine.text.config import read_queues
from tests.live.gridengine.conftest import Cell

pytestmark = [pytest.mark.live, pytest.mark.slow]

SCENARIOS = 8


@pytest.fixture
def three(cell: Cell) -> Cell:
    """A cell with a third queue, between the others."""
    if "mid.q" not in cell.run("qconf", "-sql"):
        place = cell.folder / "mid.q"
        place.write_text(cell.run("qconf", "-sq", "low.q").replace("low.q", "mid.q"))
        cell.run("qconf", "-Aq", str(place))
    return cell


def configure(cell: Cell, chance: random.Random) -> None:
    """Give high.q, and in a chain mid.q, subordinate queues."""
    cell.run("qconf", "-rattr", "queue", "subordinate_list", "NONE", "mid.q")
    first, second = chance.choice(["sr", "lr"]), chance.choice(["sr", "lr"])
    most = chance.randrange(2, 6)
    if chance.random() < 0.5:
        cell.subordinate(f"slots={most}(mid.q:0:{first})")
        listed = f"slots={chance.randrange(2, 5)}(low.q:0:{second})"
        cell.run("qconf", "-rattr", "queue", "subordinate_list", listed, "mid.q")
    else:
        places = chance.sample([1, 2], 2)
        cell.subordinate(f"slots={most}(mid.q:{places[0]}:{first},low.q:{places[1]}:{second})")


def tree_of(text: str) -> tuple[dict[str, dict[str, Any]], dict[str, int]]:
    """Return the queues and thresholds of ``qconf -sq``, as the rule takes them."""
    queues: dict[str, dict[str, Any]] = {
        name: {"parent": None, "seq": 0, "action": "sr"} for name in read_queues(text)
    }
    thresholds = {}
    for name, queue in read_queues(text).items():
        if queue.subordinates is None or queue.subordinates.threshold is None:
            continue
        thresholds[name] = queue.subordinates.threshold
        for below in queue.subordinates.queues:
            queues[below.queue] = {"parent": name, "seq": below.seq_no, "action": below.action}
    return queues, thresholds


def test_suspended_tasks_are_those_predicted(three: Cell, capsys: pytest.CaptureFixture[str]) -> None:
    seed = int(os.environ.get("EVENHAND_LIVE_SEED") or random.randrange(10**9))
    chance, begin = random.Random(seed), time.monotonic()
    found = starts = 0
    for number in range(SCENARIOS):
        three.clear()
        configure(three, chance)
        queues, thresholds = tree_of(three.run("qconf", "-sq", "*"))
        running: list[dict[str, Any]] = []
        stopped: set[str] = set()
        order = [chance.choice(["low.q", "low.q", "mid.q"]) for _ in range(5)] + ["high.q"] * 3
        for queue in [name for at, name in enumerate(order) if order[:at].count(name) < 4]:
            name = three.submit(queue=queue)
            task = wait_started(three, name)
            running.append({"id": name, "queue": queue, "start": task})
            now = suspended(queues, thresholds, running)
            stopped |= set(now)
            running = [one for one in running if one["id"] not in now]
            starts += 1
            expected, until = sorted(stopped), time.monotonic() + 15
            while (seen := sorted(n for n, state in three.states().items() if "S" in state)) != expected:
                assert time.monotonic() < until, (seed, number, thresholds, queues, running, seen, expected)
                time.sleep(0.2)
            time.sleep(1.1)  # starts are told apart by the second
        found += len(stopped)
    with capsys.disabled():
        print(
            f"\nseed {seed}: {starts} starts in {SCENARIOS} scenarios, {found} suspended tasks,"
            f" all as predicted; {time.monotonic() - begin:.0f} s"
        )
    assert found >= SCENARIOS


def wait_started(cell: Cell, name: str) -> float:
    """Return when a task started; it may be suspended at once."""
    until = time.monotonic() + 30
    while True:
        task = cell.tasks()[name]
        if task.parts and "t" not in task.state:
            return task.since
        assert time.monotonic() < until, task
        time.sleep(0.1)
