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
"""So many are named in a summary."""


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
    whole : bool
        Operations go as a whole, so they are what the summary counts and names.
    """

    spared: tuple[Decision, ...]
    taken: tuple[Decision, ...]
    changed: tuple[tuple[Decision, Decision], ...]
    moved: tuple[tuple[Decision, Decision], ...]
    lost: tuple[Decision, ...]
    gained: tuple[Decision, ...]
    same: int
    whole: bool = False

    def __bool__(self) -> bool:
        return any(getattr(self, field.name) for field in fields(self) if field.name not in ("same", "whole"))

    @property
    def summary(self) -> str:
        """Who is spared and who goes instead, in one line: allocations, or operations that go as a whole."""
        from evenhand.display.terminal import counted

        spared, taken = self._named(self.spared), self._named(self.taken)
        both = set(spared) & set(taken)  # other parts of the same operation
        spared, taken = ([name for name in names if name not in both] for names in (spared, taken))
        if not spared and not taken:
            return "The victims are the same."
        fewer, what = len(spared) - len(taken), "operation" if self.whole else "victim"
        number = counted(abs(fewer), what)
        head = f"As many {what}s" if fewer == 0 else f"{number} {'fewer' if fewer > 0 else 'more'}"
        instead = " instead" * bool(spared)
        said = [
            f"{_listed(names)} {one if len(names) == 1 else many}"
            for names, one, many in (
                (spared, "is spared", "are spared"),
                (taken, f"goes{instead}", f"go{instead}"),
            )
            if names
        ]
        return f"{head}: {'; '.join(said)}."

    def _named(self, decisions: tuple[Decision, ...]) -> list[Name | None]:
        return list(dict.fromkeys(d.operation if self.whole else d.allocation for d in decisions))

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
        whole=before._core.shares is None and after._core.shares is None,
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


def _listed(names: list[Name | None]) -> str:
    from evenhand.display.text import clean

    more = len(names) - _NAMED
    return ", ".join(map(clean, names[:_NAMED])) + (f" and {more} more" if more > 0 else "")


def _victim(d: Decision) -> str:
    whom = f" for {d.beneficiary.request or d.beneficiary.operation}" if d.beneficiary else ""
    grace = "" if d.grace is None else f", grace {d.grace:g} s"
    return f"{d.reason} on {d.node}{whom}, {d.mode}{grace}"


def _start(d: Decision) -> str:
    return f"{d.node} ({d.reason}, {d.stage})"
