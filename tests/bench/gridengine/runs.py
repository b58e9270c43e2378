"""A scheduling run of a full cluster, and what doubling each of its sizes costs.

``python -m tests.bench.gridengine.runs`` prints a line a cluster: the run in the core, the whole plan, and
for a doubled size the ratio. The bars are the same for all kinds of waiting jobs; what is above one is
marked. Running jobs are on one host each: where some are on several, jobs of several parts are weighed in a
slower way that is not measured here.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from statistics import median

import numpy as np

import evenhand as eh

#: What waits, and what is said of it.
KINDS = {
    "plain": "jobs of one part",
    "licences": "jobs of one part, one in twenty with a licence of which none is left",
    "parallel": "jobs, every tenth of two to eight parts",
}
RUN_BAR, DOUBLING_BAR = 50.0, 2.3  # milliseconds, times
TIMES = 7


@dataclass(frozen=True)
class Size:
    """How much there is."""

    hosts: int = 2_000
    running: int = 10_000
    waiting: int = 1_000
    reservations: int = 100


def crowded(
    size: Size = Size(), *, parallel: bool = False, licences: bool = False, seed: int = 1
) -> eh.Snapshot:
    """Draw a cluster whose hosts are full but for a slot here and there.

    Parameters
    ----------
    size : Size
    parallel : bool
        Whether every tenth job that waits has two to eight parts; else each has one.
    licences : bool
        Whether one in twenty waiting jobs takes a licence of which none is left.
    seed : int

    Returns
    -------
    Snapshot
        With slots, memory, and a licence that the cluster shares and one in twenty running jobs has.
    """
    rng = np.random.default_rng(seed)
    now = 1_000_000
    least = np.arange(min(size.hosts, size.running))  # each host has one, as far as there are enough
    host = np.concatenate((least, rng.integers(size.hosts, size=size.running - len(least))))
    slots = rng.integers(1, 5, size=size.running)
    memory = slots * rng.integers(1, 9, size=size.running)
    licence = rng.random(size.running) < 0.05
    ends = now + rng.integers(600, 86_400, size=size.running)
    used = np.zeros((size.hosts, 2), np.int64)
    np.add.at(used, host, np.stack([slots, memory], axis=1))
    used += (rng.random(size.hosts) < 0.2)[:, None] * np.array([1, 4])
    operations = [
        {"name": f"r{j}", "priority": float(p), "start_time": now - 86_400 + j % 86_400}
        for j, p in enumerate(rng.integers(0, 500, size=size.running))
    ]
    allocations = [
        {
            "name": f"r{j}",
            "operation": f"r{j}",
            "node": f"h{host[j]}",
            "resources": {"slots": int(slots[j]), "memory": int(memory[j])}
            | ({"lic": 1} if licence[j] else {}),
            "start_time": now - 86_400 + j % 86_400,
            "planned_end": int(ends[j]),
            "checkpointable": bool(j % 7 == 0),
            "rerunnable": bool(j % 2),
        }
        for j in range(size.running)
    ]
    requests = []
    for j in range(size.waiting):
        operations.append({"name": f"w{j}", "priority": float(rng.integers(250, 1000)), "user": "ann"})
        need = int(rng.integers(1, 7))
        requests.append(
            {
                "name": f"w{j}",
                "operation": f"w{j}",
                "resources": {"slots": need, "memory": need * int(rng.integers(1, 9))}
                | ({"lic": 1} if rng.random() < 0.05 and licences else {}),
                "count": int(rng.integers(2, 9)) if parallel and j % 10 == 0 else 1,
                "duration": int(rng.integers(600, 43_200)),
                "submit_time": now - 3600 + j,
                "reserve": True,
            }
        )
    return eh.Snapshot.from_dict(
        {
            "now": now,
            "resources": {
                "slots": {"kind": "slots"},
                "memory": {"kind": "memory"},
                "lic": {"kind": "license", "scope": "cluster", "capacity": int(licence.sum())},
            },
            "nodes": [
                {
                    "name": f"h{n}",
                    "capacity": {"slots": int(s), "memory": int(m)},
                    "swap_free": int(m) if n % 2 else 0,
                }
                for n, (s, m) in enumerate(used)
            ],
            "operations": operations,
            "allocations": allocations,
            "requests": requests,
        }
    )


def policy(size: Size) -> eh.policies.GridEngine:
    """Return the automatic trigger with so many reservations, and as many preemptees."""
    return eh.policies.GridEngine(
        automatic_preemption=True, max_reservation=size.reservations, max_preemptees=size.reservations
    )


def measured(function: Callable[[], object], times: int = TIMES) -> float:
    """Return the median of some calls, in milliseconds."""
    spans = []
    for _ in range(times):
        begun = time.perf_counter()
        function()
        spans.append(time.perf_counter() - begun)
    return median(spans) * 1e3


def run(size: Size, kind: str, times: int = TIMES) -> tuple[float, float, dict[str, int]]:
    """Return the time of a run in the core and of a whole plan, and what was decided."""
    snapshot, own = crowded(size, parallel=kind == "parallel", licences=kind == "licences"), policy(size)
    planner, _ = own._planner(snapshot)
    core = measured(planner.plan, times)  # a run changes nothing but what it remembers: none here
    whole = measured(lambda: eh.plan(snapshot, own), min(times, 3))
    return core, whole, dict(eh.plan(snapshot, own).counts)


def main() -> None:
    """Print the figures."""
    for kind, said in KINDS.items():
        base = Size()
        print(f"{said}: {base}")
        first, whole, counts = run(base, kind)
        did = ", ".join(f"{name.partition('.')[2]} {count}" for name, count in counts.items())
        over = " ABOVE" if first > RUN_BAR else ""
        print(f"  run {first:8.1f} ms (bar {RUN_BAR:g}{over})   plan {whole:8.1f} ms   {did}")
        for field in fields(Size):
            one, _, _ = run(replace(base, **{field.name: 2 * getattr(base, field.name)}), kind)
            growth = one / first
            over = " ABOVE" if growth > DOUBLING_BAR else ""
            print(
                f"  twice the {field.name:12} {one:8.1f} ms   {growth:5.2f} times"
                f" (bar {DOUBLING_BAR:g}{over})"
            )


if __name__ == "__main__":
    main()
