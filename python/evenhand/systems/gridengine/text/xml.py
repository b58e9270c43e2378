"""XML as Grid Engine's commands write it: no entities, no bombs, one clear error."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final
from xml.parsers import expat

from evenhand.building.jsontable import resting_collector
from evenhand.building.problems import shorten
from evenhand.systems.texts import Found

__all__ = ["Element", "parse"]

#: Characters that XML forbids: the environment of a user's job may have them, and ``qstat`` writes them.
_FORBIDDEN: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_STAND_IN: Final = "\N{REPLACEMENT CHARACTER}"
#: A restarted qmaster has ``qstat -j`` call the tasks of a job by their number: ``<JATASK:     366.>``.
_NUMBERED: Final = re.compile(r"<(/?)(JATASK):[ \t]*[\d.]*[ \t]*>")
_DEEPEST: Final = 32


@dataclass(slots=True)
class Element:
    """An element: its tag, the line on which it begins, attributes, text and children."""

    tag: str
    line: int
    attributes: Mapping[str, str]
    text: str = ""
    children: list[Element] = field(default_factory=list)

    def all(self, *path: str) -> Iterator[Element]:
        """Yield the elements below at a path of tags, in order."""
        first, *rest = path
        for child in self.children:
            if child.tag == first:
                yield from child.all(*rest) if rest else (child,)

    def first(self, *path: str) -> Element | None:
        """Return the first element at a path, or None."""
        return next(self.all(*path), None)

    def said(self, *path: str) -> str:
        """Return the text of the first element at a path; empty if there is none."""
        found = self.first(*path)
        return "" if found is None else found.text


@resting_collector()
def parse(text: str, command: str, *roots: str) -> Element:
    """Return the root element of a text."""
    reader = _Reader(command)
    reader.read(_NUMBERED.sub(r"<\1\2>", _FORBIDDEN.sub(_STAND_IN, text)))
    root = reader.root
    if root is None or root.tag not in roots:
        name = "nothing" if root is None else f"<{root.tag[:40]}>"
        reader.refuse("root", None if root is None else 1, f"this is {name}, not <{'> or <'.join(roots)}>")
    assert root is not None  # noqa: S101 - else it was refused
    return root


class _Reader:
    """Makes elements of what expat finds."""

    def __init__(self, command: str) -> None:
        self.command = command
        self.root: Element | None = None
        self._open: list[Element] = []
        self._parts: list[list[str]] = []

    def read(self, text: str) -> None:
        parser = expat.ParserCreate("utf-8")
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = lambda *_: self._declares(parser)
        parser.EntityDeclHandler = lambda *_: self._declares(parser)
        parser.StartElementHandler = lambda tag, given: self._start(parser, tag, given)
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._data
        try:
            parser.Parse(text.encode("utf-8"), True)
        except expat.ExpatError as error:
            said = expat.ErrorString(error.code)
            cut = " (cut off?)" if self._open or not text.strip() else ""
            hint = ""
            if text.strip() and not text.lstrip().startswith("<"):
                word = shorten(text.split(maxsplit=1)[0])
                hint = f"; it begins with {word}: is it the text of {self.command}?"
            self.refuse("xml", error.lineno, f"this is no well-formed XML: {said}{cut}{hint}")

    def refuse(self, rule: str, line: int | None, message: str) -> None:
        found = Found(self.command)
        found.add(line, None, rule, None, message)
        found.complain()

    def _declares(self, parser: expat.XMLParserType) -> None:
        line = parser.CurrentLineNumber
        self.refuse("xml", line, "the text declares a document type or entities; Grid Engine writes none")

    def _start(self, parser: expat.XMLParserType, tag: str, given: dict[str, str]) -> None:
        if len(self._open) >= _DEEPEST:
            self.refuse("xml", parser.CurrentLineNumber, f"elements are nested more than {_DEEPEST} deep")
        element = Element(tag, parser.CurrentLineNumber, given)
        if self._open:
            self._open[-1].children.append(element)
        else:
            self.root = element
        self._open.append(element)
        self._parts.append([])

    def _end(self, _: str) -> None:
        self._open.pop().text = "".join(self._parts.pop()).strip()

    def _data(self, data: str) -> None:
        self._parts[-1].append(data)
