"""Plan: what a policy would do with a snapshot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenhand.model import Snapshot
    from evenhand.plans.plan import Plan
    from evenhand.state import State

__all__ = ["plan"]


def plan(
    snapshot: Snapshot,
    policy: Any,
    state: State | None = None,
    *,
    on: Any = None,
    given: Mapping[str, Any] | None = None,
) -> Plan:
    """Plan what a policy would do now, with a reason for everything.

    Parameters
    ----------
    snapshot : Snapshot
        What is.
    policy : policy
        One of `evenhand.policies`.
    state : State, optional
        What the plan before left (``plan.state``): clocks of starvation and of nodes, volumes. Without
        it nobody has waited yet, so the first plan of a cluster stamps clocks only.
    on : trigger, optional
        What the policy acts on: ``eh.Round()``, ``eh.Heartbeat(node)``; by default the policy's own.
    given : mapping, optional
        ``fair_share`` (element → resource → share), ``starvation`` (element → state) and ``groups``
        (allocation → group) that stand in the place of what would be computed.

    Returns
    -------
    Plan
        Decisions in the order in which they are to be carried out, refusals, statuses, groups and the
        next state. The same input gives the same plan, whatever the order of rows.

    Raises
    ------
    InputError
        If the settings of a row are unknown or wrong, the snapshot is older than the state, or a name in
        ``on`` or ``given`` is not in the snapshot.

    Notes
    -----
    No clock is read and no file is touched. The interpreter lock is released. O(n log n) in pools,
    operations and allocations, and for each heartbeat O(candidates + allocations of the node).

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
    >>> plan = eh.plan(snapshot, eh.policies.YTsaurus(), given={"starvation": {"new": "starving"}})
    >>> [(d.action, d.allocation or d.request, d.reason) for d in plan.decisions]
    [('preempt', 'a1', 'preemption'), ('start', 'r', 'fits_after_preemption')]
    """
    result: Plan = policy.plan(snapshot, state, on, given)
    return result
