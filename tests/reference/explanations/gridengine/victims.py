"""What Grid Engine's policy says of victims, held against priorities, rows and settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tests.reference.explanations.decided import for_a_request
from tests.reference.explanations.gridengine.providers import (
    action_of,
    candidates,
    exactly_known,
    instants,
    may_be_rerun,
    preempted_before,
    priority_of,
)
from tests.reference.explanations.gridengine.subordinates import slots_of
from tests.reference.explanations.registry import Said, checks, must
from tests.reference.explanations.world import CLOSE, World, same

if TYPE_CHECKING:
    from tests.reference.explanations.world import Row

__all__ = ["cap_is", "order_is", "starts_is"]

_MODES = {
    "terminate": "T",
    "requeue": "R",
    "checkpoint": "C",
    "preempt": "P",
    "enhanced_suspend": "N",
    "suspend": "S",
}


@checks(
    "victim",
    *("manual_preemption", "semi_automatic_preemption", "automatic_preemption"),
    system="gridengine",
)
def chosen(world: World, said: Said) -> None:
    """Whether priorities, order, action, distance and caps are those that chose it."""
    for_a_request(world, said)
    told = said.explanation.numbers
    (made,) = world.decided("preempt", allocation=said.row["name"])
    own, asks = world.operation_of(said.row), world.row("operations", made["beneficiary"]["operation"])
    must(told["priority"] == priority_of(own), "its priority", told["priority"], priority_of(own))
    must(told["beneficiary_priority"] == priority_of(asks), "the priority of what it leaves for", told)
    must(told["priority"] < told["beneficiary_priority"], "its priority is not lower", told)
    order_is(world, told, own, asks, int(made["step"]))
    cap_is(world, told, int(made["step"]))
    gone = {str(d["operation"]) for d in world.victims_of(made["step"])}
    too_many = told["wanted"] + told["preemptees"] > told["max_preemptees"]
    partly = too_many and said.code == "manual_preemption"
    must(
        len(gone) == told["wanted"] or (partly and len(gone) < told["wanted"]), "jobs that leave", told, gone
    )
    _action_is(world, said, made, asks)
    starts_is(world, told, asks)
    far = told.get("preemption_distance")
    must(far is None or far == world.settings.preemption_distance, "the distance", far)
    if said.code == "automatic_preemption":
        must(far is not None, "the distance is not said")
        near = "starts_at" in told and told["starts_at"] - world.now <= world.settings.preemption_distance
        must(not near or far == 0, "its reservation is not too far away", told, far)
    must(told.get("notify") in (None, world.settings.notify), "notify", told.get("notify"))
    _lacks(world, told, made, asks)


def order_is(world: World, told: Mapping[str, Any], own: Row, asks: Row, step: int | None) -> None:
    """Raise `AssertionError` unless a job is at the place that is said, among so many."""
    if "place" not in told:
        return
    place, many = int(told["place"]), int(told["candidates"])
    must(1 <= place <= many, "its place", place, many)
    if not exactly_known(world) or world.state:
        return
    found = candidates(world, asks, step)
    must(many == len(found), "jobs that may be preempted", many, found)
    must(same(found[place - 1], own["name"]), "what is at that place", place, found)


def cap_is(world: World, told: Mapping[str, Any], step: int | None) -> None:
    """Raise `AssertionError` unless so many jobs are preempted before, and may be at most."""
    most = world.settings.max_preemptees
    must(told["max_preemptees"] == most, "max_preemptees", told["max_preemptees"], most)
    least, perhaps = preempted_before(world, step)
    must(least <= told["preemptees"] <= perhaps, "jobs preempted before", told["preemptees"], least, perhaps)
    must(told["wanted"] >= 1, "jobs that would leave", told["wanted"])


def starts_is(world: World, told: Mapping[str, Any], asks: Row) -> None:
    """Raise `AssertionError` unless a job starts when it is said, where room is reserved for it then."""
    if "starts_at" not in told:
        return
    at = told["starts_at"]
    must(at > world.now, "it starts in the future", at, world.now)
    known = instants(world, asks)
    must(any(abs(one - at) < 2 * CLOSE for one in known), "nothing ends or begins then", at, sorted(known))
    held = [d["at"] for d in world.decided("reserve", operation=asks["name"]) if d["request"] is not None]
    must(not held or any(abs(one - at) < CLOSE for one in held), "when it starts", at, held)


def _action_is(world: World, said: Said, made: Row, asks: Row) -> None:
    """Hold the action and what chose it against the rows of the job."""
    told = said.explanation.numbers
    letter, chosen_by = told["action"], told["chosen_by"]
    must(_MODES[str(made["mode"])] == letter, "its action", letter, made["mode"])
    rows = world.allocations_of(said.row["operation"])
    action, by_queue = action_of(world, said.row["operation"])
    if chosen_by in ("queue", "configured"):
        must(action == letter and by_queue == (chosen_by == "queue"), "what says so", chosen_by, action)
    elif chosen_by == "asked":
        must(said.code != "automatic_preemption", "nothing was requested")
    else:
        must(action == "advisor", "the advisor does not choose", action)
        checkpointable = all(row.get("checkpointable", False) for row in rows)
        writes = checkpointable and "C" in world.settings.actions
        must(writes == (chosen_by == "checkpointable"), "a checkpoint environment", chosen_by)
        must(letter in world.settings.actions, "the system does not have it", letter)
        rerun = {"rerunnable": True, "not_rerunnable": False}.get(chosen_by)
        if "R" not in world.settings.actions:
            must(rerun is not True, "R is there", chosen_by)
            rerun = None
        must(rerun in (None, may_be_rerun(world, rows)), "whether it can be run again", chosen_by)
        if chosen_by == "only_slots":
            used = {r for row in (*rows, *world.requests_of(asks["name"])) for r in _some(row)}
            plain = {*slots_of(world), *world.settings.lo_licenses}
            must(used <= plain, "it has or wants something else", used - plain)


def _some(row: Row) -> set[str]:
    return {r for r, amount in (row.get("resources") or {}).items() if amount}


def _lacks(world: World, told: Mapping[str, Any], made: Row, asks: Row) -> None:
    """Hold what is said to be missing against what the job needs and what was free."""
    free = told["free_before"]
    for r, amount in told.get("missing", {}).items():
        rows = world.requests_of(asks["name"])
        all_of = sum((q.get("resources") or {}).get(r, 0) * q.get("count", 1) for q in rows)
        must(0 < amount <= all_of - free.get(r, 0) + CLOSE, "missing", r, amount, all_of, free)
        one = told.get("needed", {}).get(r, 0) - free.get(r, 0)
        must(amount >= one - CLOSE or made["node"] is None, "missing of one copy", r, amount, one)
