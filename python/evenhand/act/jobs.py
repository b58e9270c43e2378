"""What a plan says of a job, by the name that the cluster has for it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from evenhand.explain import Explanation
    from evenhand.plans import Plan

__all__ = ["MOST", "explained", "named", "names_of", "several"]

#: Explanations of one job: those of its parts on many nodes differ by little.
MOST = 3

_LISTED = 5  # tasks of an array
_TABLES = ("operations", "allocations", "requests")
_NUMBER = re.compile(r"\d+", re.ASCII)


def named(names: Iterable[str | int], job: str) -> list[str]:
    """Return the jobs that are meant by a name: the one of that name, else the tasks of an array."""
    known = dict.fromkeys(map(str, names))
    if job in known:
        return [job]
    if not _NUMBER.fullmatch(job):
        return []
    task = re.compile(rf"{job}[_.]\d+", re.ASCII)
    return [name for name in known if task.fullmatch(name)]


def several(job: str, tasks: Sequence[str]) -> str:
    """Return the sentence that asks for one of several tasks."""
    more = f" and {len(tasks) - _LISTED} more" if len(tasks) > _LISTED else ""
    return f"{job} is an array; name one of its tasks: {', '.join(tasks[:_LISTED])}{more}"


def names_of(tables: Mapping[str, Any], job: str) -> list[str]:
    """Return the jobs in the tables of a snapshot that are meant by a name; see `named`."""
    return named((row["name"] for table in _TABLES for row in tables.get(table) or ()), job)


def explained(plan: Plan, job: str) -> tuple[tuple[Explanation, ...], int]:
    """Return what a plan says of a job: of its parts that it decided on, else of those that it has."""
    snapshot = plan.snapshot
    names = {table: list(map(str, snapshot.names(table))) for table in _TABLES}
    if job in names["allocations"] or job in names["requests"] or job not in names["operations"]:
        return (plan.why(job),), 0
    row = names["operations"].index(job)
    parts = {
        table: np.flatnonzero(np.asarray(snapshot._core.column(table, "operation")) == row).tolist()
        for table in ("allocations", "requests")
        if names[table]
    }
    decided = {d.allocation for d in plan.decisions if d.action in ("preempt", "resume")}
    own = [names["allocations"][part] for part in parts.get("allocations", ())]
    touched = [("allocations", name) for name in own if name in set(map(str, decided))]
    touched += [("requests", names["requests"][part]) for part in parts.get("requests", ())]
    touched = touched or [("allocations", name) for name in own] or [("operations", job)]
    shown = tuple(plan.why(name, table=table) for table, name in touched[:MOST])
    return shown, len(touched) - len(shown)
