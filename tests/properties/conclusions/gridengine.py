"""What Grid Engine concludes."""

from __future__ import annotations

from tests.properties.conclusions.case import QUANTUM, Case, Conclusions, tries

__all__: list[str] = []

_GE = "gridengine"


@tries("allocations", "automatic_preemption", system=_GE)
def _priority_of_the_preemptee(case: Case) -> Conclusions:
    if "beneficiary_priority" in case.numbers:
        change = case.sets("operations", case.own["name"], priority=case.numbers["beneficiary_priority"])
        yield "priority, spared", lambda: not case.leaves(case.again(change))


@tries("requests", "waits_for_reservation", system=_GE)
def _nearer(case: Case) -> Conclusions:
    """With the largest distance below it something leaves for it."""
    starts = case.numbers.get("starts_at")
    if starts is None or not any("it could preempt" in one for one in case.said.sentences):
        return
    distance = starts - case.data["now"]
    own = str(case.own["name"])

    def preempts() -> bool:
        plan = case.again(preemption_distance=distance - QUANTUM)
        return any(
            d.beneficiary is not None and str(d.beneficiary.operation) == own for d in plan.decisions.victims
        )

    yield "it could preempt", preempts
