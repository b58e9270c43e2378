"""The cheapest jobs on many nodes: speed and gaps, beside HiGHS on the same clusters in the same run.

``python -m tests.bench.minimum_jobs``; HiGHS comes with the dependency group ``bench``. Nodes are full of
jobs; one pending job wants a part of each of some nodes. Jobs are on runs of nodes, as a scheduler
places them, or anywhere, which is the harder and the rarer case. Exits 1 if HiGHS knows a cheaper set than
was proved, a bound is above what HiGHS found, a proof does not hold in exact fractions, or the median gap is
above 5 % where it should not be.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand import _core
from evenhand.testing.fewest_jobs import Site, Spread, check_minimum_jobs
from tests.bench.fair_share import host
from tests.bench.tally import Tally, arguments, solved, solver

RESOURCES = 3
CAPACITY = np.array([64, 256, 8])
GAP = 0.05


@dataclass(frozen=True)
class Setting:
    """Clusters of one kind: the pending job wants `part` of each resource of `copies` nodes."""

    jobs: int
    nodes: int
    copies: int
    span: int
    part: float = 0.5
    most_cost: int = 1
    runs: bool = True
    open_gap: bool = False  # nobody closes it

    @property
    def name(self) -> str:
        """What is drawn."""
        cost = "" if self.most_cost == 1 else f", costs up to {self.most_cost}"
        where = "" if self.span == 1 or self.runs else ", anywhere"
        on = f"on 1 to {self.span} of {self.nodes} nodes{where}"
        return f"{self.jobs} jobs {on}, {self.copies} wanted{cost}"


SETTINGS = (
    Setting(30, 8, 1, 3),
    Setting(30, 8, 4, 3),
    Setting(100, 16, 4, 1),
    Setting(100, 16, 4, 4),
    Setting(300, 32, 8, 4),
    Setting(1000, 100, 16, 1),
    Setting(1000, 100, 1, 4),
    Setting(1000, 100, 8, 4),
    Setting(1000, 100, 16, 4),
    Setting(1000, 100, 16, 16),
    Setting(300, 32, 8, 4, most_cost=1000),
    Setting(1000, 100, 16, 4, most_cost=1000),
    Setting(30, 8, 4, 3, runs=False),
    Setting(100, 16, 4, 4, runs=False),
    Setting(1000, 100, 1, 4, runs=False),
    Setting(1000, 100, 16, 4, runs=False, open_gap=True),
    Setting(1000, 100, 16, 4, most_cost=1000, runs=False),
)


def cluster(setting: Setting, draws: np.random.Generator) -> Spread:
    """Nodes filled by jobs that have the same on each of their nodes; what is left is free."""
    used = np.zeros((setting.nodes, RESOURCES), np.int64)
    on: list[list[tuple[int, tuple[int, ...]]]] = [[] for _ in range(setting.nodes)]
    rooms = setting.nodes / (setting.jobs * (1 + setting.span) / 2)  # of a node, one part of a job
    for job in range(setting.jobs):
        own = np.maximum(1, (CAPACITY * rooms * draws.uniform(0.3, 2.2, RESOURCES)).astype(np.int64))
        fits = np.flatnonzero((used + own <= CAPACITY).all(axis=1))
        count = min(len(fits), int(draws.integers(1, setting.span + 1)))
        for node in _place(setting, fits, count, draws):
            used[node] += own
            on[node].append((job, tuple(own.tolist())))
    wants = np.maximum(1, (CAPACITY * setting.part).astype(np.int64))
    sites, free = [], 0
    for node in range(setting.nodes):
        lacks = np.maximum(0, wants - (CAPACITY - used[node]))
        if not lacks.any():
            free += 1
            continue
        jobs, amounts = zip(*on[node], strict=True)
        sites.append(Site(tuple(jobs), tuple(amounts), (tuple(lacks.tolist()),)))
    costs = tuple(draws.integers(1, setting.most_cost + 1, setting.jobs).tolist())
    return Spread(costs, tuple(sites), max(0, setting.copies - free))


def _place(setting: Setting, fits: np.ndarray, count: int, draws: np.random.Generator) -> list[int]:
    if count == 0:
        return []
    if not setting.runs:
        return draws.choice(fits, count, replace=False).tolist()
    first = int(draws.integers(0, len(fits) - count + 1))
    return fits[first : first + count].tolist()


def solve(spread: Spread, budget: int) -> Any:
    """What the core selects, with what proves it."""
    rows = sorted(
        (job, place, amounts)
        for place, site in enumerate(spread.sites)
        for job, amounts in zip(site.jobs, site.amounts, strict=True)
    )
    levels = [(place, lack) for place, site in enumerate(spread.sites) for lack in site.lacks]
    width = len(levels[0][1])
    return _core.select_jobs(
        np.array([job for job, _, _ in rows], np.int32),
        np.array([place for _, place, _ in rows], np.int32),
        np.array([amounts for _, _, amounts in rows], np.int64).reshape(-1, width),
        np.array([place for place, _ in levels], np.int32),
        np.array([lack for _, lack in levels], np.int64).reshape(-1, width),
        spread.copies,
        np.array(spread.costs, np.int64),
        budget,
    )


def peer(spread: Spread, seconds: float) -> tuple[int, bool, float]:
    """HiGHS' lowest cost, whether it proved it, and milliseconds, model building left out; one thread."""
    import highspy

    model = solver(seconds)
    jobs = len(spread.costs)
    for place in range(jobs + len(spread.sites)):
        model.addVar(0.0, 1.0)
        model.changeColCost(place, float(spread.costs[place]) if place < jobs else 0.0)
        model.changeColIntegrality(place, highspy.HighsVarType.kInteger)
    for place, site in enumerate(spread.sites):
        for r, lack in enumerate(site.lacks[0]):
            if lack > 0:
                columns = np.array([*site.jobs, jobs + place], np.int32)
                values = [min(row[r], lack) / lack for row in site.amounts]
                model.addRow(0.0, highspy.kHighsInf, len(columns), columns, np.array([*values, -1.0]))
    every = np.arange(jobs, jobs + len(spread.sites), dtype=np.int32)
    model.addRow(float(spread.copies), highspy.kHighsInf, len(every), every, np.ones(len(every)))
    return solved(model)


def measure(setting: Setting, count: int, budget: int, seconds: float, peers: int) -> bool:
    """Print one line of ours and one of the peer's; False: something is wrong, or the gap too wide."""
    draws = np.random.default_rng(11)
    tally, k = Tally(), 0
    while k < count:
        spread = cluster(setting, draws)
        if not spread.sites or spread.copies == 0:
            continue
        start = time.perf_counter()
        found = solve(spread, budget)
        if found is None:
            continue
        tally.add(found, (time.perf_counter() - start) * 1e3)
        check_minimum_jobs(spread, found["taken"].tolist(), found)
        if k < peers:
            tally.beside(*peer(spread, seconds), found)
        k += 1
    tally.print(setting.name, 62)
    return bool(tally.sound and (setting.open_gap or np.median(tally.gaps) <= GAP))


def main() -> int:
    """Measure and print."""
    args = arguments(__doc__, count=40, peers=10)
    print(f"{host()}; {args.count} clusters a setting, budget {args.budget}")
    results = [measure(s, args.count, args.budget, args.seconds, args.peers) for s in SETTINGS]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
