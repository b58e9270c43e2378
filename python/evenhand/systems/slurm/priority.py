"""Slurm's multifactor priority of the jobs of a snapshot, in columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.building.readback import NO_TIME
from evenhand.config.rows import raise_found
from evenhand.errors import Problem
from evenhand.history import slurm
from evenhand.systems.slurm.sizes import Sizes
from evenhand.systems.slurm.text.accounting import association_name
from evenhand.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from evenhand.model import Snapshot
    from evenhand.systems.slurm.rows import SlurmOperationSettings
    from evenhand.systems.slurm.settings import SlurmSettings

__all__ = ["Priorities", "priorities"]

_FACTORS = ("age", "assoc", "fairshare", "jobsize", "partition", "qos")
_WEIGHTS = ("Age", "Assoc", "Fairshare", "JobSize", "Partition", "QOS")
_UNIT = ("age", "fairshare", "jobsize")
_NOT_COMPUTED = "its factor is not computed; give every job its priority, or leave it out"


@dataclass(frozen=True)
class Priorities:
    """Priorities of all jobs, and what they are made of; one row an operation.

    Attributes
    ----------
    total : ndarray of float64
        The priority that counts.
    given : ndarray of bool
        The operation has it of its own.
    factors : mapping of str to ndarray
        ``age``, ``assoc``, ``fairshare``, ``jobsize``, ``partition``, ``qos`` and ``tres/<name>``, in the
        order in which they are added; empty with priority/basic.
    weights : mapping of str to float
        Of the factors.
    site, nice : ndarray of float64
    lacking : tuple of int
        Rows whose fair share counts and is not known.
    """

    total: NDArray[np.float64]
    given: NDArray[np.bool_]
    factors: Mapping[str, NDArray[np.float64]]
    weights: Mapping[str, float]
    site: NDArray[np.float64]
    nice: NDArray[np.float64]
    lacking: tuple[int, ...] = ()

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


def priorities(
    snapshot: Snapshot,
    s: SlurmSettings,
    rows: Mapping[int, SlurmOperationSettings],
    partition: Sequence[str | None],
    qos: Sequence[str | None],
    masks: Mapping[str | None, Sequence[bool]],
) -> Priorities:
    """Return the priorities of all jobs.

    Parameters
    ----------
    snapshot : Snapshot
    s : SlurmSettings
    rows : mapping
        Settings of operations by row.
    partition, qos : sequence of str or None
        Of each job.
    masks : mapping
        Partition to whether each node is in it.

    Returns
    -------
    Priorities

    Raises
    ------
    InputError
        If a job has no priority of its own and the settings ask for a factor that is not computed.

    Notes
    -----
    O(jobs · factors + rows of the tree · log). Factors as in Slurm's documentation of priority_multifactor:
    age is that of the start for jobs that run, unless CALCULATE_RUNNING.
    """
    count = snapshot.operation_count
    values = np.asarray(snapshot._core.column("operations", "priority"), np.float64)
    given = np.asarray(snapshot._core.column("operations", "priority_given")).astype(np.bool_)
    own = np.where(given, values, 1.0) if len(values) == count == len(given) else np.ones(count)
    given = given if len(given) == count else np.zeros(count, np.bool_)
    site, nice = np.zeros(count), np.zeros(count)
    for row, settings in rows.items():
        site[row], nice[row] = settings.site_factor, settings.nice
    if s.PriorityType == "priority/basic":
        return Priorities(own, given, {}, {}, site, nice)
    if not given.all():
        raise_found(
            [
                Problem("settings", None, None, field, "choice", name, f"{field} has {name}: {_NOT_COMPUTED}")
                for field, name in s.not_computed()
            ]
        )
    jobs = _Jobs(snapshot, s, rows, partition, qos, masks)
    factors = {
        "age": jobs.age(),
        "assoc": jobs.assoc(),
        "fairshare": jobs.fair_share(),
        "jobsize": jobs.size(),
        "partition": jobs.of_partition(),
        "qos": jobs.of_qos(),
        **{f"tres/{name}": jobs.tres(name) for name in s.PriorityWeightTRES},
    }
    weights = {
        name: float(getattr(s, f"PriorityWeight{w}")) for name, w in zip(_FACTORS, _WEIGHTS, strict=True)
    }
    weights |= {f"tres/{name}": weight for name, weight in s.PriorityWeightTRES.items()}
    total = slurm.priority(factors, weights, site=site, nice=nice, raw=[*set(factors) - set(_UNIT)])
    lacking = np.flatnonzero(jobs.unknown & ~given) if s.PriorityWeightFairshare else ()
    return Priorities(
        np.where(given, own, total.astype(np.float64)), given, factors, weights, site, nice, tuple(lacking)
    )


class _Jobs:
    """Factors of all jobs."""

    def __init__(
        self,
        snapshot: Snapshot,
        s: SlurmSettings,
        rows: Mapping[int, SlurmOperationSettings],
        partition: Sequence[str | None],
        qos: Sequence[str | None],
        masks: Mapping[str | None, Sequence[bool]],
    ) -> None:
        self.snapshot, self.settings, self.rows = snapshot, s, rows
        self.partition, self.qos, self.masks = partition, qos, masks
        self.sizes = Sizes(snapshot)
        places = {name: place for place, name in enumerate(masks)}
        self.place = np.array([places[name] for name in partition], np.int64).reshape(-1)
        self.flags = frozenset(s.PriorityFlags)
        self.unknown = np.ones(snapshot.operation_count, np.bool_)

    def _normal(self, values: ArrayLike, highest: int, flag: str) -> NDArray[np.float64]:
        """Divide by the highest of all, unless a flag says not to."""
        numbers = np.asarray(values, np.float64).reshape(-1)
        if {"NO_NORMAL_ALL", f"NO_NORMAL_{flag}"} & self.flags:
            return numbers
        return numbers / highest if highest else numbers

    def age(self) -> NDArray[np.float64]:
        """Time since a job was eligible, as a part of the oldest age that counts."""
        since = np.asarray(self.snapshot._core.column("operations", "start_time"), np.int64).copy()
        if "ACCRUE_ALWAYS" not in self.flags:
            for row, own in self.rows.items():
                later = own.eligible_time if own.accrue_time is None else own.accrue_time
                if later is not None:
                    since[row] = round(later * 1e6)
        until = np.full(len(since), self.snapshot._core.now, np.int64)
        if "CALCULATE_RUNNING" not in self.flags:
            runs = self.sizes.began != NO_TIME
            until[runs] = self.sizes.began[runs]
        age = np.where(since == NO_TIME, 0, np.maximum(until - np.where(since == NO_TIME, until, since), 0))
        return slurm.age_factor(age / 1e6, self.settings.PriorityMaxAge)

    @cached_property
    def _owners(self) -> tuple[list[str], NDArray[np.int64]]:
        """Different ``account/user``, empty where one is lacking, and each job's place among them."""
        core, count = self.snapshot._core, self.snapshot.operation_count
        texts, place = [], np.zeros(count, np.int64)
        for field in ("account", "user"):
            names, codes = core.text("operations", field)
            texts.append([*map(str, names), ""])
            found = np.asarray(codes, np.int64) if len(codes) else np.full(count, -1)
            place = place * len(texts[-1]) + np.where(found < 0, len(names), found)
        kinds, inverse = np.unique(place, return_inverse=True)
        pairs = [(texts[0][kind // len(texts[1])], texts[1][kind % len(texts[1])]) for kind in kinds.tolist()]
        return [association_name(*pair) if all(pair) else "" for pair in pairs], inverse.reshape(-1)

    def _by_association(self, values: Mapping[str, float]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return each job's value of its association, and which have none."""
        owners, place = self._owners
        each = np.array([values.get(name, np.nan) for name in owners]).reshape(-1)[place]
        if any(name.count("/") > 1 for name in values):  # associations of one partition go before
            own = [f"{owners[owner]}/{inside}" for owner, inside in zip(place, self.partition, strict=True)]
            each = np.array([values.get(name, of_all) for name, of_all in zip(own, each, strict=True)])
        unknown = np.isnan(each)
        return np.where(unknown, 0.0, each), unknown

    def fair_share(self) -> NDArray[np.float64]:
        """Fair share factor of a job's association: Fair Tree, or the classic one."""
        s = self.settings
        if s.shares is None or not s.PriorityWeightFairshare:
            return np.zeros(self.snapshot.operation_count)
        if "NO_FAIR_TREE" in self.flags:
            root = "root" if "root" in s.shares.names else None
            table = slurm.classic(
                s.shares, fair_share_dampening_factor=float(s.FairShareDampeningFactor), root=root
            )
        else:
            table = slurm.fair_tree(s.shares, tied_accounts=s.tied_accounts)
        users = zip(s.shares.names, np.asarray(table["factor"]).tolist(), s.shares.user.tolist(), strict=True)
        factors, self.unknown = self._by_association({str(n): factor for n, factor, user in users if user})
        return factors

    def assoc(self) -> NDArray[np.float64]:
        """Priority of a job's association."""
        given = self.settings.association_priority
        if not given:
            return np.zeros(self.snapshot.operation_count)
        values, _ = self._by_association({name: float(priority) for name, priority in given.items()})
        return self._normal(values, max(given.values(), default=0), "ASSOC")

    def of_partition(self) -> NDArray[np.float64]:
        """Factor of a job's partition."""
        known = {name: p.PriorityJobFactor for name, p in self.settings.partitions.items()}
        values = [1 if name is None else known[name] for name in self.masks]
        return self._normal(values, max(known.values(), default=1), "PART")[self.place]

    def of_qos(self) -> NDArray[np.float64]:
        """Priority of a job's QOS."""
        known = {name: qos.Priority for name, qos in self.settings.qos.items()}
        values = [0 if name is None else known[name] for name in self.qos]
        return self._normal(values, max(known.values(), default=0), "QOS")

    def size(self) -> NDArray[np.float64]:
        """Part of the cluster's nodes and cpus that a job wants or has."""
        cpu = self.sizes.resource("cpu")
        nodes = np.maximum(self.sizes.nodes, 1)
        all_nodes = self.snapshot.node_count
        cpus = np.zeros(len(nodes)) if cpu is None else self.sizes.amounts[:, cpu]
        all_cpus = 0.0 if cpu is None else float(self.sizes.capacity[:, cpu].sum())
        small = self.settings.PriorityFavorSmall
        if not all_nodes:
            return np.zeros(len(nodes))
        if "SMALL_RELATIVE_TO_TIME" in self.flags:
            size = np.maximum(nodes / all_nodes, cpus / all_cpus if all_cpus else 0.0) / self._minutes()
            size = 1 - size if small else size
        else:
            of_nodes, of_cpus = nodes / all_nodes, cpus / all_cpus if all_cpus else np.zeros(len(nodes))
            if small:
                of_nodes, of_cpus = 1 - of_nodes, 1 - of_cpus
            size = np.where(cpus > 0, (of_nodes + of_cpus) / 2, of_nodes)
        return np.clip(size, 0.0, 1.0)

    def _minutes(self) -> NDArray[np.float64]:
        """Return time limits in minutes, at least 1; infinite without any.

        The longest of what a job waits for or, if it waits for nothing, of what it has.
        """
        core = self.snapshot._core
        limit = np.zeros(self.snapshot.operation_count)
        for table in ("requests", "allocations"):
            owners = np.asarray(core.column(table, "operation"), np.int64)
            if table == "requests":
                spans = np.asarray(core.column(table, "duration"), np.int64)
                counts = np.asarray(core.column(table, "count")) > 0
            else:
                counts = ~self.sizes.pending[owners]
                ends = np.asarray(core.column(table, "planned_end"), np.int64)
                starts = np.asarray(core.column(table, "start_time"), np.int64)
                spans = np.where(ends == NO_TIME, 0, ends - np.where(ends == NO_TIME, 0, starts))
            np.maximum.at(limit, owners[counts], np.maximum(spans, 0)[counts] / 6e7)
        return np.where(limit > 0, np.maximum(limit, 1.0), np.inf)

    def tres(self, name: str) -> NDArray[np.float64]:
        """Part of what its partition has of a resource that a job wants or has."""
        place = self.sizes.resource(name)
        amounts: NDArray[np.float64] = self.sizes.nodes
        capacity: NDArray[np.float64] = np.ones(self.snapshot.node_count)
        if name != "node":
            if place is None:
                return np.zeros(self.snapshot.operation_count)
            amounts, capacity = self.sizes.amounts[:, place], self.sizes.capacity[:, place]
        if {"NO_NORMAL_ALL", "NO_NORMAL_TRES"} & self.flags:
            return np.asarray(amounts * self._unit(place))
        total = {name: float(capacity[np.asarray(mask, np.bool_)].sum()) for name, mask in self.masks.items()}
        of = np.array([total[name] for name in self.masks])[self.place]
        return np.minimum(np.divide(amounts, of, out=np.zeros(len(of)), where=of > 0), 1.0)

    def _unit(self, place: int | None) -> float:
        return 1.0 if place is None else float(self.snapshot._head["quantum"][place])
