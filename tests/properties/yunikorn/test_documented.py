"""The engine decides as the readable reference of the seed's design does, whatever the partition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import event, given, target
from hypothesis import strategies as st

import evenhand as eh
from tests.bench.yunikorn.cycles import crowded
from tests.drawing import some
from tests.properties.yunikorn.test_documented_laws import RULES, clusters
from tests.reference.yunikorn.documented import Rules, reference_plan

Answer = tuple[list[Any], list[Any], dict[str, Any]]

PLACES = st.sampled_from([None, None, None, "n0", "n1"])
POLICIES = st.sampled_from(["default"] * 7 + ["fence", "disabled"])
TAGS = st.sampled_from([[], [], [], ["fast"]])


@st.composite
def partitions(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a cluster with weights, priorities, places and times as rows may have them."""
    data = draw(clusters())
    data["now"] = 20
    for pool in data["pools"]:
        pool["weight"] = draw(st.sampled_from([1, 1, 2, 3, 0.5, 0.1]))
        if draw(st.integers(0, 3)) == 0:
            del pool["strong_guarantee"]
        if (word := draw(POLICIES)) != "default":
            pool["settings"] = {"properties": {"preemption.policy": word}}
    for row in data["operations"]:
        row["start_time"] = draw(st.integers(0, 3))
    for row in data["nodes"]:
        row["tags"] = draw(TAGS)
        row["schedulable"] = draw(st.integers(0, 5)) > 0
    names = {row["name"] for row in data["nodes"]}
    for row in data["allocations"]:
        if draw(st.integers(0, 7)) == 0:
            row["required_node"] = row["node"]
    for row in data["requests"]:
        row["node_tags"] = draw(TAGS)
        row["submit_time"] = draw(st.integers(10, 12))
        if (place := draw(PLACES)) in names:
            row["required_node"] = place
        if draw(st.booleans()):
            row["priority"] = draw(st.integers(0, 3))
        if draw(st.integers(0, 7)) == 0:
            row["settings"] = {"allow_preempt_other": False}
    return data


def engine(snapshot: eh.Snapshot, rules: Rules, cycle: str) -> Answer:
    """Return starts, victims and missed opportunities of a plan."""
    policy = eh.policies.YuniKorn(
        n_alloc=rules.n_alloc,
        ask_candidates=rules.ask_candidates,
        limit={} if rules.limit is None else rules.limit,
        policies=rules.policies,
        cost=rules.cost,
        mode=rules.mode,
        dead_zone=rules.dead_zone,
    )
    plan = eh.plan(snapshot, policy, on=eh.Cycle(cycle))
    starts: list[Any] = []
    victims: list[Any] = []
    for d in plan.decisions:
        if d.action == "preempt":
            victims.append((d.allocation, d.beneficiary.request if d.beneficiary else None, d.node))
        else:
            starts.append((d.request, d.node, len(victims) - sum(count for _, _, count in starts)))
    return starts, victims, {str(name): (m["missed"], m["wait"]) for name, m in plan.state.requests.items()}


def reference(snapshot: eh.Snapshot, rules: Rules, cycle: str) -> Answer:
    """Return the same of the reference."""
    plan: Mapping[str, Any] = reference_plan(snapshot, rules, cycle)
    return (
        [(one["request"], one["node"], one["victims"]) for one in plan["starts"]],
        [(one["allocation"], one["request"], one["node"]) for one in plan["victims"]],
        plan["missed"],
    )


@given(
    partitions(),
    RULES,
    st.sampled_from(["preemption", "preemption", "preemption", "allocation"]),
    st.sampled_from(["sniper", "sniper", "sniper", "shotgun"]),
    st.sampled_from([0.0, 0.0, 0.1, 0.5]),
    st.integers(1, 4),
)
def test_the_engine_decides_as_the_reference(
    data: dict[str, Any], rules: Rules, cycle: str, mode: str, dead_zone: float, n_alloc: int
) -> None:
    snapshot = eh.Snapshot.from_dict(data)
    rules = replace(rules, mode=mode, dead_zone=dead_zone, n_alloc=n_alloc)
    expected = reference(snapshot, rules, cycle)
    target(float(len(expected[1])))
    event(f"{cycle}, {mode}: {'victims' if expected[1] else 'starts' if expected[0] else 'nothing'}")
    assert engine(snapshot, rules, cycle) == expected


@given(partitions(), RULES, st.integers(0, 2**16))
def test_every_look_adds_a_result_or_masks_an_ask(data: dict[str, Any], rules: Rules, seed: int) -> None:
    """A cycle ends: asks that were looked at were served, or failed, and were not looked at again."""
    rules = replace(rules, ask_candidates=1 + seed % 3, limit=None)
    policy = eh.policies.YuniKorn(
        n_alloc=1 + seed % 5,
        ask_candidates=rules.ask_candidates,
        limit={},
        policies=rules.policies,
        cost=rules.cost,
    )
    waiting = sum(row["count"] for row in data["requests"])
    for cycle in ("preemption", "allocation"):
        plan = eh.plan(eh.Snapshot.from_dict(data), policy, on=eh.Cycle(cycle))
        counts = {name.removeprefix("cycle."): count for name, count in plan.counts.items()}
        rounds = len(rules.policies) if cycle == "preemption" else 1
        assert counts["asks"] == counts["started"] + counts["failed"]
        assert counts["started"] <= waiting
        assert counts["failed"] <= rounds * len(data["requests"])
        # Each but the last of a policy, or of an allocation cycle, had something to show for it.
        assert counts["rounds"] <= counts["asks"]


@pytest.mark.parametrize(("parents", "seed"), some([(3, 2), (0, 1)]))
def test_of_more_nodes_than_a_block_the_cheapest_is_found(parents: int, seed: int) -> None:
    """More kinds of asks, too, than partitions have that are drawn; a block of the search is 64 nodes."""
    snapshot = crowded(80, 20, 6, 30, parents=parents, shapes=12, seed=seed)
    expected = reference(snapshot, Rules(), "preemption")
    assert len(expected[1]) > 5
    assert engine(snapshot, Rules(), "preemption") == expected
