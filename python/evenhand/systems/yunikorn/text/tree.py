"""A YAML text as a tree that knows its lines: nothing twice, nothing without bounds."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand.building.problems import shorten
from evenhand.config.rows import raise_found
from evenhand.errors import InputError, Problem, require

__all__ = ["FILE", "Found", "Listed", "Mapped", "Text", "Tree", "parse_all"]

#: What problems call the text.
FILE = "queues.yaml"

_MOST = 500_000  # parts that aliases may add up to
_MERGE = "<<"


@dataclass(frozen=True, slots=True)
class Text:
    """A scalar as it is written; an empty one, null or ``~`` without quotes, is None."""

    line: int
    said: str | None
    plain: bool
    block: bool = False


@dataclass(frozen=True, slots=True)
class Listed:
    """A sequence."""

    line: int
    parts: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Mapped:
    """A mapping, with the line of each key."""

    line: int
    parts: Mapping[str, tuple[int, Tree]]


Tree = Text | Listed | Mapped


class Found:
    """Problems, with the line of the text and the queue that they are about."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def add(
        self, line: int, queue: str | None, field: str | None, rule: str, value: object, message: str
    ) -> None:
        """Add what is wrong with a field on a line; ``message`` follows the queue and the field."""
        subject = " of ".join(filter(None, (field, queue)))
        said = f"line {line}: {subject} {message}" if subject else f"line {line}: {message}"
        shown = None if value is None else shorten(value)
        self.problems.append(Problem(FILE, line, queue, field, rule, shown, said))

    def complain(self) -> None:
        """Raise what was found, by line."""
        raise_found(sorted(self.problems, key=lambda problem: problem.row or 0))


class _Reader:
    """Makes a tree of PyYAML's nodes."""

    def __init__(self, yaml: Any, found: Found, before: int) -> None:
        self.yaml, self.found, self.before = yaml, found, before
        self.left = _MOST
        self.above: set[int] = set()

    def read(self, node: Any) -> Tree:
        line = self.line(node)
        self.left -= 1
        if id(node) in self.above or self.left < 0:
            what = "stands within itself" if self.left >= 0 else "make more of it than can be read"
            error = Found()
            error.add(line, None, None, "yaml", None, f"aliases: what they name {what}")
            raise InputError(error.problems)
        if isinstance(node, self.yaml.ScalarNode):
            plain = node.style is None
            empty = plain and node.tag.endswith(":null")
            return Text(line, None if empty else str(node.value), plain, node.style == "|")
        self.above.add(id(node))
        tree: Tree
        if isinstance(node, self.yaml.SequenceNode):
            tree = Listed(line, tuple(self.read(part) for part in node.value))
        else:
            tree = self._mapped(node, line)
        self.above.discard(id(node))
        return tree

    def line(self, node: Any) -> int:
        """Return the line of the whole text on which a node stands."""
        return int(node.start_mark.line) + 1 + self.before

    def _mapped(self, node: Any, line: int) -> Mapped:
        parts: dict[str, tuple[int, Tree]] = {}
        merged: dict[str, tuple[int, Tree]] = {}
        for key, value in node.value:
            at = self.line(key)
            if not isinstance(key, self.yaml.ScalarNode):
                self.found.add(at, None, "key", "type", None, "is a list or mapping; it must be a word")
                continue
            tree = self.read(value)
            name = str(key.value)
            if name == _MERGE and key.style is None:
                for one in tree.parts if isinstance(tree, Listed) else (tree,):
                    if isinstance(one, Mapped):
                        merged = {**one.parts, **merged}
                    else:
                        self.found.add(at, None, _MERGE, "type", None, "merges what is no mapping")
            elif name in parts:
                first = parts[name][0]
                self.found.add(at, None, name, "unique", None, f"appears twice, first on line {first}")
            else:
                parts[name] = (at, tree)
        return Mapped(line, {**merged, **parts})


def _empty(tree: Tree) -> bool:
    return isinstance(tree, Text) and tree.said is None


def parse_all(source: str | os.PathLike[str], found: Found, before: int = 0) -> list[Tree]:
    """Return the trees of the documents of a YAML text."""
    yaml = require("yaml", "yunikorn")
    wrong = Found()
    try:
        text = source if isinstance(source, str) else Path(source).read_text(encoding="utf-8")
        text = text.removeprefix("\ufeff")
        nodes = list(yaml.compose_all(text, Loader=yaml.SafeLoader))
    except UnicodeDecodeError as error:
        wrong.add(1, None, None, "yaml", None, f"the text is no UTF-8: {error.reason}")
        raise InputError(wrong.problems) from error
    except RecursionError as error:
        wrong.add(1, None, None, "yaml", None, "the text is nested too deeply")
        raise InputError(wrong.problems) from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        said = getattr(error, "problem", None) or str(error).split("\n", 1)[0]
        line = before + (1 if mark is None else mark.line + 1)
        wrong.add(line, None, None, "yaml", None, f"this is no YAML: {said}")
        raise InputError(wrong.problems) from error
    reader = _Reader(yaml, found, before)
    trees = [tree for node in nodes if not _empty(tree := reader.read(node))]
    if not trees:
        wrong.add(before + 1, None, None, "required", None, "the text is empty; it must have partitions")
        raise InputError(wrong.problems)
    return trees
