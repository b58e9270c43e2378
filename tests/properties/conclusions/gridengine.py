"""What Grid Engine concludes."""

from __future__ import annotations

from tests.properties.conclusions.case import Case, Conclusions, tries

__all__: list[str] = []

_GE = "gridengine"


@tries("allocations", "automatic_preemption", system=_GE)
def _priority_of_the_preemptee(case: Case) -> Conclusions:
    if "beneficiary_priority" in case.numbers:
        change = case.sets("operations", case.own["name"], priority=case.numbers["beneficiary_priority"])
        yield "priority", lambda: not case.leaves(case.again(change), operation=case.served()[0])


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
