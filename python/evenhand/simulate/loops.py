"""Jobs that lose their work again and again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.diagnostics import Diagnostic
from evenhand.errors import printable
from evenhand.simulate.record import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.simulate.record import Record

    Flags = NDArray[np.bool_]

__all__ = ["Loop", "hours", "loops", "noted"]

#: So often a job loses its work, with nothing saved or finished between, within so many microseconds.
TIMES, WITHIN = 3, 86_400_000_000

_COMPLETED = 1
_TAKEN = (2, 3, 6)  # preempted, aborted, lost with another part
_LISTED = 3


@dataclass(frozen=True)
class Loop:
    """A job that lost its work in a loop.

    Attributes
    ----------
    operation : int
        Row.
    times : int
        How often; what leaves at one instant is one time.
    lost : array, (R,)
        Units of resources times hours.
    beneficiaries : tuple of int
        Operations for which it was preempted, the most frequent first.
    """

    operation: int
    times: int
    lost: NDArray[np.float64]
    beneficiaries: tuple[int, ...]


def loops(record: Record, counts: Flags | None = None) -> list[Loop]:
    """Return the jobs that lost their work three times in a day without finishing or saving anything of it.

    Parameters
    ----------
    record : Record
    counts : array of bool, optional
        Which rows of its allocations count, by when they ended; by default all that have.

    Returns
    -------
    list of Loop
        Those that lost the most first: of the resource of which they lost the largest part of all loops.

    Notes
    -----
    O(n log n).
    """
    t = record.tables["allocations"]
    end, kept, lost = (t[name].astype(np.int64) for name in ("end", "kept", "lost"))
    ended = (end != NO_TIME) & (t["request"] >= 0)
    ended &= ended if counts is None else counts
    before = t["resumed_from"].astype(np.int64)
    had = np.where(before >= 0, kept[before], 0) if len(kept) else kept
    progress = ended & ((t["outcome"] == _COMPLETED) | (kept > had))
    taken = ended & np.isin(t["outcome"], _TAKEN) & (t["decision"] >= 0) & (lost > 0)
    rows = np.flatnonzero(progress | taken)
    order = np.lexsort((end[rows], t["operation"][rows]))
    rows = rows[order]
    owner, time = t["operation"][rows].astype(np.int64), end[rows]
    new = np.ones(len(rows), np.bool_)
    new[1:] = (np.diff(owner) != 0) | (np.diff(time) != 0)
    instant = np.cumsum(new) - 1
    saves = np.zeros(int(new.sum()), np.bool_)
    np.logical_or.at(saves, instant, progress[rows])
    # A chain begins with a job, and after each instant at which something was kept.
    its, at = owner[new], time[new]
    begins = np.ones(len(its), np.bool_)
    begins[1:] = (np.diff(its) != 0) | saves[:-1]
    chain = np.cumsum(begins)[~saves]
    at, turn = at[~saves], np.flatnonzero(~saves)
    closes = np.zeros(len(at), np.bool_)
    last = TIMES - 1
    closes[last:] = (chain[last:] == chain[:-last]) & (at[last:] - at[:-last] <= WITHIN)
    inside = closes.copy()
    for back in range(1, TIMES):
        inside[:-back] |= closes[back:]
    in_loop = np.zeros(len(saves), np.bool_)
    in_loop[turn[inside]] = True
    found = [_loop(record, rows[in_loop[instant]], o) for o in np.unique(its[in_loop]).tolist()]
    total = np.sum([one.lost for one in found], axis=0)
    part = [float(np.max(one.lost / np.where(total > 0, total, np.inf), initial=0)) for one in found]
    return [found[i] for i in sorted(range(len(found)), key=lambda i: (-part[i], found[i].operation))]


def hours(amount: float) -> str:
    """Write resource-hours in few digits."""
    return f"{amount:,.1f}" if amount >= 10 else f"{amount:.3g}"


def _loop(record: Record, rows: NDArray[np.int64], operation: int) -> Loop:
    t = record.tables["allocations"]
    rows = rows[t["operation"][rows] == operation]
    lost = t["lost"][rows, None] / 3.6e9 * record.amounts[t["request"][rows]]
    served = record.tables["decisions"]["beneficiary_operation"][t["decision"][rows]].astype(np.int64)
    operations, often = np.unique(served[served >= 0], return_counts=True)
    beneficiaries = tuple(operations[np.lexsort((operations, -often))].tolist())
    return Loop(operation, len(np.unique(t["end"][rows])), lost.sum(axis=0), beneficiaries)


def noted(found: Sequence[Loop], names: Sequence[Any], resources: Sequence[str]) -> tuple[Diagnostic, ...]:
    """Say which jobs lost their work in a loop, how often and how much of it, and for whom."""
    if not found:
        return ()
    said = []
    for one in found[:_LISTED]:
        lost = [f"{hours(v)} {r}-hours" for r, v in zip(resources, one.lost.tolist(), strict=True) if v > 0]
        others = [f'"{names[o]}"' for o in one.beneficiaries[:_LISTED]]
        more = len(one.beneficiaries) - len(others)
        for_whom = " and ".join([", ".join(others), *([f"{more} more"] if more else [])])
        said.append(
            f'"{names[one.operation]}" lost its work {one.times} times ({", ".join(lost)})'
            f"{f', for {for_whom}' if others else ''}"
        )
    if len(found) > _LISTED:
        said.append(f"{len(found) - _LISTED} other jobs likewise")
    text = "; ".join(said) + ": each time with two others within a day, and nothing finished or saved between"
    numbers = {"jobs": len(found), "times": sum(one.times for one in found)}
    return (
        Diagnostic("preemption_loop", tuple(names[o.operation] for o in found), printable(text), numbers),
    )
