"""Explanations held against facts that are counted without them.

`check_explanations` goes over everything that a plan explains: every code is evaluated anew from the
snapshot, the policy's settings, the decisions, and the plan's shares, statuses and states; every count in a
sentence is counted again, and every other number and name must belong to what is explained. A code that has
no check is an error: `checks` registers one, also for a policy of your own.

Examples
--------
>>> from evenhand.testing.explanations import Said, World, checks, must
>>> @checks("allocation", "too_dear", system="mine")
... def too_dear(world: World, said: Said) -> None:
...     budget = world.settings.budget
...     must(said.compared["cost"] > budget, "it is cheap enough", budget)
"""

from __future__ import annotations

from evenhand.testing.explanations.checker import (
    Falsehood,
    check_explanation,
    check_explanations,
    falsehoods,
)
from evenhand.testing.explanations.registry import Said, checks, must
from evenhand.testing.explanations.world import World

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
