"""Reading what commands are given: snapshots and states, and what is wrong with them as lines."""

from __future__ import annotations

import re
import tempfile
import tomllib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.cli.streams import Failure, label, read_bytes, read_text, reason
from evenhand.errors import InputError
from evenhand.files import replace_files

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from evenhand.model import Snapshot
    from evenhand.state import State

__all__ = [
    "lines_of",
    "on_disk",
    "read_state",
    "read_toml",
    "snapshot_of",
    "toml_of",
    "write_files",
]


#: What is wrong with a text that is no TOML, by how the words of Python's parser begin.
_NOT_TOML = {
    "Cannot|Duplicate": "sets a name that is set before",
    "Expected '='": "should be a name with = and a value behind it",
    "Expected '\\]|Unclosed": "should be a closing bracket",
    "Expected newline": "should be the end of the line",
    "Unterminated|Illegal character '\\\\n'": "should be the closing quote of a text",
    "Invalid value": "should be a value: a number, true, false, or a text in quotes",
    "Invalid date": "should be a date",
    "Unescaped|Escaped|Invalid hex": "is a backslash that stands for no character",
    "Illegal|Found": "is a character that may not stand there",
}


def read_toml(path: str) -> dict[str, Any]:
    """Read settings."""
    return toml_of(path, read_text(path))


def toml_of(path: str, text: str) -> dict[str, Any]:
    """Return the settings in the text of a file."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        if text.lstrip().startswith("{"):
            said = "is JSON, not TOML: settings are lines such as NAME = VALUE, in tables [TABLE]"
            raise Failure(f"{label(path)}: {said}") from error
        known = [said for begin, said in _NOT_TOML.items() if re.match(begin, str(error))]
        place = re.search(r"\(at (line \d+, column \d+|end of document)\)$", str(error))
        where = place[1].replace("end of document", "the end") if place else "it"
        said = known[0] if known else "should be a line such as NAME = VALUE or [TABLE]"
        raise Failure(f"{label(path)}: is not TOML: {where} {said}") from error


def snapshot_of(args: argparse.Namespace, text: str) -> Snapshot:
    """Return the snapshot in the text of a file; what is wrong with it is raised as `InputError`."""
    from evenhand.model import Snapshot

    return Snapshot.from_json(text, order=args.order, rounding=args.rounding)


def read_state(path: str | None) -> State | None:
    """Read a state if there is one."""
    if path is None:
        return None
    from evenhand.state import State

    try:
        return State.load(path)
    except FileNotFoundError:
        return None
    except InputError as error:
        raise Failure(*lines_of(path, error)) from error
    except (OSError, ValueError) as error:
        raise Failure(f"{label(path)}: cannot be read: {reason(error)}") from error


@contextmanager
def on_disk(path: str) -> Iterator[str]:
    """Hand out the path of a file; what comes from standard input is kept in one meanwhile."""
    if path != "-":
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        name = str(Path(folder, "standard input"))
        Path(name).write_bytes(read_bytes(path))
        yield name


def write_files(contents: Mapping[str, str | bytes]) -> None:
    """Replace files, all of them or none."""
    try:
        replace_files(contents.items())
    except OSError as error:
        path = error.filename if error.filename in contents else " and ".join(contents)
        raise Failure(f"{label(path)}: cannot be written: {reason(error)}") from error


def lines_of(path: str, error: InputError) -> list[str]:
    """Return a line a problem, each with the file that has it."""
    lines = [f"{label(path)}: {problem}" for problem in error.problems]
    return lines + ([f"{label(path)}: at least {error.omitted:,} more problems"] if error.omitted else [])
