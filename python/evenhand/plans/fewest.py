"""What there is to say of searches for the fewest victims, or for those that cost least."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.config.costs import MOST_LOST_WORK
from evenhand.diagnostics import CODES, Diagnostic
from evenhand.plans.columns import picked

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from evenhand.model import Snapshot

__all__ = ["costs_in_vain", "spent_budgets"]


def spent_budgets(
    snapshot: Snapshot, columns: Mapping[str, NDArray[Any]], budget: int
) -> tuple[Diagnostic, ...]:
    """Say where the search for the fewest victims ran out of budget, or costs were too high to prove."""
    if "minimum_cost" not in columns:
        return ()
    spent = columns["minimum_spent"] != 0
    high = ~spent & (columns["minimum_proved"] == 0) & (columns["minimum_cost"] >= MOST_LOST_WORK)
    found = []
    for code, where in (("minimum_budget_spent", spent), ("victim_cost_limit", high)):
        _, rows = np.unique(np.where(where, columns["step"], -1), return_index=True)
        rows = rows[where[rows]]
        if len(rows) == 0:
            continue
        numbers: dict[str, Any] = {"steps": len(rows)}
        if code == "minimum_budget_spent":
            numbers["size_proved"] = int((columns["minimum_proved"][rows] != 0).sum())
            numbers["budget"] = budget
        else:
            numbers["most"] = MOST_LOST_WORK
        beneficiary = sorted(set(columns["beneficiary_operation"][rows].tolist()))
        names = picked(snapshot.names("operations"), np.array(beneficiary))
        message = f"{CODES[code]} Operations: {', '.join(map(str, names))}."
        known = tuple(name for name in names if name is not None)
        found.append(Diagnostic(code, known, message, numbers))
    return tuple(found)


def costs_in_vain(snapshot: Snapshot, settings: Any) -> tuple[Diagnostic, ...]:
    """Say if rows' costs are not looked at, or are to be looked at and there are none."""
    kind = getattr(settings, "victim_cost", None)
    if kind is None:
        return ()
    rows = [row for row, own in snapshot.settings("operations").items() if "preemption_cost" in own]
    asked = kind == "given" and settings.victim_selection == "minimum"
    if asked == bool(rows):
        return ()
    code = "no_costs_given" if asked else "costs_not_read"
    return (Diagnostic(code, (), CODES[code], {} if asked else {"operations": len(rows)}),)
