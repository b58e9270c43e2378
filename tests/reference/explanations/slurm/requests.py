"""Why a job of Slurm waits, held against partitions, limits, licences and room."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from evenhand.systems.slurm.settings import partitions_named
from tests.reference.explanations.job_rooms import free_rooms, lacks_of, places_allowed
from tests.reference.explanations.jobs import compared_is
from tests.reference.explanations.registry import Said, checks, must
from tests.reference.explanations.slurm.candidates import (
    Emptied,
    candidates,
    ending_on,
    may_be_preempted,
    running_of,
)
from tests.reference.explanations.slurm.jobs import nodes_of, nodes_of_others, parts_of
from tests.reference.explanations.world import World, same, without_zeros

if TYPE_CHECKING:
    from tests.reference.explanations.world import Row

__all__ = ["no_free_room"]

_SYSTEM = "slurm"


def _places(world: World, said: Said) -> list[str]:
    node = said.met.get("node")
    return [str(node)] if node is not None else places_allowed(world, said.row)


@checks("request", "no_free_room", "reserved_for_others", system=_SYSTEM)
def no_free_room(world: World, said: Said) -> None:
    """Whether a node lacks what is said to be missing; where it is reserved, only for that."""
    told, need = without_zeros(said.met.get("missing", {})), said.row.get("resources") or {}
    job, found = said.row["operation"], []
    for node in _places(world, said):
        found += [lacks_of(world, need, free) for free in free_rooms(world, node, job)]
    must(told, "nothing is said to be missing")
    must(any(_same(world, told, one) for one in found), "missing", told, found[-4:])
    if said.code == "reserved_for_others":
        must(world.data.get("reservations") or world.decided("reserve"), "nothing is reserved")


def _same(world: World, told: dict[str, float], one: dict[str, float]) -> bool:
    """Compare what is missing on a node; of licences all of the job may be meant."""
    here = {r: a for r, a in told.items() if r not in world.wide}
    return here == {r: a for r, a in one.items() if r not in world.wide}


@checks("request", "whole_node_in_use", system=_SYSTEM)
def whole_node_in_use(world: World, said: Said) -> None:
    """Other jobs run on the node, and one of them, or this one, does not share it."""
    node, job = said.met.get("node"), world.operation_of(said.row)
    there = [a for a in world.tables["allocations"].values() if same(a.get("node"), node)]
    starts = list(world.decided("start", "resume", node=node))
    jobs = [world.operation_of(row) for row in there] + [
        world.row("operations", d["operation"]) for d in starts
    ]
    must(jobs, "nothing runs there", node)
    must(any(_whole(world, one) for one in (job, *jobs)), "all of them share it", node)


def _whole(world: World, job: Row) -> bool:
    apart = any(part.OverSubscribe == "EXCLUSIVE" for part in parts_of(world, job))
    return (
        apart
        or world.settings.SelectType == "select/linear"
        or bool(job.get("settings", {}).get("exclusive"))
    )


@checks("request", "node_outside_partition", system=_SYSTEM)
def node_outside_partition(world: World, said: Said) -> None:
    """Whether the node, or the one that it requires, is not in a partition of the job."""
    node = said.met.get("node") or said.row.get("required_node")
    parts = parts_of(world, world.operation_of(said.row))
    must(node is not None, "no node is named")
    must(any(str(node) not in nodes_of(world, part) for part in parts), "it is in the partition", node)


@checks("request", "partition_without_nodes", system=_SYSTEM)
def partition_without_nodes(world: World, said: Said) -> None:
    """Whether the job's partition has no nodes."""
    parts = parts_of(world, world.operation_of(said.row))
    must(any(not nodes_of(world, part) for part in parts), "it has nodes")


@checks("request", "partition_down", system=_SYSTEM)
def partition_down(world: World, said: Said) -> None:
    """Whether the partition is down or inactive, and it is the one that is named."""
    known = world.settings.partitions
    named = partitions_named(world.operation_of(said.row).get("partition") or "")
    down = {name: known[name].State for name in named if known[name].State in ("DOWN", "INACTIVE")}
    must(down, "it is up", named)
    if said.compared:
        must(
            down.get(said.compared["partition"]) == said.compared["state"], "which", dict(said.compared), down
        )


@checks("request", "partition_time_limit", system=_SYSTEM)
def partition_time_limit(world: World, said: Said) -> None:
    """Whether the job asks for more time than its partition allows."""
    job = world.operation_of(said.row)
    asked = [
        float(row["duration"]) for row in world.requests_of(job["name"]) if row.get("duration") is not None
    ]
    wanted, parts = max(asked, default=None), parts_of(world, job)
    found = []
    for part in parts:
        mine = wanted if wanted is not None else part.DefaultTime
        found.append(part.MaxTime is not None and mine is not None and mine > part.MaxTime)
    must(any(found), "time", wanted, [part.MaxTime for part in parts])


