"""No line can be written, from some write on or once: no job stays held, and no job leaves unwritten."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand.act import JournalError
from evenhand.act.journal import Journal, read
from evenhand.adapters.commands import Result
from evenhand.adapters.protocol import EVICTIONS
from tests.drawing import some
from tests.unit.act.slurm.cluster import job
from tests.unit.act.world import Killed, World

pytestmark = pytest.mark.usefixtures("quiet")


class Disk:
    """Writes and syncs of files named ``journal`` are counted; from one on, so many fail."""

    def __init__(self, patch: pytest.MonkeyPatch, code: int = errno.ENOSPC) -> None:
        self.count, self.first, self.last, self.code = 0, 0, 0, code
        self.refused: list[int] = []
        for name in ("pwrite", "fsync"):
            patch.setattr(os, name, self._wrapped(getattr(os, name)))

    def fail(self, first: int, last: int) -> None:
        """Fail the writes with these numbers, counted from 1 on."""
        self.count, self.first, self.last = 0, first, last
        self.refused.clear()

    def _wrapped(self, call: Any) -> Any:
        def wrapped(descriptor: int, *rest: Any) -> Any:
            if descriptor >= 0 and Path(f"/proc/self/fd/{descriptor}").readlink().name == "journal":
                self.count += 1
                if self.first <= self.count <= self.last:
                    self.refused.append(self.count)
                    raise OSError(self.code, os.strerror(self.code))
            return call(descriptor, *rest)

        return wrapped


def held(world: World) -> list[str]:
    return [name for name, j in world.cluster.jobs.items() if j["priority"] == 0]


def evicted(world: World) -> list[str]:
    return [name for what, name, _ in world.cluster.events if what == "evict"]


def round_of(world: World) -> str:
    """One driver and one plan; what it could not write."""
    try:
        world.round()
    except JournalError as error:
        return str(error)
    return ""


def known(world: World) -> set[str]:
    """Which evictions the journal knows of that is on the disk."""
    lines = read(world.journal)
    return {line["job"] for line in lines if line["kind"] == "intent" and line["action"] in EVICTIONS}


def settled_later(world: World) -> None:
    """With room again the next driver writes down how the steps ended; soon nothing is owed any more.

    It was not written down that a job was held: for a while its command may yet arrive, or a look lie behind.
    """
    with world.driver() as driver:
        assert not driver.book.open
        assert {owed.what for owed in driver.book.owed.values()} <= {"look:requeue_hold", "resume"}
    world.clock.now += world.timing().forget
    world.check()


@pytest.fixture
def writes(tmp_path: Path) -> int:
    """How many writes and syncs a run of two steps takes."""
    (tmp_path / "plain").mkdir()
    world = World(tmp_path / "plain")
    with world.driver():
        pass
    with pytest.MonkeyPatch.context() as patch:
        disk = Disk(patch)
        assert round_of(world) == ""
    assert len(evicted(world)) == 3
    assert disk.count > 60
    return disk.count


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_full_from_any_write_on(
    code: int, tmp_path: Path, writes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever write is the first to fail: with the disk still full, this driver leaves no job held."""
    disk = Disk(monkeypatch, code)
    cut = 0
    for number in some(range(1, writes + 1), code, 2):
        folder = tmp_path / str(number)
        folder.mkdir()
        world = World(folder)
        disk.fail(0, 0)
        with world.driver():
            pass
        disk.fail(number, 10**9)
        said = round_of(world)
        assert said.endswith(f"journal: cannot be written: {os.strerror(code)}")
        assert held(world) == [], f"write {number}"
        assert set(evicted(world)) <= known(world), f"write {number}"
        before = len(evicted(world))
        cut += 0 < before < 3
        assert os.strerror(code) in round_of(world)
        assert held(world) == []
        assert len(evicted(world)) == before, "nobody leaves that cannot be written down"
        disk.fail(0, 0)
        settled_later(world)
    assert cut > 5


