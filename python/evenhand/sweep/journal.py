"""Points that are done, in a file: a line each, so that a sweep that was killed can be resumed."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from typing import Any

from evenhand.errors import InputError, Problem, printable
from evenhand.files import open_regular

__all__ = ["Journal"]

_FORM = 1


class Journal:
    """A file of finished points: a head with the sweep's fingerprint, then a line a point.

    Parameters
    ----------
    path : str or path-like
        Made if it is not there. A last line that is only half there is cut off.
    fingerprint : str
        Of the sweep.

    Attributes
    ----------
    done : dict of int to outcome
        What is in it.

    Raises
    ------
    InputError
        If it is of another sweep, or no such file.
    """

    def __init__(self, path: str | os.PathLike[str], fingerprint: str) -> None:
        self._path = os.fspath(path)
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
            if text and not _line(head).startswith(text):
                raise self._wrong("format", "is no file of a sweep")
            os.ftruncate(self._file, 0)
            os.lseek(self._file, 0, os.SEEK_SET)
            self._append(head)
            return
        found = _read_line(lines[0])
        if not isinstance(found, dict) or found.get("evenhand_sweep") != _FORM:
            raise self._wrong("format", "is no file of a sweep")
        if found != head:
            raise self._wrong("fingerprint", "is of another sweep: other inputs, points or version")
        for number, line in enumerate(lines[1:], 2):
            row = _read_line(line)
            match row:
                case {"point": int(point), "metrics": dict(cells)}:
                    self.done[point] = {k: math.nan if v is None else v for k, v in cells.items()}
                case {"point": int(point), "refused": str(why)}:
                    self.done[point] = why
                case _:
                    raise self._wrong("format", f"has a line {number} that is none of a sweep")
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
        line = _line(row)
        while line:
            line = line[os.write(self._file, line) :]
        os.fsync(self._file)

    def _wrong(self, rule: str, predicate: str) -> InputError:
        message = printable(f"resume: {self._path} {predicate}")
        return InputError([Problem("sweep", None, None, "resume", rule, printable(self._path), message)])


def _line(row: Mapping[str, Any]) -> bytes:
    return (json.dumps(row) + "\n").encode()


def _read_line(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None
