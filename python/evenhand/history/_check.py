"""Collects what is wrong with an input and raises it as one error."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.errors import InputError, Problem, shorten

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
        text = shorten(repr(value) if isinstance(value, str) else shorten(value))
        subject = field if name is None else f"{field} of {shorten(name)!r}"
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
        """Raise the problems found so far."""
        if self.problems:
            raise InputError(self.problems[:SHOWN], max(0, len(self.problems) - SHOWN))


@contextmanager
def as_written(what: str) -> Iterator[None]:
    """Let plain values that are not as `to_dict` gives them be one error."""
    try:
        yield
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        said = f"this is nothing that to_dict gave: {type(error).__name__} at {shorten(str(error))}"
        raise InputError.about(what, "d", "format", said) from error


def amounts_of(what: str, amounts: Any, names: int, resources: int) -> NDArray[np.float64]:
    """Return a table of amounts, a row a name and a column a resource."""
    table = np.asarray(amounts, dtype=np.float64)
    if table.shape not in ((names, resources), *(((names,),) if resources == 1 else ())):
        said = f"amounts have the shape {table.shape}; it must be ({names}, {resources})"
        raise InputError.about(what, "amounts", "length", said)
    return table.reshape(names, resources)
