"""What the core records of a victim when it is taken."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.reasons import OUTCOMES

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
    trace = facts.plan._trace("allocation", allocation)
    taken = np.flatnonzero(trace["outcome"] == OUTCOMES.index("taken")).tolist()
    of: Any = trace.get("facts")
    found = dict(of[taken[0]]) if taken and of is not None else {}
    return {kind: found.get(kind, {}) for kind in KINDS}