def test_one_write_fails(tmp_path: Path, writes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is room again for the next write: the journal has every line, in its order."""
    disk = Disk(monkeypatch)
    for number in some(range(1, writes + 1), apart=2):
        folder = tmp_path / str(number)
        folder.mkdir()
        world = World(folder)
        disk.fail(0, 0)
        with world.driver():
            pass
        disk.fail(number, number)
        round_of(world)
        assert disk.refused == [number]
        assert held(world) == [], f"write {number}"
        kinds = [line["kind"] for line in read(world.journal)]
        assert kinds.count("step") == kinds.count("end"), "of a driver that ended by itself"
        asked = [line["job"] for line in read(world.journal) if line["kind"] == "intent"]
        assert set(evicted(world)) <= set(asked)
        settled_later(world)


@pytest.mark.parametrize("after", [2, 5, 8, 11])
def test_room_comes_back(after: int, tmp_path: Path, writes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """After some failed writes, while the step is still under way: late lines come first."""
    disk = Disk(monkeypatch)
    for number in some(range(1, writes + 1), after):
        folder = tmp_path / str(number)
        folder.mkdir()
        world = World(folder)
        disk.fail(0, 0)
        with world.driver():
            pass
        disk.fail(number, number + after)
        round_of(world)
        assert held(world) == [], f"write {number}"
        disk.fail(0, 0)
        lines = read(world.journal)
        assert [line["n"] for line in lines] == list(range(len(lines)))
        settled_later(world)


def test_killed_with_lines_that_are_late(
    tmp_path: Path, writes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full and the driver dies some commands later; the next one finds it still full, or not."""
    (tmp_path / "commands").mkdir()
    plain = World(tmp_path / "commands")
    assert plain.round()
    commands = plain.faults.count
    disk = Disk(monkeypatch)
    died = 0
    for number in some(range(1, writes + 1), apart=5):
        for later in some(range(number % 3, commands, 3), number):
            folder = tmp_path / f"{number} {later}"
            folder.mkdir()
            world = World(folder)
            disk.fail(0, 0)
            with world.driver():
                pass
            asked, runner = [0], world.faults

            def run(
                arguments: Any, timeout: float, asked: Any = asked, runner: Any = runner, at: int = later
            ) -> Result:
                asked[0] += 1
                if asked[0] > at:
                    raise Killed
                return runner(arguments, timeout)

            world.faults = run  # type: ignore[assignment]
            disk.fail(number, 10**9)
            try:
                with world.driver() as driver:
                    driver.act(eh.plan(driver.snapshot(), world.policy))
            except Killed:
                died += 1
            except JournalError:
                pass
            world.faults = runner
            if number % 4 == 1:
                disk.fail(1, 10**9)
                round_of(world)
            else:
                disk.fail(0, 0)
                with world.driver():
                    pass
            assert held(world) == [], (number, later)
            disk.fail(0, 0)
            world.calm()
            world.check()
    assert died > 40


def test_a_job_that_cannot_be_released_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the cluster nor the disk lets the driver: the debt outlives it, and is paid without room."""
    world = World(tmp_path)
    plain = world.cluster.scontrol
    denied = Result(1, "", "Access/permission denied")
    with world.driver():
        pass
    disk = Disk(monkeypatch)

    def scontrol(rest: list[str]) -> Result:
        if rest[0] == "release":
            disk.fail(1, 10**9)
            return denied
        return plain(rest)

    world.cluster.scontrol = scontrol  # type: ignore[method-assign]
    assert "No space left" in round_of(world)
    assert held(world)
    assert "No space left" in round_of(world)
    assert held(world)
    world.cluster.scontrol = plain  # type: ignore[method-assign]
    assert "No space left" in round_of(world)
    assert held(world) == []
    disk.fail(0, 0)
    settled_later(world)


def test_suspended_jobs_resume_without_the_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(tmp_path, [job(1, 4, node="n2"), job(9, 4, priority=90)], mode="suspend")
    world.cluster.nodes = {"n2": 4}
    assert world.round()
    assert world.cluster.jobs["1"]["state"] == "SUSPENDED"
    world.cluster.jobs["9"]["state"] = "COMPLETED"
    disk = Disk(monkeypatch)
    disk.fail(1, 10**9)
    assert "No space left" in round_of(world)
    assert world.cluster.jobs["1"]["state"] == "RUNNING"
    disk.fail(0, 0)
    settled_later(world)


def test_room_is_asked_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver that lives on writes what is late at the beginning of its next round."""
    world = World(tmp_path)
    with world.driver() as driver:
        disk = Disk(monkeypatch)
        plan = eh.plan(driver.snapshot(), world.policy)
        disk.fail(13, 10**9)
        with pytest.raises(JournalError, match="No space left"):
            driver.act(plan)
        assert evicted(world)
        assert held(world) == []
        assert driver.book.ends
        on_disk = len(read(world.journal))
        with pytest.raises(JournalError, match="No space left"):
            driver.recover()
        with pytest.raises(JournalError, match="No space left"):
            driver.act(eh.plan(driver.snapshot(), world.policy))
        disk.fail(0, 0)
        driver.recover()
        assert len(read(world.journal)) > on_disk
        assert [line["kind"] for line in read(world.journal)].count("end") == sum(driver.book.ends.values())


def test_a_journal_is_not_rotated_while_lines_are_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They would be forgotten: what begins anew is what the file says."""
    with Journal(tmp_path / "journal", "fake", lambda: 0.0) as journal:
        for _ in range(50):
            journal.append("refused", beneficiary="9", victims=[], codes=[], why="")
        disk = Disk(monkeypatch)
        disk.fail(1, 10**9)
        journal.note("settled", job="1")
        disk.fail(0, 0)
        assert journal.rotate(0) is None
        journal.write_late()
        journal._clock = lambda: 1e6
        assert journal.rotate(0) is not None
