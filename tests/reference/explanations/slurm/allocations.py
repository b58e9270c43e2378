"""Why a job of Slurm was spared or stays suspended, held against tiers, QOS, priorities and room."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.systems.slurm.settings import flags_of, partitions_named
from tests.reference.explanations.job_rooms import free_rooms, job_meant, lacks_of, places_allowed
from tests.reference.explanations.jobs import asker, compared_is
from tests.reference.explanations.registry import Said, checks, must
from tests.reference.explanations.slurm.candidates import ending_on, may_be_preempted, running_of
from tests.reference.explanations.slurm.jobs import (
    mode_of,
    nodes_of,
    nodes_of_others,
    parts_of,
    priority_of,
    tiers_of,
)
from tests.reference.explanations.world import World, same, without_zeros

if TYPE_CHECKING:
    from tests.reference.explanations.world import Row

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
    s = world.settings
    within = own == asks and "WITHIN" in flags_of(s, s.qos.get(asks))
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
    until = min(starts) + float(exempt)
    compared_is(said, {"seconds": ran, "PreemptExemptTime": float(exempt), "until": until})


@checks("allocation", "suspend_not_allowed", system=_SYSTEM)
def suspend_not_allowed(world: World, said: Said) -> None:
    """Whether it would be suspended, and its partition does not share cpus."""
    job = world.operation_of(said.row)
    must(mode_of(world, job) == "SUSPEND", "the mode", mode_of(world, job))
    words = [part.OverSubscribe for part in parts_of(world, job)]
    must(any(not word.startswith(("FORCE", "YES")) for word in words), "OverSubscribe", words)
    must(said.compared.get("OverSubscribe") in words, "OverSubscribe", words)


@checks("allocation", "outside_partition", system=_SYSTEM)
def outside_partition(world: World, said: Said) -> None:
    """Whether it runs on no node of a partition in which the other job waits."""
    _, part = _turn(world, said)
    at = _runs_on(world, said)
    must(not at & set(nodes_of(world, part)), "it runs on a node of it", sorted(at))


def _made_for(world: World, said: Said) -> list[Row]:
    asks = asker(world, said)["name"]
    return [d for d in world.decided("preempt") if same(d["beneficiary"]["operation"], asks)]


def _turn(world: World, said: Said) -> tuple[Row, Any]:
    """Return the job that asked, and the partition in which it did; of several the one that is named."""
    asks = asker(world, said)
    told = said.compared.get(f"partition_of_{asks['name']}")
    parts = parts_of(world, asks)
    if told is not None:
        must(told in partitions_named(asks.get("partition") or ""), "it does not wait in", told)
        return asks, world.settings.partitions[told]
    must(len(parts) == 1, "it is not said in which of its partitions", asks.get("partition"))
    return asks, parts[0]


def _candidate(world: World, said: Said) -> tuple[Row, Any]:
    """Return the same two, of a job that may be preempted for it."""
    asks, part = _turn(world, said)
    must(may_be_preempted(world, world.operation_of(said.row), asks, part), "it may not be preempted")
    return asks, part


def _placed(world: World, said: Said) -> set[str]:
    """Return where the job that asked is placed, of which the nodes are that are said."""
    asks = asker(world, said)["name"]
    placed = {str(d["node"]) for d in world.decided("start", "reserve", operation=asks) if d["node"]}
    told = set(said.compared.get("placed_on", ()))
    must(told <= placed or not placed, "it is placed on", sorted(placed), sorted(told))
    return placed or told


def _runs_on(world: World, said: Said) -> set[str]:
    return {str(a.get("node")) for a in running_of(world, world.operation_of(said.row))}


@checks("allocation", "off_chosen_nodes", system=_SYSTEM)
def off_chosen_nodes(world: World, said: Said) -> None:
    """Whether the other job is placed, and this one, which may be preempted, runs on none of its nodes."""
    asks, _ = _candidate(world, said)
    placed, at = _placed(world, said), _runs_on(world, said)
    must(placed, "it is not placed", asks["name"])
    must(not at & placed, "it runs on a chosen node", sorted(at), sorted(placed))


@checks("allocation", "given_back", system=_SYSTEM)
def given_back(world: World, said: Said) -> None:
    """Whether it runs on a chosen node, and others are chosen of which none can be spared."""
    _candidate(world, said)
    must(world.settings.victim_selection == "irreducible", "the selection", world.settings.victim_selection)
    made = _made_for(world, said)
    must(made, "nothing leaves for it", said.met.get("request"))
    must(all(not same(d["operation"], said.row["operation"]) for d in made), "it leaves")
    must(_runs_on(world, said) & _placed(world, said), "it runs on no chosen node")


@checks("allocation", "spared_fits_without", system=_SYSTEM)
def spared_fits_without(world: World, said: Said) -> None:
    """Others leave for the job that asked, by this plan or since an earlier one; or it fits beside it."""
    asks, _ = _candidate(world, said)
    made, told = _made_for(world, said), said.compared
    must(all(not same(d["operation"], said.row["operation"]) for d in made), "it leaves")
    _placed(world, said)
    if "place" not in told:
        leaves = [a for a in world.tables["allocations"].values() if World.state_of(a) == "preempting"]
        meant = [a for a in leaves if same(job_meant(world, a.get("beneficiary")), asks["name"])]
        must(meant, "nothing leaves for it already", asks["name"])
        names = sorted(str(a["name"]) for a in meant)
        must(sorted(told.get("leaving", ())) == names, "what leaves for it already", names, dict(told))
        return
    victims = {str(d["operation"]) for d in made}
    gang = "GANG" in world.settings.PreemptMode
    must(victims or gang, "nothing leaves for it", asks["name"])
    must(told["victim_jobs"] == len(victims), "victims", told["victim_jobs"], sorted(victims))
    must(1 <= told["place"] <= told["candidates"] >= len(victims), "its place", dict(told))


@checks("allocation", "frees_nothing_useful", system=_SYSTEM)
def frees_nothing_useful(world: World, said: Said) -> None:
    """Whether it would be suspended without giving anything, or runs on no node that is open to the other.

    A node where that job may run is not open if something else ends there, or a job before it has it, or
    that job itself by an earlier turn in another of its partitions.
    """
    asks, part = _candidate(world, said)
    if said.compared.get("mode") == "SUSPEND":
        dry = world.settings.victim_selection == "test_only"
        must(mode_of(world, world.operation_of(said.row)) == "SUSPEND", "it would not be suspended")
        must(dry or "GANG" not in world.settings.PreemptMode, "suspended jobs let others start")
        return
    told = set(said.compared.get("open", ()))
    allowed = {
        n
        for request in world.requests_of(asks["name"])
        if request.get("count", 1)
        for n in places_allowed(world, request)
        if n in nodes_of(world, part) and world.row("nodes", n).get("schedulable", True)
    }
    must(told <= allowed, "it may not be placed there", sorted(told - allowed))
    must(not told & _runs_on(world, said), "it runs on an open node", sorted(told))
    closed = {n for n in allowed - told if not ending_on(world, n, asks["name"])}
    own = {n for one in parts_of(world, asks) if one is not part for n in nodes_of(world, one)}
    must(closed <= nodes_of_others(world, asks) | own, "nothing keeps it from", sorted(closed))


@checks("allocation", "no_start_in_stage", system=_SYSTEM)
def no_start_in_stage(world: World, said: Said) -> None:
    """Whether it may be preempted, and no victims are taken for the job in that stage, or that partition."""
    asks, _ = _candidate(world, said)
    made = [d for d in _made_for(world, said) if d["stage"] == said.met["stage"]]
    must(not made or len(parts_of(world, asks)) > 1, "victims are taken for it", asks["name"])
    must(said.number("candidates") >= 1, "it is one of", said.compared["candidates"])


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
