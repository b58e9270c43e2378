"""What Grid Engine concludes."""

from __future__ import annotations

from evenhand.plans import Plan
from tests.properties.conclusions.case import QUANTUM, Case, Conclusions, below, tries

__all__: list[str] = []

_GE = "gridengine"


@tries("allocations", "automatic_preemption", system=_GE)
def _priority_of_the_preemptee(case: Case) -> Conclusions:
    if "beneficiary_priority" not in case.numbers:
        return
    asks, at = case.served()[0], case.printed("at priority", " or above")

    def again(priority: float) -> Plan:
        return case.again(case.sets("operations", case.own["name"], priority=priority))

    yield "priority", lambda: not case.leaves(again(at), operation=asks)
    yield (
        "one below that priority it may be",
        lambda: not case.barred(again(below(at)), "not_lower_priority", operation=asks),
    )


@tries("allocations", "automatic_preemption", system=_GE)
def _without_preemption(case: Case) -> Conclusions:
    """The reservation begins when it is said, and as far away as that no job is preempted for it."""
    operation, request = case.served()
    starts = case.numbers.get("starts_at")
    if starts is None or not request:
        return

    def then() -> object:
        plan = case.again(automatic_preemption=False)
        return plan.why_not(request, table="requests").numbers.get("starts_at")

    yield "it would start then", lambda: then() == starts
    distance = starts - case.data["now"]
    if distance < 1e9:
        yield (
            "within that distance",
            lambda: not case.leaves(case.again(preemption_distance=distance), operation=operation),
        )

        def near() -> bool:
            plan = case.again(preemption_distance=distance - QUANTUM)
            return plan.why_not(request, table="requests").code == "within_preemption_distance"

        if distance > QUANTUM:
            yield "a microsecond farther", lambda: not near()
