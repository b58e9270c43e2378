"""A journal that is not as it should be: one clear message, nobody is touched."""

from __future__ import annotations

import contextlib
import copy
import csv
import io
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.act import JournalError, LockedError, watch
from evenhand.act.chain import encoded
from evenhand.act.journal import Journal, read, repair
from evenhand.adapters.commands import Result
from evenhand.cli import main
from tests.unit.act.slurm.cluster import job
from tests.unit.act.world import Killed, World


def plain(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Lines as they were before there were checksums, so that each can be changed alone."""
    return [{**lines[0], "schema": "evenhand/journal/1"}, *lines[1:]]


def evictions(world: World) -> list[object]:
    return [event for event in world.cluster.events if event[0] == "evict"]


def refuses(world: World, words: str) -> None:
    with pytest.raises(JournalError, match=words) as caught:
        world.round()
    assert "\n" not in str(caught.value)
    assert not evictions(world)


def written(world: World) -> bytes:
    with world.driver():
        pass
    return world.journal.read_bytes()


def test_torn_last_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world = World(tmp_path)
    whole = written(world)
    world.journal.write_bytes(whole + b'{"n": 2, "t": 17')
    refuses(world, "line 3 is torn")
    assert main(["journal", str(world.journal)]) == 1
    assert "torn" in capsys.readouterr().err
    assert main(["journal", "--repair", str(world.journal)]) == 0
    assert world.journal.read_bytes() == whole
    assert repair(world.journal) == 0
    assert world.round()
    world.check()


def test_a_kill_tears_no_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may end a write in its midst, at the end of a page: the line never was, nothing needs repair."""
    world = World(tmp_path)
    whole = written(world)
    plain, left = os.pwrite, [0]

    def dies(descriptor: int, data: bytes, place: int) -> int:
        done = plain(descriptor, data[: left[0]], place)
        left[0] -= done
        if done < len(data):
            raise Killed
        return done

    with Journal(world.journal, "fake", world.clock) as journal:
        journal.append("run")
        size = world.journal.stat().st_size - len(whole)
    for cut in range(size):
        world.journal.write_bytes(whole)
        with Journal(world.journal, "fake", world.clock) as journal, monkeypatch.context() as patch:
            patch.setattr(os, "pwrite", dies)
            left[0] = cut
            with pytest.raises(Killed):
                journal.append("run")
        assert len(world.journal.read_bytes()) > len(whole) or not cut
        lines = read(world.journal)
        # Where only its first byte is missing the line counts: that byte may have been damaged, too.
        assert len(lines) == len(whole.splitlines()) + (cut == size - 1)
        with Journal(world.journal, "fake", world.clock) as journal:
            assert world.journal.read_bytes().startswith(whole)
            assert read(world.journal) == lines
            assert b"\0" not in world.journal.read_bytes()
            journal.append("run")
        assert read(world.journal)[:-1] == lines
    world.journal.write_bytes(whole + bytes(20))  # as a disk may leave it that lost its power
    assert repair(world.journal) == 20
    assert world.journal.read_bytes() == whole


def test_what_cannot_be_read_is_not_written(tmp_path: Path) -> None:
    """Else the next driver could not go on."""
    with Journal(tmp_path / "journal", "fake", lambda: 0.0) as journal:
        victim = {"job": "1", "owner": 1000, "action": "cancel", "turn": 0}
        with pytest.raises(JournalError, match="the victims of a line of kind 'step'"):
            journal.append("step", step=0, beneficiary=None, victims=[victim])
        journal.append("run")
    assert [line["kind"] for line in read(tmp_path / "journal")] == ["journal", "run"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d.replace(b"journal/2", b"journal/3"), "evenhand/journal/3.*reads"),
        (lambda d: encoded([{**json.loads(d.splitlines()[0]), "cluster": "other"}]), "of cluster 'other'"),
        (lambda d: d.replace(b'"fake"', b'"other"'), "line 1, or one before it, is not as it was written"),
        (lambda d: b"hello\n" + d, "line 1 is not a line"),
        (lambda d: d.split(b"\n", 1)[1], "this version reads"),
        (lambda d: d + d.splitlines()[1] + b"\n", "lines are missing"),
        (lambda d: d.splitlines()[0] + b"\n" + b"\xff\xfe\n", "line 2 is not a line"),
    ],
)
def test_wrong_journals(change: object, words: str, tmp_path: Path) -> None:
    world = World(tmp_path)
    world.journal.write_bytes(change(written(world)))  # type: ignore[operator]
    refuses(world, words)


