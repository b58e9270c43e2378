"""A plan's decisions as events, and what has been done with them by name."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.building.after import taken_in_all
from evenhand.building.changed import free_names
from evenhand.building.readback import NO_TIME, matrix, seconds
from evenhand.cluster.events import Event, Leave, Start, Take

if TYPE_CHECKING:
    from evenhand.model import Snapshot

__all__ = ["Done", "done_by", "events_of", "whole_plan"]

_START, _PREEMPT = 0, 1
_SUSPEND = 5  # of modes


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


def done_by(plan: Any, present: Container[str]) -> Done:
    """Return what carrying out a plan does, by name.

    Parameters
    ----------
    plan : Plan
    present : container of str
        Names of allocations that there are before.

    Returns
    -------
    Done
    """
    decisions = list(plan.decisions)
    names = iter(free_names(present, [d.request for d in decisions if d.action == "start"]))
    started = [
        next(names) if d.action == "start" else d.allocation
        for d in decisions
        if d.action in ("start", "resume")
    ]
    victims = [d for d in decisions if d.action == "preempt"]
    gone = [d.allocation for d in victims if d.mode not in ("requeue", "suspend", "enhanced_suspend")]
    again = [d.allocation for d in victims if d.mode == "requeue"]
    return Done(tuple(started), tuple(gone), tuple(again))


def events_of(plan: Any, present: Container[str]) -> list[Event]:
    """Return what carries out a plan's decisions, in their order.

    Parameters
    ----------
    plan : Plan
        Its decisions have the columns that `evenhand.building.after.after` reads.
    present : container of str
        Names of allocations that there are.

    Returns
    -------
    list of Event
    """
    columns, snapshot = plan.decisions.columns, plan.snapshot
    action = columns["action"]
    requests = snapshot.names("requests")
    starting = [requests[row] for row in columns["request"][action == _START].tolist()]
    names = iter(free_names(present, starting))
    events: list[Event] = [
        _start(snapshot, columns, row, next(names))
        if action[row] == _START
        else _leave(snapshot, columns, row)
        for row in np.flatnonzero((action == _START) | (action == _PREEMPT)).tolist()
    ]
    leaving = snapshot.names("allocations")
    taken = taken_in_all(snapshot, plan.handed)
    return events + [Take(leaving[row], amounts) for row, amounts in taken.items()]


def whole_plan(plan: Any) -> bool:
    """Return whether a plan does no more than start allocations and ask others to leave with all they have.

    Parameters
    ----------
    plan : Plan

    Returns
    -------
    bool
    """
    columns = plan.decisions.columns
    kept = np.asarray(columns.get("kept", 0))
    suspended = np.asarray(columns["mode"]) == _SUSPEND
    return not ((np.asarray(columns["action"]) > _PREEMPT) | suspended).any() and not kept.any()


def _second(micros: Any) -> float | None:
    return None if micros == NO_TIME else float(seconds(np.array([micros]))[0])


def _amounts(snapshot: Snapshot, quanta: Any) -> dict[str, Any]:
    values = matrix(np.asarray(quanta)[None, :], np.asarray(snapshot._head["quantum"]))[0].tolist()
    return {name: value for name, value in zip(snapshot.resources, values, strict=True) if value}


def _leave(snapshot: Snapshot, columns: Any, row: int) -> Leave:
    beneficiary = {
        field: snapshot.names(f"{field}s")[place]
        for field in ("operation", "request")
        if (place := int(columns[f"beneficiary_{field}"][row])) >= 0
    }
    name = snapshot.names("allocations")[int(columns["allocation"][row])]
    return Leave(name, _second(columns["until"][row]), beneficiary or None)


def _start(snapshot: Snapshot, columns: Any, row: int, name: str) -> Start:
    core, request = snapshot._core, int(columns["request"][row])

    def cell(field: str) -> Any:
        return core.column("requests", field)[request]

    started: dict[str, Any] = {
        "name": name,
        "operation": snapshot.names("operations")[int(columns["operation"][row])],
        "resources": _amounts(snapshot, cell("resources")),
        "start_time": _second(columns["at"][row]),
    }
    if (node := int(columns["node"][row])) >= 0:
        started["node"] = snapshot.names("nodes")[node]
    if (node := int(cell("required_node"))) >= 0:
        started["required_node"] = snapshot.names("nodes")[node]
    if cell("priority_given"):
        started["priority"] = float(cell("priority"))
    if not cell("preemptible"):
        started["preemptible"] = False
    return Start(started, snapshot.names("requests")[request])
