"""Explanations held against facts that are counted without them.

`check_explanations` goes over everything that a plan explains: every code is evaluated anew from the
snapshot, the policy's settings, the decisions, and the plan's shares, statuses and states; every count in a
sentence is counted again, and every other number and name must belong to what is explained. A code that has
no check is an error: `checks` registers one.
"""

from __future__ import annotations

from tests.reference.explanations.checker import (
    Falsehood,
    check_explanation,
    check_explanations,
    falsehoods,
)
from tests.reference.explanations.registry import Said, checks, must
from tests.reference.explanations.world import World

__all__ = [
    "Falsehood",
    "Said",
    "World",
    "check_explanation",
    "check_explanations",
    "checks",
    "falsehoods",
    "must",
]
