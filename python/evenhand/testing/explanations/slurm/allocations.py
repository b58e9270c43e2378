"""Why a job of Slurm was spared or stays suspended, held against tiers, QOS, priorities and room."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.systems.slurm.settings import partitions_named, split_mode
from evenhand.testing.explanations.job_rooms import free_rooms, lacks_of, places_allowed
from evenhand.testing.explanations.jobs import asker, compared_is
from evenhand.testing.explanations.registry import Said, checks, must
from evenhand.testing.explanations.slurm.jobs import mode_of, nodes_of, parts_of, priority_of, tiers_of
from evenhand.testing.explanations.world import World, same, without_zeros

if TYPE_CHECKING:
    from evenhand.testing.explanations.world import Row

__all__ = ["no_room_to_resume"]

_SYSTEM = "slurm"


def _both(world: World, said: Said) -> tuple[Row, Row]:
    return world.operation_of(said.row), asker(world, said)


@checks("allocation", "tier_not_lower", system=_SYSTEM)
def tier_not_lower(world: World, said: Said) -> None:
    """Whether its partition's tier is not lower than that of a partition in which the other job waits."""
    own, asks = _both(world, said)
    told = [said.number(f"tier_of_{job['name']}") for job in (own, asks)]
    must(told[0] >= told[1], "its tier is lower", told)
    must(told[0] in tiers_of(world, own) and told[1] in tiers_of(world, asks), "tiers", told)


@checks("allocation", "not_lower_priority", system=_SYSTEM)
def not_lower_priority(world: World, said: Said) -> None:
    """Its priority is higher, or equal where QOS decide."""
    own, asks = (priority_of(world, job) for job in _both(world, said))
    equal = world.settings.PreemptType == "preempt/qos" and own == asks
    must(own > asks or equal, "its priority is lower", own, asks)
    jobs = _both(world, said)
    compared_is(said, {f"priority_of_{job['name']}": priority_of(world, job) for job in jobs})


@checks("allocation", "qos_not_listed", system=_SYSTEM)
def qos_not_listed(world: World, said: Said) -> None:
    """Whether the QOS of the other job may not preempt its QOS."""
    own, asks = (job.get("qos") for job in _both(world, said))
    within = own == asks and "WITHIN" in split_mode(world.settings.PreemptMode)[1]
    listed = asks in world.settings.qos and own in world.settings.qos[asks].Preempt
    must(own is None or asks is None or not (listed or within), "it is listed", own, asks)
    if said.compared:
        compared_is(said, {f"QOS_of_{job['name']}": job.get("qos") for job in _both(world, said)})


@checks("allocation", "preempt_mode_off", system=_SYSTEM)
def preempt_mode_off(world: World, said: Said) -> None:
    """Its mode is OFF."""
    job = world.operation_of(said.row)
    must(mode_of(world, job) == "OFF", "the mode", mode_of(world, job))
    by_qos = world.settings.PreemptType == "preempt/qos"
    name = job.get("qos") if by_qos else next(iter(partitions_named(job.get("partition") or "")), None)
    compared_is(said, {"QOS" if by_qos else "partition": name})


@checks("allocation", "above_min_exempt_priority", system=_SYSTEM)
def above_min_exempt_priority(world: World, said: Said) -> None:
    """Its priority is above the setting."""
    job, most = world.operation_of(said.row), world.settings.min_exempt_priority
    must(most is not None and priority_of(world, job) > most, "priority", priority_of(world, job), most)
    compared_is(said, {f"priority_of_{job['name']}": priority_of(world, job), "min_exempt_priority": most})


@checks("allocation", "ran_too_short", system=_SYSTEM)
def ran_too_short(world: World, said: Said) -> None:
    """Whether it has run for less than the exempt time of its QOS, or of the cluster."""
    job = world.operation_of(said.row)
    quality = world.settings.qos.get(job.get("qos"))
    exempt = world.settings.PreemptExemptTime
    if quality is not None and quality.PreemptExemptTime is not None:
        exempt = quality.PreemptExemptTime
    starts = [float(a.get("start_time", 0.0)) for a in world.allocations_of(job["name"])]
    ran = world.now - min(starts)
    must(exempt and ran < exempt, "it has run long enough", ran, exempt)
    compared_is(said, {"seconds": ran, "PreemptExemptTime": float(exempt)})


