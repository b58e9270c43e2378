"""Carries events out on a stage: the core does, and what it cannot read is checked by the rules of tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.building.problems import nearest
from evenhand.cluster.cells import checked_event, name_of
from evenhand.cluster.events import (
    KINDS,
    Event,
    Leave,
    Put,
    Remove,
    Resize,
    Suspend,
    Take,
    as_event,
)
from evenhand.cluster.remade import makes_anew, remade
from evenhand.errors import InputError, Problem, shorten

if TYPE_CHECKING:
    from evenhand.cluster.columns import Columns, Listed
    from evenhand.cluster.stage import Stage

__all__ = ["carry_out"]

_CLASSES = tuple(KINDS.values())


def carry_out(stage: Stage, events: Listed | Columns, at: int) -> Stage:
    """Carry out events in their order."""
    while True:
        first, at = at, events.plain(stage, at)
        stage.changed = stage.changed or at > first
        if at == len(events):
            return stage
        event = _event(events, at)
        if makes_anew(stage, event):
            rows: list[tuple[int, Put | Remove]] = []
            while isinstance(event, Put | Remove):  # whatever puts or removes rows is one more of these
                rows.append((at, event))
                at += 1
                if at == len(events):
                    break
                event = _event(events, at)
            stage = remade(stage, rows)
        else:
            broken = stage.core.carry_out_one(checked_event(stage, at, event), _CLASSES, stage)
            if broken is not None:
                field, rule = broken
                message = _said(stage, event, field, rule)
                raise InputError([Problem("events", at, name_of(event), field, rule, None, message)])
            stage.changed = True
            at += 1


def _event(events: Listed | Columns, position: int) -> Event:
    try:
        return as_event(events[position])
    except ValueError as error:
        field, rule, message = error.args
        raise InputError([Problem("events", position, None, field, rule, None, message)]) from None


def _said(stage: Stage, event: Any, field: str | None, rule: str) -> str:
    """Return in words which rule of a cluster an event breaks."""
    match field, rule:
        case None, _:
            return "with this event amounts add up to more than 2^60 quanta"
        case "now", "clock":
            return f"now is {event.now}, before the cluster's own instant: did the clock run back?"
        case "now", _:
            times = "it must be within 2^60 microseconds of zero: times are seconds, not milliseconds"
            return f"now is {event.now}; {times}"
        case "name", _:
            name = event.row["name"]
            away = stage.core.away(stage.find("allocations", name))
            hint = ", suspended as a victim; resume it" if away else ""
            return f"there is an allocation {shorten(name)!r} already{hint}"
        case "state", _:
            return f"state is {shorten(event.row['state'])!r}; what starts is running"
        case "operation", _:
            name = shorten(event.row["operation"])
            return f"the operation {name!r} states its usage or demand itself; it can have no rows"
        case _, "exists":
            name = event.name if isinstance(event, Remove) else getattr(event, str(field))
            hint = nearest(name, [str(known) for known in stage.core.names(f"{field}s")])
            return f"there is no {field} {shorten(name)!r}{hint}"
        case "request", _:
            has = "has a count of 0" if rule == "count" else "is of another operation"
            return f"the request {shorten(event.request)!r} {has}"
    return f"the allocation {shorten(event.allocation)!r} {_of_allocation(event, str(field))}"


def _of_allocation(event: Event, field: str) -> str:
    """Return why something cannot happen to an allocation."""
    _, _, resource = field.partition(".")
    match event:
        case Leave() | Suspend() if resource:
            return f"cannot keep more {resource} than it has"
        case Resize() if resource:
            return f"would keep more {resource} than it has"
        case Leave():
            return "is leaving or suspended as a victim; it cannot be asked to leave"
        case Resize():
            return "is leaving or suspended as a victim; it cannot be resized"
        case Suspend():
            return "is suspended already"
        case Take():
            return "is not leaving"
    return "is not suspended as a victim"
