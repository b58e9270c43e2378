"""A journal that begins anew: nothing that is needed is lost, wherever the driver dies."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.act import Caps, LockedError
from evenhand.act.book import Book
from evenhand.act.journal import Journal, read, rotate
from evenhand.act.rotation import needed
from evenhand.adapters.commands import Result
from evenhand.cli import main
from tests.unit.act.faults import Fault
from tests.unit.act.slurm.cluster import job
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


# 24 hours


def left_behind(folder: Path, owed: str | None, failures: int = 0) -> World:
    """Job 1 left in step 0, now: it is owed something, nothing (``""``), or the step is open (None)."""
    world = World(folder)
    with Journal(world.journal, "fake", world.clock) as journal:
        victim = {"job": "1", "owner": "1000", "action": "requeue_hold", "turn": 0, "reason": "x"}
        journal.append("step", step=0, beneficiary="9", victims=[victim], reason="", node="n1")
        journal.append("intent", step=0, action="requeue_hold", job="1", commands=[])
        journal.append("victim", step=0, job="1", answer="left")
        if owed is not None:
            more = {"failures": failures} if failures else {}
            due = {"1": owed} if owed else {}
            journal.append("end", step=0, outcome="not_started", why="x", owed=due, **more)
        for _ in range(100):
            journal.append("refused", beneficiary="9", victims=["1"], codes=["busy"], why="")
    return world


AGES = [DAY - 1e-3, DAY, DAY + 1e-3, 30 * DAY]


@pytest.mark.parametrize("age", AGES)
@pytest.mark.parametrize(
    "owed", ["release", "resume", "look:requeue_hold", "look:requeue", "look:suspend", "look:cancel", None]
)
def test_what_is_owed_is_kept_however_old(owed: str | None, age: float, tmp_path: Path) -> None:
    world = left_behind(tmp_path, owed)
    world.clock.now += age
    before = summed(read(world.journal))
    for _ in range(2):
        with Journal(world.journal, "fake", world.clock) as journal:
            journal.append("run")
            journal.rotate(0)
            assert journal.book.owed == before.owed
            assert journal.book.open == before.open
            assert journal.book.busy() == {"1"}
            assert journal.book.leaving() == {"1": "9"}
    assert len(read(world.journal)) <= 7


@pytest.mark.parametrize(("age", "kept"), [(DAY - 1e-3, True), (DAY, True), (DAY + 1e-3, False)])
def test_what_caps_and_pauses_need_is_kept_for_a_day(age: float, kept: bool, tmp_path: Path) -> None:
    """As long as they look back, to the same moment."""
    world = left_behind(tmp_path, "", failures=2)
    world.clock.now += age
    full = summed(read(world.journal))
    with Journal(world.journal, "fake", world.clock) as journal:
        assert journal.rotate(0)
        assert journal.book.evictions == ([(world.clock.now - age, "1000", "1")] if kept else [])
        assert journal.book.failures == ({"9": (2, world.clock.now - age)} if kept else {})
        assert (journal.book.evicted, journal.book.ends) == (1, {"not_started": 1})
        assert journal.book.steps == 1
        caps = Caps(per_job=1)
        for book in (full, journal.book):
            assert (caps.exceeded(book, world.clock.now, 0, [("1", None)]) is not None) == kept


@pytest.mark.parametrize("last", range(4))
def test_a_step_counts_from_its_last_line(last: int, tmp_path: Path) -> None:
    """One that took long is kept whole as long as any line of it is recent."""
    world = World(tmp_path)
    lines: list[tuple[str, dict[str, Any]]] = [
        ("step", {"beneficiary": "9", "reason": "", "victims": []}),
        ("intent", {"action": "requeue_hold", "job": "1"}),
        ("outcome", {"action": "requeue_hold", "job": "1"}),
        ("end", {"outcome": "started", "why": "x", "owed": {}}),
    ]
    end = [0.0]
    with Journal(world.journal, "fake", world.clock) as journal:
        for number, (kind, fields) in enumerate(lines):
            if number == last:
                world.clock.now += 100.0
                end[0] = world.clock.now
            journal.append(kind, step=0, **fields)
    whole = read(world.journal)
    assert len(needed(whole, end[0] + DAY)) == 5
    assert len(needed(whole, end[0] + DAY + 1e-3)) == 1


@pytest.mark.parametrize(("age", "count"), [(DAY - 1e-3, 3), (DAY, 3), (DAY + 1e-3, 1)])
def test_failures_in_a_row_are_those_of_a_day(age: float, count: int, tmp_path: Path) -> None:
    world = left_behind(tmp_path, "", failures=2)
    world.clock.now += age
    with Journal(world.journal, "fake", world.clock) as journal:
        victim = {"job": "2", "owner": "1000", "action": "requeue_hold", "turn": 0, "reason": "x"}
        journal.append("step", step=1, beneficiary="9", victims=[victim], reason="")
        journal.append("victim", step=1, job="2", answer="left")
        step = journal.book.open[1]
        assert journal.book.failed(step, world.clock.now) == count
        other = {**victim, "job": "3"}
        journal.append("step", step=2, beneficiary="8", victims=[other], reason="")
        journal.append("end", step=2, outcome="not_started", why="x", owed={}, failures=1)
        assert ("9" in journal.book.failures) == (count == 3)


def test_a_debt_that_cannot_be_paid_for_days(tmp_path: Path) -> None:
    """The journal begins anew in every round; in the end the job is released."""
    jobs = [job(n, 4, node=f"n{n}", priority=10 if n == 1 else 200) for n in (1, 2, 3)]
    world = World(tmp_path, [*jobs, job(9, 4, priority=90)])
    plain = world.cluster.scontrol
    denied = Result(1, "", "Access/permission denied")
    world.cluster.scontrol = lambda rest: denied if rest[0] == "release" else plain(rest)  # type: ignore[method-assign]
    assert world.round()
    assert world.cluster.jobs["1"]["priority"] == 0
    for _ in range(5):
        world.clock.now += DAY
        with Journal(world.journal, "fake", world.clock) as journal:
            for _ in range(100):
                journal.append("refused", beneficiary="9", victims=["1"], codes=["busy"], why="")
        with world.driver(rotate_at=0) as driver:
            assert driver.book.owed["1"].what == "release"
    assert Path(f"{world.journal}.5").exists()
    world.cluster.scontrol = plain  # type: ignore[method-assign]
    with world.driver(rotate_at=0):
        assert world.cluster.jobs["1"]["priority"] > 0
    world.check()


def test_codes_of_before_are_read_by_their_names_of_now(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "journal"
    with Journal(path, "fake", lambda: 0.0) as journal:
        for code in ("nobody_may_go", "no_eligible_victims"):
            journal.append("refused", beneficiary="9", victims=["1"], codes=[code, "busy"], why="")
    lines = read(path)
    assert summed(lines).refusals == {"no_eligible_victims": 2, "busy": 2}
    totals = {**lines[0], "totals": {"evictions": 0, "ends": {}, "refusals": {"nobody_may_go": 3}}}
    assert summed([totals, *lines[1:]]).refusals == {"no_eligible_victims": 5, "busy": 2}
    assert main(["journal", str(path), "--format", "csv"]) == 0
    shown = capsys.readouterr().out
    assert "nobody_may_go" not in shown
    assert shown.count("no_eligible_victims, busy") == 2
