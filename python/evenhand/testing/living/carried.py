"""What carrying a plan out does to rows: the events of its decisions, by a rule of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from evenhand.cluster.events import Leave, Put, Remove, Resume, Start, Suspend, Take
from evenhand.testing.living.rows import Refused, Rows

if TYPE_CHECKING:
    from evenhand.plans import Decision, Plan

__all__ = ["STOPPED", "carry_out"]

#: Modes of victims whose processes stop: they stay in their table.
STOPPED = ("preempt", "enhanced_suspend", "suspend")


def _free_names(taken: Container[str], requests: Iterable[Any]) -> list[str]:
    """Return ``"<request>/<number>"`` for each, the least numbers that are free."""
    found: list[str] = []
    for request in requests:
        number = 1
        while (name := f"{request}/{number}") in taken or name in found:
            number += 1
        found.append(name)
    return found


def _named(decision: Decision) -> str | int:
    """Return the allocation that a decision is about."""
    if decision.allocation is None:
        raise Refused("a decision is about no allocation")
    return decision.allocation


def _stops_at_once(victim: Decision) -> bool:
    return victim.mode in STOPPED and victim.until == victim.at


def carry_out(rows: Rows, plan: Plan) -> tuple[str, ...]:
    """Carry out a plan's decisions in the documented order: victims, resumes, reservations, starts."""
    decisions = list(plan.decisions)
    asked = {str(row["name"]): row for row in plan.snapshot.to_dict()["requests"]}
    for victim in (d for d in decisions if d.action == "preempt"):
        _leave(rows, victim)
    for one in (d for d in decisions if d.action == "resume"):
        rows.happen(Resume(_named(one), one.node, one.at))
    given_up = _let_go(rows, plan)
    reserves = [(d, bool(soft)) for d, soft in zip(decisions, plan.decisions.soft, strict=True)]
    reserves = [(d, soft) for d, soft in reserves if d.action == "reserve" and not _ahead(plan, d, soft)]
    reserves = [(d, soft) for d, soft in reserves if not _one_less(given_up, d)]
    names = _free_names(rows.tables["reservations"], [d.request for d, _ in reserves])
    for name, (d, soft) in zip(names, reserves, strict=True):
        rows.find("requests", d.request)
        room = {"request": d.request, "node": d.node, "resources": dict(d.numbers.get("needed", {}))}
        rows.happen(Put("reservations", {"name": name, **room, "from": d.at, "soft": soft}))
    starts = [d for d in decisions if d.action == "start"]
    names = _free_names(rows.tables["allocations"], [d.request for d in starts])
    for name, d in zip(names, starts, strict=True):
        cells = {c: v for c, v in asked[str(d.request)].items() if c in _ASKED and v is not None}
        node = {} if d.node is None else {"node": d.node}
        row = {"name": name, "operation": d.operation, "start_time": d.at, **node, **cells}
        rows.happen(Start(row, d.request))
    for allocation, amounts in plan.taken.items():
        rows.happen(Take(allocation, amounts))
    running = iter(names)
    order = [d for d in decisions if d.action in ("start", "resume")]
    return tuple(next(running) if d.action == "start" else str(d.allocation) for d in order)


#: Cells of a request that what starts for it has too.
_ASKED = ("resources", "priority", "preemptible", "required_node")


def _leave(rows: Rows, victim: Decision) -> None:
    served = victim.beneficiary
    whom = None if served is None else {"operation": served.operation, "request": served.request}
    whom = whom and {field: name for field, name in whom.items() if name is not None}
    rows.happen(Leave(_named(victim), victim.until, whom, victim.kept or None))
    if _stops_at_once(victim):
        rows.happen(Suspend(_named(victim), victim.kept or {}))


def _ahead(plan: Plan, reserve: Decision, soft: bool) -> bool:
    """Whether room is planned ahead: that is planned anew each time."""
    return soft and (reserve.at or 0) > plan.snapshot.now


def _one_less(counts: Counter[tuple[str, str]], decision: Decision) -> bool:
    of = str(decision.request), str(decision.node)
    if counts[of] <= 0:
        return False
    counts[of] -= 1
    return True


def _let_go(rows: Rows, plan: Plan) -> Counter[tuple[str, str]]:
    """End reservations of what starts or is released where it was kept; what is left to end."""
    ends = [d for d in plan.decisions if d.action in ("start", "release")]
    counts = Counter((str(d.request), str(d.node)) for d in ends)
    if ends:
        for row in _in_order(rows):
            of = str(row.get("request")), str(row["node"])
            if counts[of] > 0:
                counts[of] -= 1
                rows.happen(Remove("reservations", row["name"]))
    return counts


def _in_order(rows: Rows) -> list[Mapping[str, Any]]:
    """Return the reservations in canonical order: they have no `order`, so by name."""
    kept = rows.all("reservations")
    return sorted(kept, key=lambda row: str(row["name"]))
