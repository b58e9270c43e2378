"""Explain a victim and a spared allocation of a production GPU tree of YTsaurus.

``python tools/explain_gpu_tree.py [FOLDER]``: FOLDER holds ``gpu_tree_subset.csv``, by default
``yt-gpu-tree`` among the traces of the collection of cases (``$EVENHAND_SHARED``, else ``../shared``).

Pools, operations, weights, demands and usages are those of the file. It has no nodes, so 744 equal ones
are made, each a 744th of the totals, and what runs is dealt out in file order, each allocation to the
first node with room. ``pool0``, of which the file has one row only, is one operation that wants every GPU
and fills what is left. No gang rules apply: with them, what waits in this tree is owed nothing, and
nothing starves.
"""

from __future__ import annotations

import csv
import os
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import evenhand as eh

RESOURCES = ("user_slots", "cpu", "gpu", "user_memory")
TOTAL = {"user_slots": 124992, "cpu": 93818.4, "gpu": 5952, "user_memory": 754088408226001}
NODE = {"user_slots": 168, "cpu": 126.1, "gpu": 8, "user_memory": 1013559688475}
NODES = 744
ROOT = "<Root>"
POOL_0 = "pool0-work"  # stands for all operations of pool0
LATER = 600.0  # seconds between the two plans
WIDTH = 100  # characters of a line
WAITING = {"operation741": 4, "operation720": 2}  # requests, each an equal part of what is wanted

Row = dict[str, str]


def main() -> int:
    """Plan, and print two explanations."""
    shared = Path(os.environ.get("EVENHAND_SHARED") or Path(__file__).parents[2] / "shared")
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else shared / "traces" / "yt-gpu-tree"
    with (folder / "gpu_tree_subset.csv").open(newline="") as lines:
        snapshot = cluster(list(csv.DictReader(lines)))
    for text in report(snapshot):
        print(textwrap.fill(text, WIDTH))
    return 0


def report(snapshot: eh.Snapshot) -> Iterable[str]:
    """Yield what there is to say, a sentence or an empty text each."""
    policy = eh.policies.YTsaurus()
    before = eh.plan(snapshot, policy)
    plan = eh.plan(snapshot.replace(now=snapshot.now + LATER), policy, before.state)
    decisions = plan.decisions
    starving = [name for name, status in plan.statuses.items() if status.starvation != "non_starving"]
    yield f"Starving: {', '.join(map(str, starving))}."
    yield f"{len(decisions.victims)} preempted, {len(decisions.starts)} started."
    victim = str(next(iter(decisions.victims)).allocation)
    yield from ("", f"why({victim!r})", *plan.why(victim).sentences)
    # The newest work of the operation that the real scheduler held above its share.
    spared = max(
        (row for row in snapshot.to_dict()["allocations"] if row["operation"] == "operation730"),
        key=lambda row: row["start_time"],
    )
    yield from ("", f"why_not({spared['name']!r})", *plan.why_not(spared["name"]).sentences)


def cluster(rows: list[Row]) -> eh.Snapshot:
    """Return the snapshot: the file's tree, on nodes of our own."""
    pools = [
        {
            "name": row["name"],
            "parent": parent(row),
            "mode": row["mode"],
            "weight": float(row["weight"]),
            "strong_guarantee": {"gpu": float(row["guarantee_gpu"] or 0)},
        }
        for row in rows
        if row["kind"] == "pool" and row["name"] != ROOT
    ]
    operations = [row for row in rows if row["kind"] == "operation"]
    allocations = dealt(operations)
    requests = []
    for row in operations:
        if row["name"] in WAITING:
            count = WAITING[row["name"]]
            requests.append(
                asked(row["name"], {r: amounts(row, "demand")[r] / count for r in RESOURCES}, count)
            )
    held = sum(a["resources"]["gpu"] for a in allocations if a["operation"] == POOL_0)
    requests.append(asked(POOL_0, {"gpu": 1}, TOTAL["gpu"] - held))
    data = {
        "now": float(len(allocations)),
        "resources": {r: {"quantum": 0.01 if r == "cpu" else 1} for r in RESOURCES},
        "total": TOTAL,
        "nodes": [{"name": f"node{i}", "capacity": NODE} for i in range(NODES)],
        "pools": pools,
        "operations": [
            *({"name": r["name"], "pool": parent(r), "weight": float(r["weight"])} for r in operations),
            {"name": POOL_0, "pool": "pool0"},
        ],
        "allocations": allocations,
        "requests": requests,
    }
    return eh.Snapshot.from_dict(data, order="rows", rounding="nearest")


def dealt(operations: list[Row]) -> list[dict[str, Any]]:
    """Return what runs: the file's allocations one second apart, then pool0's in what is left."""
    free = [dict(NODE) for _ in range(NODES)]
    allocations: list[dict[str, Any]] = []

    def place(operation: str, number: int, node: int, needed: dict[str, float]) -> None:
        for r, amount in needed.items():
            free[node][r] -= amount
        allocations.append(
            {
                "name": f"{operation}/{number}",
                "operation": operation,
                "node": f"node{node}",
                "resources": needed,
                "start_time": float(len(allocations)),
            }
        )

    for row in operations:
        usage = amounts(row, "usage")
        slots = int(usage["user_slots"])
        for number in range(slots):
            needed = {r: usage[r] / slots for r in RESOURCES}
            node = next(n for n in range(NODES) if all(free[n][r] >= needed[r] for r in RESOURCES))
            place(row["name"], number, node, needed)
    rest = [node for node in range(NODES) if free[node]["gpu"]]
    for number, node in enumerate(rest):
        place(POOL_0, number, node, {"gpu": free[node]["gpu"]})
    return allocations


def asked(operation: str, each: dict[str, float], count: float) -> dict[str, Any]:
    """Return a request."""
    return {"name": f"{operation}/more", "operation": operation, "resources": each, "count": int(count)}


def amounts(row: Row, what: str) -> dict[str, float]:
    """Return the amounts of one kind."""
    return {r: float(row[f"{what}_{r}"]) for r in RESOURCES}


def parent(row: Row) -> str | None:
    """Return the pool in which a row stands."""
    return None if row["parent"] == ROOT else row["parent"]


if __name__ == "__main__":
    sys.exit(main())
