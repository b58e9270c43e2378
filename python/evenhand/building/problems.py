"""Collects what is wrong with an input, and makes one error of it."""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from evenhand import fields
from evenhand.errors import InputError, Problem

KEPT = 100

_TABLE_PLACE = {name: place for place, name in enumerate(["snapshot", *fields.TABLES])}

_repr = reprlib.Repr()
_repr.maxstring = _repr.maxother = 60
_repr.maxlevel = 3

Name = str | int | None


def shorten(value: object) -> str:
    """Return a value as a short text; objects whose repr fails are named by their type."""
    try:
        return _repr.repr(value)
    except Exception:
        return f"<{type(value).__name__}>"


def kind_of(value: object) -> str:
    """Say in the words of JSON what sort of value this is."""
    match value:
        case None:
            return "null"
        case bool():
            return "a flag"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case Mapping():
            return "an object"
        case list() | tuple():
            return "a list"
        case _:
            return f"a {type(value).__name__}"


def nearest(name: object, known: Iterable[str]) -> str:
    """Return '; did you mean "x"?' for the nearest known name, or nothing."""
    if not isinstance(name, str) or len(name) > 100:
        return ""
    found = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f'; did you mean "{found[0]}"?' if found else ""


class Report:
    """The problems of one input.

    A column reports its rows in ascending order, so keeping the first
    `KEPT` of every column keeps the first `KEPT` of all.
    """

    def __init__(self) -> None:
        self._found: dict[tuple[str, str | None, Name], list[Problem]] = {}
        self._count = 0
        self._rows: set[tuple[str, int]] = set()
        self.names: dict[str, Sequence[Any]] = {}
        self.unusable = False
        """Set where what was found leaves nothing that the core could look at."""

    def __bool__(self) -> bool:
        return self._count > 0

    def add(
        self,
        table: str,
        row: int | None,
        field: str | None,
        rule: str,
        message: str,
        value: object = None,
        *,
        name: Name = None,
    ) -> None:
        """Add a problem; `value` None means that there is none to show."""
        self._count += 1
        if row is not None:
            self._rows.add((table, row))
        kept = self._found.setdefault((table, field, name), [])
        if len(kept) < KEPT:
            text = None if value is None else shorten(value)
            kept.append(Problem(table, row, name, field, rule, text, message))

    def fail(self, field: str | None, rule: str, message: str, value: object = None) -> None:
        """Add a problem of the whole snapshot after which the core is not asked."""
        self.unusable = True
        self.add("snapshot", None, field, rule, message, value)

    def column(self, table: str, field: str) -> Callable[[int | None, str, str, object], None]:
        """Return a function (row, rule, message, value) that reports for one column."""

        def report(row: int | None, rule: str, message: str, value: object = None) -> None:
            self.add(table, None if table == "root" else row, field, rule, message, value)

        return report

    def has(self, table: str, field: str | None = None) -> bool:
        """Tell whether anything was found in a table, or in a column of it."""
        return any(t == table and (field is None or f == field) for t, f, _ in self._found)

    def error(self, total: int | None = None) -> InputError:
        """Return the error: the first problems by table, row and field, with the rows' names."""
        problems = sorted((p for kept in self._found.values() for p in kept), key=_place)[:KEPT]
        count = self._count if total is None else total
        return InputError((self._named(p) for p in problems), count - len(problems))

    def _named(self, problem: Problem) -> Problem:
        names = self.names.get(problem.table)
        if problem.name is not None or problem.row is None or names is None or problem.row >= len(names):
            return problem
        name = names[problem.row]
        if type(name) is not str and type(name) is not int:
            return problem
        p = problem
        return Problem(p.table, p.row, name, p.field, p.rule, p.value, p.message)

    def raise_if_any(self) -> None:
        """Raise `InputError` if anything was found."""
        if self:
            raise self.error()


def _place(problem: Problem) -> tuple[int, int, str]:
    table = _TABLE_PLACE.get(problem.table, len(_TABLE_PLACE))
    return table, -1 if problem.row is None else problem.row, problem.field or ""
