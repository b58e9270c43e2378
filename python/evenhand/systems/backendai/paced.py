"""Why the pace of preemption spares a session, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.explain.facts import name_of, seconds
from evenhand.systems.backendai.met import Met, Words

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evenhand.explain.facts import Facts

__all__ = ["paced_words"]


def paced_words(facts: Facts, met: Met) -> Words | None:
    """Return by which setting the pace spares a session, and until when; None: nothing was compared."""
    tell = _TELL.get(met.spared)
    if tell is None or not met.paced:
        return None
    n, numbers = met.paced, dict(met.paced)
    if met.spared == "victim_cooldown":
        numbers["until"] = n["last_preempted"] + n["victim_cooldown"]
    elif met.spared == "spared_run_time":
        numbers["until"] = n["began"] + n["spare_if_ran_less_than"]
    return Words(tell(facts, numbers), numbers)


def _cooldown(facts: Facts, n: Mapping[str, Any]) -> str:
    last, cooldown = facts.when(n["last_preempted"]), seconds(n["victim_cooldown"])
    text = f"its session was preempted too recently, at {last}, and victim_cooldown is {cooldown}"
    return f"{text}; it may be preempted from {facts.when(n['until'])} on"


def _ran(facts: Facts, n: Mapping[str, Any]) -> str:
    least = seconds(n["spare_if_ran_less_than"])
    return (
        f"its session began at {facts.when(n['began'])}, and spare_if_ran_less_than is {least}; it may be"
        f" preempted from {facts.when(n['until'])} on"
    )


def _ends(facts: Facts, n: Mapping[str, Any]) -> str:
    within = f"within spare_if_ends_within ({seconds(n['spare_if_ends_within'])})"
    return f"its session is planned to end at {facts.when(n['planned_end'])}, {within}"


def _immune(facts: Facts, n: Mapping[str, Any]) -> str:
    return f"{name_of(n['immune'])} has immune_hours until {facts.when(n['until'])}"


def _hour(facts: Facts, n: Mapping[str, Any]) -> str:
    again = f"; again from {facts.when(n['again_from'])} on" if "again_from" in n else ""
    victims = f"{n['victims']:,} victim{'s' * (n['victims'] != 1)}"
    return (
        f"with it {name_of(n['pool'])} would give more victims within an hour than max_victims_per_hour"
        f" ({n['max_victims_per_hour']:,}): it has given {victims}{again}"
    )


_TELL: dict[str, Callable[[Facts, Mapping[str, Any]], str]] = {
    "victim_cooldown": _cooldown,
    "spared_run_time": _ran,
    "spared_ends_soon": _ends,
    "pool_immune": _immune,
    "pool_victims_per_hour": _hour,
}
