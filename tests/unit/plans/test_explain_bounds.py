"""What protects work is named as it was when it was decided: groups, usage thresholds, strength of pools."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh


def plan(settings: dict[str, Any] | None = None, pool: dict[str, Any] | None = None) -> eh.plans.Plan:
    """Fair shares are 3.5 of 7: once the second allocation of A has left, its third is within."""
    snapshot = eh.Snapshot.from_dict(
        {
            "now": 1000,
            "resources": {"cpu": {}},
            "pools": [{"name": "x", **(pool or {})}, {"name": "y"}],
            "nodes": [{"name": "n1", "capacity": {"cpu": 3}}, {"name": "n2", "capacity": {"cpu": 4}}],
            "operations": [{"name": "A", "pool": "x"}, {"name": "B", "pool": "y"}],
            "allocations": [
                {"name": "a0", "operation": "A", "node": "n2", "resources": {"cpu": 2}, "start_time": 0},
                {"name": "a1", "operation": "A", "node": "n1", "resources": {"cpu": 3}, "start_time": 1},
                {"name": "a2", "operation": "A", "node": "n2", "resources": {"cpu": 1}, "start_time": 2},
            ],
            "requests": [{"name": "b", "operation": "B", "resources": {"cpu": 3}, "count": 2}],
        }
    )
    crossing = {"consider_allocation_on_fair_share_bound_preemptible": True}
    policy = eh.policies.YTsaurus(**{**crossing, **(settings or {})})
    return eh.plan(snapshot, policy, as_if_waiting=10_000)


def test_the_group_is_that_of_the_heartbeat() -> None:
    found = plan()
    assert [d.allocation for d in found.decisions if d.action == "preempt"] == ["a1"]
    why = found.why_not("a2")
    assert why.looked_at[0]["outcome"] == "protected_group"
    assert why.looked_at[0]["group"] == "aggressively_preemptible"
    assert "It was preemptible at the update, and aggressively preemptible when its node reported:" in str(
        why
    )


def test_a_group_that_stayed_is_said_once() -> None:
    why = plan().why_not("a0")
    assert why.looked_at[0]["group"] == "aggressively_preemptible"
    assert "It is aggressively preemptible: operation A used 6 cpu, where its fair share is 3.5 cpu." in str(
        why
    )


@pytest.mark.parametrize(("threshold", "safe"), [(6, False), (6.001, True)])
def test_the_usage_threshold_that_protects_is_named(threshold: float, safe: bool) -> None:
    found = plan({"non_preemptible_resource_usage_threshold": {"cpu": threshold}})
    text = str(found.why_not("a0"))
    setting = f"non_preemptible_resource_usage_threshold ({threshold:g} cpu)"
    if safe:
        assert not any(d.action == "preempt" for d in found.decisions)
        assert f"All of it is safe, as it uses 6 cpu: less than {setting}." in text
    else:
        assert any(d.action == "preempt" for d in found.decisions)
        assert f"It uses 6 cpu, which is not less than {setting} in each: that protects nothing." in text


def test_a_threshold_of_the_oldest_work_is_named() -> None:
    settings = {
        "non_preemptible_resource_usage_threshold": {"cpu": 3},
        "usage_threshold_scope": "prefix",
    }
    named = "Its oldest work is safe while it uses less than non_preemptible_resource_usage_threshold (3 cpu)"
    assert named in str(plan(settings).why_not("a0"))


def test_without_a_threshold_none_is_named() -> None:
    assert "usage_threshold" not in str(plan().why_not("a0"))


@pytest.mark.parametrize("scope", ["operation_only", "operation_and_ancestors"])
def test_a_pool_lends_its_strength_only_where_the_setting_lets_it(scope: str) -> None:
    """Of two in a pool that starves one has all of its share: it has a claim by its pool alone."""
    snapshot = eh.Snapshot.from_dict(
        {
            "now": 1000,
            "resources": {"cpu": {}},
            "pools": [{"name": "x"}, {"name": "y"}],
            "nodes": [{"name": "n1", "capacity": {"cpu": 8}}],
            "operations": [
                {"name": "A", "pool": "x"},
                {"name": "B", "pool": "y", "weight": 1},
                {"name": "C", "pool": "y", "weight": 3},
            ],
            "allocations": [
                {"name": "a", "operation": "A", "node": "n1", "resources": {"cpu": 7}},
                {"name": "b", "operation": "B", "node": "n1", "resources": {"cpu": 1}},
            ],
            "requests": [
                {"name": "more", "operation": "B", "resources": {"cpu": 4}, "count": 2},
                {"name": "c", "operation": "C", "resources": {"cpu": 3}, "count": 4},
            ],
        }
    )
    policy = eh.policies.YTsaurus(scheduling_preemption_priority_scope=scope)  # type: ignore[arg-type]
    found = eh.plan(snapshot, policy, as_if_waiting=10_000)
    assert found.statuses["B"].starvation == "non_starving"
    assert found.statuses["y"].starvation != "non_starving"
    lends = scope == "operation_and_ancestors"
    assert (found.statuses["B"].priority != "none") == lends
    why = found.why_not("more")
    assert ("It may preempt on the strength of its pool: pool y" in str(why)) == lends
