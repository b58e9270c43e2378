"""One snapshot, one usage history, and what four systems make of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from evenhand import _core
from evenhand.accepted import checked
from evenhand.fields import TABLES
from evenhand.history import backendai, gridengine, slurm
from evenhand.history._check import Checks
from evenhand.history._rows import History, People
from evenhand.history.decay import DAY, Decay
from evenhand.table import Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.model import Snapshot

    Floats = NDArray[np.float64]

__all__ = ["side_by_side"]

_CPU = TABLES["resources"]["kind"].words.index("cpu")


@checked("history.side_by_side", shares="Shares | Mapping[str, Any] | None")
def side_by_side(
    snapshot: Snapshot,
    usage_history: Any = (),
    *,
    shares: Any = None,
    half_life_days: float = 7.0,
    lookback_days: int = 28,
    billing_weights: Mapping[str, float] | None = None,
    compensation_factor: float = 5.0,
    preset: Literal["upstream", "documented"] = "upstream",
) -> Table:
    """Return what four systems owe to each pool and to each user of a pool: one row each.

    Parameters
    ----------
    snapshot : Snapshot
        Pools are accounts, projects or share tree nodes; their weights are shares. A user of a pool is
        one that has operations or history in it, with one share; an operation without user stands for itself.
    usage_history : rows, columns or frame
        Past usage: ``pool`` (null: the root), ``user``, ``time`` (seconds; when it counts as used, not after
        the snapshot's now), ``usage.<resource>`` (resource-seconds). By default nothing was used.
    shares : Shares, optional
        Result of `evenhand.fair_share` for this snapshot; computed with default settings if absent.
    half_life_days : float
        Of all three decays; 0: none.
    lookback_days : int
        Window of Backend.AI.
    billing_weights : mapping, optional
        Resource → weight in the usage of Slurm and Grid Engine; by default the first of kind cpu (the first
        resource if there is none). Backend.AI uses its own weights.
    compensation_factor : float
        Of Grid Engine's share tree.
    preset : {"upstream", "documented"}
        What Slurm and Backend.AI do, or what their texts say (`slurm.fair_tree`, `backendai.factor`,
        `backendai.order`).

    Returns
    -------
    Table
        ``name, kind`` ("pool", "user" or "operation"), ``parent, weight``, then

        - ``ytsaurus.fair_share``, ``ytsaurus.usage_share``: largest component of the share of the element,
          or of the user's operations; YTsaurus knows no history;
        - ``slurm.norm_shares``, ``slurm.usage`` (part of all decayed usage), ``slurm.classic_factor``,
          ``slurm.fair_tree_factor`` (NaN for pools);
        - ``gridengine.long_term``, ``gridengine.short_term``: 0 without operations in the snapshot;
        - ``backendai.normalised_usage``, ``backendai.factor``;
        - ``<system>.rank`` of users (slurm: Fair Tree), 1 = served first, equal ones share the best rank; 0
          for pools. YTsaurus: by usage over fair share, ascending; Grid Engine: by short-term target;
          Backend.AI: by the factors of the top-level pool, the pool and the user.

    Raises
    ------
    InputError
        If the history names unknown pools or resources, lies in the future or is not made of numbers ≥ 0.

    Notes
    -----
    The mapping is ours; each system's rule is that of its module. O((rows + history) · resources + rows · log
    rows).
    """
    history = History.read(snapshot, usage_history)
    people = People.of(snapshot, history)
    tree = people.tree()
    half_life = half_life_days * DAY
    weights = _billing(snapshot, billing_weights)

    def own_usage(decay: Decay) -> Floats:
        return np.asarray(people.used(history, decay, history.age) @ weights)

    slurm_tree = tree.with_usage(own_usage(Decay.slurm(half_life)))
    classic = slurm.classic(slurm_tree)
    ranked = slurm.fair_tree(slurm_tree, tied_accounts=preset)
    targets = gridengine.share_tree(
        tree.with_usage(own_usage(Decay.gridengine(half_life / 3600))),
        compensation_factor=compensation_factor,
    )
    tenants = _backendai(snapshot, people, history, half_life_days, lookback_days, preset)
    owed = people.matrix(snapshot, shares)
    with np.errstate(divide="ignore", invalid="ignore"):
        satisfied = np.nan_to_num(owed.usage / owed.fair, nan=0.0, posinf=np.inf).max(axis=1, initial=0.0)
    satisfied[~owed.fair.any(axis=1)] = np.inf
    user = people.users
    return Table(
        {
            "name": people.names,
            "kind": people.kinds,
            "parent": people.parent_names,
            "weight": people.weights,
            "ytsaurus.fair_share": owed.fair.max(axis=1, initial=0.0),
            "ytsaurus.usage_share": owed.usage.max(axis=1, initial=0.0),
            "ytsaurus.rank": _rank(user, satisfied),
            "slurm.norm_shares": classic["norm_shares"],
            "slurm.usage": classic["usage"],
            "slurm.classic_factor": classic["factor"],
            "slurm.fair_tree_factor": ranked["factor"],
            "slurm.rank": _rank(user, -np.asarray(ranked["rank"])),
            "gridengine.long_term": targets["long_term"],
            "gridengine.short_term": targets["short_term"],
            "gridengine.rank": _rank(user, -np.asarray(targets["short_term"])),
            **tenants,
        },
        title="fair share, side by side",
    )


def _backendai(
    snapshot: Snapshot,
    people: People,
    history: History,
    half_life_days: float,
    lookback_days: int,
    preset: Literal["upstream", "documented"],
) -> dict[str, Any]:
    """Columns of Backend.AI: a top-level pool is a domain, the user's own pool a project."""
    n = len(people.names)
    parents = people.parents
    recent = history.days_ago < lookback_days
    rule = Decay.backendai(half_life_days, preset=preset)
    own = rule.sum(people.events[recent], history.amounts[recent], history.days_ago[recent] * DAY, rows=n)
    seen = np.bincount(people.events[recent], minlength=n).astype(np.float64)

    def subtree(column: Floats) -> Floats:
        return _core.roll_up(parents, column, np.zeros(n, dtype=bool))

    usage = backendai.normalised_usage(
        {resource: subtree(own[:, r]) for r, resource in enumerate(snapshot.resources)},
        snapshot.total,
        lookback_days=lookback_days,
    )
    rows = np.arange(n)
    project = np.where(parents >= 0, parents, rows)
    domain = rows.copy()
    for row in _core.tree_order(parents).tolist():
        if parents[row] >= 0:
            domain[row] = domain[parents[row]]
    user = people.users
    weights = people.weights
    if preset == "documented":
        # A user's weight is the product of the three; the user's own is 1.
        product = weights[project] * np.where(domain == project, 1.0, weights[domain])
        weights = np.where(user, product, weights)
    factor = backendai.factor(usage, weights, recorded=subtree(seen) > 0, preset=preset)
    levels = [rows] if preset == "documented" else [domain, project, rows]
    keys = np.column_stack([-factor[level[user]] for level in levels])
    _, place, counts = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    rank = np.zeros(n, dtype=np.int64)
    rank[user] = (np.cumsum(counts) - counts + 1)[place.ravel()]
    return {"backendai.normalised_usage": usage, "backendai.factor": factor, "backendai.rank": rank}


def _billing(snapshot: Snapshot, weights: Mapping[str, float] | None) -> Floats:
    if weights is None:
        cpus = np.flatnonzero(np.asarray(snapshot._head["kind"]) == _CPU)
        weights = {snapshot.resources[cpus[0] if len(cpus) else 0]: 1.0}
    checks = Checks("billing_weights")
    for resource, weight in weights.items():
        if resource not in snapshot.resources:
            checks.add(None, None, resource, "reference", resource, "expected the name of a resource")
        checks.numbers(np.asarray(weight, dtype=np.float64), resource, minimum=0)
    checks.done()
    return np.array([weights.get(resource, 0.0) for resource in snapshot.resources])


def _rank(user: NDArray[np.bool_], key: NDArray[Any]) -> NDArray[np.int64]:
    """Place of each user by ascending key, from 1; equal keys share the best place; 0 for other rows."""
    ranks = np.zeros(len(key), dtype=np.int64)
    ranks[user] = np.searchsorted(np.sort(key[user]), key[user]) + 1
    return ranks
