"""Partitions, tiers, modes and priorities of Slurm's jobs, from rows and settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.systems.slurm.settings import partitions_named, split_mode
from evenhand.testing.explanations.world import World

if TYPE_CHECKING:
    from evenhand.testing.explanations.world import Row

__all__ = ["may_go", "mode_of", "nodes_of", "parts_of", "priority_of", "tiers_of"]


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
    return float(
        Jobs.of(world.plan.snapshot, world.settings).priorities.total[row] if given is None else given
    )


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


def may_go(world: World, other: Row, job: Row, rows: list[Row]) -> bool:
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
