"""Errors of the library: one base class, and what each error reports.

Expected outcomes are values, never exceptions; what is raised is wrong input
(`InputError`) and a missing optional package (`MissingExtraError`).
"""

from __future__ import annotations

import importlib
import reprlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenhand.table import Table

__all__ = [
    "CertificateError",
    "EvenhandError",
    "InputError",
    "MissingExtraError",
    "NoSuchNameError",
    "NoSuchRowError",
    "Problem",
    "WrongKindError",
    "printable",
    "require",
    "shorten",
]


_repr = reprlib.Repr()
_repr.maxother = 60
_repr.maxlevel = 3


def shorten(value: object) -> str:
    """Return a value as a short text; an object whose repr fails is named by its type."""
    if isinstance(value, str):
        return value if len(value) <= 60 else value[:57] + "..."
    try:
        return _repr.repr(value)
    except Exception:  # also of what is nested too deeply, or of too many digits
        return f"<{type(value).__name__}>"


def printable(text: str) -> str:
    """Escape what a terminal or a line of a log would take for something else than text."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


class EvenhandError(Exception):
    """Base class of all errors that the library raises itself."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with an input.

    Attributes
    ----------
    table : str
        Table of the contract, "root", or "snapshot" for what stands beside the tables.
    row : int or None
        Position in the table as it was given, from 0; None where no single row is to blame.
    name : str, int or None
        Name in that row, if it has a usable one.
    field : str or None
        Dotted name of the field: ``demand.cpu``, ``integral.type``.
    rule : str
        Short stable code of the rule that is broken.
    value : str or None
        The offending value as text, shortened; None if there is none.
    message : str
        A sentence that names row and field, and says what was found and what is expected.

    Notes
    -----
    Whatever names the input has: field, value and message are fit for a terminal or a line of a log; `name`
    is as it was given.
    """

    table: str
    row: int | None
    name: str | int | None
    field: str | None
    rule: str
    value: str | None
    message: str

    def __post_init__(self) -> None:
        for part in ("field", "value", "message"):
            text = getattr(self, part)
            if text is not None:
                object.__setattr__(self, part, printable(text))

    def __str__(self) -> str:
        where = self.table if self.row is None else f"{self.table}[{self.row}]"
        return f"{where}: {self.message} [{self.rule}]"


_SHOWN = 3
"""How many problems of a kind a message has."""


def _alike(problem: Problem) -> tuple[str, str | None, str]:
    return problem.table, problem.field, problem.rule


class InputError(EvenhandError, ValueError):
    """The input is wrong; nothing was built.

    Parameters
    ----------
    problems : iterable of Problem
        At most the first 100, sorted by table and row.
    omitted : int
        How many more were found; there may be others still: a column is left when a thousand of its cells
        are wrong, and so is a table when a thousand of its rows are no objects.

    Examples
    --------
    >>> message = 'weight of the pool "a" is -1; it must be greater than 0'
    >>> print(InputError([Problem("pools", 2, "a", "weight", "positive", "-1", message)]))
    pools[2]: weight of the pool "a" is -1; it must be greater than 0 [positive]
    """

    def __init__(self, problems: Iterable[Problem], omitted: int = 0) -> None:
        self.problems: tuple[Problem, ...] = tuple(problems)
        self.omitted = omitted
        super().__init__(self.problems, omitted)

    @classmethod
    def about(
        cls, table: str, field: str | None, rule: str, message: str, value: str | None = None
    ) -> InputError:
        """Return the error of one problem that is of no row.

        Parameters
        ----------
        table, field, rule, message, value
            As of `Problem`.

        Returns
        -------
        InputError
            Of this class.
        """
        return cls([Problem(table, None, None, field, rule, value, message)])

    def __str__(self) -> str:
        """Return a line a problem; of a rule that a field breaks in many rows, three and how many more."""
        alike = Counter(map(_alike, self.problems))
        seen: Counter[tuple[str, str | None, str]] = Counter()
        lines = []
        for problem in self.problems:
            table, field, rule = kind = _alike(problem)
            seen[kind] += 1
            more = alike[kind] - _SHOWN
            if seen[kind] <= _SHOWN or more == 1:
                lines.append(str(problem))
            if seen[kind] == _SHOWN and more > 1:
                of = "" if field is None else f" of {field}"
                lines.append(f"{table}: {more} more like these{of}; all are in the error's problems [{rule}]")
        if self.omitted:
            lines.append(f"... and at least {self.omitted} more")
        return "\n".join(lines)

    def to_frame(self) -> Table:
        """Return the problems as a table: one row a problem, columns as the attributes of `Problem`."""
        from evenhand.table import Table

        rows = [astuple(problem) for problem in self.problems]
        names = [field.name for field in fields(Problem)]
        columns: dict[str, list[Any]] = {name: [row[i] for row in rows] for i, name in enumerate(names)}
        return Table(columns, title="problems")


class CertificateError(InputError, AssertionError):
    """A certificate is malformed, not of its plan, or proves less than it claims; the field says where."""


class NoSuchNameError(InputError, KeyError):
    """There is nothing of a name; the message says what there is."""


class NoSuchRowError(InputError, IndexError):
    """There are not so many rows."""


class WrongKindError(InputError, TypeError):
    """An argument is of another kind than those that are taken."""


class MissingExtraError(EvenhandError, ImportError):
    """An optional package is not installed; the message names the command that installs it."""


def require(module: str, extra: str) -> ModuleType:
    """Import an optional module.

    Parameters
    ----------
    module : str
        Name to import, such as ``"matplotlib.pyplot"``.
    extra : str
        The extra of this package that installs it.

    Returns
    -------
    module

    Raises
    ------
    MissingExtraError
        If the module's package is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        # A module that is installed but lacks something of its own is not our missing extra.
        if error.name is None or error.name.partition(".")[0] != module.partition(".")[0]:
            raise
        package = module.partition(".")[0]
        message = f'{package} is not installed; pip install "evenhand[{extra}]" installs it'
        raise MissingExtraError(message, name=package) from error
