"""Preemptions of Google's trace by band, simulated under YTsaurus' rules, beside the recorded evictions.

``python -m tests.bench.ytsaurus.google_evictions`` prints what the trace alone says of its evictions, then a
line a run: capacity times 1, 1.13 and more, with pools of one weight (``fair``) or with weights that make
bands priorities (``banded``). The trace is read from ``../shared/traces``; without it nothing is measured.
"""

from __future__ import annotations

import argparse
import lzma
import time

import numpy as np

import evenhand as eh
from evenhand.simulate.result import OUTCOMES
from evenhand.traces.google2011 import BANDS
from tests.bench.fair_share import host
from tests.bench.ytsaurus.simulation import TRACES

FOLDER = TRACES / "google-borg-2011"
TASKS = FOLDER / "task_events_00000s-50712s.csv.xz"
#: A band has what the ones above it leave.
WEIGHTS = {"free": 1.0, "middle": 1e3, "production": 1e6}
_SCHEDULE, _EVICT = 1, 2


def recorded() -> None:
    """Print how many tasks were evicted, and how often that made room for a higher priority."""
    with lzma.open(TASKS) as file:
        rows = np.genfromtxt(
            file, delimiter=",", usecols=(0, 2, 3, 4, 5, 8), dtype=np.float64, filling_values=-1
        )
    when, job, task, machine, event, priority = rows.T
    evicted = event == _EVICT
    bands = np.searchsorted(list(BANDS.values()), priority, side="right") - 1
    starts = event == _SCHEDULE
    order = np.lexsort((when[starts], machine[starts]))
    on, at, its = machine[starts][order], when[starts][order], priority[starts][order]
    for code, band in enumerate(BANDS):
        mine = evicted & (bands == code)
        tasks = len(np.unique(job[mine] * 1e6 + task[mine]))
        made_room = 0
        for m, t, p in zip(machine[mine], when[mine], priority[mine], strict=True):
            low, high = np.searchsorted(on, m, "left"), np.searchsorted(on, m, "right")
            first = low + np.searchsorted(at[low:high], t, "left")
            last = low + np.searchsorted(at[low:high], t + 5e6, "right")
            made_room += bool((its[first:last] > p).any())
        print(
            f"recorded  {band:10} {int(mine.sum()):8,} evictions of {tasks:7,} tasks; "
            f"{made_room:8,} times a task of a higher priority started there within 5 s",
            flush=True,
        )


def simulated(capacity: float, sample: float, banded: bool, hours: float | None) -> str:
    """Run the trace; return how many allocations of each band were preempted, or lost with a machine."""
    machines = FOLDER / "machine_events.csv.gz"
    work = eh.traces.google2011(TASKS, machines, "band/user/job", overcommit=capacity, sample=sample)
    start = work.snapshot()
    if banded:
        tree = start.to_dict()
        for pool in tree["pools"]:
            pool["weight"] = WEIGHTS.get(pool["name"], 1.0)
        start = eh.Snapshot.from_dict(tree)
    policy = eh.policies.YTsaurus("upstream", fair_share_update_period=1.0)
    begin = time.process_time()
    simulation = eh.simulate.Simulation(start, policy, work)
    simulation.run(None if hours is None else work.begin + hours * 3600)
    result = simulation.result()
    bands = np.array([str(name).split("/")[0] for name in start.names("pools")])[result.operation_pools]
    decided, runs = result.raw["decisions"], result.raw["allocations"]
    ends = {
        "preempted": bands[decided["operation"][decided["action"] == 1]],
        "lost": bands[runs["operation"][runs["outcome"] == OUTCOMES.index("lost_node")]],
    }
    counts = "; ".join(
        f"{word} " + ", ".join(f"{name} {int((of == name).sum()):,}" for name in BANDS)
        for word, of in ends.items()
    )
    used, weights = time.process_time() - begin, "banded" if banded else "fair"
    return f"capacity x {capacity:<5} {weights:7} {counts}  cpu {used:.0f} s"


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--capacity", type=float, nargs="*", default=[1.0, 1.13, 1.3])
    parser.add_argument("--sample", type=float, default=1.0, help="part of jobs and machines")
    parser.add_argument("--hours", type=float, help="only so many hours")
    parser.add_argument("--no-trace", action="store_true", help="runs alone")
    args = parser.parse_args()
    if not TRACES.exists():
        print(f"nothing is measured: there is no {TRACES}")
        return
    print(host())
    if not args.no_trace:
        recorded()
    for capacity in args.capacity:
        for banded in (False, True):
            print(simulated(capacity, args.sample, banded, args.hours), flush=True)


if __name__ == "__main__":
    main()
