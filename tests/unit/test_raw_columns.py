"""The core's own door: raw columns in, canonical columns out."""

from __future__ import annotations

import gc
import threading
from typing import Any

import numpy as np
import pytest

from evenhand import _core

Columns = dict[str, Any]


def head(resources: int = 2, **changes: Any) -> Columns:
    return {
        "resources": [f"r{i}" for i in range(resources)],
        "quantum": np.ones(resources),
        "kind": np.full(resources, 4, dtype=np.uint8),
        "scope": np.zeros(resources, dtype=np.uint8),
        "available_after_preemption": np.ones(resources, dtype=bool),
        **changes,
    }


def operations(**columns: Any) -> dict[str, Columns]:
    return {"operations": {"name": ["b", "a"], **columns}}


def problems(tables: dict[str, Columns], **changes: Any) -> list[tuple[str, int, str, str, str]]:
    with pytest.raises(_core.InvalidColumns) as caught:
        _core.build_snapshot(head(**changes), tables)
    assert caught.value.total >= len(caught.value.problems)
    return [p[:5] for p in caught.value.problems]


def test_empty_snapshot() -> None:
    snapshot = _core.build_snapshot(head(), {})
    assert (snapshot.resource_count, snapshot.pool_count, snapshot.operation_count) == (2, 1, 0)
    assert (snapshot.node_count, snapshot.allocation_count) == (0, 0)
    assert (snapshot.request_count, snapshot.reservation_count) == (0, 0)
    assert snapshot.names("pools") == ["<Root>"]
    assert snapshot.permutation("pools").tolist() == [-1]
    assert snapshot.column("operations", "demand").shape == (0, 2)
    assert (snapshot.now, snapshot.previous_update) == (0, None)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["b", 10, "é", 9], [10, 9, "b", "é"]),
        (np.array([3, 20, 100]), [100, 20, 3]),
        (np.array([3, 20, 100], dtype=np.int16), [100, 20, 3]),
        ([2**80, -1], [-1, 2**80]),
        ((b"bac", np.array([0, 1, 2, 3])), ["a", "b", "c"]),
        ((np.frombuffer(b"bac", dtype=np.uint8), np.array([0, 1, 3])), ["ac", "b"]),
        ((memoryview(b"xbac")[1:], np.array([0, 1, 3]), np.array([True, True])), ["ac", "b"]),
    ],
)
def test_forms_of_names(names: Any, expected: list[str | int]) -> None:
    snapshot = _core.build_snapshot(head(), {"nodes": {"name": names}})
    assert snapshot.names("nodes") == expected


@pytest.mark.parametrize(
    "pool",
    [
        {"pool": ["q", None]},
        {"pool": (b"q", np.array([0, 1, 1]), np.array([True, False]))},
        {"pool_index": np.array([0, -1])},
        {"pool_index": np.array([0, -1], dtype=np.int32)},
    ],
)
def test_forms_of_references(pool: Columns) -> None:
    tables = {"pools": {"name": ["q", "p"]}, **operations(**pool)}
    snapshot = _core.build_snapshot(head(), tables)
    assert snapshot.permutation("pools").tolist() == [-1, 1, 0]
    assert snapshot.names("operations") == ["a", "b"]
    assert snapshot.column("operations", "pool").tolist() == [0, 2]
    offsets, items = snapshot.children()
    assert (offsets.tolist(), items.tolist()) == ([0, 3, 3, 4], [1, 2, 3, 4])


@pytest.mark.parametrize(
    "demand",
    [
        np.array([[3.0, 4.0], [1.0, 2.0]]),
        np.array([[3, 4], [1, 2]]),
        np.asfortranarray([[3.0, 4.0], [1.0, 2.0]]),
        np.array([[3.0, 0, 4.0, 0], [1.0, 0, 2.0, 0]])[:, ::2],
        (np.array([[3.0, 4.0], [1.0, 2.0]]), np.ones((2, 2), dtype=bool)),
        (np.array([[3.0, 4.0], [1.0, 2.0]], dtype=np.float32), None),
    ],
)
def test_forms_of_amounts(demand: Any) -> None:
    snapshot = _core.build_snapshot(head(), operations(demand=demand))
    assert snapshot.column("operations", "demand").tolist() == [[1, 2], [3, 4]]


