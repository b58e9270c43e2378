"""A journal that begins anew: what is still needed stays, the rest is kept under another name."""

from __future__ import annotations

import errno
import math
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.act.book import Book

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["needed", "replace"]

_REMEMBERED = 24 * 3600.0  # seconds that caps look back
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)  # of file systems without any
_OF_STEPS = ("step", "intent", "outcome", "victim", "end")


def needed(lines: list[dict[str, Any]], now: float) -> list[dict[str, Any]]:
    """Return the lines from which a driver continues as if it had all of them.

    These are the first line, all of steps that are open, of which something is owed or lost, or with a line
    of the last 24 hours, and what was settled of their jobs; none is later than the next, as a clock may have
    been set back. The first line holds the totals of all that is left out.

    Steps keep their numbers, and new ones continue from the highest.
    """
    lines = _in_order(lines)
    book = Book()
    recent: set[int] = set()
    for line in lines:
        book.add(line)
        if line["kind"] in _OF_STEPS and line["t"] >= now - _REMEMBERED:
            recent.add(line["step"])
    steps = recent | set(book.open) | {owed.step for owed in book.owed.values()}
    steps |= {lost.step for lost in book.lost.values()}
    jobs: set[str] = set()
    kept = [{**lines[0], "steps": book.steps}]
    still = Book()
    for line in lines[1:]:
        if line["kind"] in _OF_STEPS and line["step"] in steps:
            kept.append(line)
            if line["kind"] == "step":
                jobs.update(victim["job"] for victim in line["victims"])
        elif line["kind"] in ("settled", "found", "command_ended") and line["job"] in jobs:
            kept.append(line)
    for line in kept[1:]:
        still.add(line)
    kept[0]["totals"] = {
        "evictions": book.evicted - still.evicted,
        "ends": _less(book.ends, still.ends),
        "refusals": _less(book.refusals, still.refusals),
    }
    return [{**line, "n": number} for number, line in enumerate(kept)]


def _in_order(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the lines with the times that `Book.set_clock` gives them, as lines that say so may go."""
    found, latest = [], math.inf
    for line in reversed(lines):
        latest = min(latest, line["t"])
        found.append({**line, "t": latest})
    return found[::-1]


def _less(all_of_it: dict[str, int], some: dict[str, int]) -> dict[str, int]:
    left = {word: count - some.get(word, 0) for word, count in all_of_it.items()}
    return {word: count for word, count in left.items() if count}


def replace(path: Path, data: bytes, sync: Callable[[Path], None]) -> Path:
    """Put a new text into the place of a journal, and the journal beside it.

    No link is followed at ``<path>.new``, and nothing but a regular file is replaced there: a killed driver
    may have left one. After an error the journal is as it was.

    At every moment the journal is the complete old one or the complete new one.
    """
    if path.is_symlink():
        raise OSError(errno.ELOOP, "it is a link, and only the file itself can be replaced", str(path))
    fresh = path.with_name(f"{path.name}.new")
    if fresh.is_file() and not fresh.is_symlink():
        fresh.unlink()
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            own, theirs = os.fstat(file.fileno()), path.stat()
            if (own.st_uid, own.st_gid) != (theirs.st_uid, theirs.st_gid):
                os.fchown(file.fileno(), theirs.st_uid, theirs.st_gid)
            os.fchmod(file.fileno(), theirs.st_mode & 0o777)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        old = _beside(path)
        fresh.replace(path)
    except OSError:
        fresh.unlink(missing_ok=True)  # it takes room
        raise
    sync(path.parent)
    return old


def _beside(path: Path) -> Path:
    """Return the first free name beside a journal, by which it is known from now on."""
    number = 1
    while os.path.lexists(old := path.with_name(f"{path.name}.{number}")) and not _same(old, path):
        number += 1
    if not os.path.lexists(old):  # else a driver was killed before the new one was in its place
        _link(path, old)
    return old


def _same(old: Path, path: Path) -> bool:
    one, other = old.lstat(), path.lstat()
    return (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)


def _link(path: Path, old: Path) -> None:
    try:
        os.link(path, old)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        _copy(path, old)


def _copy(path: Path, old: Path) -> None:
    """Copy a journal, completely before it changes, and readable for no other user at any moment."""
    descriptor = os.open(old, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(path.read_bytes())
            file.flush()
            shutil.copystat(path, old)
            os.fsync(file.fileno())
    except OSError:
        old.unlink(missing_ok=True)
        raise
