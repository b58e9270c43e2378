"""Rows of random snapshots before names, quanta and totals are known.

An amount is a whole percentage of the cluster's total of the resource, so that
the strategies depend on the number of resources and on switches alone. They are
built once and cached: strategies built anew inside a composite one make
hypothesis' memory grow with every example.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from hypothesis import strategies as st

if TYPE_CHECKING:
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


WEIGHTS = st.none() | st.integers(1, 10) | st.floats(0.1, 10)
RATIOS = st.floats(0, 1)
ABSENT = 64  # of 256 values of a byte mean nothing, or zero
SAVED_SECONDS = (1, 60, 3600, 86400)
KINDS = ("batch", "interactive", "inference", "system")


@cache
def percents(resources: int, top: int) -> SearchStrategy[tuple[int, ...]]:
    """Draw an amount of every resource, as percentages up to `top`; zeros are common.

    One choice a vector, not one a number: hypothesis' time and its success in
    shrinking depend on the number of choices.
    """
    return st.binary(min_size=resources, max_size=resources).map(
        lambda drawn: tuple(max(byte - ABSENT, 0) * top // (255 - ABSENT) for byte in drawn)
    )


@cache
def some_percents(resources: int, top: int) -> SearchStrategy[tuple[int | None, ...] | None]:
    """Draw amounts of some resources; None means absent."""
    amounts = st.binary(min_size=resources, max_size=resources).map(
        lambda drawn: tuple(
            (byte - ABSENT) * top // (255 - ABSENT) if byte >= ABSENT else None for byte in drawn
        )
    )
    return st.none() | amounts


def flags(names: tuple[str, ...]) -> SearchStrategy[Row]:
    """Draw which of some flags are set to something else than their default."""
    return st.integers(0, 2 ** len(names) - 1).map(
        lambda bits: {name: name not in DEFAULT_TRUE for i, name in enumerate(names) if bits >> i & 1}
    )


DEFAULT_TRUE = {"step_function_for_gang", "can_accept_free_volume", "preemptible", "schedulable"}


def given(**fields: Any) -> Row:
    """Keep the fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


@cache
def integrals(resources: int) -> SearchStrategy[Row]:
    """Draw the settings of an integral pool, or of one that only hands volume around."""
    handing = flags(("can_accept_free_volume", "should_distribute_free_volume_among_children"))
    flow = some_percents(resources, 30)
    # Seconds for which a pool could take these percentages of the cluster.
    volume = st.none() | st.tuples(st.sampled_from(SAVED_SECONDS), percents(resources, 100))
    ratio = st.none() | RATIOS

    def burst(drawn: tuple[Any, ...]) -> Row:
        flow, peak, volume, ratio, settings = drawn
        return settings | given(
            type="burst", resource_flow=flow, burst=peak, accumulated_volume=volume, last_share_ratio=ratio
        )

    def relaxed(drawn: tuple[Any, ...]) -> Row:
        flow, multiplier, volume, ratio, settings = drawn
        return settings | given(
            type="relaxed",
            resource_flow=flow,
            relaxed_share_multiplier_limit=multiplier,
            accumulated_volume=volume,
            last_share_ratio=ratio,
        )

    multiplier = st.none() | st.floats(1, 10)
    return (
        handing
        | st.tuples(flow, some_percents(resources, 60), volume, ratio, handing).map(burst)
        | st.tuples(flow, multiplier, volume, ratio, handing).map(relaxed)
    )


@cache
def pools(resources: int, allowed: Allowed) -> SearchStrategy[Row]:
    """Draw a pool's fields; no name, no parent."""
    names: tuple[str, ...] = ()
    if allowed.guarantees:
        names += ("priority_strong_guarantee", "priority_donor", "compute_promised_guarantee")
    if allowed.gangs:
        names += ("step_function_for_gang",)
    if allowed.fifo:
        names += ("fifo", "fifo_reordering")
    nothing = st.none()

    def row(drawn: tuple[Any, ...]) -> Row:
        weight, order, settings, guarantee, limits, integral = drawn
        if settings.pop("fifo", False):
            settings = settings | {"mode": "fifo"}
        return settings | given(
            weight=weight, order=order, strong_guarantee=guarantee, limits=limits, integral=integral
        )

    return st.tuples(
        WEIGHTS,
        st.none() | st.integers(0, 3),
        flags(names),
        some_percents(resources, 50) if allowed.guarantees else nothing,
        some_percents(resources, 100) if allowed.limits else nothing,
        nothing | integrals(resources) if allowed.integral else nothing,
    ).map(row)