@checks("allocation", "suspend_not_allowed", system=_SYSTEM)
def suspend_not_allowed(world: World, said: Said) -> None:
    """Whether it would be suspended, and its partition does not share cpus."""
    job = world.operation_of(said.row)
    must(mode_of(world, job) == "SUSPEND", "the mode", mode_of(world, job))
    words = [part.OverSubscribe for part in parts_of(world, job)]
    must(any(not word.startswith(("FORCE", "YES")) for word in words), "OverSubscribe", words)


@checks("allocation", "outside_partition", system=_SYSTEM)
def outside_partition(world: World, said: Said) -> None:
    """Whether it runs on no node of a partition in which the other job waits."""
    own, asks = _both(world, said)
    runs = [a for a in world.allocations_of(own["name"]) if World.state_of(a) == "running"]
    at = {str(a.get("node")) for a in runs}
    apart = [not at & set(nodes_of(world, part)) for part in parts_of(world, asks)]
    must(any(apart), "it runs on a node of it", sorted(at))


def _made_for(world: World, said: Said) -> list[Row]:
    asks = asker(world, said)["name"]
    return [d for d in world.decided("preempt") if same(d["beneficiary"]["operation"], asks)]


@checks("allocation", "off_chosen_nodes", system=_SYSTEM)
def off_chosen_nodes(world: World, said: Said) -> None:
    """Whether the other job is placed, and this one runs on none of its nodes."""
    own, asks = _both(world, said)
    at = {str(a.get("node")) for a in world.allocations_of(own["name"]) if World.state_of(a) == "running"}
    placed = {str(d["node"]) for d in world.decided("start", "reserve", operation=asks["name"])}
    gone = {str(d["node"]) for d in _made_for(world, said)}
    must(placed or gone, "it is not placed", asks["name"])
    must(not at & placed, "it runs on a chosen node", sorted(at), sorted(placed))


@checks("allocation", "spared_fits_without", system=_SYSTEM)
def spared_fits_without(world: World, said: Said) -> None:
    """Others leave for the job that asked."""
    made = _made_for(world, said)
    must(made, "nothing leaves for it", said.met.get("request"))
    must(all(not same(d["operation"], said.row["operation"]) for d in made), "it leaves")
    node = said.met.get("node")
    if node is not None:
        on = {
            str(d["node"])
            for d in (*made, *world.decided("reserve", "start", operation=asker(world, said)["name"]))
        }
        must(str(node) in on, "it was placed elsewhere", node, sorted(on))


@checks("allocation", "frees_nothing_useful", system=_SYSTEM)
def frees_nothing_useful(world: World, said: Said) -> None:
    """Whether it would be suspended without giving anything, or has nothing where the other job may run."""
    own, asks = _both(world, said)
    if mode_of(world, own) == "SUSPEND":
        return
    for request in world.requests_of(asks["name"]):
        need = without_zeros(request.get("resources") or {})
        allowed = set(places_allowed(world, request))
        for row in world.allocations_of(own["name"]):
            has = without_zeros(row.get("resources") or {})
            here = str(row.get("node")) in allowed and need.keys() & has.keys() - world.wide
            ends = world.decided("preempt", node=row.get("node"))
            if not here or ends or not request.get("count", 1):
                continue
            lacks = [lacks_of(world, need, free) for free in free_rooms(world, row["node"], asks["name"])]
            could = [not (one.keys() - has.keys()) and bool(one) for one in lacks]
            must(not all(could), "it holds what is missing", row["name"], lacks[:2])


def _resume_room(world: World, said: Said) -> None:
    node, told = said.met.get("node"), without_zeros(said.met.get("missing", {}))
    rows = [a for a in world.allocations_of(said.row["operation"]) if World.state_of(a) == "preempted"]
    must(rows and not world.decided("resume", operation=said.row["operation"]), "it resumes")
    here = [a for a in rows if same(a.get("node"), node)]
    must(here and told, "where, and what is missing", node, told)
    need = world.amounts({})
    found = []
    for row in here:
        for r, amount in (row.get("resources") or {}).items():
            need[r] += amount - (row.get("held") or {}).get(r, 0)
        found += [lacks_of(world, need, free) for free in free_rooms(world, node, said.row["operation"])]
    if said.code != "no_room_to_resume":
        return
    must(told in found, "missing", told, found[-4:])


@checks("allocation", "no_room_to_resume", "whole_node_in_use", "room_held", system=_SYSTEM)
def no_room_to_resume(world: World, said: Said) -> None:
    """Whether a suspended job lacks room on a node where it is."""
    _resume_room(world, said)
