"""A plan's decisions as events, what is then, and what has been done by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from evenhand.arguments import expect
from evenhand.cluster.changes import carry_out
from evenhand.cluster.columns import Listed
from evenhand.cluster.events import Event, Leave, Put, Remove, Resume, Start, Suspend, Take
from evenhand.cluster.stage import Stage
from evenhand.errors import InputError

if TYPE_CHECKING:
    from evenhand.model import Snapshot
    from evenhand.plans import Decision, Plan

__all__ = ["Done", "after", "done_by", "events_of"]

_STOPPED = ("preempt", "enhanced_suspend", "suspend")


@dataclass(frozen=True, slots=True)
class Done:
    """What a plan that was carried out has changed, by names of allocations, in their order."""

    started: tuple[str | int, ...]
    ended: tuple[str | int, ...]
    requeued: tuple[str | int, ...]


def done_by(decisions: Sequence[Decision], present: Container[str]) -> Done:
    """Return what carrying decisions out does, by name."""
    asking = [str(d.request) for d in decisions if d.action == "start"]
    names = iter(_free_names(present, asking))
    running = [d for d in decisions if d.action in ("start", "resume")]
    started: list[str | int] = [next(names) if d.action == "start" else _named(d) for d in running]
    victims = [d for d in decisions if d.action == "preempt"]
    ended = [_named(d) for d in victims if d.mode not in ("requeue", "checkpoint", *_STOPPED)]
    requeued = [_named(d) for d in victims if d.mode in ("requeue", "checkpoint")]
    return Done(tuple(started), tuple(ended), tuple(requeued))


def _free_names(taken: Container[str], requests: Iterable[str]) -> list[str]:
    """Return a name for every start, ``"<request>/<number>"``, that no allocation has."""
    number: dict[str, int] = {}
    result = []
    for request in requests:
        place = number.get(request, 1)
        while f"{request}/{place}" in taken:
            place += 1
        number[request] = place + 1
        result.append(f"{request}/{place}")
    return result


def _named(decision: Decision) -> str | int:
    """Return the allocation that a decision is about."""
    return cast("str | int", decision.allocation)


def _let_go(stage: Stage, ended: Counter[tuple[str | int | None, str | int | None]]) -> Iterator[Event]:
    """Yield the end of reservations that are released, and of those of what starts where they keep room."""
    for request in dict.fromkeys(request for request, _ in ended):
        for name, node in stage.reserved_for(request):
            if ended[request, node] > 0:
                ended[request, node] -= 1
                yield Remove("reservations", name)


def after(snapshot: Snapshot, plan: Plan) -> Snapshot:
    """Return a snapshot once a plan of it is carried out; see `Snapshot.after`."""
    expect(hasattr(plan, "decisions"), "after", "plan", plan, "a Plan")
    if plan.snapshot != snapshot:
        raise InputError.about("after", "plan", "another", "the plan was made of another snapshot")
    stage = Stage(snapshot)
    return carry_out(stage, Listed(events_of(plan, stage)), 0).freeze()


def events_of(plan: Plan, stage: Stage) -> list[Event]:
    """Return what carries out a plan's decisions."""
    decisions = list(plan.decisions)
    events: list[Event] = []
    for d in (d for d in decisions if d.action == "preempt"):
        served = d.beneficiary
        whom = None if served is None else {"operation": served.operation, "request": served.request}
        whom = whom and {k: v for k, v in whom.items() if v is not None}
        if d.mode in _STOPPED and d.until == d.at:
            events += [Leave(_named(d), d.until, whom), Suspend(_named(d), d.kept or {})]
        else:
            events.append(Leave(_named(d), d.until, whom, d.kept or None))
    events += [Resume(_named(d), d.node, d.at) for d in decisions if d.action == "resume"]
    ended = Counter((d.request, d.node) for d in decisions if d.action in ("start", "release"))
    events += _let_go(stage, ended)
    reserves = []
    for i, d in enumerate(decisions):
        if d.action == "reserve":
            if ended[d.request, d.node] > 0:  # and given up again by the same plan
                ended[d.request, d.node] -= 1
            else:
                reserves.append(i)
    soft = plan.decisions.soft if reserves else []
    if any(soft[i] for i in reserves):  # what is planned ahead is planned anew each time
        now = plan._now
        reserves = [i for i in reserves if not soft[i] or (decisions[i].at or now) <= now]
    names = _free_names(stage.named("reservations"), [str(decisions[i].request) for i in reserves])
    for name, i in zip(names, reserves, strict=True):
        d, room = decisions[i], decisions[i].numbers.get("needed", {})
        row = {"name": name, "request": d.request, "node": d.node, "resources": dict(room), "from": d.at}
        events.append(Put("reservations", {**row, "soft": soft[i]}))
    asked = zip(decisions, plan.decisions.asked(), strict=True)
    starts = [(d, cells) for d, cells in asked if cells is not None]
    names = _free_names(stage.named("allocations"), [str(d.request) for d, _ in starts])
    for name, (d, cells) in zip(names, starts, strict=True):
        where = {} if d.node is None else {"node": d.node}
        start = {"name": name, "operation": d.operation, "start_time": d.at, **where, **cells}
        events.append(Start(start, d.request))
    return events + [Take(name, amounts) for name, amounts in plan.taken.items()]
