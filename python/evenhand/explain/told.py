"""What a system adds to an explanation, in the clauses of its record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.explain.clauses import Known
from evenhand.explain.explanation import Claim
from evenhand.explain.facts import sentence
from evenhand.explain.recorded import recorded_of_victim
from evenhand.reasons import ACTIONS

if TYPE_CHECKING:
    from evenhand.explain.facts import Facts

__all__ = ["NOTHING", "Told", "told_of_outcome", "told_of_unseen", "told_of_victim"]


@dataclass(frozen=True, slots=True)
class Told:
    """What a system says of one outcome, or of a victim."""

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
    """Return the clause of the system's record for an outcome; nothing without one or without a record."""
    system, rows = facts.plan._system, rows_of(facts, what, row)
    says = system.says
    clauses = says.get((what, met["outcome"]), ())
    follows = system.follows_of(met["outcome"])
    if not clauses or not (recorded or follows):
        return NOTHING
    if follows:
        met = {**met, **follows(facts.plan.policy.settings, partial(facts.cell, *rows["operation"]))}
    event = {**met, "spared": recorded.get("spared"), **recorded.get("paced", {})}
    known = Known(facts, recorded, event, rows)
    clause = known.told(clauses)
    if clause is None:
        return NOTHING
    asks = known.first(says.get(("part", "asks"), ())) if what == "allocation" else None
    return Told(clause[1], clause[0], clause[2], asks=asks[0] if asks else "")


def told_of_unseen(facts: Facts, what: str, row: int) -> Told:
    """Return the clause of what a plan did not look at."""
    clauses = facts.plan._system.says.get(("unseen", "not_considered"), ())
    if not clauses:
        return NOTHING
    starts = np.count_nonzero(facts.plan.decisions.column("action") == ACTIONS.index("start"))
    waits = bool(np.sum(facts.snapshot._core.column("requests", "count")) > starts)
    event = {"what": what, "on": getattr(facts.plan.on, "name", ""), "waits": waits}
    unseen: Any = facts.plan._trace(what, row).get("unseen", {})
    clause = Known(facts, unseen, event, rows_of(facts, what, row)).first(clauses)
    return NOTHING if clause is None else Told(clause[1], clause[0])


def rows_of(facts: Facts, what: str, row: int) -> Mapping[str, tuple[str, int]]:
    """Return the row of a request or an allocation, and that of its operation."""
    operation = int(facts.snapshot._core.column(f"{what}s", "operation")[row])
    return {"operation": ("operations", operation), "row": (f"{what}s", row)}


def known_of_victim(facts: Facts, row: int, more: Mapping[str, Any] | None = None) -> Known:
    """Return what is known of a victim by its decision's row: recorded, decided, and of its rows."""
    decision = facts.decision(row)
    allocation = int(facts.plan.decisions.column("allocation")[row])
    column, served = facts.plan.decisions.column, decision.beneficiary
    lacks = np.maximum(column("needed")[row] - column("free_before")[row], 0)
    event = {
        "node": decision.node,
        "mode": decision.mode,
        "request": served and served.request,
        "needed": facts.object(column("needed")[row]),
        "lacks": facts.object(lacks),
        **decision.numbers,
        **(more or {}),
    }
    rows = rows_of(facts, "allocation", allocation)
    return Known(facts, recorded_of_victim(facts, allocation), event, rows)


def told_of_victim(facts: Facts, row: int) -> Told:
    """Return the clauses of what would have spared a victim and of what chose it, by its decision's row."""
    says, decision = facts.plan._system.says, facts.decision(row)
    if not says:
        return NOTHING
    known = known_of_victim(facts, row)

    def said(kind: str, code: str) -> tuple[str, dict[str, Any]]:
        return known.first(says.get((kind, code), ())) or ("", {})

    spared = known.told(says.get(("victim", decision.reason), ())) or ("", {}, ())
    chosen = said("allocation", "taken")
    lacking = said("lacking", decision.reason)
    found = [(kind, *said(kind, decision.reason)) for kind in ("order", "selection", "mode")]
    numbers = [spared[1], *(one[2] for one in found), chosen[1], lacking[1]]
    return Told(
        {name: value for one in numbers for name, value in one.items()},
        spared[0],
        (*((chosen[0],) if chosen[0] else ()), *spared[2]),
        fields={"lacking": lacking[0]} if lacking[0] else {},
        claims=tuple(Claim(kind, sentence(text), own) for kind, text, own in found if text),
    )
