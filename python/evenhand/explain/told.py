"""What a policy adds to an explanation, in its own words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenhand.explain.explanation import Claim
    from evenhand.explain.facts import Facts

__all__ = ["NOTHING", "Told", "told_of_outcome", "told_of_unseen", "told_of_victim"]


@dataclass(frozen=True, slots=True)
class Told:
    """What a policy says of one outcome, or of a victim.

    Attributes
    ----------
    numbers : mapping
        What was compared.
    text : str
        Stands in the place of the outcome's own sentence, and ends the first one; of a victim it is added
        to the first sentence.
    sentences : tuple of str
        Further ones.
    node : str, int or None
        What is missing is missing there.
    fields : mapping
        Fields of the reason's sentence that the policy says in its own words.
    claims : tuple of Claim
        Of a victim: further ones that have codes and numbers of their own.
    asks : str
        The request that asked, where the text does not name it.
    """

    numbers: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""
    sentences: tuple[str, ...] = ()
    node: str | int | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()
    asks: str = ""


NOTHING = Told()


def told_of_outcome(
    facts: Facts, what: str, row: int, met: Mapping[str, Any], recorded: Mapping[str, Any]
) -> Told:
    """Return what the policy says of an outcome; nothing of most.

    Parameters
    ----------
    facts : Facts
    what : {"request", "allocation"}
    row : int
        Of the snapshot.
    met : mapping
        As of `Explanation.looked_at`.
    recorded : mapping
        What the core recorded there: kind to name to row or number.
    """
    tell = getattr(facts.plan.policy, "told", None)
    found: Told = NOTHING if tell is None else tell(facts, what, row, met, recorded)
    return found


def told_of_unseen(facts: Facts, what: str, row: int) -> Told:
    """Return what the policy says of running work or a request that it did not look at; of most nothing.

    Parameters
    ----------
    facts : Facts
    what : {"request", "allocation"}
    row : int
        Of the snapshot.
    """
    tell = getattr(facts.plan.policy, "told_of_unseen", None)
    found: Told = NOTHING if tell is None else tell(facts, what, row)
    return found


def told_of_victim(facts: Facts, row: int) -> Told:
    """Return what the policy says of a victim, by its row among the decisions; of most nothing."""
    tell = getattr(facts.plan.policy, "told_of_victim", None)
    found: Told = NOTHING if tell is None else tell(facts, row)
    return found
