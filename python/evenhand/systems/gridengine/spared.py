"""How many running jobs a job may not preempt, and by which rule or setting each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from evenhand.explain.facts import seconds
from evenhand.reasons import OUTCOMES

if TYPE_CHECKING:
    from evenhand.explain.facts import Facts

__all__ = ["RULES", "left_out"]

#: Outcome to its words, of one job and of several; what is in braces is a setting of the pace.
RULES: Final[Mapping[str, tuple[str, str]]] = {
    "not_lower_priority": ("has no lower priority", "have no lower priority"),
    "not_preemptible_flag": ("is marked as not preemptible", "are marked as not preemptible"),
    "action_not_allowed": (
        "cannot be preempted in the way that is configured",
        "cannot be preempted in the way that is configured",
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
    """Say how many of the jobs that run may not be preempted, and why; nothing if none was looked at.

    Parameters
    ----------
    facts : Facts
    recorded : mapping
        ``stood``: what became of how many jobs, by outcome.
    numbers : dict
        Receives ``spared``: code to count.
    """
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
