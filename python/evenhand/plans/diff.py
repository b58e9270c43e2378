"""What another plan decides differently."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from evenhand.plans.columns import Name
from evenhand.table import Table, Tabular

if TYPE_CHECKING:
    from evenhand.plans.decisions import Decision
    from evenhand.plans.plan import Plan

__all__ = ["PlanDiff", "diff"]

_NAMED = 8
"""So many victims are named in a summary."""


@dataclass(frozen=True, slots=True)
class PlanDiff(Tabular):
    """From one plan to another: who is spared, who is new, which starts moved.

    Attributes
    ----------
    spared : tuple of Decision
        Preemptions of the first plan whose allocation the other leaves alone.
    taken : tuple of Decision
        Preemptions of the other plan whose allocation the first leaves alone.
    changed : tuple of (Decision, Decision)
        The same victim for another reason, beneficiary, stage, mode, grace, deadline or amount.
    moved : tuple of (Decision, Decision)
        The same request started on another node.
    lost, gained : tuple of Decision
        Starts that only the first plan, or only the other one has.
    same : int
        How many decisions are alike.
    """

    spared: tuple[Decision, ...]
    taken: tuple[Decision, ...]
    changed: tuple[tuple[Decision, Decision], ...]
    moved: tuple[tuple[Decision, Decision], ...]
    lost: tuple[Decision, ...]
    gained: tuple[Decision, ...]
    same: int

    def __bool__(self) -> bool:
        return any(getattr(self, field.name) for field in fields(self) if field.name != "same")

    @property
    def summary(self) -> str:
        """Who is spared and who goes instead, in one line."""
        from evenhand.display.terminal import counted

        fewer = len(self.spared) - len(self.taken)
        if not self.spared and not self.taken:
            return "The victims are the same."
        number = counted(abs(fewer), "victim")
        head = "As many victims" if fewer == 0 else f"{number} {'fewer' if fewer > 0 else 'more'}"
        said = [
            f"{_listed(decisions)} {one if len(decisions) == 1 else many}"
            for decisions, one, many in (
                (self.spared, "is spared", "are spared"),
                (self.taken, "goes" + " instead" * bool(self.spared), "go" + " instead" * bool(self.spared)),
            )
            if decisions
        ]
        return f"{head}: {'; '.join(said)}."

    def table(self) -> Table:
        """Return one row a difference: what differs, whom it concerns, before and after."""
        rows: list[tuple[str, Name | None, Name | None, str, str]] = []
        for what, decisions in (("spared", self.spared), ("taken", self.taken)):
            for d in decisions:
                text = _victim(d)
                before, after = (text, "") if what == "spared" else ("", text)
                rows.append((what, d.allocation, d.operation, before, after))
        for a, b in self.changed:
            rows.append(("changed", a.allocation, a.operation, _victim(a), _victim(b)))
        for a, b in self.moved:
            rows.append(("moved", a.request, a.operation, _start(a), _start(b)))
        for what, decisions in (("lost", self.lost), ("gained", self.gained)):
            for d in decisions:
                before, after = (_start(d), "") if what == "lost" else ("", _start(d))
                rows.append((what, d.request, d.operation, before, after))
        heads = ("difference", "name", "operation", "before", "after")
        return Table({h: [row[i] for row in rows] for i, h in enumerate(heads)}, title="differences")

    def __repr__(self) -> str:
        counts = ", ".join(
            f"{len(getattr(self, name))} {name}"
            for name in ("spared", "taken", "changed", "moved", "lost", "gained")
            if getattr(self, name)
        )
        head = f"{counts or 'no difference'}; {self.same} alike"
        return f"{self.summary}\n{head}\n{self.table()!r}" if self else head

    def _repr_html_(self) -> str:
        from evenhand.display import table_html

        return table_html(self.table(), head=self.summary if self else "no difference")


def diff(before: Plan, after: Plan) -> PlanDiff:
    """Compare two plans; O(decisions)."""
    old = {str(d.allocation): d for d in before.decisions.victims}
    new = {str(d.allocation): d for d in after.decisions.victims}
    both = [(old[name], new[name]) for name in old if name in new]
    changed = tuple((a, b) for a, b in both if _facts(a) != _facts(b))
    lost, gained, alike = _unmatched(list(before.decisions.starts), list(after.decisions.starts))
    moved = []
    waiting: dict[str, list[Decision]] = {}
    for decision in gained:
        waiting.setdefault(str(decision.request), []).append(decision)
    left = []
    for decision in lost:
        others = waiting.get(str(decision.request))
        if others:
            moved.append((decision, others.pop(0)))
        else:
            left.append(decision)
    return PlanDiff(
        spared=tuple(d for name, d in old.items() if name not in new),
        taken=tuple(d for name, d in new.items() if name not in old),
        changed=changed,
        moved=tuple(moved),
        lost=tuple(left),
        gained=tuple(d for ds in waiting.values() for d in ds),
        same=len(both) - len(changed) + alike,
    )


def _unmatched(old: list[Decision], new: list[Decision]) -> tuple[list[Decision], list[Decision], int]:
    """Return starts that have no partner of the same request and node in the other list."""

    def key(decision: Decision) -> tuple[str, str]:
        return str(decision.request), str(decision.node)

    in_new = Counter(map(key, new))
    in_old = Counter(map(key, old))
    common = in_new & in_old

    def beyond(decisions: list[Decision]) -> list[Decision]:
        left, result = Counter(common), []
        for decision in decisions:
            if left[key(decision)] > 0:
                left[key(decision)] -= 1
            else:
                result.append(decision)
        return result

    return beyond(old), beyond(new), common.total()


def _facts(d: Decision) -> tuple[Any, ...]:
    return d.node, d.reason, d.stage, d.beneficiary, d.mode, d.grace, d.until, d.freed, d.kept


def _listed(decisions: tuple[Decision, ...]) -> str:
    from evenhand.display.text import clean

    names = [clean(d.allocation) for d in decisions[:_NAMED]]
    more = len(decisions) - len(names)
    return ", ".join(names) + (f" and {more} more" if more else "")


def _victim(d: Decision) -> str:
    whom = f" for {d.beneficiary.request or d.beneficiary.operation}" if d.beneficiary else ""
    grace = "" if d.grace is None else f", grace {d.grace:g} s"
    return f"{d.reason} on {d.node}{whom}, {d.mode}{grace}"


def _start(d: Decision) -> str:
    return f"{d.node} ({d.reason}, {d.stage})"
