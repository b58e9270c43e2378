"""Slurm's multifactor priority: classic fair share, Fair Tree, and what else the priority adds up."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Literal

import numpy as np

from evenhand import _core
from evenhand.accepted import checked, fit_together
from evenhand.arguments import expect
from evenhand.history._check import Checks
from evenhand.history.decay import DAY
from evenhand.history.tree import Name, ShareTree
from evenhand.table import Table

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["age_factor", "billing", "classic", "fair_tree", "priority"]


@checked("history.slurm")
def classic(
    tree: ShareTree,
    *,
    total: float | None = None,
    fair_share_dampening_factor: float = 1.0,
    root: Name | None = None,
) -> Table:
    """Classic fair share (``PriorityFlags=NO_FAIR_TREE``).

    Factor = 2^(−effective usage / normalised shares / d).

    Parameters
    ----------
    tree : ShareTree
        Associations; usage decayed already (`Decay.slurm`).
    total : float, optional
        Usage of the cluster in the unit of the tree, by default the sum over the tree. Fractions are at
        most 1.
    fair_share_dampening_factor : float
        d, above 0.
    root : str or int, optional
        A row that is the root account itself: its children are the first tier, whose effective usage is their
        usage.

    Returns
    -------
    Table
        Columns ``name, parent, norm_shares, usage, effective_usage, factor``; shares and usages as fractions
        of the cluster, factors in 0..1 (0 for a row without shares).

    Raises
    ------
    InputError
        If `total` is not above 0 (unless nothing was used), the dampening factor not above 0 or `root`
        unknown.

    Notes
    -----
    Source: Slurm documentation, classic fair share algorithm. A row with FairShare=parent has the shares,
    usage and factor of its parent and does not count among its siblings; what lies below such an account
    competes with its siblings, as observed. O(n).

    Examples
    --------
    >>> tree = ShareTree.from_dict({"A": {"shares": 40, "usage": 45.0}, "D": {"shares": 60, "usage": 25.0}})
    >>> classic(tree, total=100)["factor"].round(6)
    array([0.458502, 0.749154])
    """
    usage = tree.subtree_usage
    if total is None:
        total = float(usage[tree.parent < 0].sum())
    checks = Checks("share_tree")
    if not (np.isfinite(total) and (total > 0 or not usage.any())):
        checks.add(None, None, "total", "range", total, "expected a finite number above 0")
    if not (np.isfinite(fair_share_dampening_factor) and fair_share_dampening_factor > 0):
        checks.add(
            None,
            None,
            "fair_share_dampening_factor",
            "range",
            fair_share_dampening_factor,
            "expected a number above 0",
        )
    if root is not None and root not in tree.names:
        checks.add(None, None, "root", "reference", root, "expected the name of a row")
    checks.done()
    row = -1 if root is None else tree.names.index(root)
    result = _core.slurm_classic(
        tree.parent, tree.shares, tree.inherits, usage, total, fair_share_dampening_factor, row
    )
    columns = ("norm_shares", "usage", "effective_usage", "factor")
    return _table(tree, {name: result[name] for name in columns}, "Slurm, classic fair share")


@checked("history.slurm")
def fair_tree(
    tree: ShareTree,
    *,
    ties: Literal["exact", "floating"] = "exact",
    tied_accounts: Literal["upstream", "documented"] = "upstream",
) -> Table:
    """Fair Tree: users ranked by a walk down the tree in the order of level fair share.

    Level fair share = (shares / shares of all siblings) / (usage / usage of the parent); infinite without
    usage and for a user with FairShare=parent, 0 without shares. An account with FairShare=parent is
    dissolved into its parent.

    Parameters
    ----------
    tree : ShareTree
        Associations; usage decayed already (`Decay.slurm`).
    ties : {"exact", "floating"}
        ``exact`` compares level fair shares as fractions of the given numbers, so that 40 shares for 20 are
        as good as 50 for 25; ``floating`` compares them after rounding to doubles, as Slurm does with its
        long doubles: such ties may go either way.
    tied_accounts : {"upstream", "documented"}
        The documentation says that the children of tied sibling accounts are merged into one list
        (``documented``); the code visits the accounts one after the other, and only the first child of the
        next one inherits the tie (``upstream``). Of tied accounts the one in the earlier row goes first.

    Returns
    -------
    Table
        Columns ``name, parent, level_fair_share, rank, factor``. Rank: the number of users for the best, ties
        share it, 0 for accounts; factor = rank / number of users, NaN for accounts. Level fair share of a
        dissolved account: NaN.

    Notes
    -----
    Source: Slurm documentation, Fair Tree fairshare algorithm; priority/multifactor plugin. Ties are exact
    where sums of usage are, that is for integers below 2^53. O(n log n).

    Examples
    --------
    >>> tree = ShareTree.from_dict(
    ...     {"ann": {"shares": 40, "usage": 20.0}, "bob": {"shares": 50, "usage": 25.0}, "cy": {"shares": 10}}
    ... )
    >>> fair_tree(tree)["factor"].round(3)
    array([0.667, 0.667, 1.   ])
    """
    checks = Checks("fair_tree")
    if ties not in {"exact", "floating"}:
        checks.add(None, None, "ties", "choice", ties, "expected exact or floating")
    if tied_accounts not in {"upstream", "documented"}:
        checks.add(None, None, "tied_accounts", "choice", tied_accounts, "expected upstream or documented")
    checks.done()
    result = _core.slurm_fair_tree(
        tree.parent,
        tree.shares,
        tree.inherits,
        tree.user,
        tree.subtree_usage,
        ties == "exact",
        tied_accounts == "documented",
    )
    columns = ("level_fair_share", "rank", "factor")
    return _table(tree, {name: result[name] for name in columns}, "Slurm, Fair Tree")


@checked("history.slurm")
def age_factor(age: ArrayLike, max_age: float = 7 * DAY) -> NDArray[np.float64]:
    """Age factor: time in the queue as a part of PriorityMaxAge (both in seconds), at most 1; any shape."""
    ages = np.asarray(age, dtype=np.float64)
    checks = Checks("jobs")
    checks.numbers(ages, "age", minimum=0)
    checks.numbers(np.asarray(max_age, dtype=np.float64), "max_age", above=0)
    checks.done()
    return np.minimum(ages / max_age, 1.0)


@checked("history.slurm")
def billing(
    tres: ArrayLike, weights: ArrayLike, *, max_tres: bool = False, per_node: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Billing value of jobs (TRESBillingWeights); usage is this times seconds.

    Parameters
    ----------
    tres : array_like, shape (jobs, resources)
        Amounts held, at least 0.
    weights : array_like, shape (resources,)
        Weight of one unit of each resource.
    max_tres : bool
        PriorityFlags=MAX_TRES: the largest of the weighted per-node amounts plus the sum of the cluster-wide
        ones, instead of the sum of all.
    per_node : array_like of bool, shape (resources,), optional
        Which resources are of a node (cpu, memory, gres) and not of the cluster (licences); by default all.

    Returns
    -------
    ndarray, shape (jobs,)
    """
    amounts = np.atleast_2d(np.asarray(tres, dtype=np.float64))
    checks = Checks("jobs")
    checks.numbers(amounts, "tres", minimum=0)
    checks.numbers(np.asarray(weights, dtype=np.float64), "weights", minimum=0)
    checks.done()
    columns = amounts.shape[-1]
    expect(amounts.ndim == 2, "history.slurm", "tres", tres, "a table, a row a job")
    for name, value in (("weights", weights), ("per_node", per_node)):
        expect(
            value is None or np.shape(value) == (columns,), "history.slurm", name, value, f"{columns} numbers"
        )
    weighted = amounts * np.asarray(weights, dtype=np.float64)
    if not max_tres:
        return np.asarray(weighted.sum(axis=1))
    of_node = np.ones(weighted.shape[1], dtype=bool) if per_node is None else np.asarray(per_node, dtype=bool)
    return np.asarray(weighted[:, of_node].max(axis=1, initial=0.0) + weighted[:, ~of_node].sum(axis=1))


