"""Steps: what is carried out together or not at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.accepted import checked
from evenhand.plans.columns import Name, objects
from evenhand.plans.decisions import Beneficiary, Decision, Decisions
from evenhand.reasons import ACTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenhand.model import Snapshot

__all__ = ["Step", "rows_by_step", "steps_of"]


@dataclass(frozen=True, slots=True)
class Step:
    """What one beneficiary needs on one node, or one repair.

    Attributes
    ----------
    number : int
        ``step`` of its decisions.
    node : str, int or None
        Where it happens.
    stage : str
        Where in the node's heartbeat it was decided.
    beneficiary : Beneficiary or None
        What it serves; None for a repair.
    victims : tuple of Decision
        Victims, in order.
    start : Decision or None
        What starts once they left, the first of several; None of a repair, and if it starts later.
    freed : mapping
        What the victims give back together, by resource.
    others : tuple of Decision
        What else starts, resumes or is reserved with it: a session on several nodes.
    """

    number: int
    node: Name | None
    stage: str
    beneficiary: Beneficiary | None
    victims: tuple[Decision, ...]
    start: Decision | None
    freed: Mapping[str, float]
    others: tuple[Decision, ...] = ()

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """All of it: the victims, then the start, then the rest."""
        return self.victims + (() if self.start is None else (self.start,)) + self.others

    def to_dict(self) -> dict[str, Any]:
        """Return the step as plain values."""
        served = self.beneficiary
        return {
            "step": self.number,
            "node": self.node,
            "stage": self.stage,
            "beneficiary": served and {"operation": served.operation, "request": served.request},
            "victims": [victim.to_dict() for victim in self.victims],
            "start": self.start and self.start.to_dict(),
            "freed": dict(self.freed),
            **({"others": [other.to_dict() for other in self.others]} if self.others else {}),
        }


@checked("steps")
def rows_by_step(decisions: Decisions) -> dict[int, list[int]]:
    """Return the rows of every step, steps in the order of their first decisions."""
    rows: dict[int, list[int]] = {}
    for row, step in enumerate(decisions.column("step").tolist()):
        rows.setdefault(step, []).append(row)
    return rows


@checked("steps")
def steps_of(snapshot: Snapshot, decisions: Decisions) -> list[Step]:
    """Return the steps of decisions in order; O(decisions)."""
    every = list(decisions)
    preempts = decisions.column("action") == ACTIONS.index("preempt")
    freed = decisions.column("freed")
    steps = []
    for number, rows in rows_by_step(decisions).items():
        members = [every[row] for row in rows]
        starts = [decision for decision in members if decision.action == "start"]
        leaving = [row for row in rows if preempts[row]]
        sums = freed[leaving].sum(axis=0, dtype=np.int64)[None, :]
        steps.append(
            Step(
                number,
                members[0].node,
                members[0].stage,
                next((d.beneficiary for d in members if d.beneficiary), None),
                tuple(decision for decision in members if decision.action == "preempt"),
                starts[0] if starts else None,
                objects(snapshot, sums)[0],
                (*starts[1:], *(d for d in members if d.action not in ("start", "preempt"))),
            )
        )
    return steps
