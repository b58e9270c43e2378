"""Drawn small simulations: a cluster, a policy of each system, and what comes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

import evenhand as eh

SYSTEMS = ("ytsaurus", "slurm", "backfill", "backendai", "yunikorn", "gridengine")


@dataclass(frozen=True)
class Drawn:
    """What a simulation is made of."""

    snapshot: eh.Snapshot
    policy: Any
    workload: eh.simulate.Workload
    clocks: dict[str, float]


def drawn(
    seed: int, system: str, change: Callable[[list[dict[str, Any]], list[dict[str, Any]]], None] | None = None
) -> Drawn:
    """Draw one from a seed: some ten operations on some three nodes, with interruptions.

    What it is made of (rows of jobs and events of nodes) may be changed before.
    """
    rng = np.random.default_rng(seed)
    nodes = int(rng.integers(1, 5))
    pools: list[dict[str, Any]] = [{"name": "a"}, {"name": "b", "weight": 2}, {"name": "c", "parent": "a"}]
    count = int(rng.integers(1, 14))
    rows = []
    for i in range(count):
        gang = bool(rng.random() < 0.2)
        wide = int(rng.integers(1, 5)) if rng.random() < 0.5 else 1
        row: dict[str, Any] = {
            "name": f"j{i:02d}",
            "submit_time": float(rng.integers(0, 120)) + float(rng.choice([0, 0.25])),
            "run_time": float(rng.integers(0, 90)),
            "count": min(wide, nodes * 2) if system == "ytsaurus" or not gang else wide,
            "resources": {"cpu": int(rng.integers(1, 5)), "memory": int(rng.integers(0, 5))},
            "pool": str(rng.choice(["a", "b", "c"])),
            "gang": gang,
        }
        if rng.random() < 0.3:
            row["checkpoint_every"] = float(rng.integers(1, 20))
        if rng.random() < 0.8:
            row["duration"] = row["run_time"] + float(rng.integers(1, 60))
        if rng.random() < 0.1:
            row["replica"] = True
        if wide > 1 and seed % 3 == 0:
            row["whole"] = True
        if rng.random() < 0.1:
            row["preemptible"] = False
        if system == "gridengine":
            row["reserve"] = bool(rng.random() < 0.7)
        if system in ("backendai", "yunikorn", "gridengine"):
            row["priority"] = int(rng.integers(0, 12))
        elif system in ("slurm", "backfill"):
            row["priority"] = int(rng.integers(1, 100))
            row["partition"] = str(rng.choice(["low", "high"]))
        rows.append(row)
    events = []
    for _ in range(int(rng.integers(0, 5))):
        word = str(rng.choice(["up", "down", "drain", "capacity"]))
        event = {"time": float(rng.integers(0, 200)), "node": f"n{int(rng.integers(1, nodes + 1))}"}
        events.append({**event, "event": word, "capacity.cpu": int(rng.integers(1, 9))})
    events += [
        {"time": 260.0, "node": f"n{i + 1}", "event": "capacity", "capacity.cpu": 8} for i in range(nodes)
    ]
    events += [{"time": 260.0, "node": f"n{i + 1}", "event": "up", "capacity.cpu": 8} for i in range(nodes)]
    hosts = [{"name": f"n{i + 1}", "capacity": {"cpu": 8, "memory": 16}} for i in range(nodes)]
    resources: dict[str, Any] = {"cpu": {"quantum": 1}, "memory": {}}
    policy, clocks = _policy(system, rng), _clocks(system, rng)
    if rng.random() < 0.4:
        policy = policy.replace(pace=_pace(rng))
    if system == "ytsaurus" and rng.random() < 0.5:
        policy = policy.replace(**_particulars(rng, rows, pools, hosts))
        resources["gpu"] = {}
    if change is not None:
        change(rows, events)
    workload = eh.simulate.Workload(rows, pools=pools, nodes=events, resources=resources)
    # What a table does not know is a setting of the row.
    snapshot = eh.Snapshot.from_dict({"now": 0, "resources": resources, "nodes": hosts, "pools": pools})
    return Drawn(snapshot, policy, workload, clocks)


def _pace(rng: np.random.Generator) -> dict[str, Any]:
    pace = {
        "victim_cooldown": float(rng.choice([5, 40])),
        "spare_if_ran_less_than": float(rng.choice([5, 20])),
        "spare_if_ends_within": 7.0,
        "max_victims_per_hour": int(rng.integers(0, 4)),
        "immune_hours": ["00:00:30-00:01:30 UTC"],
    }
    return {name: value for name, value in pace.items() if rng.random() < 0.5}


def _particulars(
    rng: np.random.Generator,
    rows: list[dict[str, Any]],
    pools: list[dict[str, Any]],
    hosts: list[dict[str, Any]],
) -> dict[str, Any]:
    """Put into rows what only YTsaurus knows: integral guarantees, limits, graceful mode, disks, hosts.

    Returns settings of the policy.
    """
    chosen = rng.random(5) < 0.4
    cpu = lambda most: {"cpu": int(rng.integers(1, most))}  # noqa: E731
    a, b, c = pools
    for host in hosts:
        host["capacity"]["gpu"] = 8
    settings: dict[str, Any] = {}
    if chosen[0]:
        ratio = float(rng.choice([1, 3]))
        relaxed = {"type": "relaxed", "resource_flow": cpu(4), "relaxed_share_multiplier_limit": ratio}
        (c if rng.random() < 0.5 else a)["integral"] = relaxed
        b["integral"] = {
            "type": "burst",
            "resource_flow": cpu(3),
            "burst": cpu(5),
            "accumulated_volume": {"cpu": int(rng.choice([0, 100, 1000]))},
        }
        saturation = float(rng.choice([60, 86400]))
        settings["fair_share"] = {"integral_pool_capacity_saturation_period_s": saturation}
    if chosen[1]:
        for element in (a, b, c, *rows):
            if rng.random() < 0.3:
                element["limits"] = cpu(12)
        if rng.random() < 0.5:
            settings["use_precommit_for_preemption"] = True
            settings["enable_infinite_resource_limits_overcommit"] = True
        if rng.random() < 0.5:
            b["settings"] = {"resource_limits_overcommit_tolerance": cpu(4)}
    graceful, disks = chosen[2], chosen[3]
    for row in rows:
        own: dict[str, Any] = {}
        if graceful and rng.random() < 0.4:
            own["preemption_mode"] = "graceful"
        if disks and rng.random() < 0.4:
            own["disk_media"] = ["fast"]
        if own:
            row["settings"] = own
    if graceful:
        settings["allocation_graceful_preemption_timeout"] = float(rng.choice([0, 20]))
    if disks:
        for host in hosts:
            host["tags"] = ["ssd"] if rng.random() < 0.6 else []
        a["settings"] = {"allow_regular_allocations_on_ssd_nodes": bool(rng.random() < 0.5)}
        stages = {"enable": True, "node_tag_filter": "ssd", "medium_names": ["fast"]}
        settings["ssd_priority_preemption"] = stages
    if chosen[4]:
        for row in rows:
            row["resources"]["gpu"] = 8 if rng.random() < 0.3 else int(rng.integers(0, 5))
        penalty = float(rng.choice([0, 100, 1e6]))
        stage = {"enable": True, "timeout": float(rng.choice([1, 20])), "max_preemption_penalty": penalty}
        settings["default_gpu_full_host_preemption"] = stage
    return settings


def _policy(system: str, rng: np.random.Generator) -> Any:
    if system == "ytsaurus":
        return eh.policies.YTsaurus(
            str(rng.choice(["documented", "upstream"])),
            fair_share_starvation_timeout=float(rng.choice([1, 5, 10])),
            fair_share_aggressive_starvation_timeout=float(rng.choice([10, 30])),
            enable_aggressive_starvation=bool(rng.random() < 0.5),
            allocation_preemption_timeout=float(rng.choice([0, 3, 30])),
            preemptive_scheduling_backoff=float(rng.choice([0, 5, 12])),
        )
    if system == "backendai":
        mode = str(rng.choice(["terminate", "reschedule", "suspend"]))
        return eh.policies.BackendAI(preemption_mode=mode)
    if system == "yunikorn":
        return eh.policies.YuniKorn(
            str(rng.choice(["documented", "upstream"])),
            policies=("inter_queue", "intra_queue"),
            grace=float(rng.choice([0, 5, 20])),
            limit=float(rng.choice([0.3, 1.0])),
        )
    if system == "gridengine":
        return eh.policies.GridEngine(
            max_reservation=5,
            max_preemptees=int(rng.choice([1, 5])),
            automatic_preemption=True,
            preemption_distance=float(rng.choice([0, 5, 60])),
            preemption_action=str(rng.choice(["T", "R", "P", "N", "S", "advisor"])),
            prioritize_preemptees=bool(rng.random() < 0.5),
            preemptees_keep_resources=bool(rng.random() < 0.5),
            backfilling=bool(rng.random() < 0.5),
            notify=float(rng.choice([0, 5])),
            DURATION_OFFSET=float(rng.choice([0, 10])),
        )
    mode = str(rng.choice(["REQUEUE", "CANCEL", "SUSPEND,GANG"]))
    tiers = {
        "low": {"PriorityTier": 1, "GraceTime": float(rng.choice([0, 5])), "OverSubscribe": "FORCE:1"},
        "high": {"PriorityTier": 2, "OverSubscribe": "FORCE:1"},
    }
    return eh.policies.Slurm(
        PreemptType="preempt/partition_prio",
        PreemptMode=mode,
        partitions=tiers,
        SchedulerType="sched/backfill" if system == "backfill" else "sched/builtin",
    )


def _clocks(system: str, rng: np.random.Generator) -> dict[str, float]:
    if system == "ytsaurus":
        return {"heartbeat_period": float(rng.choice([1, 5, 10]))}
    if system in ("backendai", "gridengine"):
        return {"schedule_interval": float(rng.choice([1, 10]))}
    if system == "yunikorn":
        return {"preemption_interval": float(rng.choice([1, 3, 10]))}
    return {"requeue_delay": float(rng.choice([0, 30, 121]))}


def simulated(of: Drawn, until: float | None = 2000.0, **options: Any) -> eh.simulate.Result:
    """What becomes of it."""
    return eh.simulate(of.snapshot, of.policy, of.workload, until, **of.clocks, **options)


seeds = st.integers(0, 2**32 - 1)
