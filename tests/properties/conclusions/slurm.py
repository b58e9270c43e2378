"""What Slurm concludes."""

from __future__ import annotations

import math
from typing import Any

from evenhand.plans import Plan
from tests.properties.conclusions.case import Case, Conclusions, Data, below, met, tries, until

__all__: list[str] = []

_SLURM = "slurm"
_VICTIMS = ("higher_partition_tier", "higher_priority_in_qos", "qos_preempts")


@tries("allocations", "higher_partition_tier", system=_SLURM)
def _tier_for_the_request(case: Case) -> Conclusions:
    asks, request = case.served()
    own, tier = case.own, case.numbers.get(f"tier_of_{asks}")
    partitions = getattr(case.plan.policy.settings, "partitions", None)
    if tier is None or own.get("partition") not in (partitions or {}):
        return

    if not _says(case, "`PriorityTier` of"):
        return
    tier = int(case.printed("with a `PriorityTier` of", " or more"))

    def again(tier: int) -> Plan:
        return case.again(partitions=_with_parts(case, "partitions", own["partition"], PriorityTier=tier))

    yield "tier", lambda: not case.leaves(again(tier), request=request)
    if tier > 0:
        yield (
            "one below that tier it may be",
            lambda: not case.barred(again(tier - 1), "tier_not_lower", request=request),
        )


@tries("allocations", "higher_priority_in_qos", system=_SLURM)
def _priority_for_the_job(case: Case) -> Conclusions:
    asks, request = case.served()
    priority = case.numbers.get(f"priority_of_{asks}")
    if priority is not None:
        yield from _bound_of_priority(case, request)


def _bound_of_priority(case: Case, request: str) -> Conclusions:
    """With that priority it may not be preempted for a request, and with the next below it may be."""
    if case.plan.policy.settings.PriorityType != "priority/basic":
        return
    priority = case.printed("with a priority of", " or more")

    def again(priority: float) -> Plan:
        return case.again(case.sets("operations", case.own["name"], priority=priority))

    yield "priority", lambda: not case.leaves(again(priority), request=request)
    if priority > 0:
        yield (
            "one below that priority it may be",
            lambda: not case.barred(again(below(priority)), "not_lower_priority", request=request),
        )


def _with_parts(case: Case, table: str, name: str, **changes: Any) -> Any:
    """Return a table of the settings in which one part says more."""
    parts = getattr(case.plan.policy.settings, table)
    return {
        one: {**part.model_dump(exclude_unset=True), **(changes if one == name else {})}
        for one, part in parts.items()
    }


@tries("allocations", "tier_not_lower", system=_SLURM)
def _below_the_tier(case: Case) -> Conclusions:
    """With a tier one below, its tier is no longer what spares it from that request."""
    own = case.own
    for one in case.said.looked_at:
        told, request = one.get("compared", {}), str(one["request"])
        if one["outcome"] != "tier_not_lower" or not _says(case, "it might be preempted"):
            continue
        tier = next(
            (t for key, t in told.items() if key.startswith("tier_of_") and key[8:] != own["name"]), 0
        )

        def spared(partitions: Any, request: str = request) -> bool:
            found = case.outcomes(case.again(partitions=partitions))
            return any(o["outcome"] == "tier_not_lower" and str(o["request"]) == request for o in found)

        if tier > 0 and own.get("partition") in (case.plan.policy.settings.partitions or {}):
            changed = _with_parts(case, "partitions", own["partition"], PriorityTier=tier - 1)
            yield "below T", lambda changed=changed, spared=spared: not spared(changed)


@tries("requests", "no_room_even_with_victims", system=_SLURM)
def _if_all_gave_way(case: Case) -> Conclusions:
    """It does not start where all are gone that may be preempted for it."""
    if case.said.code != "no_room_even_with_victims" or not _says(case, "even if all gave way"):
        return
    if "," in str(case.own.get("partition", "")):  # that is said of one of its partitions
        return
    settings = case.plan.policy.settings
    parts = [*(settings.partitions or {}).values(), *(settings.qos or {}).values()]
    if any("SUSPEND" in str(part.PreemptMode) for part in (settings, *parts)):  # those keep their memory
        return
    asks = {str(r["name"]) for r in case.data["requests"] if r["operation"] == case.own["name"]}
    gone = {
        str(case.row(case.data, "allocations", name)["operation"])
        for name in case.plan.snapshot.names("allocations")
        for one in case.plan.why_not(name, table="allocations").looked_at
        if one["outcome"] == "no_start_in_stage" and str(one["request"]) in asks
    }

    def change(data: Data) -> None:
        data["allocations"] = [row for row in data["allocations"] if str(row["operation"]) not in gone]

    yield "if all gave way", lambda: not case.starts(case.again(change))


@tries("allocations", *_VICTIMS, system=_SLURM)
def _what_becomes_of_it(case: Case) -> Conclusions:
    """A batch job that may be requeued is; one that is cancelled beside REQUEUE is neither."""
    text, own = " ".join(case.said.sentences), case.own
    anew = {"settings": {**own.get("settings", {}), "requeue": True}}
    if "only batch jobs are requeued" in text:
        change = case.sets("operations", own["name"], kind="batch", **anew)
    elif "it is not to be requeued" in text:
        change = case.sets("operations", own["name"], **anew)
    else:
        return

    def modes() -> set[str | None]:
        return {d.mode for d in case.again(change).decisions.victims if str(d.allocation) == case.name}

    yield "is cancelled beside REQUEUE", lambda: modes() <= {"requeue"}


@tries("allocations", "qos_preempts", system=_SLURM)
def _of_the_qos(case: Case) -> Conclusions:
    asks, request = case.served()
    its, asking = (case.numbers.get(f"QOS_of_{one}") for one in (case.own["name"], asks))
    if its is None or asking is None:
        return
    if "if that did not list it" in case.said.summary:
        listed = case.plan.policy.settings.qos[asking].Preempt
        without = [one for one in listed if one != its]
        changed = _with_parts(case, "qos", asking, Preempt=without)
        yield "if that did not list it", lambda: not case.leaves(case.again(qos=changed), request=request)
    else:
        yield from _bound_of_priority(case, request)


@tries("requests", "preemption_backoff", "not_eligible_yet", system=_SLURM)
def _until_when(case: Case) -> Conclusions:
    code = case.said.code
    for name in ("until", "eligible_time"):
        if (instant := met(case, code).get(name)) is not None:
            yield name, lambda instant=instant: until(case, code, instant)


@tries("allocations", "above_min_exempt_priority", system=_SLURM)
def _up_to_the_exempt_priority(case: Case) -> Conclusions:
    """Above it a job is exempt, at it not."""
    told, own = met(case, "above_min_exempt_priority"), case.own["name"]
    if told.get("min_exempt_priority") is None or case.plan.policy.settings.PriorityType != "priority/basic":
        return
    at = told["min_exempt_priority"]

    def exempt(priority: float) -> bool:
        plan = case.again(case.sets("operations", own, priority=priority))
        return case.barred(plan, "above_min_exempt_priority")

    yield "above it", lambda: not exempt(at) and exempt(math.nextafter(at, math.inf))


def _says(case: Case, words: str) -> bool:
    return any(words in sentence for sentence in case.said.sentences)
