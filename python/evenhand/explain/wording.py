"""What a system says in explanations: by which rule, and what would have changed it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from evenhand.explain.explanation import Claim
    from evenhand.explain.facts import Facts

__all__ = ["NO_RULE", "Rule", "Wording"]


class Rule(NamedTuple):
    """By which rule something was decided, as the first sentence of an explanation ends.

    Attributes
    ----------
    because : str
        A clause: ``B is starving, and work beyond a fair share may be preempted``.
    unless : str
        What would have changed it, a clause too: ``with ... at 1.5 it would have stayed``; empty where that
        is more than one comparison.
    numbers : mapping
        The names and numbers that both are made of.
    """

    because: str = ""
    unless: str = ""
    numbers: Mapping[str, Any] = {}

    def after(self, text: str) -> str:
        """Return a sentence that ends in this rule."""
        return "; ".join(filter(None, (": ".join(filter(None, (text, self.because))), self.unless)))


NO_RULE = Rule()


class Wording:
    """What one system says beside what all say; here, nothing.

    A system's own is a subclass, which its record names (`System.wording_at`).

    Parameters
    ----------
    facts : Facts
        Of the plan that is explained.
    """

    def __init__(self, facts: Facts) -> None:
        self.facts = facts

    def taken(self, row: int) -> Rule:
        """Return by which rule a victim was taken, by its row among the decisions."""
        return NO_RULE

    def choice(self, row: int) -> list[Claim]:
        """Return what ordered a victim among others and chose it, by its row among the decisions."""
        return []

    def bounds(self, row: int) -> dict[str, dict[str, float]]:
        """Return amounts that protect work of a victim's operation, by quantity; rows of the table."""
        return {}

    def stays(self, row: int, looked_at: Mapping[str, Any] | None) -> Rule:
        """Return by which rule an allocation stays.

        Parameters
        ----------
        row : int
            Of the allocation.
        looked_at : mapping or None
            What came of it where it was looked at first.
        """
        return NO_RULE

    def waits(self, row: int, looked_at: Mapping[str, Any] | None) -> Rule:
        """Return by which rule a request waits; arguments as of `stays`."""
        return NO_RULE

    def starts(self, row: int) -> Rule:
        """Return by which rule something starts or resumes, by its row among the decisions."""
        return NO_RULE
