"""What Slurm concludes."""

from __future__ import annotations

from tests.properties.conclusions.case import Case, Conclusions, tries

__all__: list[str] = []

_SLURM = "slurm"


@tries("allocations", "higher_partition_tier", system=_SLURM)
def _tier_for_the_request(case: Case) -> Conclusions:
    asks, request = case.served()
    own, tier = case.own, case.numbers.get(f"tier_of_{asks}")
    partitions = getattr(case.plan.policy.settings, "partitions", None)
    if tier is None or own.get("partition") not in (partitions or {}):
        return
    changed = {
        name: {
            **part.model_dump(exclude_unset=True),
            **({"PriorityTier": tier} if name == own["partition"] else {}),
        }
        for name, part in partitions.items()
    }
    yield "tier", lambda: not case.leaves(case.again(partitions=changed), request=request)


@tries("allocations", "higher_priority_in_qos", system=_SLURM)
def _priority_for_the_job(case: Case) -> Conclusions:
    asks, request = case.served()
    priority = case.numbers.get(f"priority_of_{asks}")
    if priority is not None and case.plan.policy.settings.PriorityType == "priority/basic":
        change = case.sets("operations", case.own["name"], priority=priority)
        yield "priority", lambda: not case.leaves(case.again(change), request=request)
