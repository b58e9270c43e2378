"""Slurm's multifactor priority, job by job, as the documentation has it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from evenhand.fields import resource_kind
from tests.reference.decayed_usage import Row, classic, fair_tree, usage_of

if TYPE_CHECKING:
    from evenhand.model import Snapshot
    from evenhand.systems.slurm.settings import SlurmSettings

__all__ = ["reference_priorities", "tried_in"]


def reference_priorities(
    snapshot: Snapshot, settings: SlurmSettings, partitions: Mapping[str, str | None] | None = None
) -> dict[str, dict[str, float]]:
    """Return what every job's priority is made of.

    Parameters
    ----------
    snapshot : Snapshot
    settings : SlurmSettings
        With priority/multifactor.
    partitions : mapping, optional
        Name of a job to the partition that counts; by default the first in which it is tried.

    Returns
    -------
    dict
        Name of the job to ``priority`` and its factors.
    """
    cluster = _Cluster(snapshot.to_dict(), settings)
    operations = cluster.data.get("operations", ())
    there = partitions or {
        str(op["name"]): tried_in(cluster.data, settings, op, cluster.default)[0] for op in operations
    }
    return {
        str(op["name"]): cluster.priority({**op, "partition": there[str(op["name"])]}) for op in operations
    }


def tried_in(
    data: Mapping[str, Any], s: SlurmSettings, op: Mapping[str, Any], default: str | None
) -> list[str | None]:
    """Return the partitions in which a job is tried, or the one in which it is.

    Parameters
    ----------
    data : mapping
        The snapshot.
    s : SlurmSettings
    op : mapping
        The job.
    default : str or None
        The partition of jobs that name none.

    Returns
    -------
    list of str or None
        Highest tier first, then as written.
    """
    if not s.partitions or op.get("partition", default) is None:
        return [None]
    found = list(dict.fromkeys(name.strip() for name in op.get("partition", default).split(",")))
    found.sort(key=lambda name: s.partitions[name].PriorityTier, reverse=True)
    mine = [a for a in data.get("allocations", ()) if a["operation"] == op["name"]]
    if not mine:
        return [*found]
    nodes = {str(a["node"]) for a in mine if a.get("node") is not None}
    for name in found:
        if "ALL" in s.partitions[name].Nodes or nodes <= set(s.partitions[name].Nodes):
            return [name]
    return [found[0]]


def _shares(settings: SlurmSettings) -> dict[str, float]:
    """Fair share factor of each association of a user."""
    if settings.shares is None:
        return {}
    rows = settings.shares.to_dict()
    parents = {str(row.get("parent")) for row in rows.values()}
    tree = {
        str(name): Row(
            None if row.get("parent") is None else str(row["parent"]),
            None if row.get("shares") == "parent" else Fraction(row.get("shares", 1.0)),
            Fraction(row.get("usage", 0.0)),
            row.get("user", str(name) not in parents),
        )
        for name, row in rows.items()
    }
    if "NO_FAIR_TREE" in settings.PriorityFlags:
        dampening = Fraction(settings.FairShareDampeningFactor)
        found = classic(tree, usage_of(tree, None), dampening)
        return {name: found[name]["factor"] for name, row in tree.items() if row.user}
    return fair_tree(tree, merge_tied_accounts=settings.tied_accounts == "documented")


class _Cluster:
    """What the factors are parts of."""

    def __init__(self, data: Mapping[str, Any], settings: SlurmSettings) -> None:
        self.data, self.s = data, settings
        self.flags = set(settings.PriorityFlags)
        self.shares = _shares(settings)
        self.capacity = {str(n["name"]): n.get("capacity") or {} for n in data.get("nodes", ())}
        self.default = next((name for name, p in settings.partitions.items() if p.Default), None)

    def named(self, kind: str) -> str:
        """Return the first resource of a kind that nodes have; another name is a resource's own."""
        spaces = self.data["resources"].items()
        return next(
            (
                name
                for name, space in spaces
                if kind in ("cpu", "memory")
                and (space or {}).get("kind", resource_kind(name)) == kind
                and (space or {}).get("scope", "node") == "node"
            ),
            kind,
        )

    def normal(self, value: int, all_values: list[int], kind: str) -> float:
        """Divide by the highest, unless a flag says not to."""
        if "NO_NORMAL_ALL" in self.flags or f"NO_NORMAL_{kind}" in self.flags:
            return float(value)
        return value / max(all_values) if any(all_values) else 0.0

    def parts(self, op: Mapping[str, Any]) -> tuple[list[Any], bool]:
        """Return a job's requests or, if it has none, its allocations; and whether it waits."""
        asks = [
            q for q in self.data.get("requests", ()) if q["operation"] == op["name"] and q.get("count", 1) > 0
        ]
        holds = [a for a in self.data.get("allocations", ()) if a["operation"] == op["name"]]
        return (asks, True) if asks else (holds, False)

    def amount(self, op: Mapping[str, Any], resource: str) -> float:
        """Return how much of a resource a job wants or has."""
        return sum(p.get("resources", {}).get(resource, 0) * p.get("count", 1) for p in self.parts(op)[0])

    def nodes(self, op: Mapping[str, Any]) -> int:
        """Return on how many nodes it runs or wants to."""
        parts, waits = self.parts(op)
        if not waits:
            return len({p["node"] for p in parts if p.get("node") is not None})
        of_nodes = {r for r, spec in self.data["resources"].items() if spec.get("scope") != "cluster"}
        return sum(p.get("count", 1) for p in parts if of_nodes & set(p.get("resources", ())))

    def age(self, op: Mapping[str, Any]) -> float:
        """Time since it was eligible, to now or to its start."""
        own, now = op.get("settings", {}), self.data["now"]
        since = op.get("start_time", 0.0)
        if "ACCRUE_ALWAYS" not in self.flags:
            since = own.get("accrue_time", own.get("eligible_time", since))
        parts, waits = self.parts(op)
        if parts and not waits and "CALCULATE_RUNNING" not in self.flags:
            now = min(p.get("start_time", 0.0) for p in parts)
        return min(max(now - since, 0) / self.s.PriorityMaxAge, 1.0)

    def minutes(self, op: Mapping[str, Any]) -> float:
        """Return its time limit in minutes."""
        spans = [
            p.get("duration") if waits else p["planned_end"] - p.get("start_time", 0)
            for parts, waits in [self.parts(op)]
            for p in parts
            if waits or p.get("planned_end") is not None
        ]
        longest = max([span for span in spans if span and span > 0], default=math.inf)
        return max(longest / 60, 1.0)

    def size(self, op: Mapping[str, Any]) -> float:
        """Part of nodes and cpus of the cluster."""
        every = self.capacity.values()
        cpu = self.named("cpu")
        nodes, cpus = max(self.nodes(op), 1) / len(every), self.amount(op, cpu)
        there = sum(capacity.get(cpu, 0) for capacity in every)
        part = cpus / there if there else 0.0
        small = self.s.PriorityFavorSmall
        if "SMALL_RELATIVE_TO_TIME" in self.flags:
            size = max(nodes, part) / self.minutes(op)
            return min(max(1 - size if small else size, 0.0), 1.0)
        found = [1 - nodes if small else nodes]
        if cpus:
            found.append(1 - part if small else part)
        return min(max(sum(found) / len(found), 0.0), 1.0)

    def tres(self, op: Mapping[str, Any], name: str) -> float:
        """Part of a resource of its partition."""
        key = self.named({"mem": "memory"}.get(name, name))
        wanted = self.nodes(op) if name == "node" else self.amount(op, key)
        if {"NO_NORMAL_ALL", "NO_NORMAL_TRES"} & self.flags:
            return float(wanted)
        inside = self.s.partitions[op.get("partition", self.default)].Nodes
        nodes = [of for node, of in self.capacity.items() if "ALL" in inside or node in inside]
        total = len(nodes) if name == "node" else sum(capacity.get(key, 0) for capacity in nodes)
        return min(wanted / total, 1.0) if total else 0.0

    def association(self, op: Mapping[str, Any], known: Mapping[str, float]) -> float:
        """Value of its account and user, in its partition if there is one of it."""
        name = f"{op.get('account')}/{op.get('user')}"
        return known.get(f"{name}/{op.get('partition', self.default)}", known.get(name, 0.0))

    def priority(self, op: Mapping[str, Any]) -> dict[str, float]:
        """Return a job's factors and its priority."""
        s, own = self.s, op.get("settings", {})
        assoc = s.association_priority
        partitions = {name: p.PriorityJobFactor for name, p in s.partitions.items()}
        qos = {name: q.Priority for name, q in s.qos.items()}
        partition = partitions[op.get("partition", self.default)]
        found = {
            "age": self.age(op),
            "assoc": self.normal(int(self.association(op, assoc)), list(assoc.values()), "ASSOC"),
            "fairshare": self.association(op, self.shares) if s.PriorityWeightFairshare else 0.0,
            "jobsize": self.size(op),
            "partition": self.normal(partition, list(partitions.values()), "PART"),
            "qos": self.normal(qos.get(op.get("qos", ""), 0), list(qos.values()), "QOS"),
        }
        weights: dict[str, float] = {
            "age": s.PriorityWeightAge,
            "assoc": s.PriorityWeightAssoc,
            "fairshare": s.PriorityWeightFairshare,
            "jobsize": s.PriorityWeightJobSize,
            "partition": s.PriorityWeightPartition,
            "qos": s.PriorityWeightQOS,
        }
        for name, weight in s.PriorityWeightTRES.items():
            found[f"tres/{name}"], weights[f"tres/{name}"] = self.tres(op, name), weight
        total = 0.0
        for name, factor in found.items():
            total += weights[name] * factor
        total += own.get("site_factor", 0) - own.get("nice", 0)
        computed = float(min(max(math.trunc(total), 1), 2**32 - 1))
        return {**found, "priority": op.get("priority", computed)}
