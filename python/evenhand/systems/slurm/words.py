"""What Slurm's policy says of a job in words and numbers: what it falls under, and what is before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.diagnostics import CODES, Diagnostic
from evenhand.systems.slurm.columns import Jobs
from evenhand.systems.slurm.settings import BASES, split_mode
from evenhand.units.text import number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenhand.model import Snapshot
    from evenhand.systems.slurm.priority import Priorities
    from evenhand.systems.slurm.settings import SlurmSettings

__all__ = ["becomes", "contested", "priority_numbers", "tier_and_qos", "unknown_shares", "unused_choices"]


def unknown_shares(jobs: Jobs) -> tuple[Diagnostic, ...]:
    """Return a diagnostic if fair shares count and are not known of some jobs."""
    if not jobs.priorities.lacking:
        return ()
    names = jobs.snapshot.names("operations")
    lacking = tuple(names[row] for row in jobs.priorities.lacking)
    message = f"{CODES['slurm_share_unknown']} Jobs: {len(lacking)}, the first is {lacking[0]!r}."
    return (Diagnostic("slurm_share_unknown", lacking, message, {"count": len(lacking)}),)


def unused_choices(s: SlurmSettings) -> tuple[Diagnostic, ...]:
    """Return a diagnostic if settings choose victims in a way that gang scheduling by tier does not use."""
    if "GANG" not in split_mode(s.PreemptMode)[1] or s.PreemptType != "preempt/partition_prio":
        return ()
    plain = type(s)()
    names = ("victim_selection", "youngest_first", "strict_order", "reorder_count")
    unused = [name for name in names if getattr(s, name) != getattr(plain, name)]
    if s.victim_selection == "test_only":
        unused.remove("victim_selection")
    if not unused:
        return ()
    message = f"{CODES['slurm_choice_not_used']} Settings: {', '.join(unused)}."
    return (Diagnostic("slurm_choice_not_used", (), message, {"settings": unused}),)


def contested(snapshot: Snapshot, pairs: Mapping[str, Any]) -> tuple[Diagnostic, ...]:
    """Return a diagnostic for each job whose room another one may take when its victims have gone."""
    names = snapshot.names("operations")
    found = []
    for row, other in zip(pairs["beneficiary"].tolist(), pairs["earlier"].tolist(), strict=True):
        both = (names[row], names[other])
        message = f"{CODES['slurm_room_contested']} Job {both[0]!r} may lose it to {both[1]!r}."
        found.append(
            Diagnostic("slurm_room_contested", both, message, {"beneficiary": both[0], "other": both[1]})
        )
    return tuple(found)


def tier_and_qos(snapshot: Snapshot, s: SlurmSettings, row: int) -> str:
    """Return what a job falls under, in words."""
    from evenhand.display.text import clean

    jobs = Jobs.of(snapshot, s)
    name, quality = jobs.partition(row), jobs.qos(row)
    partition = jobs.partitions[name]
    job = clean(snapshot.names("operations")[row])
    where = "no partition" if name is None else f"partition {clean(name)}"
    words = [f"operation {job} is in {where} (tier {partition.PriorityTier})"]
    if partition.State != "UP":
        words[-1] += f", which is {partition.State}"
    words += [
        f"tried next in {clean(other)} (tier {jobs.partitions[other].PriorityTier})"
        for other in jobs.further(row)
    ]
    if quality is not None:
        words.append(f"has QOS {clean(quality)}")
    mine, before = float(jobs.priorities.total[row]), _before(jobs, row)
    its = mine if before is None else float(jobs.priorities.total[before])
    words.append(f"priority {number(mine, [its])}{_sum(jobs.priorities.parts(row))}")
    if before is not None:
        name = clean(snapshot.names("operations")[before])
        words.append(
            f"behind operation {name} with {number(its, [mine])}{_more(jobs.priorities, before, row)}"
        )
    return ", ".join(words)


def becomes(snapshot: Snapshot, s: SlurmSettings, row: int) -> str:
    """Return what becomes of a job that is preempted, in words."""
    jobs = Jobs.of(snapshot, s)
    mode = BASES[jobs.derived["mode"][row]]
    if mode == "REQUEUE" and not jobs.derived["requeue"][row]:
        return "if it is preempted it is cancelled: the mode is REQUEUE, and it is not to be requeued"
    return f"if it is preempted the mode is {mode}"


def priority_numbers(snapshot: Snapshot, s: SlurmSettings, row: int) -> dict[str, Any]:
    """Return a job's priority and its parts, and those of the job that it is next behind."""
    jobs = Jobs.of(snapshot, s)

    def numbers(of: int) -> dict[str, Any]:
        return {
            "priority": float(jobs.priorities.total[of]),
            "priority_parts": jobs.priorities.parts(of),
        }

    before = _before(jobs, row)
    if before is None:
        return numbers(row)
    name = snapshot.names("operations")[before]
    return {**numbers(row), "behind": {"operation": name, **numbers(before)}}


def _before(jobs: Jobs, row: int) -> int | None:
    """Return the pending job of the same tier with the next higher priority."""
    total = jobs.priorities.total
    asks = np.unique(np.asarray(jobs.snapshot._core.column("requests", "operation"), np.int64))
    if row not in asks:
        return None
    tiers = jobs.derived["tier"]
    rivals = asks[(total[asks] > total[row]) & (tiers[asks] == tiers[row])].tolist()
    return min(rivals, key=total.__getitem__) if rivals else None


def _sum(parts: Mapping[str, float]) -> str:
    text = " ".join(f"{'-' if part < 0 else '+'} {name} {_plain(abs(part))}" for name, part in parts.items())
    return f" (= {text.removeprefix('+ ')})" if text else ""


def _more(found: Priorities, ahead: int, behind: int) -> str:
    mine, its = found.parts(behind), found.parts(ahead)
    if not mine or not its:
        return ""
    differences = {name: its.get(name, 0.0) - mine.get(name, 0.0) for name in {**its, **mine}}
    parts = [f"{name} {_plain(abs(d))} {'more' if d > 0 else 'less'}" for name, d in differences.items() if d]
    return f" ({', '.join(parts)})" if parts else ""


def _plain(part: float) -> str:
    return number(round(part, 2))
