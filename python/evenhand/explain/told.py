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
    """What a policy says of one outcome, or of a victim."""

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
    """Return what the policy says of an outcome; nothing of most."""
    found: Told = facts.plan.policy.told(facts, what, row, met, recorded)
    return found


def told_of_unseen(facts: Facts, what: str, row: int) -> Told:
    """Return what the policy says of running work or a request that it did not look at; of most nothing."""
    found: Told = facts.plan.policy.told_of_unseen(facts, what, row)
    return found


def told_of_victim(facts: Facts, row: int) -> Told:
    """Return what the policy says of a victim, by its row among the decisions; of most nothing."""
    found: Told = facts.plan.policy.told_of_victim(facts, row)
    return found
