"""A run that preempts for one job among thousands, and whole plans of a long queue.

``python -m tests.bench.slurm.plans`` prints a line a selection, and a line a plan.
"""

from __future__ import annotations

import time

import numpy as np

import evenhand as eh
from evenhand.reasons import ACTIONS

NODES, JOBS, CPUS = 1_000, 10_000, 64
WANTED, NEED = 64, 32
QUEUED = 5_000
TIMES = 9
TIERS = {"low": {"PriorityTier": 1}, "mid": {"PriorityTier": 5}, "high": {"PriorityTier": 10}}


def crowded(seed: int = 1) -> eh.Snapshot:
    """Nodes that are nearly full of jobs of two low tiers on one to three nodes each; one job waits."""
    rng = np.random.default_rng(seed)
    free = np.full(NODES, CPUS)
    operations, allocations = [], []
    for j in range(JOBS):
        cpus = int(rng.integers(1, 6))
        usable = np.flatnonzero(free >= cpus)
        chosen = rng.choice(usable, size=min(int(rng.integers(1, 4)), len(usable)), replace=False)
        free[chosen] -= cpus
        operations.append(
            {"name": f"j{j}", "partition": "low" if j % 3 else "mid", "start_time": j, "order": j}
        )
        allocations += [
            {
                "name": f"j{j}@{n}",
                "operation": f"j{j}",
                "node": n,
                "resources": {"cpu": cpus},
                "start_time": j,
            }
            for n in chosen.tolist()
        ]
    operations.append({"name": "p", "partition": "high", "start_time": JOBS, "order": JOBS})
    return eh.Snapshot.from_dict(
        {
            "now": 3 * JOBS,
            "resources": {"cpu": {"quantum": 1}},
            "nodes": [{"name": n, "capacity": {"cpu": CPUS}, "order": n} for n in range(NODES)],
            "operations": operations,
            "allocations": allocations,
            "requests": [{"name": "p-r", "operation": "p", "resources": {"cpu": NEED}, "count": WANTED}],
        }
    )


def queued(seed: int = 2, waiting: int = QUEUED) -> eh.Snapshot:
    """The same cluster with ends of jobs, and a long queue in three partitions."""
    rng = np.random.default_rng(seed)
    data = crowded().to_dict()
    now = data["now"]
    for row in data["allocations"]:
        row["planned_end"] = now + 60.0 * int(rng.integers(1, 600))
    data["operations"] = [row for row in data["operations"] if row["name"] != "p"]
    data["requests"] = []
    for j in range(waiting):
        name = f"q{j}"
        data["operations"].append(
            {
                "name": name,
                "partition": ("low", "mid", "high")[int(rng.integers(0, 3))],
                "priority": int(rng.integers(1, 1000)),
                "start_time": JOBS + j,
                "order": JOBS + j,
            }
        )
        wide = rng.integers(0, 10) == 0
        data["requests"].append(
            {
                "name": name,
                "operation": name,
                "resources": {"cpu": int(rng.integers(1, CPUS + 1))},
                "count": int(rng.integers(8, 129)) if wide else int(rng.integers(1, 5)),
                "duration": 60.0 * int(rng.integers(1, 1440)),
            }
        )
    return eh.Snapshot.from_dict(data)


def picked(free: np.ndarray) -> set[int]:
    """Nodes of runs: the smallest that suffices, else the largest and then what is left."""
    usable = np.flatnonzero(free >= NEED)
    if len(usable) < WANTED:
        return set()
    runs = np.split(usable, np.flatnonzero(np.diff(usable) != 1) + 1)
    taken: list[int] = []
    while len(taken) < WANTED:
        left = WANTED - len(taken)
        enough = [run for run in runs if len(run) >= left]
        best = min(enough, key=len) if enough else max(runs, key=len)
        taken += best[:left].tolist()
        runs = [run for run in runs if run is not best]
    return set(taken)


def literal(snapshot: eh.Snapshot) -> set[str]:
    """Names of the victims by the routine as it is told, one candidate after the other."""
    data = snapshot.to_dict()
    free = np.full(NODES, CPUS)
    holds: dict[str, list[tuple[int, int]]] = {}
    for row in data["allocations"]:
        free[row["node"]] -= row["resources"]["cpu"]
        holds.setdefault(row["operation"], []).append((row["node"], row["resources"]["cpu"]))
    tiers = {"low": 1, "mid": 5}
    jobs = [row for row in data["operations"] if row["name"] in holds]
    jobs.sort(key=lambda row: (tiers[row["partition"]], len(holds[row["name"]])))
    order = [row["name"] for row in jobs]
    passes = 0
    while True:
        room, nodes, last = free.copy(), set(), 0
        while not nodes:
            for node, cpus in holds[order[last]]:
                room[node] += cpus
            nodes = picked(room)
            last += 1
        passes += 1
        if passes - 1 > 1 or len(order) <= passes:
            return {job for job in order[:last] if any(node in nodes for node, _ in holds[job])}
        head = sorted(order[: last - 1], key=lambda job: -sum(node in nodes for node, _ in holds[job]))
        order = [order[last - 1], *head, *order[last:]]


def main() -> None:
    """Print times, and whether the routine agrees."""
    snapshot = crowded()
    policy = eh.policies.Slurm(PreemptType="preempt/partition_prio", PreemptMode="REQUEUE", partitions=TIERS)
    names = snapshot.names("operations")
    for selection in ("reorder", "prefix", "irreducible", "minimum"):
        own = policy.replace(victim_selection=selection)
        took = []
        for _ in range(TIMES):  # anew: a planner waits before it preempts for the same job again
            planner, _ = own._planner(snapshot)
            begin = time.perf_counter()
            planner.decide(backfill_pass=False)
            took.append(1e3 * (time.perf_counter() - begin))
        decided = planner.decisions()
        victims = set(decided["operation"][decided["action"] == ACTIONS.index("preempt")].tolist())
        told = ""
        if selection == "reorder":
            told = f", the literal routine agrees: {literal(snapshot) == {names[v] for v in victims}}"
        print(f"{selection:12} {min(took):8.3f} ms  {len(victims):4} jobs{told}")
    snapshot = queued()
    policy = policy.replace(SchedulerType="sched/backfill")
    for passes in (("main",), ("main", "backfill")):
        took = []
        for _ in range(3):
            begin = time.perf_counter()
            plan = eh.plan(snapshot, policy, on=eh.SchedulingRun(passes=passes))
            took.append(time.perf_counter() - begin)
        told = ", ".join(f"{name.partition('.')[2]} {count}" for name, count in plan.counts.items())
        print(f"{QUEUED} wait, {' and '.join(passes):17} {min(took):6.3f} s  {told}")


if __name__ == "__main__":
    main()
