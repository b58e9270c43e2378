"""A production GPU tree of YTsaurus: the shares that the real scheduler computed, and two other rule sets."""

from __future__ import annotations

import csv
from typing import Any

import numpy as np
import pytest

from tests.conformance.engines import ENGINES, ROOT, Result
from tests.shared import shared

pytestmark = pytest.mark.shared

RESOURCES = ("user_slots", "cpu", "gpu", "user_memory")
TOTAL = {"user_slots": 124992, "cpu": 93818.4, "gpu": 5952, "user_memory": 754088408226001}
GPU = RESOURCES.index("gpu")
TOLERANCE = 1e-9
POOL_0 = "whole of pool0"
"""Stands for the operations of pool0, which the file leaves out."""


@pytest.fixture(scope="module")
def rows() -> list[dict[str, str]]:
    with shared("traces", "yt-gpu-tree", "gpu_tree_subset.csv").open(newline="") as lines:
        return list(csv.DictReader(lines))


def snapshot(rows: list[dict[str, str]]) -> dict[str, Any]:
    def amounts(row: dict[str, str], what: str) -> dict[str, float]:
        return {r: float(row[f"{what}_{r}"]) for r in RESOURCES}

    pools, operations = [], []
    for row in rows:
        common = {"name": row["name"], "weight": float(row["weight"])}
        parent = None if row["parent"] == ROOT else row["parent"]
        if row["kind"] == "operation":
            given = {"demand": amounts(row, "demand"), "usage": amounts(row, "usage")}
            operations.append({**common, "pool": parent, "gang": row["operation_type"] == "vanilla", **given})
        elif row["name"] != ROOT:
            guarantee = {"gpu": float(row["guarantee_gpu"])} if float(row["guarantee_gpu"] or 0) else {}
            pools.append({**common, "parent": parent, "mode": row["mode"], "strong_guarantee": guarantee})
    operations.append({"name": POOL_0, "pool": "pool0", "demand": {"gpu": TOTAL["gpu"]}})
    return {
        "resources": {r: {"quantum": 0.01 if r == "cpu" else 1} for r in RESOURCES},
        "total": TOTAL,
        "pools": pools,
        "operations": operations,
    }


def shares(rows: list[dict[str, str]], engine: str, **options: bool) -> Result:
    return ENGINES[engine](snapshot(rows), {"main_resource": "cpu", **options}, None)


def gpu(result: Result, name: str) -> float:
    row = result.row(name)
    assert row is not None
    return float(result.quantities("fair_share")[row][GPU])


@pytest.mark.parametrize("engine", ENGINES)
def test_without_gang_rules(rows: list[dict[str, str]], engine: str) -> None:
    result = shares(rows, engine)
    assert gpu(result, "pool542") == pytest.approx(100 / 101 * 148 / 5952, abs=TOLERANCE)
    assert gpu(result, "pool542") == pytest.approx(0.02461939742361, abs=TOLERANCE)
    for name in ("operation730", "pool563"):
        assert gpu(result, name) == pytest.approx(0.004454225664501946, abs=TOLERANCE)
    assert gpu(result, "pool0") == pytest.approx(0.9753806025764, abs=TOLERANCE)


@pytest.mark.parametrize("engine", ENGINES)
def test_fifo_truncation_gives_what_production_recorded(rows: list[dict[str, str]], engine: str) -> None:
    result = shares(rows, engine, fifo_truncation=True)
    names = ["fair_share_memory" if r == "user_memory" else f"fair_share_{r}" for r in RESOURCES]
    pools = [r for r in rows if r["kind"] == "pool" and "pool542" in (r["name"], r["parent"])]
    operations = [r for r in rows if r["kind"] == "operation"]
    assert (len(pools), len(operations)) == (23, 48)
    for row in pools + operations:
        got = result.quantities("fair_share")[result.rows[row["kind"], row["name"]]]
        np.testing.assert_allclose(
            got, [float(row[n]) for n in names], rtol=0, atol=TOLERANCE, err_msg=row["name"]
        )
    assert gpu(result, "pool542") == pytest.approx(0.01839911813762, abs=TOLERANCE)


@pytest.mark.parametrize("engine", ENGINES)
def test_gang_steps(rows: list[dict[str, str]], engine: str) -> None:
    result = shares(rows, engine, step_function_for_gang=True)
    assert gpu(result, "operation730") == pytest.approx(28 / 5952, abs=TOLERANCE)
    assert gpu(result, "pool542") == pytest.approx(111 / 5952, abs=TOLERANCE)
    for name in ("operation741", "operation720"):
        assert not result.quantities("fair_share")[result.row(name)].any()
