"""Codes of the pace that every policy may set: why a possible victim was spared."""

from __future__ import annotations

from typing import Final

from evenhand.systems.reason import Reason

__all__ = ["PACED"]

#: Numbers of the core depend on the order; new ones come at the end.
PACED: Final[tuple[Reason, ...]] = (
    Reason(
        "victim_cooldown",
        "allocation",
        "operation {operation} was preempted too recently to be preempted again",
        "`pace.victim_cooldown` has not passed since its operation was preempted last.",
    ),
    Reason(
        "spared_run_time",
        "allocation",
        "it has run too short to be preempted",
        "It has run for less than `pace.spare_if_ran_less_than`.",
    ),
    Reason(
        "spared_ends_soon",
        "allocation",
        "it ends soon by itself",
        "It is planned to end within `pace.spare_if_ends_within`.",
    ),
    Reason(
        "pool_immune",
        "allocation",
        "at this hour nothing is preempted there",
        "A pool that it stands in has `immune_hours`, and it is one of them.",
    ),
    Reason(
        "pool_victims_per_hour",
        "allocation",
        "a pool that it stands in has given as many victims as it may within an hour",
        "With it, a pool would give more victims than `max_victims_per_hour` within an hour.",
    ),
    Reason(
        "victims_spared",
        "request",
        "{node} would have room for it if no victim were spared by the pace; as it is, {missing} is missing",
        "What could make room for it may be preempted, but for the policy's `pace`.",
    ),
)
