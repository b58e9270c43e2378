"""Files of acting: regular ones only, never through a link that somebody planted; locks of other users."""

from __future__ import annotations

import errno
import functools
import logging
import os
import shutil
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand.act import JournalError, LockedError
from evenhand.act.journal import Journal, read
from evenhand.act.lock import Lock
from evenhand.act.metrics import write_metrics
from evenhand.cli import main
from evenhand.files import open_regular, replace_file
from tests.unit.act.world import World
from tests.waiting import HANG

pytestmark = pytest.mark.usefixtures("quiet")


def link(place: Path) -> None:
    (place.parent / "victim").write_text("precious")
    place.symlink_to(place.parent / "victim")


def nowhere(place: Path) -> None:
    place.symlink_to(place.parent / "victim")


def pipe(place: Path) -> None:
    os.mkfifo(place)


def folder(place: Path) -> None:
    place.mkdir()


@pytest.fixture(params=[link, nowhere, pipe, folder])
def planted(request: pytest.FixtureRequest) -> Iterator[Callable[[Path], None]]:
    """Put something into a file's place; at the end it is still what it was."""
    found: list[tuple[Path, int]] = []

    def plant(place: Path) -> None:
        request.param(place)
        found.append((place, place.lstat().st_mode))

    yield plant
    for place, mode in found:
        assert place.lstat().st_mode == mode
        victim = place.parent / "victim"
        if request.param is link:
            assert victim.read_text() == "precious"
        else:
            assert not victim.exists()


def left(place: Path) -> list[str]:
    """What else is in the folder."""
    return sorted(p.name for p in place.parent.iterdir() if p.name not in (place.name, "victim"))


WRITERS: dict[str, Callable[[Path], None]] = {
    "state": lambda place: eh.State(5.0).save(place),
    "metrics": lambda place: write_metrics(place, "a 1\n"),
}


@pytest.mark.parametrize("name", WRITERS)
def test_only_regular_files_are_replaced(name: str, planted: Callable[[Path], None], tmp_path: Path) -> None:
    place = tmp_path / "file"
    planted(place)
    with pytest.raises(OSError, match=r"it is (a link|not a regular file)"):
        WRITERS[name](place)
    assert left(place) == []
    WRITERS[name](tmp_path / "other")
    assert left(place) == ["other"]


@pytest.fixture
def device(tmp_path: Path) -> Path:
    """A device; for root one that may be lost if a test fails."""
    if os.geteuid() != 0:
        return Path("/dev/null")
    try:
        os.mknod(tmp_path / "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except OSError:
        pytest.skip("no devices can be made here")
    return tmp_path / "null"


@pytest.mark.parametrize("name", WRITERS)
def test_devices_and_sockets_stay(name: str, device: Path, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="not a regular file") as caught:
        WRITERS[name](device)
    assert caught.value.filename == str(device)
    assert stat.S_ISCHR(device.lstat().st_mode)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        with pytest.raises(OSError, match="not a regular file"):
            WRITERS[name](tmp_path / "s")


def test_who_may_read_a_replaced_file(tmp_path: Path) -> None:
    place = tmp_path / "file"
    mask = os.umask(0o027)
    try:
        replace_file(place, "a")
        assert place.stat().st_mode & 0o777 == 0o640
        place.chmod(0o604)
        replace_file(place, "b")
        assert place.stat().st_mode & 0o777 == 0o604
        write_metrics(place, "c")
        assert place.stat().st_mode & 0o777 == 0o644
    finally:
        os.umask(mask)
    assert place.read_text() == "c"


def test_a_file_that_cannot_be_written_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "file"
    replace_file(place, "old")

    def fsync(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OSError, match="No space left"):
        replace_file(place, "new")
    assert place.read_text() == "old"
    assert left(place) == []


def test_a_file_is_opened_as_what_it_is(tmp_path: Path) -> None:
    link(tmp_path / "link")
    nowhere(tmp_path / "none")
    (tmp_path / "victim").write_text("precious")
    os.mkfifo(tmp_path / "pipe")
    descriptor = open_regular(tmp_path / "link", os.O_RDONLY | os.O_CREAT)
    assert os.read(descriptor, 20) == b"precious"
    assert not os.get_inheritable(descriptor)
    os.close(descriptor)
    (tmp_path / "victim").unlink()
    with pytest.raises(FileNotFoundError):
        open_regular(tmp_path / "none", os.O_WRONLY | os.O_CREAT)
    assert not (tmp_path / "victim").exists()
    for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR | os.O_CREAT):
        with pytest.raises(OSError, match=r"not a regular file|No such device"):
            open_regular(tmp_path / "pipe", flags)


