"""What Backend.AI's policy says of sessions that stay, held against the rules as the kit reads them."""

from __future__ import annotations

from tests.reference.backendai.room import bar
from tests.reference.explanations.backendai.runs import (
    asks_of,
    candidates_for,
    own_of,
    run_of,
    session,
    stands,
)
from tests.reference.explanations.jobs import asker, compared_is
from tests.reference.explanations.registry import Said, checks, must
from tests.reference.explanations.world import World, same, without_zeros

_SYSTEM = "backendai"


def _stands_first(world: World, said: Said) -> None:
    """Raise `AssertionError` if something else is in the way before it."""
    found = stands(world, own_of(world, said), asks_of(world, said))
    must(found == said.code, "what is first in the way", found)


@checks("allocation", "not_lower_priority", system=_SYSTEM)
def not_lower_priority(world: World, said: Said) -> None:
    """Its rank is not below that of the session that asked."""
    own, asks = own_of(world, said), asks_of(world, said)
    if own is asks:
        compared_is(said, {})
        return
    must(own.rank >= asks.rank, "its rank is lower", own.rank, asks.rank)
    key = world.settings.preemption_key
    compared_is(said, {f"{key}_of_{one.name}": float(one.rank) for one in (own, asks)})
    _stands_first(world, said)


@checks("allocation", "above_threshold", system=_SYSTEM)
def above_threshold(world: World, said: Said) -> None:
    """Its priority is above the threshold."""
    own, most = own_of(world, said), world.settings.preemptible_priority
    must(world.settings.victim_threshold != "none" and own.priority > most, "priority", own.priority, most)
    compared_is(said, {f"priority_of_{own.name}": float(own.priority), "preemptible_priority": most})
    _stands_first(world, said)


@checks("allocation", "not_preemptible_flag", system=_SYSTEM)
def not_preemptible_flag(world: World, said: Said) -> None:
    """Whether a session, an allocation of it or its kind is not preemptible, as is said."""
    row = world.operation_of(said.row)
    marked = [c.name for c in own_of(world, said).running() if not c.preemptible]
    own, kind = row.get("settings", {}).get("is_preemptible"), row.get("kind", "batch")
    if own is False:
        compared_is(said, {f"is_preemptible_of_{row['name']}": False})
    elif marked:
        named = said.row["name"] if said.row["name"] in marked else marked[0]
        compared_is(said, {f"preemptible_of_{named}": False})
    else:
        by_kind = own is None and kind == "inference" and not world.settings.inference_preemptible
        must(by_kind, "nothing says so", kind, own)
        compared_is(said, {f"kind_of_{row['name']}": kind, "inference_preemptible": False})
    _stands_first(world, said)


@checks("allocation", "system_work", system=_SYSTEM)
def system_work(world: World, said: Said) -> None:
    """Whether it is of a session of the system."""
    own = own_of(world, said)
    must(own.kind == "system", "kind", own.kind)
    compared_is(said, {f"kind_of_{own.name}": "system"})


@checks("allocation", "not_suspendable", system=_SYSTEM)
def not_suspendable(world: World, said: Said) -> None:
    """Whether it would be suspended, which does not suit its kind, and such work is no victim."""
    s, own = world.settings, own_of(world, said)
    settings = {"preemption_mode": "suspend", "suspend_fallback": "not_a_victim"}
    must(all(getattr(s, name) == value for name, value in settings.items()), "settings", settings)
    must(own.kind != "batch", "it may be suspended", own.kind)
    compared_is(said, {f"kind_of_{own.name}": own.kind, **settings})
    _stands_first(world, said)


@checks("allocation", "other_scope", system=_SYSTEM)
def other_scope(world: World, said: Said) -> None:
    """Whether it is of another user, project or domain; work that names none is in no scope."""
    own, asks = own_of(world, said), asks_of(world, said)
    must(own.scope is None or own.scope != asks.scope, "the same", own.scope, asks.scope)
    scope = world.settings.victim_scope
    found = {f"{scope}_of_{one.name}": one.scope for one in (own, asks)}
    compared_is(said, {**found, "victim_scope": scope})
    _stands_first(world, said)


@checks("allocation", "ran_too_short", system=_SYSTEM)
def ran_too_short(world: World, said: Said) -> None:
    """Whether it has run for less than the setting, or has not started its work."""
    own, least = own_of(world, said), world.settings.preemption_min_runtime
    ran = world.now - own.start()
    must(least > 0 and (not own.started or ran < least), "it has run long enough", ran, least)
    found = {"seconds": ran, "until": own.start() + least} if own.started else {}
    found |= {} if own.started else {f"started_of_{own.name}": False}
    compared_is(said, {**found, "preemption_min_runtime": least})
    _stands_first(world, said)


