"""Which jobs may be preempted, where a job would be placed, and which then are."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from evenhand.systems.slurm.settings import split_mode
from tests.reference.costs import cheapest_set
from tests.reference.slurm.places import Spots, place
from tests.reference.slurm.world import Allocation, Amounts, Job, Room, World, flags_of

__all__ = [
    "Spots",
    "candidates",
    "choose",
    "fits_without_pace",
    "freed",
    "leave",
    "may_help",
    "place",
    "standing",
]

_ENDS = ("CANCEL", "REQUEUE")


def standing(world: World, asks: Job, job: Job, now: float) -> str:
    """Return ``"taken"`` if a job may be preempted for another, else the code of what stands in the way."""
    s = world.settings
    if job is asks:
        return "same_operation"
    if s.PreemptType is None:
        return "preemption_disabled"
    if s.PreemptType == "preempt/partition_prio":
        if job.partition.PriorityTier >= asks.partition.PriorityTier:
            return "tier_not_lower"
        if "PRIORITY" in flags_of(s, asks.partition) and asks.priority < job.priority:
            return "not_lower_priority"
    else:
        if asks.qos is None or job.qos is None:
            return "qos_not_listed"
        flags = flags_of(s, asks.qos)
        if asks.qos_name == job.qos_name:
            if "WITHIN" not in flags:
                return "qos_not_listed"
            if asks.priority <= job.priority:
                return "not_lower_priority"
        elif job.qos_name not in asks.qos.Preempt:
            return "qos_not_listed"
        elif "PRIORITY" in flags and asks.priority <= job.priority:
            return "not_lower_priority"
    mode = job.mode(s)
    if mode == "OFF":
        return "preempt_mode_off"
    if s.min_exempt_priority is not None and job.priority > s.min_exempt_priority:
        return "above_min_exempt_priority"
    shadow = mode == "SUSPEND" and s.PreemptType == "preempt/partition_prio"
    honoured = {"honoured": True, "ignored": False, "by_release": world.since("26.05")}[s.gang_exempt_time]
    if job.exempt(s) > 0 and now < job.start + job.exempt(s) and (honoured or not shadow):
        return "ran_too_short"
    if not all(a.preemptible for a in job.parts):
        return "not_preemptible_flag"
    if mode == "SUSPEND" and job.partition.OverSubscribe[:3] not in ("YES", "FOR"):
        return "suspend_not_allowed"
    if job.nodes & world.partition_nodes(asks):
        return "taken"
    lends = s.reclaim_licenses and any(a.amounts.get(r, 0) > 0 for a in job.parts for r in world.licences)
    return "taken" if lends else "outside_partition"


def serves_again(world: World, asks: Job, job: Job) -> bool:
    """Whether a job in its grace time is counted on by another one than it leaves for: it still runs."""
    s = world.settings
    plain = s.victim_selection == "reorder" and "GANG" not in split_mode(s.PreemptMode)[1]
    return plain and job.in_grace and job.leaves_for != str(asks.name)


def candidates(world: World, asks: Job, gone: Sequence[Job], now: float) -> list[Job]:
    """Return the jobs that may be preempted for one, in the order in which they are wanted."""
    s = world.settings
    found = [
        job
        for job in sorted(world.jobs, key=lambda job: (job.submitted, job.row))
        if (
            serves_again(world, asks, job)
            if job.in_grace
            else job.running and job not in gone and world.spared(job) is None
        )
        and standing(world, asks, job, now) == "taken"
    ]
    gang = "GANG" in split_mode(s.PreemptMode)[1] and s.PreemptType == "preempt/partition_prio"
    if s.youngest_first and not gang:
        return sorted(found, key=lambda job: -job.start)

    def key(job: Job) -> tuple[int, int]:
        by_qos = s.PreemptType == "preempt/qos"
        rank = (job.qos.Priority if job.qos else 0) if by_qos else job.partition.PriorityTier
        return min(rank, 65535), min(len(job.nodes), 65535)

    return sorted(found, key=key)


def freed(world: World, job: Job, allocation: Allocation, stays: bool = False) -> Amounts:
    """Return what an allocation gives back if its job is preempted, or shares its cpus (``stays``)."""
    if job.mode(world.settings) != "SUSPEND" and not stays:
        return allocation.amounts
    return {r: v for r, v in allocation.amounts.items() if world.kinds[r] in ("slots", "cpu")}


def leave(world: World, room: Room, job: Job, stays: bool = False) -> None:
    """Let a job leave a room; licences are looked at only if they are reclaimed."""
    for allocation in job.parts:
        gives = freed(world, job, allocation, stays)
        if not world.settings.reclaim_licenses:
            gives = {r: v for r, v in gives.items() if r not in world.licences}
        room.add(allocation.node, gives, 1, world.licences)
        if allocation.node is not None:
            room.there[allocation.node].remove(job)


def fits_without_pace(
    world: World, room: Room, asks: Job, gone: Sequence[Job], blocked: frozenset[str]
) -> bool:
    """Whether the pace spares something, and a job would fit with all gone if it spared nothing."""
    every = [
        job
        for job in world.jobs
        if job.running and job not in gone and standing(world, asks, job, world.now) == "taken"
    ]
    if not world.pace.caps and all(world.spared(job) is None for job in every):
        return False
    room = room.copy()
    for job in every:
        leave(world, room, job)
    return place(world, room, asks, blocked) is not None


def _without(world: World, base: Room, jobs: Sequence[Job]) -> Room:
    room = base.copy()
    for job in jobs:
        leave(world, room, job)
    return room


def may_help(
    world: World, asks: Job, job: Job, blocked: frozenset[str], modes: Sequence[str] = _ENDS
) -> bool:
    """Return whether a job's leaving may help another one, and it leaves in one of these modes."""
    inside = world.partition_nodes(asks) - blocked
    return job.mode(world.settings) in modes and bool(world.settings.reclaim_licenses or job.nodes & inside)


