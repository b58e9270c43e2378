"""What a log of two and a half years costs to simulate: SDSC Blue Horizon, 144 nodes of 8 processors.

``python -m tests.bench.slurm.simulation`` prints a line a policy, and one for each half of the log: the cost
grows with its length. It reads ../shared/traces, or says that they are absent.
"""

from __future__ import annotations

import time
from typing import Any

import evenhand as eh
from evenhand.simulate import Simulation, Workload
from tests.bench.fair_share import host
from tests.shared import SHARED

LOG = SHARED / "traces" / "sdsc-blue-2000" / "SDSC-BLUE-2000-4.2-cln.swf.gz"
JOBS = 20_000
POLICIES: dict[str, Any] = {
    "builtin": eh.policies.Slurm(PriorityType="priority/basic", SchedulerType="sched/builtin"),
    "multifactor and backfill": eh.policies.Slurm(
        PriorityType="priority/multifactor",
        PriorityWeightAge=1000,
        PriorityWeightJobSize=1000,
        SchedulerType="sched/backfill",
    ),
    "Backend.AI": eh.policies.BackendAI(),
}


def timed(policy: Any, work: Workload) -> float:
    """Return how many seconds of a processor a run takes."""
    run = Simulation(work.snapshot(), policy, work)
    begin = time.process_time()
    run.run()
    return time.process_time() - begin


def line(name: str, policy: Any, work: Workload) -> str:
    """Run it, and say how long that took."""
    seconds = timed(policy, work)
    return f"{name:<26} {len(work):>8,} jobs {seconds:8.2f} s {len(work) / seconds:>9,.0f} jobs/s"


def main() -> None:
    """Print the table."""
    if not LOG.exists():
        print(f"{LOG} is absent: nothing is measured")
        return
    work = eh.traces.swf(LOG)
    print(host())
    for jobs in (len(work) // 2, len(work)):
        print(line("builtin", POLICIES["builtin"], work.head(jobs)))
    for name, policy in POLICIES.items():
        print(line(name, policy, work.head(JOBS)), flush=True)


if __name__ == "__main__":
    main()
