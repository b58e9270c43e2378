"""Explanations held against facts that are counted without them.

`check_explanations` goes over everything that a plan explains: every code and every sentence is evaluated
anew from the snapshot, the policy's settings, the decisions, and the plan's shares, statuses and states.
"""

from __future__ import annotations

from evenhand.testing.explanations.checker import (
    Falsehood,
    check_explanation,
    check_explanations,
    falsehoods,
)

__all__ = ["Falsehood", "check_explanation", "check_explanations", "falsehoods"]
