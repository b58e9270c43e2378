"""A plan's decisions as events, and what has been done with them by name."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from evenhand.building.changed import free_names
from evenhand.cluster.events import Event, Leave, Start, Take

if TYPE_CHECKING:
    from evenhand.plans import Decision, Plan

__all__ = ["Done", "done_by", "events_of", "whole_plan"]

_SUSPENDED = ("suspend", "enhanced_suspend")


@dataclass(frozen=True, slots=True)
class Done:
    """What a plan that was carried out has changed, by names of allocations, in the order of its decisions.

    Attributes
    ----------
    started : tuple of str or int
        What runs now: starts by the names that they got (``"<request>/<number>"``), and what was resumed.
    ended : tuple of str or int
        Victims that were asked to leave for good.
    requeued : tuple of str or int
        Victims that were asked to leave and wait again. Those that are suspended stay, and are in neither.
    """

    started: tuple[str | int, ...]
    ended: tuple[str | int, ...]
    requeued: tuple[str | int, ...]


def done_by(decisions: Sequence[Decision], present: Container[str]) -> Done:
    """Return what carrying decisions out does, by name.

    Parameters
    ----------
    decisions : sequence of Decision
    present : container of str
        Names of allocations that there are before.

    Returns
    -------
    Done
    """
    asking = [str(d.request) for d in decisions if d.action == "start"]
    names = iter(free_names(present, asking))
    running = [d for d in decisions if d.action in ("start", "resume")]
    started: list[str | int] = [next(names) if d.action == "start" else _named(d) for d in running]
    victims = [d for d in decisions if d.action == "preempt"]
    ended = [_named(d) for d in victims if d.mode not in ("requeue", *_SUSPENDED)]
    requeued = [_named(d) for d in victims if d.mode == "requeue"]
    return Done(tuple(started), tuple(ended), tuple(requeued))


def _named(decision: Decision) -> str | int:
    """Return the allocation that a decision is about."""
    return cast("str | int", decision.allocation)


def events_of(plan: Plan, present: Container[str]) -> list[Event]:
    """Return what carries out a plan's decisions, in their order.

    Parameters
    ----------
    plan : Plan
    present : container of str
        Names of allocations that there are.

    Returns
    -------
    list of Event
    """
    decisions = list(plan.decisions)
    names = iter(done_by(decisions, present).started)
    events: list[Event] = []
    for d, asked in zip(decisions, plan.decisions.asked(), strict=True):
        if d.action == "start" and asked is not None:
            where = {} if d.node is None else {"node": d.node}
            row = {"name": next(names), "operation": d.operation, "start_time": d.at, **where, **asked}
            events.append(Start(row, d.request))
        elif d.action == "preempt":
            served = d.beneficiary
            whom = None if served is None else {"operation": served.operation, "request": served.request}
            events.append(
                Leave(_named(d), d.until, whom and {k: v for k, v in whom.items() if v is not None})
            )
    return events + [Take(name, amounts) for name, amounts in plan.taken.items()]


def whole_plan(decisions: Sequence[Decision]) -> bool:
    """Return whether decisions do no more than start allocations and ask others to leave with all they have.

    Parameters
    ----------
    decisions : sequence of Decision

    Returns
    -------
    bool
    """
    return all(d.action in ("start", "preempt") and d.mode != "suspend" and not d.kept for d in decisions)
