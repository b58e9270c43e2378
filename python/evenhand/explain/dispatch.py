"""From a name to its explanation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenhand.accepted import kind_of_annotation, taken
from evenhand.building.problems import nearest
from evenhand.errors import InputError, NoSuchNameError, shorten
from evenhand.explain.decided import explain_resumed, explain_start, explain_victim, rows_of
from evenhand.explain.facts import Facts
from evenhand.explain.refused import explain_spared, explain_waiting
from evenhand.explain.standing import explain_element, explain_node
from evenhand.plans.columns import rows_by_name

if TYPE_CHECKING:
    from evenhand.explain.explanation import Explanation
    from evenhand.plans.plan import Plan

__all__ = ["TABLES", "find", "why", "why_not"]

#: Where a name is looked for, in this order.
TABLES = ("allocations", "requests", "operations", "pools", "nodes")
_NAMED = 5


_NAME = kind_of_annotation("str | int")


def find(plan: Plan, name: str | int, tables: tuple[str, ...]) -> tuple[str, int]:
    """Return the table and row of a name."""
    name = taken("why", "name", name, _NAME)
    wanted = str(name)
    for table in tables:
        if (row := rows_by_name(plan.snapshot, table).get(wanted)) is not None:
            return table, row
    hint = nearest(wanted, [one for table in tables for one in plan.snapshot.names(table)])
    raise _no_such(f"there is no {shorten(name)!r} among {', '.join(tables)}{hint}", name)


def why(plan: Plan, name: str | int, table: str | None) -> Explanation:
    """Explain what a plan says of a name; see `Plan.why`."""
    if table is not None and not (isinstance(table, str) and table in TABLES):
        raise _no_such(f"there is no table {shorten(table)!r}; there are {', '.join(TABLES)}", table)
    where, row = find(plan, name, TABLES if table is None else (table,))
    facts = Facts(plan)
    if where == "allocations":
        return _allocation(facts, row)
    if where == "requests":
        started = rows_of(facts, "request", row, "start")
        return explain_start(facts, started) if started else explain_waiting(facts, row)
    if where == "nodes":
        return explain_node(facts, row)
    return explain_element(facts, row + (facts.pools if where == "operations" else 0))


def why_not(plan: Plan, name: str | int, table: str | None) -> Explanation:
    """Explain why something was not done; see `Plan.why_not`."""
    tables = ("allocations", "requests")
    if table is not None and not (isinstance(table, str) and table in tables):
        raise _no_such(f"why_not looks among {' and '.join(tables)}, not {shorten(table)!r}", table)
    try:
        where, row = find(plan, name, tables if table is None else (table,))
    except KeyError:
        if table is not None:
            raise
        where, row = _only_request(plan, name)
    facts = Facts(plan)
    if where == "allocations":
        return _allocation(facts, row)
    started = rows_of(facts, "request", row, "start")
    count = int(plan.snapshot._core.column("requests", "count")[row])
    return explain_start(facts, started) if len(started) >= max(count, 1) else explain_waiting(facts, row)


def _only_request(plan: Plan, name: str | int) -> tuple[str, int]:
    """Return the one request of an operation; of several the caller must choose."""
    _, operation = find(plan, name, ("allocations", "requests", "operations"))
    rows = {
        table: np.flatnonzero(plan.snapshot._core.column(table, "operation") == operation).tolist()
        for table in ("requests", "allocations")
    }
    if len(rows["requests"]) == 1:
        return "requests", rows["requests"][0]
    names = [str(plan.snapshot.names(table)[row]) for table in rows for row in rows[table][:_NAMED]]
    names += ["..."] * any(len(found) > _NAMED for found in rows.values())
    listed = ", ".join(names) or "it has none"
    said = f"{shorten(name)!r} is an operation; ask about one of its requests and allocations: {listed}"
    raise _no_such(said, name)


def _no_such(said: str, name: object) -> InputError:
    return NoSuchNameError.about("why", "name", "exists", said, shorten(name))


def _allocation(facts: Facts, row: int) -> Explanation:
    taken = rows_of(facts, "allocation", row, "preempt")
    if taken:
        return explain_victim(facts, taken[0])
    resumed = rows_of(facts, "allocation", row, "resume")
    return explain_resumed(facts, resumed[0]) if resumed else explain_spared(facts, row)
