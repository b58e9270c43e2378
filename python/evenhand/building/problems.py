"""Collects what is wrong with an input, and makes one error of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, time
from typing import Any

import numpy as np

from evenhand import fields
from evenhand.errors import InputError, Problem, printable
from evenhand.errors import shorten as shorten  # noqa: PLC0414 - says that it is handed on

#: So many problems an error has.
KEPT = 100

#: So many problems of one column are counted, or rows that are no objects of one table; then it is left.
COUNTED = 1000

#: Begins the name that a row gets in the place of an unusable one.
STAND_IN = "\N{REPLACEMENT CHARACTER}row "

_SINGLE = ("root", "snapshot")

_PLACES = {name: place for place, name in enumerate(["snapshot", *fields.TABLES])}

# Rules that look at one cell, or at names only. All others tie rows together: beside a problem in a table
# that they read, what they find may be a mere consequence.
_LOCAL_RULES = frozenset(
    (
        *("choice", "finite", "integer", "length", "non_negative", "overflow", "positive"),
        *("quantum", "range", "required", "scope", "unique", "utf8"),
    )
)

#: So much of a name and of what may be meant by it is the same; with less, words alone are shared.
_ALIKE = 0.7

#: Among more words than these the nearest is not looked for: it takes a tenth of a second for a thousand.
_COMPARED = 5000

Name = str | int | None
Predicate = str | Callable[[], str]


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
        case datetime():
            return "a date and time"
        case date():
            return "a date"
        case time():
            return "a time of day"
        case _:
            return f"a Python {type(value).__name__}"


def told(value: object) -> str:
    """Return a value as files write it, shortened; of what has parts, and of what no file has, its kind."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    if isinstance(value, str):
        return repr(shorten(value))
    return shorten(value) if isinstance(value, int | float) else kind_of(value)


def nearest(name: object, known: Iterable[object]) -> str:
    """Return '; did you mean "x"?' for the nearest known name, or nothing."""
    found = nearest_of(name, known)
    return "" if found is None else f'; did you mean "{printable(found)}"?'


def nearest_of(name: object, known: Iterable[object]) -> str | None:
    """Return the known name that is meant: with a slip, in other letters or cut off; None if none is."""
    if not isinstance(name, str) or not name.strip() or len(name) > 100:
        return None
    import difflib

    words = {str(word).casefold(): str(word) for word in known}
    wanted = name.strip().casefold()
    if len(words) > _COMPARED:
        return words.get(wanted)
    if found := difflib.get_close_matches(wanted, list(words), n=1, cutoff=_ALIKE):
        return words[found[0]]
    begun = [word for word in words if (word.startswith(wanted) and len(wanted) > 1) or wanted[:-1] == word]
    return words[begun[0]] if len(begun) == 1 else None


