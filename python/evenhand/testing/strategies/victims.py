"""Strategies that aim at victims: clusters in which a policy preempts something."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import reject
from hypothesis import strategies as st

from evenhand.plans.planning import plan
from evenhand.testing.strategies._pasted import built
from evenhand.testing.strategies.clusters import SYSTEMS, cluster_dicts, system_cluster_dicts

if TYPE_CHECKING:
    from datetime import timedelta

    from hypothesis.strategies import DrawFn, SearchStrategy

    from evenhand.model import Snapshot
    from evenhand.systems.base import Policy

__all__ = ["preempting"]

_TRIES = 8
"""How many clusters are looked at for one with a victim; a fifth to a third of those by system have one."""


def preempting(
    policy: Policy,
    clusters: SearchStrategy[dict[str, Any]] | None = None,
    *,
    as_if_waiting: float | str | timedelta = "1d",
) -> SearchStrategy[Snapshot]:
    """Draw snapshots in which a policy preempts at least one allocation.

    A law about victims holds by itself in a cluster without any: under most settings most clusters that are
    drawn without an aim are of that kind.

    Parameters
    ----------
    policy : policy
        One that preempts: under settings that never do, no example is found and hypothesis says so.
    clusters : strategy of dict, optional
        Snapshots in the file format; by default `system_cluster_dicts` of the policy's system. Say it where
        the policy names partitions, queues or resources of your own.
    as_if_waiting : float, str or timedelta
        As of `evenhand.plan`: ``eh.plan(snapshot, policy, as_if_waiting="1d")`` has the victims.

    Returns
    -------
    SearchStrategy[Snapshot]
        It shrinks as its clusters do, and a victim stays.

    Raises
    ------
    InputError
        When an example is drawn, if the policy refuses a setting of the clusters.

    Notes
    -----
    Up to eight clusters and plans an example, three in the mean.
    """
    if clusters is None:
        system = policy.system
        clusters = system_cluster_dicts(system) if system in SYSTEMS else cluster_dicts(guarantees="all")
    return _aimed(policy, clusters, as_if_waiting)


@st.composite
def _aimed(draw: DrawFn, policy: Any, clusters: SearchStrategy[dict[str, Any]], waited: Any) -> Snapshot:
    for _ in range(_TRIES):
        snapshot = built(draw(clusters))
        if any(d.action == "preempt" for d in plan(snapshot, policy, as_if_waiting=waited).decisions):
            return snapshot
    return reject()
