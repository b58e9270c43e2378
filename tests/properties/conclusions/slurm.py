"""What Slurm concludes."""

from __future__ import annotations

from typing import Any

from tests.properties.conclusions.case import Case, Conclusions, Data, tries

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
    changed = _with_parts(case, "partitions", own["partition"], PriorityTier=tier)
    yield "tier", lambda: not case.leaves(case.again(partitions=changed), request=request)


@tries("allocations", "higher_priority_in_qos", system=_SLURM)
def _priority_for_the_job(case: Case) -> Conclusions:
    asks, request = case.served()
    priority = case.numbers.get(f"priority_of_{asks}")
    if priority is not None and case.plan.policy.settings.PriorityType == "priority/basic":
        change = case.sets("operations", case.own["name"], priority=priority)
        yield "priority", lambda: not case.leaves(case.again(change), request=request)


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
    elif case.plan.policy.settings.PriorityType == "priority/basic":
        change = case.sets("operations", case.own["name"], priority=case.numbers[f"priority_of_{asks}"])
        yield "priority", lambda: not case.leaves(case.again(change), request=request)


def _says(case: Case, words: str) -> bool:
    return any(words in sentence for sentence in case.said.sentences)
