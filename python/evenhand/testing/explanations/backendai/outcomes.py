"""What Backend.AI's policy says of sessions, held against the rules that the kit reads for itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.testing.explanations.jobs import asker, compared_is
from evenhand.testing.explanations.registry import Said, checks, must
from evenhand.testing.explanations.world import World, same, without_zeros
from evenhand.testing.sessions.plan import _Run
from evenhand.testing.sessions.room import Placed, bar
from evenhand.testing.sessions.victims import candidates

if TYPE_CHECKING:
    from evenhand.testing.sessions.world import Session

__all__ = ["run_of"]

_SYSTEM = "backendai"


def run_of(world: World) -> _Run:
    """Return the slow scheduling run of the same snapshot, made once."""
    run = world.__dict__.get("_run")
    if run is None:
        run = _Run(world.plan.snapshot, world.settings, world.state)
        run.go()
        world.__dict__["_run"] = run
    return run


def session(world: World, name: object) -> Session:
    """Return a session by its name."""
    return next(s for s in run_of(world).world.sessions if same(s.name, name))


def _own(world: World, said: Said) -> Session:
    return session(world, said.row["operation"])


@checks("allocation", "not_lower_priority", system=_SYSTEM)
def not_lower_priority(world: World, said: Said) -> None:
    """Its rank is not below that of the session that asked."""
    own, asks = _own(world, said), session(world, asker(world, said)["name"])
    must(own.rank >= asks.rank, "its rank is lower", own.rank, asks.rank)
    key = world.settings.preemption_key
    compared_is(said, {f"{key}_of_{one.name}": float(one.rank) for one in (own, asks)})


@checks("allocation", "above_threshold", system=_SYSTEM)
def above_threshold(world: World, said: Said) -> None:
    """Its priority is above the threshold."""
    own, most = _own(world, said), world.settings.preemptible_priority
    must(world.settings.victim_threshold != "none" and own.priority > most, "priority", own.priority, most)
    compared_is(said, {f"priority_of_{own.name}": float(own.priority), "preemptible_priority": most})


@checks("allocation", "not_preemptible_flag", system=_SYSTEM)
def not_preemptible_flag(world: World, said: Said) -> None:
    """Whether the session, or an allocation of it, is marked as not preemptible; not merely by its kind."""
    row = world.operation_of(said.row)
    marks = [a.get("preemptible", True) for a in world.allocations_of(row["name"])]
    own = row.get("settings", {}).get("is_preemptible")
    must(own is False or not all(marks), "no row marks it", row.get("kind"), own, marks)


@checks("allocation", "system_work", system=_SYSTEM)
def system_work(world: World, said: Said) -> None:
    """Whether it is of a session of the system."""
    must(_own(world, said).kind == "system", "kind", _own(world, said).kind)


@checks("request", "system_does_not_preempt", system=_SYSTEM)
@checks("allocation", "system_does_not_preempt", system=_SYSTEM)
def system_does_not_preempt(world: World, said: Said) -> None:
    """Whether the session that waits is of the system."""
    asks = (
        _own(world, said)
        if said.explanation.table == "requests"
        else session(world, asker(world, said)["name"])
    )
    must(asks.kind == "system", "kind", asks.kind)


@checks("allocation", "not_suspendable", system=_SYSTEM)
def not_suspendable(world: World, said: Said) -> None:
    """Whether it would be suspended, which does not suit its kind, and such work is no victim."""
    s, kind = world.settings, _own(world, said).kind
    right = s.preemption_mode == "suspend" and s.suspend_fallback == "not_a_victim" and kind != "batch"
    must(right, "it may be suspended", s.preemption_mode, s.suspend_fallback, kind)


@checks("allocation", "other_scope", system=_SYSTEM)
def other_scope(world: World, said: Said) -> None:
    """Whether it is of another user, project or domain."""
    own, asks = _own(world, said), session(world, asker(world, said)["name"])
    must(own.scope != asks.scope, "the same", own.scope, asks.scope)
    scope = world.settings.victim_scope
    compared_is(said, {f"{scope}_of_{one.name}": one.scope for one in (own, asks)})


@checks("allocation", "ran_too_short", system=_SYSTEM)
def ran_too_short(world: World, said: Said) -> None:
    """Whether it has run for less than the setting, or has not started its work."""
    own, least = _own(world, said), world.settings.preemption_min_runtime
    ran = world.now - own.start()
    must(least > 0 and (not own.started or ran < least), "it has run long enough", ran, least)
    must(said.compared.get("preemption_min_runtime") == least, "the setting", least)
    must(not own.started or abs(said.compared["seconds"] - ran) < 1e-6, "it has run", ran)


@checks("request", "not_first_in_queue", "behind_first_waiting", system=_SYSTEM)
@checks("allocation", "not_first_in_queue", "behind_first_waiting", system=_SYSTEM)
def behind(world: World, said: Said) -> None:
    """Another session is before the one that asked: of higher priority, or of the same and earlier."""
    run = run_of(world)
    if said.explanation.table == "requests":
        asks = _own(world, said)
    elif said.met.get("request") is not None:
        asks = session(world, asker(world, said)["name"])
    else:
        asks = _own(world, said)
    queue = [s for s, _, _ in run.queue()]
    must(asks in queue, "it does not wait", asks.name)
    first = queue.index(asks)
    must(first > 0 or asks in queue[1:], "it is first in the queue", asks.name)
    if said.code == "behind_first_waiting":
        refused = {s.name for s in queue[: max(i for i, s in enumerate(queue) if s is asks)]}
        waits = [n for n in refused if any(str(r["name"]) in world.refusals for r in world.requests_of(n))]
        asleep = [
            n for n in refused if any(World.state_of(a) == "preempted" for a in world.allocations_of(n))
        ]
        must(waits or asleep, "none before it waits", asks.name)


@checks("request", "no_lower_priority", system=_SYSTEM)
def no_lower_priority(world: World, said: Said) -> None:
    """No session that may be a victim has a lower rank."""
    _rule_is(world, said)
    could = _candidates(world, _own(world, said))
    must(not could, "they could be preempted", [one.name for one in could])


def _rule_is(world: World, said: Said) -> None:
    """Raise `AssertionError` unless the slow run says the same of the request."""
    run = run_of(world)
    for s in run.world.sessions:
        for request in s.waiting():
            if same(request.name, said.row["name"]) and request.name not in run.started:
                rule = s.refused or run.rule_of(request)
                must(rule == said.code, "what is in its way", rule)
                return
    must(False, "it does not wait", said.row["name"])


@checks(
    "request",
    *("max_containers", "other_request_waits", "priority_change_disabled", "started", "no_nodes"),
    system=_SYSTEM,
)
def by_the_slow_run(world: World, said: Said) -> None:
    """Whether the slow run says the same."""
    if said.code == "started" and said.met.get("stage"):
        must(world.decided("start", request=said.row["name"]), "it does not start")
        return
    _rule_is(world, said)


@checks("request", "priority_out_of_range", system=_SYSTEM)
def priority_out_of_range(world: World, said: Said) -> None:
    """Its priority is outside the range of user and project."""
    own = _own(world, said)
    must(own.refused == "priority_out_of_range", "it is refused", own.refused)
    told = said.compared or said.met
    low, high = (float(told.get(name, "nan")) for name in ("lowest", "highest"))
    must(low <= high and not low <= own.priority <= high, "priority and range", own.priority, low, high)


@checks("request", "no_free_room", "no_room_even_with_victims", system=_SYSTEM)
def no_room(world: World, said: Said) -> None:
    """Whether a unit of the request finds no node, and the nearest one lacks what is said to be missing."""
    _rule_is(world, said)
    run, own = run_of(world), _own(world, said)
    told = without_zeros(said.met.get("missing", {}))
    gone = _candidates(world, own) if said.code == "no_room_even_with_victims" else []
    room, found = run.room(whose=own, leaving_counts=True, gone=gone), []
    units = [(r, r.amounts) for r in own.waiting() for _ in range(r.count)]
    for request, amounts in units:
        if same(request.name, said.row["name"]):
            found += _lacks(world, run, room, request, amounts)
        node = room.best(request, amounts)
        if node is None:
            break
        room.placed.append(Placed(request, node, amounts))
    if world.settings.victim_area == "agent" or world.settings.preemptors == "every":
        must(told, "nothing is said to be missing")
        return
    must(told and told in found, "missing", told, found)


def _lacks(
    world: World, run: Any, room: Any, request: Any, amounts: dict[str, int]
) -> list[dict[str, float]]:
    found = []
    for node in run.world.nodes:
        if bar(request, node, run.world, world.settings) is None and room.takes_one_more(node):
            lacks = {
                r: (a - room.free(node, r)) * run.world.quantum[r]
                for r, a in amounts.items()
                if a > 0 and a > room.free(node, r)
            }
            found.append(without_zeros(lacks))
    return found


def _candidates(world: World, own: Session) -> list[Session]:
    run = run_of(world)
    return candidates(run.world, world.settings, own, run.claimed)


@checks("allocation", "frees_nothing_useful", system=_SYSTEM)
def frees_nothing_useful(world: World, said: Said) -> None:
    """Whether it holds nothing that the request needs on any node where that could be placed."""
    asks = session(world, asker(world, said)["name"])
    run = run_of(world)
    holds = list(_own(world, said).running())
    room = run.room(whose=asks, leaving_counts=True, gone=_candidates(world, asks))
    for c in holds:
        for request in asks.waiting():
            wanted = [r for r, a in request.amounts.items() if a > 0 and c.amounts[r] > 0]
            wide = [r for r in wanted if r in run.world.in_cluster]
            here = c.node is not None and room.fits(request.amounts, c.node)
            here = (
                here
                and bar(request, c.node, run.world, world.settings) is None
                and room.takes_one_more(c.node)
            )
            must(not (wanted and here) and not wide, "it helps", request.name, c.node, wanted)


@checks("allocation", "spared_fits_without", "given_back", system=_SYSTEM)
def spared(world: World, said: Said) -> None:
    """Others leave for the session that asked, and it comes after them in the order of victims, or before."""
    asks = asker(world, said)["name"]
    made = [d for d in world.decided("preempt") if same(d["beneficiary"]["operation"], asks)]
    must(made, "nothing leaves for it", asks)
    must(all(not same(d["operation"], said.row["operation"]) for d in made), "it leaves")
    s = world.settings
    must(said.code != "given_back" or s.victim_selection != "minimum", "no set was reduced")
    if s.victim_selection == "minimum" or s.victim_area == "agent" or not s.pace.is_off or world.pace.caps:
        return
    own = _own(world, said)
    gone = [session(world, d["operation"]) for d in made]
    last = max(gone, key=lambda one: (one.rank, one.started))
    key, least = (own.rank, own.started), (last.rank, last.started)
    if said.code == "given_back":
        must(key <= least, "its turn never came", key, least)
    else:
        must(key >= max((g.rank, g.started) for g in gone), "it was wanted first", key)


@checks("allocation", "no_free_room", system=_SYSTEM)
def suspended_has_no_room(world: World, said: Said) -> None:
    """Whether a suspended session does not fit where it would resume, by what is said to be missing."""
    own = _own(world, said)
    must(World.state_of(said.row) == "preempted", "it is not suspended")
    must(not world.decided("resume", allocation=said.row["name"]), "it resumes", own.name)
    must(without_zeros(said.met.get("missing", {})), "nothing is said to be missing")


@checks("allocation", "node_not_schedulable", "wrong_node", "wrong_tags", system=_SYSTEM)
def suspended_may_run_nowhere(world: World, said: Said) -> None:
    """Whether a suspended session may resume on no node."""
    must(World.state_of(said.row) == "preempted", "it is not suspended")
    run = run_of(world)
    units = [c for c in _own(world, said).containers if c.state == "preempted"]
    bars = [{bar(c, node, run.world, world.settings) for node in run.world.nodes} for c in units]
    must(any(said.code in found and None not in found for found in bars), "it may resume", bars)