def test_masked_cells() -> None:
    limits = (np.array([[np.nan, 4.0], [1.0, 2.0]]), np.array([[False, True], [True, True]]))
    weight = (np.array([np.nan, 2.0]), np.array([False, True]))
    snapshot = _core.build_snapshot(head(), operations(limits=limits, weight=weight))
    assert snapshot.column("operations", "limits").tolist() == [[1, 2], [0, 4]]
    assert snapshot.column("operations", "limits_given").tolist() == [0b11, 0b10]
    assert snapshot.column("operations", "weight").tolist() == [2.0, 1.0]


def test_times_by_dtype() -> None:
    seconds = _core.build_snapshot(head(now=2.5), operations(start_time=np.array([1.5, 0.0])))
    micros = _core.build_snapshot(head(now=2_500_000), operations(start_time=np.array([1_500_000, 0])))
    assert seconds.column("operations", "start_time").tolist() == [0, 1_500_000]
    assert seconds.now == 2_500_000
    assert seconds.fingerprint() == micros.fingerprint()


def test_text_columns() -> None:
    tags = (["ssd", "gpu", "unused"], np.array([0, 2, 3]), np.array([0, 1, 0], dtype=np.int32))
    user = (["zoe", "ann"], np.array([0, -1], dtype=np.int32))
    tables = {"nodes": {"name": ["n", "m"], "tags": tags}, **operations(user=user)}
    snapshot = _core.build_snapshot(head(), tables)
    values, codes = snapshot.text("operations", "user")
    assert (values, codes.tolist()) == (["zoe"], [-1, 0])
    values, offsets, codes = snapshot.text_list("nodes", "tags")
    assert (values, offsets.tolist(), codes.tolist()) == (["gpu", "ssd"], [0, 1, 3], [1, 1, 0])
    values, codes = snapshot.text("operations", "account")
    assert (values, codes.tolist()) == ([], [-1, -1])


def test_sparse_columns_read_as_their_defaults() -> None:
    tables = operations() | {
        "allocations": {"name": ["k"], "operation": ["a"], "start_time": np.array([7.0])}
    }
    snapshot = _core.build_snapshot(head(), tables)
    assert snapshot.column("allocations", "preemptible").tolist() == [1]
    assert snapshot.column("allocations", "node").tolist() == [-1]
    assert snapshot.column("allocations", "held").tolist() == [[0, 0]]
    assert snapshot.column("allocations", "last_job_start_time").tolist() == [7_000_000]
    assert np.isnan(snapshot.column("operations", "order")).all()
    assert snapshot.column("operations", "best_allocation_share").tolist() == [[1.0, 1.0]] * 2


def test_columns_are_read_only_and_outlive_the_snapshot() -> None:
    snapshot = _core.build_snapshot(head(), operations(weight=np.array([2.0, 3.0])))
    weight, kind = snapshot.column("operations", "weight"), snapshot.column("operations", "kind")
    del snapshot
    gc.collect()
    assert weight.tolist() == [3.0, 2.0]
    for column in (weight, kind):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1


def test_inputs_are_copied() -> None:
    weight = np.array([2.0, 3.0])
    snapshot = _core.build_snapshot(head(), operations(weight=weight))
    weight[:] = 9.0
    assert snapshot.column("operations", "weight").tolist() == [3.0, 2.0]


def test_every_problem_is_listed() -> None:
    tables = operations(
        weight=np.array([0.0, np.inf]), pool=["x", None], demand=np.array([[0.5, 1], [1, -1]])
    )
    assert sorted(problems(tables)) == [
        ("operations", 0, "b", "demand.r0", "quantum"),
        ("operations", 0, "b", "pool", "exists"),
        ("operations", 0, "b", "weight", "positive"),
        ("operations", 1, "a", "demand.r1", "non_negative"),
        ("operations", 1, "a", "weight", "finite"),
    ]


