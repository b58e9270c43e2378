"""What the core records of a victim when it is taken."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.plans.explainable import first_facts

if TYPE_CHECKING:
    from evenhand.explain.facts import Facts

__all__ = ["KINDS", "recorded_of_victim"]

#: Kinds of what is recorded.
KINDS = (
    *("numbers", "times", "operations", "requests", "allocations", "pools", "hosts"),
    *("nodes", "slots", "jobs", "amounts", "words", "lists", "settings"),
)


def recorded_of_victim(facts: Facts, allocation: int) -> Mapping[str, Mapping[str, Any]]:
    """Return what was recorded when an allocation was taken: names and values by kind."""
    found = _found(facts, allocation)
    return {kind: found.get(kind, {}) for kind in KINDS}


def _found(facts: Facts, allocation: int) -> Mapping[str, Any]:
    """Return what was recorded of an allocation: of all victims at once, where the core does that."""
    plan = facts.plan
    if not hasattr(plan._core, "taken"):
        trace = plan._trace("allocation", allocation)
        return first_facts(trace).get(allocation, {}) if "facts" in trace else {}
    if allocation in plan._taken or not facts.preempts_operations:
        return plan._taken.get(allocation, {})
    owner = np.asarray(facts.snapshot._core.column("allocations", "operation"))
    same = (row for row in np.flatnonzero(owner == owner[allocation]).tolist() if row in plan._taken)
    return plan._taken.get(next(same, -1), {})
