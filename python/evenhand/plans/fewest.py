"""How far the fewest victims of a step were proved to be the fewest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.diagnostics import CODES, Diagnostic
from evenhand.plans.columns import picked

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from evenhand.model import Snapshot

__all__ = ["fewest_numbers", "spent_budgets"]


def fewest_numbers(columns: Mapping[str, NDArray[Any]], row: int) -> dict[str, Any]:
    """Return what was proved of a decision's step.

    Parameters
    ----------
    columns : mapping
        Of the decisions; with ``minimum_cost`` and its like where victims were to be the fewest.
    row : int
        Of the decision.

    Returns
    -------
    dict
        ``cost``, ``lower_bound`` (no set with fewer makes room), ``proved`` (so none is smaller than this
        one) and ``first`` (nor does one of the same size come first in the order); empty: nothing to prove.
    """
    cost = columns.get("minimum_cost")
    if cost is None or cost[row] < 0:
        return {}
    return {
        "cost": int(cost[row]),
        "lower_bound": int(columns["minimum_lower_bound"][row]),
        "proved": bool(columns["minimum_proved"][row]),
        "first": bool(columns["minimum_first"][row]),
    }


def spent_budgets(
    snapshot: Snapshot, columns: Mapping[str, NDArray[Any]], budget: int
) -> tuple[Diagnostic, ...]:
    """Say where the search for the fewest victims ran out of its budget.

    Parameters
    ----------
    snapshot : Snapshot
    columns : mapping
        Of the decisions.
    budget : int
        Branches that a search may look at.

    Returns
    -------
    tuple of Diagnostic
        At most one.
    """
    if "minimum_cost" not in columns:
        return ()
    searched = columns["minimum_cost"] >= 0
    ended = searched & (columns["minimum_first"] == 0)
    _, rows = np.unique(np.where(ended, columns["step"], -1), return_index=True)
    rows = rows[ended[rows]]
    if len(rows) == 0:
        return ()
    proved = int((columns["minimum_proved"][rows] != 0).sum())
    whom = sorted(set(columns["beneficiary_operation"][rows].tolist()))
    names = picked(snapshot.names("operations"), np.array(whom))
    numbers = {"steps": len(rows), "size_proved": proved, "budget": budget}
    code = "minimum_budget_spent"
    message = f"{CODES[code]} Operations: {', '.join(map(str, names))}."
    return (Diagnostic(code, tuple(name for name in names if name is not None), message, numbers),)
