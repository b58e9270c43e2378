"""What Grid Engine's policy says is missing, held against free room and what is planned for others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tests.reference.explanations.gridengine.providers import candidates
from tests.reference.explanations.job_rooms import free_rooms, lacks_of, places_allowed
from tests.reference.explanations.registry import Said, must
from tests.reference.explanations.world import CLOSE, Amounts, World, same, without_zeros

if TYPE_CHECKING:
    from tests.reference.explanations.world import Row

__all__ = ["missing_of_request", "missing_of_stopped"]


def _lacks(world: World, row: Row, node: object, **gone: Any) -> Iterator[Amounts]:
    """Yield what a request may lack on a node, with copies and other parts of its job placed before it."""
    own = row.get("resources") or {}
    others = [q for q in world.requests_of(row["operation"]) if not same(q["name"], row["name"])]
    taken = [world.amounts({})]
    for q in others:
        need = q.get("resources") or {}
        times = range(int(q.get("count", 1)) + 1)
        taken = [{r: t[r] + k * need.get(r, 0) for r in t} for t in taken for k in times]
    count = int(row.get("count", 1))
    # Copies on other nodes have of what the cluster shares, too.
    placed = [(here, all_of) for here in range(count) for all_of in range(here, count)]
    for free in free_rooms(world, node, row["operation"], **gone):
        for here, all_of in placed:
            for before in taken:
                left = {
                    r: free[r] - (all_of if r in world.wide else here) * own.get(r, 0) - before[r]
                    for r in free
                }
                yield lacks_of(world, own, left)


def missing_of_request(world: World, said: Said, *, with_victims: bool = False) -> None:
    """Raise `AssertionError` unless what is missing of a request is missing where it is said."""
    other = said.compared.get("other_request")
    must(other is None or str(other) in world.tables["requests"], "that is no request", other)
    row = said.row if other is None else world.row("requests", other)
    must(same(row["operation"], said.row["operation"]), "that is no request of the job", other)
    told, node = without_zeros(said.met.get("missing", {})), said.met.get("node")
    must(told, "nothing is said to be missing")
    must(node is None or str(node) in places_allowed(world, row), "it may not run there", node)
    places = places_allowed(world, row) if node is None else [node]
    if with_victims:
        planned = "planned" in said.compared
        if planned:
            _planned(world, said, row["operation"], row.get("resources") or {}, told, places)
        return _even_with_victims(world, row, told, places, planned=planned)
    if "planned" in said.compared:
        found = [lacks for place in places for lacks in _lacks(world, row, place)]
        must({} in found, "there is no room now", found)
        _planned(world, said, row["operation"], row.get("resources") or {}, told, places)
        return None
    found = [lacks for place in places for lacks in _lacks(world, row, place)]
    must(told in found, "missing", told, found[-6:])
    return None


def _even_with_victims(world: World, row: Row, told: Amounts, places: list[Any], *, planned: bool) -> None:
    """Hold what is missing between what is with all gone of lower priority, and with none."""
    asks = world.operation_of(row)
    jobs = candidates(world, asks, None)
    jobs += [str(d["operation"]) for d in world.decided("preempt") if d["beneficiary"] is not None]
    gone = [a["name"] for job in jobs for a in world.allocations_of(job)]
    need = row.get("resources") or {}
    most = [lacks for place in places for lacks in _lacks(world, row, place)]
    least = [lacks for place in places for lacks in _lacks(world, row, place, gone=gone)]
    right = any(all(told.get(r, 0) >= lacks.get(r, 0) - CLOSE for r in need) for lacks in least)
    must(right, "it is less than is missing even without all of them", told, least[-4:])
    # Room that is planned for others is free, and not for it.
    right = any(all(told.get(r, 0) <= lacks.get(r, 0) + CLOSE for r in need) for lacks in most)
    must(
        right or planned or (any(told.get(r, 0) > 0 for r in need) and _planners(world, row["operation"])),
        "it is more than is missing",
        told,
        most[-4:],
    )


def _planners(world: World, job: object) -> set[str]:
    """Return the other jobs for which room is planned: what they start on later, or victims leave for."""
    found = {str(d["operation"]) for d in world.decided("reserve")}
    found |= {str(d["beneficiary"]["operation"]) for d in world.decided("preempt") if d["beneficiary"]}
    for row in world.tables["allocations"].values():
        whose = row.get("beneficiary") or {}
        if whose.get("operation") is not None:
            found.add(str(whose["operation"]))
        elif whose.get("request") is not None:
            found.add(str(world.row("requests", whose["request"])["operation"]))
    return found - {str(job)}


def _planned(
    world: World, said: Said, job: object, need: Mapping[str, float], told: Amounts, places: list[Any]
) -> None:
    """Hold what is planned for others against their decisions, and reservations that begin later."""
    many, first = int(said.compared["planned"]), said.compared.get("planned_for")
    planners = _planners(world, job)
    must((first is not None) == (many > 0), "for whom room is planned", many, first)
    must(first is None or str(first) in planners, "no room is planned for it", first, planners)
    must(many <= len(planners), "jobs for which room is planned", many, planners)
    later = [
        row
        for row in world.data.get("reservations", ())
        if not row.get("soft") and row.get("from") is not None and row["from"] > world.now
        if any(same(row.get("node"), place) for place in places)
    ]
    must(many or later, "no reservation begins later", places)
    must(all(0 < told[r] <= need.get(r, 0) + CLOSE for r in told), "it is more than is needed", told, need)


def missing_of_stopped(world: World, said: Said) -> None:
    """Raise `AssertionError` unless a stopped job lacks what is said, or the part that is named does."""
    other = said.compared.get("other_allocation")
    must(other is None or str(other) in world.tables["allocations"], "that is no allocation", other)
    row = said.row if other is None else world.row("allocations", other)
    must(same(row["operation"], said.row["operation"]), "that is no part of the job", other)
    told = without_zeros(said.met.get("missing", {}))
    must(told, "nothing is said to be missing")
    rows = [a for a in world.allocations_of(row["operation"]) if World.state_of(a) == "preempted"]
    place = [str(a["name"]) for a in rows].index(str(row["name"]))
    found = []
    for first in range(place + 1):
        before = world.amounts({})
        for a in rows[first:place]:
            for r, amount in _back(a).items():
                before[r] += amount if r in world.wide or same(a.get("node"), row.get("node")) else 0
        rooms = free_rooms(world, row.get("node"), row["operation"])
        found += [lacks_of(world, _back(row), {r: free[r] - before[r] for r in free}) for free in rooms]
    if "planned" in said.compared:
        must({} in found, "there is no room now", found)
        _planned(world, said, row["operation"], _back(row), told, [row.get("node")])
    else:
        must(told in found, "missing", told, found)


def _back(row: Row) -> Amounts:
    """Return what a stopped allocation takes when it resumes."""
    held = row.get("held") or {}
    return {r: float(a) - held.get(r, 0) for r, a in (row.get("resources") or {}).items()}
