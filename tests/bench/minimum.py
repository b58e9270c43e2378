"""The fewest victims of a node: speed and gaps, beside HiGHS on the same nodes in the same run.

``python -m tests.bench.minimum``; HiGHS comes with the dependency group ``bench``. Nodes of 200 allocations
and four resources. Exits 1 if HiGHS knows a smaller set than was proved, a proof does not hold in exact
fractions, or a bar is missed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand import _core
from evenhand.testing.fewest import check_minimum
from tests.bench.fair_share import host
from tests.bench.tally import Tally, arguments, solved, solver

Node = tuple[np.ndarray, np.ndarray]
ALLOCATIONS, RESOURCES, SHAPES = 200, 4, 16


@dataclass(frozen=True)
class Setting:
    """Nodes of one kind, and what is wanted of them: milliseconds of a proof, or the gap without one."""

    name: str
    make: Callable[[np.random.Generator], Node]
    median: float | None = None
    high: float | None = None
    gap: float | None = None


def node(draws: np.random.Generator, tops: tuple[int, ...], part: tuple[float, float], *, few: bool) -> Node:
    """A node of so many shapes, or sizes all their own, and a need of a part of each resource."""
    rows = draws.integers(1, [top + 1 for top in tops], (SHAPES if few else ALLOCATIONS, RESOURCES))
    amounts = rows[draws.integers(0, SHAPES, ALLOCATIONS)] if few else rows
    need = amounts.sum(axis=0) * draws.uniform(*part, RESOURCES)
    return amounts.astype(np.int64), need.astype(np.int64)


SMALL, LARGE = (8, 64, 4, 100), (100_000, 1_000_000, 4, 10**9)
CONTINUOUS = (10**6,) * RESOURCES
QUARTER, UP_TO, HALF = (0.25, 0.25), (0.05, 0.25), (0.5, 0.5)
SETTINGS = (
    Setting("16 shapes, small numbers, 5 to 25 %", lambda d: node(d, SMALL, UP_TO, few=True), 5, 50),
    Setting("16 shapes, small numbers, 25 % of each", lambda d: node(d, SMALL, QUARTER, few=True), 5, 50),
    Setting("16 shapes, large numbers, 5 to 25 %", lambda d: node(d, LARGE, UP_TO, few=True), 5, 50),
    Setting("16 shapes, large numbers, 25 % of each", lambda d: node(d, LARGE, QUARTER, few=True), 5, 50),
    Setting("continuous sizes, 5 to 25 %", lambda d: node(d, CONTINUOUS, UP_TO, few=False), gap=0.05),
    Setting("continuous sizes, 50 % of each", lambda d: node(d, CONTINUOUS, HALF, few=False), gap=0.05),
    Setting("16 shapes, small numbers, 50 % of each", lambda d: node(d, SMALL, HALF, few=True), gap=0.05),
    Setting("16 shapes, large numbers, 50 % of each", lambda d: node(d, LARGE, HALF, few=True), gap=0.05),
)


def peer(amounts: np.ndarray, need: np.ndarray, seconds: float) -> tuple[int, bool, float]:
    """HiGHS' smallest number, whether it proved it, and milliseconds, model building left out.

    The model has one whole variable a shape, as ours; one thread.
    """
    import highspy

    shapes, counts = np.unique(amounts, axis=0, return_counts=True)
    model = solver(seconds)
    for count in counts.tolist():
        model.addVar(0.0, float(count))
    places = np.arange(len(counts), dtype=np.int32)
    for place in places.tolist():
        model.changeColCost(place, 1.0)
        model.changeColIntegrality(place, highspy.HighsVarType.kInteger)
    for r in range(RESOURCES):
        scale = 1.0 / float(max(need[r], 1))
        model.addRow(float(need[r]) * scale, highspy.kHighsInf, len(places), places, shapes[:, r] * scale)
    return solved(model)


def measure(setting: Setting, count: int, budget: int, seconds: float, peers: int) -> bool:
    """Print one line of ours and one of the peer's; False: something is wrong or too slow."""
    draws = np.random.default_rng(7)
    tally = Tally()
    for k in range(count):
        amounts, need = setting.make(draws)
        start = time.perf_counter()
        found: Any = _core.select_victims(amounts, need, "minimum", budget)
        tally.add(found, (time.perf_counter() - start) * 1e3)
        check_minimum(amounts.tolist(), need.tolist(), found["taken"].tolist(), found)
        if k < peers:
            tally.beside(*peer(amounts, need, seconds), found)
    tally.print(setting.name, 40)
    if setting.gap is not None:
        return bool(tally.sound and np.median(tally.gaps) <= setting.gap)
    median, high = np.median(tally.times), np.percentile(tally.times, 95)
    fast = median <= (setting.median or 0) and high <= (setting.high or 0)
    return bool(tally.sound and np.mean(tally.proved) >= 0.95 and fast)


def main() -> int:
    """Measure and print."""
    args = arguments(__doc__, count=200, peers=40)
    print(f"{host()}; {args.count} nodes a setting, budget {args.budget}")
    results = [measure(s, args.count, args.budget, args.seconds, args.peers) for s in SETTINGS]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
