"""Every threshold, clock and delay of YuniKorn: exactly there, and one step to each side."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import evenhand as eh
from tests.unit.yunikorn.test_cycles import CPU, victims

STEP = 1e-6
NOW = 100_000.0
#: Nothing starts on the second one, which adds to the max of the root.
ROOMY = [{"name": "n", "capacity": {"cpu": 4}}, {"name": "off", "capacity": {"cpu": 4}, "schedulable": False}]
#: Of an ask that takes nobody's room.
WAITS_ONLY = {"priority": 0, "settings": {"allow_preempt_other": False}}


def partition(
    *,
    giver: dict[str, Any] | None = None,
    asker: dict[str, Any] | None = None,
    ask: dict[str, Any] | None = None,
    size: int = 4,
    **changes: Any,
) -> eh.Snapshot:
    """A full node that root.dev has, of which it is owed two; one of root.prod waits, which is owed two."""
    data: dict[str, Any] = {
        "now": NOW,
        "resources": CPU,
        "nodes": [{"name": "n", "capacity": {"cpu": size}}],
        "pools": [
            {"name": "root.dev", "strong_guarantee": {"cpu": 2}, **(giver or {})},
            {"name": "root.prod", "strong_guarantee": {"cpu": 2}, **(asker or {})},
        ],
        "operations": [{"name": "d", "pool": "root.dev"}, {"name": "p", "pool": "root.prod"}],
        "allocations": [
            {"name": f"d{i}", "operation": "d", "node": "n", "resources": {"cpu": 1}, "start_time": i}
            for i in range(size)
        ],
        "requests": [
            {"name": "ask", "operation": "p", "resources": {"cpu": 1}, "submit_time": 0, **(ask or {})}
        ],
    }
    return eh.Snapshot.from_dict({**data, **changes})


def fixed(**settings: Any) -> Any:
    """The preset "upstream" without its defects."""
    from evenhand.systems.yunikorn.settings import SWITCHES

    return eh.policies.YuniKorn("upstream", **{**dict.fromkeys(SWITCHES, False), **settings})


def properties(**texts: str) -> dict[str, Any]:
    return {"settings": {"properties": {name.replace("_", "."): text for name, text in texts.items()}}}


def taken(snapshot: eh.Snapshot, policy: Any = None, state: Any = None, on: Any = None) -> int:
    return len(victims(eh.plan(snapshot, policy or fixed(), state, on=on)))


# --- clocks of asks, per ask


@pytest.mark.parametrize(("age", "count"), [(30 - STEP, 0), (30.0, 1), (30 + STEP, 1)])
def test_an_ask_waits_for_the_delay(age: float, count: int) -> None:
    assert taken(partition(ask={"submit_time": NOW - age})) == count


@pytest.mark.parametrize(("age", "count"), [(5 - STEP, 0), (5.0, 1), (5 + STEP, 1)])
def test_the_delay_is_a_property_of_the_queue(age: float, count: int) -> None:
    asker = properties(preemption_delay="5s")
    assert taken(partition(asker=asker, ask={"submit_time": NOW - age})) == count


@pytest.mark.parametrize(("since", "count"), [(15 - STEP, 0), (15.0, 1), (15 + STEP, 1)])
def test_an_ask_tries_again_after_the_retry(since: float, count: int) -> None:
    poor = partition(giver={"strong_guarantee": {"cpu": 4}})
    state = eh.plan(poor, fixed()).state
    assert state.requests["ask"]["last_attempt"] == NOW
    later = partition(now=NOW + since)
    assert taken(later, fixed(), state) == count
    assert taken(later, fixed(retry=0.0), replace(state, policy="")) == 1


@pytest.mark.parametrize(("attempts", "tried"), [(1, 1), (2, 2), (3, 3), (4, 3)])
def test_a_leaf_has_so_many_attempts_in_a_pass(attempts: int, tried: int) -> None:
    poor = {"strong_guarantee": {"cpu": 4}}
    asks = [{"name": f"r{i}", "operation": "p", "resources": {"cpu": 1}, "submit_time": i} for i in range(3)]
    plan = eh.plan(partition(giver=poor, requests=asks), fixed(attempts=attempts))
    assert {name for name, row in plan.state.requests.items() if row["last_attempt"] is not None} == {
        f"r{i}" for i in range(tried)
    }


@pytest.mark.parametrize(("may", "count"), [(None, 1), (True, 1), (False, 0)])
def test_an_ask_may_be_forbidden_to_preempt(may: bool | None, count: int) -> None:
    assert taken(partition(ask={"settings": {} if may is None else {"allow_preempt_other": may}})) == count


@pytest.mark.parametrize(("enabled", "count"), [(True, 1), (False, 0)])
def test_a_partition_may_switch_it_off(enabled: bool, count: int) -> None:
    assert taken(partition(), fixed(enabled=enabled)) == count


@pytest.mark.parametrize(("once", "count"), [(True, 0), (False, 1)])
def test_an_ask_preempts_once(once: bool, count: int) -> None:
    policy = fixed(asks_once=once)
    state = eh.plan(partition(), policy).state
    assert state.requests["ask"]["triggered"] == ("yes" if once else "no")
    assert taken(partition(now=NOW + 100), policy, state) == count


# --- amounts, per ask


@pytest.mark.parametrize(("owed", "count"), [(5, 0), (4, 0), (3, 1)])
def test_a_queue_gives_what_is_above_its_guarantee(owed: int, count: int) -> None:
    assert taken(partition(giver={"strong_guarantee": {"cpu": owed}})) == count


@pytest.mark.parametrize(("owed", "count"), [(0, 0), (1, 1), (2, 1)])
def test_a_queue_asks_up_to_its_guarantee(owed: int, count: int) -> None:
    """A guarantee of 0 is as if there were none."""
    assert taken(partition(asker={"strong_guarantee": {"cpu": owed}})) == count


@pytest.mark.parametrize(("size", "count"), [(1, 1), (2, 2), (3, 0)])
def test_an_ask_is_as_large_as_what_its_queue_is_owed(size: int, count: int) -> None:
    assert taken(partition(ask={"resources": {"cpu": size}})) == count


@pytest.mark.parametrize(("priority", "count"), [(-1, 0), (0, 1), (1, 1)])
def test_victims_have_at_most_the_priority_of_the_ask(priority: int, count: int) -> None:
    assert taken(partition(ask={"priority": priority})) == count


@pytest.mark.parametrize(("offset", "count"), [("-1", 0), ("0", 1), ("1", 1)])
def test_offsets_lift_the_ask(offset: str, count: int) -> None:
    assert taken(partition(asker=properties(priority_offset=offset))) == count
    back = str(-int(offset))
    assert taken(partition(giver=properties(priority_offset=back))) == count


@pytest.mark.parametrize(("offset", "count"), [("-1", 1), ("0", 1), ("1", 0)])
def test_a_priority_fence_opens_at_its_offset(offset: str, count: int) -> None:
    fence = properties(priority_policy="fence", priority_offset=offset)
    assert taken(partition(giver=fence, operations=_operations(9))) == count


def _operations(priority: int) -> list[dict[str, Any]]:
    return [
        {"name": "d", "pool": "root.dev", "priority": priority},
        {"name": "p", "pool": "root.prod"},
    ]


@pytest.mark.parametrize(("policy", "count"), [("default", 1), ("fence", 0), ("disabled", 0)])
def test_the_policy_of_the_asking_queue(policy: str, count: int) -> None:
    """Of a fence nothing is searched outside; one that gives nothing takes nothing."""
    assert taken(partition(asker=properties(preemption_policy=policy))) == count


@pytest.mark.parametrize(("policy", "count"), [("default", 1), ("fence", 1), ("disabled", 0)])
def test_the_policy_of_the_giving_queue(policy: str, count: int) -> None:
    assert taken(partition(giver=properties(preemption_policy=policy))) == count


@pytest.mark.parametrize(("most", "count"), [(0, 1), (1, 1), (2, 1)])
def test_reaching_the_maximum_is_no_fence(most: int, count: int) -> None:
    """Of 0 there is no maximum."""
    asker = {"limits": {"cpu": most}, "strong_guarantee": {"cpu": min(most, 1) or 1}}
    assert taken(partition(asker=asker)) == count


def test_exceeding_the_maximum_is_one() -> None:
    asker = {"limits": {"cpu": 1}, "strong_guarantee": {"cpu": 1}}
    assert taken(partition(asker=asker, ask={"resources": {"cpu": 2}})) == 0


@pytest.mark.parametrize(("age", "count"), [(7202 - STEP, 0), (7202.0, 0), (7202 + STEP, 1)])
def test_a_reservation_of_a_lesser_ask_yields_when_it_is_old(age: float, count: int) -> None:
    asks = [
        {"name": "ask", "operation": "p", "resources": {"cpu": 1}, "submit_time": 0, "priority": 1},
        {"name": "old", "operation": "p", "resources": {"cpu": 1}, "submit_time": 0, **WAITS_ONLY},
    ]
    kept = {"name": "k", "request": "old", "node": "n", "resources": {"cpu": 1}, "from": NOW - age}
    assert taken(partition(requests=asks, reservations=[kept], nodes=ROOMY)) == count


@pytest.mark.parametrize(("priority", "count"), [(-1, 0), (0, 0), (1, 1)])
def test_a_reservation_yields_to_a_higher_priority(priority: int, count: int) -> None:
    asks = [
        {"name": "ask", "operation": "p", "resources": {"cpu": 1}, "submit_time": 0, "priority": priority},
        {"name": "old", "operation": "p", "resources": {"cpu": 1}, "submit_time": 0, **WAITS_ONLY},
    ]
    kept = {"name": "k", "request": "old", "node": "n", "resources": {"cpu": 1}, "from": 0}
    rows = [{**row, "priority": -5} for row in partition().to_dict()["allocations"]]
    snapshot = partition(requests=asks, reservations=[kept], allocations=rows, nodes=ROOMY)
    assert taken(snapshot) == count


# --- quotas


@pytest.mark.parametrize(("age", "count"), [(10 - STEP, 0), (10.0, 1), (10 + STEP, 1)])
def test_a_quota_is_enforced_after_its_delay(age: float, count: int) -> None:
    dev = {"strong_guarantee": {"cpu": 1}, "limits": {"cpu": 3}, **properties(quota_preemption_delay="10s")}
    policy = fixed(quota_preemption=True)
    on = eh.Cycle("quota")
    state = eh.plan(partition(giver=dev), policy, on=on).state
    assert taken(partition(giver=dev, now=NOW + age), policy, state, on) == count


@pytest.mark.parametrize(("most", "count"), [(5, 0), (4, 0), (3, 1), (2, 2)])
def test_a_quota_is_the_maximum(most: int, count: int) -> None:
    dev = {"strong_guarantee": {"cpu": 1}, "limits": {"cpu": most}}
    dev |= properties(quota_preemption_delay="1s")
    policy, on = fixed(quota_preemption=True), eh.Cycle("quota")
    state = eh.plan(partition(giver=dev), policy, on=on).state
    assert taken(partition(giver=dev, now=NOW + 1), policy, state, on) == count


# --- cycles


def cycles(**settings: Any) -> Any:
    return eh.policies.YuniKorn(**{"limit": 1.0, "policies": ["inter_queue"], **settings})


@pytest.mark.parametrize(("count", "gone"), [(1, 1), (2, 2), (3, 2)])
def test_a_queue_asks_up_to_its_ideal_share(count: int, gone: int) -> None:
    assert taken(partition(ask={"count": count}), cycles()) == gone


@pytest.mark.parametrize(("limit", "gone"), [(1, 1), (2, 2), (3, 2)])
def test_a_round_ends_at_its_limit(limit: int, gone: int) -> None:
    assert taken(partition(ask={"count": 3}), cycles(limit={"cpu": limit})) == gone


@pytest.mark.parametrize(("limit", "gone"), [(0.25, 1), (0.26, 2), (0.5, 2)])
def test_a_limit_may_be_a_part_of_the_partition(limit: float, gone: int) -> None:
    assert taken(partition(ask={"count": 3}), cycles(limit=limit)) == gone


@pytest.mark.parametrize(("zone", "gone"), [(0.5, 1), (0.999, 1), (1.0, 0)])
def test_a_dead_zone_ends_above_what_a_queue_keeps(zone: float, gone: int) -> None:
    """It uses four, and keeps two: what is at the end of the zone gives nothing."""
    assert taken(partition(ask={"count": 3}), cycles(dead_zone=zone)) == gone


@pytest.mark.parametrize(("priority", "gone"), [(-1, 0), (0, 0), (1, 1)])
def test_within_a_queue_priorities_are_strictly_lower(priority: int, gone: int) -> None:
    operations = [{"name": "d", "pool": "root.dev"}, {"name": "p", "pool": "root.dev"}]
    snapshot = partition(ask={"priority": priority}, operations=operations)
    assert taken(snapshot, cycles(policies=["intra_queue"])) == gone


@pytest.mark.parametrize(("most", "starts"), [(1, 1), (2, 2), (3, 2)])
def test_an_allocation_cycle_places_so_many(most: int, starts: int) -> None:
    snapshot = partition(allocations=[], ask={"count": 2})
    plan = eh.plan(snapshot, cycles(n_alloc=most), on=eh.Cycle("allocation"))
    assert len(plan.decisions.starts) == starts


@pytest.mark.parametrize(("most", "starts"), [(1, 1), (2, 2), (3, 2)])
def test_headroom_ends_at_the_maximum(most: int, starts: int) -> None:
    snapshot = partition(
        allocations=[], ask={"count": 2}, asker={"limits": {"cpu": most}, "strong_guarantee": {}}
    )
    for policy in (cycles(), fixed()):
        assert len(eh.plan(snapshot, policy).decisions.starts) == starts
