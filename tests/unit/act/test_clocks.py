"""A clock that is set back, or was ahead for a while: nothing lasts longer than it should."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand.act import Caps, watch
from evenhand.act.book import Book
from evenhand.act.journal import Journal, read
from evenhand.act.rotation import needed
from evenhand.act.watching import Cycle
from evenhand.adapters.commands import Result
from tests.unit.act.slurm.cluster import T0, job
from tests.unit.act.world import World

pytestmark = pytest.mark.usefixtures("quiet")

DAY = 24 * 3600.0
HOUR = 3600.0


def evicting(world: World, at: float, step: int) -> None:
    """Write down, at a time, that job 1 left for job 9, which did not start."""
    now, world.clock.now = world.clock.now, at
    with Journal(world.journal, "fake", world.clock) as journal:
        victim = {"job": "1", "owner": "1000", "action": "requeue", "turn": 0, "reason": "x"}
        journal.append("step", step=step, beneficiary="9", victims=[victim], reason="", node="n1")
        journal.append("intent", step=step, action="requeue", job="1", commands=[])
        journal.append("victim", step=step, job="1", answer="left")
        journal.append(
            "end", step=step, outcome="not_started", why="x", owed={"1": "look:requeue"}, failures=1
        )
    world.clock.now = now


def booked(world: World) -> Book:
    book = Book()
    for line in read(world.journal):
        book.add(line)
    return book


def test_what_a_book_remembers_is_never_of_later_than_now(tmp_path: Path) -> None:
    world = World(tmp_path)
    evicting(world, T0, 0)
    with Journal(world.journal, "fake", lambda: T0 - DAY) as journal:
        journal.append("run")
    for book in (booked(world), summed(needed(read(world.journal), T0 - DAY))):
        assert book.evictions == [(T0 - DAY, "1000", "1")]
        assert book.owed["1"].since == T0 - DAY
        assert book.failures == {"9": (1, T0 - DAY)}
    book = booked(world)
    book.set_clock(T0 - DAY)
    book.set_clock(T0 - DAY + 5.0)
    assert book.evictions[0][0] == T0 - DAY
    book.set_clock(T0 - DAY - 1.0)
    assert book.evictions[0][0] == T0 - DAY - 1.0


def summed(lines: list[dict[str, Any]]) -> Book:
    book = Book()
    for line in lines:
        book.add(line)
    return book


def test_an_open_step_has_not_begun_later_than_now(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal", "fake", lambda: T0) as journal:
        journal.append("step", step=0, beneficiary="9", victims=[], reason="")
        journal.book.set_clock(T0)
        assert journal.book.open[0].began == T0
        journal.book.set_clock(T0 - 7.0)
        assert journal.book.open[0].began == T0 - 7.0


@pytest.mark.parametrize(("later", "free"), [(HOUR, False), (HOUR + 1e-3, True)])
def test_caps_last_an_hour_after_the_clock_was_set_back(later: float, free: bool, tmp_path: Path) -> None:
    """A year ahead for a while: the next driver counts from the moment at which it was set right."""
    world = World(tmp_path)
    evicting(world, T0 + 365 * DAY, 0)
    with Journal(world.journal, "fake", world.clock) as journal:  # set right
        journal.append("run")
    book = booked(world)
    book.set_clock(T0 + later)
    caps = Caps(per_hour=1)
    assert (caps.exceeded(book, T0 + later, 0, [("2", "1001")]) is None) == free
    assert ("1000" in Caps(per_owner=1).spent(book, T0 + later)[1]) != free


def test_a_driver_that_lives_on_sees_that_the_clock_was_set_back(tmp_path: Path) -> None:
    """It looks after a job for ten minutes, not for a day and ten minutes."""
    jobs = [job(n, 4, node=f"n{n}", priority=10 if n == 1 else 200) for n in (1, 2, 3)]
    world = World(tmp_path, [*jobs, job(9, 4, priority=90)])
    plain = world.cluster.scontrol
    lost = Result(None, "", "no answer within 30 s")
    world.cluster.scontrol = lambda rest: lost if rest[0] == "requeuehold" else plain(rest)  # type: ignore[method-assign]
    with world.driver() as driver:
        driver.act(eh.plan(driver.snapshot(), world.policy))
        assert driver.book.owed["1"].what == "look:requeue_hold"
        world.clock.now -= DAY
        driver.recover()
        world.clock.now += 599.0
        driver.recover()
        assert "1" in driver.book.owed
        world.clock.now += 1.0
        driver.recover()
        assert not driver.book.owed


def test_a_job_that_was_refused_is_spared_no_longer(tmp_path: Path) -> None:
    world = World(tmp_path)
    with world.driver() as driver:
        forget = driver.timing.forget
        for until, spared in ((1.0, True), (0.0, False), (forget, True), (forget + 1.0, False)):
            driver._refused = {"1": world.clock.now + until}
            found = driver.snapshot().to_dict()["allocations"]
            may = next(a.get("preemptible", True) for a in found if a["operation"] == "1")
            assert may != spared, until


def test_times_are_in_order_after_it_begins_anew(tmp_path: Path) -> None:
    """Else a line of the future would stay as long as it says, and be recent after every start."""
    world = World(tmp_path)
    evicting(world, T0 + 365 * DAY, 0)
    with Journal(world.journal, "fake", lambda: T0) as journal:
        for _ in range(200):
            journal.append("refused", beneficiary="9", victims=["1"], codes=["busy"], why="")
        journal.append("settled", job="1")
    kept = needed(read(world.journal), T0 + DAY)
    assert [line["t"] for line in kept] == sorted(line["t"] for line in kept)
    assert [line["kind"] for line in kept].count("intent") == 1
    assert [line["kind"] for line in needed(read(world.journal), T0 + DAY + 1e-3)] == ["journal"]
    assert needed(kept, T0 + DAY) == kept


@pytest.mark.parametrize("step", [-1.0, -DAY, -400 * DAY])
def test_a_watch_goes_on_planning(step: float, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The state is of later than the snapshot: its clocks are set back, too."""
    world = World(tmp_path)
    policy = eh.policies.YTsaurus()
    cycles: list[Cycle] = []
    place = tmp_path / "state"

    def each(cycle: Cycle) -> None:
        cycles.append(cycle)
        world.clock.now += step if len(cycles) == 1 else 5.0
        if len(cycles) == 4:
            driver.stop.set()

    caplog.set_level(logging.WARNING, logger="evenhand.act")
    with world.driver() as driver:
        watch(driver, policy, interval=0.0, each=each, save=place)
    assert [cycle.error for cycle in cycles] == [""] * 4
    assert json.loads(place.read_text())["time"] == pytest.approx(world.clock.now - 5.0)
    assert f"the clock was set back by {-step:.0f} s" in caplog.text


def test_a_state_set_back() -> None:
    data = {
        "schema": "evenhand/state/1",
        "time": 100.0,
        "settings": "abc",
        "policy": "def",
        "pools": [{"name": "flow", "accumulated_volume": {"cpu": 1.5}, "last_share_ratio": 0.25}],
        "elements": [{"name": "x", "kind": "pool", "since": 40.0, "starvation": "starving"}],
        "nodes": [{"name": "n1", "last_preemptive": 99.5, "overcommitted_since": None}],
        "operations": [{"name": "o", "last_preempt": 98.0}],
    }
    moved = eh.State.from_dict(data).set_back(70.0).to_dict()
    assert moved["time"] == 70.0
    assert moved["elements"][0]["since"] == 10.0
    assert moved["nodes"] == [{"name": "n1", "last_preemptive": 69.5, "overcommitted_since": None}]
    assert moved["operations"] == [{"name": "o", "last_preempt": 68.0}]
    assert {k: moved[k] for k in ("pools", "settings", "policy")} == {
        k: data[k] for k in ("pools", "settings", "policy")
    }
    assert eh.State.from_dict(moved).to_dict() == moved