def test_folder_in_its_place(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.journal.mkdir()
    refuses(world, "cannot be read")


def test_a_device_is_no_journal(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.journal.symlink_to("/dev/full")
    refuses(world, "not a regular file")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    if os.getuid() != 0:
        pytest.skip("only root can mount a small disk")
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "none", place], check=False)
    if done.returncode:
        pytest.skip("mounting is not allowed here")
    yield place
    subprocess.run(["umount", place], check=True)


def fill(disk: Path, leave: int) -> None:
    room = os.statvfs(disk)
    (disk / "filler").write_bytes(bytes(max(room.f_bavail * room.f_frsize - leave, 0)))


def test_small_disk_fills_before_a_step(small_disk: Path) -> None:
    world = World(small_disk)
    written(world)
    fill(small_disk, 40_000)
    refuses(world, "fewer than 64 KiB")
    (small_disk / "filler").unlink()
    assert world.round()
    world.check()


def test_no_room_for_the_state(small_disk: Path, tmp_path: Path) -> None:
    """No job is asked to leave on a plan whose state would be lost."""
    world = World(tmp_path)
    fill(small_disk, 0)
    with world.driver() as driver, pytest.raises(OSError, match="No space left"):
        watch(driver, world.policy, save=small_disk / "state", once=True)
    assert not evictions(world)
    assert [file.name for file in small_disk.iterdir()] == ["filler"]
    (small_disk / "filler").unlink()
    with world.driver() as driver:
        watch(driver, world.policy, save=small_disk / "state", once=True)
    assert evictions(world)
    assert (small_disk / "state").exists()


