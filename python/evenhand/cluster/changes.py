"""Carries events out on a stage: what each may do, and what it does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.building.problems import nearest
from evenhand.building.readback import NO_TIME, seconds
from evenhand.building.single import CellError, one_time
from evenhand.cluster.cells import Cells, Refused, Row, name_of, refuse
from evenhand.cluster.events import (
    Count,
    End,
    Event,
    Job,
    Leave,
    Node,
    Put,
    Remove,
    Resize,
    Resume,
    Start,
    Suspend,
    Take,
    Time,
)
from evenhand.errors import InputError, Problem

if TYPE_CHECKING:
    from evenhand.cluster.stage import Stage

__all__ = ["carry_out"]

MOST = 2**60


def carry_out(stage: Stage, events: Sequence[tuple[int, Event]]) -> None:
    """Carry out events that make no table anew; (position, event) each.

    Raises
    ------
    InputError
        If one is wrong; the stage may have changed by then.
    """
    cells = Cells(stage, events)
    for position, event in events:
        try:
            _DO[type(event)](stage, event, cells.of(position))
        except Refused as refused:
            raise _error(position, event, *refused.args) from None


def _error(position: int, event: Event, field: str | None, rule: str, message: str) -> InputError:
    return InputError([Problem("events", position, name_of(event), field, rule, None, message)])


def _alive(stage: Stage, name: Any) -> int:
    slot = stage.slots.get(str(name))
    if slot is None:
        refuse("allocation", "exists", f"there is no allocation {name!r}{nearest(name, stage.slots)}")
    return slot


def _holding(stage: Stage, name: Any, what: str) -> int:
    slot = _alive(stage, name)
    if not stage.core.holds(slot):
        refuse("allocation", "state", f"the allocation {name!r} is leaving or away; it cannot be {what}")
    return slot


def _grow(stage: Stage, which: str, before: Sequence[int], after: Sequence[int]) -> None:
    """Follow a sum; refuse what makes it pass the largest amount."""
    old = stage.sums[which]
    new = tuple(s - b + a for s, b, a in zip(old, before, after, strict=True))
    if any(n > MOST and n > o for n, o in zip(new, old, strict=True)):
        refuse(None, "overflow", "with this event amounts add up to more than 2^60 quanta")
    stage.put(stage.sums, which, new)


def _operation(stage: Stage, row: Mapping[str, Any]) -> int:
    operation = stage.rows["operations"][str(row["operation"])]
    if stage.stated[operation]:
        message = f"the operation {row['operation']!r} states its usage or demand itself; it can have no rows"
        refuse("operation", "sum_agrees", message)
    return operation


def _time(stage: Stage, event: Time, _: Row) -> None:
    try:
        given = one_time(None, text=False)(event.now)
        if not abs(given) < 2**53:
            refuse("now", "finite", f"now is {given!r}; it must be an instant")
    except CellError as error:
        refuse("now", error.rule, f"now {error}")
    now = round(given * 1e6)
    if now < stage.core.now:
        refuse(
            "now", "clock", f"now is {event.now}, before the cluster's own instant: did the clock run back?"
        )
    stage.core.advance(now)


def _start(stage: Stage, event: Start, cells: Row) -> None:
    row = dict(event.row)
    text = str(row["name"])
    if text in stage.slots:
        hint = ", suspended as a victim; resume it" if stage.core.away(stage.slots[text]) else ""
        refuse("name", "unique", f"there is an allocation {row['name']!r} already{hint}")
    if row.get("state", "running") != "running":
        refuse("state", "choice", f"state is {row['state']!r}; what starts is running")
    operation = _operation(stage, row)
    node = -1 if row.get("node") is None else stage.rows["nodes"][str(row["node"])]
    if row.get("start_time") is None:
        row["start_time"] = float(seconds(np.array([stage.core.now]))[0])
        started = stage.core.now
    else:
        started = cells.time("start_time")
    if row.get("last_job_start_time") is not None:
        started = cells.time("last_job_start_time")
    amounts = cells.amounts()
    if event.request is not None:
        _serve(stage, event.request, operation)
    _grow(stage, "wanted", (0,) * len(amounts), amounts)
    slot = stage.core.start(operation, node, np.array(amounts, np.int64), started)
    if (saved := cells.time("last_progress_time")) != NO_TIME:
        stage.core.touch(slot, started, saved)
    stage.put(stage.slots, text, slot)
    stage.put(stage.started, slot, row)
    if row.get("held"):
        stage.put(stage.held, slot, cells.amounts("held"))


def _serve(stage: Stage, request: Any, operation: int) -> None:
    """Let the count of a request fall by one."""
    count, asking, _ = _asked(stage, request)
    if count == 0:
        refuse("request", "count", f"the request {request!r} is for none")
    if asking != operation:
        refuse("request", "operation", f"the request {request!r} is of another operation")
    _set_count(stage, request, count - 1)


def _asked(stage: Stage, request: Any) -> tuple[int, int, tuple[int, ...]]:
    """Return count, operation and amounts of a request."""
    text = str(request)
    if text in stage.asked:
        row, amounts = stage.asked[text]
        return int(row.get("count", 1)), stage.rows["operations"][str(row["operation"])], amounts
    place = stage.request_row(text)
    if place is None:
        refuse("request", "exists", f"there is no request {request!r}{nearest(request, stage.requests)}")
    amounts = tuple(stage.column("requests", "resources", place).tolist())
    return stage.core.pending_of(place), int(stage.column("requests", "operation", place)), amounts


def _set_count(stage: Stage, request: Any, count: int) -> None:
    before, _, amounts = _asked(stage, request)
    _grow(stage, "wanted", [a * before for a in amounts], [a * count for a in amounts])
    text = str(request)
    if text not in stage.asked:
        stage.core.set_pending(stage.requests[text], count)
        if count == 0:
            stage.put(stage.withdrawn, stage.requests[text], True)
    elif count == 0:
        stage.drop(stage.asked, text)
    else:
        stage.put(stage.asked, text, ({**stage.asked[text][0], "count": count}, amounts))


def _count(stage: Stage, event: Count, _: Row) -> None:
    _set_count(stage, event.request, int(event.count))


def _end(stage: Stage, event: End, _: Row) -> None:
    slot = _alive(stage, event.allocation)
    _grow(stage, "wanted", stage.core.amounts_of(slot).tolist(), [0] * len(stage.base.resources))
    stage.core.end(slot)
    stage.drop(stage.slots, str(event.allocation))
    for of in (stage.started, stage.leaving, stage.taken, stage.held, stage.resumed):
        stage.drop(of, slot)


def _leave(stage: Stage, event: Leave, cells: Row) -> None:
    slot = _holding(stage, event.allocation, "told to leave")
    stage.core.preempt(slot)
    whom = cells.label("beneficiary.operation"), cells.label("beneficiary.request")
    stage.put(stage.leaving, slot, (cells.time("deadline"), *whom))


def _suspend(stage: Stage, event: Suspend, cells: Row) -> None:
    slot = _alive(stage, event.allocation)
    if stage.core.away(slot):
        refuse("allocation", "state", f"the allocation {event.allocation!r} is suspended already")
    held = stage.held_of(slot) if event.held is None else cells.amounts()
    has = stage.core.amounts_of(slot).tolist()
    for r, kept, amount in zip(stage.base.resources, held, has, strict=True):
        if kept > amount:
            message = f"the allocation {event.allocation!r} cannot keep more {r} than it has"
            refuse(f"held.{r}", "held_within_resources", message)
    stage.core.suspend(slot, np.array(held, np.int64))
    stage.put(stage.held, slot, held)


def _resume(stage: Stage, event: Resume, cells: Row) -> None:
    slot = _alive(stage, event.allocation)
    if not stage.core.away(slot):
        message = f"the allocation {event.allocation!r} is not suspended as a victim"
        refuse("allocation", "state", message)
    node = stage.core.node_of(slot) if event.node is None else stage.rows["nodes"][str(event.node)]
    started = stage.core.now if event.start_time is None else cells.time("start_time")
    stage.core.resume(slot, node, started)
    stage.put(stage.held, slot, (0,) * len(stage.base.resources))
    stage.put(stage.resumed, slot, (node, started))
    stage.put(stage.leaving, slot, (NO_TIME, None, None))
    stage.put(stage.taken, slot, None)


def _job(stage: Stage, event: Job, cells: Row) -> None:
    slot = _alive(stage, event.allocation)
    started, saved = stage.core.times_of(slot)
    if event.last_job_start_time is not None:
        started = cells.time("last_job_start_time")
    if event.last_progress_time is not None:
        saved = cells.time("last_progress_time")
    stage.core.touch(slot, started, saved)


def _resize(stage: Stage, event: Resize, cells: Row) -> None:
    slot = _holding(stage, event.allocation, "resized")
    amounts = cells.amounts()
    _grow(stage, "wanted", stage.core.amounts_of(slot).tolist(), amounts)
    stage.core.resize(slot, np.array(amounts, np.int64))


def _take(stage: Stage, event: Take, _: Row) -> None:
    slot = _alive(stage, event.allocation)
    if not stage.core.leaving(slot):
        refuse("allocation", "state", f"the allocation {event.allocation!r} is not leaving")
    stage.put(stage.taken, slot, dict(event.resources))


def _node(stage: Stage, event: Node, cells: Row) -> None:
    row = stage.rows["nodes"].get(str(event.node))
    if row is None:
        refuse("node", "exists", f"there is no node {event.node!r}{nearest(event.node, stage.rows['nodes'])}")
    if event.capacity is not None:
        amounts = cells.amounts("capacity")
        _grow(stage, "capacity", stage.core.capacity_of(row).tolist(), amounts)
        stage.core.set_capacity(row, np.array(amounts, np.int64))
    if event.schedulable is not None:
        stage.core.set_schedulable(row, event.schedulable)


def _put(stage: Stage, event: Put, cells: Row) -> None:
    """Put a request that is new since the last snapshot."""
    row = dict(event.row)
    text = str(row["name"])
    _operation(stage, row)
    amounts = cells.amounts()
    if text in stage.asked:
        _set_count(stage, text, 0)
    count = 1 if row.get("count") is None else int(row["count"])
    _grow(stage, "wanted", (0,) * len(amounts), [a * count for a in amounts])
    stage.put(stage.asked, text, ({**row, "count": count}, amounts))


def _remove(stage: Stage, event: Remove, _: Row) -> None:
    """Withdraw a request."""
    _set_count(stage, event.name, 0)


_DO: Mapping[type, Any] = {
    Time: _time,
    Start: _start,
    End: _end,
    Leave: _leave,
    Suspend: _suspend,
    Resume: _resume,
    Job: _job,
    Resize: _resize,
    Take: _take,
    Count: _count,
    Node: _node,
    Put: _put,
    Remove: _remove,
}
