"""Strategies for snapshots and for settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from evenhand.testing.strategies import _assemble, _nasty, _rows
from evenhand.testing.strategies._arguments import check_depth, check_range
from evenhand.testing.strategies._pasted import built
from evenhand.testing.strategies.resources import resource_spaces

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from evenhand.config.fair_share import FairShareSettings
    from evenhand.model import Snapshot

NASTY = tuple(_nasty.SHAPES)
"""Names of the nasty shapes that `ties` switches on."""

OLDER = (
    "fifo_truncation",
    "limit_strong_before_scaling",
    "estimated_guarantee_counts_flow",
    "promised_fair_share",
)


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
            check_range(name, getattr(sizes, f"min_{name}"), getattr(sizes, f"max_{name}"))
        check_range("allocations", 0, max_allocations)
        check_depth(max_depth)
        return spaces.flatmap(
            lambda space: _rows.snapshots(len(space), sizes, allowed, NASTY if ties else ()).map(
                lambda raw: _assemble.snapshot(raw, space, max_depth, exact=ties)
            )
        )

    return st.deferred(build)


def snapshots(
    resources: SearchStrategy[dict[str, Any]] | None = None, **bounds: Any
) -> SearchStrategy[Snapshot]:
    """Draw snapshots: those of `snapshot_dicts`, which has the same parameters, built.

    Beside a falsified example hypothesis prints ``Snapshot.from_dict({...})``, to be pasted.
    """
    return snapshot_dicts(resources, **bounds).map(built)


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
