"""What YuniKorn's policy says of asks and allocations, held against queues, priorities and room."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.reference.explanations.job_rooms import lacks_of, places_allowed
from tests.reference.explanations.jobs import asker, not_considered
from tests.reference.explanations.registry import Said, checks, must
from tests.reference.explanations.world import World, same, without_zeros
from tests.reference.explanations.yunikorn.queues import (
    guaranteed,
    held,
    leaving,
    over_max,
    priority_of,
    queue_of,
    root,
)
from tests.reference.explanations.yunikorn.rooms import free_rooms

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["asked", "at_some_time", "close"]

_SYSTEM = "yunikorn"


@checks("allocation", "same_queue", "other_queue", system=_SYSTEM)
def queues(world: World, said: Said) -> None:
    """Whether it is in the queue of the request that asked, or not, where victims are not taken there."""
    own, asks = queue_of(world.operation_of(said.row)), queue_of(asker(world, said))
    told = (root(said.compared.get("queue")), root(said.compared.get("asking_queue")))
    must(told == (own, asks), "queues", told, own, asks)
    must((own == asks) == (said.code == "same_queue"), "queues", own, asks)
    within = said.compared.get("within_queue", 0)
    must(bool(within) == (said.code == "other_queue"), "policy", within)


def _shotgun(world: World) -> bool:
    """Return whether victims are taken for queues as a whole."""
    s = world.settings
    return s.preemption == "cycles" and s.mode == "shotgun" and "inter_queue" in s.policies


def asked(world: World, said: Said) -> None:
    """Raise `AssertionError` unless it is said for which request, where requests take victims."""
    named = str(said.met.get("request")) in world.tables["requests"]
    must(named or (_shotgun(world) and said.met.get("request") is None), "it is not said for which request")


@checks("allocation", "frees_nothing_useful", system=_SYSTEM)
def not_claimed(world: World, said: Said) -> None:
    """Whether it has nothing that queues claim."""
    must(_shotgun(world), "requests take victims", world.settings.mode)
    has, told = without_zeros(said.row.get("resources") or {}), said.compared.get("claimed")
    must(told is not None and not told.keys() & has.keys(), "it has some of it", told, has)


@checks("allocation", "cycle_full", system=_SYSTEM)
def surplus_full(world: World, said: Said) -> None:
    """Whether what leaves for claims of queues, or what a policy placed, adds up to the limit."""
    if "policy" in said.compared:
        _ended(world, said.compared)
        waits, made = said.met.get("request"), world.decided("start", request=said.met.get("request"))
        must(len(made) < world.row("requests", waits).get("count", 1), "it does not wait", waits)
        return
    must(_shotgun(world), "requests take victims", world.settings.mode)
    left = world.amounts({})
    for d in world.decided("preempt", reason="surplus_of_queue"):
        for r, amount in (world.row("allocations", d["allocation"]).get("resources") or {}).items():
            left[r] += amount
    _reached(world, said.compared, [left])


def _reached(world: World, told: Any, sums: list[dict[str, float]]) -> None:
    """Raise `AssertionError` unless what is said is one of the sums, of what reaches the limit."""
    limit = world.settings.limit
    must(told.get("limit") == limit, "limit", told.get("limit"), limit)
    most = {r: limit * a for r, a in world.total.items() if a} if isinstance(limit, float) else limit
    quantum = world.plan.snapshot.quantum

    def right(left: dict[str, float]) -> bool:
        full = {r for r, least in most.items() if left[r] >= least - 1e-9}
        return (
            told["came_to"].keys() == told["ends_at"].keys() == full
            and close(told["came_to"], left)
            and all(-1e-9 <= told["ends_at"][r] - most[r] < quantum[r] for r in full)
        )

    must(any(map(right, sums)), "what it came to", told, sums, most)


def _ended(world: World, told: Any) -> None:
    """Raise `AssertionError` unless a policy had placed what is said: a part of what starts, in order."""
    sums = [world.amounts({})]
    starts = world.decided("start", stage="preemption_cycle")
    for first in range(len(starts)):
        left = world.amounts({})
        for d in starts[first:]:
            for r, amount in (world.row("requests", d["request"]).get("resources") or {}).items():
                left[r] += amount
            sums.append(dict(left))
    must(told.get("policy") in world.settings.policies, "there is no such policy", told)
    _reached(world, told, sums)


@checks("unseen", "not_considered", system=_SYSTEM)
def unseen(world: World, said: Said) -> None:
    """Nothing is decided of it, and what is said in the place of an outcome holds."""
    not_considered(world, said)
    s, told = world.settings, said.explanation.numbers
    if told.get("mode") == "shotgun":
        must(s.preemption == "cycles" and s.mode == "shotgun", "mode", s.preemption, s.mode)
        must(said.explanation.table == "requests" or "inter_queue" not in s.policies, "policies", s.policies)
    if "cycle" in told:
        must(getattr(world.plan.on, "name", None) == told["cycle"] == "quota", "cycle", told, world.plan.on)
    if told.get("waiting") == 0:
        for name, row in world.tables["requests"].items():
            starts = world.decided("start", request=row["name"])
            must(len(starts) == row.get("count", 1), "an ask waits", name)


def at_some_time(world: World, holds: Callable[[int], bool], what: str, *told: object) -> None:
    """Raise `AssertionError` unless something held after some of the decisions."""
    must(any(holds(count) for count in range(len(world.decisions) + 1)), what, *told)


def close(told: Any, found: Any) -> bool:
    """Return whether amounts that are said are those that were found."""
    return isinstance(told, dict) and all(abs(found.get(r, 0.0) - a) < 1e-6 for r, a in told.items())


@checks("allocation", "not_lower_priority", system=_SYSTEM)
def not_lower_priority(world: World, said: Said) -> None:
    """Its priority is not lower than that of the ask."""
    own = priority_of(world, said.row)
    asks = priority_of(world, world.row("requests", said.met["request"]))
    must(own >= asks, "its priority is lower", own, asks)
    must(said.compared == {"priority": own, "asking_priority": asks, **_scope(said)}, "compared", own, asks)


def _scope(said: Said) -> dict[str, Any]:
    return {name: said.compared[name] for name in ("within_queue",) if name in said.compared}


@checks("allocation", "queue_keeps_it", system=_SYSTEM)
def queue_keeps_it(world: World, said: Said) -> None:
    """Its queue, or one above, has a guarantee or an ideal share that it would fall below without it."""
    asked(world, said)
    told, has = said.compared, said.row.get("resources") or {}
    queue = root(told.get("queue"))
    must(queue in world.pools_of(world.operation_of(said.row)), "it is not in that queue", queue)
    at_some_time(world, lambda n: close(told["used"], held(world, queue, n)), "used", told["used"])
    guarantee = guaranteed(world, queue)
    must(close(told["guaranteed"], guarantee), "its guarantee", told["guaranteed"], guarantee)
    ((r, used),) = told["used"].items()
    keeps = max(told["guaranteed"][r], told.get("ideal", {}).get(r, 0.0))
    if "dead_zone" in told:
        zone = world.settings.dead_zone
        must(
            told["dead_zone"] == zone and used <= (1 + zone) * told["guaranteed"][r] + 1e-6, "dead zone", used
        )
    else:
        must(has.get(r, 0) and used - has[r] < keeps - 1e-9, "it keeps no less without it", used, has, keeps)


@checks("allocation", "not_chosen", system=_SYSTEM)
def not_chosen(world: World, said: Said) -> None:
    """Whether it is no victim for the request that asked, which others make room for where it is said."""
    name, placed = said.met.get("request"), said.compared.get("placed_on")
    must(name is not None, "it is not said for which request")
    made = [d for d in world.decided("preempt") if same((d["beneficiary"] or {}).get("request"), name)]
    must(made, "no victims are taken for it", name)
    must(all(not same(d["allocation"], said.row["name"]) for d in made), "it is a victim for it")
    must(placed is None or any(same(d["node"], placed) for d in made), "not on that node", placed)


@checks("allocation", "no_start_in_stage", system=_SYSTEM)
def no_start_in_stage(world: World, said: Said) -> None:
    """No victims were taken for the request in one attempt; in none of its kind where it asks for one."""
    name, within = said.met.get("request"), said.compared.get("within_queue")
    must(name is not None, "it is not said for which request")
    reasons = {
        None: ("below_guarantee", "for_required_node"),
        True: ("higher_priority_in_queue",),
        False: ("below_ideal_share",),
    }[within]
    made = [
        d
        for d in world.decided("preempt")
        if same((d["beneficiary"] or {}).get("request"), name) and d["reason"] in reasons
    ]
    must(not made or world.row("requests", name).get("count", 1) > 1, "victims are taken for it", name)


@checks("request", "limits_of_operation_or_pool", system=_SYSTEM)
def limits(world: World, said: Said) -> None:
    """With it, a queue above would have more than its max, by what is said to be used."""
    told, pools = said.compared, world.pools_of(world.operation_of(said.row))
    must(not said.met.get("missing"), "nothing is said to be missing but of its max")
    if not said.met.get("stage"):
        at_some_time(
            world, lambda n: any(over_max(world, pool, said.row, n) for pool in pools), "within all maxima"
        )
        return
    queue = root(told.get("queue"))
    must(queue in pools, "it is not in that queue", queue)

    def right(count: int) -> bool:
        over = over_max(world, queue, said.row, count)
        stays = leaving(world, queue, count)
        return (
            bool(over)
            and told["max"] == over
            and close(told["used"], held(world, queue, count))
            and close(told.get("leaving", dict.fromkeys(over, 0.0)), stays)
        )

    at_some_time(world, right, "used and max", told)


@checks("request", "no_room_even_with_victims", "no_free_room", system=_SYSTEM)
def no_room(world: World, said: Said) -> None:
    """Where it may run it lacks what is said to be missing of free room."""
    told, need = without_zeros(said.met.get("missing", {})), said.row.get("resources") or {}
    must(told, "nothing is said to be missing")
    node, nodes = said.met.get("node"), places_allowed(world, said.row)
    if said.met.get("stage"):
        must(str(node) in nodes, "it may not run there", node)
    elif "nodes" in said.met:
        open_ = [n for n in nodes if world.row("nodes", n).get("schedulable", True)]
        must(said.met["nodes"] == len(open_) or world.plan.given, "nodes", said.met["nodes"], open_)
    found: list[Any] = []
    for place in [str(node)] if node is not None else nodes:
        found += [lacks_of(world, need, free) for free in free_rooms(world, place, said.row)]
    must(told in found, "missing", told, found[-4:])


@checks("request", "queue_has_its_share", system=_SYSTEM)
def queue_has_its_share(world: World, said: Said) -> None:
    """Its queue has its ideal share of all that it asks for; within a queue, more of some of it."""
    made = world.decided("start", request=said.row["name"])
    must(len(made) < said.row.get("count", 1), "all of it starts")
    if not said.met.get("stage"):
        return
    told, queue = said.compared, root(said.compared.get("queue"))
    must(queue == queue_of(world.operation_of(said.row)), "its queue", queue)
    wants = without_zeros(said.row.get("resources") or {}).keys()
    must(told["used"].keys() == told["ideal"].keys() == wants, "of all that it asks for", told, wants)
    at_some_time(world, lambda n: close(told["used"], held(world, queue, n)), "used", told["used"])
    more = [told["used"][r] - told["ideal"][r] for r in wants]
    inter = told.get("policy") == "inter_queue"
    must(told.get("policy") in world.settings.policies, "there is no such policy", told)
    must(min(more) >= 0 if inter else max(more) > 0, "used and ideal", told)


@checks("request", "not_below_guarantee", system=_SYSTEM)
def not_below_guarantee(world: World, said: Said) -> None:
    """Whether guarantees owe its queue what is said, which is less than it asks for."""
    if not said.met.get("stage"):
        return
    from tests.reference.explanations.yunikorn.guarantees import owed

    told, need = said.compared, without_zeros(said.row.get("resources") or {})
    own = world.operation_of(said.row)
    must(root(told.get("queue")) == queue_of(own), "its queue", told.get("queue"))

    def right(count: int) -> bool:
        rest = owed(world, own, own, count) or {}
        mine = {r: rest[r] for r in rest if r in need}
        if "owed" not in told:
            return not mine
        return bool(close(told["owed"], mine) and told["owed"].keys() == mine.keys())

    at_some_time(world, right, "what is owed", told)
    short = any(told.get("owed", {}).get(r, 0.0) < amount for r, amount in need.items())
    must(short, "that is enough", told, need)


@checks("request", "may_not_preempt_yet", system=_SYSTEM)
def may_not_preempt_yet(world: World, said: Said) -> None:
    """Whether it has not waited long enough, has just tried, has preempted before, or never may."""
    if not said.met.get("stage"):
        return
    cycles = world.settings.preemption == "cycles"
    must(not cycles or {"allow_preempt_other", "queue"} & said.compared.keys(), "cycles know no such rule")
    told, own = said.compared, said.row.get("settings", {})
    before = {str(row["name"]): row for row in world.state.get("requests", ())}.get(str(said.row["name"]), {})
    if "allow_preempt_other" in told:
        must(own.get("allow_preempt_other") is False, "it may preempt", own)
    elif "queue" in told:
        from tests.reference.explanations.yunikorn.candidates import properties

        policy = properties(world, queue_of(world.operation_of(said.row))).preemption_policy
        must(policy == "disabled" and not world.settings.disabled_queues_preempt, "its queue", policy)
    elif "asks_once" in told:
        must(world.settings.asks_once and before.get("triggered"), "it has not preempted", before)
    elif "required_node" in told:
        must(same(said.row.get("required_node"), told["required_node"]), "its node", told)
    elif "delay" in told:
        since = float(said.row.get("submit_time", 0.0))
        must(told["since"] == since and told["until"] == since + told["delay"], "since and until", told)
        must(world.now < told["until"], "it has waited long enough", told, world.now)
    else:
        retry = world.settings.retry
        must(told["retry"] == retry and told["again_from"] == told["last_attempt"] + retry, "retry", told)
        known = (before.get("last_attempt"), world.now)
        must(told["last_attempt"] in known and world.now < told["again_from"], "last attempt", told, known)


@checks("request", "missed_opportunity", system=_SYSTEM)
def missed_opportunity(world: World, said: Said) -> None:
    """Whether it is left out of this cycle, by what the state says of earlier ones."""
    left_out(world, said)
    before = {str(row["name"]): row for row in world.state.get("requests", ())}.get(str(said.row["name"]), {})
    if said.met.get("stage"):
        told = said.compared
        must(told.get("missed") == before.get("missed"), "missed", told, before)
        must(told.get("cycles_left") == before.get("wait", 0) - 1, "cycles left", told, before)


@checks("request", "barred_by_predicate", system=_SYSTEM)
def left_out(world: World, said: Said) -> None:
    """Whether it does not start in full in this cycle."""
    made = world.decided("start", request=said.row["name"])
    must(len(made) < said.row.get("count", 1), "all of it starts")


@checks("request", "cycle_full", system=_SYSTEM)
def cycle_full(world: World, said: Said) -> None:
    """Whether as many are placed as may be, or what victims leave for adds up to the limit."""
    left_out(world, said)
    s, total = world.settings, world.amounts({})
    placed = world.decided("start", stage="allocation_cycle")
    for d in world.decided("start", stage="preemption_cycle"):
        for r, amount in (world.row("requests", d["request"]).get("resources") or {}).items():
            total[r] += amount
    share = isinstance(s.limit, float)
    most = {r: s.limit * a for r, a in world.total.items() if a} if share else s.limit
    told = said.compared
    if "policy" in told:
        _ended(world, told)
        return
    if not said.met.get("stage"):  # a refusal: by the cycle that looked at it
        seen = [one for one in said.explanation.looked_at if one["outcome"] == "cycle_full"]
        told = next((one["compared"] for one in seen if "compared" in one), told)
    for name in told.keys() & {"limit", "n_alloc"}:
        must(told[name] == getattr(s, name), name, told[name], getattr(s, name))
    if "placed" in told:
        must(told["placed"] == len(placed), "placed", told["placed"], len(placed))
        must(told["placed"] + told.get("looked", 0) == s.n_alloc, "the last round", told, s.n_alloc)
        return
    full = any(total[r] >= limit - 1e-9 for r, limit in most.items())
    must(full or len(placed) >= s.n_alloc, "more may be placed", total, most, len(placed))