@checked("history.slurm")
def priority(
    factors: Mapping[str, ArrayLike],
    weights: Mapping[str, float],
    *,
    site: ArrayLike = 0,
    nice: ArrayLike = 0,
    raw: Collection[str] = (),
) -> NDArray[np.int64]:
    """Priority of jobs: Σ weight·factor + site − nice, cut to an integer, from 1 to 2^32 − 1.

    Parameters
    ----------
    factors : mapping
        Name (``age``, ``fairshare``, ``jobsize``, ``partition``, ``qos``, …) → numbers in 0..1, one a job.
        They are added in this order.
    weights : mapping
        Name → weight (PriorityWeightAge, …); a factor without weight counts 0, as in Slurm.
    site, nice : array_like
        Site factor and nice value, one a job or one for all.
    raw : collection of str
        Factors that may exceed 1 (PriorityFlags=NO_NORMAL_…).

    Raises
    ------
    InputError
        If a factor lies outside 0..1, or a weight has no factor.
    """
    checks = Checks("jobs")
    columns = {name: np.asarray(column, dtype=np.float64) for name, column in factors.items()}
    for name, column in columns.items():
        checks.numbers(column, f"factors.{name}", minimum=0, maximum=None if name in raw else 1)
    for name, weight in weights.items():
        if name not in columns:
            checks.add(None, None, f"weights.{name}", "reference", name, "expected the name of a factor")
        checks.numbers(np.asarray(weight, dtype=np.float64), f"weights.{name}", minimum=0)
    checks.done()
    fit_together("history.slurm", **columns, site=site, nice=nice)
    total: NDArray[np.float64] = np.zeros(1)
    for name, column in columns.items():
        total = total + weights.get(name, 0.0) * column
    total = total + np.asarray(site, dtype=np.float64) - np.asarray(nice, dtype=np.float64)
    return np.clip(np.trunc(total), 1.0, 2.0**32 - 1).astype(np.int64)


def _table(tree: ShareTree, columns: Mapping[str, NDArray[np.generic]], title: str) -> Table:
    return Table({"name": tree.names, "parent": tree.parent_names, **columns}, title=title)
