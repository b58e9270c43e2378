"""The journal: what is about to be done, and what came of it, one synced JSON line each."""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from evenhand.act.book import Book
from evenhand.act.chain import encoded, seal
from evenhand.act.lines import wrong
from evenhand.act.lock import Lock
from evenhand.act.reading import SCHEMA, JournalError, read, read_bytes, read_text
from evenhand.act.rotation import needed, replace
from evenhand.files import open_regular

__all__ = ["Journal", "JournalError", "check_cluster", "lock_of", "read", "repair", "rotate"]

_LOG = logging.getLogger("evenhand.act")
_ROOM = 64 * 1024  # bytes that must be free before any job is touched


def repair(path: str | os.PathLike[str]) -> int:
    """Cut a torn last line off; one of which only the line end is damaged gets it back.

    Returns how many bytes were cut off.
    """
    try:
        with lock_beside(path):
            data = read_bytes(path)
            found = read_text(path, data, torn=True)
            cut = len(data) - found.size
            rest = data[found.size :]
            for ended in (rest, rest[:-1]):  # only the line end is missing, or another byte
                with contextlib.suppress(JournalError):
                    found.take(ended, path)
                    cut = 0
                    break
            if rest and not found.begun:
                with os.fdopen(open_regular(path, os.O_WRONLY), "wb") as file:
                    os.ftruncate(file.fileno(), found.size)
                    if not cut:
                        os.pwrite(file.fileno(), b"\n", found.size - 1)
                    os.fsync(file.fileno())
    except OSError as error:
        raise JournalError(f"journal {path}: cannot be repaired: {error.strerror or error}") from error
    return cut


@contextlib.contextmanager
def lock_beside(path: str | os.PathLike[str]) -> Iterator[None]:
    """Hold the lock of a journal that no driver has open."""
    if not Path(path).exists():
        raise JournalError(f"journal {path}: cannot be read: it does not exist")
    lock = lock_of(path, patience=0.0)
    try:
        yield
    finally:
        lock.release()


def lock_of(path: str | os.PathLike[str], patience: float = 35.0) -> Lock:
    """Take the lock of a journal; made by root, it belongs to the owner of the journal; see `Lock`."""
    if os.path.lexists(path) and not (Path(path).is_symlink() or Path(path).is_file()):
        raise JournalError(f"journal {path}: cannot be read: it is not a file")
    lock = Lock(f"{os.fspath(path)}.lock", patience)
    lock.leave_to(path)
    return lock


def rotate(path: str | os.PathLike[str]) -> Path | None:
    """Let a journal begin anew that no driver has open.

    None if it is empty, or more than half of it is still needed: then it stays.

    Its owner and its permissions stay.
    """
    with lock_beside(path):
        lines = read(path)
        if not lines:
            return None
        with Journal(path, lines[0]["cluster"], time.time) as journal:
            return journal.rotate(0)


def check_cluster(path: str | os.PathLike[str], book: Book, identity: str) -> None:
    """Refuse the journal of another cluster."""
    if book.cluster != identity:
        raise JournalError(f"journal {path}: is of cluster {book.cluster!r}, not {identity!r}")


