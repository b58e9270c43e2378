"""What a search for the fewest or cheapest victims had to be asked, by rows and rules, without the engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

__all__ = ["NotDerived", "Place", "Question", "Row", "whole"]

Row = tuple[int, ...]


class NotDerived(Exception):
    """What a search was asked cannot be derived from the plan by the rules of the references."""


@dataclass(frozen=True)
class Place:
    """A node (None: what the cluster shares), what jobs free there, and what it lacks for copies.

    Attributes
    ----------
    lacks : tuple of tuple of int
        Of one copy more, two more, ...; entries up to 0 are no lack.
    frees : mapping of str to tuple of int
        Of jobs that free anything there.
    must : bool
        It must be freed in any case.
    """

    lacks: tuple[Row, ...]
    frees: Mapping[str, Row]
    must: bool = False


@dataclass(frozen=True)
class Question:
    """What a search is asked.

    Attributes
    ----------
    wanted : tuple of str
        Names of candidates, in the order in which they are wanted.
    costs : tuple of int
    suffices : callable
        Whether it is enough, by the policy's own placement, that candidates of these names go.
    node, shortage, frees
        Of work on one node: what is missing (entries up to 0: nothing), what each candidate frees.
    together
        The search had one question; else one copy after the other took its victims.
    copies, places
        Of jobs on many nodes, by node.
    """

    wanted: tuple[str, ...]
    costs: Row
    suffices: Callable[[Sequence[str]], bool]
    node: str | None = None
    shortage: Row | None = None
    frees: Mapping[str, Row] = field(default_factory=dict)
    copies: int = 0
    together: bool = True
    places: Mapping[str | None, Place] | None = None


def whole(amount: Any, quantum: float) -> int:
    """Return an amount in quanta.

    Parameters
    ----------
    amount : float or Fraction
        In units.
    quantum : float

    Returns
    -------
    int

    Raises
    ------
    AssertionError
        If it is no multiple, but for rounding.
    """
    parts = Fraction(amount) / Fraction(str(quantum))
    found = round(parts)
    if abs(parts - found) > Fraction(1, 1_000) + abs(parts) * Fraction(1, 10**9):
        raise AssertionError(f"{amount} is no multiple of {quantum}")
    return found
