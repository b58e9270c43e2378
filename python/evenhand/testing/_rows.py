"""Rows of random snapshots before names, quanta and totals are known.

An amount is a whole percentage of the cluster's total of the resource, so that
the strategies depend on the number of resources and on switches alone. They are
built once and cached: strategies built anew inside a composite one make
hypothesis' memory grow with every example.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

Row = dict[str, Any]


class Allowed(NamedTuple):
    """What may occur in a snapshot."""

    guarantees: bool = True
    limits: bool = True
    fifo: bool = True
    integral: bool = True
    gangs: bool = True


class Sizes(NamedTuple):
    """How many rows a snapshot has."""

    min_pools: int
    max_pools: int
    min_operations: int
    max_operations: int
    min_nodes: int
    max_nodes: int
    max_allocations: int


FLAGS = st.booleans()
WEIGHTS = st.integers(1, 10) | st.floats(0.1, 10)
RATIOS = st.floats(0, 1)
ORDERS = st.integers(0, 3)


@cache
def percents(resources: int, top: int) -> SearchStrategy[tuple[int, ...]]:
    """Draw an amount of every resource, as percentages up to `top`; zeros are common."""
    return st.tuples(*[st.integers(-(top // 3), top).map(lambda drawn: max(drawn, 0))] * resources)


@cache
def some_percents(resources: int, top: int) -> SearchStrategy[tuple[int | None, ...]]:
    """Draw amounts of some resources; None means absent."""
    return st.tuples(*[st.none() | st.integers(0, top)] * resources)


@cache
def integrals(resources: int) -> SearchStrategy[Row]:
    """Draw the settings of an integral pool, or of one that only hands volume around."""
    handing = {"can_accept_free_volume": FLAGS, "should_distribute_free_volume_among_children": FLAGS}
    saved = {
        # Seconds for which a pool could take these percentages of the cluster.
        "accumulated_volume": st.tuples(st.sampled_from((1, 60, 3600, 86400)), percents(resources, 100)),
        "last_share_ratio": RATIOS,
    }
    flow = some_percents(resources, 30)
    burst = {"type": st.just("burst"), "resource_flow": flow, "burst": some_percents(resources, 60)}
    relaxed = {"type": st.just("relaxed"), "resource_flow": flow}
    multiplier = {"relaxed_share_multiplier_limit": st.floats(1, 10)}
    return (
        st.fixed_dictionaries({}, optional=handing)
        | st.fixed_dictionaries(burst, optional=handing | saved)
        | st.fixed_dictionaries(relaxed, optional=handing | saved | multiplier)
    )


@cache
def pools(resources: int, allowed: Allowed) -> SearchStrategy[Row]:
    """Draw a pool's fields; no name, no parent."""
    optional: dict[str, SearchStrategy[Any]] = {"weight": WEIGHTS, "order": ORDERS}
    if allowed.guarantees:
        optional |= {
            "strong_guarantee": some_percents(resources, 50),
            "priority_strong_guarantee": FLAGS,
            "priority_donor": FLAGS,
            "compute_promised_guarantee": FLAGS,
        }
    if allowed.limits:
        optional["limits"] = some_percents(resources, 100)
    if allowed.integral:
        optional["integral"] = integrals(resources)
    if allowed.gangs:
        optional["step_function_for_gang"] = FLAGS
    if allowed.fifo:
        optional |= {"mode": st.sampled_from(("fair_share", "fifo")), "fifo_reordering": FLAGS}
    return st.fixed_dictionaries({}, optional=optional)


@cache
def operations(resources: int, allowed: Allowed) -> SearchStrategy[Row]:
    """Draw an operation's fields; no name, no pool; usage as percentages of the demand."""
    optional: dict[str, SearchStrategy[Any]] = {
        "weight": WEIGHTS,
        "order": ORDERS,
        "start_time": ORDERS,
        "fifo_start_time": ORDERS,
        "usage": st.integers(0, 100).map(lambda part: (part,) * resources) | percents(resources, 100),
        "kind": st.sampled_from(("batch", "interactive", "inference", "system")),
    }
    if allowed.limits:
        optional |= {
            "limits": some_percents(resources, 100),
            "best_allocation_share": some_percents(resources, 100),
        }
    if allowed.gangs:
        optional["gang"] = FLAGS
    return st.fixed_dictionaries({"demand": percents(resources, 120)}, optional=optional)