class Journal:
    """An open journal; only one driver may have it open (`evenhand.act.lock`).

    Attributes
    ----------
    book : Book
        What the lines add up to.
    """

    def __init__(self, path: str | os.PathLike[str], identity: str, clock: Any) -> None:
        self.path = Path(path)
        self._clock = clock
        self._late: deque[dict[str, Any]] = deque()
        self._dirty = False
        self._file = -1
        lines = self._open()
        if not lines:
            self.append("journal", schema=SCHEMA, cluster=identity)
            _sync_folder(self.path.parent)
            return
        try:
            check_cluster(path, self.book, identity)
        except JournalError:
            self.close()
            raise

    def _open(self) -> list[dict[str, Any]]:
        found = read_text(self.path, read_bytes(self.path) if os.path.lexists(self.path) else b"")
        self.close()
        try:
            self._file = open_regular(self.path, os.O_WRONLY | os.O_CREAT, 0o640)
            end = os.fstat(self._file).st_size
        except OSError as error:
            raise JournalError(
                f"journal {self.path}: cannot be written: {error.strerror or error}"
            ) from error
        self._size, self._count, self._total = found.size, len(found.lines), found.total
        if found.begun:  # written once more, in full
            self._late.append(found.lines[-1])
            self._size, self._count, self._total = found.start, self._count - 1, found.before
        self._dirty = end > self._size
        with contextlib.suppress(OSError, JournalError):  # else before the next line
            self.write_late()
            self._take_back()
        self._least = 0
        self.book = Book()
        for line in found.lines:
            self.book.add(line)
        return found.lines

    def rotate(self, size: int) -> Path | None:
        """Begin anew if the journal is large; the old one is kept beside it.

        One that would not shrink to a half stays as it is. That the new one cannot be written is only logged:
        then the old one is continued.
        """
        if self._late or self._size <= max(size, 2 * self._least):
            return None
        lines = needed(read(self.path), self._clock())
        data = encoded([{**lines[0], "schema": SCHEMA}, *lines[1:]])
        self._least = len(data)
        if self._size <= 2 * self._least:
            return None
        try:
            old = replace(self.path, data, _sync_folder)
        except OSError as error:
            _LOG.warning("journal %s: cannot be rotated: %s", self.path, error.strerror or error)
            return None
        self._open()
        _LOG.info("journal %s: a new one was begun; the old one is %s", self.path, old)
        return old

    def append(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Write a line, and return once it is on the disk.

        A line that could not be written fully is taken back.

        A kill may cut a write in two. So the first byte of a line is written last: one that begins with NUL
        never was, and no action followed it.
        """
        line = self._line(kind, fields)
        self.write_late()
        self._write(line)
        self.book.add(line)
        return line

    def note(self, kind: str, **fields: Any) -> None:
        """Write a line that nothing has to wait for: without room it is written before the next one.

        For what came of an action, and for what gives jobs their place back: that needs no journal. A driver
        that dies before such a line is written leaves its step open, and the next one looks at its jobs.
        """
        line = self._line(kind, fields)
        self.book.add(line)
        self._late.append(line)
        try:
            self.write_late()
        except JournalError as error:
            if len(self._late) == 1:
                _LOG.warning("%s; no job is asked to leave until it can, and held jobs are released", error)

    def write_late(self) -> None:
        """Write the lines that could not be written when they came up."""
        while self._late:
            self._write(self._late[0])
            self._late.popleft()

    def _line(self, kind: str, fields: dict[str, Any]) -> dict[str, Any]:
        line = {"n": self._count + len(self._late), "t": round(self._clock(), 6), "kind": kind, **fields}
        which = wrong(line)
        if which is not None:
            said = f"the {which} of a line of kind {kind!r} is missing or has a wrong value"
            raise JournalError(f"journal {self.path}: cannot be written: {said}")
        return line

    def _write(self, line: dict[str, Any]) -> None:
        text, total = seal(line, self._total)
        data = text + b"\n"
        try:
            self._take_back()
            self._dirty = True
            self._put(data[1:], self._size + 1)
            self._put(data[:1], self._size)
            os.fsync(self._file)
        except OSError as error:
            with contextlib.suppress(OSError):
                self._take_back()
            raise JournalError(
                f"journal {self.path}: cannot be written: {error.strerror or error}"
            ) from error
        self._dirty, self._total = False, total
        self._size += len(data)
        self._count += 1

    def _take_back(self) -> None:
        """Cut off what was begun and is no line."""
        if self._dirty:
            os.ftruncate(self._file, self._size)
            self._dirty = False

    def _put(self, data: bytes, place: int) -> None:
        while data:
            written = os.pwrite(self._file, data, place)
            data, place = data[written:], place + written

    def check_room(self) -> None:
        """Refuse to begin where the disk could not take what must be written afterwards."""
        self.write_late()
        disk = os.fstatvfs(self._file)
        if disk.f_bavail * disk.f_frsize < _ROOM:
            raise JournalError(f"journal {self.path}: fewer than {_ROOM // 1024} KiB are free on its disk")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
