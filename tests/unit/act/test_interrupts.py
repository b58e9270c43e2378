"""Control-C, or a notebook's stop button, in the midst of a step."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand.act.interrupts import Interrupts
from evenhand.act.journal import read
from tests.unit.act.test_debts import Never, one_step
from tests.unit.act.world import World


@pytest.fixture(autouse=True)
def heard() -> Iterator[None]:
    """Interrupts are heard, also by tests that were started in the background, where they are ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Stopped(World):
    """Somebody interrupts after so many commands, and again after so many more."""

    at: tuple[int, ...] = ()

    def adapter(self) -> Any:
        adapter = super().adapter()
        run, count = adapter.run, [0]

        def counted(arguments: Any, timeout: float) -> Any:
            result = run(arguments, timeout)
            count[0] += 1
            if count[0] in self.at:
                os.kill(os.getpid(), signal.SIGINT)
            return result

        adapter.run = counted
        return adapter


def stopped(folder: Path, *at: int) -> Stopped:
    folder.mkdir()
    world = one_step(folder)
    world.cluster.__class__ = Never
    world.__class__ = Stopped
    world.at = at  # type: ignore[attr-defined]
    return world  # type: ignore[return-value]


def interrupted(world: Stopped) -> int:
    """Act; return how many lines the journal has after an interrupt."""
    with world.driver() as driver:
        plan = eh.plan(driver.snapshot(), world.policy)
        with pytest.raises(KeyboardInterrupt):
            driver.act(plan)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    return len(read(world.journal))


def test_victims_have_their_place_back(tmp_path: Path) -> None:
    """Whenever it comes; it ends the waiting, and before that no job is asked to leave any more."""
    outcomes = set()
    for number in range(7, 22):  # the plan's own snapshot takes six commands
        world = stopped(tmp_path / str(number), number)
        begin = world.clock.now
        interrupted(world)
        assert world.cluster.jobs["1"]["priority"] > 0
        assert world.clock.now - begin < world.timing().start
        lines = read(world.journal)
        asked = any(what == "evict" for what, *_ in world.cluster.events)
        outcomes |= {(line["outcome"], asked) for line in lines if line["kind"] == "end"}
        assert sum(line["kind"] == "step" for line in lines) == sum(line["kind"] == "end" for line in lines)
    assert outcomes == {("not_started", False), ("unwatched", True)}


def test_the_second_comes_at_once(tmp_path: Path) -> None:
    """The next driver gives the job back."""
    whole = interrupted(stopped(tmp_path / "one", 16))
    world = stopped(tmp_path / "two", 16, 17)
    assert interrupted(world) < whole
    assert world.cluster.jobs["1"]["priority"] == 0
    world.at = ()
    world.calm()
    world.check()


def test_a_driver_goes_on_after_one(tmp_path: Path) -> None:
    world = stopped(tmp_path / "x", 16)
    with world.driver() as driver:
        plan = eh.plan(driver.snapshot(), world.policy)
        with pytest.raises(KeyboardInterrupt):
            driver.act(plan)
        assert driver.stopped() is None


def test_somebody_elses_handler_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGINT, lambda *_: heard.append(1))
    try:
        with Interrupts() as interrupts:
            os.kill(os.getpid(), signal.SIGINT)
        assert heard == [1]
        assert not interrupts.came
    finally:
        signal.signal(signal.SIGINT, before)
    errors: list[BaseException] = []

    def elsewhere() -> None:
        try:
            with Interrupts():
                pass
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert not errors
