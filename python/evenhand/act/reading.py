"""Reading a journal: every line as it was written, or one clear message."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from evenhand.act.chain import unseal
from evenhand.act.lines import wrong
from evenhand.errors import EvenhandError
from evenhand.files import open_regular

__all__ = ["SCHEMA", "JournalError", "Read", "read", "read_bytes", "read_text"]

SCHEMA = "evenhand/journal/2"
PLAIN = "evenhand/journal/1"  # its first lines, or all, have no checksums


class JournalError(EvenhandError):
    """The journal cannot be read or written; what needs it does nothing."""


def read(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Return the lines of a journal: ``n`` (from 0), ``t`` (seconds since 1970), ``kind`` and its fields."""
    return read_text(path, read_bytes(path)).lines


#: How the first line of a journal begins: what does not is another file, of which nothing is cut off.
_FIRST = (b'{"sum": ', b'{"n": 0')


@dataclass(slots=True)
class Read:
    """Lines of a journal, the checksum of the last, and how many bytes they are.

    ``begun`` says whether the last line's first byte is missing: it was being written, or is damaged.
    """

    lines: list[dict[str, Any]] = field(default_factory=list)
    total: bytes = b""
    before: bytes = b""  # checksum of the last line but one
    start: int = 0  # of the last line
    size: int = 0
    sealed: bool = False
    begun: bool = False

    def take(self, text: bytes, path: str | os.PathLike[str]) -> None:
        """Read one more line; `JournalError` if it is none, or not the next one."""
        number = len(self.lines)
        where = f"journal {path}: line {number + 1}"
        try:
            line, total, whole = unseal(text, self.total, plain=not self.sealed)
        except ValueError as error:
            raise JournalError(f"{where} is not a line of a journal") from error
        kind, n, schema = line.get("kind"), line.get("n"), line.get("schema")
        if kind is None or n is None:
            raise JournalError(f"{where} is not a line of a journal")
        if number == 0:
            if kind != "journal" or schema not in (SCHEMA, PLAIN):
                found = schema if kind == "journal" else kind
                raise JournalError(f"journal {path}: is of {found!r}; this version reads {SCHEMA!r}")
            self.sealed = schema == SCHEMA
            whole = whole and self.sealed == text.startswith(b'{"sum"')
        if n != number:
            raise JournalError(f"{where} says that it is number {n}: lines are missing or duplicated")
        if not whole:
            raise JournalError(
                f"{where}, or one before it, is not as it was written: its checksum does not fit. Nothing "
                "that the journal says can be relied on: move it away, and release by hand the jobs that "
                "were requeued and are held"
            )
        which = wrong(line)
        if which is not None:
            raise JournalError(
                f"{where} is not a line of a journal: its {which} is missing or has a wrong value"
            )
        self.sealed = self.sealed or text.startswith(b'{"sum"')
        self.lines.append(line)
        self.before, self.total = self.total, total
        self.start, self.size = self.size, self.size + len(text) + 1


def _alike(text: bytes, begin: bytes) -> bool:
    """Return whether a text begins so, as far as it goes."""
    return text[: len(begin)] == begin[: len(text)]


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Return all bytes of a journal, which is a regular file; `JournalError` if they cannot be read."""
    try:
        with os.fdopen(open_regular(path, os.O_RDONLY), "rb") as file:
            return file.read()
    except OSError as error:
        raise JournalError(f"journal {path}: cannot be read: {error.strerror or error}") from error


def read_text(path: str | os.PathLike[str], data: bytes, *, torn: bool = False) -> Read:
    """Return what a journal says.

    A last line that begins with NUL never was (`Journal.append`), unless all the rest of it is there.
    """
    found = Read()
    *whole, rest = data.split(b"\n")
    last = whole.pop() if whole and whole[-1][:1] == b"\0" and not rest else None
    for text in whole:
        found.take(text, path)
    if last is not None and last[1:2] not in (b"", b"\0"):
        # The next byte to be written, or a damaged one; what a line says holds also if no action followed it.
        found.take(b"{" + last[1:], path)
        found.begun = True
    if not found.lines and rest[:1] != b"\0" and not any(_alike(rest, first) for first in _FIRST):
        raise JournalError(f"journal {path}: is not a journal")
    if rest and rest[:1] != b"\0" and not torn:
        raise JournalError(
            f"journal {path}: line {len(whole) + 1} is torn: its end is missing, as after damage to "
            "the disk. Look whether a job is held that no line before it names, then cut it off with "
            "`evenhand journal --repair FILE`"
        )
    return found
