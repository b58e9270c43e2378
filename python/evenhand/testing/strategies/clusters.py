"""Strategies for clusters by wish: your tree, your resources, guarantees for every pool, and the like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from evenhand.testing.strategies._arguments import Resources, check_range
from evenhand.testing.strategies._cluster_rows import HOW_MANY, HowMany, Wishes, snapshot
from evenhand.testing.strategies._pasted import built
from evenhand.testing.strategies.gridengine import gridengine_clusters
from evenhand.testing.strategies.jobs import job_clusters
from evenhand.testing.strategies.preemption import crowded_dicts
from evenhand.testing.strategies.queues import queue_partitions
from evenhand.testing.strategies.sessions import session_groups

if TYPE_CHECKING:
    from collections.abc import Callable

    from hypothesis.strategies import SearchStrategy

    from evenhand.model import Snapshot

__all__ = ["SYSTEMS", "cluster_dicts", "clusters", "system_cluster_dicts"]

# Eight numbers of up to 15, in one choice: drawing them one by one takes most of the time.
_row = st.binary(min_size=8, max_size=8).map(lambda drawn: tuple(byte % 16 for byte in drawn))

SYSTEMS: Mapping[str, Callable[[], SearchStrategy[dict[str, Any]]]] = {
    "ytsaurus": crowded_dicts,
    "backendai": session_groups,
    "slurm": job_clusters,
    "yunikorn": queue_partitions,
    "gridengine": gridengine_clusters,
}


def cluster_dicts(
    resources: Resources | None = None,
    pools: Sequence[Mapping[str, Any]] | None = None,
    *,
    guarantees: HowMany = "some",
    priorities: HowMany = "some",
    fractions: bool = False,
    overfull: bool = False,
    suspended: bool = False,
    max_quanta: int = 12,
    min_nodes: int = 1,
    max_nodes: int = 2,
    min_pools: int = 0,
    max_pools: int = 4,
    min_operations: int = 1,
    max_operations: int = 6,
    max_allocations: int = 12,
    max_requests: int = 5,
) -> SearchStrategy[dict[str, Any]]:
    """Draw valid snapshots in the file format of crowded clusters that are as you wish.

    Parameters
    ----------
    resources : mapping or sequence of str, optional
        Yours, as a snapshot has them, or names alone; by default some of cpu, memory and gpu. Every request
        and allocation has something of the first. Resources of the cluster are left to you: no row has any.
    pools : sequence of mappings, optional
        Your tree: rows of the table of pools, taken as they are. Operations are in those without pools
        below. By default a tree is drawn.
    guarantees : {"none", "some", "all"}
        Which of the drawn pools have a strong guarantee.
    priorities : {"none", "some", "all"}
        Which operations have a priority, of 0 to 15.
    fractions : bool
        Whether amounts are multiples of a quarter; only where `resources` does not say the quanta.
    overfull : bool
        Whether allocations may hold more than their node has.
    suspended : bool
        Whether work may be suspended, by a person or as a victim, or may have resumed since it started.
    max_quanta : int
        Largest guarantee, in quanta of each resource. Requests have up to half of it, allocations up to a
        third, and a node has up to a sixth beside what is there.
    min_nodes, max_nodes, min_pools, max_pools, min_operations, max_operations : int
        How many rows.
    max_allocations, max_requests : int
        How many rows at most.

    Returns
    -------
    SearchStrategy[dict]
        For `evenhand.Snapshot.from_dict`; it shrinks to fewer rows and smaller amounts.

    Raises
    ------
    InvalidArgument
        When an example is drawn, if the arguments are wrong.

    Notes
    -----
    Nodes are full or nearly so: room is to be made for most requests. Guarantees are drawn without regard to
    each other, so together they may exceed the cluster.
    """
    sizes = {
        "nodes": (min_nodes, max_nodes),
        "pools": (0, 0) if pools is not None else (min_pools, max_pools),
        "operations": (min_operations, max_operations),
        "allocations": (0, max_allocations),
        "requests": (0, max_requests),
    }

    def build() -> SearchStrategy[dict[str, Any]]:
        for name, (low, high) in sizes.items():
            check_range(name, low, high, least=1 if name in ("nodes", "operations") else 0)
        check_range("quanta", 1, max_quanta, least=1, most=2**50)
        for name, value in (("guarantees", guarantees), ("priorities", priorities)):
            if value not in HOW_MANY:
                raise InvalidArgument(f"{name}={value!r} is not one of {', '.join(HOW_MANY)}")
        wishes = Wishes(max_quanta, guarantees, priorities, overfull, suspended)
        rows = tuple(st.lists(_row, min_size=low, max_size=high) for low, high in sizes.values())
        return st.tuples(_spaces(resources, fractions), st.tuples(*rows)).map(
            lambda drawn: snapshot(wishes, drawn[0], pools, drawn[1])
        )

    return st.deferred(build)


def _spaces(resources: Resources | None, fractions: bool) -> SearchStrategy[dict[str, Any]]:
    quantum = 0.25 if fractions else 1
    if resources is None:
        return st.integers(1, 3).map(
            lambda count: {name: {"quantum": quantum} for name in ("cpu", "memory", "gpu")[:count]}
        )
    if not resources:
        raise InvalidArgument("there is no resource")
    if isinstance(resources, Mapping):
        given = {name: dict(fields or {}) for name, fields in resources.items()}
        if all(fields.get("scope") == "cluster" for fields in given.values()):
            raise InvalidArgument("there is no resource of nodes")
        return st.just(given)
    return st.just({name: {"quantum": quantum} for name in resources})


def clusters(
    resources: Resources | None = None, pools: Sequence[Mapping[str, Any]] | None = None, **wishes: Any
) -> SearchStrategy[Snapshot]:
    """Draw snapshots: those of `cluster_dicts`, which has the same parameters, built.

    Beside a falsified example hypothesis prints ``Snapshot.from_dict({...})``, to be pasted.
    """
    return cluster_dicts(resources, pools, **wishes).map(built)


def system_cluster_dicts(system: str) -> SearchStrategy[dict[str, Any]]:
    """Draw crowded clusters with the fields that one system reads, in the file format.

    Parameters
    ----------
    system : {"ytsaurus", "backendai", "slurm", "yunikorn", "gridengine"}
        They fit the settings that `policies` draws for it: partitions and QOS of Slurm are those.

    Returns
    -------
    SearchStrategy[dict]
    """

    def build() -> SearchStrategy[dict[str, Any]]:
        if system not in SYSTEMS:
            raise InvalidArgument(f"system={system!r} is not one of {', '.join(SYSTEMS)}")
        return SYSTEMS[system]()

    return st.deferred(build)