@cache
def operations(resources: int, allowed: Allowed) -> SearchStrategy[Row]:
    """Draw an operation's fields; no name, no pool; usage as percentages of the demand."""
    nothing = st.none()
    alike = st.integers(0, 100).map(lambda part: (part,) * resources)

    def row(drawn: tuple[Any, ...]) -> Row:
        demand, usage, weight, keys, settings, limits, best = drawn
        return settings | given(
            demand=demand,
            usage=usage,
            weight=weight,
            limits=limits,
            best_allocation_share=best,
            # Few values, so that ties between operations are common.
            start_time=keys % 4 or None,
            fifo_start_time=keys // 4 % 4 or None,
            order=keys // 16 % 4 or None,
            kind=KINDS[keys // 64] if keys >= 64 else None,
        )

    return st.tuples(
        percents(resources, 120),
        nothing | alike | percents(resources, 100),
        WEIGHTS,
        st.integers(0, 255),
        flags(("gang",)) if allowed.gangs else st.just({}),
        some_percents(resources, 100) if allowed.limits else nothing,
        some_percents(resources, 100) if allowed.limits else nothing,
    ).map(row)


@cache
def nodes() -> SearchStrategy[Row]:
    """Draw a node's fields; `part` is its part of the cluster before parts are made to add up to one."""
    tags = st.lists(st.sampled_from(("a", "b", "gpu")), unique=True)
    return st.tuples(st.integers(1, 9), tags, flags(("schedulable",))).map(
        lambda drawn: {"part": drawn[0], "tags": drawn[1]} | drawn[2]
    )


@cache
def allocations(resources: int) -> SearchStrategy[Row]:
    """Draw an allocation's fields; amounts as percentages of its node, age in seconds."""
    settings = flags(("preemptible", "checkpointable", "interruptible", "rerunnable"))
    place = st.integers(0, 99)
    return st.tuples(place, place, percents(resources, 60), st.integers(0, 10_000), settings).map(
        lambda drawn: dict(zip(("node", "operation", "resources", "age"), drawn, strict=False)) | drawn[4]
    )


@cache
def requests(resources: int) -> SearchStrategy[Row]:
    """Draw a request's fields; amounts of one of `count` as percentages of the cluster."""
    return st.tuples(
        st.integers(0, 99),
        percents(resources, 40),
        st.integers(0, 10_000),
        st.integers(1, 4),
        flags(("preemptible",)),
    ).map(lambda drawn: dict(zip(("operation", "resources", "age", "count"), drawn, strict=False)) | drawn[4])


@cache
def snapshots(resources: int, sizes: Sizes, allowed: Allowed, nasty: tuple[str, ...]) -> SearchStrategy[Row]:
    """Draw all tables of a snapshot, and the nasty shapes to be given to it.

    A total is a factor, 0 meaning that the cluster has nothing of the resource;
    pools and operations come with a number that chooses their place in the tree.
    """
    choices = st.integers(0, sizes.max_pools)
    more = sizes.max_allocations
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
        "allocations": st.lists(allocations(resources), max_size=more) if sizes.max_nodes else st.just([]),
        "requests": st.lists(requests(resources), max_size=more) if sizes.max_nodes else st.just([]),
        "root": flags(("step_function_for_gang", "compute_promised_guarantee")),
        "elapsed": st.none() | st.integers(0, 100_000),
        "naming": st.sampled_from(("plain", "integers", "awkward")),
    }
    if nasty:
        shapes = st.lists(st.sampled_from(nasty), unique=True, min_size=1, max_size=3)
        tables["nasty"] = st.booleans().flatmap(lambda on: shapes if on else st.just([]))
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
