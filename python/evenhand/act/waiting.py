"""Which jobs still wait after a round, and why they were not served."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from evenhand.act.naming import asking
from evenhand.reasons import ACTIONS, OUTCOMES

if TYPE_CHECKING:
    from evenhand.act.report import Row
    from evenhand.act.tasks import Refusal
    from evenhand.plans import Plan

__all__ = ["held_up", "starting", "waiting", "waiting_text"]

_SERVED = ("started", "dry_run", "unwatched")
_BEHIND = "behind_first_waiting"
#: Of refusals of requests, those that say least; another request of the same job may say more.
_LAST = ("started", "count_exhausted")


def waiting(
    first: Plan,
    last: Plan,
    rows: Iterable[Row],
    left: Mapping[str, Refusal],
    unread: Mapping[str, Iterable[str]],
    *,
    whole: bool,
) -> dict[str, list[str]]:
    """Return the jobs that wait and were not served, by reason."""
    why: dict[str, str] = {}
    rules = _rules(last, whole)
    starts = starting(last, whole=whole)
    done: dict[str, str] = {job: refusal.code for job, refusal in left.items()}
    for row in rows:
        if row.beneficiary is not None and row.outcome != "nothing_to_do":
            served = row.outcome in _SERVED
            done[row.beneficiary] = "" if served else (row.codes[0] if row.codes else "did_not_start")
    for job in dict.fromkeys(asking(first.snapshot, whole=whole)):
        why[job] = done[job] if job in done else "" if job in starts else rules.get(job, "not_planned")
    found: dict[str, list[str]] = {}
    for job, reason in why.items():
        if reason:
            found.setdefault(reason, []).append(job)
    for words, jobs in unread.items():
        found.setdefault(words, []).extend(map(str, jobs))
    return found


def waiting_text(found: Mapping[str, list[str]]) -> str:
    """Return it as ``"3 wait, not served because: 2 cap, 1 did_not_start"``; empty if no job waits."""
    if not found:
        return ""
    counts = sorted(((len(jobs), reason) for reason, jobs in found.items()), key=lambda c: (-c[0], c[1]))
    said = ", ".join(f"{count} {reason}" for count, reason in counts)
    return f"{sum(count for count, _ in counts)} wait, not served because: {said}"


def held_up(found: Mapping[str, list[str]], last: Plan, left: Mapping[str, Refusal], *, whole: bool) -> str:
    """Return which job blocks which and why, where nothing starts behind the first; else nothing."""
    behind = found.get(_BEHIND, [])
    reason_of = {job: reason for reason, jobs in found.items() for job in jobs if reason != _BEHIND}
    partition, priority = _queues(last, whole)
    fronts: dict[str, str] = {}
    for job in reason_of:
        first = fronts.setdefault(partition.get(job, ""), job)
        if priority.get(job, 0.0) > priority.get(first, 0.0):
            fronts[partition.get(job, "")] = job
    held: dict[str, int] = {}
    for job in behind:
        front = fronts.get(partition.get(job, ""))
        if front is not None:
            held[front] = held.get(front, 0) + 1
    return "; ".join(
        f"{count} wait behind {front}, which the system serves first: "
        f"{left[front].message if front in left else reason_of[front]}"
        for front, count in held.items()
    )


def _queues(plan: Plan, whole: bool) -> tuple[dict[str, str], dict[str, float]]:
    """Return partition and priority of jobs that wait, as far as they have them."""
    core, jobs = plan.snapshot._core, asking(plan.snapshot, whole=whole)
    if not jobs:
        return {}, {}
    operation = np.asarray(core.column("requests", "operation"))
    words, codes = core.text("operations", "partition")
    priorities = np.asarray(core.column("operations", "priority"), np.float64)[operation].tolist()
    priority = dict(zip(jobs, priorities, strict=True))
    if not len(codes):
        return {}, priority
    of = np.asarray(codes)[operation].tolist()
    return {job: str(words[c]) for job, c in zip(jobs, of, strict=True) if c >= 0}, priority


def starting(plan: Plan, *, whole: bool) -> set[str]:
    """Return the jobs that start without a victim; O(decisions)."""
    action, step = (plan.decisions.column(name) for name in ("action", "step"))
    taking = set(step[action == ACTIONS.index("preempt")].tolist())
    kind = "operation" if whole else "request"
    names, of = plan.snapshot.names(f"{kind}s"), plan.decisions.column(kind)
    rows = np.flatnonzero(action == ACTIONS.index("start")).tolist()
    return {str(names[of[row]]) for row in rows if step[row] not in taking and of[row] >= 0}


def _rules(plan: Plan, whole: bool) -> dict[str, str]:
    """Return why each job does not start, by the first of its requests that says; O(requests)."""
    if not len(plan.refusals):
        return {}
    jobs = asking(plan.snapshot, whole=whole)
    requests, rules = (plan.refusals.column(name).tolist() for name in ("request", "rule"))
    found: dict[str, str] = {}
    for request, rule in zip(requests, rules, strict=True):
        if request >= 0 and found.get(jobs[request], "started") in _LAST:
            found[jobs[request]] = OUTCOMES[rule]
    return found
