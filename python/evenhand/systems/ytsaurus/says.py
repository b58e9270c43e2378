"""What YTsaurus says of outcomes and victims beyond the sentences of their codes."""

from __future__ import annotations

from typing import Final

from evenhand.systems.reason import Clause
from evenhand.systems.ytsaurus.letters import LETTERS

__all__ = ["SAYS"]


def _within(stage: str, setting: str) -> tuple[Clause, ...]:
    """Return clauses of the share within which a stage takes nothing."""
    of, takes = f"its operation's fair share ({setting})", f"the {stage} stage could not have taken it"
    return (
        Clause(f"; within {of} {takes}", (setting,), where={"within": 1}),
        Clause(f"; within {{within:exact}} of {of} {takes}", (setting,)),
    )


_OTHERS = (
    Clause(
        "{stage}, on {node} other victims make room for request {request}, the least by victim_cost"
        " {victim_cost}",
        ("victim_selection", "victim_cost"),
        where={"victim_selection": "minimum"},
    ),
)
_PLACE = ("place", "candidates", "order_key", "began")
_ORDER = (
    "of {candidates} that the stage might take there it was number {place}: the most preemptible first, of"
    " those the newest%s (its last job began {began})"
)

#: By kind and code: the first clause whose facts are known is said.
SAYS: Final = {
    **LETTERS,
    ("request", "limits_of_operation_or_pool"): (
        Clause(
            "{stage}, {element} would be over its limits with it: it uses {used:of limit}",
            ("element", "used", "limit"),
        ),
    ),
    ("request", "backoff"): (
        Clause(
            "{stage}, the last attempt to preempt on {node} was {last_attempt}, and the next is after"
            " {until}: preemptive_scheduling_backoff is {preemptive_scheduling_backoff:span}",
            ("last_attempt", "until"),
        ),
    ),
    ("request", "unschedulable"): (
        Clause(
            "{stage}, operation {operation} cannot be scheduled: {unschedulable_reason}",
            ("unschedulable_reason",),
        ),
    ),
    ("request", "stage_taken"): (
        Clause(
            "{stage}, request {started} of operation {operation} was started on {node} instead",
            ("started", "operation"),
        ),
    ),
    ("allocation", "operation_starving"): (
        Clause(
            "{stage}, operation {starves} is starving itself, and allow_preemption_from_starving_operations"
            " is off",
            ("allow_preemption_from_starving_operations",),
        ),
        Clause(
            "{stage}, allow_normal_preemption of {pool} is off, so this stage takes nothing of it",
            ("pool",),
            says={"allow_normal_preemption": False},
        ),
    ),
    ("allocation", "spared_fits_without"): _OTHERS,
    ("allocation", "given_back"): _OTHERS,
    # What chose a victim.
    ("allocation", "taken"): (
        Clause("it is the only one that the stage might take there", _PLACE, where={"candidates": 1}),
        Clause(_ORDER % ", or with the latest saved progress", _PLACE, where={"order_key": "last_progress"}),
        Clause(_ORDER % "", _PLACE),
    ),
    # What would have spared it.
    ("victim", "resource_limits_violated"): (Clause("; within these limits nothing would leave for them"),),
    ("victim", "graceful_preemption"): (
        Clause(
            "; with preemption_mode normal it would not leave for that",
            says={"preemption_mode": "graceful"},
        ),
    ),
    ("victim", "preemption"): _within("preemptive", "preemption_satisfaction_threshold"),
    ("victim", "aggressive_preemption"): _within(
        "aggressive", "aggressive_preemption_satisfaction_threshold"
    ),
}
