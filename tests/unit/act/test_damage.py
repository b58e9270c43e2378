"""Bytes and lines of a journal that are not as they were written: never read as another book."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from evenhand.act import JournalError
from evenhand.act.book import Book
from evenhand.act.journal import Journal, read, repair
from evenhand.act.lines import _NEEDED
from evenhand.adapters.commands import Result
from evenhand.cli import main
from tests.drawing import examples
from tests.unit.act.slurm.cluster import job
from tests.unit.act.world import World, appends

pytestmark = pytest.mark.usefixtures("quiet")

DATA = Path(__file__).parents[2] / "data" / "act"
DAMAGES = min(10 * examples(), 2000)
WRITTEN = ["journal-ended", "journal-owed", "journal-open"]


@pytest.fixture(scope="module")
def journal(quiet: None, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A journal with lines of every kind: begun anew, refusals, a debt that was paid, a step that is open."""
    world = World(tmp_path_factory.mktemp("kinds"), [job(1, 4, node="n2"), job(9, 4, priority=90)])
    world.cluster.nodes = {"n2": 4}
    plain = world.cluster.scontrol
    denied = Result(1, "", "Access/permission denied")
    world.cluster.scontrol = lambda rest: denied if rest[0] == "release" else plain(rest)  # type: ignore[method-assign]
    assert world.round()
    world.cluster.scontrol = plain  # type: ignore[method-assign]
    with Journal(world.journal, "fake", world.clock) as written:
        for _ in range(150):
            written.append("refused", beneficiary="9", victims=["1"], codes=["busy"], why="an earlier step")
        assert written.rotate(0)
        written.append("refused", beneficiary="8", victims=["1"], codes=["cap"], why="per_run=1")
        written.append("found", job="2", step=0, state="held", turn=1)  # of what it does not know: nothing
        written.append("command_ended", job="2", step=0, state="running")
    with world.driver():
        pass
    world.clock.now += 2000.0
    world.cluster.jobs["9"]["state"] = "COMPLETED"
    world.cluster.schedule()
    world.cluster.jobs["7"] = job(7, 4, priority=95)
    with pytest.MonkeyPatch.context() as patch:
        appends(patch, 6, after=True)
        assert not world.round()
    lines = read(world.journal)
    assert {line["kind"] for line in lines} == set(_NEEDED)
    book = booked(lines)
    assert book.open
    assert book.refusals == {"busy": 150, "cap": 1}
    return world.journal.read_bytes()


def booked(lines: list[dict[str, Any]]) -> Book:
    book = Book()
    for line in lines:
        book.add(line)
    return book


def refused(place: Path, data: bytes, lines: list[dict[str, Any]]) -> bool:
    """Whether a damaged journal is refused; else it must say what it said before damage."""
    place.write_bytes(data)
    try:
        found = read(place)
    except JournalError:
        return True
    assert found == lines
    return False


def flipped(data: bytes, place: int, byte: int) -> bytes:
    return data[:place] + bytes([byte]) + data[place + 1 :]


