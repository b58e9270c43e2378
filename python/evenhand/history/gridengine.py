"""Grid Engine's policies: share tree, functional tickets, urgency, and the priority they make."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand import _core
from evenhand.accepted import Kind, Refused, checked, fit_together, kind_of_annotation
from evenhand.arguments import expect
from evenhand.errors import shorten
from evenhand.history._check import Checks
from evenhand.history.tree import ShareTree
from evenhand.table import Table

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = [
    "functional_tickets",
    "normalise",
    "priority",
    "share_tree",
    "share_tree_tickets",
    "urgency",
    "usage",
]


@checked("history.gridengine")
def usage(types: Mapping[str, ArrayLike], weights: Mapping[str, float] | None = None) -> Floats:
    """One usage number from several kinds: Σ weight·type / Σ weights (usage_weight_list).

    Parameters
    ----------
    types : mapping
        ``cpu``, ``mem``, ``io`` → usage, one number a row.
    weights : mapping, optional
        Kind → weight, by default ``{"cpu": 1}``; a kind without weight counts 0.

    Returns
    -------
    ndarray
        Of the shape of the columns.
    """
    weights = {"cpu": 1.0} if weights is None else weights
    checks = Checks("usage")
    columns = {name: np.asarray(column, dtype=np.float64) for name, column in types.items()}
    for name, column in columns.items():
        checks.numbers(column, name, minimum=0)
    for name, weight in weights.items():
        checks.numbers(np.asarray(weight, dtype=np.float64), f"weights.{name}", minimum=0)
        if name not in columns:
            checks.add(
                None, None, f"weights.{name}", "reference", name, "expected the name of a kind of usage"
            )
    checks.done()
    fit_together("history.gridengine", **columns)
    whole = sum(weights.values())
    if whole <= 0:
        checks.add(None, None, "weights", "range", dict(weights), "expected a sum above 0")
    checks.done()
    return np.asarray(sum(weights[name] * columns[name] for name in weights) / whole, dtype=np.float64)


@checked("history.gridengine")
def share_tree(tree: ShareTree, *, compensation_factor: float = 5.0) -> Table:
    """Long-term and short-term target shares of a share tree.

    Per level, among nodes with jobs, the long-term target is shares / Σ shares, the short-term target the
    share of shares² / max(usage, overall long-term target); overall targets multiply down the tree. What
    would get more than `compensation_factor` times the overall long-term target is cut to that before the
    level is normalised again: once only, so that the result may still lie above the bound.

    Parameters
    ----------
    tree : ShareTree
        Nodes; `ShareTree.active` says which have jobs (those above them take part too); usage decayed already
        (`Decay.gridengine`), `ShareTree.total` marks projects, which bring their own usage.
    compensation_factor : float
        0: no bound.

    Returns
    -------
    Table
        Columns ``name, parent, usage, level_long_term, level_short_term, long_term, short_term``; the last
        two are parts of the cluster, 0 for a node without jobs.

    Notes
    -----
    Source: share_tree(5), sched_conf(5), scheduler of the open 8.1 line. O(n).

    Examples
    --------
    >>> tree = ShareTree.from_dict({"A": {"shares": 50, "usage": 300.0}, "B": {"shares": 50, "usage": 100.0}})
    >>> share_tree(tree)["short_term"]
    array([0.25, 0.75])
    """
    checks = Checks("share_tree")
    checks.numbers(np.asarray(compensation_factor, dtype=np.float64), "compensation_factor", minimum=0)
    checks.done()
    subtree = tree.subtree_usage
    result = _core.gridengine_share_tree(tree.parent, tree.shares, subtree, tree.active, compensation_factor)
    columns = {
        name: result[name] for name in ("level_long_term", "level_short_term", "long_term", "short_term")
    }
    return Table(
        {"name": tree.names, "parent": tree.parent_names, "usage": subtree, **columns},
        title="Grid Engine, share tree",
    )


@checked("history.gridengine")
def share_tree_tickets(short_term: ArrayLike, leaf: ArrayLike, *, weight_tickets_share: float) -> Floats:
    """Share tree tickets of jobs: what their leaf is owed, in equal parts.

    Parameters
    ----------
    short_term : array_like, shape (nodes,)
        Overall short-term targets, column ``short_term`` of `share_tree`.
    leaf : array_like of int, shape (jobs,)
        Row of each job's leaf.
    weight_tickets_share : float
        Tickets in all.

    Returns
    -------
    ndarray, shape (jobs,)
    """
    targets = np.asarray(short_term, dtype=np.float64)
    places = np.asarray(leaf)
    checks = Checks("jobs")
    for name, column in (("short_term", targets), ("leaf", places)):
        if column.ndim != 1 or (name == "leaf" and len(column) and column.dtype.kind not in "iu"):
            checks.add(
                None, None, name, "type", column.shape, "expected a list of numbers, of rows whole ones"
            )
    checks.done()
    rows = np.where(places < len(targets), places, len(targets)).astype(np.int64)
    checks.numbers(targets, "short_term", minimum=0)
    checks.numbers(np.asarray(weight_tickets_share, dtype=np.float64), "weight_tickets_share", minimum=0)
    for job in np.flatnonzero((rows < 0) | (rows >= len(targets))).tolist():
        checks.add(job, None, "leaf", "reference", int(rows[job]), f"expected a row below {len(targets)}")
    checks.done()
    jobs = np.bincount(rows, minlength=len(targets))
    return np.asarray(weight_tickets_share * targets[rows] / jobs[rows], dtype=np.float64)


_OWNERS = kind_of_annotation("Sequence[str | int]")
_SHARES = kind_of_annotation("Mapping[str | int, float]")


def taken_or_none(value: Any, kind: Kind) -> bool:
    """Whether a value is of a kind."""
    try:
        kind.accept(value)
    except (Refused, RecursionError):
        return False
    return True


@checked("history.gridengine", owners="Mapping[str, Any]")
def functional_tickets(
    owners: Mapping[str, tuple[Any, Mapping[Any, float]]],
    *,
    weight_tickets_functional: float,
    weights: Mapping[str, float] | None = None,
) -> Floats:
    """Functional tickets of jobs.

    Of the pool, each category gets its weight; in it, each owner that has jobs a part by functional shares,
    which the owner's jobs share equally (share_functional_shares=true).

    Parameters
    ----------
    owners : mapping
        Category (``user``, ``project``, ``department``, ``job``) → (owner of each job, functional shares by
        owner). An owner without an entry has 0.
    weight_tickets_functional : float
        Tickets in all.
    weights : mapping, optional
        Category → weight, by default 0.25 for each of the four.

    Returns
    -------
    ndarray, shape (jobs,)
    """
    categories = ("user", "project", "department", "job")
    for category, pair in owners.items():
        right = isinstance(pair, tuple | list) and len(pair) == 2
        right = right and taken_or_none(pair[0], _OWNERS) and taken_or_none(pair[1], _SHARES)
        said = "owner of each job, and functional shares by owner"
        expect(bool(right), "history.gridengine", f"owners[{shorten(category)!r}]", pair, said)
    weights = dict.fromkeys(categories, 0.25) if weights is None else weights
    checks = Checks("jobs")
    for category in (*owners, *weights):
        if category not in categories:
            checks.add(None, None, category, "unknown_field", category, f"expected {', '.join(categories)}")
    lengths = {category: len(column) for category, (column, _) in owners.items()}
    if len(set(lengths.values())) > 1:
        checks.add(None, None, "owners", "length", lengths, "expected one owner a job in every category")
    for category, (_, shares) in owners.items():
        values = np.array(list(shares.values()), dtype=np.float64)
        checks.numbers(values, f"{category}.shares", list(shares), minimum=0)
    checks.numbers(
        np.asarray(weight_tickets_functional, dtype=np.float64), "weight_tickets_functional", minimum=0
    )
    checks.done()
    tickets = np.zeros(next(iter(lengths.values()), 0))
    for category, (column, shares) in owners.items():
        present, codes, counts = np.unique(np.asarray(column), return_inverse=True, return_counts=True)
        held = np.array([shares.get(owner, 0.0) for owner in present.tolist()], dtype=np.float64)
        if held.sum() > 0:
            tickets += weights.get(category, 0.0) * (held / held.sum() / counts)[codes]
    return np.asarray(weight_tickets_functional * tickets, dtype=np.float64)


@checked("history.gridengine")
def urgency(
    resource_urgency: ArrayLike = 0,
    waiting_time: ArrayLike = 0,
    free_time: ArrayLike = np.inf,
    *,
    weight_waiting_time: float = 0.0,
    weight_deadline: float = 3_600_000.0,
) -> Floats:
    """Urgency of jobs: resources + waiting·weight_waiting_time + weight_deadline / free time.

    Parameters
    ----------
    resource_urgency : array_like
        Σ over requested resources of urgency · slots · request.
    waiting_time : array_like
        Seconds in the queue.
    free_time : array_like
        Seconds until the job's deadline; infinite without one. Less than a second counts as one.
    weight_waiting_time, weight_deadline : float
        As in sched_conf.

    Returns
    -------
    ndarray
    """
    free = np.asarray(free_time, dtype=np.float64)
    waiting = np.asarray(waiting_time, dtype=np.float64)
    resources = np.asarray(resource_urgency, dtype=np.float64)
    checks = Checks("jobs")
    checks.numbers(waiting, "waiting_time", minimum=0)
    checks.numbers(resources, "resource_urgency")
    checks.numbers(np.where(free == np.inf, 0.0, free), "free_time")
    checks.done()
    fit_together("history.gridengine", resource_urgency=resources, waiting_time=waiting, free_time=free)
    return np.asarray(
        resources + waiting * weight_waiting_time + weight_deadline / np.maximum(free, 1.0), dtype=np.float64
    )


@checked("history.gridengine")
def normalise(values: ArrayLike) -> Floats:
    """Scale the jobs' values to 0..1, smallest to largest; 0.5 for all where they are equal."""
    column = np.asarray(values, dtype=np.float64)
    checks = Checks("jobs")
    checks.numbers(column, "values")
    checks.done()
    if column.size == 0:
        return column
    low, high = column.min(), column.max()
    return np.full_like(column, 0.5) if low == high else np.asarray((column - low) / (high - low))


