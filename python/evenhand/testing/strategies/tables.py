"""Strategies for rows and tables of a snapshot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from evenhand.testing.strategies import _assemble, _rows
from evenhand.testing.strategies._arguments import Resources, check_depth, check_range, quanta_of, scale_of
from evenhand.testing.strategies._scale import Scale
from evenhand.testing.strategies.resources import resource_vectors

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


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
        scale = scale_of(resources, max_quanta)
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
        check_range("size", min_size, max_size)
        check_depth(max_depth)
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
        scale = scale_of(resources, max_quanta)
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
        check_range("size", min_size, max_size)
        if not (nodes and operations) and min_size:
            msg = "allocations need nodes and operations"
            raise InvalidArgument(msg)
        quanta = quanta_of(resources)
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
        scale = scale_of(resources, max_quanta)
        return _rows.requests(len(scale.total)).map(lambda row: _assemble.request(row, scale, operations, ""))

    return st.deferred(build)