@checks("request", "limit_reached", system=_SYSTEM)
def limit_reached(world: World, said: Said) -> None:
    """Hold what is asked for and in use against the limit of the QOS or association that is named."""
    found, s = said.compared, world.settings
    must(s.qos or s.association_limits, "nothing has limits")
    if not found or "limits" in found:
        return
    known = [rows[found["of"]] for rows in (s.qos, s.association_limits) if found["of"] in rows]
    given = [getattr(row, found["limit"], None) for row in known]
    most = [value.get(found["measure"], -1) if isinstance(value, Mapping) else value for value in given]
    must(found["most"] in most, "the limit", found["most"], most)
    if found["limit"] == "MinTRES":
        must(found["asked"] < found["most"], "it asks for enough", dict(found))
    else:
        must(found["used"] + found["asked"] > found["most"], "it is within the limit", dict(found))


@checks("request", "not_eligible_yet", system=_SYSTEM)
def not_eligible_yet(world: World, said: Said) -> None:
    """Its begin time has not come."""
    eligible = world.operation_of(said.row).get("settings", {}).get("eligible_time")
    must(eligible is not None and eligible > world.now, "its begin time", eligible, world.now)
    if said.compared:
        compared_is(said, {"now": world.now, "eligible_time": eligible})


@checks("request", "licenses_missing", system=_SYSTEM)
def licenses_missing(world: World, said: Said) -> None:
    """All of the job's requests ask for more of a licence than is free, by what is missing."""
    told = {r: a for r, a in without_zeros(said.met.get("missing", {})).items() if r in world.wide}
    job = said.row["operation"]
    need = world.amounts({})
    for row in world.requests_of(job):
        for r, amount in (row.get("resources") or {}).items():
            need[r] += amount * row.get("count", 1)
    must(told, "no licence is said to be missing")
    node = next(iter(world.tables["nodes"]))
    for free in free_rooms(world, node, job):
        lacks = {r: need[r] - free[r] for r in world.wide if need[r] > free[r]}
        if all(abs(lacks.get(r, 0) - a) < 1e-6 for r, a in told.items()):
            return
    must(False, "missing", told, need)


@checks("request", "preemption_backoff", system=_SYSTEM)
def preemption_backoff(world: World, said: Said) -> None:
    """Whether the job preempted others less than the back-off ago."""
    known = {str(row["name"]): row for rows in world.state.values() if isinstance(rows, list) for row in rows}
    must(str(said.row["operation"]) in known, "nothing is remembered of it", sorted(known))
    told, s = said.compared, world.settings
    if told:
        last = known[str(said.row["operation"])]["last_preempt"]
        must(
            told["since"] == last and told["until"] == math.floor(last) + s.KillWait + s.MessageTimeout,
            "when",
            dict(told),
        )
        must(last <= world.now < told["until"], "it is over", dict(told))


@checks("request", "larger_than_nodes", system=_SYSTEM)
def larger_than_nodes(world: World, said: Said) -> None:
    """Whether the nodes where the job may run, empty, are fewer than it asks for."""
    job = world.operation_of(said.row)
    for part in parts_of(world, job):
        for request in world.requests_of(job["name"]):
            need = {r: a for r, a in (request.get("resources") or {}).items() if a and r not in world.wide}
            allowed = [n for n in places_allowed(world, request) if n in nodes_of(world, part)]
            able = [
                n
                for n in allowed
                if all(world.row("nodes", n).get("capacity", {}).get(r, 0) >= a for r, a in need.items())
            ]
            if need and request.get("count", 1) > len(able):
                return
    must(False, "it would fit on an empty cluster")


@checks("request", "no_eligible_victims", system=_SYSTEM)
def no_eligible_victims(world: World, said: Said) -> None:
    """No running job may be preempted for it in one of its partitions, and none leaves for it."""
    job = world.operation_of(said.row)
    found = [candidates(world, job, part) for part in _parts_meant(world, said, job)]
    must(not all(found), "they may be preempted", [o["name"] for of in found for o in of])
    must(not _leave_for(world, job), "others leave for it")
    told = (said.compared or said.met).get("stood")
    if told is not None:
        runs = [o for o in world.tables["operations"].values() if running_of(world, o)]
        must(sum(told.values()) == len(runs), "jobs that run", dict(told), len(runs))
        gone = [o for o in runs if world.decided("preempt", operation=o["name"])]
        must(told.get("already_preempting", 0) == len(gone), "that leave", dict(told), len(gone))
        if world.settings.PreemptType == "preempt/partition_prio":
            (part,) = _parts_meant(world, said, job)
            equal = [o for o in runs if o not in gone and not same(o["name"], job["name"])]
            equal = [o for o in equal if parts_of(world, o)[0].PriorityTier >= part.PriorityTier]
            must(told.get("tier_not_lower", 0) == len(equal), "in no lower tier", dict(told), len(equal))


def _parts_meant(world: World, said: Said, job: Row) -> list[Any]:
    """Return the partition that is said of a job, or all of its."""
    told = (said.compared or said.met).get("partition")
    if told is None:
        return parts_of(world, job)
    must(told in partitions_named(job.get("partition") or ""), "it does not wait in", told)
    return [world.settings.partitions[told]]


