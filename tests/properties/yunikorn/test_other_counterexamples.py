"""Defects whose laws need more than one plan of asks: quotas, reservations, the order of queues, predicates.

Each is found by hypothesis in the preset "upstream"; with its switch fixed, no search finds it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, find, given
from hypothesis import settings as bounds
from hypothesis import strategies as st

import evenhand as eh
from evenhand.systems.yunikorn.settings import SWITCHES
from evenhand.testing.queue_laws import BROKEN_BY
from tests.conformance.yunikorn.world import World
from tests.drawing import examples
from tests.shared import DATA

Data = dict[str, Any]
NOW = 100_000
UPSTREAM = eh.policies.YuniKorn("upstream")
FIXED = UPSTREAM.replace(**dict.fromkeys(SWITCHES, False))
DELAY = {"settings": {"properties": {"quota.preemption.delay": "1s"}}}


def cluster(pools: list[Data], allocations: list[Data], free: int = 0, **tables: Any) -> Data:
    """Return a partition of one node that is full but for some cpus; each leaf has an application."""
    above = {row.get("parent") for row in pools}
    leaves = [row["name"] for row in pools if row["name"] not in above]
    size = sum(row["resources"]["cpu"] for row in allocations) + free
    return {
        "now": NOW,
        "resources": {"cpu": {}},
        "nodes": [{"name": "n", "capacity": {"cpu": size}}],
        "pools": pools,
        "operations": [{"name": name, "pool": name} for name in leaves],
        "allocations": [{"name": f"x{i}", "node": "n", **row} for i, row in enumerate(allocations)],
        **tables,
    }


def cpus(least: int, most: int) -> st.SearchStrategy[dict[str, int]]:
    return st.fixed_dictionaries({"cpu": st.integers(least, most)})


def rows(of: str, least: int, most: int) -> st.SearchStrategy[list[Data]]:
    """Draw allocations of an application."""
    row = {
        "operation": st.just(of),
        "resources": cpus(1, 5),
        "start_time": st.integers(0, 9),
        "priority": st.integers(0, 1),
        "preemptible": st.booleans(),
        "originator": st.booleans(),
    }
    return st.lists(st.fixed_dictionaries(row), min_size=least, max_size=most)


def ask(name: str, of: str, amounts: Mapping[str, int], **cells: Any) -> Data:
    return {"name": name, "operation": of, "resources": dict(amounts), "submit_time": 0, **cells}


def victims(plan: Any) -> list[str]:
    return [str(d.allocation) for d in plan.decisions if d.action == "preempt"]


# --- A victim larger than what the asker is owed


@st.composite
def owed_little(draw: st.DrawFn) -> Data:
    owed = draw(cpus(1, 4))
    pools = [{"name": "root.a", "strong_guarantee": owed}, {"name": "root.b"}]
    asks = [ask("r", "root.a", draw(cpus(1, owed["cpu"])), priority=1)]
    return cluster(pools, draw(rows("root.b", 1, 4)), requests=asks)


def asks_get_what_fits_exactly(data: Data, policy: Any) -> None:
    """Of allocations that are no smaller than the ask, one that is as large leaves for it, or another."""
    wants = data["requests"][0]["resources"]["cpu"]
    sizes = [row["resources"]["cpu"] for row in data["allocations"]]
    if min(sizes) == wants:
        assert victims(eh.plan(eh.Snapshot.from_dict(data), policy))


# --- Reservations


@st.composite
def reserved(draw: st.DrawFn) -> Data:
    pools = [{"name": "root.a", "strong_guarantee": {"cpu": 4}}, {"name": "root.b"}, {"name": "root.c"}]
    asks = [ask("r", "root.a", {"cpu": 1}, priority=2)]
    kept = []
    for i in range(draw(st.integers(1, 3))):
        asks.append(ask(f"o{i}", "root.c", {"cpu": 1}, priority=draw(st.integers(0, 3))))
        since = NOW - draw(st.sampled_from([10, 7202, 7203, 9000]))
        kept.append(
            {"name": f"k{i}", "request": f"o{i}", "node": "n", "resources": {"cpu": 1}, "from": since}
        )
    # Nothing starts on the second node, which adds to what all queues together may have.
    off = {"name": "off", "capacity": {"cpu": 9}, "schedulable": False}
    data = cluster(pools, draw(rows("root.b", 1, 2)), requests=asks, reservations=kept)
    return {**data, "nodes": [*data["nodes"], off]}


def reservations_in_force_keep_their_node(data: Data, policy: Any) -> None:
    """Where something leaves for an ask, all that have reserved the node are lesser and have long had it."""
    plan = eh.plan(eh.Snapshot.from_dict(data), policy)
    if not any(d.beneficiary and d.beneficiary.request == "r" for d in plan.decisions):
        return
    priority = {row["name"]: row["priority"] for row in data["requests"]}
    for one in data["reservations"]:
        assert priority[one["request"]] < priority["r"]
        assert NOW - one["from"] > 7202


# --- Quotas


@st.composite
def above_quota(draw: st.DrawFn) -> Data:
    owed, most = st.integers(0, 6), draw(st.integers(1, 6))
    pools = [
        {"name": "root.top", "strong_guarantee": {"cpu": draw(owed)}},
        {
            "name": "root.top.a",
            "parent": "root.top",
            "strong_guarantee": {"cpu": draw(st.integers(0, most))},
            "limits": {"cpu": most},
            **DELAY,
        },
        {"name": "root.top.b", "parent": "root.top"},
    ]
    return cluster(pools, draw(rows("root.top.a", 1, 5)) + draw(rows("root.top.b", 0, 1)), requests=[])


def enforced(data: Data, policy: Any) -> list[Data]:
    """Return what leaves the queue above its maximum."""
    policy, on = policy.replace(quota_preemption=True), eh.Cycle("quota")
    state = eh.plan(eh.Snapshot.from_dict(data), policy, on=on).state
    plan = eh.plan(eh.Snapshot.from_dict({**data, "now": NOW + 1}), policy, state, on=on)
    gone = set(victims(plan))
    return [row for row in data["allocations"] if row["name"] in gone]


def quotas_spare_opted_out(data: Data, policy: Any) -> None:
    """Of allocations of a queue that are as large, one that is opted out or an originator goes last."""

    def kind(row: Data) -> int:
        return 2 * (not row["preemptible"]) + row["originator"]

    gone = enforced(data, policy)
    for victim in gone:
        for other in data["allocations"]:
            alike = all(other[cell] == victim[cell] for cell in ("operation", "resources"))
            assert not (alike and other not in gone and kind(other) < kind(victim))


def quotas_keep_guarantees(data: Data, policy: Any) -> None:
    """No queue of the path gives what it is owed."""
    gone = enforced(data, policy)
    for pool in data["pools"]:
        inside = [row for row in data["allocations"] if row["operation"].startswith(pool["name"])]
        stays = sum(row["resources"]["cpu"] for row in inside if row not in gone)
        owed = pool.get("strong_guarantee", {"cpu": 0})["cpu"]
        assert stays >= owed or not any(row in gone for row in inside)


# --- Order of queues


@st.composite
def siblings(draw: st.DrawFn) -> Data:
    pools: list[Data] = []
    allocations, asks = [], []
    for i in range(draw(st.integers(2, 4))):
        name, used = f"root.q{i}", draw(st.integers(1, 6))
        most = draw(st.sampled_from([None, used + 1, used + 2, 2 * used + 1, 10]))
        pools.append({"name": name, **({} if most is None else {"limits": {"cpu": most}})})
        allocations.append({"operation": name, "resources": {"cpu": used}, "start_time": 0, "priority": 0})
        asks.append(ask(f"r{i}", name, {"cpu": 1}))
    return cluster(pools, allocations, 1, requests=asks)


def least_share_first(data: Data, policy: Any) -> None:
    """Of queues of one priority the one that has the least of what it may have is served first."""
    size = data["nodes"][0]["capacity"]["cpu"]
    share = {
        pool["name"]: Fraction(row["resources"]["cpu"], pool.get("limits", {"cpu": size})["cpu"])
        for pool, row in zip(data["pools"], data["allocations"], strict=True)
    }
    plan = eh.plan(eh.Snapshot.from_dict(data), policy)
    first = next(d for d in plan.decisions if d.action == "start")
    assert share[str(first.operation)] == min(share.values()), share


# --- Predicates


@st.composite
def judged(draw: st.DrawFn) -> Data:
    """Draw a node, and how many more victims a plug-in wants than amounts do."""
    held = [{"cpu": draw(st.integers(1, 3))} for _ in range(draw(st.integers(1, 4)))]
    return {"held": held, "ask": draw(cpus(1, 3)), "more": draw(st.integers(0, 3))}


def victims_for_predicates_leave(data: Data, policy: Any) -> None:
    """All leave without which the plug-in does not let the ask stand there."""
    children = [{"name": "a", "guaranteed": {"cpu": 20}, "leaf": True}, {"name": "b", "leaf": True}]
    allocations = [
        {"key": f"x{i}", "queue": "root.b", "node": "n", "resources": amounts, "allow_preempt_self": True}
        for i, amounts in enumerate(data["held"])
    ]
    size = sum(amounts["cpu"] for amounts in data["held"])
    case = {
        "queues": {"name": "root", "max": {"cpu": size}, "children": children},
        "nodes": [{"id": "n", "capacity": {"cpu": size}}],
        "allocations": allocations,
        "ask": {"key": "r", "queue": "root.a", "resources": data["ask"], "priority": 0},
    }
    world = World(case, **{name: getattr(policy.settings, name) for name in SWITCHES})
    world.begin(case["ask"])
    found = world.core.solutions(True)
    if not found:
        return
    [(_, start, listed)] = found
    last = start + data["more"]
    if last >= len(listed):
        return
    call = {"node": "n", "victims": world.keys(listed), "start_index": start, "ok_index": last}
    given_plugin = world.predicates({"predicates": {"mode": "calls", "preemption": [call]}}, "r")
    answer = world.core.attempt(True, given_plugin, [])
    assert answer["success"]
    assert answer["victims"] == listed[: last + 1]


LAWS: dict[str, tuple[st.SearchStrategy[Data], Callable[[Data, Any], None]]] = {
    "stops_at_unfitting_victim": (owed_little(), asks_get_what_fits_exactly),
    "any_reservation_frees_node": (reserved(), reservations_in_force_keep_their_node),
    "quota_takes_opted_out_first": (above_quota(), quotas_spare_opted_out),
    "quota_takes_larger_excess": (above_quota(), quotas_keep_guarantees),
    "fair_max_by_position": (siblings(), least_share_first),
    "drops_predicate_victims": (judged(), victims_for_predicates_leave),
}


def test_every_switch_has_a_law() -> None:
    assert {*LAWS, *BROKEN_BY} == {*SWITCHES}
    assert not {*LAWS} & {*BROKEN_BY}


def breaks(switch: str, data: Data) -> bool:
    """Whether the preset "upstream" breaks the law of a switch; without the switch it never does."""
    law = LAWS[switch][1]
    for policy in (UPSTREAM.replace(**{switch: False}), FIXED):
        law(data, policy)
    try:
        law(data, UPSTREAM)
    except AssertionError:
        return True
    return False


@pytest.mark.parametrize("switch", LAWS)
def test_each_defect_breaks_its_law(switch: str) -> None:
    """On the smallest partitions that the search below has found."""
    assert breaks(switch, json.loads((DATA / "yunikorn-defects.json").read_text())[switch])


@pytest.mark.skipif(examples() < 1000, reason="at night there is time to search")
@pytest.mark.parametrize("switch", LAWS)
def test_each_defect_is_found(switch: str) -> None:
    limits = bounds(
        max_examples=2000,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    print(switch, json.dumps(find(LAWS[switch][0], lambda data: breaks(switch, data), settings=limits)))


@pytest.mark.parametrize("switch", LAWS)
@bounds(max_examples=examples(0.5))
@given(data=st.data())
def test_with_the_switch_fixed_the_law_holds(switch: str, data: st.DataObject) -> None:
    drawn, law = LAWS[switch]
    one = data.draw(drawn)
    for policy in (UPSTREAM.replace(**{switch: False}), FIXED):
        law(one, policy)
