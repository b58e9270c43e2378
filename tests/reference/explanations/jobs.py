"""What systems that start and preempt jobs or sessions as a whole say, where it is the same for all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.reference.explanations.registry import Said, checks, must
from tests.reference.explanations.world import World, same

if TYPE_CHECKING:
    from tests.reference.explanations.world import Row

__all__ = ["asker", "compared_is"]


def asker(world: World, said: Said) -> Row:
    """Return the operation that asked, of the request that is named."""
    name = said.met.get("request")
    must(name is not None, "it is not said for which request")
    return world.operation_of(world.row("requests", name))


def compared_is(said: Said, found: dict[str, Any]) -> None:
    """Raise `AssertionError` unless just these numbers are said to have been compared."""
    told = dict(said.compared)
    must(told.keys() == found.keys(), "what was compared", told, found)
    for name, value in found.items():
        close = told[name] == value or (
            isinstance(value, float | int) and abs(float(told[name]) - value) < 1e-6
        )
        must(close, f"{name} is said to be {told[name]}, and is {value}")


@checks("allocation", "same_operation")
def same_operation(world: World, said: Said) -> None:
    """Whether the request is of the same operation."""
    must(
        same(asker(world, said)["name"], said.row["operation"]), "another operation", said.met.get("request")
    )


@checks("allocation", "not_running", "already_preempting")
def not_running(world: World, said: Said) -> None:
    """Something of its operation does not run, or leaves: by the snapshot, or as a victim of this plan."""
    rows = world.allocations_of(said.row["operation"])
    states = {World.state_of(row) for row in rows}
    claimed = world.decided("preempt", operation=said.row["operation"])
    if said.code == "already_preempting":
        must("preempting" in states or claimed, "nothing of it leaves", states)
    else:
        must(states - {"running"} or claimed, "all of it runs", states)


@checks("allocation", "no_start_in_stage")
def no_start_in_stage(world: World, said: Said) -> None:
    """No victims are taken for the operation that asked."""
    asks = asker(world, said)["name"]
    made = [d for d in world.decided("preempt") if same((d["beneficiary"] or {}).get("operation"), asks)]
    must(not made, "victims are taken for it", asks)


@checks("allocation", "taken")
def taken(world: World, said: Said) -> None:
    """Whether it is a victim."""
    must(world.decided("preempt", allocation=said.row["name"]), "it is not preempted")


@checks("request", "preemption_disabled")
@checks("allocation", "preemption_disabled")
def preemption_disabled(world: World, _said: Said) -> None:
    """Preemption is switched off by the setting that the system has for it."""
    s = world.settings
    if world.system == "backendai":
        off = not s.enabled
    elif world.system == "slurm":
        off = s.PreemptType == "preempt/none"
    else:
        off = s.max_preemptees == 0 or not s.automatic_preemption
    must(off, "preemption is switched on")


@checks("request", "no_nodes")
def no_nodes(world: World, said: Said) -> None:
    """Whether the snapshot has no nodes."""
    must(not world.tables["nodes"], "there are nodes", said.row["name"])


@checks("request", "waits_for_victims")
def waits_for_victims(world: World, said: Said) -> None:
    """Work was asked to leave for it, by this plan or before, or room is reserved for it."""
    request, operation = said.row["name"], said.row["operation"]

    def meant(whose: Any) -> bool:
        named = (whose or {}).get("operation")
        if named is None and (whose or {}).get("request") is not None:
            named = world.row("requests", whose["request"])["operation"]
        return same(named, operation) or same((whose or {}).get("request"), request)

    leaves = [a for a in world.tables["allocations"].values() if World.state_of(a) == "preempting"]
    now = [d for d in world.decisions if d["action"] in ("preempt", "reserve") and meant(d["beneficiary"])]
    reserved = [r for r in world.data.get("reservations", ()) if same(r.get("request"), request)]
    must(now or any(meant(a.get("beneficiary")) for a in leaves) or reserved, "nothing leaves for it")
    must(not world.decided("start", request=request), "it starts")


@checks("unseen", "stays_suspended")
def stays_suspended(world: World, said: Said) -> None:
    """Whether it is suspended, and does not resume."""
    must(World.state_of(said.row) == "preempted", "state", World.state_of(said.row))
    must(not world.decided("resume", allocation=said.row["name"]), "it resumes")


@checks("unseen", "already_preempting")
def leaves_already(_world: World, said: Said) -> None:
    """Whether it is leaving."""
    must(World.state_of(said.row) == "preempting", "state", World.state_of(said.row))


@checks("unseen", "not_considered")
def not_considered(world: World, said: Said) -> None:
    """Nothing is decided of it, and no victim could have helped a request that may preempt."""
    name = said.row["name"]
    table = said.explanation.table
    column = "allocation" if table == "allocations" else "request"
    must(not [d for d in world.decisions if same(d[column], name)], "something is decided of it")
    if table == "requests":
        must(str(name) not in world.refusals, "it was refused", world.refusals.get(str(name)))
    else:
        must(World.state_of(said.row) in ("running", "suspended"), "state", World.state_of(said.row))
