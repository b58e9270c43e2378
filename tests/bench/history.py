"""Speed of the history rules, arrays in, table out, one thread: ``python -m tests.bench.history``."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from evenhand.history import Decay, ShareTree, backendai, gridengine, slurm
from tests.bench.fair_share import host, measure

SIZES = (100, 1000, 10_000, 100_000)


def tree(rows: int) -> ShareTree:
    """A seeded tree, a twentieth of it accounts; numbers repeat, so that ties are common."""
    random = np.random.default_rng(rows)
    accounts = max(1, rows // 20)
    parent = np.array([-1 if row == 0 else random.integers(0, min(row, accounts)) for row in range(rows)])
    return ShareTree.from_columns(
        {
            "name": np.arange(rows),
            "parent": [None if p < 0 else int(p) for p in parent],
            "shares": random.integers(1, 10, rows).astype(float),
            "usage": np.where(np.arange(rows) < accounts, 0, random.integers(0, 1000, rows)).astype(float),
            "user": [row >= accounts for row in range(rows)],
        }
    )


def rules(rows: int) -> dict[str, Callable[[], Any]]:
    """What is measured, by name."""
    given = tree(rows)
    ages = np.linspace(0, 1e6, rows)
    index = np.arange(rows) % 100
    amounts = np.ones((rows, 4))
    usage = dict.fromkeys(("cpu", "mem", "gpu"), amounts[:, 0])
    capacity = {"cpu": 100.0, "mem": 1e12, "gpu": 8.0}
    return {
        "slurm classic": lambda: slurm.classic(given),
        "slurm fair tree": lambda: slurm.fair_tree(given),
        "slurm fair tree, rounded ties": lambda: slurm.fair_tree(given, ties="floating"),
        "gridengine share tree": lambda: gridengine.share_tree(given),
        "backendai factor": lambda: backendai.factor(backendai.normalised_usage(usage, capacity)),
        "decay of events": lambda: Decay.slurm().sum(index, amounts, ages, rows=100),
    }


def main() -> int:
    """Measure and print."""
    print(f"{host()}; thread clock, median milliseconds")
    times = {
        size: {n: measure(c, time.thread_time_ns, 0.3).median for n, c in rules(size).items()}
        for size in SIZES
    }
    print(f"{'rows':30}" + "".join(f"{size:>12}" for size in SIZES))
    for name in times[SIZES[0]]:
        print(f"{name:30}" + "".join(f"{times[size][name]:12.3f}" for size in SIZES))
    return 0


if __name__ == "__main__":
    sys.exit(main())
