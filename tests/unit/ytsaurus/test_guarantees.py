"""Whether a victim's pool was within its strong guarantee is said of every victim."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh


def cluster(guarantee: dict[str, Any], nested: bool = False) -> dict[str, Any]:
    """A pool that has 5 of 10 cpus; two operations share it, and one of them has all of it."""
    pools: list[dict[str, Any]] = [{"name": "owed", "strong_guarantee": guarantee}, {"name": "other"}]
    if nested:
        pools.append({"name": "inner", "parent": "owed"})
    home = "inner" if nested else "owed"
    return {
        "now": 1000,
        "resources": {"cpu": {}, "memory": {}},
        "nodes": [{"name": "n", "capacity": {"cpu": 10, "memory": 10}}],
        "pools": pools,
        "operations": [
            {"name": "has", "pool": home},
            {"name": "waits", "pool": home, "settings": {"unschedulable_reason": "not yet"}},
            {"name": "big", "pool": "other"},
            {"name": "starves", "pool": "other"},
        ],
        "allocations": [
            {"name": f"a{i}", "operation": "has", "node": "n", "resources": {"cpu": 1}, "start_time": i}
            for i in range(5)
        ]
        + [{"name": "b", "operation": "big", "node": "n", "resources": {"cpu": 5}}],
        "requests": [
            {"name": "w", "operation": "waits", "resources": {"cpu": 1}, "count": 5},
            {"name": "s", "operation": "starves", "resources": {"cpu": 2}},
        ],
    }


def victims(data: dict[str, Any]) -> list[tuple[Any, Any]]:
    policy = eh.policies.YTsaurus(
        preemption_satisfaction_threshold=0.5, aggressive_preemption_satisfaction_threshold=0.2
    )
    plan = eh.plan(eh.Snapshot.from_dict(data), policy, as_if_waiting="1h")
    said = [d.victim_pool_within_guarantee for d in plan.decisions]
    assert [d["victim_pool_within_guarantee"] for d in plan.to_dict()["decisions"]] == said
    assert plan.table()["victim_pool_within_guarantee"] == said
    assert all(d.victim_pool_within_guarantee is None for d in plan.decisions.starts)
    return [(d.allocation, d.victim_pool_within_guarantee) for d in plan.decisions.victims]


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize(
    ("guarantee", "said"),
    [
        ({"cpu": 6}, [True, True]),
        ({"cpu": 5}, [True, True]),  # "at most"
        ({"cpu": 4}, [False, True]),  # 5 is more, 4 is not
        ({"cpu": 3}, [False, False]),
        ({"cpu": 6, "memory": 1}, [True, True]),  # of memory it has none
        ({"cpu": 0}, [None, None]),
        ({}, [None, None]),
    ],
)
def test_a_pool_within_its_guarantee_loses(guarantee: dict[str, Any], said: list[Any], nested: bool) -> None:
    found = victims(cluster(guarantee, nested))
    assert [name for name, _ in found] == ["a4", "a3"]
    assert [within for _, within in found] == said


def test_one_resource_beyond_is_beyond() -> None:
    data = cluster({"cpu": 6, "memory": 1})
    for row in data["allocations"]:
        row["resources"]["memory"] = 1
    assert next(within for _, within in victims(data)) is False


def test_systems_without_fair_shares_say_nothing() -> None:
    data = {
        "resources": {"cpu": {}},
        "nodes": [{"name": "n", "capacity": {"cpu": 1}}],
        "operations": [{"name": "low", "priority": 1}, {"name": "high", "priority": 20}],
        "allocations": [{"name": "a", "operation": "low", "node": "n", "resources": {"cpu": 1}}],
        "requests": [{"name": "r", "operation": "high", "resources": {"cpu": 1}}],
    }
    plan = eh.plan(eh.Snapshot.from_dict(data), eh.policies.BackendAI())
    assert [d.victim_pool_within_guarantee for d in plan.decisions.victims] == [None]
    assert plan.table()["victim_pool_within_guarantee"][0] is None
