"""What Slurm's policy says of jobs, held against partitions, QOS, priorities and room."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.systems.slurm.settings import partitions_named, split_mode
from evenhand.testing.explanations.job_rooms import free_rooms, lacks_of, places_allowed
from evenhand.testing.explanations.jobs import asker, compared_is
from evenhand.testing.explanations.registry import Said, checks, must
from evenhand.testing.explanations.world import World, same, without_zeros

if TYPE_CHECKING:
    from evenhand.testing.explanations.world import Row

__all__ = ["mode_of", "priority_of", "tiers_of"]

_SYSTEM = "slurm"


def parts_of(world: World, job: Row) -> list[Any]:
    """Return the partitions that a job names; without partitions in the settings, one with defaults."""
    from evenhand.systems.slurm.settings import SlurmPartition

    known = world.settings.partitions
    named = [known[name] for name in partitions_named(job.get("partition") or "") if name in known]
    return named or [SlurmPartition()]


def tiers_of(world: World, job: Row) -> list[int]:
    """Return the tiers of a job's partitions."""
    return [part.PriorityTier for part in parts_of(world, job)]


def priority_of(world: World, job: Row) -> float:
    """Return a job's priority: what its row says, else as the policy weighs it."""
    from evenhand.systems.slurm.columns import Jobs

    given = job.get("priority")
    row = list(world.tables["operations"]).index(str(job["name"]))
    return float(Jobs.of(world.plan.snapshot, world.settings).priorities.total[row] if given is None else given)


def mode_of(world: World, job: Row) -> str:
    """Return the configured mode of a job: of its QOS or of its partition, else of the cluster."""
    s, part = world.settings, parts_of(world, job)[0]
    own = part.PreemptMode
    if s.PreemptType == "preempt/qos":
        own = s.qos[job["qos"]].PreemptMode if job.get("qos") in s.qos else None
    return split_mode(s.PreemptMode if own is None else own)[0]


def nodes_of(world: World, part: Any) -> list[str]:
    """Return the nodes of a partition."""
    return [name for name in world.tables["nodes"] if "ALL" in part.Nodes or name in part.Nodes]


def _both(world: World, said: Said) -> tuple[Row, Row]:
    return world.operation_of(said.row), asker(world, said)


@checks("allocation", "tier_not_lower", system=_SYSTEM)
def tier_not_lower(world: World, said: Said) -> None:
    """The tier of its partition is not lower than that of a partition in which the other job waits."""
    own, asks = _both(world, said)
    told = [said.compared.get(f"tier_of_{job['name']}") for job in (own, asks)]
    must(None not in told, "the tiers are not said", dict(said.compared))
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
    """The QOS of the other job may not preempt its QOS."""
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
    """It has run for less than the exempt time of its QOS, or of the cluster."""
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
    """It would be suspended, and its partition does not share cpus."""
    job = world.operation_of(said.row)
    must(mode_of(world, job) == "SUSPEND", "the mode", mode_of(world, job))
    words = [part.OverSubscribe for part in parts_of(world, job)]
    must(any(not word.startswith(("FORCE", "YES")) for word in words), "OverSubscribe", words)


@checks("allocation", "outside_partition", system=_SYSTEM)
def outside_partition(world: World, said: Said) -> None:
    """It runs on no node of a partition in which the other job waits."""
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
    """The other job is placed, and this one runs on none of its nodes."""
    own, asks = _both(world, said)
    at = {str(a.get("node")) for a in world.allocations_of(own["name"]) if World.state_of(a) == "running"}
    placed = {str(d["node"]) for d in world.decided("start", "reserve", operation=asks["name"])}
    gone = {str(d["node"]) for d in _made_for(world, said)}
    must(placed or gone, "it is not placed", asks["name"])
    must(not at & placed, "it runs on a chosen node", sorted(at), sorted(placed))


@checks("allocation", "no_start_in_stage", system=_SYSTEM)
def no_start_in_stage(world: World, said: Said) -> None:
    """No job leaves for the one that asked."""
    must(not _made_for(world, said), "victims are taken for it", said.met.get("request"))


