"""A journal that begins anew: nothing that is needed is lost, wherever the driver dies."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.act import Caps, LockedError
from evenhand.act.book import Book
from evenhand.act.journal import Journal, read, rotate
from evenhand.act.rotation import needed
from evenhand.adapters.recording import Fault
from evenhand.cli import main
from tests.unit.act.test_faults import FAULTS
from tests.unit.act.world import Killed, World, appends

DAY = 24 * 3600.0


def summed(lines: list[dict[str, Any]]) -> Book:
    book = Book()
    for line in lines:
        book.add(line)
    return book


def what_matters(lines: list[dict[str, Any]], now: float) -> tuple[Any, ...]:
    book = summed(lines)
    recent = [eviction for eviction in book.evictions if eviction[0] >= now - DAY]
    failures = {name: failed for name, failed in book.failures.items() if failed[1] >= now - DAY}
    totals = book.evicted, book.ends, book.refusals
    return (
        book.cluster,
        book.steps,
        book.open,
        book.owed,
        book.busy(),
        book.leaving(),
        recent,
        failures,
        totals,
    )


@settings(max_examples=60)
@given(
    st.dictionaries(st.integers(0, 60), FAULTS, max_size=8),
    st.lists(st.sampled_from([1.0, 600.0, DAY / 2, DAY + 1.0]), min_size=1, max_size=4),
    st.floats(0.0, 1.0),
)
def test_what_is_needed_stays(schedule: dict[int, Fault], pauses: list[float], cut: float) -> None:
    """Whenever it is done, also twice: what the lines add up to is the same."""
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder), faults=schedule)
        for pause in pauses:
            world.round()
            world.clock.now += pause
        lines = read(world.journal)
        lines = lines[: max(int(len(lines) * cut), 1)]
    for now in (lines[-1]["t"], world.clock.now):
        kept = needed(lines, now)
        assert what_matters(kept, now) == what_matters(lines, now)
        assert needed(kept, now) == kept
        assert [line["n"] for line in kept] == list(range(len(kept)))


@settings(max_examples=60)
@given(st.dictionaries(st.integers(0, 60), FAULTS, max_size=8), st.integers(2, 4))
def test_rotated_in_every_round(schedule: dict[int, Fault], rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder), faults=schedule)
        plain = world.driver

        def rotating(**more: Any) -> Any:
            return plain(rotate_at=0, **more)

        world.driver = rotating  # type: ignore[method-assign]
        for _ in range(rounds):
            world.round()
            world.clock.now += 10.0
        world.calm()
        world.check()


@pytest.mark.parametrize("die_at", range(5))
def test_killed_while_it_begins_anew(die_at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before each call that changes a file: the journal is whole, and the next driver goes on."""
    world = World(tmp_path)
    with monkeypatch.context() as patch:  # a step is open
        appends(patch, 8, after=True)
        assert not world.round()
    for _ in range(200):  # what nobody needs
        world.clock.now += 30.0
        with Journal(world.journal, "fake", world.clock) as journal:
            journal.append("refused", beneficiary="9", victims=["3"], codes=["busy"], why="", plan={})
    before = read(world.journal)
    calls = [0]

    def dying(call: Any) -> Any:
        def wrapped(*args: Any, **more: Any) -> Any:
            calls[0] += 1
            if calls[0] > die_at:
                raise Killed
            return call(*args, **more)

        return wrapped

    with monkeypatch.context() as patch:
        for name in ("fchmod", "fsync", "link", "replace"):
            patch.setattr(os, name, dying(getattr(os, name)))
        with Journal(world.journal, "fake", world.clock) as journal:
            try:
                journal.rotate(0)
            except Killed:
                pass
            else:
                assert die_at == 5
    assert what_matters(read(world.journal), world.clock.now) == what_matters(before, world.clock.now)
    with Journal(world.journal, "fake", world.clock) as journal:
        journal.rotate(0)
    assert len(read(world.journal)) < 30
    assert read(f"{world.journal}.1") == before
    assert not Path(f"{world.journal}.2").exists()
    assert not Path(f"{world.journal}.new").exists()
    world.calm()
    world.check()


def test_file_systems_without_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(tmp_path)
    assert world.round()
    world.clock.now += 2 * DAY
    before = read(world.journal)

    def link(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", link)
    with Journal(world.journal, "fake", world.clock) as journal:
        assert journal.rotate(0) == Path(f"{world.journal}.1")
    assert read(f"{world.journal}.1") == before
    assert len(read(world.journal)) == 1


def test_a_full_disk_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(tmp_path)
    assert world.round()
    world.clock.now += 2 * DAY

    def link(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "link", link)
        with world.driver(rotate_at=0) as driver:
            assert driver.book.ends == {"started": 2}
    assert len(read(world.journal)) > 20
    assert world.round()


def test_caps_and_numbers_outlive_it(tmp_path: Path) -> None:
    world = World(tmp_path)
    assert world.round()
    with world.driver(rotate_at=0):
        pass
    world.clock.now += 2 * DAY
    with world.driver(rotate_at=0) as driver:
        assert driver.book.steps == 2
        assert not driver.book.evictions
    assert len(read(world.journal)) < 5
    assert summed(read(f"{world.journal}.1")).ends == {"started": 2}


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world = World(tmp_path)
    assert world.round()
    with world.driver(caps=Caps()), pytest.raises(LockedError):
        rotate(world.journal)
    size = world.journal.stat().st_size
    assert main(["journal", str(world.journal), "--rotate"]) == 0
    assert f"the old journal is {world.journal}.1" in capsys.readouterr().err
    assert world.journal.stat().st_size < 300 < size  # of times long ago
    assert main(["journal", str(world.journal), "--rotate"]) == 0
    assert "still needed" in capsys.readouterr().err
    assert main(["journal", f"{world.journal}.1"]) == 0
    assert "2 started" in capsys.readouterr().out
