"""Slurm's multifactor priority of the jobs of a snapshot, in columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.config.rows import raise_found
from evenhand.errors import Problem
from evenhand.fields import TABLES
from evenhand.history import slurm
from evenhand.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from evenhand.history.tree import ShareTree
    from evenhand.model import Snapshot
    from evenhand.systems.slurm.settings import SlurmSettings

__all__ = ["Priorities", "check_factors", "partition_factors", "qos_factors", "weights"]

_FACTORS = ("age", "assoc", "fairshare", "jobsize", "partition", "qos")
_WEIGHTS = ("Age", "Assoc", "Fairshare", "JobSize", "Partition", "QOS")
_KINDS = {"cpu": "cpu", "mem": "memory"}
_NOT_COMPUTED = "its factor is not computed; give every job its priority, or leave it out"


@dataclass(frozen=True)
class Priorities:
    """Priorities of all jobs, and what they are made of; one row an operation."""

    total: NDArray[np.float64]
    given: NDArray[np.bool_]
    factors: Mapping[str, NDArray[np.float64]]
    weights: Mapping[str, float]
    site: NDArray[np.float64]
    nice: NDArray[np.float64]
    lacking: tuple[int, ...] = ()

    @classmethod
    def of(
        cls,
        snapshot: Snapshot,
        s: SlurmSettings,
        columns: Mapping[str, NDArray[Any]],
        derived: Mapping[str, NDArray[Any]],
    ) -> Priorities:
        """Return them of what the core made of all jobs."""
        count, total = snapshot.operation_count, derived["priority"]
        given = np.asarray(snapshot._core.column("operations", "priority_given")).astype(np.bool_)
        site, nice = (columns.get(name, np.zeros(count)) for name in ("site", "nice"))
        if s.PriorityType == "priority/basic":
            return cls(total, given, {}, {}, site, nice)
        names = [*_FACTORS, *(f"tres/{name}" for name in s.PriorityWeightTRES)]
        weights = [float(getattr(s, f"PriorityWeight{name}")) for name in _WEIGHTS]
        lacking = np.flatnonzero(derived["share_unknown"] & ~given) if s.PriorityWeightFairshare else ()
        return cls(
            *(total, given, dict(zip(names, derived["factors"].T, strict=True))),
            dict(zip(names, [*weights, *s.PriorityWeightTRES.values()], strict=True)),
            *(site, nice, tuple(map(int, lacking))),
        )

    def parts(self, row: int) -> dict[str, float]:
        """Return what a job's priority is the sum of; only what is not 0."""
        if self.given[row] or not self.factors:
            return {}
        parts = {name: self.weights[name] * float(self.factors[name][row]) for name in self.factors}
        parts |= {"site": float(self.site[row]), "nice": -float(self.nice[row])}
        return {name: part for name, part in parts.items() if part}

    def table(self, names: Sequence[str | int], *, normalised: bool) -> Table:
        """Return a row a job, as ``sprio -l`` prints it, or with `normalised` as ``sprio -n``."""
        columns: dict[str, Any] = {"name": names, "priority": self.total, "given": self.given}
        columns["site"] = self.site
        for name, factor in self.factors.items():
            columns[name] = factor if normalised else factor * self.weights[name]
        columns["nice"] = self.nice
        return Table(columns, title="Priorities" + (", factors of 0 to 1" if normalised else ""))


def weights(snapshot: Snapshot, s: SlurmSettings) -> dict[str, Any]:
    """Return what the core adds up to a priority."""
    if s.PriorityType == "priority/basic":
        return {}
    names = [resource.lower() for resource in snapshot.resources]
    words = TABLES["resources"]["kind"].words
    on_nodes = np.asarray(snapshot._head["scope"]) != TABLES["resources"]["scope"].words.index("cluster")
    kinds = np.asarray(snapshot._head["kind"])

    def resource(name: str) -> int:
        if name == "node":
            return -1
        if name in _KINDS:
            rows = np.flatnonzero(on_nodes & (kinds == words.index(_KINDS[name])))
            return int(rows[0]) if len(rows) else -2
        return names.index(name) if name in names else -2

    flags = frozenset(s.PriorityFlags)
    return {
        "multifactor": True,
        **{name: float(getattr(s, f"PriorityWeight{w}")) for name, w in zip(_FACTORS, _WEIGHTS, strict=True)},
        "tres": np.array(list(s.PriorityWeightTRES.values()), np.float64),
        "tres_resource": np.array([resource(name) for name in s.PriorityWeightTRES], np.int32),
        "cpu": max(resource("cpu"), -1),
        "max_age": s.PriorityMaxAge,
        "calculate_running": "CALCULATE_RUNNING" in flags,
        "small_first": s.PriorityFavorSmall,
        "relative_to_time": "SMALL_RELATIVE_TO_TIME" in flags,
        "plain_tres": bool({"NO_NORMAL_ALL", "NO_NORMAL_TRES"} & flags),
        **_associations(s),
    }


def _normal(s: SlurmSettings, values: ArrayLike, highest: int, flag: str) -> NDArray[np.float64]:
    """Divide by the highest of all, unless a flag says not to."""
    numbers = np.asarray(values, np.float64).reshape(-1)
    if {"NO_NORMAL_ALL", f"NO_NORMAL_{flag}"} & set(s.PriorityFlags):
        return numbers
    return numbers / highest if highest else numbers


def partition_factors(s: SlurmSettings) -> NDArray[np.float64]:
    """Return the factor of every partition, and of jobs in none."""
    known = [partition.PriorityJobFactor for partition in s.partitions.values()]
    return _normal(s, [*known, 1], max(known, default=1), "PART")


def qos_factors(s: SlurmSettings) -> NDArray[np.float64]:
    """Return the factor of every QOS."""
    known = [qos.Priority for qos in s.qos.values()]
    return _normal(s, known, max(known, default=0), "QOS")


def check_factors(s: SlurmSettings) -> None:
    """Refuse settings that ask for a factor that is not computed."""
    raise_found(
        [
            Problem("settings", None, None, field, "choice", name, f"{field} has {name}: {_NOT_COMPUTED}")
            for field, name in s.not_computed()
        ]
    )


def _associations(s: SlurmSettings) -> dict[str, dict[str, float]]:
    """Return what associations are worth, by name."""
    given = s.association_priority
    values = _normal(s, list(given.values()), max(given.values(), default=0), "ASSOC")
    return {
        "assoc_of": dict(zip(given, values.tolist(), strict=True)),
        "fair_share_of": _fair_shares(s, s.shares)
        if s.shares is not None and s.PriorityWeightFairshare
        else {},
    }


def _fair_shares(s: SlurmSettings, tree: ShareTree) -> dict[str, float]:
    """Return the fair share factor of every association: Fair Tree, or the classic one."""
    if "NO_FAIR_TREE" in s.PriorityFlags:
        root = "root" if "root" in tree.names else None
        table = slurm.classic(tree, fair_share_dampening_factor=float(s.FairShareDampeningFactor), root=root)
    else:
        table = slurm.fair_tree(tree, tied_accounts=s.tied_accounts)
    users = zip(tree.names, np.asarray(table["factor"]).tolist(), tree.user.tolist(), strict=True)
    return {str(name): factor for name, factor, user in users if user}