def test_lone_surrogates_are_problems_of_their_row() -> None:
    assert problems({"nodes": {"name": ["ok", "bad\ud800"]}}) == [("nodes", 1, "bad???", "name", "utf8")]
    user = (["ok", "\ud800"], np.array([0, 1], dtype=np.int32))
    assert problems(operations(user=user)) == [("operations", 1, "a", "user", "utf8")]


@pytest.mark.parametrize(
    ("tables", "text"),
    [
        (operations(weights=np.ones(2)), "table operations, column weights"),
        ({"jobs": {}}, "no table jobs"),
        (operations(weight=np.ones((2, 1))), "column weight: 1 dimensions"),
        (operations(weight=np.array(["x", "y"])), "column weight: dtype float64"),
        (operations(weight=np.array([1, 2], dtype=np.uint64)), "column weight: dtype int64"),
        (operations(demand=np.ones(4)), "column demand: 2 dimensions"),
        (operations(demand=np.ones((2, 3))), "column demand: one column a resource"),
        (operations(demand=(np.ones((2, 2)), np.ones(2))), "column demand: 2 dimensions"),
        (operations(kind=np.array([0.0, 1.0])), "column kind: dtype uint8"),
        (operations(pool_index=np.array([0.5, 1.0])), "column pool: dtype int64"),
        (operations(pool=[1.5, None]), "column pool: row 0 is of type float"),
        (operations(pool=[True, None]), "column pool: row 0 is of type bool"),
        (operations(user=["ann", "bob"]), "column user: a tuple"),
        (operations(user=(["ann", 3], np.zeros(2, dtype=np.int32))), "column user: a string"),
        (operations(pool=(b"", np.array([], dtype=np.int64))), "column pool: offsets"),
        (operations(pool=(np.zeros(3), np.zeros(3, dtype=np.int64))), "column pool: a flat buffer"),
        (operations(pool=("text", np.zeros(3, dtype=np.int64))), "column pool: bytes"),
    ],
)
def test_wrong_forms_are_type_errors(tables: dict[str, Columns], text: str) -> None:
    with pytest.raises(TypeError, match=text):
        _core.build_snapshot(head(), tables)


def test_wrong_heads_are_type_errors() -> None:
    with pytest.raises(TypeError, match="rounding"):
        _core.build_snapshot(head(), {}, "up")
    with pytest.raises(TypeError, match="now"):
        _core.build_snapshot(head(now="today"), {})
    with pytest.raises(TypeError, match="quantum"):
        _core.build_snapshot({"resources": ["cpu"]}, {})


def test_unknown_columns_are_key_errors() -> None:
    snapshot = _core.build_snapshot(head(), {})
    for ask in (
        lambda: snapshot.column("pools", "colour"),
        lambda: snapshot.column("pools", "name"),
        lambda: snapshot.text("operations", "demand"),
        lambda: snapshot.names("people"),
        lambda: snapshot.permutation("people"),
    ):
        with pytest.raises(KeyError):
            ask()


def test_threads_build_the_same() -> None:
    rng = np.random.default_rng(5)
    tables = {"nodes": {"name": rng.permutation(20_000), "capacity": rng.integers(0, 9, (20_000, 2))}}
    found: list[str] = []
    threads = [
        threading.Thread(target=lambda: found.append(_core.build_snapshot(head(), tables).fingerprint()))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [_core.build_snapshot(head(), tables).fingerprint()] * 4


def test_memory_of_an_allocation() -> None:
    count = 20_000
    allocations = {
        "name": np.arange(count),
        "operation_index": np.zeros(count, dtype=np.int64),
        "node_index": np.zeros(count, dtype=np.int64),
        "resources": np.ones((count, 5)),
        "start_time": np.arange(count),
    }
    few = {"operations": {"name": ["a"]}, "nodes": {"name": ["n"]}}
    base = _core.build_snapshot(head(5), few)
    full = _core.build_snapshot(head(5), few | {"allocations": allocations})
    assert (full.nbytes - base.nbytes) / count <= 100
