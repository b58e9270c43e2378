"""Points that are done, in a file: a line each, so that a sweep that was killed can be resumed.

Each line ends with a digest of itself and of the sweep, so that what is read is what was written.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping
from typing import Any

from evenhand.errors import InputError, Problem, printable
from evenhand.files import digest_of, open_regular

__all__ = ["Journal"]

_FORM = 2
_LINE = re.compile(rb'({.*), "digest": "([0-9a-f]{32})"}')


class Journal:
    """A file of finished points: a head with the sweep's fingerprint, then a line a point."""

    def __init__(self, path: str | os.PathLike[str], fingerprint: str) -> None:
        self._path = os.fspath(path)
        self._fingerprint = fingerprint
        self._file = open_regular(path, os.O_RDWR | os.O_CREAT)
        self.done: dict[int, Any] = {}
        try:
            self._read(fingerprint)
        except BaseException:
            self.close()
            raise

    def _read(self, fingerprint: str) -> None:
        with os.fdopen(os.dup(self._file), "rb") as file:
            file.seek(0)
            text = file.read()
        whole = text.rfind(b"\n") + 1
        head = {"evenhand_sweep": _FORM, "fingerprint": fingerprint}
        lines = text[:whole].splitlines()
        if not lines:
            if text and not self._line(head).startswith(text):
                raise self._wrong("format", "is no file of a sweep")
            os.ftruncate(self._file, 0)
            os.lseek(self._file, 0, os.SEEK_SET)
            self._append(head)
            return
        if lines[0] + b"\n" != self._line(head):
            found = _parsed(lines[0])
            if not isinstance(found, dict) or "evenhand_sweep" not in found:
                raise self._wrong("format", "is no file of a sweep")
            if found.get("evenhand_sweep") != _FORM:
                raise self._wrong(
                    "format", "is a file of a sweep in another form, which this version cannot read"
                )
            if found.get("fingerprint") != fingerprint:
                raise self._wrong("fingerprint", "is of another sweep: other inputs, points or version")
            raise self._wrong("digest", "has a line 1 that is not as it was written")
        for number, line in enumerate(lines[1:], 2):
            match self._row(line):
                case {"point": int(point), "metrics": dict(cells)}:
                    self.done[point] = {k: math.nan if v is None else v for k, v in cells.items()}
                case {"point": int(point), "refused": str(why)}:
                    self.done[point] = why
                case _:
                    raise self._wrong("digest", f"has a line {number} that is not as it was written")
        os.ftruncate(self._file, whole)
        os.lseek(self._file, whole, os.SEEK_SET)

    def add(self, point: int, outcome: Mapping[str, float] | str) -> None:
        """Write down what came of a point; it is on the disk when this returns."""
        if isinstance(outcome, str):
            self._append({"point": point, "refused": outcome})
        else:
            cells = {name: None if value != value else value for name, value in outcome.items()}
            self._append({"point": point, "metrics": cells})
        self.done[point] = outcome

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def _append(self, row: Mapping[str, Any]) -> None:
        line = self._line(row)
        while line:
            line = line[os.write(self._file, line) :]
        os.fsync(self._file)

    def _line(self, row: Mapping[str, Any]) -> bytes:
        text = json.dumps(row)[:-1]
        return f'{text}, "digest": "{digest_of(self._fingerprint, text)}"}}\n'.encode()

    def _row(self, line: bytes) -> Any:
        """Return what a line says; None if it is not as it was written."""
        parts = _LINE.fullmatch(line)
        if parts is None or digest_of(self._fingerprint, parts[1]).encode() != parts[2]:
            return None
        return _parsed(parts[1] + b"}")

    def _wrong(self, rule: str, predicate: str) -> InputError:
        message = printable(f"resume: {self._path} {predicate}")
        return InputError([Problem("sweep", None, None, "resume", rule, printable(self._path), message)])


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None
