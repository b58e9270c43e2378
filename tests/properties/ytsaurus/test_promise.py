"""What aggressive preemption promises: a request of half a node finds a node.

Equal nodes, one resource, a full cluster, the aggressive threshold 0.5, nothing spared, and only the asker
starves. Where the allocation that crosses a bound is beyond it, what may not be touched of an operation is at
most half of its fair share, so it is at most half of the cluster, and at most half of some node. Source:
YTsaurus documentation, preemption, "aggressive preemption". As the system is set by default it holds up to
one allocation an operation, the one that crosses.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

import evenhand as eh

PRESETS = ("documented", "upstream")
AGGRESSIVE = {"aggressive_preemption_satisfaction_threshold": 0.5, "enable_aggressive_starvation": True}


@st.composite
def full_clusters(draw: st.DrawFn) -> dict[str, Any]:
    """Equal nodes without any free room, and an asker for half a node."""
    half = draw(st.integers(1, 6))
    owners = draw(st.integers(1, 4))
    allocations = []
    nodes = draw(st.integers(1, 5))
    for node in range(nodes):
        rest = 2 * half
        while rest:
            size = draw(st.integers(1, rest))
            rest -= size
            allocations.append(
                {
                    "name": f"a{len(allocations)}",
                    "operation": f"o{draw(st.integers(0, owners - 1))}",
                    "node": f"n{node}",
                    "resources": {"cpu": size},
                    "start_time": draw(st.integers(0, 9)),
                }
            )
    weights = st.sampled_from([1, 1, 2, 3, 0.5])
    return {
        "now": 100,
        "resources": {"cpu": {"quantum": 1}},
        "nodes": [{"name": f"n{node}", "capacity": {"cpu": 2 * half}} for node in range(nodes)],
        "operations": [
            *({"name": f"o{o}", "weight": draw(weights)} for o in range(owners)),
            {"name": "asker", "weight": draw(weights)},
        ],
        "allocations": allocations,
        "requests": [{"name": "half", "operation": "asker", "resources": {"cpu": half}}],
    }


def planned(data: dict[str, Any], preset: str, **settings: Any) -> eh.Plan:
    """Plan the cluster, where nothing starves but the asker."""
    snapshot = eh.Snapshot.from_dict(data)
    states = {
        row["name"]: "aggressively_starving" if row["name"] == "asker" else "non_starving"
        for row in data["operations"]
    }
    policy = eh.policies.YTsaurus(preset, **AGGRESSIVE, **settings)
    return eh.plan(snapshot, policy, given={"starvation": states})


def keeps_its_promise(data: dict[str, Any], preset: str, crossing_is_beyond: bool) -> bool:
    """Whether some node has half of it preemptible, and the request is started."""
    plan = planned(data, preset, consider_allocation_on_fair_share_bound_preemptible=crossing_is_beyond)
    half = data["requests"][0]["resources"]["cpu"]
    preemptible = dict.fromkeys((node["name"] for node in data["nodes"]), 0)
    for row in data["allocations"]:
        if plan.groups[row["name"]] != "non_preemptible":
            preemptible[row["node"]] += row["resources"]["cpu"]
    return max(preemptible.values()) >= half and [d.request for d in plan.decisions.starts] == ["half"]


@given(data=full_clusters(), preset=st.sampled_from(PRESETS))
def test_half_a_node_is_found(data: dict[str, Any], preset: str) -> None:
    assert keeps_its_promise(data, preset, True)


@given(data=full_clusters(), preset=st.sampled_from(PRESETS))
def test_up_to_one_allocation_an_operation_half_is_preemptible(data: dict[str, Any], preset: str) -> None:
    plan = planned(data, preset)
    shares = dict(zip(plan.shares.names, plan.shares["fair_share"][:, 0], strict=True))
    total = sum(node["capacity"]["cpu"] for node in data["nodes"])
    for operation in data["operations"]:
        its = [row for row in data["allocations"] if row["operation"] == operation["name"]]
        safe = [row for row in its if plan.groups[row["name"]] == "non_preemptible"]
        inside = sum(row["resources"]["cpu"] for row in safe)
        newest = max(safe, key=lambda row: (row["start_time"], row["name"]), default=None)
        before = inside - (newest["resources"]["cpu"] if newest else 0)
        assert before / total <= 0.5 * shares[operation["name"]] + 1e-9


@pytest.mark.parametrize("preset", PRESETS)
def test_by_default_it_is_not_promised(preset: str, capsys: pytest.CaptureFixture[str]) -> None:
    """There the allocation that crosses the bound is safe, so large ones can block every node."""
    try:
        smallest = find(
            full_clusters(),
            lambda data: not keeps_its_promise(data, preset, False),
            settings=settings.get_profile("search"),
        )
    except NoSuchExample:
        pytest.fail("no counter-example found")
    with capsys.disabled():
        print(f"\n{preset}, smallest counter-example:", json.dumps(smallest))
    assert keeps_its_promise(smallest, preset, True)
