"""What Grid Engine's policy says of jobs, held against priorities, flags, reservations and room."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.reference.explanations.gridengine.providers import (
    action_for,
    allowed,
    asked_for,
    candidates,
    earlier_victims,
    exactly_known,
    may_forbid,
    preempted_before,
    priority_of,
)
from tests.reference.explanations.gridengine.rooms import missing_of_request, missing_of_stopped
from tests.reference.explanations.gridengine.subordinates import queue_closed
from tests.reference.explanations.gridengine.victims import order_is, starts_is
from tests.reference.explanations.job_rooms import free_rooms, job_meant, lacks_of, places_allowed
from tests.reference.explanations.jobs import (
    asker,
    compared_is,
    no_start_in_stage,
    not_considered,
    waits_for_victims,
)
from tests.reference.explanations.registry import Said, checks, must
from tests.reference.explanations.world import World, same

if TYPE_CHECKING:
    from tests.reference.explanations.world import Row

__all__ = ["too_many"]

_SYSTEM = "gridengine"


@checks("allocation", "not_lower_priority", system=_SYSTEM)
def not_lower_priority(world: World, said: Said) -> None:
    """Its priority is not lower than that of the job that asked."""
    own, asks = world.operation_of(said.row), asker(world, said)
    must(priority_of(own) >= priority_of(asks), "its priority is lower", priority_of(own), priority_of(asks))
    compared_is(said, {f"priority_of_{job['name']}": priority_of(job) for job in (own, asks)})


@checks("allocation", "action_not_allowed", system=_SYSTEM)
def action_not_allowed(world: World, said: Said) -> None:
    """Whether the action by which it would leave needs something that not all of its job has."""
    asks = asker(world, said)
    action = action_for(world, said.row["operation"], asks)
    compared_is(said, {"action": action})
    may = allowed(world, said.row["operation"], asks)
    must(action == "advisor" or not may, "it may be taken so", action)
    must(action != "advisor" or "T" not in world.settings.actions, "T always may", action)


@checks("allocation", "spared_fits_without", system=_SYSTEM)
def spared_fits_without(world: World, said: Said) -> None:
    """Others leave for the job that asked, and with them gone there is room where it is placed."""
    job, row = asker(world, said), world.row("requests", said.met["request"])
    made = [
        d for d in world.decided("preempt") if same((d["beneficiary"] or {}).get("operation"), job["name"])
    ]
    must(made, "nothing leaves for it", job["name"])
    must(all(not same(d["operation"], said.row["operation"]) for d in made), "it leaves")
    order_is(world, said.compared, world.operation_of(said.row), job, int(made[0]["step"]))
    victims_are(world, said, job)
    placed = [str(node) for node in said.compared["placed_on"]]
    must(placed and set(placed) <= world.tables["nodes"].keys(), "where it is placed", placed)
    gone = [d["allocation"] for d in made]
    rows = world.requests_of(job["name"])
    for node in placed:
        allows = [q for q in rows if node in places_allowed(world, q)]
        rooms = [*free_rooms(world, node, job["name"], gone=gone)]
        fits = any(not lacks_of(world, q.get("resources") or {}, free) for q in allows for free in rooms)
        must(fits, "there is no room", node, rooms[-3:], row)


@checks("allocation", "max_preemptees", "no_start_in_stage", "not_named", system=_SYSTEM)
def too_many(world: World, said: Said) -> None:
    """More jobs would be preempted than may be; or none would help; or the request does not name it."""
    job = asker(world, said)
    step = _step_of(world, job)
    first_met(said)
    order_is(
        world,
        said.compared,
        world.operation_of(said.row),
        job,
        step if step is not None else _turn(world, said),
    )
    if "wanted" in said.compared:
        _more_than_may_be(world, said, job)
    must(said.code != "max_preemptees" or "wanted" in said.compared, "how many would leave is not said")
    if said.code == "no_start_in_stage":
        no_start_in_stage(world, said)


def first_met(said: Said) -> bool:
    """Return whether it is said of what was looked at first; its numbers are those of the whole."""
    explanation = said.explanation
    if not explanation.looked_at or said.met is not explanation.looked_at[0]:
        return False
    for name, value in said.compared.items():
        must(explanation.numbers.get(name) == value, name, explanation.numbers.get(name), value)
    return True


def victims_are(world: World, said: Said, job: Row) -> None:
    """Raise `AssertionError` unless just these jobs leave for another, by this plan or before."""
    found = {
        str(a["operation"])
        for a in world.tables["allocations"].values()
        if World.state_of(a) == "preempting" and same(job_meant(world, a.get("beneficiary")), job["name"])
    }
    mine = [d for d in world.decided("preempt") if d["beneficiary"] is not None]
    found |= {str(d["operation"]) for d in mine if same(d["beneficiary"]["operation"], job["name"])}
    must(set(said.compared.get("victims", ())) == found, "jobs that leave for it", said.compared, found)


def _step_of(world: World, job: Row) -> int | None:
    """Return the step in which victims are taken for a job."""
    made = [
        d for d in world.decided("preempt") if same((d["beneficiary"] or {}).get("operation"), job["name"])
    ]
    return int(made[0]["step"]) if made else None


def _turn(world: World, said: Said) -> int | None:
    """Return a step before which the job that asked had its turn, by how many can be candidates."""
    many = said.compared.get("candidates")
    if many is None:
        return None
    steps = sorted({int(d["step"]) for d in world.decided("preempt")})
    for step in (*steps, None):
        if len(candidates(world, asker(world, said), step)) == many:
            return step
    return None


def _more_than_may_be(world: World, said: Said, job: Row) -> None:
    told, step = said.compared, _step_of(world, job)
    must(told["max_preemptees"] == world.settings.max_preemptees, "max_preemptees", told)
    must(told["enough"] == told["preemptees"] + told["wanted"], "how many would be enough", told)
    must(told["enough"] > told["max_preemptees"], "they are not too many", told)
    least = preempted_before(world, 0)[0] if step is None else preempted_before(world, step)[0]
    most = preempted_before(world, step)[1]
    must(least <= told["preemptees"] <= most, "jobs preempted before", told, least, most)
    jobs = {a["operation"] for a in world.tables["allocations"].values() if World.state_of(a) == "running"}
    lower = [o for o in jobs if priority_of(world.row("operations", o)) < priority_of(job)]
    must(1 <= told["wanted"] <= len(lower), "jobs that would leave", told, lower)


@checks("allocation", "no_free_room", "node_not_schedulable", "wrong_tags", "wrong_node", system=_SYSTEM)
def does_not_resume(world: World, said: Said) -> None:
    """Whether a suspended job does not resume: its node lacks room, by what is said, or takes nothing new."""
    rows = [a for a in world.allocations_of(said.row["operation"]) if World.state_of(a) == "preempted"]
    must(rows and not world.decided("resume", operation=said.row["operation"]), "it resumes")
    if said.code == "node_not_schedulable":
        nodes = [world.row("nodes", a["node"]) for a in rows]
        must(any(not node.get("schedulable", True) for node in nodes), "its nodes take work")
    if said.code == "no_free_room":
        missing_of_stopped(world, said)
        held = [d["at"] for d in world.decided("reserve", allocation=said.row["name"])]
        told = said.compared.get("starts_at")
        must(not held or told in held, "when it resumes", told, held)
        must("behind_operation" not in said.compared or world.settings.prioritize_preemptees, "it is behind")


# --- requests


@checks("request", "no_free_room", "waits_for_reservation", "no_room_even_with_victims", system=_SYSTEM)
@checks("request", "waits_for_victims", system=_SYSTEM)
def no_free_room(world: World, said: Said) -> None:
    """Where it may run it lacks what is said to be missing, and it does not start."""
    made = world.decided("start", request=said.row["name"])
    must(len(made) < said.row.get("count", 1), "all of it starts")
    if said.code == "waits_for_victims":
        waits_for_victims(world, said)
    if first_met(said):
        if said.code == "waits_for_victims":
            victims_are(world, said, world.operation_of(said.row))
        if said.code == "no_room_even_with_victims" and "queue" in said.compared:
            must(not said.met.get("missing"), "something is missing beside")
            queue_closed(world, said)
        else:
            missing_of_request(world, said, with_victims=said.code == "no_room_even_with_victims")
        _why_no_more(world, said)


def _spared_are(world: World, said: Said, asks: Row) -> None:
    """Hold how many jobs may not be preempted, by rule, against the rows; of the pace that it is on."""
    told = said.compared.get("spared")
    if told is None:
        return
    must(told and all(many > 0 for many in told.values()), "none is spared", told)
    paced = set(told) - {
        "not_lower_priority",
        "not_preemptible_flag",
        "action_not_allowed",
        "already_preempting",
    }
    must(not paced or not exactly_known(world), "there is no pace", paced)
    if world.state:
        return
    taken = earlier_victims(world, None)
    jobs = {name: world.allocations_of(name) for name in world.tables["operations"]}
    runs = {name for name, rows in jobs.items() if rows and {World.state_of(a) for a in rows} == {"running"}}
    marked = {name for name in runs if not all(a.get("preemptible", True) for a in jobs[name])}
    high = {n for n in runs - marked if priority_of(world.row("operations", n)) >= priority_of(asks)}
    must(told.get("not_preemptible_flag", 0) == len(marked), "jobs that are marked", told, marked)
    must(
        len(high - taken) <= told.get("not_lower_priority", 0) <= len(high),
        "jobs of high priority",
        told,
        high,
    )
    low = {n for n in runs - marked - high if may_forbid(world, n, asks)}
    must(told.get("action_not_allowed", 0) <= len(low), "jobs with another action", told, low)
    leaving = {n for n, rows in jobs.items() if any(World.state_of(a) == "preempting" for a in rows)}
    most = len(leaving | taken)
    must(len(leaving) <= told.get("already_preempting", 0) <= most, "jobs that leave", told, leaving, taken)


def _why_no_more(world: World, said: Said) -> None:
    """Hold what is said of reservations and settings against them."""
    told, job = said.compared, world.operation_of(said.row)
    _spared_are(world, said, job)
    held = world.decided("reserve", operation=job["name"])
    if said.code == "waits_for_reservation":
        must(held, "nothing is reserved for it")
    starts_is(world, told, job)
    reserves = any(q.get("reserve", False) for q in world.requests_of(job["name"]))
    must("starts_at" not in told or reserves or world.state, "it asks for no reservation")
    s = world.settings
    must(told.get("preemption_distance") in (None, s.preemption_distance), "the distance", told)
    if "preemption_distance" in told:
        must(told["starts_at"] - world.now <= s.preemption_distance, "it is farther away", told)
    if "max_reservation" in told:
        must(told["max_reservation"] == s.max_reservation, "max_reservation", told)
        jobs = {str(d["operation"]) for d in world.decided("reserve") if d["request"] is not None}
        must(len(jobs) == s.max_reservation and not held, "jobs with a reservation", jobs)
    text = " ".join(said.explanation.sentences)
    for phrase, holds in (
        ("It asks for no reservation", not reserves),
        ("`max_reservation` is 0", s.max_reservation == 0),
        ("`automatic_preemption` is off", not s.automatic_preemption),
        ("`max_preemptees` is 0", s.max_preemptees == 0),
        ("It has no reservation", reserves and not held),
    ):
        must(holds or phrase not in text, f"it is not so that {phrase}")


@checks("request", "no_lower_priority", "no_job_allows_action", system=_SYSTEM)
def no_lower_priority(world: World, said: Said) -> None:
    """No running job of lower priority may be preempted, as far as its rows tell."""
    asks = world.operation_of(said.row)
    s = world.settings
    if first_met(said):
        must(said.compared["priority"] == priority_of(asks), "its priority", said.compared, asks)
        missing_of_request(world, said)
        _why_no_more(world, said)
    if said.code == "no_job_allows_action":
        must(any(may_forbid(world, name, asks) for name in _lower(world, asks)), "each allows its action")
    named = [str(name) for name in asked_for(world, asks).get("providers") or ()]
    if said.met.get("stage"):
        must(said.compared.get("named", []) == named, "the jobs that are named", said.compared, named)
    for other in world.tables["operations"].values():
        if named and str(other["name"]) not in named:
            continue
        rows = world.allocations_of(other["name"])
        running = rows and {World.state_of(a) for a in rows} == {"running"}
        claimed = world.decided("preempt", operation=other["name"])
        plain = s.preemption_action in ("T", "S") and not s.queues and s.pace.is_off
        plain = plain and allowed(world, other["name"], asks)
        may = running and plain and all(a.get("preemptible", True) for a in rows) and not claimed
        must(not may or priority_of(other) >= priority_of(asks), "it may be preempted", other["name"])


def _lower(world: World, asks: Row) -> list[str]:
    """Return the jobs of lower priority that run."""
    jobs = {str(a["operation"]) for a in world.tables["allocations"].values()}
    runs = {o for o in jobs if {World.state_of(a) for a in world.allocations_of(o)} == {"running"}}
    return sorted(o for o in runs if priority_of(world.row("operations", o)) < priority_of(asks))


@checks("request", "within_preemption_distance", "available_now", system=_SYSTEM)
def within_preemption_distance(world: World, said: Said) -> None:
    """Whether a reservation for it begins within the distance; or there is room for it."""
    if said.code == "available_now":
        return
    told = said.compared
    if first_met(said):
        must(told.get("preemption_distance") == world.settings.preemption_distance, "the distance", told)
        missing_of_request(world, said)
        starts_is(world, told, world.operation_of(said.row))
        must(told["starts_at"] - world.now <= world.settings.preemption_distance, "it is farther away", told)
    held = world.decided("reserve", operation=said.row["operation"])
    must(
        all(d["at"] <= world.now + world.settings.preemption_distance + 1e-6 for d in held),
        "it is farther away",
    )


@checks("request", "max_preemptees", system=_SYSTEM)
def as_many_as_allowed(world: World, said: Said) -> None:
    """More jobs would be preempted at a time than `max_preemptees` allows."""
    if first_met(said):
        _more_than_may_be(world, said, world.operation_of(said.row))
        missing_of_request(world, said)
        _why_no_more(world, said)


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


@checks("allocation", "not_running", "already_preempting", "not_preemptible_flag", system=_SYSTEM)
def part_of_a_job(world: World, said: Said) -> None:
    """Whether it, or the part of its job that is named, does not run, leaves or has opted out."""
    other = said.compared.get("other_allocation")
    must(other is None or str(other) in world.tables["allocations"], "that is no allocation", other)
    row = said.row if other is None else world.row("allocations", other)
    must(same(row["operation"], said.row["operation"]), "that is no part of its job", other)
    state = World.state_of(row)
    if said.code == "not_preemptible_flag":
        must(not row.get("preemptible", True) and state == "running", "it has not opted out", row)
    elif said.code == "already_preempting":
        claimed = world.decided("preempt", operation=said.row["operation"])
        must(state == "preempting" or claimed, "it does not leave", state)
    else:
        must(state != "running" or world.decided("preempt", operation=row["operation"]), "it runs", state)


@checks("unseen", "not_considered", system=_SYSTEM)
def unseen(world: World, said: Said) -> None:
    """Nothing is decided of it; a setting that is named has that value, and jobs that are named leave."""
    not_considered(world, said)
    s, told = world.settings, said.explanation.numbers
    if said.explanation.table != "allocations" or World.state_of(said.row) != "running":
        return
    for phrase, holds in (
        ("`max_reservation` is 0", s.max_reservation == 0),
        ("`max_preemptees` is 0", s.max_preemptees == 0),
        ("`automatic_preemption` is off", not s.automatic_preemption),
        ("no request waits", not world.refusals),
    ):
        must(holds or phrase not in said.explanation.summary, f"it is not so that {phrase}")
    if "served" in told:
        job = world.operation_of(world.row("requests", told["served"]))
        must(same(told["served_operation"], job["name"]), "whose request it is", told)
        rows = [a for a in world.tables["allocations"].values() if World.state_of(a) == "preempting"]
        mine = [a for a in rows if same(job_meant(world, a.get("beneficiary")), job["name"])]
        leaves = {str(a["operation"]) for a in mine}
        if "preemption_distance" in told:
            must(told["preemption_distance"] == s.preemption_distance, "the distance", told)
            must(world.refusals[str(told["served"])]["rule"] == "waits_for_reservation", "what it waits for")
            near = [d["at"] - world.now for d in world.decided("reserve", request=told["served"])]
            must(near and all(far <= s.preemption_distance for far in near), "it is farther away", near)
            return
        must(set(told["victims"]) == leaves, "jobs that leave for it", told, leaves)
