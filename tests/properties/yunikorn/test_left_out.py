"""Cycles of a simulation that decide nothing are left out: what they would have counted is made up for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import given

import evenhand as eh
from evenhand.simulate import Simulation
from tests.properties.simulating import Drawn, drawn, seeds

DELAYS = ("preemption.delay", "quota.preemption.delay")


def crowded(seed: int) -> Drawn:
    """Draw a run whose cycles have room for few asks, and whose preemption is held back in many ways."""
    of = drawn(seed, "yunikorn")
    rng = np.random.default_rng(seed)
    policies = [("inter_queue", "intra_queue"), ("inter_queue",), ("intra_queue",)]
    policy = eh.policies.YuniKorn(
        policies=policies[int(rng.integers(3))],
        n_alloc=int(rng.choice([1, 2, 3, 100])),
        ask_candidates=int(rng.choice([1, 2, 100])),
        limit=float(rng.choice([0.0, 0.3, 1.0])),
        grace=float(rng.choice([0, 5])),
        mode=str(rng.choice(["sniper", "shotgun"])),
        pace={} if rng.random() < 0.7 else {"victim_cooldown": float(rng.choice([7, 60]))},
    )
    return replace(of, policy=policy)


def asking(seed: int) -> Drawn:
    """Draw a run of today's preemption, whose asks look for victims seldom, few at once, or in vain."""
    of = drawn(seed, "yunikorn")
    rng = np.random.default_rng(seed)
    policy = eh.policies.YuniKorn(
        "upstream",
        attempts=int(rng.choice([1, 2, 10])),
        retry=float(rng.choice([0, 0.5, 7, 15])),
        asks_once=bool(rng.random() < 0.5),
        reservation_delay=float(rng.choice([0, 2, 40])),
        reservation_timeout=float(rng.choice([0, 20, 3600])),
        quota_preemption=bool(rng.random() < 0.5),
        pace={} if rng.random() < 0.7 else {"victim_cooldown": float(rng.choice([7, 60]))},
    )
    start = of.snapshot.to_dict()
    for pool in start["pools"]:
        if pool["name"] == "root":
            continue
        if rng.random() < 0.5:
            pool["strong_guarantee"] = {"cpu": int(rng.integers(1, 9))}
        if rng.random() < 0.3:
            pool["limits"] = {"cpu": int(rng.integers(2, 12))}
        delays = {name: f"{int(rng.choice([1, 5, 30]))}s" for name in DELAYS if rng.random() < 0.8}
        pool["settings"] = {"properties": delays}
    return replace(of, snapshot=eh.Snapshot.from_dict(start), policy=policy)


def run_of(of: Drawn, literal: bool) -> Simulation:
    return Simulation(of.snapshot, of.policy, of.workload, **of.clocks, literal=literal)


def remembered(run: Simulation) -> dict[str, list[Any]]:
    """Return what the planner keeps of asks."""
    memory = run._core.planner.memory()
    return {
        name: np.asarray(memory[name]).tolist() for name in ("missed", "wait", "last_attempt", "triggered")
    }


@given(seed=seeds)
def test_cycles_that_are_left_out_change_nothing(seed: int) -> None:
    same_where_left_out(crowded(seed))


@given(seed=seeds)
def test_passes_of_asks_that_are_left_out_change_nothing(seed: int) -> None:
    same_where_left_out(asking(seed))


def same_where_left_out(of: Drawn) -> None:
    runs = [run_of(of, literal) for literal in (False, True)]
    for seconds in (10.0, 10.5, 100.0, 600.0):
        for run in runs:
            run.run(until=run_of(of, False).now + seconds)
        assert remembered(runs[0]) == remembered(runs[1]), seconds
    unseen = run_of(of, False)  # a look changes nothing
    unseen.run(until=runs[0].now)
    assert remembered(unseen) == remembered(runs[0])
    for table, columns in runs[0].result().raw.items():
        for other in (runs[1], unseen):
            for name, column in other.result().raw[table].items():
                same = np.array_equal(columns[name], column, equal_nan=column.dtype.kind == "f")
                assert same, (table, name)


def test_cycles_are_left_out() -> None:
    """One waits behind another that takes all: one cycle places that, and one looks at what waits."""
    work = eh.simulate.Workload(
        {"name": ["a", "b"], "resources.cpu": [4, 4], "submit_time": [0, 1], "run_time": [600, 60]}
    )
    counts = []
    for literal in (False, True):
        run = Simulation(work.snapshot(nodes=1, cpu=4, now=0), eh.policies.YuniKorn(), work, literal=literal)
        run.run(until=590)
        counts.append((run._core.counts()["decided"], remembered(run)["missed"]))
    assert counts[0][0] == 2
    assert counts[1][0] == 197
    assert counts[0][1] == counts[1][1]
