"""What Slurm's policy says of a job in words and numbers: what it falls under, and who is before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.config.slurm import BASES, split_mode
from evenhand.diagnostics import CODES, Diagnostic
from evenhand.policies.slurm_columns import Jobs, mode_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenhand.config.slurm import SlurmSettings
    from evenhand.model import Snapshot
    from evenhand.policies.slurm_priority import Priorities

__all__ = ["priority_numbers", "tier_and_qos", "unknown_shares", "unused_choices"]


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


def tier_and_qos(snapshot: Snapshot, s: SlurmSettings, row: int) -> str:
    """Return what a job falls under, in words.

    Parameters
    ----------
    snapshot : Snapshot
    s : SlurmSettings
    row : int
        Of the operation.

    Returns
    -------
    str
    """
    from evenhand.display.text import clean

    jobs = Jobs(snapshot, s)
    partition, qos, _ = jobs.of(row)
    name, quality = jobs.partition[row], jobs.qos[row]
    job = clean(snapshot.names("operations")[row])
    where = "no partition" if name is None else f"partition {clean(name)}"
    words = [f"operation {job} is in {where} (tier {partition.PriorityTier})"]
    if qos is not None:
        words.append(f"has QOS {clean(quality)}")
    words.append(f"priority {jobs.priorities.total[row]:.10g}{_sum(jobs.priorities.parts(row))}")
    before = _before(jobs, row)
    if before is not None:
        who, its = clean(snapshot.names("operations")[before]), jobs.priorities.total[before]
        words.append(f"behind operation {who} with {its:.10g}{_more(jobs.priorities, before, row)}")
    mode = BASES[mode_of(s, *jobs.of(row))]
    return f"{', '.join(words)}; if it is preempted the mode is {mode}"


def priority_numbers(snapshot: Snapshot, s: SlurmSettings, row: int) -> dict[str, Any]:
    """Return a job's priority and its parts, and those of the job that it is next behind.

    Parameters
    ----------
    snapshot : Snapshot
    s : SlurmSettings
    row : int
        Of the operation.

    Returns
    -------
    dict
        ``priority`` and ``priority_parts``; if it is behind another one, ``behind`` with ``operation``
        and the same two.
    """
    jobs = Jobs(snapshot, s)

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
    tiers = {name: partition.PriorityTier for name, partition in jobs.partitions.items()}
    own = tiers[jobs.partition[row]]
    ahead = asks[total[asks] > total[row]]
    rivals = [other for other in ahead.tolist() if tiers[jobs.partition[other]] == own]
    return min(rivals, key=total.__getitem__) if rivals else None


def _sum(parts: Mapping[str, float]) -> str:
    text = " ".join(f"{'-' if part < 0 else '+'} {name} {_plain(abs(part))}" for name, part in parts.items())
    return f" (= {text.removeprefix('+ ')})" if text else ""


def _more(found: Priorities, ahead: int, behind: int) -> str:
    mine, its = found.parts(behind), found.parts(ahead)
    if not mine or not its:
        return ""
    differences = {name: its.get(name, 0.0) - mine.get(name, 0.0) for name in {**its, **mine}}
    told = [f"{name} {_plain(abs(d))} {'more' if d > 0 else 'less'}" for name, d in differences.items() if d]
    return f" ({', '.join(told)})" if told else ""


def _plain(number: float) -> str:
    return f"{round(number, 2):.10g}"
