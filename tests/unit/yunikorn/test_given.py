"""What is given with a plan: a cost of one's own, and where requests may stand. And rooms that are kept."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.adapters import yunikorn
from tests.unit.yunikorn.test_cycles import cluster, policy, victims

OWN = policy(cost=["own"])
NODES = [{"name": "m", "capacity": {"cpu": 1}}, {"name": "n", "capacity": {"cpu": 4}}]


def starts(plan: eh.Plan) -> list[tuple[Any, Any]]:
    return [(d.request, d.node) for d in plan.decisions.starts]


def test_victims_go_by_ones_own_cost() -> None:
    costs = {"d0": 3, "d1": 1.5, "d2": 2, "d3": 9}
    plan = eh.plan(cluster(), OWN, given={"cost": costs})
    assert victims(plan) == ["d1", "d2"]
    assert plan.given == {"cost": costs}


def test_a_cost_may_be_a_function_of_the_rows() -> None:
    calls = []

    def cost(rows: list[Mapping[str, Any]]) -> Any:
        calls.append(len(rows))
        return np.array([row.get("start_time", 0) for row in rows])

    plan = eh.plan(cluster(), OWN, given={"cost": cost})
    assert victims(plan) == ["d0", "d1"]
    assert calls == [4]
    assert plan.given == {"cost": {"d0": 0, "d1": 1, "d2": 2, "d3": 3}}
    assert eh.plan(cluster(), OWN, given=plan.given).to_json() == plan.to_json()
    assert plan.check(cluster()).steps == [0, 1]
    live = eh.Cluster(cluster())
    assert victims(live.plan(OWN, given={"cost": cost})) == ["d0", "d1"]


def test_an_own_column_counts_in_its_place() -> None:
    costs = {"d0": 1, "d1": 1, "d2": 1, "d3": 2}
    plan = eh.plan(cluster(), policy(cost=["own", "live_time"]), given={"cost": costs})
    assert victims(plan) == ["d2", "d1"]


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        (None, "required"),
        ({"cost": {"d0": 1}}, "required"),
        ({"cost": {"d0": 1, "d1": 1, "d2": 1, "d3": "x"}}, "type"),
        ({"cost": {"d0": 1, "d1": 1, "d2": 1, "d3": float("nan")}}, "type"),
        ({"cost": {"d0": 1, "d1": 1, "d2": 1, "d3": 1, "d4": 1}}, "exists"),
        ({"cost": [1, 2]}, "type"),
        ({"cost": lambda rows: [1.0]}, "length"),
        ({"costs": {}}, "unknown_field"),
    ],
)
def test_wrong_costs_are_refused(given: Any, rule: str) -> None:
    with pytest.raises(eh.InputError) as caught:
        eh.plan(cluster(), OWN, given=given)
    assert rule in {p.rule for p in caught.value.problems}


def test_a_cost_that_nothing_reads_is_refused() -> None:
    with pytest.raises(eh.InputError, match='no "own"'):
        eh.plan(cluster(), policy(), given={"cost": {f"d{i}": 1 for i in range(4)}})


@pytest.mark.parametrize("preset", ["documented", "upstream"])
@pytest.mark.parametrize(("nodes", "expected"), [(["m", "n"], "m"), (["n"], None), ([], None)])
def test_predicates_bar_nodes(preset: str, nodes: list[str], expected: str | None) -> None:
    """On m there is room; on n there is none unless others leave."""
    requests = [{"name": "ask", "operation": "p", "resources": {"cpu": 1}, "submit_time": 0}]
    snapshot = cluster(nodes=NODES, requests=requests)
    given = {"nodes": [{"requests": ["ask"], "nodes": nodes}]}
    plan = eh.plan(snapshot, eh.policies.YuniKorn(preset), given=given)
    where = {d.node for d in plan.decisions if d.action in ("start", "reserve")}
    # There is enough for all ideal shares, so that between cycles' queues nothing is taken.
    preempts = nodes == ["n"] and preset == "upstream"
    assert where == ({expected} if expected else {"n"} if preempts else set())
    assert len(victims(plan)) == preempts
    if not nodes and preset == "documented":
        assert [r.rule for r in plan.refusals] == ["barred_by_predicate"]


def test_a_predicate_is_asked_once_for_all_classes_and_nodes() -> None:
    calls = []

    def may_stand(requests: list[Mapping[str, Any]], nodes: list[Mapping[str, Any]]) -> Any:
        calls.append((len(requests), len(nodes)))
        return [[row["resources"]["cpu"] == 1 or node["name"] == "n" for node in nodes] for row in requests]

    requests = [
        {"name": f"r{i}", "operation": "p", "resources": {"cpu": 1 + i % 2}, "submit_time": i}
        for i in range(6)
    ]
    plan = eh.plan(cluster(nodes=NODES, requests=requests), policy(), given={"nodes": may_stand})
    assert calls == [(2, 2)]
    assert plan.given["nodes"][0] == {"requests": ["r0", "r2", "r4"], "nodes": ["m", "n"]}
    assert plan.given["nodes"][1] == {"requests": ["r1", "r3", "r5"], "nodes": ["n"]}
    assert ("r0", "m") in starts(plan)
    fewer = cluster(nodes=NODES, requests=requests[1:])  # r0 has gone; r4 is served in the place of r2
    again = eh.plan(cluster(nodes=NODES, requests=requests), policy(), given=plan.given)
    assert again.to_json() == plan.to_json()
    assert plan.check(cluster(nodes=NODES, requests=requests)).steps == [0, 1]
    assert plan.check(fewer).steps == []


@pytest.mark.parametrize(
    ("nodes", "rule"),
    [
        ([{"requests": ["nobody"], "nodes": ["n"]}], "exists"),
        ([{"requests": ["ask"], "nodes": ["o"]}], "exists"),
        ([{"requests": ["ask"], "nodes": ["n"]}] * 2, "unique"),
        ([{"requests": ["ask"]}], "type"),
        (lambda requests, nodes: [[True, True]], "length"),
    ],
)
def test_wrong_predicates_are_refused(nodes: Any, rule: str) -> None:
    with pytest.raises(eh.InputError) as caught:
        eh.plan(cluster(), policy(), given={"nodes": nodes})
    assert rule in {p.rule for p in caught.value.problems}


KEPT = {"name": "k", "request": "ask", "node": "n", "resources": {"cpu": 1}}
LEAVING = [
    {"name": "d0", "operation": "d", "node": "n", "resources": {"cpu": 1}, "state": "preempting"}
    | {"beneficiary": {"request": "ask"}},
    *({"name": f"d{i}", "operation": "d", "node": "n", "resources": {"cpu": 1}} for i in range(1, 4)),
]


@pytest.mark.parametrize("count", [1, 2])
def test_room_that_is_kept_for_an_ask_is_its_own(count: int) -> None:
    """A victim leaves for it, too; it starts there, and whoever asks next finds the node as full as it is."""
    requests = [
        {"name": "ask", "operation": "p", "resources": {"cpu": 1}, "count": count},
        {"name": "later", "operation": "d", "resources": {"cpu": 1}},
    ]
    plan = eh.plan(cluster(reservations=[KEPT], allocations=LEAVING, requests=requests), policy())
    assert starts(plan) == [("ask", "n")] * count
    assert len(victims(plan)) == count - 1
    assert [r.request for r in plan.refusals] == ["later"]


def test_room_that_is_kept_for_another_is_not() -> None:
    requests = [
        {"name": "ask", "operation": "d", "resources": {"cpu": 1}},
        {"name": "other", "operation": "d", "resources": {"cpu": 1}, "priority": 1},
    ]
    plan = eh.plan(
        cluster(reservations=[KEPT], allocations=LEAVING[1:], requests=requests),
        policy(),
        on=eh.Cycle("allocation"),
    )
    assert starts(plan) == [("ask", "n")]


def test_a_reading_of_a_partition_starts_what_has_its_node() -> None:
    folder = Path(__file__).parents[2] / "data" / "yunikorn"
    reading = yunikorn.read(now=1789999900.0, **{p.stem: p.read_bytes() for p in folder.glob("*.json")})
    plan = eh.plan(reading.snapshot, eh.policies.YuniKorn())
    assert ("web-1", "n-2") in starts(plan)


def test_a_reading_says_which_asks_have_preempted() -> None:
    """As a state it keeps them from doing so again."""
    folder = Path(__file__).parents[2] / "data" / "yunikorn"
    reading = yunikorn.read(now=1789999900.0, **{p.stem: p.read_bytes() for p in folder.glob("*.json")})
    assert {name: row["triggered"] for name, row in reading.state.requests.items()} == {"web-1": "yes"}
    upstream = eh.policies.YuniKorn("upstream")
    plan = eh.plan(reading.snapshot, upstream, reading.state)
    assert plan.state.requests["web-1"]["triggered"] == "yes"
