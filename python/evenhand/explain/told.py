"""What a policy adds to an explanation, in its own words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evenhand.explain.clauses import Known
from evenhand.explain.recorded import recorded_of_victim

if TYPE_CHECKING:
    from evenhand.explain.explanation import Claim
    from evenhand.explain.facts import Facts

__all__ = [
    "NOTHING",
    "Told",
    "clause_of_outcome",
    "clauses_of_victim",
    "told_of_outcome",
    "told_of_unseen",
    "told_of_victim",
]


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


def clause_of_outcome(
    facts: Facts, what: str, row: int, met: Mapping[str, Any], recorded: Mapping[str, Any]
) -> Told:
    """Return the clause of the system's record for an outcome; nothing without one or without a record."""
    clauses = facts.plan._system.says.get((what, met["outcome"]), ())
    if not clauses or not recorded:
        return NOTHING
    table = "requests" if what == "request" else "allocations"
    operation = int(facts.snapshot._core.column(table, "operation")[row])
    event = {**met, "operation": facts.name("operations", operation)}
    clause = Known(facts, recorded, event, operation).first(clauses)
    return NOTHING if clause is None else Told(clause[1], clause[0])


def clauses_of_victim(facts: Facts, row: int) -> Told:
    """Return the clauses of what would have spared a victim and of what chose it, by its decision's row."""
    says, decision = facts.plan._system.says, facts.plan.decisions[row]
    if not says:
        return NOTHING
    allocation = int(facts.plan.decisions.column("allocation")[row])
    known = Known(facts, recorded_of_victim(facts, allocation), decision.numbers)
    spared = known.first(says.get(("victim", decision.reason), ())) or ("", {})
    chosen = known.first(says.get(("allocation", "taken"), ())) or ("", {})
    text = f"; {spared[0]}" if spared[0] else ""
    return Told({**spared[1], **chosen[1]}, text, (chosen[0],) if chosen[0] else ())