def choose(
    world: World,
    base: Room,
    asks: Job,
    wanted: Sequence[Job],
    blocked: frozenset[str],
    modes: Sequence[str] = _ENDS,
) -> tuple[Spots, list[Job]] | None:
    """Return where a job would be placed and what is preempted for it; None: that does not suffice."""
    s = world.settings

    def helps(job: Job) -> bool:
        return may_help(world, asks, job, blocked, modes)

    def touches(job: Job, spots: Spots) -> bool:
        if not s.reclaim_licenses:
            return any(node in job.nodes for _, node in spots)
        need = {r: sum(q.count * q.amounts.get(r, 0) for q in asks.requests) for r in world.licences}
        lacks = any(v > base.free[None].get(r, 0) for r, v in need.items() if v > 0)
        lends = lacks and any(a.amounts.get(r, 0) > 0 for a in job.parts for r, v in need.items() if v > 0)
        return lends or any(node in job.nodes for _, node in spots)

    useful = [job for job in wanted if helps(job)]
    if s.victim_selection == "test_only":
        spots = place(world, _without(world, base, useful), asks, blocked)
        return None if spots is None else (spots, [job for job in useful if touches(job, spots)])
    if s.victim_selection == "minimum":
        some = cheapest_set(
            useful,
            lambda job: world.costs.of(job.name, [a.name for a in job.running]),
            lambda jobs: place(world, _without(world, base, jobs), asks, blocked) is not None,
        )
        spots = place(world, _without(world, base, some or []), asks, blocked)
        return (spots, some) if some and spots is not None else None
    if s.victim_selection == "reorder":
        return _reordered(world, base, asks, list(wanted), helps, touches, blocked)
    taken: list[Job] = []
    spots = None
    for job in useful:
        taken.append(job)
        spots = place(world, _without(world, base, taken), asks, blocked)
        if spots is not None:
            break
    if spots is None:
        return None
    if s.victim_selection == "prefix":
        return spots, [job for job in taken if touches(job, spots)]
    for job in reversed(list(taken)):
        rest = [other for other in taken if other is not job]
        again = place(world, _without(world, base, rest), asks, blocked)
        if again is not None:
            taken, spots = rest, again
    return spots, taken


def _reordered(
    world: World,
    base: Room,
    asks: Job,
    order: list[Job],
    helps: Callable[[Job], bool],
    touches: Callable[[Job, Spots], bool],
    blocked: frozenset[str],
) -> tuple[Spots, list[Job]] | None:
    s = world.settings
    gang = "GANG" in split_mode(s.PreemptMode)[1] and s.PreemptType == "preempt/partition_prio"
    most = 1 if gang else s.reorder_count
    if s.SelectType == "select/linear":
        most = 0
    passes = 0
    while True:
        room, spots, last = base.copy(), None, 0
        while spots is None and last < len(order):
            if helps(order[last]):
                leave(world, room, order[last])
                spots = place(world, room, asks, blocked)
            last += 1
        if spots is None:
            return None
        last -= 1
        passes += 1
        if passes - 1 > most or len(order) <= passes:
            return spots, [job for job in order[: last + 1] if helps(job) and touches(job, spots)]
        tried = order[:last]
        if not (s.strict_order and not gang):
            chosen = {node for _, node in spots}
            tried = sorted(tried, key=lambda job: -len(job.nodes & chosen))
        order = [order[last], *tried, *order[last + 1 :]]
