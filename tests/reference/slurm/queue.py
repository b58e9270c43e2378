"""The order in which pending jobs are tried."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.reference.slurm.world import flags_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.reference.slurm.world import Job, Turn, World

__all__ = ["queue_of"]


def queue_of(world: World) -> list[tuple[Job, Turn]]:
    """Return each pending job with the partition of its turn, one entry a partition."""
    waiting = [(job, turn) for job in world.jobs if job.requests for turn in job.turns]
    if _first_come(world):
        return sorted(waiting, key=lambda entry: (entry[0].submitted, entry[0].row))
    owners = {owner for owner, _, _ in world.reserved}

    def key(entry: tuple[Job, Turn]) -> tuple[Any, ...]:
        job, (_, partition, priority) = entry
        reserved = str(job.name) in owners
        return not reserved, -partition.PriorityTier, -priority, job.submitted, job.row

    def is_after(one: tuple[Job, Turn], other: tuple[Job, Turn]) -> bool:
        if _expedited(world, one[0]) != _expedited(world, other[0]):
            return _expedited(world, other[0])
        if may_preempt(world, one, other) or may_preempt(world, other, one):
            return not may_preempt(world, one, other)
        return key(one) > key(other)

    return _sorted_by_halves(waiting, is_after)


def _sorted_by_halves(
    entries: list[tuple[Job, Turn]], is_after: Callable[[tuple[Job, Turn], tuple[Job, Turn]], bool]
) -> list[tuple[Job, Turn]]:
    """Sort as the C library does: it says what comes of an order that has circles."""
    if len(entries) < 2:
        return entries
    half = len(entries) // 2
    first, second = (_sorted_by_halves(part, is_after) for part in (entries[:half], entries[half:]))
    merged: list[tuple[Job, Turn]] = []
    while first and second:
        merged.append(second.pop(0) if is_after(first[0], second[0]) else first.pop(0))
    return merged + first + second


def _expedited(world: World, job: Job) -> bool:
    return world.since("25.11") and bool(job.own.get("expedited", False))


def _first_come(world: World) -> bool:
    """Without backfill, priorities and tiers to tell jobs apart they are tried as they were submitted."""
    s = world.settings
    tiers = {part.PriorityTier for part in s.partitions.values()}
    basic = s.PriorityType == "priority/basic"
    return s.SchedulerType == "sched/builtin" and basic and len(tiers) <= 1 and not world.since("24.11")


def may_preempt(world: World, one: tuple[Job, Turn], other: tuple[Job, Turn]) -> bool:
    """Whether a waiting job could preempt another if that ran: by partition or QOS, and by priority."""
    s, (job, (_, part, priority)), (than, (_, its_part, its)) = world.settings, one, other
    if s.PreemptType == "preempt/partition_prio":
        asks = "PRIORITY" in flags_of(s, part)
        return part.PriorityTier > its_part.PriorityTier and not (asks and priority < its)
    if s.PreemptType != "preempt/qos" or job.qos is None or than.qos is None:
        return False
    flags = flags_of(s, job.qos)
    if job.qos_name == than.qos_name:
        return "WITHIN" in flags and priority > its
    return than.qos_name in job.qos.Preempt and not ("PRIORITY" in flags and priority <= its)
