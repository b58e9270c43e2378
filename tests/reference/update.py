"""One update: the order of its steps, and what it gives.

Source: YTsaurus fair-share specification, sections 2.1 and 2.19.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.reference.functions import Array
from tests.reference.guarantees import (
    adjust_guarantees,
    check_overcommit,
    check_settings,
    collect_attributes,
    estimate_guarantees,
    infer_guarantees,
    reorder_fifo,
)
from tests.reference.integral import share_out_burst, share_out_relaxed
from tests.reference.reading import read_tree
from tests.reference.tree import Detail, Diagnostic, Element, Settings, Tree, half_away
from tests.reference.volumes import update_volumes
from tests.reference.walk import walk_down

INFINITE_SATISFACTION = 1e9
EPSILON = 1e-9


@dataclass(frozen=True)
class ReferenceShares:
    """What an update gave; ``shares[quantity]`` is an array with a row an element.

    Attributes
    ----------
    names, kinds, parents
        Of the elements in canonical order: the root, pools, operations. Parents are names, ``None`` for the
        root.
    resources
        Columns of the vector quantities.
    quantities
        Name to array, shape (E, R) or (E,); the names are those of `evenhand.Shares`.
    diagnostics
        What is wrong with the guarantees, in order of discovery.
    state
        Pool name to its volume and last ratio, to be handed to the next update.
    """

    names: list[Any]
    kinds: list[str]
    parents: list[Any]
    resources: tuple[str, ...]
    quantities: Mapping[str, np.ndarray]
    diagnostics: tuple[Diagnostic, ...]
    state: dict[Any, dict[str, Any]]

    def __getitem__(self, quantity: str) -> np.ndarray:
        """Return the array of a quantity."""
        return self.quantities[quantity]


def reference_fair_share(
    snapshot: Mapping[str, Any], *, state: Mapping[Any, Mapping[str, Any]] | None = None, **options: Any
) -> ReferenceShares:
    """Compute fair shares of a snapshot by the published method.

    Parameters
    ----------
    snapshot
        A valid snapshot in the file format, as ``Snapshot.to_dict`` gives it.
    state
        State of the update before this one; its volumes replace those of the snapshot.
    **options
        Fields of `Settings`.

    Returns
    -------
    ReferenceShares
        Shares are fractions of the total; guarantees amounts; volumes amounts times seconds.

    Raises
    ------
    TypeError
        If an option is unknown.

    Notes
    -----
    Quadratic in the children of a pool; about 66 evaluations a search.
    """
    return compute(snapshot, state or {}, Settings(**options))


def compute(
    snapshot: Mapping[str, Any],
    state: Mapping[Any, Mapping[str, Any]],
    settings: Settings,
    disturb: Callable[[Tree], None] | None = None,
) -> ReferenceShares:
    """Run the steps of one update in order; `disturb` may change the tree before anything is shared out."""
    tree = read_tree(snapshot)
    _restore(tree, state)
    diagnostics = check_settings(tree)
    infer_guarantees(tree, settings)
    pools = [e for e in tree.root.walk() if e.is_pool]
    burst = [p for p in pools if p.integral_type == "burst"]
    relaxed = [p for p in pools if p.integral_type == "relaxed"]
    collect_attributes(tree, settings)
    update_volumes(tree, settings, burst + relaxed)
    diagnostics += check_overcommit(tree, burst)
    adjust_guarantees(tree)
    estimate_guarantees(tree, settings)
    reorder_fifo(tree, settings)
    if disturb is not None:
        disturb(tree)
    share_out_burst(tree, settings, burst)
    share_out_relaxed(tree, settings, relaxed)
    walk_down(tree, settings)
    return ReferenceShares(
        names=[e.name for e in tree.elements],
        kinds=[e.kind for e in tree.elements],
        parents=[e.parent.name if e.parent else None for e in tree.elements],
        resources=tree.resources,
        quantities=_quantities(tree, settings),
        diagnostics=tuple(diagnostics),
        state={
            p.name: {"volume": p.volume * tree.quantum, "last_share_ratio": p.last_ratio}
            for p in burst + relaxed
        },
    )


def _restore(tree: Tree, state: Mapping[Any, Mapping[str, Any]]) -> None:
    for element in tree.elements:
        if element.integral_type != "none" and element.name in state:
            element.volume = state[element.name]["volume"] / tree.quantum
            element.last_ratio = state[element.name]["last_share_ratio"]
        element.volume = np.where(tree.fixed_point, half_away(element.volume), element.volume)


def _quantities(tree: Tree, settings: Settings) -> dict[str, np.ndarray]:
    def column(get: Callable[[Element], Any]) -> np.ndarray:
        return np.array([get(e) for e in tree.elements])

    def parts(name: str, get: Callable[[Element], Detail]) -> dict[str, np.ndarray]:
        return {
            name: column(lambda e: get(e).total),
            f"{name}.strong_guarantee": column(lambda e: get(e).strong),
            f"{name}.integral_guarantee": column(lambda e: get(e).integral),
            f"{name}.weight_proportional": column(lambda e: get(e).weight_proportional),
        }

    pool_amounts = np.array([e.inferred if e.is_pool else e.zeros() for e in tree.elements])
    satisfaction = _satisfaction(tree.root)
    main = tree.resources.index(name) if (name := settings.main_resource or "cpu") in tree.resources else 0
    found = {
        **parts("fair_share", lambda e: e.fair_share),
        **parts("promised_guarantee_fair_share", lambda e: e.promised_guarantee),
        "usage_share": column(lambda e: e.usage_share),
        "demand_share": column(lambda e: e.demand_share),
        "limits_share": column(lambda e: e.limits_share),
        "strong_guarantee_share": column(lambda e: e.strong),
        "strong_guarantee_share.priority": column(lambda e: e.strong_by_tier[0]),
        "strong_guarantee_share.regular": column(lambda e: e.strong_by_tier[1]),
        "estimated_guarantee_share": column(lambda e: e.estimated),
        "proposed_integral_share": column(lambda e: e.proposed_integral),
        "inferred_strong_guarantee": pool_amounts * tree.quantum,
        "volume.overflow": column(lambda e: e.overflow) * tree.quantum,
        "volume.acceptable": column(lambda e: e.acceptable) * tree.quantum,
        "volume.accepted_free": column(lambda e: e.accepted_free) * tree.quantum,
        "volume.children_overflow": column(lambda e: e.children_overflow) * tree.quantum,
        "volume.accumulated_after": column(lambda e: e.volume) * tree.quantum,
        "volume.last_share_ratio_after": column(lambda e: e.last_ratio),
        "satisfaction": column(lambda e: satisfaction[e]),
        "dominant_resource": column(lambda e: _dominant_resource(tree, e, main)),
        "fifo_index": column(lambda e: e.fifo_index),
        "effective_fifo_index": column(lambda e: e.effective_fifo_index),
        "ratios.flow": column(lambda e: e.flow),
        "ratios.burst": column(lambda e: e.burst),
        "ratios.total_flow": column(lambda e: e.total_flow),
        "ratios.total_burst": column(lambda e: e.total_burst),
    }
    if settings.promised_fair_share:
        found["promised_fair_share"] = column(lambda e: e.promised)
    return found


def _dominant_resource(tree: Tree, element: Element, main: int) -> int:
    ratios = tree.share(element.usage if element.usage.any() else element.demand)
    return int(np.argmax(ratios)) if ratios.any() else main


def _satisfaction(root: Element) -> dict[Element, float]:
    """Usage against fair share; a pool's is the smallest among its children (section 2.19)."""
    found: dict[Element, float] = {}
    for element in reversed(list(root.walk())):
        if element.is_pool:
            found[element] = min((found[c] for c in element.children), default=INFINITE_SATISFACTION)
        else:
            found[element] = _operation_satisfaction(
                element.fair_share.total, element.usage_share, element.demand_share
            )
    return found


def _operation_satisfaction(fair: Array, usage: Array, demand: Array) -> float:
    if np.all(fair <= EPSILON):
        return INFINITE_SATISFACTION
    if np.any(usage > fair + EPSILON):
        nothing = np.where(usage > EPSILON, INFINITE_SATISFACTION, 0.0)
        ratio = np.divide(usage, fair, out=nothing, where=fair > 0)
        return float(min(ratio.max(), INFINITE_SATISFACTION))
    ratio = np.divide(usage, fair, out=np.ones_like(usage), where=fair > 0)
    blocked = fair >= demand - EPSILON
    if blocked.all():
        return float(ratio.min())
    return float(ratio[~blocked & (fair > 0)].max(initial=0.0))