@checks("allocation", "not_running", system=_SYSTEM)
def not_running(world: World, said: Said) -> None:
    """Whether it does not run, or an allocation of its session, which is named, was stopped before."""
    if World.state_of(said.row) == "running":
        found = {
            f"state_of_{a['name']}": World.state_of(a) for a in world.allocations_of(said.row["operation"])
        }
        told = dict(said.compared)
        stopped = all(found.get(name) == state == "suspended" for name, state in told.items())
        must(told and stopped, "nothing of it was stopped", told, found)
    else:
        must(not said.compared, "what was compared", said.compared)


@checks("allocation", "frees_nothing_useful", system=_SYSTEM)
def frees_nothing_useful(world: World, said: Said) -> None:
    """Whether it holds nothing that the request needs on any node where that could be placed."""
    asks = session(world, asker(world, said)["name"])
    run = run_of(world)
    holds = list(own_of(world, said).running())
    room = run.room(whose=asks, leaving_counts=True, gone=candidates_for(world, asks))
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
    """Others leave for the session that asked, and it has the place in their order that is said."""
    asks, own, run = session(world, asker(world, said)["name"]), own_of(world, said), run_of(world)
    made = [d for d in world.decided("preempt") if same(d["beneficiary"]["operation"], asks.name)]
    must(made, "nothing leaves for it", asks.name)
    must(all(not same(d["operation"], own.name) for d in made), "it leaves")
    s, told = world.settings, dict(said.compared)
    must(said.code != "given_back" or s.victim_selection == "irreducible", "no set was reduced")
    for name in ("victim_selection", "victim_cost", "preemption_order"):
        must(name not in told or told[name] == getattr(s, name), name, told.get(name))
    nodes = {p.node for p in run.placed_for[asks]}
    must(
        "placed_on" not in told or {*map(str, told["placed_on"])} == nodes, "where it is placed", told, nodes
    )
    if "place" in told:
        found = run.places.get((asks, own))
        must((told["place"], told["candidates"]) == found, "its place", told["place"], found)
    if s.victim_selection == "minimum" or s.victim_area == "agent" or not s.pace.is_off or world.pace.caps:
        return
    last = max(run.places[asks, session(world, d["operation"])][0] for d in made)
    mine = run.places[asks, own][0]
    right = mine < last if said.code == "given_back" else mine > last
    must(right, "its place and that of the last victim", mine, last)


@checks("allocation", "no_free_room", system=_SYSTEM)
def suspended_has_no_room(world: World, said: Said) -> None:
    """Whether a suspended session does not fit where it would resume, by what is said to be missing."""
    own = own_of(world, said)
    must(World.state_of(said.row) == "preempted", "it is not suspended")
    must(not world.decided("resume", allocation=said.row["name"]), "it resumes", own.name)
    must(without_zeros(said.met.get("missing", {})), "nothing is said to be missing")


@checks("allocation", "max_containers", system=_SYSTEM)
def suspended_has_no_container(world: World, said: Said) -> None:
    """Whether every node where a suspended session may resume has as many allocations as it may have."""
    most, run = world.settings.max_containers, run_of(world)
    compared_is(said, {"max_containers": most})
    must(World.state_of(said.row) == "preempted", "it is not suspended")
    room = run.room()
    units = [c for c in own_of(world, said).containers if c.state == "preempted"]
    full = [
        [not room.takes_one_more(n) for n in run.world.nodes if bar(c, n, run.world, world.settings) is None]
        for c in units
    ]
    must(any(all(nodes) for nodes in full) or len(units) > 1, "a node takes one more", full)


@checks("allocation", "node_not_schedulable", "wrong_node", "wrong_tags", system=_SYSTEM)
def suspended_may_run_nowhere(world: World, said: Said) -> None:
    """Whether a suspended session may resume on no node."""
    must(World.state_of(said.row) == "preempted", "it is not suspended")
    run = run_of(world)
    units = [c for c in own_of(world, said).containers if c.state == "preempted"]
    bars = [{bar(c, node, run.world, world.settings) for node in run.world.nodes} for c in units]
    must(any(said.code in found and None not in found for found in bars), "it may resume", bars)


@checks("unseen", "not_considered", system=_SYSTEM)
def not_considered(world: World, said: Said) -> None:
    """Whether no session looked for victims."""
    must(not run_of(world).asked, "some did", [s.name for s in run_of(world).asked])
    must(not world.decided("preempt", "resume", allocation=said.row["name"]), "something is decided of it")
