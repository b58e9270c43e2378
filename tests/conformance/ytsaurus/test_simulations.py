"""The simulations among the cases on YTsaurus' preemption, for any spread of heartbeats."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from tests.shared import shared

SEEDS = 100


def simulations() -> list[dict[str, Any]]:
    document = json.loads(shared("cases", "ytsaurus-preemption.json").read_text())
    found = [case for case in document["cases"] if case["kind"] == "simulation"]
    return [{**case, "config": {**document["default_config"], **case["config"]}} for case in found]


def simulated(case: dict[str, Any], seed: int | None) -> eh.simulate.Result:
    """One run; victims leave at once, as there."""
    config = case["config"]
    nodes: list[dict[str, Any]] = []
    for group in case["cluster"]["nodes"]:
        nodes += [
            {"name": f"node{len(nodes) + i}", "capacity": group["resources"]} for i in range(group["count"])
        ]
    resources: dict[str, Any] = {name: {} for name in nodes[0]["capacity"]}
    pools = [
        {"name": p["id"]} if p["parent"] == "root" else {"name": p["id"], "parent": p["parent"]}
        for p in case["pools"]
    ]
    work = eh.simulate.Workload(
        [
            {
                "name": o["id"],
                "pool": o["pool"],
                "submit_time": o["start_time_s"],
                "count": o["jobs"]["count"],
                "run_time": o["jobs"]["duration_s"],
                "resources": o["jobs"]["resources"],
            }
            for o in case["operations"]
        ],
        resources=resources,
    )
    names = (
        "fair_share_starvation_tolerance",
        "preemption_satisfaction_threshold",
        "aggressive_preemption_satisfaction_threshold",
        "non_preemptible_resource_usage_threshold",
    )
    policy = eh.policies.YTsaurus(
        "upstream",
        fair_share_starvation_timeout=config["fair_share_starvation_timeout_s"],
        preemptive_scheduling_backoff=config["preemptive_scheduling_backoff_s"],
        allocation_preemption_timeout=0,
        **{name: config[name] for name in names},
    )
    snapshot = eh.Snapshot.from_dict({"resources": resources, "nodes": nodes, "pools": pools})
    return eh.simulate(snapshot, policy, work, rng=seed, heartbeat_period=config["heartbeat_period_s"])


def within(value: float, bounds: Any, slack: float = 0.0) -> bool:
    low, high = (bounds["min"], bounds["max"]) if isinstance(bounds, dict) else (bounds, bounds)
    return bool(low - slack <= value <= high + slack)


@pytest.mark.shared
def test_simulations_stay_within_their_bounds() -> None:
    cases = simulations()
    assert len(cases) == 3
    for case in cases:
        for seed in (None, *range(SEEDS)):
            result = simulated(case, seed)
            runs, operations = result.raw["allocations"], result.raw["operations"]
            lengths = (runs["end"] - runs["start"]) / 1e6
            for row, name in enumerate(result.operation_names):
                expected = case["expect"][str(name)]
                mine = runs["operation"] == row
                preempted = mine & np.isin(runs["outcome"], [2, 3])
                said = {
                    "job_count": (operations["completed"][row], 0),
                    "preempted_job_count": (preempted.sum(), 0),
                    "jobs_total_duration_s": (lengths[mine].sum(), 1),
                    "job_max_duration_s": (lengths[mine].max(), 1),
                    "preempted_jobs_total_duration_s": (lengths[preempted].sum(), 1),
                    "start_time_s": (operations["submit"][row] / 1e6, 1),
                }
                for key, bounds in expected.items():
                    assert within(said[key][0], bounds, said[key][1]), (case["id"], seed, name, key)
