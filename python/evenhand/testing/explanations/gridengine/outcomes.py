"""What Grid Engine's policy says of jobs, held against priorities, flags, reservations and room."""

from __future__ import annotations

from evenhand.testing.explanations.job_rooms import free_rooms, lacks_of, places_allowed
from evenhand.testing.explanations.jobs import asker, compared_is
from evenhand.testing.explanations.registry import Said, checks, must
from evenhand.testing.explanations.world import World, same, without_zeros

__all__ = ["priority_of"]

_SYSTEM = "gridengine"


def priority_of(row: object) -> float:
    """Return the priority of a job."""
    return float(row.get("priority", 0.0) or 0.0)  # type: ignore[attr-defined]


@checks("allocation", "not_lower_priority", system=_SYSTEM)
def not_lower_priority(world: World, said: Said) -> None:
    """Its priority is not lower than that of the job that asked."""
    own, asks = world.operation_of(said.row), asker(world, said)
    must(priority_of(own) >= priority_of(asks), "its priority is lower", priority_of(own), priority_of(asks))
    compared_is(said, {f"priority_of_{job['name']}": priority_of(job) for job in (own, asks)})


@checks("allocation", "action_not_allowed", system=_SYSTEM)
def action_not_allowed(world: World, said: Said) -> None:
    """Whether the action that is configured for it needs something that not all of its jobs have."""
    s = world.settings
    rows = [a for a in world.allocations_of(said.row["operation"]) if World.state_of(a) == "running"]
    names = {str((a.get("settings") or {}).get("queue")) for a in rows}
    actions = {
        getattr(s.queues.get(name), "preemption_action", None) or s.preemption_action for name in names
    }
    must(
        actions - {"T", "P", "N", "S"} or s.preemption_action not in ("T", "P", "N", "S"), "actions", actions
    )


@checks("allocation", "spared_fits_without", system=_SYSTEM)
def spared_fits_without(world: World, said: Said) -> None:
    """Others leave for the job that asked."""
    asks = asker(world, said)["name"]
    made = [d for d in world.decided("preempt") if same(d["beneficiary"]["operation"], asks)]
    must(made, "nothing leaves for it", asks)
    must(all(not same(d["operation"], said.row["operation"]) for d in made), "it leaves")
    node = said.met.get("node")
    must(node is None or any(same(d["node"], node) for d in made), "it was placed elsewhere", node)


@checks("allocation", "max_preemptees", "not_named", system=_SYSTEM)
def max_preemptees(world: World, said: Said) -> None:
    """As many jobs are preempted as may be; or the request does not name it."""
    if said.code == "max_preemptees":
        compared_is(said, {"max_preemptees": world.settings.max_preemptees})
        _as_many(world)


def _as_many(world: World) -> None:
    states = {
        str(a["operation"]) for a in world.tables["allocations"].values() if World.state_of(a) == "preempted"
    }
    gone = {str(d["operation"]) for d in world.decided("preempt")}
    back = {str(d["operation"]) for d in world.decided("resume")}
    at_most = len(states | gone) + 1
    must(at_most + len(back) >= world.settings.max_preemptees, "preempted jobs", at_most)


@checks("allocation", "no_free_room", "node_not_schedulable", "wrong_tags", "wrong_node", system=_SYSTEM)
def does_not_resume(world: World, said: Said) -> None:
    """Whether a suspended job does not resume: its node lacks room, by what is said, or takes nothing new."""
    rows = [a for a in world.allocations_of(said.row["operation"]) if World.state_of(a) == "preempted"]
    must(rows and not world.decided("resume", operation=said.row["operation"]), "it resumes")
    if said.code == "node_not_schedulable":
        nodes = [world.row("nodes", a["node"]) for a in rows]
        must(any(not node.get("schedulable", True) for node in nodes), "its nodes take work")
    if said.code == "no_free_room":
        must(without_zeros(said.met.get("missing", {})), "nothing is said to be missing")


# --- requests


@checks("request", "no_free_room", "waits_for_reservation", "no_room_even_with_victims", system=_SYSTEM)
def no_free_room(world: World, said: Said) -> None:
    """Where it may run it lacks what is said to be missing, and it does not start."""
    made = world.decided("start", request=said.row["name"])
    must(len(made) < said.row.get("count", 1), "all of it starts")
    if said.code == "waits_for_reservation":
        held = world.decided("reserve", request=said.row["name"])
        must(held or world.decided("reserve", operation=said.row["operation"]), "nothing is reserved for it")
    told, need = without_zeros(said.met.get("missing", {})), said.row.get("resources") or {}
    if not told:
        must(said.code == "waits_for_reservation", "nothing is said to be missing")
        return
    found = []
    for node in places_allowed(world, said.row):
        for free in free_rooms(world, node, said.row["operation"]):
            for copies in range(1, int(said.row.get("count", 1)) + 1):
                beside = {r: free[r] - need.get(r, 0) * (copies - 1) for r in free}
                found.append(lacks_of(world, need, beside))
    must(told in found, "missing", told, found[-6:])


@checks("request", "no_lower_priority", system=_SYSTEM)
def no_lower_priority(world: World, said: Said) -> None:
    """No running job of lower priority may be preempted, as far as its rows tell."""
    asks = world.operation_of(said.row)
    s = world.settings
    for other in world.tables["operations"].values():
        rows = world.allocations_of(other["name"])
        running = rows and {World.state_of(a) for a in rows} == {"running"}
        claimed = world.decided("preempt", operation=other["name"])
        plain = s.preemption_action in ("T", "S") and not s.queues and s.pace.is_off
        may = running and plain and all(a.get("preemptible", True) for a in rows) and not claimed
        must(not may or priority_of(other) >= priority_of(asks), "it may be preempted", other["name"])


@checks("request", "within_preemption_distance", "available_now", system=_SYSTEM)
def within_preemption_distance(world: World, said: Said) -> None:
    """Whether a reservation for it begins within the distance; or there is room for it."""
    if said.code == "available_now":
        return
    compared = dict(said.compared)
    must(
        not compared or compared == {"preemption_distance": world.settings.preemption_distance},
        "compared",
        compared,
    )
    held = world.decided("reserve", operation=said.row["operation"])
    must(
        all(d["at"] <= world.now + world.settings.preemption_distance + 1e-6 for d in held),
        "it is farther away",
    )


@checks("request", "max_preemptees", system=_SYSTEM)
def as_many_as_allowed(world: World, said: Said) -> None:
    """As many jobs are preempted as `max_preemptees` allows."""
    if said.compared:
        compared_is(said, {"max_preemptees": world.settings.max_preemptees})
    _as_many(world)


@checks(
    "request",
    *("reservation_disabled", "consumer_not_pending", "consumer_without_reservation", "provider_not_running"),
    *("provider_not_lower_priority", "provider_not_checkpointable", "provider_not_rerunnable", "not_owner"),
    system=_SYSTEM,
)
def command_refused(world: World, said: Said) -> None:
    """Said of a request for preemption, or of a consumer that may not have a reservation."""
    if said.code == "reservation_disabled":
        must(world.settings.max_reservation == 0, "reservation is enabled")
    if said.code == "consumer_without_reservation":
        must(not said.row.get("reserve", False), "it asks for a reservation")
