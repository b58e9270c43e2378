"""The strategies make what they promise, refuse wrong arguments, and shrink to something small."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

import evenhand as eh
from evenhand.errors import MissingExtraError
from evenhand.testing import _hypothesis
from evenhand.testing import strategies as es

SHRUNK = settings.get_profile("search")
UNSHRUNK = settings(SHRUNK, phases=[Phase.generate])
CPU = {"cpu": {"quantum": 0.25}, "gpu": {"quantum": 1}}


def multiple(amount: float, quantum: float) -> bool:
    return abs(amount / quantum - round(amount / quantum)) <= 1e-9 * max(1, abs(amount / quantum))


@given(es.resource_spaces(min_size=2, max_size=3))
def test_resource_spaces(space: dict[str, Any]) -> None:
    assert 2 <= len(space) <= 3
    assert all(fields["quantum"] > 0 for fields in space.values())


@given(es.resource_vectors(CPU, min_quanta=3, max_quanta=9))
def test_resource_vectors(vector: dict[str, float]) -> None:
    assert list(vector) == ["cpu", "gpu"]
    assert 0.75 <= vector["cpu"] <= 2.25
    assert multiple(vector["cpu"], 0.25)
    assert 3 <= vector["gpu"] <= 9


@given(es.resource_vectors(("a", "b")))
def test_resource_vectors_of_names_have_quantum_one(vector: dict[str, float]) -> None:
    assert all(isinstance(amount, int) for amount in vector.values())


@given(es.pools(CPU, max_quanta=100))
def test_pools_stay_within_the_total(pool: dict[str, Any]) -> None:
    for field in ("strong_guarantee", "limits"):
        assert all(0 <= v <= 100 and multiple(v, CPU[r]["quantum"]) for r, v in pool.get(field, {}).items())
    assert pool.get("integral", {}).get("type", "none") != "relaxed" or "burst" not in pool["integral"]


@given(
    es.pools(
        CPU,
        allow_guarantees=False,
        allow_limits=False,
        allow_fifo=False,
        allow_integral=False,
        allow_gangs=False,
    )
)
def test_pools_leave_out_what_is_not_allowed(pool: dict[str, Any]) -> None:
    assert set(pool) <= {"weight", "order"}


@given(es.pool_trees(es.pools(CPU), min_size=2, max_size=7, max_depth=3))
def test_pool_trees(tree: list[dict[str, Any]]) -> None:
    assert 2 <= len(tree) <= 7
    check_tree(tree, 3)


def check_tree(tree: list[dict[str, Any]], max_depth: int | None) -> None:
    rows = {}
    for pool in tree:
        above = []
        parent = pool["parent"]
        while parent is not None:
            above.append(rows[parent])  # only earlier pools are there yet
            parent = rows[parent]["parent"]
        assert max_depth is None or len(above) < max_depth
        assert not any(a.get("mode") == "fifo" for a in above)
        kinds = [row.get("integral", {}).get("type", "none") for row in (pool, *above)]
        assert kinds[0] == "none" or set(kinds[1:]) <= {"none"}
        rows[pool["name"]] = pool
    assert len(rows) == len(tree)


@given(es.operations(CPU, pools=("a", 7), max_quanta=100))
def test_operations(operation: dict[str, Any]) -> None:
    assert operation["pool"] in {None, "a", 7}
    usage = operation.get("usage", {})
    assert all(usage.get(r, 0) <= operation["demand"][r] <= 120 for r in CPU)


@given(es.nodes(CPU, min_quanta=4, max_quanta=8))
def test_nodes(node: dict[str, Any]) -> None:
    assert 1 <= node["capacity"]["cpu"] <= 2
    assert 4 <= node["capacity"]["gpu"] <= 8


@given(st.data())
def test_allocations_fit_on_their_nodes(data: st.DataObject) -> None:
    rows = data.draw(st.lists(es.nodes(CPU), min_size=1, max_size=3))
    nodes = [{"name": i, **row} for i, row in enumerate(rows)]
    table = data.draw(es.allocations(CPU, nodes, ["x", "y"], max_size=20))
    check_fit(nodes, table)
    assert {row["operation"] for row in table} <= {"x", "y"}


def check_fit(nodes: list[dict[str, Any]], allocations: list[dict[str, Any]]) -> None:
    for node in nodes:
        there = [row["resources"] for row in allocations if row["node"] == node["name"]]
        for r, capacity in node["capacity"].items():
            assert sum(resources[r] for resources in there) <= capacity * (1 + 1e-12)


@given(es.requests(CPU, ["x"], max_quanta=50))
def test_requests(request: dict[str, Any]) -> None:
    assert request["operation"] == "x"
    assert all(amount <= 50 for amount in request["resources"].values())


@pytest.mark.parametrize("ties", [False, True])
@given(data=st.data())
def test_snapshot_dicts_keep_the_rules(ties: bool, data: st.DataObject) -> None:
    drawn = data.draw(es.snapshot_dicts(max_depth=4, ties=ties))
    check_tree(drawn["pools"], 4)
    pools = {None, *(pool["name"] for pool in drawn["pools"])}
    assert all(row["pool"] in pools for row in drawn["operations"])
    if "total" in drawn:
        for row in drawn["operations"]:
            assert all(row.get("usage", {}).get(r, 0) <= row["demand"][r] for r in drawn["resources"])
    else:
        check_fit(drawn["nodes"], drawn["allocations"])


@given(
    es.snapshot_dicts(min_pools=2, max_pools=3, min_operations=4, max_operations=5, min_nodes=1, max_nodes=2)
)
def test_snapshot_dicts_are_of_the_sizes_asked_for(drawn: dict[str, Any]) -> None:
    assert 2 <= len(drawn["pools"]) <= 3
    assert 4 <= len(drawn["operations"]) <= 5
    assert 1 <= len(drawn["nodes"]) <= 2


@pytest.mark.parametrize("ties", [False, True])
@given(data=st.data())
def test_snapshots_are_valid(ties: bool, data: st.DataObject) -> None:
    snapshot = data.draw(es.snapshots(ties=ties))
    settings = data.draw(es.fair_share_settings(snapshot.resources, allow_older=True))
    assert isinstance(snapshot, eh.Snapshot)
    assert settings.main_resource in snapshot.resources


@given(es.fair_share_settings(allow_gangs=False))
def test_settings_leave_out_what_is_not_allowed(settings: eh.FairShareSettings) -> None:
    assert not settings.step_function_for_gang
    assert not settings.promised_fair_share


def test_types_are_registered_with_hypothesis() -> None:
    _hypothesis.register()
    assert isinstance(find(st.from_type(eh.Snapshot), lambda _: True, settings=UNSHRUNK), eh.Snapshot)
    settings = find(st.from_type(eh.FairShareSettings), lambda _: True, settings=UNSHRUNK)
    assert isinstance(settings, eh.FairShareSettings)


@given(es.snapshot_dicts(min_operations=2, max_nodes=0, allow_gangs=False))
def test_generic_amounts_are_never_equal(drawn: dict[str, Any]) -> None:
    # Amounts above zero differ by design, also when hypothesis draws the same percentages.
    for r in drawn["resources"]:
        demands = [row["demand"][r] for row in drawn["operations"] if row["demand"][r]]
        assert len(set(demands)) == len(demands) or drawn["total"][r] == 0


WANTED: dict[str, Callable[[dict[str, Any]], bool]] = {
    "contention": lambda d: any(
        sum(o["demand"][r] for o in d["operations"]) > d["total"][r] > 0 for r in d["total"]
    ),
    "fifo": lambda d: any(
        p.get("mode") == "fifo" and sum(o["pool"] == p["name"] for o in d["operations"]) > 1
        for p in d["pools"]
    ),
    "depth": lambda d: len({p["parent"] for p in d["pools"]}) > 2,
    "gang": lambda d: any(o.get("gang") and any(o["demand"].values()) for o in d["operations"]),
    "burst": lambda d: any(p.get("integral", {}).get("type") == "burst" for p in d["pools"]),
    "relaxed with volume": lambda d: any(
        p.get("integral", {}).get("type") == "relaxed" and "accumulated_volume" in p["integral"]
        for p in d["pools"]
    ),
    "overcommit": lambda d: any(
        sum(p.get("strong_guarantee", {}).get(r, 0) for p in d["pools"] if p["parent"] is None)
        > d["total"][r]
        > 0
        for r in d["total"]
    ),
    "no such resource": lambda d: 0 in d["total"].values() and any(d["total"].values()),
    "integer names": lambda d: any(isinstance(o["name"], int) for o in d["operations"]),
    "usage": lambda d: any(any(o.get("usage", {}).values()) for o in d["operations"]),
}


@pytest.mark.parametrize("feature", WANTED)
def test_snapshot_dicts_reach_every_feature(feature: str) -> None:
    find(es.snapshot_dicts(max_nodes=0), WANTED[feature], settings=UNSHRUNK)


def test_snapshot_dicts_shrink_to_what_matters() -> None:
    def below_two(data: dict[str, Any]) -> bool:
        return any(row["pool"] == "p1" and row.get("gang") for row in data["operations"])

    small = es.snapshot_dicts(es.resource_spaces(max_size=3), max_pools=3, max_operations=3, max_nodes=0)
    drawn = find(small, below_two, settings=SHRUNK)
    assert len(drawn["pools"]) <= 3
    assert [set(row) for row in drawn["operations"]] == [{"name", "pool", "gang", "demand"}]
    # Older versions of hypothesis may leave more than one resource.
    assert set(drawn["total"].values()) == {0}


def test_nasty_shapes_occur(monkeypatch: pytest.MonkeyPatch) -> None:
    from evenhand.testing.strategies import _nasty

    left = set(es.NASTY)
    for shape in es.NASTY:
        monkeypatch.setitem(_nasty.SHAPES, shape, lambda raw, shape=shape: left.discard(shape))
    find(es.snapshot_dicts(ties=True), lambda _: not left, settings=UNSHRUNK)


def test_the_smallest_snapshot_is_nearly_empty() -> None:
    for ties in (False, True):
        least = find(es.snapshot_dicts(ties=ties), lambda _: True, settings=SHRUNK)
        assert (least["pools"], least["operations"], len(least["resources"])) == ([], [], 1)


@pytest.mark.parametrize(
    "strategy",
    [
        es.fair_share_settings([]),
        es.resource_spaces(min_size=0),
        es.resource_spaces(max_size=17),
        es.resource_spaces(min_size=3, max_size=2),
        es.resource_vectors(CPU, min_quanta=-1),
        es.resource_vectors(CPU, max_quanta=2**61),
        es.resource_vectors(CPU, max_quanta=1.5),  # type: ignore[arg-type]
        es.pools(CPU, max_quanta=-1),
        es.pool_trees(es.pools(CPU), min_size=-1),
        es.pool_trees(es.pools(CPU), max_depth=0),
        es.operations(CPU, max_quanta=-1),
        es.nodes(CPU, min_quanta=2, max_quanta=1),
        es.allocations(CPU, [], ["x"], min_size=1),
        es.requests(CPU, []),
        es.snapshot_dicts(min_pools=5, max_pools=4),
        es.snapshot_dicts(max_operations=-1),
        es.snapshot_dicts(max_allocations=-1),
        es.snapshot_dicts(max_depth=0),
    ],
    ids=repr,
)
def test_wrong_arguments_are_refused_when_drawn(strategy: st.SearchStrategy[Any]) -> None:
    with pytest.raises(InvalidArgument):
        find(strategy, lambda _: True)


def test_without_hypothesis_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "evenhand.testing.strategies")
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    with pytest.raises(MissingExtraError, match=r'pip install "evenhand\[test\]"'):
        importlib.import_module("evenhand.testing.strategies")
