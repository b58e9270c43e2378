"""What goes in and out of the process: files, standard streams, failures."""

from __future__ import annotations

import io
import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.cli.advice import in_options
from evenhand.display.text import ASCII, UNICODE, Glyphs, clean
from evenhand.errors import EvenhandError
from evenhand.packed import broken, is_packed, unpacked

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenhand.display.terminal import Line
    from evenhand.table import Table

__all__ = [
    "Failure",
    "Talker",
    "close_output",
    "glyphs",
    "label",
    "open_streams",
    "print_csv",
    "print_errors",
    "print_json",
    "print_lines",
    "print_prose",
    "print_text",
    "read_bytes",
    "read_text",
    "reason",
    "room",
    "table_room",
    "wants_color",
]


_COLUMNS, _NARROWEST = 110, 40  # of tables where no width is known; of what can be fitted


class Failure(Exception):
    """What ends a command: lines for standard error. `usage` distinguishes a wrong call from wrong input."""

    def __init__(self, *lines: str, usage: bool = False) -> None:
        super().__init__(*lines)
        self.lines = lines
        self.usage = usage


def label(path: str) -> str:
    """How messages call a file."""
    return "standard input" if path == "-" else clean(path) or "''"


def read_text(path: str) -> str:
    """Read a UTF-8 file, compressed or not, or standard input for ``-``; a byte order mark is dropped."""
    data = read_bytes(path)
    if is_packed(data):
        data = _unpacked(path, data)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        found = f"byte 0x{data[error.start]:02x} at offset {error.start}"
        raise Failure(f"{label(path)}: is not UTF-8 text: {found}") from error


def read_bytes(path: str) -> bytes:
    """Read a file, or standard input for ``-``."""
    if not path:
        raise Failure("'' is no name of a file")
    try:
        return (sys.stdin.buffer.read() if sys.stdin else b"") if path == "-" else Path(path).read_bytes()
    except (OSError, ValueError) as error:
        raise Failure(f"{label(path)}: cannot be read: {reason(error)}") from error


def _unpacked(path: str, data: bytes) -> bytes:
    try:
        return unpacked(io.BytesIO(data)).read()
    except broken() as error:
        said = f"cannot be unpacked: {reason(error)}; the file is damaged or cut short"
        raise Failure(f"{label(path)}: {said}") from error
    except EvenhandError as error:  # a missing extra
        raise Failure(f"{label(path)}: {error}") from error


def reason(error: Exception) -> str:
    """Return what an error of the system says, without its number and path."""
    return clean(getattr(error, "strerror", None) or error)


def print_text(text: str) -> None:
    """Print text; what the terminal's encoding lacks is escaped."""
    _write(text + "\n")


class Talker:
    """Prints text at once, and continues where there is no reader or no room left: for what must not end."""

    def __init__(self) -> None:
        self._lost = False

    def __call__(self, text: str) -> None:
        """Print text."""
        try:
            print_text(text)
            sys.stdout.flush()
        except OSError as error:
            if not self._lost:
                print_errors([f"standard output: cannot be written: {reason(error)}; the command continues"])
            self._lost = True

    def close(self) -> None:
        """Let go of what could not be printed."""
        if self._lost:
            with suppress(OSError, ValueError):
                close_output()


def print_prose(text: str) -> None:
    """Print sentences; where the width is known, they are broken at blanks to fit it."""
    print_lines([[("", line)] for line in text.split("\n")])


def print_lines(lines: Iterable[Line]) -> None:
    """Print lines with their styles, in colours where they are wanted, broken where they are too long."""
    from evenhand.display.terminal import paint, wrapped

    fitting = [part for line in lines for part in wrapped(line, room())]
    print_text(paint(fitting, color=wants_color()).rstrip("\n"))


def print_json(value: Any) -> None:
    """Print JSON in ASCII, so that every name arrives complete and none can control the terminal."""
    _write(json.dumps(value, allow_nan=False) + "\n")


_FORMULA = frozenset("=+-@'\uff1d\uff0b\uff0d\uff20")  # the last four: wide forms of the first


def _csv_cell(value: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula; numbers stay what they are."""
    if not isinstance(value, str | list | dict):
        return value
    text = clean(value)
    return f"'{text}" if text.lstrip()[:1] in _FORMULA else text


def print_csv(table: Table) -> None:
    """Print a table as CSV for people's spreadsheets.

    Control characters in names are escaped, numbers read back exactly. Text that begins like a formula, or
    with an apostrophe, gets an apostrophe before it.
    """
    import csv
    import io

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([_csv_cell(name) for name in table.columns])
    for row in table.rows():
        writer.writerow([_csv_cell(value) for value in row])
    _write(out.getvalue())


def print_errors(lines: Iterable[str]) -> None:
    """Print lines to standard error, each in one piece."""
    try:
        if hasattr(sys.stderr, "reconfigure"):
            sys.stderr.reconfigure(errors="backslashreplace")
        for line in lines:
            print(f"evenhand: {clean(in_options(line))}", file=sys.stderr)
    except OSError:  # no reader is left, or no room
        with suppress(OSError, ValueError):
            close_output(sys.stderr)


def _write(text: str) -> None:
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.stdout.write(text)


def open_streams() -> None:
    """Give a process that was started with closed streams (``>&-``) some that lead nowhere."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - for good


def close_output(stream: Any = None) -> None:
    """Send the rest of the output nowhere, so that the interpreter's last flush does not fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), (stream or sys.stdout).fileno())


def room() -> int | None:
    """Return the columns of the terminal, or those that COLUMNS says; None where neither is there."""
    said = os.environ.get("COLUMNS", "")
    if said.isascii() and said.isdigit() and 0 < int(said) < 10**6:
        return max(int(said), _NARROWEST)
    try:
        found = os.get_terminal_size(sys.stdout.fileno()).columns
    except (AttributeError, ValueError, OSError):
        return None
    return max(found, _NARROWEST) if found else None


def table_room() -> int:
    """Return the columns that a table may have."""
    return room() or _COLUMNS


def glyphs() -> Glyphs:
    """Return the characters that standard output can carry."""
    try:
        "".join(vars(UNICODE).values()).encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return ASCII
    return UNICODE


def wants_color() -> bool:
    """Whether standard output is a terminal that shows colours, and NO_COLOR is not set (no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