class Report:
    """The problems of one input.

    Every problem's message is said as a predicate ("is -1; it must not be
    negative"); its subject is added when the names of all rows are known. A
    column reports its rows in ascending order, so keeping the first `KEPT`
    of every column keeps the first `KEPT` of all.
    """

    def __init__(self) -> None:
        self.names: dict[str, Sequence[Any]] = {}
        self.unsure: set[str] = set()
        self.unusable = False
        self._found: dict[tuple[str, str | None], list[tuple[Problem, Predicate]]] = {}
        self._counts: dict[tuple[str, str | None], int] = {}
        self._cells: set[tuple[str, int | None, str | None]] = set()
        self._rows: set[tuple[str, int | None]] = set()
        self._count = 0

    def __bool__(self) -> bool:
        return self._count > 0

    def add(
        self,
        table: str,
        row: int | None,
        field: str | None,
        rule: str,
        predicate: Predicate,
        value: object = None,
    ) -> None:
        """Add a problem, unless one of the same cell or column is known; `value` None: none to show.

        A predicate that is a function is made when it is shown.
        """
        row = None if table in _SINGLE else row
        if not self._cells.isdisjoint(((table, row, field), (table, None, field))):
            return
        self._count += 1
        column = (table, field)
        count = self._counts[column] = self._counts.get(column, 0) + 1
        self.unusable |= count == COUNTED
        self._cells.add((table, row, field))
        self._rows.add((table, row))
        if count <= KEPT:
            text = None if value is None else shorten(value)
            self._found.setdefault(column, []).append(
                (Problem(table, row, None, field, rule, text, ""), predicate)
            )

    def fail(self, table: str, field: str | None, rule: str, predicate: str, value: object = None) -> None:
        """Add a problem of a whole table, or of the snapshot, after which the core is not asked."""
        self.unusable = True
        self.add(table, None, field, rule, predicate, value)

    def column(self, table: str, field: str) -> Callable[[int | None, str, Predicate, object], None]:
        """Return a function (row, rule, predicate, value) that reports for one column."""

        def report(row: int | None, rule: str, predicate: Predicate, value: object = None) -> None:
            self.add(table, row, field, rule, predicate, value)

        return report

    def has_row(self, table: str, row: int | None) -> bool:
        """Tell whether anything was found in a row."""
        return (table, row) in self._rows

    def error(self) -> InputError:
        """Return the error: the first problems by table, row and field, as sentences."""
        every = (found for kept in self._found.values() for found in kept)
        problems = sorted(every, key=lambda found: _place(found[0]))[:KEPT]
        return InputError([self._sentence(*found) for found in problems], self._count - len(problems))

    def _sentence(self, problem: Problem, predicate: Predicate) -> Problem:
        name = self._name(problem.table, problem.row)
        row = _label(problem.table, problem.row, name)
        subject = " of ".join(part for part in (problem.field, row) if part)
        said = predicate if isinstance(predicate, str) else predicate()
        return _shown(replace(problem, name=name, message=f"{subject or 'the snapshot'} {said}"))

    def _name(self, table: str, row: int | None) -> Name:
        names = self.names.get(table)
        if names is None or row is None or row >= len(names) or not hasattr(names, "__getitem__"):
            return None
        name = names[row]
        name = name.item() if isinstance(name, np.generic) else name
        return name if (type(name) is str and not name.startswith(STAND_IN)) or type(name) is int else None

    def with_core(self, found: Iterable[tuple[Any, ...]], total: int) -> InputError:
        """Return the error that joins what the core found to what was found before it was asked.

        Left out is what the core says of cells that are reported already, and what can be a consequence
        of them: rules that tie rows together, and references into tables whose names are in doubt.
        """
        own = self.error()
        seen = [self._of_core(Problem(*p)) for p in found]
        core = [p for p in _without_echoes(seen) if not self or self._independent(p)]
        problems = sorted([*own.problems, *core], key=_place)[:KEPT]
        # Of the core's problems beyond those that it kept nothing is known but their number.
        count = self._count + len(core) + (0 if self else total - len(seen))
        return InputError(problems, count - len(problems))

    def _independent(self, p: Problem) -> bool:
        if self.has_row(p.table, p.row) or self.has_row(p.table, None):
            return False
        if p.rule == "exists" and p.field is not None:
            return fields.TABLES[p.table][p.field.removesuffix("_index")].target not in self.unsure
        return p.rule in _LOCAL_RULES

    def _of_core(self, p: Problem) -> Problem:
        row = None if p.row is None or p.row < 0 or p.table in _SINGLE else p.row
        field = p.field
        if p.table == "resources" and field is not None and field.startswith("capacity."):
            # The core sees one row of capacities; for people each belongs to its resource.
            row, field = list(self.names["resources"]).index(field[9:]), "capacity"
        name = self._name(p.table, row)
        name = (p.name or None) if name is None else name
        return _shown(replace(p, row=row, field=field, name=name, value=p.value or None))


def _without_echoes(problems: list[Problem]) -> list[Problem]:
    """Leave out sums that are too large only because a part of them is."""
    large = {(p.table, p.row, p.field) for p in problems if p.rule == "overflow"}
    parts = {table for table, *_ in large} & {"allocations", "requests"}
    fields_of_rows = {(table, field) for table, row, field in large if row is not None}

    def echo(p: Problem) -> bool:
        of_parts = (
            bool(parts) and p.table == "operations" and (p.field or "").startswith(("demand.", "usage."))
        )
        return p.rule == "overflow" and (of_parts or (p.row is None and (p.table, p.field) in fields_of_rows))

    return [p for p in problems if not echo(p)]


def _shown(p: Problem) -> Problem:
    field, value = (text and printable(text) for text in (p.field, p.value))
    return replace(p, field=field, value=value, message=printable(p.message))


def _label(table: str, row: int | None, name: Name) -> str:
    if table == "snapshot":
        return ""
    if table == "root":
        return "the root"
    if row is None:
        return f"the {table}"
    if name is None:
        return f"row {row} of the {table}"
    return f'the {table.removesuffix("s")} "{shorten(name)}"'


def _place(problem: Problem) -> tuple[int, int, str]:
    table = _PLACES.get(problem.table, len(_PLACES))
    return table, -1 if problem.row is None else problem.row, problem.field or ""