# The journal


def grown(folder: Path) -> World:
    """A journal with much that nobody needs."""
    world = World(folder)
    with Journal(world.journal, "fake", world.clock) as journal:
        for _ in range(100):
            journal.append("refused", beneficiary="9", victims=["3"], codes=["busy"], why="")
    return world


def test_the_new_journal_follows_no_link(
    planted: Callable[[Path], None], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    world = grown(tmp_path)
    before = world.journal.read_bytes()
    planted(tmp_path / "journal.new")
    caplog.set_level(logging.WARNING, logger="evenhand.act")
    with Journal(world.journal, "fake", world.clock) as journal:
        assert journal.rotate(0) is None
        journal.append("run")
    assert "cannot be rotated: File exists" in caplog.text
    assert world.journal.read_bytes().startswith(before)
    assert not (tmp_path / "journal.1").exists()


def test_what_a_killed_driver_left_is_no_hindrance(tmp_path: Path) -> None:
    world = grown(tmp_path)
    (tmp_path / "journal.new").write_text("half of a line")
    with Journal(world.journal, "fake", world.clock) as journal:
        assert journal.rotate(0) == tmp_path / "journal.1"
    assert not (tmp_path / "journal.new").exists()
    assert len(read(world.journal)) == 1


def test_a_new_journal_that_cannot_be_written_takes_no_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = grown(tmp_path)
    with Journal(world.journal, "fake", world.clock) as journal:
        for name, code in (("fsync", errno.ENOSPC), ("link", errno.ENOSPC), ("link", errno.EPERM)):
            with monkeypatch.context() as patch:

                def full(*_: object, code: int = code) -> None:
                    raise OSError(code, os.strerror(code))

                patch.setattr(os, name, full)
                if code == errno.EPERM:  # no links: the copy finds no room
                    patch.setattr(shutil, "copystat", functools.partial(full, code=errno.ENOSPC))
                assert journal.rotate(0) is None
            assert left(world.journal) == []
        assert journal.rotate(0) is not None


@pytest.mark.parametrize("links", [True, False])
def test_the_old_journal_takes_no_name_of_a_link(
    links: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = grown(tmp_path)
    nowhere(tmp_path / "journal.1")
    if not links:

        def none(*_: object) -> None:
            raise PermissionError(errno.EPERM, "Operation not permitted")

        monkeypatch.setattr(os, "link", none)
    with Journal(world.journal, "fake", world.clock) as journal:
        assert journal.rotate(0) == tmp_path / "journal.2"
    assert not (tmp_path / "victim").exists()
    assert len(read(tmp_path / "journal.2")) == 101


def test_a_journal_behind_a_link_is_not_rotated(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "there").mkdir()
    world = grown(tmp_path / "there")
    (tmp_path / "journal").symlink_to(world.journal)
    caplog.set_level(logging.WARNING, logger="evenhand.act")
    with Journal(tmp_path / "journal", "fake", world.clock) as journal:
        assert journal.rotate(0) is None
        journal.append("run")
    assert "it is a link" in caplog.text
    assert (tmp_path / "journal").is_symlink()
    assert len(read(world.journal)) == 102


def test_a_journal_is_made_through_no_link(tmp_path: Path) -> None:
    nowhere(tmp_path / "journal")
    world = World(tmp_path)
    with pytest.raises(JournalError, match="cannot be read: No such file"):
        world.round()
    assert not (tmp_path / "victim").exists()


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "journal")
    world = World(tmp_path)
    for act in (lambda: read(world.journal), lambda: world.driver(dry_run=True), world.driver):
        with pytest.raises(JournalError, match=r"not a (regular )?file"):
            act()


def test_a_dry_run_looks_whose_journal_it_is(tmp_path: Path) -> None:
    world = World(tmp_path)
    with Journal(world.journal, "other", world.clock):
        pass
    for dry_run in (False, True):
        with pytest.raises(JournalError, match="journal: is of cluster 'other', not 'fake'"):
            world.driver(dry_run=dry_run)
    world.journal.write_bytes(b"")
    with world.driver(dry_run=True):
        pass
    world.journal.unlink()
    with Journal(world.journal, "fake", world.clock), world.driver(dry_run=True):
        pass


def test_figures_go_into_no_pipe(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """They are no reason to stop; the pipe stays."""
    place = world.journal.with_name("figures")
    os.mkfifo(place)
    arguments = ["watch", "--once", "--journal", str(world.journal), "--metrics", str(place)]
    assert main(arguments) == 0
    assert "figures: cannot be written: it is not a regular file" in capsys.readouterr().err
    assert stat.S_ISFIFO(place.stat().st_mode)


def test_no_job_leaves_where_the_state_is_a_link(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nowhere(tmp_path / "state")
    arguments = ["watch", "--once", "--journal", str(world.journal), "--state", str(tmp_path / "state")]
    assert main(arguments) == 1
    said = capsys.readouterr().err
    assert "state: cannot be used: it is a link" in said
    assert not [event for event in world.cluster.events if event[0] == "evict"]


# The lock

AS_OTHER = """
import os, sys
from evenhand.act.lock import Lock, LockedError
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
try:
    Lock(sys.argv[1])
except LockedError as error:
    print(error)
"""


def by_another(place: Path) -> str:
    """What another user is told who wants a lock."""
    done = subprocess.run(
        [sys.executable, "-c", AS_OTHER, str(place)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        timeout=HANG,
    )
    assert not done.stderr
    return done.stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_lock_that_root_left(open_folder: Path) -> None:
    place = open_folder / "lock"
    Lock(place).release()
    said = by_another(place)
    assert said.count("\n") == 1
    assert said.startswith(f"lock {place}: cannot be opened: it belongs to user root; ")
    assert "may be removed" in said
    assert "--lock" in said
    os.chown(place, 54321, 54321)
    assert "it belongs to user 54321; " in by_another(place)
    os.chown(place, 65534, 65534)
    assert by_another(place) == ""
    open_folder.chmod(0o755)
    place.unlink()
    assert by_another(place) == f"lock {place}: cannot be made: Permission denied\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_root_leaves_the_lock_to_the_owner_of_the_journal(tmp_path: Path) -> None:
    """So that a service that owns the journal can go on after a person did something as root."""
    world = World(tmp_path)
    with world.driver():
        pass
    world.lock.unlink()
    os.chown(world.journal, 12345, 54321)
    with world.driver():
        pass
    assert (world.lock.stat().st_uid, world.lock.stat().st_gid) == (12345, 54321)


def test_a_lock_is_a_file_of_its_own(tmp_path: Path) -> None:
    """Nothing is written into what it could be by mistake, or by design of another user."""
    (tmp_path / "precious").write_text("precious")
    os.link(tmp_path / "precious", tmp_path / "hard")
    os.mkfifo(tmp_path / "pipe")
    for name in ("hard", "pipe", "/dev/null"):
        with pytest.raises(LockedError, match="not a regular file, or has a second link"):
            Lock(tmp_path / name)
    (tmp_path / "folder").mkdir()
    with pytest.raises(LockedError, match="cannot be opened: Is a directory"):
        Lock(tmp_path / "folder")
    assert (tmp_path / "precious").read_text() == "precious"


def test_a_lock_that_may_not_be_made_but_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In sticky folders of all users root may not make what is another's (fs.protected_regular)."""
    plain = os.open

    def guarded(path: Any, flags: int, *more: Any, **options: Any) -> int:
        if flags & os.O_CREAT and not flags & os.O_EXCL and os.path.lexists(path):
            raise PermissionError(errno.EACCES, "Permission denied")
        return plain(path, flags, *more, **options)

    monkeypatch.setattr(os, "open", guarded)
    for _ in range(2):
        Lock(tmp_path / "lock").release()


def test_a_lock_that_is_made_in_between(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain, tried = os.open, [0]

    def late(path: Any, flags: int, *more: Any, **options: Any) -> int:
        tried[0] += 1
        if tried[0] == 2:
            os.close(plain(tmp_path / "lock", os.O_CREAT))
        return plain(path, flags, *more, **options)

    monkeypatch.setattr(os, "open", late)
    Lock(tmp_path / "lock").release()
    assert tried == [3]


@pytest.mark.parametrize("old", ["", "1\n", "4000000000\n"])
def test_a_lock_needs_no_room(old: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its number is for messages only; a wrong one is worse than none."""
    (tmp_path / "lock").write_text(old)

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        lock = Lock(tmp_path / "lock")
    assert (tmp_path / "lock").read_text() == ""
    with pytest.raises(LockedError, match="another process"):
        Lock(tmp_path / "lock")
    lock.release()
    lock = Lock(tmp_path / "lock")
    assert (tmp_path / "lock").read_text() == f"{os.getpid()}\n"
    lock.release()