@cache
def nodes() -> SearchStrategy[Row]:
    """Draw a node's fields; `part` is its part of the cluster before parts are made to add up to one."""
    return st.fixed_dictionaries(
        {"part": st.integers(1, 9)},
        optional={
            "tags": st.lists(st.sampled_from(("a", "b", "gpu")), unique=True),
            "schedulable": st.sampled_from((True, True, True, False)),
        },
    )


@cache
def allocations(resources: int) -> SearchStrategy[Row]:
    """Draw an allocation's fields; amounts as percentages of its node, age in seconds."""
    return st.fixed_dictionaries(
        {"node": st.integers(0, 99), "operation": st.integers(0, 99), "resources": percents(resources, 60)},
        optional={
            "age": st.integers(0, 10_000),
            "preemptible": FLAGS,
            "checkpointable": FLAGS,
            "interruptible": FLAGS,
            "rerunnable": FLAGS,
        },
    )


@cache
def requests(resources: int) -> SearchStrategy[Row]:
    """Draw a request's fields; amounts of one of `count` as percentages of the cluster."""
    return st.fixed_dictionaries(
        {"operation": st.integers(0, 99), "resources": percents(resources, 40)},
        optional={"age": st.integers(0, 10_000), "count": st.integers(1, 4), "preemptible": FLAGS},
    )


@cache
def snapshots(resources: int, sizes: Sizes, allowed: Allowed, nasty: tuple[str, ...]) -> SearchStrategy[Row]:
    """Draw all tables of a snapshot, and the nasty shapes to be given to it.

    A total is a factor, 0 meaning that the cluster has nothing of the resource;
    pools and operations come with a number that chooses their place in the tree.
    """
    choices = st.integers(0, sizes.max_pools)
    more = sizes.max_allocations
    root = {"step_function_for_gang": FLAGS, "compute_promised_guarantee": FLAGS}
    tables: dict[str, SearchStrategy[Any]] = {
        "totals": st.tuples(*[st.integers(-50, 1000).map(lambda drawn: max(drawn, 0))] * resources),
        "pools": st.lists(
            st.tuples(choices, pools(resources, allowed)), min_size=sizes.min_pools, max_size=sizes.max_pools
        ),
        "operations": st.lists(
            st.tuples(choices, operations(resources, allowed)),
            min_size=sizes.min_operations,
            max_size=sizes.max_operations,
        ),
        "nodes": st.lists(nodes(), min_size=sizes.min_nodes, max_size=sizes.max_nodes),
        "allocations": st.lists(allocations(resources), max_size=more),
        "requests": st.lists(requests(resources), max_size=more),
        "root": st.fixed_dictionaries({}, optional=root),
        "elapsed": st.none() | st.integers(0, 100_000),
        "naming": st.sampled_from(("plain", "integers", "awkward")),
    }
    if nasty:
        shapes = st.lists(st.sampled_from(nasty), unique=True, min_size=1, max_size=3)
        tables["nasty"] = FLAGS.flatmap(lambda on: shapes if on else st.just([]))
    return st.fixed_dictionaries(tables)


def settle_tree(rows: list[tuple[int, Row]], max_depth: int | None) -> list[tuple[int | None, Row]]:
    """Choose every pool's parent among the earlier ones that may have children.

    A FIFO pool holds operations only, and there is no integral pool below
    another: both are met by choosing, so that nothing has to be thrown away.
    """
    homes: list[int | None] = [None]
    depth: list[int] = []
    beneath: list[bool] = []  # is, or lies below, an integral pool
    tree: list[tuple[int | None, Row]] = []
    for choice, fields in rows:
        parent = homes[choice % len(homes)]
        depth.append(1 if parent is None else depth[parent] + 1)
        inside = parent is not None and beneath[parent]
        row = {k: v for k, v in fields.items() if not (inside and k == "integral")}
        beneath.append(inside or row.get("integral", {}).get("type", "none") != "none")
        if row.get("mode") != "fifo" and (max_depth is None or depth[-1] < max_depth):
            homes.append(len(tree))
        tree.append((parent, row))
    return tree
