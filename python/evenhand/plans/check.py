"""Which decisions of a plan still hold on a fresh snapshot."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.errors import printable
from evenhand.frozen import freeze
from evenhand.plans.causes import Causes, Found
from evenhand.plans.instead import instead
from evenhand.plans.steps import rows_by_step
from evenhand.reasons import ACTIONS, reason
from evenhand.units.text import named

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from evenhand.model import Snapshot
    from evenhand.plans.again import Again, Essence
    from evenhand.plans.decisions import Decisions
    from evenhand.plans.plan import Plan
    from evenhand.table import Table

__all__ = ["Check", "Finding", "check", "check_rest"]

#: Causes for which a step is refused although a fresh plan has it: its victims are not what they were, or
#: there is no room for it without other steps of the fresh plan.
_BINDING = frozenset(
    (
        *("victim_moved", "victim_changed", "victim_leaving", "victim_of_another", "request_changed"),
        *("operation_gone", "node_gone"),
        *("node_full", "cluster_full", "limits_exceeded"),
    )
)


_PREEMPT = ACTIONS.index("preempt")


@dataclass(frozen=True, slots=True)
class Finding:
    """Why one decision no longer holds.

    Attributes
    ----------
    decision : int
        Its place among the plan's decisions.
    step : int
        Its step.
    code : str
        See `evenhand.reasons`; ``"step_broken"``: something else of its step does not hold.
    message : str
        The same in words.
    numbers : mapping
        What it was, and what it is now.
    """

    decision: int
    step: int
    code: str
    message: str
    numbers: Mapping[str, Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", printable(self.message))
        object.__setattr__(self, "numbers", freeze(self.numbers))

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain values."""
        return {
            "decision": self.decision,
            "step": self.step,
            "code": self.code,
            "message": self.message,
            "numbers": dict(self.numbers),
        }


@dataclass(frozen=True)
class Check:
    """Result of `Plan.check`: what no longer holds, and what does.

    Attributes
    ----------
    plan : Plan
    findings : tuple of Finding
        Empty if the entire plan holds.
    skipped : frozenset of int
        Steps that were not looked at.
    """

    plan: Plan
    findings: tuple[Finding, ...]
    skipped: frozenset[int] = frozenset()

    def __bool__(self) -> bool:
        return not self.findings

    @cached_property
    def decisions(self) -> Decisions:
        """The decisions that still hold: entire steps."""
        stale = {finding.decision for finding in self.findings}
        holds = np.array([row not in stale for row in range(len(self.plan.decisions))], np.bool_)
        if self.skipped:
            holds &= ~np.isin(self.plan.decisions.column("step"), list(self.skipped))
        return self.plan.decisions.take(holds)

    @property
    def steps(self) -> list[int]:
        """Numbers of the steps that still hold."""
        return list(dict.fromkeys(self.decisions.column("step").tolist()))

    def table(self) -> Table:
        """Return one row a finding."""
        from evenhand.table import Table

        heads = ("decision", "step", "code", "message")
        return Table({h: [getattr(f, h) for f in self.findings] for h in heads}, title="what no longer holds")

    def to_dict(self) -> dict[str, Any]:
        """Return the findings and the steps that hold as plain values."""
        return {"findings": [finding.to_dict() for finding in self.findings], "steps": self.steps}

    @property
    def _head(self) -> str:
        return f"{len(self.decisions):,} of {len(self.plan.decisions):,} decisions hold"

    def __repr__(self) -> str:
        return self._head if not self.findings else f"{self._head}\n{self.table()!r}"

    def _repr_html_(self) -> str:
        from evenhand.display import table_html

        return table_html(self.table(), head=self._head)


