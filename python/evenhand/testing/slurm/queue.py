"""The order in which pending jobs are tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.systems.slurm.settings import split_mode

if TYPE_CHECKING:
    from evenhand.testing.slurm.world import Job, Turn, World

__all__ = ["queue_of"]


def queue_of(world: World) -> list[tuple[Job, Turn]]:
    """Return each pending job with the partition of its turn, one entry a partition."""
    waiting = [(job, turn) for job in world.jobs if job.requests for turn in job.turns]
    if _first_come(world):
        waiting.sort(key=lambda entry: (entry[0].submitted, entry[0].row))
        return waiting
    owners = {owner for owner, _, _ in world.reserved}
    by_tier = world.settings.PreemptType == "preempt/partition_prio"
    waiting.sort(
        key=lambda entry: (
            not entry[0].own.get("expedited", False),
            -entry[1][1].PriorityTier if by_tier else 0,
            str(entry[0].name) not in owners,
            -entry[1][1].PriorityTier,
            -entry[1][2],
            entry[0].submitted,
            entry[0].row,
        )
    )
    return _by_qos(world, waiting) if world.settings.PreemptType == "preempt/qos" else waiting


def _first_come(world: World) -> bool:
    """Without backfill, priorities and tiers to tell jobs apart they are tried as they were submitted."""
    s = world.settings
    tiers = {part.PriorityTier for part in s.partitions.values()}
    basic = s.PriorityType == "priority/basic"
    return s.SchedulerType == "sched/builtin" and basic and len(tiers) == 1 and s.PreemptType == "preempt/qos"


def _by_qos(world: World, base: list[tuple[Job, Turn]]) -> list[tuple[Job, Turn]]:
    """Take the first that no job at the head of another QOS may preempt."""
    flags = split_mode(world.settings.PreemptMode)[1]
    heads: dict[str | None, list[int]] = {}
    for spot, (job, _) in enumerate(base):
        heads.setdefault(job.qos_name, []).append(spot)
    if "WITHIN" in flags:
        for line in heads.values():
            line.sort(key=lambda spot: -base[spot][1][2])

    def blocked(spot: int) -> bool:
        job, (_, _, priority) = base[spot]
        return any(
            head.qos is not None
            and head.qos_name != job.qos_name
            and job.qos_name in head.qos.Preempt
            and ("PRIORITY" not in flags or its > priority)
            for head, (_, _, its) in (base[line[0]] for line in heads.values() if line)
        )

    order: list[tuple[Job, Turn]] = []
    while any(heads.values()):
        first = [line[0] for line in heads.values() if line]
        free = [spot for spot in first if not blocked(spot)]
        chosen = min(free or first)
        heads[base[chosen][0].qos_name].remove(chosen)
        order.append(base[chosen])
    return order
