"""What Slurm's policy says of a victim: by which rule it leaves, what chose it, and what becomes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.explain.facts import name_of, number, seconds
from evenhand.explain.told import Told
from evenhand.reasons import OUTCOMES
from evenhand.systems.slurm.settings import flags_of, split_mode
from evenhand.systems.slurm.telling import Telling

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenhand.explain.facts import Facts
    from evenhand.systems.slurm.columns import Jobs

__all__ = ["of_victim"]

_TAKEN = OUTCOMES.index("taken")
#: By the rule alone, which does not ask what other requests would take.
_SPARED = "{} it would not leave for this request"
_BECOMES = {"terminate": "is cancelled", "requeue": "is requeued", "suspend": "is suspended"}


def of_victim(facts: Facts, row: int) -> Told:
    """Return what is said of a victim."""
    plan = facts.plan
    column = plan.decisions.column
    slot = int(column("allocation")[row])
    decision = plan.decisions[row]
    victim, asks = int(column("operation")[row]), int(column("beneficiary_operation")[row])
    request = None if decision.beneficiary is None else decision.beneficiary.request
    trace = plan._trace("allocation", slot)
    taken = np.flatnonzero(np.asarray(trace["outcome"]) == _TAKEN).tolist()
    recorded = dict(trace["facts"][taken[-1]]) if taken else {}
    telling = Telling(facts, victim, {"outcome": decision.reason, "request": request}, recorded)
    text, numbers = _rule(telling, decision.reason, asks)
    sentences = []
    if recorded:
        sentence, more = _place(telling)
        sentences.append(sentence)
        numbers |= more
    sentence, more = _mode(telling, str(decision.mode), decision.grace)
    sentences.append(sentence)
    numbers |= more
    lacking = _licences(telling, row, asks) or _chosen(telling, row, asks)
    return Told(numbers, text, tuple(sentences), fields={"lacking": lacking} if lacking else {})


def _rule(t: Telling, reason: str, asks: int) -> tuple[str, dict[str, Any]]:
    """Return by which rule a job may be preempted, and what would have spared it."""
    jobs = t.jobs
    priorities = [float(jobs.priorities.total[of]) for of in (t.row, asks)]
    shown = [number(priorities[0], priorities[1:]), number(priorities[1], priorities[:1])]
    by_qos = t.settings.PreemptType == "preempt/qos"
    part = t.settings.qos.get(jobs.qos(asks) or "") if by_qos else jobs.partitions[t.partition_of_asking]
    flagged = "PRIORITY" in flags_of(t.settings, part)
    if reason == "higher_partition_tier":
        own, other = int(jobs.derived["tier"][t.row]), t.tier_of_asking
        numbers = t.of_both("tier", {t.row: own, asks: other})
        mine = t.partition(jobs.partition(t.row))
        text = f" ({other} of {t.partition(t.partition_of_asking)}, {own} of {mine})"
        spared = _SPARED.format(f"with a `PriorityTier` of {other} or more of {mine}")
        if flagged:
            text += f" and whose priority {shown[1]} is not below its {shown[0]}"
            numbers |= t.of_both("priority", {t.row: priorities[0], asks: priorities[1]})
        return text if t.several else f"{text}; {spared}", numbers
    own_qos, other_qos = jobs.qos(t.row), jobs.qos(asks)
    numbers = t.of_both("QOS", {t.row: own_qos, asks: other_qos})
    if reason == "higher_priority_in_qos":
        numbers |= t.of_both("priority", {t.row: priorities[0], asks: priorities[1]})
        text = f" (QOS {name_of(own_qos)}, priority {shown[1]} above {shown[0]})"
        return f"{text}; {_SPARED.format(f'with a priority of {shown[1]} or more')}", numbers
    text = f" (`Preempt` of QOS {name_of(other_qos)} lists {name_of(own_qos)})"
    if flagged:
        numbers |= t.of_both("priority", {t.row: priorities[0], asks: priorities[1]})
        return f"{text}; {_SPARED.format(f'with a priority of {shown[1]} or more')}", numbers
    return f"{text}; {_SPARED.format('if that did not list it,')}", numbers


def _place(t: Telling) -> tuple[str, dict[str, Any]]:
    """Return which place it had among all that might leave, and by what they are ordered."""
    s, jobs = t.settings, t.jobs
    place, count, victims = (int(t.numbers[name]) for name in ("place", "candidates", "victims"))
    numbers: dict[str, Any] = {"place": place, "candidates": count, "victim_jobs": victims}
    if count == 1:
        return f"No other job might be preempted for {t.asking}", numbers
    gang = "GANG" in split_mode(s.PreemptMode)[1] and s.PreemptType == "preempt/partition_prio"
    if s.youngest_first and not gang:
        began = float(jobs.derived["started"][t.row]) / 1e6
        numbers["start_time"] = began
        order = f"`youngest_first`, the last start first; it started at {t.facts.when(began)}"
    else:
        name, rank = _rank(jobs, t)
        nodes = _nodes(t)
        numbers |= {name: rank, "nodes": nodes}
        order = f"the lowest {name} first, then the fewest nodes; it has {rank} and {nodes:,}"
    text = (
        f"Of {count:,} jobs that might be preempted for {t.asking} it is wanted as number {place:,} ({order})"
    )
    leave = f"{victims:,} of them leave{'s' * (victims == 1)}"
    numbers["victim_selection"] = s.victim_selection
    how = {
        "minimum": "the fewest"
        if s.victim_cost == "victims"
        else f"the cheapest by `victim_cost` {s.victim_cost}",
        "reorder": f"taken in that order until it fits, and reordered (`reorder_count` is {s.reorder_count})",
        "test_only": "all that run on the chosen nodes",
        "prefix": "taken in that order until it fits",
        "irreducible": "taken in that order until it fits, without those that it does not need",
    }[s.victim_selection]
    if gang:
        how = "those that do not fit beside it"
        return f"{text}; {leave}, {how}", numbers
    return f"{text}; {leave}, {how} (`victim_selection` is {s.victim_selection})", numbers


def _rank(jobs: Jobs, t: Telling) -> tuple[str, int]:
    if t.settings.PreemptType == "preempt/qos":
        quality = t.settings.qos.get(jobs.qos(t.row) or "")
        return "QOS priority", 0 if quality is None else quality.Priority
    return "tier", int(jobs.derived["tier"][t.row])


def _nodes(t: Telling) -> int:
    core = t.snapshot._core
    mine = np.asarray(core.column("allocations", "operation")) == t.row
    nodes = np.unique(np.asarray(core.column("allocations", "node"))[mine])
    return int((nodes >= 0).sum())


def _mode(t: Telling, mode: str, grace: float | None) -> tuple[str, dict[str, Any]]:
    """Return what becomes of it, by which setting."""
    s, jobs = t.settings, t.jobs
    part, quality = jobs.partition(t.row), jobs.qos(t.row)
    by_qos = s.PreemptType == "preempt/qos"
    of_qos = None if quality is None else s.qos[quality]
    own = (None if of_qos is None else of_qos.PreemptMode) if by_qos else jobs.partitions[part].PreemptMode
    base = "OFF" if own is None else split_mode(own)[0]
    of_cluster = own is None or (by_qos and base == "OFF")
    whose = f"QOS {name_of(quality)}" if by_qos else t.partition(part)
    said = split_mode(s.PreemptMode)[0] if of_cluster else base
    where = "the cluster" if of_cluster else whose
    text = f"Its job {_BECOMES[mode]}: `PreemptMode` of {where} is {said}"
    if mode == "terminate" and said == "REQUEUE":
        text += ", and it is not to be requeued (`requeue` of its row, or `JobRequeue`)"
    if mode == "terminate" and said == "SUSPEND":
        text += ", and its `signal` has the flag R"
    numbers: dict[str, Any] = {"PreemptMode": said}
    if mode != "suspend" and grace is not None:
        numbers["GraceTime"] = grace
        text += f"; `GraceTime` of {whose} is {seconds(grace)}"
    return text, numbers


def _chosen(t: Telling, row: int, asks: int) -> str:
    """Return why it leaves a node of which nothing was lacking."""
    column = t.facts.plan.decisions.column
    needed, free = (np.asarray(column(name)[row]) for name in ("needed", "free_before"))
    if not needed.any() or (needed > free).any():
        return ""
    linear = t.settings.SelectType == "select/linear"
    parts = (t.jobs.partition(t.row), t.partition_of_asking)
    apart = any(t.jobs.partitions[part].OverSubscribe == "EXCLUSIVE" for part in parts)
    if linear or apart or any(t.jobs.own(of).exclusive for of in (t.row, asks)):
        return "the node is needed, and not both of them share it,"
    return "it runs on a node that was chosen"


def _licences(t: Telling, row: int, asks: int) -> str:
    """Return which licences were short that it holds, where nothing of its node is needed."""
    decisions, snapshot = t.facts.plan.decisions, t.snapshot
    core = snapshot._core
    if not t.settings.reclaim_licenses or np.asarray(decisions.column("needed")[row]).any():
        return ""
    mine = np.asarray(core.column("requests", "operation")) == asks
    count = np.asarray(core.column("requests", "count"))[mine].astype(np.int64)
    needed = (np.asarray(core.column("requests", "resources"))[mine] * count[:, None]).sum(axis=0)
    holds = np.asarray(core.column("allocations", "resources"))[
        np.asarray(core.column("allocations", "operation")) == t.row
    ].sum(axis=0)
    lacks = np.maximum(needed - np.asarray(decisions.column("free_before")[row]), 0)
    wide = t.shared()
    shared = np.array([r in wide for r in snapshot.resources])
    lacks = np.where(shared & (holds > 0), lacks, 0)
    if not lacks.any():
        return ""
    short: Mapping[str, float] = t.facts.object(lacks)
    return f"{t.facts.amounts(short)} more of the cluster's, which its job holds, is needed"
