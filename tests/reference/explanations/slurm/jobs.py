"""Partitions, tiers, modes and priorities of Slurm's jobs, from rows and settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.systems.slurm.settings import partitions_named, split_mode
from tests.reference.explanations.world import World, same

if TYPE_CHECKING:
    from tests.reference.explanations.world import Row

__all__ = ["mode_of", "nodes_of", "nodes_of_others", "parts_of", "priority_of", "tiers_of"]


def parts_of(world: World, job: Row) -> list[Any]:
    """Return the partitions that a job names, or the one in which it runs; without any one with defaults."""
    from evenhand.systems.slurm.settings import SlurmPartition
    from tests.reference.slurm.priority import tried_in

    known = world.settings.partitions
    if any(same(a["operation"], job["name"]) for a in world.tables["allocations"].values()):
        default = next((name for name, part in known.items() if part.Default), None)
        named = [known[name] for name in tried_in(world.data, world.settings, job, default) if name]
    else:
        named = [known[name] for name in partitions_named(job.get("partition") or "") if name in known]
    return named or [part for part in known.values() if part.Default][:1] or [SlurmPartition()]


def tiers_of(world: World, job: Row) -> list[int]:
    """Return the tiers of a job's partitions."""
    return [part.PriorityTier for part in parts_of(world, job)]


def priority_of(world: World, job: Row) -> float:
    """Return a job's priority: what its row says, else as the policy weighs it."""
    given = job.get("priority")
    return float(_weighed(world)[str(job["name"])] if given is None else given)


def _weighed(world: World) -> dict[str, float]:
    """Return the priorities of all jobs as the policy weighs them, once a plan."""
    from evenhand.systems.slurm.columns import Jobs

    if "_weighed" not in world.__dict__:
        totals = Jobs.of(world.plan.snapshot, world.settings).priorities.total.tolist()
        world.__dict__["_weighed"] = dict(zip(world.tables["operations"], totals, strict=True))
    found: dict[str, float] = world.__dict__["_weighed"]
    return found


def mode_of(world: World, job: Row) -> str:
    """Return the mode of a job: of its QOS or of its partition, else of the cluster.

    One whose ``signal`` has the flag R is cancelled where others are suspended.
    """
    s, part = world.settings, parts_of(world, job)[0]
    own = part.PreemptMode
    if s.PreemptType == "preempt/qos":
        own = s.qos[job["qos"]].PreemptMode if job.get("qos") in s.qos else None
    mode = split_mode(s.PreemptMode if own is None else own)[0]
    flags, colon, _ = (job.get("settings", {}).get("signal") or "").partition(":")
    return "CANCEL" if mode == "SUSPEND" and colon and "R" in flags.upper() else mode


def nodes_of(world: World, part: Any) -> list[str]:
    """Return the nodes of a partition."""
    return [name for name in world.tables["nodes"] if "ALL" in part.Nodes or name in part.Nodes]


def nodes_of_others(world: World, job: Row) -> set[str]:
    """Return the nodes of partitions in which other jobs wait, or for which something leaves."""
    found: set[str] = set()
    for other in world.tables["operations"].values():
        asks = [r for r in world.requests_of(other["name"]) if r.get("count", 1)]
        if asks and not same(other["name"], job["name"]):
            found |= {n for part in parts_of(world, other) for n in nodes_of(world, part)}
    return found
