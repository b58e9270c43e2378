"""What becomes of whole jobs: ways to make operations of them, measured on Philly's log.

``python -m tests.bench.ytsaurus.whole_jobs [DAYS]`` prints a line a way; it needs the traces beside the cases
(``$EVENHAND_SHARED``), and some minutes. The log has virtual clusters and no persons: the owner of a job is
its virtual cluster. With the switch and without a pace the jobs take turns a million times, which is not
measured.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import evenhand as eh
from tests.shared import shared

CROSSING = "consider_allocation_on_fair_share_bound_preemptible"
DAY = 86_400.0
#: Whose jobs may preempt those of the others, where ranks decide: the small virtual clusters.
TIERS = {"vc1": 1, "vc2": 1, "vc3": 2, "vc4": 2}

Way = tuple[str, Any, eh.simulate.Workload]


def ways(jobs: eh.simulate.Workload) -> list[Way]:
    """Return a name, a policy and a workload each."""
    on = {CROSSING: True}
    ranked = eh.policies.Slurm(
        PreemptType="preempt/partition_prio",
        PreemptMode="REQUEUE",
        SchedulerType="sched/backfill",
        partitions={name: {"PriorityTier": tier} for name, tier in TIERS.items()},
    )
    crossing = eh.policies.YTsaurus(**on)
    return [
        ("an operation per owner", eh.policies.YTsaurus(), per_owner(jobs)),
        ("an operation per job", eh.policies.YTsaurus(), jobs),
        ("the switch, victim_cooldown 4h", crossing.replace(pace={"victim_cooldown": "4h"}), jobs),
        ("the switch, victim_cooldown 1d", crossing.replace(pace={"victim_cooldown": "1d"}), jobs),
        ("partition tiers (Slurm)", ranked, in_partitions(jobs)),
    ]


def per_owner(jobs: eh.simulate.Workload) -> eh.simulate.Workload:
    """Return the jobs as requests of one operation an owner."""
    operations, requests = jobs.operations().to_dict(), jobs.table().to_dict()
    pool_of = dict(zip(operations["name"], operations["pool"], strict=True))
    owner = [pool_of[operation] for operation in requests["operation"]]
    rows = {name: column for name, column in requests.items() if name != "gang"}
    return eh.simulate.Workload(
        {**rows, "operation": owner, "pool": owner}, pools=jobs.pools(), resources=jobs.resources
    )


def in_partitions(jobs: eh.simulate.Workload) -> eh.simulate.Workload:
    """Return the jobs with their virtual cluster as partition."""
    operations = jobs.operations().to_dict()
    requests = jobs.table().to_dict()
    return eh.simulate.Workload(
        requests,
        operations={**operations, "partition": operations["pool"]},
        pools=jobs.pools(),
        resources=jobs.resources,
    )


def measured(start: eh.Snapshot, policy: Any, jobs: eh.simulate.Workload, until: float) -> dict[str, float]:
    """Simulate, and return what a person who waits and one who loses work would ask."""
    result = eh.simulate(start, policy, jobs, until=until)
    runs, requests = result.raw["allocations"], result.workload.table()
    submit = np.asarray(requests["submit_time"], float)
    begin = np.full(len(submit), np.inf)
    names = {name: row for row, name in enumerate(requests["name"])}
    rows = np.array([names[name] for name in result.allocations["request"]], int)
    np.minimum.at(begin, rows, runs["start"] / 1e6)
    waited = np.sort(np.minimum(begin, until) - submit)  # of jobs that still wait: so far
    metrics = result.metrics
    return {
        "preemptions": metrics["preemptions"],
        "lost_gpu_hours": metrics["lost_work.gpu"],
        "wait_p50_h": waited[len(waited) // 2] / 3600,
        "wait_p95_h": waited[len(waited) * 95 // 100] / 3600,
        "utilisation": metrics["utilisation.gpu"],
        "lost_share": metrics["lost_share.guarantee"],
    }


def table(days: float) -> dict[str, dict[str, float]]:
    """Return what is measured, by way."""
    path = shared("traces", "philly-vc-2017", "philly_vc_jobs_d00-50.csv.gz")
    jobs = eh.traces.philly(path)
    jobs = jobs.slice(0, days * DAY)
    start = jobs.snapshot()
    return {name: measured(start, policy, work, days * DAY) for name, policy, work in ways(jobs)}


def main() -> int:
    """Print the table."""
    found = table(float(sys.argv[1]) if len(sys.argv) > 1 else 50)
    heads = list(next(iter(found.values())))
    print(f"{'':32}", *(f"{head:>15}" for head in heads))
    for name, values in found.items():
        print(f"{name:32}", *(f"{values[head]:15,.2f}" for head in heads))
    return 0


if __name__ == "__main__":
    sys.exit(main())
