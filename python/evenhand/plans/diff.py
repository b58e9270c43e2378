"""What another plan decides differently."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from evenhand.accepted import checked
from evenhand.plans.clusters import RowDiff, rows_between, summary_of, text_of
from evenhand.plans.columns import Name
from evenhand.table import Table, Tabular
from evenhand.units.text import amounts, duration, instant

if TYPE_CHECKING:
    from evenhand.plans.decisions import Decision
    from evenhand.plans.plan import Plan

__all__ = ["PlanDiff", "diff"]

_ORDER = ("spared", "taken", "changed", "moved", "lost", "gained")

_NAMED = 8
"""So many are named in a summary."""


@dataclass(frozen=True, slots=True)
class PlanDiff(Tabular):
    """From one plan to another: which victims are spared, which are new, what starts elsewhere.

    Attributes
    ----------
    spared : tuple of Decision
        Preemptions of the first plan whose allocation the other leaves alone.
    taken : tuple of Decision
        Preemptions of the other plan whose allocation the first leaves alone.
    changed : tuple of (Decision, Decision)
        The same victim for another reason, beneficiary, stage, mode, grace, deadline or amount; the same
        reservation or release at another time, for another amount or reason.
    moved : tuple of (Decision, Decision)
        The same request started, or the same allocation resumed, and so on, on another node.
    lost, gained : tuple of Decision
        Starts, resumptions, reservations and releases that only the first plan, or only the other one has.
    same : int
        How many decisions are alike.
    preempts_operations : bool
        Operations are preempted as a whole, so they are what the summary counts and names.
    clusters : tuple of RowDiff
        How the other plan's cluster differs: rows more, rows less, fields with other values. The instants
        may differ without being named here.
    units : mapping
        Resource to unit, for the table's words.
    """

    spared: tuple[Decision, ...]
    taken: tuple[Decision, ...]
    changed: tuple[tuple[Decision, Decision], ...]
    moved: tuple[tuple[Decision, Decision], ...]
    lost: tuple[Decision, ...]
    gained: tuple[Decision, ...]
    same: int
    preempts_operations: bool = False
    clusters: tuple[RowDiff, ...] = ()
    units: Mapping[str, str | None] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return any(
            getattr(self, field.name)
            for field in fields(self)
            if field.name not in ("same", "preempts_operations", "units")
        )

    @property
    def summary(self) -> str:
        """Which victims are spared and which go instead, and how the clusters differ, in one line.

        Victims are allocations, or operations that are preempted as a whole.
        """
        differ = summary_of(self.clusters)
        return f"{self._victims}{differ and ' '}{differ}"

    @property
    def _victims(self) -> str:
        from evenhand.display.terminal import counted

        spared, taken = self._named(self.spared), self._named(self.taken)
        both = set(spared) & set(taken)  # other parts of the same operation
        spared, taken = ([name for name in names if name not in both] for names in (spared, taken))
        if not spared and not taken:
            return "The victims are the same."
        fewer, what = len(spared) - len(taken), "operation" if self.preempts_operations else "victim"
        number = counted(abs(fewer), what)
        head = f"As many {what}s" if fewer == 0 else f"{number} {'fewer' if fewer > 0 else 'more'}"
        instead = " instead" * bool(spared)
        said = [
            f"{_listed(names)} {one if len(names) == 1 else many}"
            for names, one, many in (
                (spared, "is spared", "are spared"),
                (taken, f"leaves{instead}", f"leave{instead}"),
            )
            if names
        ]
        return f"{head}: {'; '.join(said)}."

    def _named(self, decisions: tuple[Decision, ...]) -> list[Name | None]:
        return list(
            dict.fromkeys(d.operation if self.preempts_operations else d.allocation for d in decisions)
        )

    def table(self) -> Table:
        """Return one row a difference: what differs, what it concerns, before and after.

        Of decisions ``name`` is the allocation or request; of rows of the clusters (``difference`` "more",
        "less" or "other" with the table) it is the row's.
        """
        rows: list[tuple[str, Name | None, Name | None, str, str]] = []
        for what, decisions in (
            ("spared", self.spared),
            ("taken", self.taken),
            ("lost", self.lost),
            ("gained", self.gained),
        ):
            for d in decisions:
                said = self._said(d)
                before, after = (said, "") if what in ("spared", "lost") else ("", said)
                rows.append((what, _subject(d), d.operation, before, after))
        for what, pairs in (("changed", self.changed), ("moved", self.moved)):
            rows += [(what, _subject(a), a.operation, self._said(a), self._said(b)) for a, b in pairs]
        rows.sort(key=lambda row: _ORDER.index(row[0]))
        for of in self.clusters:
            before, after = (text_of(value, str(of.name)) for value in (of.before, of.after))
            rows.append((f"{of.what} {of.table}", of.name, None, before, after))
        heads = ("difference", "name", "operation", "before", "after")
        return Table({h: [row[i] for row in rows] for i, h in enumerate(heads)}, title="differences")

    def _said(self, d: Decision) -> str:
        """Return a decision in short."""
        if d.action == "start":
            return f"{d.node} ({d.reason}, {d.stage})"
        if d.action == "preempt":
            beneficiary = f" for {d.beneficiary.request or d.beneficiary.operation}" if d.beneficiary else ""
            grace = "" if d.grace is None else f", grace {duration(d.grace)}"
            return f"{d.reason} on {d.node}{beneficiary}, {d.mode}{grace}"
        times = "".join(
            f" {word} {instant(time, time)}"
            for word, time in (("at", d.at), ("until", d.until))
            if time is not None
        )
        needed = f": {amounts(d.numbers['needed'], self.units)}" if d.numbers.get("needed") else ""
        return f"{d.action} on {d.node}{times}{needed} ({d.reason})"

    @property
    def head(self) -> str:
        """The summary, if anything differs, and in a line of its own how often what differs."""
        counts = [f"{len(getattr(self, name))} {name}" for name in _ORDER if getattr(self, name)]
        if self.clusters:
            counts.append(f"{len(self.clusters)} in the cluster")
        said = f"{', '.join(counts) or 'no difference'}; {self.same} alike"
        return f"{self.summary}\n{said}" if self else said

    def to_dict(self) -> dict[str, Any]:
        """Return the difference as plain values.

        Returns
        -------
        dict
            ``summary``, ``same``; lists of decisions by ``spared, taken, lost, gained``; lists of pairs by
            ``changed, moved``; ``clusters``: rows with ``what, table, name, before, after``.
        """
        return {
            "summary": self.summary if self else "",
            **{name: [d.to_dict() for d in getattr(self, name)] for name in ("spared", "taken")},
            **{
                name: [[a.to_dict(), b.to_dict()] for a, b in getattr(self, name)]
                for name in ("changed", "moved")
            },
            **{name: [d.to_dict() for d in getattr(self, name)] for name in ("lost", "gained")},
            "same": self.same,
            "clusters": [of.to_dict() for of in self.clusters],
        }

    def __repr__(self) -> str:
        return f"{self.head}\n{self.table()!r}" if self else self.head

    def _repr_html_(self) -> str:
        from evenhand.display import table_html

        return table_html(self.table(), head=self.summary if self else "no difference")


@checked("diff")
def diff(before: Plan, after: Plan) -> PlanDiff:
    """Compare two plans; O(decisions), and O(cells) if their snapshots are not the same."""
    old = {str(d.allocation): d for d in before.decisions.victims}
    new = {str(d.allocation): d for d in after.decisions.victims}
    both = [(old[name], new[name]) for name in old if name in new]
    changed = [(a, b) for a, b in both if _facts(a) != _facts(b)]
    lost, gained, pairs = _unmatched(_others(before), _others(after))
    other = [(a, b) for a, b in pairs if _facts_of_others(a) != _facts_of_others(b)]
    moved = []
    waiting: dict[tuple[str, str], list[Decision]] = {}
    for decision in gained:
        waiting.setdefault(_key(decision)[:2], []).append(decision)
    left = []
    for decision in lost:
        others = waiting.get(_key(decision)[:2])
        if others:
            moved.append((decision, others.pop(0)))
        else:
            left.append(decision)
    return PlanDiff(
        spared=tuple(d for name, d in old.items() if name not in new),
        taken=tuple(d for name, d in new.items() if name not in old),
        changed=(*changed, *other),
        moved=tuple(moved),
        lost=tuple(left),
        gained=tuple(d for ds in waiting.values() for d in ds),
        same=len(both) - len(changed) + len(pairs) - len(other),
        preempts_operations=before._system.preempts_operations and after._system.preempts_operations,
        clusters=tuple(rows_between(before.snapshot, after.snapshot)),
        units=after.snapshot.units,
    )


def _others(plan: Plan) -> list[Decision]:
    """Return all decisions but preemptions."""
    return [d for d in plan.decisions if d.action != "preempt"]


def _key(decision: Decision) -> tuple[str, str, str]:
    return decision.action, str(_subject(decision)), str(decision.node)


def _unmatched(
    old: list[Decision], new: list[Decision]
) -> tuple[list[Decision], list[Decision], list[tuple[Decision, Decision]]]:
    """Return what has no partner of the same action, name and node in the other list, and the pairs."""
    partners: dict[tuple[str, str, str], list[Decision]] = {}
    for decision in new:
        partners.setdefault(_key(decision), []).append(decision)
    left, pairs = [], []
    for decision in old:
        if found := partners.get(_key(decision)):
            pairs.append((decision, found.pop(0)))
        else:
            left.append(decision)
    return left, [d for found in partners.values() for d in found], pairs


def _subject(d: Decision) -> Name | None:
    """Return what a decision is about: its allocation, or the request where there is none."""
    return d.request if d.allocation is None else d.allocation


def _facts(d: Decision) -> tuple[Any, ...]:
    return d.node, d.reason, d.stage, d.beneficiary, d.mode, d.grace, d.until, d.freed, d.kept


def _facts_of_others(d: Decision) -> tuple[Any, ...]:
    """Return what else a decision says; starts and resumptions happen at the plan's instant."""
    if d.action in ("start", "resume"):
        return ()
    return d.at, d.until, d.reason, d.beneficiary, d.numbers.get("needed"), d.freed, d.kept


def _listed(names: list[Name | None]) -> str:
    from evenhand.display.text import clean

    more = len(names) - _NAMED
    return ", ".join(map(clean, names[:_NAMED])) + (f" and {more:,} more" if more > 0 else "")
