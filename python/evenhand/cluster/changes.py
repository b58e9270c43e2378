"""Carries events out on a stage: what each may do, and what it does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.building.problems import nearest
from evenhand.building.single import CellError, one_time
from evenhand.cluster.cells import Refused, Row, cells_of, name_of, refuse
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
    as_event,
)
from evenhand.cluster.remade import remade
from evenhand.cluster.runs import makes_anew
from evenhand.errors import InputError, Problem, shorten

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.cluster.columns import Columns, Listed
    from evenhand.cluster.stage import Stage

__all__ = ["carry_out"]

MOST = 2**60


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
            _one(stage, at, event)
            stage.changed = True
            if (came := _came(event)) is not None:
                stage.came.append(came)
            at += 1


def _came(event: Event) -> tuple[str, Any] | None:
    """Return table and name of a row whose settings an event may change; None: it changes none."""
    match event:
        case Start(row) if row.get("settings"):
            return "allocations", row["name"]
        case Put(table, row):
            return table, row["name"]
        case Node(name, capacity) if capacity is not None:
            return "nodes", name
        case Take(name) | Leave(name) | Resume(name):
            return "allocations", name
    return None


def _event(events: Listed | Columns, position: int) -> Event:
    try:
        return as_event(events[position])
    except ValueError as error:
        field, rule, message = error.args
        raise InputError([Problem("events", position, None, field, rule, None, message)]) from None


def _one(stage: Stage, position: int, event: Event) -> None:
    cells = cells_of(stage, position, event)
    try:
        _DO[type(event)](stage, event, cells)
    except Refused as refused:
        raise _error(position, event, *refused.args) from None


def _error(position: int, event: Event, field: str | None, rule: str, message: str) -> InputError:
    return InputError([Problem("events", position, name_of(event), field, rule, None, message)])


def _alive(stage: Stage, name: Any) -> int:
    slot = stage.find("allocations", name)
    if slot < 0:
        hint = nearest(name, [str(n) for n in stage.core.names("allocations")])
        refuse("allocation", "exists", f"there is no allocation {shorten(name)!r}{hint}")
    return slot


def _holding(stage: Stage, name: Any, what: str) -> int:
    slot = _alive(stage, name)
    if not stage.core.holds(slot):
        refuse(
            "allocation",
            "state",
            f"the allocation {shorten(name)!r} is leaving or suspended as a victim; it cannot be {what}",
        )
    return slot


def _grow(sums: NDArray[np.int64], before: Sequence[int], after: Sequence[int]) -> None:
    """Refuse what makes a sum pass the largest amount."""
    for s, b, a in zip(sums.tolist(), before, after, strict=True):
        if a > b and s - b + a > MOST:
            refuse(None, "overflow", "with this event amounts add up to more than 2^60 quanta")


def _operation(stage: Stage, row: Mapping[str, Any]) -> int:
    operation = stage.find("operations", row["operation"])
    if stage.core.stated(operation):
        name = shorten(row["operation"])
        message = f"the operation {name!r} states its usage or demand itself; it can have no rows"
        refuse("operation", "sum_agrees", message)
    return operation


def _node_of(stage: Stage, row: Mapping[str, Any], field: str = "node") -> int:
    return -1 if row.get(field) is None else stage.find("nodes", row[field])


def _time(stage: Stage, event: Time, _: Row) -> None:
    try:
        given = one_time(None, text=False)(event.now)
        if not abs(given) < 2**53:
            refuse("now", "finite", f"now is {shorten(given)!r}; it must be an instant")
    except CellError as error:
        refuse("now", error.rule, f"now {error}")
    now = round(given * 1e6)
    if now < stage.core.now:
        refuse(
            "now", "clock", f"now is {event.now}, before the cluster's own instant: did the clock run back?"
        )
    stage.core.advance(now)


def _start(stage: Stage, event: Start, cells: Row) -> None:
    row, core = event.row, stage.core
    slot = stage.find("allocations", row["name"])
    if slot >= 0:
        hint = ", suspended as a victim; resume it" if core.away(slot) else ""
        refuse("name", "unique", f"there is an allocation {shorten(row['name'])!r} already{hint}")
    if row.get("state", "running") != "running":
        refuse("state", "choice", f"state is {shorten(row['state'])!r}; what starts is running")
    operation = _operation(stage, row)
    began = core.now if row.get("start_time") is None else cells.time("start_time")
    started = began if row.get("last_job_start_time") is None else cells.time("last_job_start_time")
    amounts = cells.amounts()
    if event.request is not None:
        _serve(stage, event.request, operation)
    _grow(core.asked(), (0,) * len(amounts), amounts)
    places = _node_of(stage, row), _node_of(stage, row, "required_node")
    note = stage.noted(*cells.beside())
    core.start_row(cells.core, cells.at, operation, *places, began, started, note)


def _serve(stage: Stage, request: Any, operation: int) -> None:
    """Let the count of a request fall by one."""
    count, asking, _ = stage.core.request(_asked(stage, request))
    if count == 0:
        refuse("request", "count", f"the request {shorten(request)!r} has a count of 0")
    if asking != operation:
        refuse("request", "operation", f"the request {shorten(request)!r} is of another operation")
    _set_count(stage, request, count - 1)


def _asked(stage: Stage, request: Any) -> int:
    row = stage.find("requests", request)
    if row < 0:
        hint = nearest(request, [str(n) for n in stage.core.names("requests")])
        refuse("request", "exists", f"there is no request {shorten(request)!r}{hint}")
    return row


def _set_count(stage: Stage, request: Any, count: int) -> None:
    row = _asked(stage, request)
    if count == 0:
        stage.core.remove_request(row)
        return
    before, _, amounts = stage.core.request(row)
    each = amounts.tolist()
    _grow(stage.core.asked(), [a * before for a in each], [a * count for a in each])
    stage.core.set_pending(row, count)


def _count(stage: Stage, event: Count, _: Row) -> None:
    _asked(stage, event.request)  # of a request that is not there the count has not been looked at
    _set_count(stage, event.request, int(event.count))


def _end(stage: Stage, event: End, _: Row) -> None:
    stage.core.end(_alive(stage, event.allocation))


def _leave(stage: Stage, event: Leave, cells: Row) -> None:
    slot = _holding(stage, event.allocation, "asked to leave")
    beneficiary = cells.label("beneficiary.operation") or "", cells.label("beneficiary.request") or ""
    held = () if event.held is None else _held(stage, slot, event, cells)
    stage.core.leave(slot, cells.time("deadline"), *beneficiary, held)


def _held(stage: Stage, slot: int, event: Leave | Suspend, cells: Row) -> tuple[int, ...]:
    """Return what an allocation keeps: no more than it has."""
    held, has = cells.amounts(), stage.core.amounts_of(slot).tolist()
    for r, kept, amount in zip(stage.base.resources, held, has, strict=True):
        if kept > amount:
            message = f"the allocation {shorten(event.allocation)!r} cannot keep more {r} than it has"
            refuse(f"held.{r}", "held_within_resources", message)
    return held


def _within(stage: Stage, slot: int, event: Resize, amounts: Sequence[int]) -> None:
    """Refuse amounts below what an allocation would keep."""
    for r, kept, amount in zip(stage.base.resources, stage.core.kept_of(slot).tolist(), amounts, strict=True):
        if kept > amount:
            message = f"the allocation {shorten(event.allocation)!r} would keep more {r} than it has"
            refuse(f"resources.{r}", "held_within_resources", message)


def _suspend(stage: Stage, event: Suspend, cells: Row) -> None:
    slot = _alive(stage, event.allocation)
    if stage.core.away(slot):
        refuse("allocation", "state", f"the allocation {shorten(event.allocation)!r} is suspended already")
    held = stage.core.kept_of(slot) if event.held is None else _held(stage, slot, event, cells)
    stage.core.suspend(slot, np.asarray(held, np.int64))


def _resume(stage: Stage, event: Resume, cells: Row) -> None:
    slot = _alive(stage, event.allocation)
    if not stage.core.away(slot):
        message = f"the allocation {shorten(event.allocation)!r} is not suspended as a victim"
        refuse("allocation", "state", message)
    node = stage.core.node_of(slot) if event.node is None else stage.find("nodes", event.node)
    started = stage.core.now if event.start_time is None else cells.time("start_time")
    stage.core.resume(slot, node, started)
    stage.take(slot, None)


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
    _within(stage, slot, event, amounts)
    _grow(stage.core.asked(), stage.core.amounts_of(slot).tolist(), amounts)
    stage.core.resize(slot, np.array(amounts, np.int64))


def _take(stage: Stage, event: Take, cells: Row) -> None:
    slot = _alive(stage, event.allocation)
    if not stage.core.leaving(slot):
        refuse("allocation", "state", f"the allocation {shorten(event.allocation)!r} is not leaving")
    taken = event.resources
    if any(type(amount) not in (int, float) for amount in taken.values()):
        amounts = cells.object()
        taken = {name: int(a) if (a := amounts[name]).is_integer() else a for name in taken}
    stage.take(slot, taken)


def _node(stage: Stage, event: Node, cells: Row) -> None:
    row = stage.find("nodes", event.node)
    if row < 0:
        hint = nearest(event.node, [str(n) for n in stage.core.names("nodes")])
        refuse("node", "exists", f"there is no node {shorten(event.node)!r}{hint}")
    if event.capacity is not None:
        amounts = cells.amounts("capacity")
        _grow(stage.core.offered(), stage.core.capacity_of(row).tolist(), amounts)
        stage.core.set_capacity(row, np.array(amounts, np.int64))
    if event.schedulable is not None:
        stage.core.set_schedulable(row, event.schedulable)


def _put(stage: Stage, event: Put, cells: Row) -> None:
    """Put a request or an operation."""
    row, core = event.row, stage.core
    old = stage.find(event.table, row["name"])
    if event.table == "operations":
        pool = 0 if row.get("pool") is None else stage.find("pools", row["pool"])
        core.put_operation(cells.core, cells.at, pool, stage.noted(*cells.beside()), old)
        return
    operation = _operation(stage, row)
    each = cells.amounts()
    before = [0] * len(each)
    if old >= 0:
        count, _, amounts = core.request(old)
        before = [a * count for a in amounts.tolist()]
    count = 1 if row.get("count") is None else int(row["count"])
    _grow(core.asked(), before, [a * count for a in each])
    places = operation, _node_of(stage, row, "required_node")
    core.put_request(cells.core, cells.at, *places, stage.noted(*cells.beside()), old)


def _remove(stage: Stage, event: Remove, _: Row) -> None:
    """Withdraw a request, or remove an operation that has no rows."""
    if event.table == "requests":
        _set_count(stage, event.name, 0)
    else:
        stage.core.remove_operation(stage.find("operations", event.name))


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