def _leave_for(world: World, job: Row) -> list[Row]:
    return [d for d in world.decided("preempt") if same(d["beneficiary"]["operation"], job["name"])]


@checks("request", "no_room_even_with_victims", system=_SYSTEM)
def no_room_even_with_victims(world: World, said: Said) -> None:
    """Without all that may be preempted too few nodes have room for it; a named one lacks what is said."""
    job, wanted = world.operation_of(said.row), int(said.row.get("count", 1))
    must(not _leave_for(world, job), "others leave for it")
    found = []
    for part in _parts_meant(world, said, job):
        others = world.tables["operations"].values()  # those too that leave for others by this plan
        try:
            must(any(may_be_preempted(world, other, job, part) for other in others), "none may go")
            _lacks_room(world, said, Emptied(world, job, part), wanted)
        except AssertionError as error:
            found.append(error)
        else:
            return
    raise found[0]


def _lacks_room(world: World, said: Said, emptied: Emptied, wanted: int) -> None:
    told, nodes = without_zeros(said.met.get("missing", {})), emptied.nodes(said.row)
    compared = said.compared or said.met
    if nodes and any(a for r, a in (said.row.get("resources") or {}).items() if r not in world.wide):
        room = [n for n in nodes if emptied.fits(said.row, n)]
        short = told.keys() & world.wide
        must(len(room) < wanted or short, "there is room on", room, wanted)
        most = [n for n in nodes if emptied.fits(said.row, n, perhaps=True)]
        needs, has = compared.get("nodes_needed", wanted), compared.get("nodes_with_room", len(room))
        right = needs == wanted and len(room) <= has <= len(most)
        must(right, "nodes needed, and with room", (needs, has), wanted, room, most)
    node = said.met.get("node")
    must(node is None or str(node) in nodes, "it may not run there", node)
    places = nodes if node is None else [str(node)]
    lacks = [one for place in places for one in emptied.lacks(said.row, place)]
    must(not told or not places or any(_same(world, told, one) for one in lacks), "missing", told, lacks)


@checks("request", "behind_first_waiting", "waits_for_next_pass", system=_SYSTEM)
def behind_first_waiting(world: World, said: Said) -> None:
    """Another job waits, or is served, where it waits, or something is ending there; or passes are limited.

    If it is said which job, or where something ends, it is that.
    """
    mine, told = world.operation_of(said.row), said.compared or said.met
    asked, kind = getattr(world.plan.on, "passes", ()), world.settings.SchedulerType
    if asked == ("backfill",) and kind == "sched/builtin":
        must(told.get("SchedulerType", kind) == kind, "the scheduler", told)
        return
    must("SchedulerType" not in told, "there is a pass", asked, kind)
    other = (told.get("behind") or None) if not isinstance(told.get("behind"), Mapping) else None
    nodes = {n for part in parts_of(world, mine) for n in nodes_of(world, part)}
    if other is not None:
        job = world.row("operations", other)
        its = {n for part in parts_of(world, job) for n in nodes_of(world, part)}
        must(not same(other, mine["name"]) and world.requests_of(other), "it does not wait", other)
        must(its & nodes, "it waits for other nodes", other)
        return
    for node in told.get("ending_on", ()):
        must(ending_on(world, node, mine["name"]), "nothing ends on", node)
        must(node in nodes, "it may not run on", node)
    resumes = any(World.state_of(a) == "preempted" for a in world.tables["allocations"].values())
    ends = any(ending_on(world, node, mine["name"]) for node in nodes)
    # Its own turn in another of its partitions may have closed those nodes, too.
    waits = nodes & nodes_of_others(world, mine) or len(parts_of(world, mine)) > 1
    must(waits or resumes or ends or not nodes, "no other job waits for its nodes", sorted(nodes))


@checks("request", "other_request_waits", system=_SYSTEM)
def other_request_waits(world: World, said: Said) -> None:
    """Another request of the job waits for something else; the one that is named, if one is."""
    told = (said.compared or said.met).get("other_request")
    others = [r for r in world.requests_of(said.row["operation"]) if not same(r["name"], said.row["name"])]
    waiting = [str(r["name"]) for r in others if r.get("count", 1)]
    must(waiting, "its job asks for nothing else", said.row["operation"])
    if told is not None:
        must(str(told) in waiting, "it is no other request of the job", told)
        rule = world.refusals[str(told)]["rule"]
        must(rule != "other_request_waits", "that one waits for others, too", told)


@checks("request", "dry_run_omits_victims", system=_SYSTEM)
def dry_run_omits_victims(world: World, said: Said) -> None:
    """Whether the dry run is what chooses victims, and cpus are shared by gang scheduling."""
    s = world.settings
    must(s.victim_selection == "test_only" and "GANG" in s.PreemptMode, "settings", s.victim_selection)
    must(said.row["name"] is not None, "no request")