def test_every_byte_that_is_flipped(journal: bytes, tmp_path: Path) -> None:
    """A byte that is drawn, NUL and a line end, in every place; of few examples, in all of the last line."""
    lines = read_bytes(tmp_path, journal)
    chance = random.Random(4)
    kept, count = [], 0
    last, apart = journal.rfind(b"\n", 0, -1) + 1, max(400 // examples(), 1)
    for place in [*range(0, last, apart), *range(last, len(journal))]:
        for other in {chance.randrange(256), 0, ord("\n")} - {journal[place]}:
            count += 1
            if not refused(tmp_path / "journal", flipped(journal, place, other), lines):
                kept.append((place, other))
    assert count > 2 * len(journal) // apart
    assert kept == [(last, 0)], "the last line's first byte, which is known"


def read_bytes(folder: Path, data: bytes) -> list[dict[str, Any]]:
    (folder / "journal").write_bytes(data)
    return read(folder / "journal")


@pytest.mark.parametrize("flips", [1, 2, 3, 8])
def test_drawn_flips(flips: int, journal: bytes, tmp_path: Path) -> None:
    lines = read_bytes(tmp_path, journal)
    chance = random.Random(flips)
    last = journal.rfind(b"\n", 0, -1) + 1
    for _ in range(DAMAGES):
        data = journal
        for _ in range(flips):
            # Half of them in the first or the last line, where there is least to compare with.
            place = chance.choice(
                [chance.randrange(len(data)), chance.randrange(last, len(data)), chance.randrange(250)]
            )
            data = flipped(data, place, data[place] ^ chance.randrange(1, 256))
        assert data == journal or refused(tmp_path / "journal", data, lines) or flips == 1


def test_lines_that_are_lost_doubled_or_swapped(journal: bytes, tmp_path: Path) -> None:
    lines = read_bytes(tmp_path, journal)
    texts = journal.splitlines(keepends=True)
    for at in range(len(texts)):
        lost = texts[:at] + texts[at + 1 :]
        assert at == len(texts) - 1 or refused(tmp_path / "journal", b"".join(lost), lines)
        for to in range(len(texts) + 1):
            assert refused(tmp_path / "journal", b"".join([*texts[:to], texts[at], *texts[to:]]), lines)
            if to not in (at, at + 1):
                moved = [t for n, t in enumerate(texts[:to]) if n != at] + [texts[at]]
                moved += [t for n, t in enumerate(texts) if n >= to and n != at]
                assert refused(tmp_path / "journal", b"".join(moved), lines)
    renumbered = [t.replace(b'"n": %d,' % (n + 1), b'"n": %d,' % n) for n, t in enumerate(texts[1:]) if n]
    assert refused(tmp_path / "journal", b"".join([texts[0], *renumbered]), lines)


def test_bytes_that_are_lost_or_added(journal: bytes, tmp_path: Path) -> None:
    lines = read_bytes(tmp_path, journal)
    chance = random.Random(9)
    for _ in range(DAMAGES):
        place, size = chance.randrange(len(journal)), chance.randrange(1, 40)
        lost = journal[:place] + journal[place + size :]
        added = journal[:place] + chance.randbytes(size) + journal[place:]
        # A tail that is lost up to a line's end is a journal that was never longer.
        assert (place + size >= len(journal) and lost.endswith(b"\n")) or refused(
            tmp_path / "journal", lost, lines
        )
        assert refused(tmp_path / "journal", added, lines)


def test_a_damaged_journal_touches_nobody(journal: bytes, tmp_path: Path, capsys: Any) -> None:
    world = World(tmp_path)
    world.journal.write_bytes(journal.replace(b'"job": "1"', b'"job": "2"', 1))
    with pytest.raises(JournalError, match="not as it was written: its checksum does not fit"):
        world.round()
    assert not world.cluster.asked
    assert main(["journal", str(world.journal)]) == 1
    said = capsys.readouterr().err
    assert "release by hand" in said
    with pytest.raises(JournalError, match="checksum"):
        repair(world.journal)


@pytest.mark.parametrize("end", [b"", b"x"])
def test_a_line_end_that_is_damaged(end: bytes, journal: bytes, tmp_path: Path) -> None:
    """All that the line says is there: it is not cut off."""
    place = tmp_path / "journal"
    place.write_bytes(journal[:-1] + end)
    with pytest.raises(JournalError, match="torn"):
        read(place)
    assert repair(place) == 0
    assert place.read_bytes() == journal
    place.write_bytes(journal[:-2] + end)
    assert repair(place) == len(journal.splitlines()[-1]) - 1 + len(end)
    assert place.read_bytes() == b"".join(journal.splitlines(keepends=True)[:-1])


def test_a_first_byte_that_is_damaged(journal: bytes, tmp_path: Path) -> None:
    """As a kill between the two writes of a line leaves it: the next driver has the line, and ends it."""
    place = tmp_path / "journal"
    lines = read_bytes(tmp_path, journal)
    place.write_bytes(flipped(journal, journal.rfind(b"\n", 0, -1) + 1, 0))
    with Journal(place, "fake", lambda: 1.0) as written:
        assert written.book.open == booked(lines).open
        assert place.read_bytes() == journal
        written.append("run")
    assert read(place)[:-1] == lines


# Journals of the version before checksums


@pytest.mark.parametrize("name", WRITTEN)
def test_journals_written_before_are_read(name: str, tmp_path: Path) -> None:
    lines = read(DATA / name)
    assert lines[0]["schema"] == "evenhand/journal/1"
    shutil.copy(DATA / name, tmp_path / "journal")
    with Journal(tmp_path / "journal", "fake", lambda: 1.8e9) as written:
        was = booked(lines)
        assert (written.book.open, written.book.owed) == (was.open, was.owed)
        written.append("run")
        written.append("run")
    after = read(tmp_path / "journal")
    assert after[: len(lines)] == lines
    with Journal(tmp_path / "journal", "fake", lambda: 1.8e9) as written:
        for _ in range(200):
            written.append("refused", beneficiary="9", victims=["1"], codes=["busy"], why="")
        assert written.rotate(0)
        assert (written.book.open, written.book.owed) == (was.open, was.owed)
    assert read(tmp_path / "journal")[0]["schema"] == "evenhand/journal/2"


def test_what_they_owe_is_paid(tmp_path: Path) -> None:
    for name, state in (("journal-owed", "RUNNING"), ("journal-open", "PENDING")):
        folder = tmp_path / name
        folder.mkdir()
        other = job(9, 4, priority=90, node="n2" if state == "RUNNING" else None)
        world = World(folder, [job(1, 4, priority=0, turn=1, rank=10, requeued_held=True), other])
        world.cluster.nodes = {"n2": 4}
        shutil.copy(DATA / name, world.journal)
        with world.driver():
            pass
        assert world.cluster.jobs["1"]["priority"] == 10
        book = booked(read(world.journal))
        assert not book.open
        assert not book.owed


@pytest.mark.parametrize("name", WRITTEN)
def test_what_they_said_is_guarded_from_then_on(name: str, tmp_path: Path) -> None:
    """One line with a checksum covers all lines before it that have none."""
    place = tmp_path / "journal"
    shutil.copy(DATA / name, place)
    with Journal(place, "fake", lambda: 1.8e9) as written:
        written.append("run")
    data, lines = place.read_bytes(), read(place)
    chance = random.Random(3)
    kept = 0
    for _ in range(DAMAGES):
        at = chance.randrange(len(data))
        kept += not refused(place, flipped(data, at, data[at] ^ chance.randrange(1, 256)), lines)
    assert kept <= 1
    plain = (DATA / name).read_bytes().splitlines(keepends=True)[1]
    assert refused(place, data + plain.replace(b'"n": 1,', b'"n": %d,' % len(lines)), lines)
