"""Hypothesis strategies for resources, pool trees, snapshots and settings.

They follow hypothesis' guide to API style: names are plurals of what is drawn,
the strategy of the elements comes first, everything optional is given by
keyword, bounds come in pairs, and wrong arguments raise `InvalidArgument` when
an example is drawn. Nothing is filtered: what must hold between rows is met by
construction, and everything shrinks towards one resource, no pools, no
operations and zero amounts.

**Ties.** Where a cap is met exactly, or two jumps coincide, two correct engines
may differ by a whole operation (../explanation: "knife edge"). Snapshots are
therefore generic unless told otherwise: every amount carries a small excess of
its own. With ``ties=True`` amounts are exact percentages of small totals, and a
drawn boolean switches on the nasty shapes of `NASTY`: use that for laws, not for
comparing engines.

Needs the extra `test`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evenhand.errors import require

require("hypothesis", "test")

from hypothesis import strategies as st  # noqa: E402
from hypothesis.errors import InvalidArgument  # noqa: E402

from evenhand.testing import _assemble, _nasty, _rows  # noqa: E402
from evenhand.testing._scale import Scale  # noqa: E402

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from evenhand.config.fair_share import FairShareSettings
    from evenhand.model import Snapshot

__all__ = [
    "NASTY",
    "allocations",
    "fair_share_settings",
    "nodes",
    "operations",
    "pool_trees",
    "pools",
    "requests",
    "resource_spaces",
    "resource_vectors",
    "snapshot_dicts",
    "snapshots",
]

NASTY = tuple(_nasty.SHAPES)
"""Names of the nasty shapes that `ties` switches on."""

MOST_RESOURCES = 16
USUAL = ("cpu", "memory", "gpu", "user_slots", "network", "disk")
NAMES = (
    (*USUAL, *(f"r{i}" for i in range(len(USUAL), MOST_RESOURCES))),
    tuple(f"r{i}" for i in range(MOST_RESOURCES)),
    tuple(f"licence-{chr(ord('α') + i)}" for i in range(MOST_RESOURCES)),
)
OLDER = (
    "fifo_truncation",
    "limit_strong_before_scaling",
    "estimated_guarantee_counts_flow",
    "promised_fair_share",
)
QUANTA = (1, 0.001, 0.01, 0.5, 64)
Resources = Mapping[str, Mapping[str, Any]] | Sequence[str]


def resource_spaces(*, min_size: int = 1, max_size: int = MOST_RESOURCES) -> SearchStrategy[dict[str, Any]]:
    """Draw the resources of a snapshot: name -> {"quantum": ...}.

    Parameters
    ----------
    min_size, max_size : int
        How many resources; 1 to 16.

    Returns
    -------
    SearchStrategy[dict]
    """
    return st.deferred(lambda: _resource_spaces(min_size, max_size))


def _resource_spaces(min_size: int, max_size: int) -> SearchStrategy[dict[str, Any]]:
    _check_range("size", min_size, max_size, least=1, most=MOST_RESOURCES)
    names = st.sampled_from(NAMES)
    quanta = st.integers(0, len(QUANTA) ** max_size - 1)  # a digit a resource
    return st.tuples(st.integers(min_size, max_size), names, quanta).map(
        lambda drawn: {
            drawn[1][i]: {"quantum": QUANTA[drawn[2] // len(QUANTA) ** i % len(QUANTA)]}
            for i in range(drawn[0])
        }
    )


def resource_vectors(
    resources: Resources, *, min_quanta: int = 0, max_quanta: int = 2**40
) -> SearchStrategy[dict[str, float]]:
    """Draw an amount of every resource.

    Parameters
    ----------
    resources : mapping or sequence of str
        As a snapshot has them, or names alone (then the quantum is 1).
    min_quanta, max_quanta : int
        Bounds of every amount, in quanta; 0 to 2**60.

    Returns
    -------
    SearchStrategy[dict]
        Resource -> amount, a multiple of its quantum.
    """

    def build() -> SearchStrategy[dict[str, float]]:
        _check_range("quanta", min_quanta, max_quanta, most=2**60)
        quanta = _quanta(resources)
        counts = st.tuples(*[st.integers(min_quanta, max_quanta)] * len(quanta))
        return counts.map(Scale(quanta, (), exact=True).units)

    return st.deferred(build)


def pools(
    resources: Resources,
    *,
    max_quanta: int = 1000,
    allow_guarantees: bool = True,
    allow_limits: bool = True,
    allow_fifo: bool = True,
    allow_integral: bool = True,
    allow_gangs: bool = True,
) -> SearchStrategy[dict[str, Any]]:
    """Draw the fields of a pool, name and parent left out.

    Parameters
    ----------
    resources : mapping or sequence of str
        As for `resource_vectors`.
    max_quanta : int
        Total of the cluster in quanta of every resource, to which amounts are proportioned.
    allow_guarantees, allow_limits, allow_fifo, allow_integral, allow_gangs : bool
        What may occur.

    Returns
    -------
    SearchStrategy[dict]
    """

    def build() -> SearchStrategy[dict[str, Any]]:
        scale = _scale(resources, max_quanta)
        allowed = _rows.Allowed(allow_guarantees, allow_limits, allow_fifo, allow_integral, allow_gangs)
        return _rows.pools(len(scale.total), allowed).map(lambda row: scale.pool(row, ""))

    return st.deferred(build)


def pool_trees(
    pools: SearchStrategy[dict[str, Any]],
    *,
    min_size: int = 0,
    max_size: int = 8,
    max_depth: int | None = None,
) -> SearchStrategy[list[dict[str, Any]]]:
    """Draw a table of pools: names p0, p1, ..., each with its parent among the earlier ones.

    FIFO pools get no children. No integral pool gets another below it: the
    inner one's `integral` is left out.

    Parameters
    ----------
    pools : SearchStrategy[dict]
        Fields of one pool, such as `pools`.
    min_size, max_size : int
        How many pools.
    max_depth : int, optional
        Pools on the longest path at most.

    Returns
    -------
    SearchStrategy[list[dict]]
    """

    def build() -> SearchStrategy[list[dict[str, Any]]]:
        _check_range("size", min_size, max_size)
        _check_depth(max_depth)
        rows = st.lists(st.tuples(st.integers(0, max_size), pools), min_size=min_size, max_size=max_size)
        return rows.map(
            lambda drawn: [
                {"name": f"p{i}", "parent": None if parent is None else f"p{parent}"} | row
                for i, (parent, row) in enumerate(_rows.settle_tree(drawn, max_depth))
            ]
        )

    return st.deferred(build)


def operations(
    resources: Resources,
    *,
    pools: Sequence[str | int] = (),
    max_quanta: int = 1000,
    allow_limits: bool = True,
    allow_gangs: bool = True,
) -> SearchStrategy[dict[str, Any]]:
    """Draw the fields of an operation, its name left out: pool, demand, usage up to the demand, and more.

    Parameters
    ----------
    resources : mapping or sequence of str
        As for `resource_vectors`.
    pools : sequence of names
        Where it may be, besides the root.
    max_quanta : int
        Total of the cluster in quanta; a demand may exceed it by a fifth.
    allow_limits, allow_gangs : bool
        What may occur.

    Returns
    -------
    SearchStrategy[dict]
    """

    def build() -> SearchStrategy[dict[str, Any]]:
        scale = _scale(resources, max_quanta)
        rows = _rows.operations(len(scale.total), _rows.Allowed(limits=allow_limits, gangs=allow_gangs))
        homes = st.sampled_from((None, *pools))
        return st.tuples(homes, rows).map(lambda drawn: {"pool": drawn[0]} | scale.operation(drawn[1], ""))

    return st.deferred(build)


def nodes(
    resources: Resources, *, min_quanta: int = 0, max_quanta: int = 1000
) -> SearchStrategy[dict[str, Any]]:
    """Draw the fields of a node, its name left out: capacity and tags.

    Parameters
    ----------
    resources : mapping or sequence of str
        As for `resource_vectors`.
    min_quanta, max_quanta : int
        Bounds of the capacity in every resource, in quanta.

    Returns
    -------
    SearchStrategy[dict]
    """
    capacity = resource_vectors(resources, min_quanta=min_quanta, max_quanta=max_quanta)
    tags = st.lists(st.sampled_from(("a", "b", "gpu")), unique=True)
    return st.fixed_dictionaries(
        {"capacity": capacity}, optional={"tags": tags, "schedulable": st.booleans()}
    )


def allocations(
    resources: Resources,
    nodes: Sequence[Mapping[str, Any]],
    operations: Sequence[str | int],
    *,
    min_size: int = 0,
    max_size: int = 16,
) -> SearchStrategy[list[dict[str, Any]]]:
    """Draw a table of allocations, named a0, a1, ..., that fit on their nodes.

    Each takes a part of what the earlier ones left on its node. One for which
    nothing is left is not made, so fewer than `min_size` come out where the nodes
    are full.

    Parameters
    ----------
    resources : mapping or sequence of str
        As for `resource_vectors`.
    nodes : sequence of mappings
        Rows with `name` and `capacity`.
    operations : sequence of names
        Operations that they may belong to.
    min_size, max_size : int
        How many are drawn.

    Returns
    -------
    SearchStrategy[list[dict]]
    """

    def build() -> SearchStrategy[list[dict[str, Any]]]:
        _check_range("size", min_size, max_size)
        if not (nodes and operations) and min_size:
            msg = "allocations need nodes and operations"
            raise InvalidArgument(msg)
        quanta = _quanta(resources)
        rows = st.lists(
            _rows.allocations(len(quanta)),
            min_size=min_size,
            max_size=max_size if nodes and operations else 0,
        )
        return rows.map(
            lambda drawn: _assemble.place(
                drawn, Scale(quanta, (0,) * len(quanta), exact=True), nodes, operations
            )
        )

    return st.deferred(build)


def requests(
    resources: Resources, operations: Sequence[str | int], *, max_quanta: int = 1000
) -> SearchStrategy[dict[str, Any]]:
    """Draw the fields of a request, its name left out.

    Parameters
    ----------
    resources : mapping or sequence of str
        As for `resource_vectors`.
    operations : sequence of names
        Operations that it may belong to; not empty.
    max_quanta : int
        Total of the cluster in quanta, to which amounts are proportioned.

    Returns
    -------
    SearchStrategy[dict]
    """

    def build() -> SearchStrategy[dict[str, Any]]:
        if not operations:
            msg = "a request needs operations"
            raise InvalidArgument(msg)
        scale = _scale(resources, max_quanta)
        return _rows.requests(len(scale.total)).map(lambda row: _assemble.request(row, scale, operations, ""))

    return st.deferred(build)


def snapshot_dicts(
    resources: SearchStrategy[dict[str, Any]] | None = None,
    *,
    min_pools: int = 0,
    max_pools: int = 8,
    max_depth: int | None = None,
    min_operations: int = 0,
    max_operations: int = 12,
    min_nodes: int = 0,
    max_nodes: int = 4,
    max_allocations: int = 16,
    ties: bool = False,
    allow_guarantees: bool = True,
    allow_limits: bool = True,
    allow_fifo: bool = True,
    allow_integral: bool = True,
    allow_gangs: bool = True,
) -> SearchStrategy[dict[str, Any]]:
    """Draw valid snapshots in the file format.

    Parameters
    ----------
    resources : SearchStrategy[dict], optional
        Resources of the snapshot; `resource_spaces` by default.
    min_pools, max_pools : int
        How many pools, besides the root.
    max_depth : int, optional
        Pools on the longest path at most.
    min_operations, max_operations : int
        How many operations.
    min_nodes, max_nodes : int
        How many nodes. Without nodes there are no allocations and requests;
        demand, usage and the cluster's total are stated then.
    max_allocations : int
        Allocations, and requests, at most.
    ties : bool
        Exact amounts, and nasty shapes; see the module.
    allow_guarantees, allow_limits, allow_fifo, allow_integral, allow_gangs : bool
        What may occur.

    Returns
    -------
    SearchStrategy[dict]
        For `evenhand.Snapshot.from_dict`.
    """
    allowed = _rows.Allowed(allow_guarantees, allow_limits, allow_fifo, allow_integral, allow_gangs)
    sizes = _rows.Sizes(
        min_pools, max_pools, min_operations, max_operations, min_nodes, max_nodes, max_allocations
    )
    spaces = resource_spaces() if resources is None else resources

    def build() -> SearchStrategy[dict[str, Any]]:
        for name in ("pools", "operations", "nodes"):
            _check_range(name, getattr(sizes, f"min_{name}"), getattr(sizes, f"max_{name}"))
        _check_range("allocations", 0, max_allocations)
        _check_depth(max_depth)
        return spaces.flatmap(
            lambda space: _rows.snapshots(len(space), sizes, allowed, NASTY if ties else ()).map(
                lambda raw: _assemble.snapshot(raw, space, max_depth, exact=ties)
            )
        )

    return st.deferred(build)


def snapshots(
    resources: SearchStrategy[dict[str, Any]] | None = None, **bounds: Any
) -> SearchStrategy[Snapshot]:
    """Draw snapshots: those of `snapshot_dicts`, which has the same parameters, built."""

    def build(data: dict[str, Any]) -> Snapshot:
        from evenhand.model import Snapshot

        return Snapshot.from_dict(data)

    return snapshot_dicts(resources, **bounds).map(build)


def fair_share_settings(
    resources: Sequence[str] = ("cpu",), *, allow_gangs: bool = True, allow_older: bool = False
) -> SearchStrategy[FairShareSettings]:
    """Draw settings of the fair share.

    Parameters
    ----------
    resources : sequence of str
        Names of the resources, one of which becomes the main one.
    allow_gangs : bool
        Whether gangs may get all or nothing, by the step function.
    allow_older : bool
        Whether switches of older revisions may be set.

    Returns
    -------
    SearchStrategy[FairShareSettings]
    """

    def build() -> SearchStrategy[FairShareSettings]:
        from evenhand.config.fair_share import FairShareSettings

        if not resources:
            msg = "one of the resources is the main one, so there is at least one"
            raise InvalidArgument(msg)
        switches: tuple[str, ...] = ("improved", "improved_gap", "fast_fifo")
        if allow_gangs:
            switches += ("step_function_for_gang", "fifo_reordering")
        if allow_older:
            switches += OLDER
        return st.builds(
            lambda flags, **fields: FairShareSettings(**fields, **flags),
            _rows.flags(switches),
            main_resource=st.sampled_from(list(resources)),
            integral_pool_capacity_saturation_period_s=st.sampled_from((86400.0, 3600.0, 600.0)),
            integral_smooth_period_s=st.sampled_from((60.0, 1.0, 600.0)),
        )

    return st.deferred(build)


def _quanta(resources: Resources) -> dict[str, float]:
    if isinstance(resources, Mapping):
        return {name: fields.get("quantum", 1) for name, fields in resources.items()}
    return dict.fromkeys(resources, 1)


def _scale(resources: Resources, total: int) -> Scale:
    _check_range("quanta", 0, total, most=2**60)
    quanta = _quanta(resources)
    return Scale(quanta, (total,) * len(quanta), exact=True)


def _check_range(what: str, low: int, high: int, *, least: int = 0, most: int | None = None) -> None:
    if not (isinstance(low, int) and isinstance(high, int)):
        msg = f"min_{what}={low!r} and max_{what}={high!r} are not both integers"
        raise InvalidArgument(msg)
    if low < least or high < low or (most is not None and high > most):
        end = "" if most is None else f" <= {most}"
        msg = f"{least} <= min_{what}={low} <= max_{what}={high}{end} does not hold"
        raise InvalidArgument(msg)


def _check_depth(max_depth: int | None) -> None:
    if max_depth is not None and (not isinstance(max_depth, int) or max_depth < 1):
        msg = f"max_depth={max_depth!r} is not an integer above zero"
        raise InvalidArgument(msg)
