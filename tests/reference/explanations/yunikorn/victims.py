"""What is said of victims of YuniKorn's policy: priorities, queues and places, held against the cycle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.reference.explanations.decided import for_a_request, own_decisions
from tests.reference.explanations.registry import Said, checks, must
from tests.reference.explanations.world import World, same, without_zeros
from tests.reference.explanations.yunikorn.candidates import fenced, properties
from tests.reference.explanations.yunikorn.guarantees import owed, path_of
from tests.reference.explanations.yunikorn.outcomes import close
from tests.reference.explanations.yunikorn.queues import held, priority_of, queue_of, root

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.reference.explanations.world import Row

__all__ = ["NAMED", "for_an_ask", "for_no_request"]

#: Columns of named costs, as the settings describe them.
NAMED = {
    "default": ("opted_out", "originator", "priority", "live_time"),
    "live_time": ("live_time",),
    "priority": ("priority",),
    "kind": ("opted_out", "originator"),
}

_SYSTEM = "yunikorn"


@checks("victim", "surplus_of_queue", "above_quota", system=_SYSTEM)
def for_no_request(world: World, said: Said) -> None:
    """Whether it is taken once, and its queue used what is said just before."""
    (made,) = own_decisions(world, said, "preempt")
    _queue(world, said, world.decisions.index(made))
    if "since" in said.met:
        until = said.met["since"] + said.met["delay"]
        must(until <= world.now, "the quota is not enforced yet", until, world.now)


@checks(
    "victim",
    *("below_ideal_share", "higher_priority_in_queue", "below_guarantee", "for_required_node"),
    system=_SYSTEM,
)
def for_an_ask(world: World, said: Said) -> None:
    """Whether it is taken once for an ask; priorities, queue and place are those of the cycle."""
    for_a_request(world, said)
    (made,) = own_decisions(world, said, "preempt")
    met: Any = said.met
    served: Any = made["beneficiary"]
    request = world.row("requests", served["request"])
    if "priority" in met:
        own, asks = priority_of(world, said.row), priority_of(world, request)
        must((met["priority"], met["asking_priority"]) == (own, asks), "priorities", met, own, asks)
        lower = own < asks if said.code == "higher_priority_in_queue" else own <= asks
        must(lower, "its priority is not lower", own, asks)
    if "asking_queue" in met:
        must(root(met["asking_queue"]) == queue_of(world.operation_of(request)), "the queue that asks", met)
    if said.code == "below_guarantee":
        _guarantees(world, said, request, world.decisions.index(made))
    else:
        _queue(world, said, world.decisions.index(made))
    if "place" in met:
        here = [a for a in world.tables["allocations"].values() if same(a.get("node"), said.row["node"])]
        must(1 <= met["place"] <= met["candidates"] <= len(here), "place", met, len(here))
    if "cost" in met:
        order = [str(row["name"]) for row in _cheapest_first(world, said, made, request)]
        found = (order.index(str(said.row["name"])) + 1, len(order))
        must((met["place"], met["candidates"]) == found, "place", met["place"], order)


@checks("start", "reservation_cancelled", system=_SYSTEM)
def reservation_cancelled(world: World, said: Said) -> None:
    """Whether a node that was reserved for it is so no more."""
    made = own_decisions(world, said, "release")
    must(made, "nothing is cancelled of it")
    reserved = [(row.get("request"), row.get("node")) for row in world.data.get("reservations", ())]
    reserved += [(d["request"], d["node"]) for d in world.decided("reserve")]
    for d in made:
        must(any(same(q, d["request"]) and same(n, d["node"]) for q, n in reserved), "not reserved", d)


def _guarantees(world: World, said: Said, request: Row, count: int) -> None:
    """Raise `AssertionError` unless guarantees owe the queue that asks, and its own has, what is said."""
    mine, asks, met = world.operation_of(said.row), world.operation_of(request), said.met
    must(root(met["queue"]) == queue_of(mine), "its queue", met["queue"])
    need = without_zeros(request.get("resources") or {})
    rest = owed(world, asks, asks, count) or {}
    owes = {r: a for r, a in rest.items() if a > 0 and r in need}
    must(close(met["owed"], owes) and met["owed"].keys() == owes.keys(), "owed", met["owed"], owes)
    beyond = {r: -a for r, a in (owed(world, mine, asks, count) or {}).items() if a < 0}
    must(close(met["beyond"], beyond) and met["beyond"].keys() == beyond.keys(), "beyond", met, beyond)


def _cheapest_first(world: World, said: Said, made: Any, request: Row) -> list[Row]:
    """Return what might leave for an ask in a cycle, on the node of a victim."""
    cost = world.settings.cost
    names = NAMED[cost] if isinstance(cost, str) else cost
    given = {str(k): float(v) for k, v in _given_costs(world).items()}
    values: dict[str, Callable[[Row], float]] = {
        "opted_out": lambda a: float(not a.get("preemptible", True)),
        "originator": lambda a: float(bool(a.get("originator"))),
        "priority": lambda a: priority_of(world, a),
        "live_time": lambda a: world.now - float(a.get("start_time", 0.0)),
        "lost_work": lambda a: (
            world.now
            - max(
                float(a.get("last_progress_time") or a.get("start_time", 0.0)),
                float(a.get("start_time", 0.0)),
            )
        ),
        "own": lambda a: given.get(str(a["name"]), 0.0),
    }
    asks, step = world.operation_of(request), made["step"]
    gone = {str(d["allocation"]) for d in world.decided("preempt") if d["step"] < step}

    def may_leave(row: Row) -> bool:
        own = world.operation_of(row)
        if (
            World.state_of(row) != "running"
            or str(row["name"]) in gone
            or row.get("required_node") is not None
        ):
            return False
        if properties(world, queue_of(own)).preemption_policy == "disabled":
            return False
        if said.code == "below_ideal_share":
            return queue_of(own) != queue_of(asks) and fenced(world, asks) in path_of(world, own)
        lower = priority_of(world, row) < priority_of(world, request)
        return queue_of(own) == queue_of(asks) and not same(own["name"], asks["name"]) and lower

    rows = [
        a
        for a in world.tables["allocations"].values()
        if same(a.get("node"), said.row["node"]) and may_leave(a)
    ]
    return sorted(rows, key=lambda a: [values[name](a) for name in names])


def _given_costs(world: World) -> dict[Any, float]:
    given = (world.plan.given or {}).get("cost")
    if given is None:
        return {}
    return dict(zip(world.tables["allocations"], given, strict=True))


def _queue(world: World, said: Said, count: int) -> None:
    """Raise `AssertionError` unless the queue that is named used so much just before, more than is said."""
    met: Any = said.met
    if "used" not in met:
        return
    queue, most = root(met["queue"]), met.get("keeps", met.get("max", {}))
    must(queue in world.pools_of(world.operation_of(said.row)), "it is not in that queue", queue)
    used = held(world, queue, count)
    must(all(abs(used[r] - a) < 1e-6 for r, a in met["used"].items()), "used", met["used"], used)
    if "max" in met:
        limits = world.row("pools", queue).get("limits") or {}
        must(all(limits.get(r) == a for r, a in most.items()), "its max", most, limits)
    else:
        must(all(used[r] > a - 1e-9 for r, a in most.items()), "it keeps that", used, most)
