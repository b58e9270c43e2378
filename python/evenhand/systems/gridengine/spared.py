"""How many running jobs a job may not preempt, and by which rule or setting each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from evenhand.explain.facts import listed, name_of, seconds
from evenhand.explain.told import NOTHING, Told
from evenhand.plans.columns import rows_by_name
from evenhand.reasons import OUTCOMES
from evenhand.systems.gridengine.order import leaving_for

if TYPE_CHECKING:
    from evenhand.explain.facts import Facts

__all__ = ["RULES", "left_out", "of_unseen"]

#: Outcome to its words, of one job and of several; what is in braces is a setting of the pace.
RULES: Final[Mapping[str, tuple[str, str]]] = {
    "not_lower_priority": ("has no lower priority", "have no lower priority"),
    "not_preemptible_flag": ("is marked as not preemptible", "are marked as not preemptible"),
    "action_not_allowed": (
        "does not allow the action by which it would leave",
        "do not allow the action by which they would leave",
    ),
    "already_preempting": ("leaves already", "leave already"),
    "spared_run_time": (
        "has run for less than {spare_if_ran_less_than}",
        "have run for less than {spare_if_ran_less_than}",
    ),
    "spared_ends_soon": ("ends within {spare_if_ends_within}", "end within {spare_if_ends_within}"),
    "victim_cooldown": ("was preempted within {victim_cooldown}", "were preempted within {victim_cooldown}"),
    "pool_immune": ("stands in a pool with `immune_hours` now", "stand in a pool with `immune_hours` now"),
    "pool_victims_per_hour": (
        "stands in a pool that has given its `max_victims_per_hour`",
        "stand in a pool that has given its `max_victims_per_hour`",
    ),
}


def left_out(facts: Facts, recorded: Mapping[str, Any], numbers: dict[str, Any]) -> list[str]:
    """Say how many of the jobs that run may not be preempted, and why; nothing if none was looked at."""
    stood = recorded.get("stood", ())
    found = {code: int(stood[OUTCOMES.index(code)]) for code in RULES if len(stood)}
    found = {code: many for code, many in found.items() if many}
    if not found:
        return []
    numbers["spared"] = found
    pace = facts.plan.policy.settings.pace
    names = ("spare_if_ran_less_than", "spare_if_ends_within", "victim_cooldown")
    given = {name: f"`{name}` ({seconds(getattr(pace, name))})" for name in names}
    texts = [f"{many:,} {RULES[code][many > 1].format(**given)}" for code, many in found.items()]
    joined = " and ".join(filter(None, (", ".join(texts[:-1]), texts[-1])))
    return [f"Of the jobs that run, {joined}"]


def of_unseen(facts: Facts, row: int) -> Told:
    """Say why no job was preempted that could have been this one: a setting, or what waits needs none."""
    s, before = facts.plan.policy.settings, facts.plan.state_before
    if s.max_reservation == 0:
        return Told(text="`max_reservation` is 0: no job gets a reservation, and none is preempted")
    if s.max_preemptees == 0:
        return Told(text="`max_preemptees` is 0: no job is preempted")
    cells = [] if before is None else before.operations.values()
    if not s.automatic_preemption and all(one.get("requested", "no") == "no" for one in cells):
        return Told(text="`automatic_preemption` is off, and no request for preemption was accepted")
    core = facts.snapshot._core
    own = int(core.column("allocations", "operation")[row])
    row_of = rows_by_name(facts.snapshot, "requests")
    waits = [one for one in facts.plan.refusals if one.rule in ("waits_for_victims", "waits_for_reservation")]
    for one in sorted(waits, key=lambda one: one.rule != "waits_for_victims"):
        asks = int(core.column("requests", "operation")[row_of[str(one.request)]])
        job = facts.name("operations", asks)
        numbers: dict[str, Any] = {"served": one.request, "served_operation": job}
        served = f"request {name_of(one.request)} of operation {name_of(job)}"
        if asks == own:
            continue
        if one.rule == "waits_for_reservation":
            if not s.automatic_preemption:
                continue
            numbers["preemption_distance"] = s.preemption_distance
            near = f"within `preemption_distance` ({seconds(s.preemption_distance)})"
            return Told(numbers, f"the reservation of {served} is {near}, so no job is preempted for it")
        if leaving := leaving_for(facts, asks, numbers):
            leaves = f"{listed(leaving)} {'leaves' if len(leaving) == 1 else 'leave'} already"
            return Told(numbers, f"for {served} {leaves}, so no more is preempted for it")
    if len(facts.plan.refusals) == 0:
        return Told(text="no request waits for room")
    return NOTHING