def test_small_disk_fills_in_the_midst(small_disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At every line: the disk is full, the line is taken back, and later all is brought to its end."""
    monkeypatch.setattr(Journal, "check_room", lambda self: None)
    world = World(small_disk)
    written(world)
    for leave in (0, 4096):
        fill(small_disk, leave)
        os.truncate(world.journal, world.journal.stat().st_size)
        for _ in range(60):
            try:
                world.round()
            except JournalError as error:
                assert "No space left" in str(error)  # noqa: PT017 - happens at some round
                break
        else:
            pytest.fail("the disk never filled")
        assert not [name for name, j in world.cluster.jobs.items() if j["priority"] == 0], "none is held"
        with pytest.raises(JournalError, match="No space left"):
            world.round()
        read(world.journal)
        (small_disk / "filler").unlink()
    world.calm()
    world.check()


def test_a_journal_is_json_with_numbers(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.round()
    lines = [json.loads(line) for line in world.journal.read_text().splitlines()]
    assert [line["n"] for line in lines] == list(range(len(lines)))
    kinds = [line["kind"] for line in lines]
    for number, line in enumerate(lines):
        if line["kind"] == "outcome":
            assert kinds[number - 1] == "intent"
            assert lines[number - 1]["job"] == line["job"]


def test_every_line_is_synced_before_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(tmp_path)
    synced: list[int] = []
    plain = os.fsync

    def fsync(descriptor: int) -> None:
        plain(descriptor)
        synced.append(len(world.cluster.asked))

    monkeypatch.setattr(os, "fsync", fsync)
    world.round()
    asked = enumerate(world.cluster.asked)
    acts = [n for n, words in asked if words[0] in ("scontrol", "scancel") and "show" not in words]
    assert acts
    assert all(n in synced and n + 1 in synced for n in acts)


def _value() -> st.SearchStrategy[object]:
    plain = st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from([1e300, -1.0, "", "x", 2**70])
    return plain | st.lists(plain, max_size=2) | st.dictionaries(st.sampled_from(["job", "x"]), plain)


@pytest.fixture(scope="module")
def lines_of_a_run(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, object]]:
    world = World(tmp_path_factory.mktemp("run"))
    assert world.round()
    return plain(read(world.journal))


@given(st.data())
def test_whatever_a_line_says(lines_of_a_run: list[dict[str, object]], data: st.DataObject) -> None:
    """A field is missing, or is another thing: one clear message, or it changes nothing that matters."""
    lines = copy.deepcopy(lines_of_a_run)
    line = data.draw(st.sampled_from(lines))
    field = data.draw(st.sampled_from(sorted(line)))
    if data.draw(st.booleans()):
        del line[field]
    else:
        line[field] = data.draw(_value() | st.sampled_from(["_init__", "add", "settled", "end"]))
    with tempfile.TemporaryDirectory() as folder:
        journal = Path(folder) / "journal"
        journal.write_text("".join(json.dumps(line) + "\n" for line in lines))
        said = io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            assert main(["journal", str(journal)]) in (0, 1)
            main(["journal", "--rotate", str(journal)])
        assert "Traceback" not in said.getvalue()


def test_an_empty_journal_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "journal").touch()
    assert main(["journal", "--rotate", str(tmp_path / "journal")]) == 0
    assert main(["journal", "--rotate", str(tmp_path / "none")]) == 1
    assert "it does not exist" in capsys.readouterr().err
    assert not (tmp_path / "none.lock").exists()


def test_repair_leaves_a_living_driver_alone(tmp_path: Path) -> None:
    world = World(tmp_path)
    with world.driver():
        whole = world.journal.read_bytes()
        with pytest.raises(LockedError, match="another driver"):
            repair(world.journal)
    assert world.journal.read_bytes() == whole


def test_repair_does_not_touch_what_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(tmp_path)
    written(world)
    before = world.journal.stat()
    assert repair(world.journal) == 0
    assert world.journal.stat().st_mtime_ns == before.st_mtime_ns


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
def test_root_leaves_the_journal_to_its_owner(tmp_path: Path) -> None:
    world = World(tmp_path)
    assert world.round()
    world.journal.with_name("journal.lock").unlink()
    os.chown(world.journal, 12345, 54321)
    world.journal.chmod(0o600)
    assert main(["journal", "--rotate", str(world.journal)]) == 0
    for name in ("journal", "journal.1", "journal.lock"):
        found = (tmp_path / name).stat()
        assert (found.st_uid, found.st_gid) == (12345, 54321), name
    assert world.journal.stat().st_mode & 0o777 == 0o600


def test_what_became_of_each_victim(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jobs = [job(n, 1, node="n1") for n in range(1, 5)]
    others = [job(n, 4, node=f"n{n // 10}", priority=200) for n in (20, 30)]
    world = World(tmp_path, [*jobs, *others, job(9, 4, priority=90)])
    plain = world.cluster.scontrol
    denied = Result(1, "", "Access/permission denied")
    world.cluster.scontrol = (  # type: ignore[method-assign]
        lambda rest: denied if rest[0] == "requeuehold" and evictions(world) else plain(rest)
    )
    assert world.round()
    assert main(["journal", str(world.journal), "--format", "csv"]) == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert [row["became"] for row in rows] == ["left", "stays", "not asked", "not asked"]
    assert main(["journal", str(world.journal)]) == 0
    assert capsys.readouterr().out.count("; not asked;") == 2


def test_a_victim_that_was_ending_anyway(tmp_path: Path) -> None:
    """It is completing when it is asked to leave, and ends: it did not leave for another job."""
    world = World(tmp_path, [job(1, 4, node="n2"), job(9, 4, priority=90)])
    world.cluster.nodes = {"n2": 4}
    plain = world.cluster.scontrol
    begin: list[float] = []

    def scontrol(rest: list[str]) -> Result:
        if rest[0] == "requeuehold":
            begin.append(world.clock.now)
            world.cluster.jobs["1"]["state"] = "COMPLETING"
            return Result(1, "", "Job/step already completing or completed")
        return plain(rest)

    schedule = world.cluster.schedule

    def completes() -> None:
        if begin and world.clock.now > begin[0] + 1.5:
            world.cluster.jobs["1"]["state"] = "COMPLETED"
        schedule()

    world.cluster.scontrol, world.cluster.schedule = scontrol, completes  # type: ignore[method-assign]
    assert world.round()
    (line,) = [line for line in read(world.journal) if line["kind"] == "victim"]
    assert line["answer"] == "ended"
    world.check()
