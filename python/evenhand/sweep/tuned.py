"""What tuning found, and how it is told."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.errors import printable
from evenhand.simulate.metrics import Metrics
from evenhand.sweep.bounds import Bound, in_vain, kept_and_lost
from evenhand.sweep.front import pareto
from evenhand.table import Table, Tabular

if TYPE_CHECKING:
    from evenhand.diagnostics import Diagnostic
    from evenhand.model import Snapshot

__all__ = ["Tuned", "refused_text"]

_COSTS = (
    "goodput",
    "lost_work",
    "preemptions_per_hour",
    "flaps",
    "victims.in_vain",
    "utilisation",
    "waiting.p95",
)


@dataclass(frozen=True, repr=False)
class Tuned(Tabular):
    """What was found: settings, and how they did where they were tuned and where they were not.

    Attributes
    ----------
    settings : dict
        By dotted name.
    snapshot, policy
        With these settings.
    bounds : tuple of Bound
        The goals, then the limits.
    met : bool
        Whether all of them hold in the part that was tuned on, and more work is kept there than lost, and no
        less kept or more lost than before. If not, these are the settings that come nearest.
    held : bool
        Whether they hold in the part that was held out.
    sure : float
        In how many of those windows of the part that was held out in which the goals can be measured they
        hold, from 0 to 1; NaN if they can in none.
    train, check : Metrics
        Of the part that was tuned on, and of the one that was held out.
    points : Table
        One row for each point that was tried: settings, metrics of the bounds and of the cost, ``strain``
        (the bound that is nearest to breaking: below 1 all hold; infinite where a goal has nothing to
        measure), the same of each window that was tuned on (``strain.window.1``; NaN where a goal has nothing
        to measure), ``error``.
    windows, train_windows : Table
        One row for each window of the part that was held out, and of the one that was tuned on: ``from,
        until``, metrics of the bounds, ``strain``, and whether they hold (null: a goal has nothing to
        measure).
    sampler : {"grid", "tpe", "random"}
        Where the points are from.
    diagnostics : tuple of Diagnostic
        What the run of both parts with these settings says; see `evenhand.simulate.Result`.
    before : mapping of str to number
        Goodput, lost work, metrics of the bounds and strains of windows with the settings as they were given,
        in the part that was tuned on.
    worse : str or None
        What these settings lose or do not finish that those did: then all that were tried do so.
    met_but_worse : int
        How many points met all bounds, but lost more work or finished less than the settings as given.
    """

    settings: dict[str, Any]
    snapshot: Snapshot
    policy: Any
    bounds: tuple[Bound, ...]
    met: bool
    held: bool
    sure: float
    train: Metrics
    check: Metrics
    points: Table
    windows: Table
    train_windows: Table
    sampler: str
    diagnostics: tuple[Diagnostic, ...] = ()
    before: Mapping[str, float] = field(default_factory=dict)
    worse: str | None = None
    met_but_worse: int = 0

    def table(self) -> Table:
        """Return one row a metric of the bounds and of what they cost: ``name, bound, train, check``."""
        named = {b.metric: f"{b.sign} {b.value:g}" for b in self.bounds}
        costs = [m for m in self.train if m not in named and m.startswith(_COSTS)]
        names = [*named, *costs]
        return Table(
            {
                "name": names,
                "bound": [named.get(name) for name in names],
                **{
                    part: np.array([float(metrics.get(name, math.nan)) for name in names])
                    for part, metrics in (("train", self.train), ("check", self.check))
                },
            }
        )

    @property
    def front(self) -> Table:
        """The points that no other is at least as good as in every goal and in lost work, and better in one.

        Those that were refused or ended early are left out.
        """
        goals = [b for b in self.bounds if not b.limit]
        lost = [name for name in self.points.columns if name.startswith("lost_work.")]
        least = dict.fromkeys([*(b.metric for b in goals if b.sign[0] == "<"), *lost])
        most = dict.fromkeys(b.metric for b in goals if b.sign[0] == ">")
        return pareto(self.points, minimize=[*least], maximize=[*most])

    def __repr__(self) -> str:
        from evenhand.display.terminal import table_text

        told = [f"{name} = {value!r}" for name, value in self.settings.items()]
        refused = refused_text([*self.points["error"]], _SAMPLERS[self.sampler])
        done = f"goodput: {_done_text(self.train)}; as given: {_done_text(self.before)}"
        lines = [*refused, done, "", *told, ""]
        lines += [f"tuned on: {self._met_text()}", f"held out: {self._held_text()}", *self._strains()]
        lines += [*(printable(f"{d.code}: {d.message}") for d in self.diagnostics), ""]
        table = self.table()
        return "\n".join(lines) + table_text(table, max_rows=len(table))

    def _met_text(self) -> str:
        """Say whether the bounds hold in what was tuned on, and what is in the way."""
        if self.met:
            met = "all bounds hold"
        elif in_vain(self.train):
            met = "at all settings that were tried more work is lost than kept; these come nearest"
        elif self.worse is not None:
            met = f"all settings that were tried do worse than those given; these come nearest: {self.worse}"
        else:
            met = "no settings that were tried meet all bounds, these come nearest"
            met += "".join(
                f"; {b} is {self.train[b.metric]:.4g}" for b in self.bounds if not b.holds(self.train)
            )
        if self.met_but_worse and not self.met:
            count = self.met_but_worse
            met += (
                f"; {count} of {len(self.points)} points meet{'s' if count == 1 else ''} all bounds, but lose"
                f"{'s' if count == 1 else ''} more work or finish{'es' if count == 1 else ''} less than the"
                " settings given: at_most says how much lost_work may be"
            )
        return met + self._unmeasured(self.train)

    def _held_text(self) -> str:
        """Say whether the bounds hold in what was held out, and in which of its windows."""
        rows = [None if row is None else bool(row) for row in self.windows["holds"]]
        keep, broken, unknown = map(rows.count, (True, False, None))
        whole = [str(b) for b in self.bounds if not b.holds(self.check)]
        said = (
            f"over the whole of it {' and '.join(whole)} {'are' if whole[1:] else 'is'} broken"
            if whole
            else "all bounds hold over all of it"
        )
        said += f"; of its {len(rows)} windows {keep} keep all bounds, {broken} break one or more"
        if unknown:
            goals = " or ".join(b.metric for b in self.bounds if not b.limit)
            said += f", {unknown} have no {goals} to measure"
        return said + self._unmeasured(self.check)

    def _unmeasured(self, part: Mapping[str, float]) -> str:
        names = [b.metric for b in self.bounds if not b.limit and part[b.metric] != part[b.metric]]
        return "".join(f"; {name} has nothing to measure there, which meets no goal" for name in names)

    def _strains(self) -> list[str]:
        """Say how near the nearest bound is to breaking, as given, and in windows."""
        own, given = (max(b.strain(of) for b in self.bounds) for of in (self.train, self.before))
        said = [f"strain (below 1 all bounds hold): {own:.3g}, with the settings as given {given:.3g}"]
        for part, windows in (("tuned on", self.train_windows), ("held out", self.windows)):
            known = [float(strain) for strain in windows["strain"] if strain == strain]
            if known:
                said.append(f"{min(known):.3g} to {max(known):.3g} in windows {part}")
        return ["; ".join(said)]


_SAMPLERS = {
    "grid": "",
    "tpe": "points were proposed by Optuna's TPE",
    "random": "points were drawn at random",
}
_ENDED = "ended at "


def _done_text(metrics: Mapping[str, float]) -> str:
    """Say how much work is kept."""
    said = [
        f"{kept:,.1f} of {kept + lost:,.1f} {resource}-hours"
        for resource, (kept, lost) in kept_and_lost(metrics).items()
    ]
    return ", ".join(said) or "none"


def refused_text(errors: Sequence[str | None], how: str = "") -> list[str]:
    """Say how many points were refused, and why, the most frequent reason first; and how many ended early."""
    reasons = Counter(error for error in errors if error is not None and not error.startswith(_ENDED))
    early = sum(error is not None and error.startswith(_ENDED) for error in errors)
    count = sum(reasons.values())
    points = f"{len(errors)} points"
    lines = [f"{count} of {points} were refused"]
    if reasons:
        (first, most), others = reasons.most_common(1)[0], len(reasons) - 1
        lines[0] += f", {most} of them: {first}" if others else f": {first}"
        if others:
            lines.append(f"{others} other reason{'s' if others > 1 else ''}: points.to_dict()['error']")
    if early:
        lines.append(f"{early} of {points} were ended early, as they could not be the best")
    if how:
        lines.append(how)
    return [*lines, ""]