@checks("allocation", "spared_fits_without", system=_SYSTEM)
def spared_fits_without(world: World, said: Said) -> None:
    """Others leave for the job that asked."""
    made = _made_for(world, said)
    must(made, "nothing leaves for it", said.met.get("request"))
    must(all(not same(d["operation"], said.row["operation"]) for d in made), "it leaves")
    node = said.met.get("node")
    if node is not None:
        on = {str(d["node"]) for d in (*made, *world.decided("reserve", "start", operation=asker(world, said)["name"]))}
        must(str(node) in on, "it was placed elsewhere", node, sorted(on))


@checks("allocation", "frees_nothing_useful", system=_SYSTEM)
def frees_nothing_useful(world: World, said: Said) -> None:
    """It would be suspended without giving anything, or has nothing where the other job may run."""
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
    """A suspended job lacks room on a node where it is."""
    _resume_room(world, said)


# --- requests


def _places(world: World, said: Said) -> list[str]:
    node = said.met.get("node")
    return [str(node)] if node is not None else places_allowed(world, said.row)


@checks("request", "no_free_room", "reserved_for_others", system=_SYSTEM)
def no_free_room(world: World, said: Said) -> None:
    """A node lacks what is said to be missing; where it is reserved, only for that."""
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
    starts = [d for d in world.decided("start", "resume", node=node)]
    jobs = [world.operation_of(row) for row in there] + [world.row("operations", d["operation"]) for d in starts]
    must(jobs, "nothing runs there", node)
    must(any(_whole(world, one) for one in (job, *jobs)), "all of them share it", node)


def _whole(world: World, job: Row) -> bool:
    apart = any(part.OverSubscribe == "EXCLUSIVE" for part in parts_of(world, job))
    return apart or world.settings.SelectType == "select/linear" or bool(job.get("settings", {}).get("exclusive"))


@checks("request", "node_outside_partition", system=_SYSTEM)
def node_outside_partition(world: World, said: Said) -> None:
    """The node, or the one that it requires, is not in a partition of the job."""
    node = said.met.get("node") or said.row.get("required_node")
    parts = parts_of(world, world.operation_of(said.row))
    must(node is not None, "no node is named")
    must(any(str(node) not in nodes_of(world, part) for part in parts), "it is in the partition", node)


@checks("request", "partition_without_nodes", system=_SYSTEM)
def partition_without_nodes(world: World, said: Said) -> None:
    """The job's partition has no nodes."""
    parts = parts_of(world, world.operation_of(said.row))
    must(any(not nodes_of(world, part) for part in parts), "it has nodes")


@checks("request", "partition_down", system=_SYSTEM)
def partition_down(world: World, said: Said) -> None:
    """The partition is down or inactive, and it is the one that is named."""
    known = world.settings.partitions
    named = partitions_named(world.operation_of(said.row).get("partition") or "")
    down = {name: known[name].State for name in named if known[name].State in ("DOWN", "INACTIVE")}
    must(down, "it is up", named)
    if said.compared:
        must(down.get(said.compared["partition"]) == said.compared["state"], "which", dict(said.compared), down)


@checks("request", "partition_time_limit", system=_SYSTEM)
def partition_time_limit(world: World, said: Said) -> None:
    """The job asks for more time than its partition allows."""
    job = world.operation_of(said.row)
    asked = [float(row["duration"]) for row in world.requests_of(job["name"]) if row.get("duration") is not None]
    wanted, parts = max(asked, default=None), parts_of(world, job)
    least = job.get("settings", {}).get("time_min")
    found = []
    for part in parts:
        mine = wanted if wanted is not None else part.DefaultTime
        found.append(part.MaxTime is not None and mine is not None and min(mine, least or mine) > part.MaxTime)
    must(any(found), "time", wanted, [part.MaxTime for part in parts])


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
    """The job preempted others less than the back-off ago."""
    known = {str(row["name"]): row for rows in world.state.values() if isinstance(rows, list) for row in rows}
    must(str(said.row["operation"]) in known, "nothing is remembered of it", sorted(known))


