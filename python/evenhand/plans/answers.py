"""Parts of a plan asked for alone: usage shares, and starvation."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evenhand.arguments import snapshot_of
from evenhand.config.triggers import Heartbeat, Round
from evenhand.errors import InputError, Problem
from evenhand.frozen import read_only
from evenhand.plans.balance import Balance
from evenhand.plans.planning import expect_policy, plan

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.cluster import Cluster
    from evenhand.model import Snapshot
    from evenhand.plans.statuses import Statuses
    from evenhand.state import State
    from evenhand.systems.base import Policy

__all__ = ["Starvation", "starvation", "usage_share"]


class Starvation(NamedTuple):
    """How elements stand to their fair shares, and what the next update starts from.

    Attributes
    ----------
    statuses : Statuses
        Status and starvation by name of pool or operation.
    state : State
        Clocks of starvation and volumes after this update; clocks of nodes as they were before.
    """

    statuses: Statuses
    state: State


def usage_share(snapshot: Snapshot | Cluster) -> NDArray[np.float64]:
    """Return what every pool and operation uses, as fractions of the cluster.

    Parameters
    ----------
    snapshot : Snapshot or Cluster

    Returns
    -------
    numpy.ndarray
        Read-only, (E, R): elements as in ``snapshot.element_names`` (pools, the root first, then operations),
        resources as in ``snapshot.resources``. 0 of a resource of which the cluster has nothing. The same
        bits as ``fair_share(snapshot)["usage_share"]``, and as a plan's ``shares["usage_share"]``.

    Raises
    ------
    InputError
        If the argument is of another kind.

    Notes
    -----
    O(elements + allocations), where `evenhand.fair_share` builds and searches share functions.

    Examples
    --------
    >>> import evenhand as eh
    >>> snapshot = eh.Snapshot.from_dict({
    ...     "resources": {"cpu": {}}, "total": {"cpu": 8},
    ...     "pools": [{"name": "a"}],
    ...     "operations": [{"name": "x", "pool": "a", "usage": {"cpu": 2}}]})
    >>> dict(zip(snapshot.element_names, eh.usage_share(snapshot)[:, 0].tolist(), strict=True))
    {'<Root>': 0.25, 'a': 0.25, 'x': 0.25}
    """
    frozen = snapshot_of("usage_share", snapshot)
    total = np.asarray(frozen._core.total, np.float64)
    shares = Balance(frozen).usage / np.where(total > 0, total, 1.0)
    shares[:, total <= 0] = 0.0
    result: NDArray[np.float64] = read_only(shares)
    return result


def starvation(snapshot: Snapshot | Cluster, policy: Policy, state: State | None = None) -> Starvation:
    """Return which pools and operations are below their fair shares and starve.

    Parameters
    ----------
    snapshot : Snapshot or Cluster
    policy : policy
        One with fair shares, such as `evenhand.policies.YTsaurus`.
    state : State, optional
        What the update or the plan before left; of a cluster by default what it keeps of the policy. Without
        it no clock has been started, so nothing starves yet.

    Returns
    -------
    Starvation
        ``statuses`` are ``evenhand.plan(snapshot, policy, state).statuses``. ``state`` is that plan's state
        but for the clocks of nodes, which stay as they were: no node has tried to preempt.

    Raises
    ------
    InputError
        If the policy knows no starvation (Slurm, Backend.AI), or as of `evenhand.plan`.

    Notes
    -----
    One update and the heartbeat of one node, of which nothing is kept. Nothing of a cluster changes.

    Examples
    --------
    >>> import evenhand as eh
    >>> snapshot = eh.Snapshot.from_dict({
    ...     "now": 100, "resources": {"cpu": {}},
    ...     "nodes": [{"name": "n1", "capacity": {"cpu": 2}}],
    ...     "operations": [{"name": "old"}, {"name": "new"}],
    ...     "allocations": [{"name": f"a{i}", "operation": "old", "node": "n1", "resources": {"cpu": 1},
    ...                      "start_time": i} for i in range(2)],
    ...     "requests": [{"name": "r", "operation": "new", "resources": {"cpu": 1}}]})
    >>> policy = eh.policies.YTsaurus()
    >>> statuses, state = eh.starvation(snapshot, policy)
    >>> statuses["new"].status, statuses["new"].starvation
    ('below_fair_share', 'non_starving')
    >>> statuses, state = eh.starvation(snapshot.replace(now=200), policy, state)
    >>> statuses["new"].starvation
    'starving'
    """
    frozen = snapshot_of("starvation", snapshot)
    expect_policy("starvation", policy)
    if not policy.RECORD.shares:
        message = (
            f"policy is the {type(policy).__name__} policy, which knows no fair shares and no starvation"
        )
        raise InputError([Problem("starvation", None, None, "policy", "type", None, message)])
    if frozen is not snapshot and state is None:
        state = snapshot.state(policy)  # type: ignore[union-attr]  # a Cluster
    nodes = frozen.names("nodes")
    made = plan(frozen, policy, state, on=Heartbeat(nodes[0]) if nodes else Round())
    known = set(nodes)
    clocks = {} if state is None else {n: c for n, c in state.nodes.items() if n in known}
    return Starvation(made.statuses, replace(made.state, nodes=clocks))
