"""The generator of synthetic clusters: same everywhere, of the sizes asked for, and interesting."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenhand as eh
from evenhand import synthetic
from evenhand.synthetic._stream import Stream, _mix, zipf
from evenhand.testing.invariants import check_shares

SIZES = ("pools", "operations", "allocations", "nodes")


def matrix(tables: dict[str, Any], table: str, field: str) -> np.ndarray:
    return np.stack([tables[table][f"{field}.{r}"] for r in tables["resources"]], axis=1)


def node_usage(tables: dict[str, Any]) -> np.ndarray:
    usage = np.zeros_like(matrix(tables, "nodes", "capacity"))
    np.add.at(usage, tables["allocations"]["node_index"], matrix(tables, "allocations", "resources"))
    return usage


def usage_and_demand(tables: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Shares of the cluster, (R,)."""
    total = matrix(tables, "nodes", "capacity").sum(axis=0)
    usage = matrix(tables, "allocations", "resources").sum(axis=0)
    waiting = (matrix(tables, "requests", "resources") * tables["requests"]["count"][:, None]).sum(axis=0)
    return usage / total, (usage + waiting) / total


@pytest.fixture(scope="module")
def demo() -> dict[str, Any]:
    return synthetic.columns(seed=7)


def test_words_are_those_of_splitmix64() -> None:
    steps = np.arange(1, 4, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    assert [int(w) for w in _mix(steps)] == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


def test_stream_continues_where_it_stopped() -> None:
    whole, parts = Stream(3, "x"), Stream(3, "x")
    assert whole.words(10).tolist() == [*parts.words(4), *parts.words(6)]


def test_streams_differ_by_seed_and_label() -> None:
    drawn = [tuple(Stream(seed, label).words(3)) for seed in (0, 1, -1) for label in ("a", "b")]
    assert len(set(drawn)) == len(drawn)


def test_stream_draws_within_bounds() -> None:
    stream = Stream(1, "x")
    assert 0 <= stream.uniform(1000).min() < 0.01 < 0.99 < stream.uniform(1000).max() < 1
    assert set(stream.integers(2, 5, 1000)) == {2, 3, 4}
    assert sorted(stream.order(100)) == list(range(100))


def test_stream_picks_in_proportion_to_weights() -> None:
    count = np.bincount(Stream(1, "x").pick([0.5, 0.0, 0.25, 0.25], 4000), minlength=4) / 4000
    assert count == pytest.approx([0.5, 0, 0.25, 0.25], abs=0.03)


def test_zipf() -> None:
    assert zipf(4).tolist() == [1, 1 / 2, 1 / 3, 1 / 4]


def test_demo_is_the_same_everywhere() -> None:
    # A change of this digest changes the bundled cluster: say so in the changelog.
    text = json.dumps(synthetic.cluster(seed=7), sort_keys=True)
    assert hashlib.sha256(text.encode()).hexdigest() == DEMO


def test_seeds_give_different_clusters() -> None:
    small = {"pools": 5, "depth": 2, "operations": 10, "allocations": 20, "nodes": 4}
    assert synthetic.cluster(seed=1, **small) != synthetic.cluster(seed=2, **small)
    assert synthetic.cluster(seed=1, **small) == synthetic.cluster(seed=1, **small)


def test_demo_has_the_promised_sizes(demo: dict[str, Any]) -> None:
    assert [len(demo[t]["name"]) for t in SIZES] == [300, 4_000, 40_000, 1_500]
    assert max(name.count("/") + 1 for name in demo["pools"]["name"]) == 5


def test_names_are_unique(demo: dict[str, Any]) -> None:
    for table in (*SIZES, "requests"):
        assert len(set(demo[table]["name"])) == len(demo[table]["name"])


def test_allocations_fit_on_their_nodes(demo: dict[str, Any]) -> None:
    assert (node_usage(demo) <= matrix(demo, "nodes", "capacity")).all()


def test_demo_is_contended(demo: dict[str, Any]) -> None:
    usage, demand = usage_and_demand(demo)
    assert 0.9 <= usage.max() <= 0.97
    assert 1.3 <= demand[0] <= 1.6
    assert (usage < demand).all()


def test_sizes_of_operations_follow_zipf(demo: dict[str, Any]) -> None:
    wanted = np.bincount(demo["allocations"]["operation_index"], minlength=4_000).astype(float)
    np.add.at(wanted, demo["requests"]["operation_index"], demo["requests"]["count"])
    ranked = np.sort(wanted)[::-1]
    # Ten times the rank, a tenth of the size: within what service and rounding change.
    assert 4 < ranked[0] / ranked[9] < 25
    assert 4 < ranked[9] / ranked[99] < 25


def test_demo_has_every_kind_of_thing(demo: dict[str, Any]) -> None:
    pools, operations = demo["pools"], demo["operations"]
    assert Counter(pools["mode"])["fifo"] >= 20
    assert {"burst", "relaxed"} <= set(pools["integral.type"])
    assert any(v for v in pools["integral.accumulated_volume.cpu"])
    assert sum(v is not None for v in pools["strong_guarantee.cpu"]) >= 20
    assert sum(v is not None for v in pools["limits.cpu"]) >= 10
    assert any(pools["priority_strong_guarantee"])
    assert any(pools["priority_donor"])
    assert operations["gang"].sum() >= 100
    assert 0 < (demo["nodes"]["capacity.gpu"] > 0).sum() < 750
    assert {"batch", "interactive", "inference"} == set(operations["kind"])


def test_gangs_run_as_a_whole(demo: dict[str, Any]) -> None:
    gangs = np.flatnonzero(demo["operations"]["gang"])
    running = set(demo["allocations"]["operation_index"].tolist())
    waiting = set(demo["requests"]["operation_index"].tolist())
    assert not [g for g in gangs.tolist() if g in running and g in waiting]
    assert [g for g in gangs.tolist() if g in running]
    assert [g for g in gangs.tolist() if g in waiting]


def test_some_requests_have_waited_long(demo: dict[str, Any]) -> None:
    waited = demo["now"] - demo["requests"]["submit_time"]
    assert (waited > 4 * 3600).sum() >= 100
    assert np.median(waited) < 3600
    started = demo["operations"]["start_time"][demo["requests"]["operation_index"]]
    assert (demo["requests"]["submit_time"] >= started).all()


def test_nothing_starts_before_its_operation_or_after_now(demo: dict[str, Any]) -> None:
    started = demo["operations"]["start_time"][demo["allocations"]["operation_index"]]
    assert (started <= demo["allocations"]["start_time"]).all()
    assert (demo["allocations"]["start_time"] <= demo["now"]).all()


def test_strong_guarantees_fit_their_parents(demo: dict[str, Any]) -> None:
    own = dict(zip(demo["pools"]["name"], demo["pools"]["strong_guarantee.cpu"], strict=True))
    inside = Counter[str | None]()
    for name, parent in zip(demo["pools"]["name"], demo["pools"]["parent"], strict=True):
        inside[parent] += own[name] or 0
    total = int(demo["nodes"]["capacity.cpu"].sum())
    assert 0 < inside.pop(None) < total
    assert all(used <= (own[parent] or 0) for parent, used in inside.items())


def test_fifo_pools_hold_operations_only(demo: dict[str, Any]) -> None:
    parents = set(demo["pools"]["parent"])
    pairs = zip(demo["pools"]["name"], demo["pools"]["mode"], strict=True)
    assert not [name for name, mode in pairs if mode == "fifo" and name in parents]


@given(
    st.fixed_dictionaries(
        {
            "pools": st.integers(4, 20),
            "depth": st.integers(1, 4),
            "operations": st.integers(1, 12),
            "allocations": st.integers(0, 60),
            "nodes": st.integers(1, 9),
            "resources": st.sampled_from([("cpu",), ("cpu", "memory", "gpu"), ("user_slots", "cpu", "gpu")]),
            "seed": st.integers(0, 2**64),
        }
    )
)
def test_small_clusters_have_the_sizes_asked_for(parameters: dict[str, Any]) -> None:
    tables = synthetic.columns(**parameters)
    assert all(len(tables[t]["name"]) == parameters[t] for t in SIZES)
    assert max(name.count("/") + 1 for name in tables["pools"]["name"]) == parameters["depth"]
    assert (node_usage(tables) <= matrix(tables, "nodes", "capacity")).all()


def test_a_cluster_may_have_no_operations() -> None:
    data = synthetic.cluster(pools=2, depth=1, operations=0, allocations=0, nodes=2, seed=1)
    assert (data["operations"], data["allocations"], data["requests"]) == ([], [], [])


def test_rows_say_the_same_as_columns() -> None:
    small = {"pools": 9, "depth": 3, "operations": 15, "allocations": 60, "nodes": 6, "seed": 5}
    tables, data = synthetic.columns(**small), synthetic.cluster(**small)
    first = data["allocations"][0]
    operation = tables["allocations"]["operation_index"][0]
    assert first["operation"] == tables["operations"]["name"][operation]
    assert first["node"] == tables["nodes"]["name"][tables["allocations"]["node_index"][0]]
    assert (
        sum(row["resources"].get("gpu", 0) for row in data["allocations"])
        == tables["allocations"]["resources.gpu"].sum()
    )
    assert [row.get("parent") for row in data["pools"]] == tables["pools"]["parent"]


def test_rows_and_columns_build_the_same_snapshot() -> None:
    small = {"pools": 9, "depth": 3, "operations": 15, "allocations": 60, "nodes": 6, "seed": 5}
    from_rows = eh.Snapshot.from_dict(synthetic.cluster(**small))
    assert from_rows == eh.Snapshot.from_frames(**synthetic.columns(**small))


@given(st.integers(0, 2**32))
def test_any_seed_gives_a_valid_snapshot(seed: int) -> None:
    small = synthetic.columns(pools=12, depth=3, operations=20, allocations=90, nodes=8, seed=seed)
    snapshot = eh.Snapshot.from_frames(**small)
    check_shares(eh.fair_share(snapshot), ties=True)


def test_demo_has_pools_and_operations_above_and_below_their_share() -> None:
    snapshot = synthetic.demo()
    assert snapshot == synthetic.demo()
    shares = eh.fair_share(snapshot, eh.FairShareSettings(step_function_for_gang=True, fifo_reordering=True))
    check_shares(shares)
    assert not shares.diagnostics
    fair, usage = shares["fair_share"], shares["usage_share"]
    pools = np.arange(len(fair)) < snapshot.pool_count
    above, below = (usage > fair + 1e-9).any(axis=1), (usage < 0.8 * fair - 1e-9).any(axis=1)
    assert (above & pools).sum() >= 30
    assert (below & ~above & pools).sum() >= 30
    assert (above & ~pools).sum() >= 200
    assert (below & ~above & ~pools).sum() >= 200
    for part in ("strong_guarantee", "integral_guarantee", "weight_proportional"):
        assert shares[f"fair_share.{part}"].any()
    assert shares["promised_guarantee_fair_share"].any()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"depth": 0}, "depth is at least 1"),
        ({"pools": 2, "depth": 3}, "pools is at least depth"),
        ({"operations": -1}, "operations is -1; it must be a whole number from 0"),
        ({"operations": 0}, "allocations need operations"),
        ({"nodes": 0}, "nodes is at least 1"),
        ({"resources": ("cpu", "disk")}, "among cpu, memory, gpu, user_slots"),
        ({"resources": ("gpu",)}, "include cpu"),
        ({"utilization": 1.5}, "utilization is at least 0.001 and at most 1"),
        ({"utilization": 0.000999}, "utilization is at least 0.001 and at most 1"),
        ({"utilization": 5e-324}, "utilization is at least 0.001 and at most 1"),
        ({"contention": 0.5}, "contention is at least utilization"),
    ],
)
def test_parameters_out_of_range_are_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        synthetic.columns(seed=1, **parameters)


@pytest.mark.parametrize("utilization", [0.001, 1.0])
def test_the_ends_of_utilization_are_taken(utilization: float) -> None:
    rows = synthetic.columns(operations=50, allocations=400, nodes=10, utilization=utilization, seed=1)
    assert len(rows["allocations"]["name"]) == 400


DEMO = "e9fd489f8fc38e1558f892bc38077f8e85930b1059c5fee3764de71ee91d881a"
