"""What simulations of logs take under each system, and how that grows with the log.

``python -m tests.bench.simulations [ROW...]`` runs each row in a process of its own: the processor's seconds,
jobs a second, the most memory, and what it is compared with. Rows of a system are the first 2,500 jobs of
San Diego's log, then twice as many, and so on: from n to m jobs the time may grow by m / n · log m / log n,
and by 15 % more. The logs are read from ``../shared/traces``; without them nothing is measured.
"""

from __future__ import annotations

import argparse
import math
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import evenhand as eh
from evenhand.simulate import Simulation, Workload
from tests.bench.fair_share import host
from tests.bench.ytsaurus import simulation as ytsaurus
from tests.bench.ytsaurus.simulation import TRACES

LEAST, TIMES, SLACK = 2_500, (1, 2, 4, 8), 1.15
_DAY = 86400.0

SYSTEMS: dict[str, Callable[[], Any]] = {
    "fifo": lambda: eh.policies.Slurm(PriorityType="priority/basic", SchedulerType="sched/builtin"),
    "backfill": lambda: eh.policies.Slurm(PriorityType="priority/basic", SchedulerType="sched/backfill"),
    "multifactor": lambda: eh.policies.Slurm(
        PriorityType="priority/multifactor",
        PriorityWeightAge=1000,
        PriorityWeightJobSize=1000,
        SchedulerType="sched/backfill",
    ),
    "ytsaurus": lambda: eh.policies.YTsaurus("upstream"),
    "backendai": eh.policies.BackendAI,
    "yunikorn": eh.policies.YuniKorn,
    "yunikorn-upstream": lambda: eh.policies.YuniKorn("upstream"),
    "gridengine": eh.policies.GridEngine,
}

Case = tuple[Workload, eh.Snapshot, Any]


def sdsc(policy: Any, jobs: int | None, nodes: int | None = None) -> Case:
    """San Diego's Blue Horizon: 144 nodes of 8 processors, or so many."""
    work = eh.traces.swf(TRACES / "sdsc-blue-2000" / "SDSC-BLUE-2000-4.2-cln.swf.gz")
    work = work if jobs is None else work.head(jobs)
    return work, work.snapshot() if nodes is None else work.snapshot(nodes=nodes, cpu=8), policy


def philly(pace: dict[str, Any]) -> Case:
    """Microsoft's GPU jobs of 50 days on 72 nodes of 8."""
    work = eh.traces.philly(TRACES / "philly-vc-2017" / "philly_vc_jobs_d00-50.csv.gz")
    return work, work.snapshot(nodes=72, gpu=8), eh.policies.YTsaurus("upstream", pace=pace)


def ricc() -> Case:
    """Riken's cluster: 90 days."""
    work, start, settings = ytsaurus.ricc()
    return work, start, eh.policies.YTsaurus("upstream", **settings)


def by_queue_and_user() -> Case:
    """San Diego's whole log in pools by queue and user."""
    work, start, settings = ytsaurus.sdsc(None)
    return work, start, eh.policies.YTsaurus("upstream", **settings)


#: Name, and what is run; beside the rows of systems.
ROWS: dict[str, Callable[[], Case]] = {
    "philly": lambda: philly({}),
    "philly-paced": lambda: philly({"max_victims_per_hour": 5}),
    "ricc-ytsaurus": ricc,
    "sdsc-ytsaurus": by_queue_and_user,
    "backendai-20k": lambda: sdsc(eh.policies.BackendAI(), 20_000),
    "backfill-long-queue": lambda: sdsc(SYSTEMS["multifactor"](), 2_500, nodes=96),
    "fifo-20k": lambda: sdsc(SYSTEMS["fifo"](), 20_000),
    "fifo-all": lambda: sdsc(SYSTEMS["fifo"](), None),
}


def measured(name: str) -> str:
    """Run a row in this process: its jobs, seconds and MiB."""
    system, _, times = name.partition("@")
    case = sdsc(SYSTEMS[system](), LEAST * int(times)) if times else ROWS[name]()
    work, start, policy = case
    simulation = Simulation(start, policy, work)
    begin = time.process_time()
    simulation.run()
    result = simulation.result()
    seconds = time.process_time() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return f"{len(result.raw['operations']['submit'])} {seconds} {peak}"


def run(name: str) -> tuple[int, float]:
    """Run a row in a process of its own, and print it; return its jobs and seconds."""
    command = [sys.executable, "-m", "tests.bench.simulations", "--here", name]
    jobs, seconds, peak = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    count, took = int(jobs), float(seconds)
    print(
        f"{name:22} {count:9,} jobs {took:9.2f} s {count / took:10,.0f} jobs/s {float(peak):7,.0f} MiB",
        end="",
    )
    return count, took


def growth(system: str) -> None:
    """Print the rows of a system, and how much longer each takes than the first."""
    first: tuple[int, float] | None = None
    for times in TIMES:
        jobs, seconds = run(f"{system}@{times}")
        if first is None:
            first = jobs, seconds
            print(flush=True)
            continue
        bound = jobs / first[0] * math.log(jobs) / math.log(first[0]) * SLACK
        print(f"   {seconds / first[1]:6.1f} times (at most {bound:.1f})", flush=True)


def main() -> None:
    """Measure the rows that are named; by default all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"of {', '.join([*SYSTEMS, *ROWS])}")
    parser.add_argument("--here", action="store_true", help="in this process")
    args = parser.parse_args()
    if not TRACES.exists():
        print(f"nothing is measured: there is no {TRACES}")
        return
    if args.here:
        print(measured(args.rows[0]))
        return
    print(host())
    took: dict[str, float] = {}
    for name in args.rows or [*SYSTEMS, *ROWS]:
        if name in SYSTEMS:
            growth(name)
            continue
        _, took[name] = run(name)
        if name == "philly-paced" and "philly" in took:
            print(f"   {took[name] / took['philly']:.1f} times without a pace (at most 2)", end="")
        print(flush=True)


if __name__ == "__main__":
    main()
