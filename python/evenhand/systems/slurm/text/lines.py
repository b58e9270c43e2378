"""Lines of slurm.conf as Slurm reads them: comments, continuations, included files, pairs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from evenhand.building.problems import shorten
from evenhand.systems.texts import Found

__all__ = ["Line", "lines_of", "pairs_of"]

_PAIR = re.compile(r'\s*([A-Za-z0-9_.]+)\s*[-*+/]?=\s*(?:"([^"]*)"|(\S+))(?=\s|$)')
_INCLUDE = re.compile(r"include\s+(\S+)", re.IGNORECASE)
_CLUSTER_NAME = re.compile(r"^\s*ClusterName\s*=\s*\"?([^\s\"]+)", re.IGNORECASE | re.MULTILINE)
_DEEPEST = 20  # files within each other


@dataclass(frozen=True, slots=True)
class Line:
    """A line that says something."""

    text: str
    number: int
    file: str = ""

    @property
    def place(self) -> str:
        """Return what a message says before its number."""
        return f"{self.file} " if self.file else ""


def lines_of(text: str, found: Found, path: Path | None = None) -> Iterator[Line]:
    """Yield the lines of a text and of the files that it includes."""
    name = _CLUSTER_NAME.search(text)
    yield from _lines(text, found, path, "", name[1].lower() if name else "", 0)


def _lines(text: str, found: Found, path: Path | None, file: str, cluster: str, depth: int) -> Iterator[Line]:
    for line in _joined(text, file):
        match = _INCLUDE.match(line.text)
        if match is None:
            yield line
            continue
        if path is None:
            said = "is not followed in a text: give the path of the file, or that text in its place"
            found.add(line.number, "include", "syntax", shorten(line.text), f"include {said}", line.place)
            continue
        wanted = Path(match[1].replace("%c", cluster))
        places = [path.parent / wanted, path.parent / wanted.name]
        there = next((place for place in places if place.is_file()), None)
        if there is None or depth >= _DEEPEST:
            why = (
                "there is no such file, here or beside this one"
                if there is None
                else "files include each other"
            )
            said = f"include {shorten(str(wanted))} cannot be followed: {why}"
            found.add(line.number, "include", "exists", shorten(str(wanted)), said, line.place)
            continue
        try:
            within = there.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            said = f"include {shorten(str(wanted))} cannot be read: {error.strerror or error}"
            found.add(line.number, "include", "exists", shorten(str(wanted)), said, line.place)
            continue
        yield from _lines(within, found, there, there.name, cluster, depth + 1)


def _joined(text: str, file: str) -> Iterator[Line]:
    begun, number = "", 0
    for place, raw in enumerate(text.splitlines(), 1):
        plain = _uncommented(raw)
        number = number or place
        tail = plain.rstrip()
        slashes = len(tail) - len(tail.rstrip("\\"))
        if slashes % 2:
            begun += tail[:-1]
            continue
        whole, begun = _unescaped(begun + plain).strip(), ""
        if whole:
            yield Line(whole, number, file)
        number = 0
    if whole := _unescaped(begun).strip():
        yield Line(whole, number, file)


def _uncommented(line: str) -> str:
    return re.sub(r"((?<!\\)(?:\\\\)*)#.*", r"\1", line)


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.?)", r"\1", text)


def pairs_of(line: Line, found: Found) -> list[tuple[str, str]]:
    """Return the names and values of a line; what is none is added to the problems."""
    pairs: list[tuple[str, str]] = []
    place = 0
    while line.text[place:].strip():
        match = _PAIR.match(line.text, place)
        if match is None:
            rest = line.text[place:].strip()
            message = f"{shorten(rest)} is no name=value"
            found.add(line.number, rest.split()[0], "syntax", shorten(rest), message, line.place)
            break
        pairs.append((match[1], match[3] if match[2] is None else match[2]))
        place = match.end()
    return pairs
