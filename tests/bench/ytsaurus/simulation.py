"""What simulations of public traces under YTsaurus' rules take.

Rules are those of the preset "upstream": by the published text, work that is larger than its operation's fair
share is preempted in turns, so that a crowded cluster hardly gets on.

``python -m tests.bench.ytsaurus.simulation`` prints a line a trace: the seconds of its run, reading apart,
operations a second, and the process's largest memory; each runs in a process of its own. The traces are
read from ``../shared/traces``; without them nothing is measured.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import evenhand as eh
from tests.bench.fair_share import host
from tests.shared import SHARED

TRACES = SHARED / "traces"
_DAY = 86400.0

Case = tuple[eh.simulate.Workload, Any, dict[str, Any]]  # with its start snapshot and settings


def sdsc(jobs: int | None) -> Case:
    """San Diego's Blue Horizon: 144 nodes of 8 processors, pools by queue and user."""
    work = eh.traces.swf(TRACES / "sdsc-blue-2000" / "SDSC-BLUE-2000-4.2-cln.swf.gz", "queue/user")
    work = work if jobs is None else work.head(jobs)
    return work, work.snapshot(nodes=144, cpu=8), {}


def ricc() -> Case:
    """Riken's cluster: 90 days, pools by group and user."""
    work = eh.traces.swf(TRACES / "ricc-2010" / "RICC-2010-2_d00-90.swf.gz", "group/user", memory_per_node=12)
    return work, work.snapshot(nodes=1024, cpu=8, memory=12), {}


def google() -> Case:
    """Google's cluster: 14.1 hours of 12,477 machines, pools by band, user and job."""
    folder = TRACES / "google-borg-2011"
    work = eh.traces.google2011(
        folder / "task_events_00000s-50712s.csv.xz", folder / "machine_events.csv.gz", "band/user/job"
    )
    return work, work.snapshot(), {"fair_share_update_period": 1.0}


def philly() -> Case:
    """Microsoft's GPU jobs of ten days on a small cluster: 8 nodes of 8."""
    work = eh.traces.philly(TRACES / "philly-vc-2017" / "philly_vc_jobs_d00-50.csv.gz")
    work = work.slice(20 * _DAY, 30 * _DAY)
    return work, work.snapshot(nodes=8, gpu=8), {}


#: Trace, what its run may take at most, and the function that reads it.
CASES: dict[str, tuple[str, Callable[[], Case]]] = {
    "sdsc-2k": ("", lambda: sdsc(2_000)),
    "sdsc-10k": ("", lambda: sdsc(10_000)),
    "sdsc": ("20,000 operations/s", lambda: sdsc(None)),
    "ricc": ("60 s", ricc),
    "google": ("180 s, 1 GiB", google),
    "philly": ("0.2 s", philly),
}


def measure(name: str, days: float | None, preset: str) -> str:
    """Run a trace, or its first days; say what it took."""
    goal, read = CASES[name]
    begin = time.perf_counter()
    work, start, settings = read()
    reading = time.perf_counter() - begin
    simulation = eh.simulate.Simulation(start, eh.policies.YTsaurus(preset, **settings), work)
    begin, cpu = time.perf_counter(), time.process_time()
    simulation.run(None if days is None else work.begin + days * _DAY)
    result = simulation.result()
    seconds, used = time.perf_counter() - begin, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    ended = len(result.raw["operations"]["submit"])
    return (
        f"{name:10} {ended:8,} operations  {seconds:8.2f} s (cpu {used:.2f})  {ended / used:9,.0f} a second  "
        f"{len(result.raw['allocations']['start']):9,} runs  {peak:7,.0f} MiB  reading {reading:.1f} s"
        + (f"  (at most: {goal})" if goal else "")
    )


def main() -> None:
    """Measure the traces that are named; by default all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="TRACE", help=f"of {', '.join(CASES)}")
    parser.add_argument("--days", type=float, help="only so many days of them")
    parser.add_argument("--preset", default="upstream", choices=["documented", "upstream"])
    parser.add_argument("--here", action="store_true", help="in this process")
    args = parser.parse_args()
    if not TRACES.exists():
        print(f"nothing is measured: there is no {TRACES}")
        return
    if args.here:
        for name in args.names:
            print(measure(name, args.days, args.preset), flush=True)
        return
    print(host())
    more = ["--preset", args.preset] + ([] if args.days is None else ["--days", str(args.days)])
    for name in args.names or CASES:
        subprocess.run(
            [sys.executable, "-m", "tests.bench.ytsaurus.simulation", "--here", *more, name], check=True
        )


if __name__ == "__main__":
    main()