@checked("history.gridengine")
def priority(
    normalised_posix_priority: ArrayLike,
    normalised_urgency: ArrayLike,
    normalised_tickets: ArrayLike,
    *,
    weight_priority: float = 1.0,
    weight_urgency: float = 0.1,
    weight_ticket: float = 0.01,
) -> Floats:
    """Dispatch priority of jobs: Σ weight·value of the three policies, each scaled to 0..1.

    Parameters
    ----------
    normalised_posix_priority, normalised_urgency, normalised_tickets : array_like
        Numbers in 0..1 (`normalise`), one a job.
    weight_priority, weight_urgency, weight_ticket : float
        As in sched_conf; defaults of its documentation.

    Raises
    ------
    InputError
        If a value lies outside 0..1.
    """
    parts = {
        "normalised_posix_priority": (normalised_posix_priority, weight_priority),
        "normalised_urgency": (normalised_urgency, weight_urgency),
        "normalised_tickets": (normalised_tickets, weight_ticket),
    }
    checks = Checks("jobs")
    total = np.zeros(())
    fit_together("history.gridengine", **{name: values for name, (values, _) in parts.items()})
    for name, (values, weight) in parts.items():
        column = np.asarray(values, dtype=np.float64)
        checks.numbers(column, name, minimum=0, maximum=1)
        total = total + weight * column
    checks.done()
    return np.asarray(total, dtype=np.float64)
