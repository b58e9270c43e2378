"""What sweeps over a trace take: points run one by one, and points that share runs.

``python -m tests.bench.sweeps`` takes a part of San Diego's trace under YTsaurus' rules. 250 drawn points of
three settings are first simulated one by one by two threads, then by `evenhand.sweep`: both tables are
compared. Then come the 1,000 points of a grid. The trace is read from ``../shared/traces``; without it
nothing is measured.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

import evenhand as eh
from evenhand.simulate.metrics import measure
from tests.bench.fair_share import host
from tests.bench.ytsaurus.simulation import TRACES, sdsc

METRICS = ("preemptions", "starvation.p95", "lost_work.cpu")
GRID = {
    "fair_share_starvation_timeout": np.linspace(10, 600, 10).tolist(),
    "fair_share_starvation_tolerance": np.linspace(0.5, 0.95, 10).tolist(),
    "preemption_satisfaction_threshold": np.linspace(0.8, 1.7, 10).tolist(),
}
WORKERS = 2


def drawn(count: int) -> list[dict[str, float]]:
    """Return points within the grid's bounds."""
    rng = np.random.default_rng(1)
    return [{name: float(rng.uniform(own[0], own[-1])) for name, own in GRID.items()} for _ in range(count)]


def timed(what: str, call: Callable[[], Any], bar: str = "") -> Any:
    """Print what a call takes, and return what it returns."""
    begin, cpu = time.perf_counter(), time.process_time()
    found = call()
    took, used = time.perf_counter() - begin, time.process_time() - cpu
    print(f"{what:50} {took:8.1f} s (cpu {used:.1f})  {bar}", flush=True)
    return found


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--points", type=int, default=250)
    parser.add_argument("--no-grid", action="store_true")
    given = parser.parse_args()
    if not TRACES.exists():
        print(f"nothing is measured: there is no {TRACES}")
        return
    print(host())
    work, start, _ = sdsc(given.jobs)
    policy = eh.policies.YTsaurus("upstream", fair_share_aggressive_starvation_timeout=1200)
    points = drawn(given.points)

    def one(point: dict[str, float]) -> dict[str, float]:
        found = measure(eh.simulate.simulate(start, policy.replace(**point), work))
        return {name: found[name] for name in METRICS}

    def singly() -> list[dict[str, float]]:
        with ThreadPoolExecutor(WORKERS) as pool:
            return list(pool.map(one, points))

    def sweep(**which: Any) -> eh.table.Table:
        return eh.sweep.sweep(start, policy, work, metrics=METRICS, workers=WORKERS, **which)

    alone = timed(f"{len(points)} points, one by one", singly, "bar 75 s")
    table = timed(f"{len(points)} points, a sweep", lambda: sweep(space=GRID, points=points))
    same = all(table[name].tolist() == [row[name] for row in alone] for name in METRICS)
    print("both tables are the same" if same else "THE TABLES DIFFER")
    if not given.no_grid:
        timed("1,000 points of a grid, a sweep", lambda: sweep(space=GRID), "bar 75 s")


if __name__ == "__main__":
    main()
