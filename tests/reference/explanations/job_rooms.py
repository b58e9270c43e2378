"""Free room in a scheduling run of jobs, as it may have been when something was looked at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tests.reference.explanations.world import Amounts, World, same, without_zeros

if TYPE_CHECKING:
    from tests.reference.explanations.world import Row

__all__ = ["free_rooms", "job_meant", "lacks_of", "reserved_on"]


def job_meant(world: World, whose: Mapping[str, Any] | None) -> str | None:
    """Return the job for which something leaves."""
    named = (whose or {}).get("operation")
    request = (whose or {}).get("request")
    if named is None and request is not None and str(request) in world.tables["requests"]:
        named = world.row("requests", request)["operation"]
    return None if named is None else str(named)


def reserved_on(world: World, node: object, job: object) -> Amounts:
    """Return what hard reservations in force keep on a node (None: in the cluster) from a job."""
    kept = world.amounts({})
    for row in _reservations(world, job):
        if node is None or same(row.get("node"), node):
            for r, amount in (row.get("resources") or {}).items():
                kept[r] += amount
    return kept


def _reservations(world: World, job: object) -> Iterator[Row]:
    """Yield hard reservations in force that are not the job's own."""
    for row in world.data.get("reservations", ()):
        owner = job_meant(world, row)
        begun = row.get("from") is None or row["from"] <= world.now
        ended = row.get("until") is not None and row["until"] <= world.now
        if not row.get("soft") and begun and not ended and not (owner is not None and same(owner, job)):
            yield row


def free_rooms(world: World, node: object, job: object, *, gone: Any = ()) -> Iterator[Amounts]:
    """Yield free room on a node, with that of the cluster, after each decision of a run.

    Victims that end free nothing in the run, and on Grid Engine none does; those that are suspended, and
    `gone`, free what they free.
    What leaves counts as gone for the job that it leaves for, in one of two variants.
    """
    spaces, names = world.data["resources"], {str(one) for one in gone}
    for own_leaves in (False, True):
        free = world.amounts(world.row("nodes", node).get("capacity"))
        free |= {r: float((spaces.get(r) or {}).get("capacity", 0)) for r in world.wide}
        kept, wide = reserved_on(world, node, job), reserved_on(world, None, job)
        for r in free:
            free[r] -= wide[r] if r in world.wide else kept[r]

        def book(place: object, amounts: Mapping[str, float], sign: float, free: Amounts = free) -> None:
            for r, amount in amounts.items():
                if r in world.wide or same(place, node):
                    free[r] -= sign * amount

        for row in world.tables["allocations"].values():
            state = World.state_of(row)
            leaves_for_it = state == "preempting" and same(job_meant(world, row.get("beneficiary")), job)
            if (own_leaves and leaves_for_it) or str(row["name"]) in names:
                continue
            book(row.get("node"), row.get("held" if state == "preempted" else "resources") or {}, 1)
        yield dict(free)
        credited: set[str] = set()
        at_once = world.system == "yunikorn"  # what victims have is there for what starts in the same cycle
        stops = world.system != "gridengine"  # there what stops gives nothing before the next run
        for d in world.decisions:
            if d["action"] == "start" and str(d["operation"]) not in credited:
                credited.add(str(d["operation"]))
                for row in _reservations(world, job):
                    if same(job_meant(world, row), d["operation"]):
                        book(row.get("node"), row.get("resources") or {}, -1)
            if d["action"] == "start":
                book(d["node"], world.row("requests", d["request"]).get("resources") or {}, 1)
            elif d["action"] == "resume":
                row = world.row("allocations", d["allocation"])
                held, has = row.get("held") or {}, row.get("resources") or {}
                book(d["node"], {r: a - held.get(r, 0) for r, a in has.items()}, 1)
            elif d["action"] == "preempt" and (at_once or (stops and d["mode"] == "suspend")):
                if str(d["allocation"]) not in names:
                    book(d["node"], d["freed"], -1)
            elif _keeps(world, d) and not same(d["operation"], job):
                book(d["node"], world.row("requests", d["request"]).get("resources") or {}, 1)
            else:
                continue
            yield dict(free)


def _keeps(world: World, decision: Row) -> bool:
    """Return whether a decision keeps room from others in the same run; in Slurm's it keeps nodes closed."""
    reserves = decision["action"] == "reserve" and decision["reason"] == "room_reserved"
    return reserves and world.system != "slurm"


def lacks_of(world: World, need: Mapping[str, float], free: Mapping[str, float]) -> Amounts:
    """Return what is missing of needed amounts."""
    return without_zeros({r: max(need.get(r, 0) - free[r], 0.0) for r in world.resources if need.get(r, 0)})


def places_allowed(world: World, request: Row) -> list[str]:
    """Return the nodes that a request's own fields allow."""
    return [
        name
        for name, row in world.tables["nodes"].items()
        if request.get("required_node") is None or same(request["required_node"], name)
        if set(request.get("node_tags", ())) <= set(row.get("tags", ()))
    ]
