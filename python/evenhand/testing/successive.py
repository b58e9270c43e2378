"""Laws over plans that follow each other, as functions that take the plans.

None of them holds of every system and every setting: hold those against yours that you rely on. A law takes
plans in the order in which they were made and carried out, and raises `AssertionError` in the words of the
field. `successive_plans` makes such plans.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from evenhand.arguments import expect
from evenhand.testing._laws import must
from evenhand.testing.happened import tell

if TYPE_CHECKING:
    from evenhand.cluster import Cluster
    from evenhand.plans import Plan
    from evenhand.plans.decisions import Decision
    from evenhand.systems.base import Policy

__all__ = [
    "no_allocation_is_preempted_twice",
    "no_operation_is_preempted_twice",
    "nothing_left_to_do",
    "pools_within_guarantees_lose_nothing",
    "successive_plans",
]


def successive_plans(
    cluster: Cluster, policy: Policy | None = None, *, every: float = 60.0, count: int = 5
) -> list[Plan]:
    """Plan so many times, carry each plan out, and let time pass between them.

    Parameters
    ----------
    cluster : Cluster
        It lives on: afterwards it is as the last plan has left it.
    policy : policy, optional
        By default the cluster's own.
    every : float
        Seconds from one plan to the next.
    count : int
        How many plans.

    Returns
    -------
    list of Plan

    Raises
    ------
    InputError
        If `every` is not above zero, or `count` is negative; and as `Cluster.plan`.

    Notes
    -----
    Victims leave when their grace ends. Nothing else ends: what runs at the beginning, and what has started,
    runs on unless it is preempted.
    """
    expect(every > 0, "successive_plans", "every", every, "above zero")
    expect(count >= 0, "successive_plans", "count", count, "zero or more")
    plans: list[Plan] = []
    for number in range(count):
        if number:
            cluster.apply([{"event": "time", "now": cluster.now + every}])
            cluster.apply(list(_gone(cluster)))
        plan = cluster.plan(policy)
        plan.snapshot  # noqa: B018 - before the cluster is another
        cluster.carry_out(plan)
        tell(plan)
        plans.append(plan)
    return plans


def _gone(cluster: Cluster) -> Iterator[dict[str, Any]]:
    for row in cluster.snapshot().to_dict().get("allocations", ()):
        if row.get("state") == "preempting" and row.get("deadline", cluster.now) <= cluster.now:
            yield {"event": "end", "allocation": row["name"]}


def no_allocation_is_preempted_twice(plans: Iterable[Plan], within: float) -> None:
    """No allocation is preempted again within so many seconds: not even one that resumed meanwhile.

    Parameters
    ----------
    plans : iterable of Plan
        In their order.
    within : float
        Seconds; exactly as many later is allowed.

    Raises
    ------
    AssertionError
        It names the allocation and both instants.
    """
    _rested(plans, within, "allocation")


def no_operation_is_preempted_twice(plans: Iterable[Plan], within: float) -> None:
    """No operation loses allocations in two plans within so many seconds; in one it may lose several.

    Parameters
    ----------
    plans : iterable of Plan
        In their order.
    within : float
        Seconds; exactly as many later is allowed. The settings of pace can see to it (`victim_cooldown`).

    Raises
    ------
    AssertionError
        It names the operation and both instants.
    """
    _rested(plans, within, "operation")


def _rested(plans: Iterable[Plan], within: float, field: str) -> None:
    last: dict[Any, tuple[Plan, Decision]] = {}
    for plan in plans:
        mine: dict[Any, tuple[Plan, Decision]] = {}
        for decision in plan.decisions.victims:
            name = getattr(decision, field)
            mine.setdefault(name, (plan, decision))
            if name not in last:
                continue
            before, first = last[name]
            passed = plan.snapshot.now - before.snapshot.now
            must(
                passed >= within,
                f"the {field} {name!r} was preempted at {before.snapshot.now:.10g} s ({first.allocation!r}),"
                f" and {passed:.10g} s later again ({decision.allocation!r}): within {within:.10g} s",
            )
        last |= mine


def nothing_left_to_do(plans: Iterable[Plan]) -> None:
    """Nothing is decided by a plan that is made at once after another was carried out.

    Parameters
    ----------
    plans : iterable of Plan
        Each is looked at by itself: its order and instants play no part.

    Raises
    ------
    AssertionError
        It shows the first decision of the plan after.
    """
    from evenhand.plans.planning import plan as planned

    for plan in plans:
        after = plan.snapshot.after(plan)
        again = planned(after, plan.policy, plan.state, on=plan.on)
        if len(again.decisions):
            raise AssertionError(
                f"at {plan.snapshot.now:.10g} s, with the plan carried out, another one decides more:"
                f" {again.decisions[0].to_dict()}"
            )


def pools_within_guarantees_lose_nothing(plans: Iterable[Plan]) -> None:
    """No victim is taken from a pool that uses at most its strong guarantee.

    Parameters
    ----------
    plans : iterable of Plan
        Of a policy with fair shares; each is looked at by itself, by its decisions'
        `victim_pool_within_guarantee`.

    Raises
    ------
    AssertionError
        It names the victim, its operation and pool, and the request that it leaves for.
    """
    for plan in plans:
        for decision in plan.decisions.victims:
            if decision.victim_pool_within_guarantee:
                pool = _pool_of(plan, decision.operation)
                served = decision.beneficiary
                raise AssertionError(
                    f"at {plan.snapshot.now:.10g} s the allocation {decision.allocation!r} of the operation"
                    f" {decision.operation!r} in the pool {pool!r} was preempted, though that pool, or one"
                    " above it, used at most its strong guarantee; it leaves"
                    f" {'to repair a limit' if served is None else f'for the request {served.request!r}'}"
                )


def _pool_of(plan: Plan, operation: Any) -> Any:
    table = plan.snapshot.table("operations")
    return next(p for n, p in zip(table["name"], table["pool"], strict=True) if n == operation)
