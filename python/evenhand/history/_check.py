"""Collects what is wrong with an input and raises it as one error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.errors import InputError, Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

SHOWN = 100
"""Problems that an error lists; it counts the rest."""


class Checks:
    """Problems of one table; `done` raises them, if there are any."""

    def __init__(self, table: str) -> None:
        self.table = table
        self.problems: list[Problem] = []

    def add(
        self, row: int | None, name: str | int | None, field: str, rule: str, value: Any, message: str
    ) -> None:
        """Note one problem; the value is shown in the sentence."""
        shown = repr(value)
        text = shown if len(shown) <= 60 else shown[:57] + "..."
        subject = field if name is None else f"{field} of {name!r}"
        sentence = f"{subject}: {message}, found {text}"
        self.problems.append(Problem(self.table, row, name, field, rule, text, sentence))

    def numbers(
        self,
        values: NDArray[np.float64],
        field: str,
        names: Sequence[str | int] | None = None,
        *,
        minimum: float | None = None,
        maximum: float | None = None,
        above: float | None = None,
    ) -> None:
        """Finite numbers within bounds; a matrix is checked by row."""
        wanted = "expected a finite number"
        good = np.isfinite(values)
        if minimum is not None:
            good &= values >= minimum
            wanted += f" of at least {minimum:g}"
        if above is not None:
            good &= values > above
            wanted += f" above {above:g}"
        if maximum is not None:
            good &= values <= maximum
            wanted += f"{'' if minimum is None and above is None else ' and'} of at most {maximum:g}"
        for at in np.argwhere(~good):
            row = int(at[0]) if len(at) else None
            name = names[row] if names is not None and row is not None else None
            value = float(values[tuple(at)])
            rule = "finite" if not np.isfinite(value) else "range"
            self.add(row, name, field, rule, value, wanted)

    def done(self) -> None:
        """Raise the problems found so far.

        Raises
        ------
        InputError
            With at most the first 100 of them.
        """
        if self.problems:
            raise InputError(self.problems[:SHOWN], max(0, len(self.problems) - SHOWN))
