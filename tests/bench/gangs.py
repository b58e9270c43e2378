"""What incomplete gangs hold and how long work starves, on the Philly trace under all three systems.

``python -m tests.bench.gangs`` simulates the trace's jobs on 72 nodes of 8 GPUs and prints a line a policy.
Under Slurm and Backend.AI a job starts as a whole and leaves as a whole; under YTsaurus allocations of a gang
start and leave one by one, so that a part of them may hold GPUs while the rest waits. Under Slurm virtual
clusters are partitions of two tiers, under Backend.AI two priorities: the half with the smaller load
comes first. The trace is read from ``../shared/traces``; without it nothing is measured.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import evenhand as eh

TRACE = Path(__file__).parents[3] / "shared" / "traces" / "philly-vc-2017" / "philly_vc_jobs_d00-50.csv.gz"
_DAY = 86400.0
#: Metric, its unit as it is printed, and what it is divided by.
_ROWS = (
    ("GPU-hours held by incomplete gangs", "incomplete_gangs.gpu", 1.0),
    ("preemptions", "preemptions", 1.0),
    ("lost work, GPU-hours", "lost_work.gpu", 1.0),
    ("starvation, million s", "starvation.total", 1e6),
    ("of it aggressive, million s", "starvation.aggressive", 1e6),
    ("utilisation, %", "utilisation.gpu", 0.01),
    ("waiting, median, s", "waiting.p50", 1.0),
    ("waiting, 95 %, h", "waiting.p95", 3600.0),
)


def workload(days: float) -> eh.simulate.Workload:
    """The jobs of the first days, each with a partition and a priority by its virtual cluster."""
    work = eh.traces.philly(TRACE, nodes=72).slice(0, days * _DAY)
    operations, table = work.operations().to_dict(), work.table().to_dict()
    names, of = np.unique(np.array(operations["pool"], str), return_inverse=True)
    gpus = np.array(table["resources.gpu"], float) * np.array(table["count"], float)
    load = dict(zip(table["operation"], gpus * np.array(table["run_time"], float), strict=True))
    each = np.bincount(of, [load[name] for name in operations["name"]])
    first = np.isin(of, np.argsort(each, kind="stable")[: len(names) // 2])
    operations["partition"] = np.where(first, "first", "second").tolist()
    operations["priority"] = np.where(first, 9, 3).tolist()
    return eh.simulate.Workload(table, operations=operations, pools=work.pools(), resources=work.resources)


def policies() -> dict[str, Any]:
    """What is compared."""
    tiers = {"first": {"PriorityTier": 2}, "second": {"PriorityTier": 1}}
    slurm = {"PreemptType": "preempt/partition_prio", "PreemptMode": "REQUEUE", "partitions": tiers}
    return {
        "slurm": eh.policies.Slurm(**slurm),
        "slurm, backfill": eh.policies.Slurm(**slurm, SchedulerType="sched/backfill"),
        "backendai": eh.policies.BackendAI(preemption_mode="reschedule"),
        "ytsaurus": eh.policies.YTsaurus("upstream"),
        "ytsaurus, aggressive": eh.policies.YTsaurus("upstream", enable_aggressive_starvation=True),
    }


def measured(days: float, nodes: int = 72) -> dict[str, eh.simulate.Metrics]:
    """Return the metrics by policy."""
    work = workload(days)
    start = work.snapshot(nodes=nodes, now=0, gpu=8)
    return {name: eh.simulate(start, policy, work, work.end).metrics for name, policy in policies().items()}


def table(found: dict[str, eh.simulate.Metrics]) -> str:
    """Return a table as pages have it: a row a metric, a column a policy."""
    lines = [["", *found], ["---", *(["---:"] * len(found))]]
    for title, metric, unit in _ROWS:
        values = [m[metric] / unit for m in found.values()]
        told = ["" if v != v else f"{v:,.0f}" if v >= 5 else f"{round(v, 3):.2g}" for v in values]
        lines.append([title, *told])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--days", type=float, default=50, help="of the trace")
    args = parser.parse_args()
    if not TRACE.exists():
        print(f"nothing is measured: there is no {TRACE}")
        return
    print(table(measured(args.days)))


if __name__ == "__main__":
    main()
