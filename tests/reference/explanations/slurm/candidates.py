"""Which jobs may be preempted for one, and what room they leave, by the published rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.fields import resource_kind
from evenhand.systems.slurm.releases import release_in_force
from evenhand.systems.slurm.settings import flags_of
from tests.reference.explanations.job_rooms import free_rooms, job_meant, lacks_of, places_allowed
from tests.reference.explanations.slurm.jobs import mode_of, nodes_of, parts_of, priority_of
from tests.reference.explanations.world import Amounts, World, same, without_zeros

if TYPE_CHECKING:
    from tests.reference.explanations.world import Row

__all__ = ["Emptied", "candidates", "ending_on", "may_be_preempted", "running_of", "takes_whole_nodes"]


def running_of(world: World, job: Row) -> list[Row]:
    """Return what runs of a job, or a person stopped."""
    there = ("running", "suspended")
    return [a for a in world.allocations_of(job["name"]) if World.state_of(a) in there]


def shares_no_node(world: World, job: Row, part: Any = None) -> bool:
    """Return whether a job asks for entire nodes, or a partition gives no others; without one, any of its."""
    apart = any(one.OverSubscribe == "EXCLUSIVE" for one in ([part] if part else parts_of(world, job)))
    return apart or bool(job.get("settings", {}).get("exclusive"))


def takes_whole_nodes(world: World, job: Row, part: Any = None) -> bool:
    """Return whether a job takes entire nodes: it shares none, or no job does."""
    return shares_no_node(world, job, part) or world.settings.SelectType == "select/linear"


def may_be_preempted(world: World, other: Row, job: Row, part: Any) -> bool:
    """Return whether a job may be preempted for another one that waits in a partition.

    Parameters
    ----------
    world : World
    other, job : mapping
        Operations.
    part : SlurmPartition
        Of the one that waits.

    Notes
    -----
    What the pace or this plan has done to it does not count. Source: Slurm documentation, preemption.
    """
    rows = running_of(world, other)
    if not rows or same(other["name"], job["name"]) or not _lower(world, other, job, part):
        return False
    s, mode = world.settings, mode_of(world, other)
    its = priority_of(world, other)
    if mode == "OFF" or (s.min_exempt_priority is not None and its > s.min_exempt_priority):
        return False
    own = parts_of(world, other)[0]
    shadow = s.PreemptType == "preempt/partition_prio" and mode == "SUSPEND"
    exempt = _exempt(world, other)
    began = min(float(a.get("start_time", 0.0)) for a in rows)
    released = release_in_force(world.plan.snapshot, s) >= "26.05"
    honoured = s.gang_exempt_time == "honoured" or (s.gang_exempt_time == "by_release" and released)
    if exempt and world.now < began + exempt and (honoured or not shadow):
        return False
    if not all(a.get("preemptible", True) for a in rows):
        return False
    if mode == "SUSPEND" and not own.OverSubscribe.startswith(("FORCE", "YES")):
        return False
    lends = s.reclaim_licenses and any((a.get("resources") or {}).get(r) for a in rows for r in world.wide)
    return bool({str(a.get("node")) for a in rows} & set(nodes_of(world, part))) or lends


def _lower(world: World, other: Row, job: Row, part: Any) -> bool:
    s = world.settings
    mine, its = priority_of(world, job), priority_of(world, other)
    if s.PreemptType == "preempt/partition_prio":
        below = parts_of(world, other)[0].PriorityTier < part.PriorityTier
        return below and ("PRIORITY" not in flags_of(s, part) or mine >= its)
    quality = s.qos.get(job.get("qos"))
    if s.PreemptType != "preempt/qos" or quality is None or other.get("qos") not in s.qos:
        return False
    flags = flags_of(s, quality)
    if other["qos"] == job["qos"]:
        return "WITHIN" in flags and mine > its
    return other["qos"] in quality.Preempt and ("PRIORITY" not in flags or mine > its)


def _exempt(world: World, job: Row) -> float:
    s, part = world.settings, parts_of(world, job)[0]
    for name in (job.get("qos"), part.QOS):
        if name in s.qos and s.qos[name].PreemptExemptTime is not None:
            return float(s.qos[name].PreemptExemptTime)
    return float(s.PreemptExemptTime or 0.0)


def candidates(world: World, job: Row, part: Any) -> list[Row]:
    """Return the jobs that may be preempted for one, and are not by this plan; the pace spares some."""
    found = []
    for other in world.tables["operations"].values():
        if world.decided("preempt", operation=other["name"]) or not may_be_preempted(world, other, job, part):
            continue
        rows = running_of(world, other)
        ends = [a.get("planned_end") for a in rows]
        last = None if None in ends else max(round(float(e) * 1e6) for e in ends if e is not None)
        began = min(round(float(a.get("start_time", 0.0)) * 1e6) for a in rows)
        if world.pace.spares(other["name"], other.get("pool"), began, last) is None:
            found.append(other)
    return found


def ending_on(world: World, node: object, job: object) -> bool:
    """Return whether something leaves a node that was asked to, for another job than one."""
    for a in world.tables["allocations"].values():
        leaves = World.state_of(a) == "preempting" and same(a.get("node"), node)
        if leaves and not same(job_meant(world, a.get("beneficiary")), job):
            return True
    made = [d for d in world.decided("preempt", node=node) if d["mode"] != "suspend"]
    return any(not same((d["beneficiary"] or {}).get("operation"), job) for d in made)


class Emptied:
    """Room for a job that waits in a partition, once all have left that may be preempted for it.

    Parameters
    ----------
    world : World
    job : mapping
        The operation.
    part : SlurmPartition
    """

    def __init__(self, world: World, job: Row, part: Any) -> None:
        self.world, self.job, self.part = world, job, part
        self.gone = self._gone()
        self._rooms: dict[str, Amounts] = {}

    def _gone(self) -> list[Row]:
        """Return the candidates that can help: by QOS only those end, or only those are suspended."""
        world = self.world
        s, found = world.settings, candidates(world, self.job, self.part)
        suspended = [o for o in found if mode_of(world, o) == "SUSPEND"]
        ends = [o for o in found if mode_of(world, o) != "SUSPEND"]
        if "GANG" not in s.PreemptMode or s.victim_selection == "test_only":
            return ends
        return found if s.PreemptType == "preempt/partition_prio" else ends or suspended

    def nodes(self, request: Row) -> list[str]:
        """Return the nodes on which a request may run that take work."""
        world, inside = self.world, set(nodes_of(self.world, self.part))
        return [
            n
            for n in places_allowed(world, request)
            if n in inside and world.row("nodes", n).get("schedulable", True)
        ]

    def room(self, node: object) -> Amounts:
        """Return free room on a node at the end of the run, with what all of them give back."""
        world, more = self.world, self.world.amounts({})
        if str(node) in self._rooms:
            return self._rooms[str(node)]
        for other in self.gone:
            for a in running_of(world, other):
                for r, amount in self._freed(other, a).items():
                    if world.settings.reclaim_licenses if r in world.wide else same(a.get("node"), node):
                        more[r] += amount
        *_, free = free_rooms(world, node, self.job["name"])
        return self._rooms.setdefault(str(node), {r: amount + more[r] for r, amount in free.items()})

    def _freed(self, other: Row, allocation: Row) -> Row:
        has = allocation.get("resources") or {}
        if mode_of(self.world, other) != "SUSPEND":
            return has
        spaces = self.world.data["resources"]
        return {r: a for r, a in has.items() if _kind(r, spaces.get(r) or {}) in ("slots", "cpu")}

    def others_on(self, node: object) -> list[Row]:
        """Return the jobs that have something on a node even then."""
        world, gone = self.world, {str(o["name"]) for o in self.gone}
        jobs = {
            str(a["operation"])
            for a in world.tables["allocations"].values()
            if same(a.get("node"), node) and World.state_of(a) != "preempted"
            if World.state_of(a) != "preempting" or not self._for_it(a)
        } - gone
        jobs -= {str(d["operation"]) for d in world.decided("preempt", node=node) if d["mode"] == "suspend"}
        jobs |= {str(d["operation"]) for d in world.decided("start", "resume", node=node)}
        return [world.row("operations", name) for name in sorted(jobs)]

    def _for_it(self, allocation: Row) -> bool:
        return same(job_meant(self.world, allocation.get("beneficiary")), self.job["name"])

    def taken(self, node: object, *, surely: bool = False) -> bool:
        """Return whether others are there, and one of them, or the job itself, shares no node.

        One that started did so in one of its partitions that let jobs start; surely: in whichever it was.
        """
        others = self.others_on(node)
        whole = takes_whole_nodes(self.world, self.job, self.part)
        return any(self._whole(o, surely) for o in others) or (whole and bool(others))

    def _whole(self, other: Row, surely: bool) -> bool:
        world, parts = self.world, parts_of(self.world, other)
        if world.decided("start", operation=other["name"]):
            parts = [part for part in parts if part.State in ("UP", "DRAIN")] or parts
        found = [takes_whole_nodes(world, other, part) for part in parts]
        return all(found) if surely else any(found)

    def lacks(self, request: Row, node: object) -> list[Amounts]:
        """Return what may be said to be missing of a request on a node.

        Of a node that is not shared that is all that others have there, or all that is needed.
        """
        world, need = self.world, request.get("resources") or {}
        free = self.room(node)
        plain = lacks_of(world, need, free)
        if not self.taken(node):
            return [plain]
        alone = _most(plain, {r: float(a) for r, a in need.items() if r not in world.wide})
        has = world.amounts(world.row("nodes", node).get("capacity"))
        used = _most(plain, {r: has[r] - free[r] for r in world.resources if r not in world.wide})
        others = self.others_on(node)
        if any(all(shares_no_node(world, o, part) for part in parts_of(world, o)) for o in others):
            return [alone]
        # One that started may have done so in another of its partitions, and took all where none is shared.
        started = [o for o in others if world.decided("start", operation=o["name"])]
        perhaps = any(shares_no_node(world, o) for o in others)
        return [alone, used] if perhaps or any(takes_whole_nodes(world, o) for o in started) else [used]

    def fits(self, request: Row, node: object, *, perhaps: bool = False) -> bool:
        """Return whether a request has room on a node; perhaps: in whichever partition others started."""
        need = {r: a for r, a in (request.get("resources") or {}).items() if r not in self.world.wide}
        return not self.taken(node, surely=perhaps) and not lacks_of(self.world, need, self.room(node))


def _most(one: Amounts, other: Amounts) -> Amounts:
    return without_zeros({r: max(one.get(r, 0.0), other.get(r, 0.0)) for r in {*one, *other}})


def _kind(name: str, spec: Row) -> str:
    return str(spec.get("kind") or resource_kind(name))