@checks("request", "larger_than_nodes", system=_SYSTEM)
def larger_than_nodes(world: World, said: Said) -> None:
    """The nodes where the job may run, empty, are fewer than it asks for."""
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
    """No running job may be preempted for it, by type, mode and exemptions."""
    job = world.operation_of(said.row)
    for other in world.tables["operations"].values():
        rows = world.allocations_of(other["name"])
        if not rows or same(other["name"], job["name"]) or {World.state_of(a) for a in rows} != {"running"}:
            continue
        claimed = world.decided("preempt", operation=other["name"])
        must(claimed or not _may_go(world, other, job, rows), "it may be preempted", other["name"])


def _may_go(world: World, other: Row, job: Row, rows: list[Row]) -> bool:
    """Return whether nothing at all speaks against preempting a job; where it is not plain, no."""
    s = world.settings
    flags = split_mode(s.PreemptMode)[1]
    parts = parts_of(world, job)
    at = {str(a.get("node")) for a in world.allocations_of(other["name"])}
    if len(parts) != 1 or not at & set(nodes_of(world, parts[0])) or not s.pace.is_off:
        return False
    mine, its = priority_of(world, job), priority_of(world, other)
    if s.PreemptType == "preempt/partition_prio":
        lower = tiers_of(world, other)[0] < parts[0].PriorityTier and ("PRIORITY" not in flags or mine >= its)
    else:
        quality = s.qos.get(job.get("qos"))
        lower = (
            quality is not None
            and other.get("qos") in quality.Preempt
            and other.get("qos") != job.get("qos")
            and ("PRIORITY" not in flags or mine > its)
        )
    exempt = s.PreemptExemptTime or any(q.PreemptExemptTime for q in s.qos.values())
    plain = all(a.get("preemptible", True) for a in rows) and not exempt
    stays = mode_of(world, other) in ("OFF", "SUSPEND") or (
        s.min_exempt_priority is not None and its > s.min_exempt_priority
    )
    return lower and plain and not stays


@checks("request", "no_room_even_with_victims", system=_SYSTEM)
def no_room_even_with_victims(world: World, said: Said) -> None:
    """With all that may be preempted gone, the node lacks what is said to be missing; and none leave for it."""
    job, told = world.operation_of(said.row), without_zeros(said.met.get("missing", {}))
    made = [d for d in world.decided("preempt") if same(d["beneficiary"]["operation"], job["name"])]
    must(not made, "others leave for it")
    if not told:
        return
    gone = [
        a["name"]
        for other in world.tables["operations"].values()
        if {World.state_of(a) for a in world.allocations_of(other["name"])} == {"running"}
        if _may_go(world, other, job, world.allocations_of(other["name"]))
        for a in world.allocations_of(other["name"])
    ]
    need, found = said.row.get("resources") or {}, []
    for node in _places(world, said):
        found += [lacks_of(world, need, free) for free in free_rooms(world, node, job["name"], gone=gone)]
    must(any(_same(world, told, one) for one in found), "missing", told, found[-4:])


@checks("request", "behind_first_waiting", "waits_for_next_pass", system=_SYSTEM)
def behind_first_waiting(world: World, said: Said) -> None:
    """Another job waits, or is served, in a partition that shares a node with its own, or passes are short."""
    mine = world.operation_of(said.row)
    nodes = {n for part in parts_of(world, mine) for n in nodes_of(world, part)}
    others = []
    for other in world.tables["operations"].values():
        asks = [r for r in world.requests_of(other["name"]) if r.get("count", 1)]
        if asks and not same(other["name"], mine["name"]):
            others += [n for part in parts_of(world, other) for n in nodes_of(world, part)]
    resumes = any(World.state_of(a) == "preempted" for a in world.tables["allocations"].values())
    must(nodes & set(others) or resumes or not nodes, "no other job waits for its nodes", sorted(nodes))


@checks("request", "dry_run_omits_victims", system=_SYSTEM)
def dry_run_omits_victims(world: World, said: Said) -> None:
    """The dry run is what chooses victims, and cpus are shared by gang scheduling."""
    s = world.settings
    must(s.victim_selection == "test_only" and "GANG" in s.PreemptMode, "settings", s.victim_selection)
    must(said.row["name"] is not None, "no request")
