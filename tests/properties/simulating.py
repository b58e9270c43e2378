"""Drawn small simulations: a cluster, a policy of each system, and what comes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

import evenhand as eh

SYSTEMS = ("ytsaurus", "slurm", "backfill", "backendai")


@dataclass(frozen=True)
class Drawn:
    """What a simulation is made of."""

    snapshot: eh.Snapshot
    policy: Any
    workload: eh.simulate.Workload
    clocks: dict[str, float]


def drawn(seed: int, system: str) -> Drawn:
    """Draw one from a seed: some ten operations on some three nodes, with interruptions."""
    rng = np.random.default_rng(seed)
    nodes = int(rng.integers(1, 5))
    pools = [{"name": "a"}, {"name": "b", "weight": 2}, {"name": "c", "parent": "a"}]
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
        if rng.random() < 0.1:
            row["preemptible"] = False
        if system == "backendai":
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
    workload = eh.simulate.Workload(
        rows, pools=pools, nodes=events, resources={"cpu": {"quantum": 1}, "memory": {}}
    )
    snapshot = workload.snapshot(nodes=nodes, now=0, cpu=8, memory=16)
    policy, clocks = _policy(system, rng), _clocks(system, rng)
    if rng.random() < 0.4:
        policy = policy.replace(pace=_pace(rng))
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
    if system == "backendai":
        return {"schedule_interval": float(rng.choice([1, 10]))}
    return {"requeue_delay": float(rng.choice([0, 30, 121]))}


def simulated(of: Drawn, until: float | None = 2000.0, **options: Any) -> eh.simulate.Result:
    """What becomes of it."""
    return eh.simulate(of.snapshot, of.policy, of.workload, until, **of.clocks, **options)


seeds = st.integers(0, 2**32 - 1)
