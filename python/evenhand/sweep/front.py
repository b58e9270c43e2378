"""Rows of a sweep that no other row is better than."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.accepted import checked
from evenhand.arguments import expect
from evenhand.errors import InputError, shorten
from evenhand.simulate.given import columns_of, given
from evenhand.table import Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["pareto"]


@checked("pareto")
def pareto(frame: Any, minimize: Sequence[str] = (), maximize: Sequence[str] = ()) -> Table:
    """Return the rows that no other row is at least as good as in everything, and better in something.

    Parameters
    ----------
    frame : Table or frame
        Of a sweep, or any other.
    minimize, maximize : sequence of str
        Columns of numbers. Rows in which one is NaN or null are left out.

    Returns
    -------
    Table
        In the order of the frame; of equal rows all.

    Raises
    ------
    InputError
        If no column is given, or there is none of a name.

    Notes
    -----
    O(rows x rows of the front).

    Examples
    --------
    >>> rows = {"timeout": [10, 30, 60], "starvation": [5.0, 9.0, 20.0], "lost": [3.0, 3.0, 1.0]}
    >>> pareto(rows, minimize=["starvation", "lost"])
    timeout  starvation    lost
         10      5.0000  3.0000
         60     20.0000  1.0000
    """
    columns = columns_of("frame", frame)
    wanted = [*minimize, *maximize]
    for name in wanted:
        expect(name in columns, "pareto", "minimize or maximize", name, f"of {', '.join(columns)}")
    expect(bool(wanted), "pareto", "minimize", minimize, "names of columns")
    cells = np.stack([_numbers(name, columns[name]) for name in wanted], axis=1)
    cells[:, len(minimize) :] *= -1
    known = np.flatnonzero(~np.isnan(cells).any(axis=1))
    # What stands before in this order is never beaten by what stands behind.
    order = known[np.lexsort(cells[known].T[::-1])]
    front: list[int] = []
    for row in order.tolist():
        others = cells[front]
        beaten = (others <= cells[row]).all(axis=1) & (others < cells[row]).any(axis=1)
        if not beaten.any():
            front.append(row)
    rows = np.sort(np.array(front, np.int64))
    return Table({name: given(column[rows]) for name, column in columns.items()})


def _numbers(name: str, column: NDArray[Any]) -> NDArray[np.float64]:
    """Return a column of numbers, null as NaN."""
    cells = [np.nan if cell is None else cell for cell in column.tolist()]
    try:
        if not all(isinstance(cell, int | float) for cell in cells):
            raise TypeError
        return np.array(cells, np.float64)
    except (TypeError, OverflowError):
        said = f"the column {shorten(name)!r} is not of numbers"
        raise InputError.about("pareto", "frame", "type", said) from None
