"""A queue above its max: what leaves for it in cycle after cycle, and in a simulation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import evenhand as eh
from tests.unit.yunikorn.test_cycles import victims

QUOTA = eh.Cycle("quota")
UPSTREAM = eh.policies.YuniKorn("upstream", quota_preemption=True)
DELAY = {"properties": {"quota.preemption.delay": "5s"}}


def above(most: int, now: float, leaving: tuple[Any, ...] = ()) -> eh.Snapshot:
    """A queue that uses eight, of which some leave."""
    rows = [
        {
            "name": f"v{i}",
            "operation": "a",
            "node": "n",
            "resources": {"cpu": 1},
            "start_time": i,
            **({"state": "preempting", "deadline": now + 60} if f"v{i}" in leaving else {}),
        }
        for i in range(8)
    ]
    pool = {"name": "p", "limits": {"cpu": most}, "strong_guarantee": {"cpu": 1}, "settings": DELAY}
    return eh.Snapshot.from_dict(
        {
            "now": now,
            "resources": {"cpu": {"quantum": 1}},
            "nodes": [{"name": "n", "capacity": {"cpu": 20}}],
            "pools": [pool],
            "operations": [{"name": "a", "pool": "p"}],
            "allocations": rows,
        }
    )


@pytest.mark.parametrize("policy", [UPSTREAM, eh.policies.YuniKorn(quota_preemption=True)])
@pytest.mark.parametrize(("most", "count"), [(7, 1), (5, 3), (8, 0), (9, 0)])
def test_what_leaves_covers_the_excess_in_later_cycles(policy: Any, most: int, count: int) -> None:
    state, gone = None, []
    for now in (1000.0, 1003.0, 1009.0, 1012.0, 1015.0):
        plan = eh.plan(above(most, now, tuple(gone)), policy, state, on=QUOTA)
        state, gone = plan.state, gone + victims(plan)
    assert len(gone) == count


def two_types(now: float, cpu: int) -> eh.Snapshot:
    """A parent above its max of cpu alone, whose child has no memory above its guarantee."""
    limits = {"cpu": cpu, "memory": 4 + cpu}
    return eh.Snapshot.from_dict(
        {
            "now": now,
            "resources": {"cpu": {"quantum": 1}, "memory": {"quantum": 1}},
            "nodes": [{"name": "n", "capacity": {"cpu": 9, "memory": 9}}],
            "pools": [
                {"name": "p", "limits": limits, "settings": DELAY},
                {"name": "leaf", "parent": "p", "strong_guarantee": {"cpu": 1, "memory": 6}},
            ],
            "operations": [{"name": "x", "pool": "leaf"}],
            "allocations": [
                {
                    "name": k,
                    "operation": "x",
                    "node": "n",
                    "resources": {"cpu": 1, "memory": 3},
                    "start_time": t,
                }
                for t, k in ((0, "a"), (3600, "b"))
            ],
        }
    )


def test_a_part_of_nothing_is_nothing_and_not_unlimited() -> None:
    """Each of the two would leave its queue below its guarantee of memory."""
    first = eh.plan(two_types(1e6, 1), UPSTREAM, on=QUOTA)
    assert not victims(eh.plan(two_types(1e6 + 20, 1), UPSTREAM, first.state, on=QUOTA))


def test_a_plan_is_due_when_the_delay_is_over() -> None:
    first = eh.plan(above(5, 1000), UPSTREAM, on=QUOTA)
    assert first.next_due == 1005
    early = eh.plan(above(5, 1005 - 1e-6), UPSTREAM, first.state, on=QUOTA)
    assert (victims(early), early.next_due) == ([], 1005)
    assert len(victims(eh.plan(above(5, 1005), UPSTREAM, first.state, on=QUOTA))) == 3
    assert eh.plan(above(8, 1000), UPSTREAM, on=QUOTA).next_due is None


@pytest.mark.parametrize("preset", ["documented", "upstream"])
@pytest.mark.parametrize(("quota", "count"), [(True, 3), (False, 0)])
def test_a_simulation_enforces_it(preset: Any, quota: bool, count: int) -> None:
    """At the first tick at which the delay is over."""
    later = eh.simulate.Workload(
        {"name": ["z"], "pool": ["p"], "resources.cpu": [1], "submit_time": [50], "run_time": [10]}
    )
    policy = eh.policies.YuniKorn(preset, quota_preemption=quota)
    result = eh.simulate(above(5, 0), policy, later, until=60)
    taken = [
        (time, reason)
        for time, action, reason in zip(
            *(np.asarray(result.decisions[name]) for name in ("time", "action", "reason")), strict=True
        )
        if action == "preempt"
    ]
    assert taken == [(6.0, "above_quota")] * count
