"""A journal that is not as it should be: one clear message, nobody is touched."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from evenhand.act import JournalError, watch
from evenhand.act.journal import Journal, read, repair
from evenhand.cli import main
from tests.unit.act.world import World


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


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d.replace(b"journal/1", b"journal/2"), "evenhand/journal/2.*reads"),
        (lambda d: d.replace(b'"fake"', b'"other"'), "of cluster 'other'"),
        (lambda d: b"hello\n" + d, "line 1 is no line"),
        (lambda d: d.split(b"\n", 1)[1], "this version reads"),
        (lambda d: d + d.splitlines()[1] + b"\n", "lines are missing"),
        (lambda d: d.splitlines()[0] + b"\n" + b"\xff\xfe\n", "line 2 is no line"),
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


def test_full_device(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.journal.symlink_to("/dev/full")
    refuses(world, "No space left")


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
    """Nobody is told to leave on a plan whose state would be lost."""
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
    acts = [n for n, command in enumerate(world.cluster.asked) if command[0] in ("scontrol", "scancel")]
    assert acts
    assert all(n in synced and n + 1 in synced for n in acts)
