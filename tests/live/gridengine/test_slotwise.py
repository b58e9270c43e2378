"""Slot-wise suspension on subordinate: what is predicted is what a real Grid Engine does."""

from __future__ import annotations

import os
import random
import time

import pytest

import evenhand as eh
from evenhand.adapters import gridengine
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


def predicted(cell: Cell, queue: str) -> set[str]:
    """Return the tasks which a plan stops if one more starts in a queue, from the texts of the commands."""
    reading = gridengine.read(
        cell.run("qconf", "-sc"),
        queues=cell.run("qconf", "-sq", "*"),
        machines=cell.run("qhost", "-xml", "-F", "-q"),
        jobs=cell.run("qstat", "-xml", "-u", "*", "-r", "-g", "t"),
        details=cell.run("qstat", "-xml", "-j", "*"),
        utc=True,
    )
    data = reading.snapshot.to_dict()
    data["pools"] = [{"name": name} for name in reading.settings["queues"]]
    data.setdefault("operations", []).append({"name": "next", "pool": queue})
    data.setdefault("requests", []).append({"name": "next", "operation": "next", "resources": {"slots": 1}})
    snapshot, policy = eh.Snapshot.from_dict(data), reading.policy()
    plan = eh.plan(snapshot, policy)
    assert [d.request for d in plan.decisions if d.action == "start"] == ["next"]
    # One that starts and is stopped at once is stopped by the next plan.
    then = eh.plan(snapshot.after(plan), policy, plan.state)
    decisions = [*plan.decisions, *then.decisions]
    assert not [d for d in decisions if d.action == "resume"]
    return {str(d.operation) for d in decisions if d.action == "preempt"}


def test_suspended_tasks_are_those_predicted(three: Cell, capsys: pytest.CaptureFixture[str]) -> None:
    seed = int(os.environ.get("EVENHAND_LIVE_SEED") or random.randrange(10**9))
    chance, begin = random.Random(seed), time.monotonic()
    found = starts = 0
    for number in range(SCENARIOS):
        three.clear()
        configure(three, chance)
        stopped: set[str] = set()
        order = [chance.choice(["low.q", "low.q", "mid.q"]) for _ in range(5)] + ["high.q"] * 3
        for queue in [name for at, name in enumerate(order) if order[:at].count(name) < 4]:
            stopping = predicted(three, queue)
            name = three.submit(queue=queue)
            wait_started(three, name)
            stopped |= {name if one == "next" else one for one in stopping}
            starts += 1
            expected, until = sorted(stopped), time.monotonic() + 120
            while (seen := sorted(n for n, state in three.states().items() if "S" in state)) != expected:
                assert time.monotonic() < until, (seed, number, order, seen, expected)
                time.sleep(0.2)
            time.sleep(1.1)  # starts are told apart by the second
        found += len(stopped)
    with capsys.disabled():
        print(
            f"\nseed {seed}: {starts} starts in {SCENARIOS} scenarios, {found} suspended tasks,"
            f" all as predicted; {time.monotonic() - begin:.0f} s"
        )
    assert found >= SCENARIOS


def wait_started(cell: Cell, name: str) -> None:
    """Wait until a task has started; it may be suspended at once."""
    until = time.monotonic() + 120
    while True:
        task = cell.tasks()[name]
        if task.parts and "t" not in task.state:
            return
        assert time.monotonic() < until, task
        time.sleep(0.1)
