"""What YuniKorn's policy says of asks and allocations, held against queues, priorities and room."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.testing.explanations.job_rooms import free_rooms, lacks_of, places_allowed
from evenhand.testing.explanations.jobs import asker
from evenhand.testing.explanations.registry import Said, checks, must
from evenhand.testing.explanations.world import ROOT, World, same, without_zeros

if TYPE_CHECKING:
    from evenhand.testing.explanations.world import Row

__all__ = ["queue_of"]

_SYSTEM = "yunikorn"


def queue_of(operation: Row) -> str:
    """Return the queue of an application."""
    return str(operation.get("pool") or ROOT)


def _queues(world: World, said: Said) -> tuple[str, str]:
    return queue_of(world.operation_of(said.row)), queue_of(asker(world, said))


def priority_of(world: World, row: Row) -> float:
    """Return the priority of an ask or an allocation: its own, else that of its application."""
    own = row.get("priority")
    return float(world.operation_of(row).get("priority", 0) or 0) if own is None else float(own)


def held(world: World, queue: str, count: int) -> dict[str, float]:
    """Return what a queue has after so many decisions, without what leaves."""
    used = world.amounts({})
    inside = {str(o["name"]) for o in world.below(queue)}
    gone = {str(d["allocation"]) for d in world.decisions[:count] if d["action"] == "preempt"}
    rows = [a for a in world.tables["allocations"].values() if str(a["operation"]) in inside]
    for row in rows:
        if str(row["name"]) not in gone and World.state_of(row) != "preempting":
            has = row.get("held" if World.state_of(row) == "preempted" else "resources") or {}
            for r, amount in has.items():
                used[r] += amount
    for d in world.decisions[:count]:
        if d["action"] == "start" and str(d["operation"]) in inside:
            for r, amount in (world.row("requests", d["request"]).get("resources") or {}).items():
                used[r] += amount
    return used


@checks("allocation", "same_queue", system=_SYSTEM)
def same_queue(world: World, said: Said) -> None:
    """Whether it is in the queue of the request that asked."""
    own, asks = _queues(world, said)
    must(own == asks, "queues", own, asks)


@checks("allocation", "other_queue", system=_SYSTEM)
def other_queue(world: World, said: Said) -> None:
    """Whether it is in another queue than the request that asked."""
    own, asks = _queues(world, said)
    must(own != asks, "queues", own, asks)


@checks("allocation", "not_lower_priority", system=_SYSTEM)
def not_lower_priority(world: World, said: Said) -> None:
    """Its priority is not lower than that of the ask."""
    own = priority_of(world, said.row)
    asks = priority_of(world, world.row("requests", said.met["request"]))
    must(own >= asks, "its priority is lower", own, asks)
    told = [v for v in said.compared.values() if isinstance(v, int | float)]
    must(not said.compared or sorted(told) == sorted([own, asks]), "what was compared", told, own, asks)


@checks("allocation", "queue_keeps_it", system=_SYSTEM)
def queue_keeps_it(world: World, said: Said) -> None:
    """Its queue, or one above, has a guarantee or an ideal share that it would fall below without it."""
    must(str(said.met.get("request")) in world.tables["requests"], "it is not said for which request")
    has = without_zeros(said.row.get("resources") or {})
    must(has, "it has nothing that a queue could keep")


@checks("allocation", "not_a_candidate", system=_SYSTEM)
def not_a_candidate(world: World, said: Said) -> None:
    """One of the things that are named holds: guarantee, fence, opting out, or priority."""
    own = world.operation_of(said.row)
    name = said.met.get("request")
    must(name is not None, "it is not said for which request")
    request = world.row("requests", name)
    asks = world.operation_of(request)
    mine, theirs = world.pools_of(own), world.pools_of(asks)
    rows = [world.row("pools", pool) for pool in {*mine, *theirs}]
    words = [row.get("settings", {}).get("properties", {}) for row in rows]
    fenced = any(one.get("preemption.policy") in ("fence", "disabled") for one in words)
    fenced = fenced or any(
        one.get("priority.policy") == "fence" or one.get("priority.offset", "0") != "0" for one in words
    )
    higher = priority_of(world, said.row) > priority_of(world, request)
    flags = not said.row.get("preemptible", True) or said.row.get("originator") or own.get("kind") == "system"
    within = any(_within_guarantee(world, pool) for pool in mine)
    apart = not same(said.row.get("node"), request.get("required_node")) and request.get("required_node")
    wanted = {r for r, a in (request.get("resources") or {}).items() if a}
    useless = not wanted & without_zeros(said.row.get("resources") or {}).keys()
    must(
        fenced or higher or flags or within or apart or useless, "nothing of it holds", said.row["name"], name
    )


def _within_guarantee(world: World, pool: str) -> bool:
    """Return whether a queue was within its guarantee at some time of the plan."""
    guarantee = world.row("pools", pool).get("strong_guarantee") or {}
    counts = range(len(world.decisions) + 1)
    return bool(guarantee) and any(
        all(used[r] <= amount + 1e-9 for r, amount in guarantee.items())
        for used in (held(world, pool, count) for count in counts)
    )


@checks("allocation", "not_chosen", system=_SYSTEM)
def not_chosen(world: World, said: Said) -> None:
    """Whether it is no victim for the request that asked."""
    name = said.met.get("request")
    must(name is not None, "it is not said for which request")
    made = world.decided("preempt", allocation=said.row["name"])
    must(all(not same((d["beneficiary"] or {}).get("request"), name) for d in made), "it is a victim for it")


@checks("request", "limits_of_operation_or_pool", system=_SYSTEM)
def limits(world: World, said: Said) -> None:
    """With it, a queue above would have more than its max, by what is said to be missing."""
    told, need = without_zeros(said.met.get("missing", {})), said.row.get("resources") or {}
    found: list[Any] = []
    for count in range(len(world.decisions) + 1):
        worst: dict[str, float] = {}
        for pool in world.pools_of(world.operation_of(said.row)):
            used = held(world, pool, count)
            for r, limit in (world.row("pools", pool).get("limits") or {}).items():
                over = used[r] + need.get(r, 0) - limit
                if need.get(r, 0) and over > 1e-9:
                    worst[r] = max(worst.get(r, 0.0), over)
        if worst and (not told or told == worst):
            return
        found.append(worst)
    must(False, "limits", told, found[-3:])


@checks("request", "no_room_even_with_victims", "no_free_room", system=_SYSTEM)
def no_room(world: World, said: Said) -> None:
    """Where it may run it lacks what is said to be missing, without victims or with all that could leave."""
    told, need = without_zeros(said.met.get("missing", {})), said.row.get("resources") or {}
    must(told, "nothing is said to be missing")
    job, found = said.row["operation"], []
    node = said.met.get("node")
    for place in [str(node)] if node is not None else places_allowed(world, said.row):
        found += [lacks_of(world, need, free) for free in free_rooms(world, place, job)]
    must(told in found, "missing", told, found[-4:])


@checks("request", "queue_has_its_share", system=_SYSTEM)
def queue_has_its_share(world: World, said: Said) -> None:
    """Whether it did not start in full."""
    made = world.decided("start", request=said.row["name"])
    must(len(made) < said.row.get("count", 1), "all of it starts")


@checks("request", "not_below_guarantee", system=_SYSTEM)
def not_below_guarantee(world: World, said: Said) -> None:
    """Its queue and all above have no guarantee, or would not be within one with it."""
    need = said.row.get("resources") or {}
    for pool in world.pools_of(world.operation_of(said.row)):
        guarantee = world.row("pools", pool).get("strong_guarantee") or {}
        used = held(world, pool, 0)
        within = guarantee and all(used[r] + need.get(r, 0) <= amount for r, amount in guarantee.items())
        must(not within or len(guarantee) < len(world.resources) or world.decisions, "it is owed that", pool)


@checks("request", "may_not_preempt_yet", system=_SYSTEM)
def may_not_preempt_yet(world: World, _said: Said) -> None:
    """Whether it has not waited long enough, has just tried, has preempted before, or never may."""
    must(world.settings.preemption == "per_ask" or world.settings.mode, "cycles know no such rule")


@checks("request", "missed_opportunity", "cycle_full", "barred_by_predicate", system=_SYSTEM)
def left_out(world: World, said: Said) -> None:
    """Whether it does not start in full in this cycle."""
    made = world.decided("start", request=said.row["name"])
    must(len(made) < said.row.get("count", 1), "all of it starts")
    if said.code == "cycle_full":
        must(world.decisions or world.settings.limit < 1, "nothing was decided in this cycle")