def check(
    plan: Plan,
    fresh: Snapshot,
    done: Collection[int] = (),
    skip: Collection[int] = (),
    again: Again | None = None,
) -> Check:
    """Hold a plan against a fresh snapshot; see `Plan.check`.

    Parameters
    ----------
    plan : Plan
    fresh : Snapshot
    done, skip : collection of int
        As of `Plan.check`.
    again : Again, optional
        The fresh plan, where it was made before with the same `done`: O(rows + decisions) then.

    Returns
    -------
    Check
    """
    if again is None:
        from evenhand.plans.again import Again

        again = Again(plan, fresh, done)
    left_out = frozenset(skip) | frozenset(done)
    causes = Causes(plan, fresh)
    findings: list[Finding] = []
    takes, unchanged = again.counted(), causes.unchanged()
    for step, rows in rows_by_step(plan.decisions).items():
        if step in left_out:
            continue
        taken = takes(step)
        found = [] if taken and unchanged[rows].all() else causes.facts(rows)
        if taken:
            found = [f for f in found if f.code in _BINDING]
            found = found or [f for f in causes.numbers(rows) if f.code in _BINDING]
            if not found:
                causes.carry_out(rows)
        else:
            found = found or causes.numbers(rows) or instead(again, plan, rows, step)
        findings += _findings(found, rows, step, fresh)
    return Check(plan, tuple(sorted(findings, key=lambda finding: finding.decision)), left_out)


def check_rest(
    plan: Plan, fresh: Snapshot, step: int, left: Collection[str], done: Collection[int] = ()
) -> list[Finding]:
    """Hold what is left of a step that was begun against a fresh snapshot, in which the rest shows.

    Parameters
    ----------
    plan : Plan
    fresh : Snapshot
    step : int
        Its number.
    left : collection of str
        Its victims that are yet to leave: names of allocations.
    done : collection of int
        Other steps that were carried out, or begun.

    Returns
    -------
    list of Finding
        Empty if a plan made now takes the same for the same beneficiary, in the same modes.

    Raises
    ------
    InputError
        As `Plan.check`.

    Notes
    -----
    One plan, and O(rows + decisions).
    """
    from evenhand.plans.again import Again

    again = Again(plan, fresh, done)
    was = again.before[step]
    rest = was._replace(victims=frozenset(victim for victim in was.victims if victim[0] in left))
    again.before[step] = rest
    action, allocation = (plan.decisions.column(name) for name in ("action", "allocation"))
    taken = [row for row in rows_by_step(plan.decisions)[step] if action[row] == _PREEMPT]
    rows = [row for row in taken if str(again.names[allocation[row]]) in left]
    found = Causes(plan, fresh).facts(rows)
    if _has(again, rest):
        found = [f for f in found if f.code in _BINDING]
    else:
        found = found or instead(again, plan, rows, step)
    return _findings(found, rows, step, fresh)


def _has(again: Again, step: Essence) -> bool:
    """Whether the fresh plan takes the victims of a step for the same one; of a repair, by any repairs."""
    same = [s for s in again.now.values() if (s.operation, s.request) == (step.operation, step.request)]
    if step.operation is None:
        return step.victims <= {victim for other in same for victim in other.victims}
    return any(other.victims == step.victims for other in same)


def _findings(found: list[Found], rows: list[int], step: int, fresh: Snapshot) -> list[Finding]:
    """Return what was found in words; a step does not hold as a whole."""
    stale = {f.row for f in found}
    broken = [Found(row, "step_broken", {}) for row in rows if found and row not in stale]
    return [
        Finding(
            f.row,
            step,
            f.code,
            reason(f.code, "check").sentence.format(**_texts(f.numbers, fresh)),
            f.numbers,
        )
        for f in (*found, *broken)
    ]


def _texts(numbers: Mapping[str, Any], fresh: Snapshot) -> dict[str, str]:
    """Return what was compared as it stands in a sentence: what is now beside what was."""
    field, other = numbers.get("field"), {"was": "now", "now": "was"}
    return {
        # The times among a row's fields are named by the field.
        key: named(
            field if field and key in other else f"{key} value",
            value,
            fresh.now,
            fresh.units,
            numbers.get(other.get(key, "")),
        )
        for key, value in numbers.items()
    }
