"""The published fair share method (cpp/bench/published) on a case of the fair share format.

The module `_yardstick` is built by ``cmake --preset bench && cmake --build --preset bench``.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from tests.conformance.ytsaurus.fair_share_input import QUANTUM, RESOURCES

BUILD = Path(__file__).parents[2] / "build" / "bench" / "cpp" / "bench"
INTEGRAL = {"none": 0, "burst": 1, "relaxed": 2}

Row = Mapping[str, Any]


def built() -> bool:
    """Whether the extension is there."""
    return any(BUILD.glob("_yardstick*.so"))


@functools.cache
def load() -> ModuleType:
    """Import the extension from the build folder."""
    path = next(BUILD.glob("_yardstick*.so"))
    spec = importlib.util.spec_from_file_location("_yardstick", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read(case: Row) -> Any:
    """Turn a case into the yardstick's input; its `fair_share()` gives the root, pools, then operations."""
    pools = [{}, *_parents_first(case["pools"])]
    index = {"root": 0} | {pool["id"]: row for row, pool in enumerate(pools) if row}
    integral = [pool.get("integral", {}) for pool in pools]
    options = {
        name: bool(case["options"].get(name, False))
        for name in ("improved", "improved_gap", "step_function_for_gang")
    }
    previous = case.get("previous")
    head = {
        "options": options,
        "saturation_period": case["options"].get("integral_pool_capacity_saturation_period_s", 86400.0),
        "smooth_period": case["options"].get("integral_smooth_period_s", 60.0),
        "elapsed": -1.0 if previous is None else case["now"] - previous,
        "total": _amounts([case["total"]])[0],
        "rounded": [resource == "cpu" for resource in RESOURCES],
        "main_resource": RESOURCES.index(case["options"].get("main_resource", "cpu")),
    }
    pool_columns = {
        "parent": [-1] + [index[pool["parent"]] for pool in pools[1:]],
        "weight": [pool.get("weight", 1.0) for pool in pools],
        "fifo": [pool.get("mode") == "fifo" for pool in pools],
        "gang_steps": [pool.get("step_function_for_gang", True) for pool in pools],
        **_optional(pools, "strong_guarantee", "strong", "strong_given"),
        **_optional(pools, "limits", "limits", "limited"),
        "integral": [INTEGRAL[settings.get("type", "none")] for settings in integral],
        "flow": _amounts([settings.get("resource_flow", {}) for settings in integral]),
        "burst": _amounts([settings.get("burst", {}) for settings in integral]),
        "multiplier": [settings.get("relaxed_share_multiplier_limit", 3.0) for settings in integral],
        "volume": _quanta([settings.get("accumulated_volume", {}) for settings in integral]),
        "last_ratio": [settings.get("last_share_ratio", 0.0) for settings in integral],
    }
    rows = case["operations"]
    operation_columns = {
        "pool": [index[row.get("pool", "root")] for row in rows],
        "weight": [row.get("weight", 1.0) for row in rows],
        "gang": [bool(row.get("gang", False)) for row in rows],
        "fifo_start": [row.get("fifo_start_time", 0.0) for row in rows],
        **_optional(rows, "limits", "limits", "limited"),
        "demand": _amounts([row.get("demand", {}) for row in rows]),
        "usage": _amounts([row.get("usage", {}) for row in rows]),
    }
    return load().Input(head, pool_columns, operation_columns)


def check_value(shares: np.ndarray, pool_count: int) -> float:
    """Sum over operations of the largest component of the total fair share."""
    return float(shares[pool_count:].max(axis=1).sum())


def _amounts(rows: Sequence[Row]) -> np.ndarray:
    """Whole numbers of quanta; what is absent is 0."""
    return np.round(_quanta(rows))


def _quanta(rows: Sequence[Row]) -> np.ndarray:
    matrix = np.array([[row.get(resource, 0) for resource in RESOURCES] for row in rows], dtype=np.float64)
    return matrix.reshape(len(rows), len(RESOURCES)) / [QUANTUM[r] for r in RESOURCES]


def _optional(rows: Sequence[Row], field: str, amounts: str, mask: str) -> dict[str, Any]:
    given = [row.get(field, {}) for row in rows]
    bits = [sum(1 << r for r, resource in enumerate(RESOURCES) if resource in values) for values in given]
    return {amounts: _amounts(given), mask: bits}


def _parents_first(pools: Sequence[Row]) -> list[Row]:
    """Pools in their order, but none before its parent."""
    done, waiting = {"root"}, list(pools)
    ordered: list[Row] = []
    while waiting:
        ready = [pool for pool in waiting if pool["parent"] in done]
        ordered += ready
        done |= {pool["id"] for pool in ready}
        waiting = [pool for pool in waiting if pool["id"] not in done]
    return ordered
