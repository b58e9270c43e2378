"""Rounds of today's preemption per ask, as the peer `yunikorn` makes them, and beside it.

``python -m tests.bench.yunikorn.rounds [--peer PATH]``: PATH is the program of ``../shared/peers/yunikorn``.
5,000 nodes, 400 leaf queues, 100,000 allocations; dense: 360 leaves above their guarantee, sparse: 40. Exits
1 if an answer differs from YuniKorn's own.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any

from tests.bench.fair_share import host
from tests.bench.ytsaurus.preemption import row
from tests.conformance.yunikorn.world import World
from tests.shared import shared

OVER = {"dense": 360, "sparse": 40}
ROUND_BAR = {"dense": 2000.0, "sparse": 500.0}
COLD_BAR = {"dense": 10.0, "sparse": 2.0}
ASKING, ASKS = 40, 1000
GROWTH_BAR = 2.3  # of what takes n log n, where n doubles

Case = dict[str, Any]


def units(count: int) -> dict[str, int]:
    """Amounts of so many units of both types."""
    return {"vcore": 1000 * count, "memory": 1000 * count}


def bed(over: int, nodes: int = 5000, queues: int = 400, per_node: int = 20, asks: int = ASKS) -> Case:
    """What the peer's `round` builds: full nodes, the first leaves ask, `over` of the others may give."""
    total, others = nodes * per_node, queues - ASKING
    fair = total // others
    parents: list[Any] = []
    leaves = []
    for i in range(queues):
        if i % 20 == 0:
            parents.append({"name": f"p{i // 20:02d}", "children": []})
        place = i - ASKING
        if i < ASKING:
            owed = fair
        elif (place + 1) * over // others != place * over // others:
            owed = max(1, fair // 4)
        else:
            owed = 4 * fair + 4
        parents[-1]["children"].append({"name": f"leaf{i:03d}", "leaf": True, "guaranteed": units(owed)})
        leaves.append(f"root.{parents[-1]['name']}.leaf{i:03d}")
    return {
        "config": {"nodes_tried": True},
        "queues": {"name": "root", "max": units(total), "children": parents},
        "nodes": [{"id": f"node-{n:05d}", "capacity": units(per_node)} for n in range(nodes)],
        "allocations": [
            {
                "key": f"a{k:07d}",
                "queue": leaves[ASKING + k % others],
                "node": f"node-{k // per_node:05d}",
                "resources": units(1),
                "create_time_s": k,
                "allow_preempt_self": True,
            }
            for k in range(total)
        ],
        "asks": [
            {"key": f"ask-{i:04d}", "queue": leaves[i % ASKING], "resources": units(2), "priority": 10}
            for i in range(asks)
        ],
    }


def run(case: Mapping[str, Any]) -> tuple[list[float], list[tuple[bool, str | None, list[str]]]]:
    """Milliseconds and answer of each ask, in turn on one state."""
    world = World(case)
    took, answers = [], []
    for ask in case["asks"]:
        begin = time.perf_counter_ns()
        world.begin(ask)
        found = world.core.attempt(case["config"]["nodes_tried"], None, [])
        if found["success"]:
            world.core.carry_out(found["victims"], found["node"], world.ask_row(ask["key"]), ask["priority"])
        took.append((time.perf_counter_ns() - begin) / 1e6)
        node = world.node_ids[found["node"]] if found["success"] else None
        answers.append((found["success"], node, sorted(world.keys(found["victims"]))))
    return took, answers


def recorded(name: str) -> int:
    """Compare with YuniKorn's own answers; return how many differ."""
    with gzip.open(shared("cases", f"yunikorn-round-{name}.json.gz")) as file:
        data = json.load(file)
    took, answers = run(data["case"])
    wanted = [(one["success"], one["node"], sorted(one["victims"])) for one in data["expected"]]
    differing = sum(a != b for a, b in zip(answers, wanted, strict=True))
    print(f"{name}: {len(wanted) - differing} of YuniKorn's {len(wanted)} answers are the same")
    row(f"{name}: these asks", sum(took), "ms")
    return differing


def peer(program: str, name: str, asks: int, ours: list[float]) -> None:
    """Run the peer on the same asks."""
    command = [program, "round", "-over", str(OVER[name]), "-asking", str(ASKING), "-asks", str(asks)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.search(r"median_ms ([\d.]+)", said)
    assert found is not None, said
    theirs = float(found[1])
    row(f"{name}: the peer's median of its first {asks} asks", theirs, "ms", None,
        f"{theirs / statistics.median(ours[:asks]):,.0f} times ours")  # fmt: skip


def growth(name: str) -> None:
    """Print the median attempt where nodes, queues, or allocations of a node are twice as many."""
    base: dict[str, int] = {"nodes": 1250, "queues": 200, "per_node": 10}
    for what, count in base.items():
        medians = []
        for times in (1, 2, 4):
            over = OVER[name] * (base["queues"] * (times if what == "queues" else 1) - ASKING) // 360
            case = bed(over, **{**base, what: count * times}, asks=100)
            medians.append(statistics.median(run(case)[0]))
        for small, large in itertools.pairwise(medians):
            row(f"{name}: twice the {what}, an attempt takes", large / small, "times", GROWTH_BAR)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--peer", help="the peer's program")
    parser.add_argument("--peer-asks", type=int, default=3)
    arguments = parser.parse_args()
    print(host())
    differing = 0
    for name, over in OVER.items():
        differing += recorded(name)
        case = bed(over)
        took, answers = run(case)
        victims = sum(len(v) for _, _, v in answers)
        note = f"{sum(ok for ok, _, _ in answers)} satisfied, {victims} victims"
        row(f"{name}: a round of {ASKS} asks", sum(took), "ms", ROUND_BAR[name], note)
        row(f"{name}: its first ask, cold", took[0], "ms", COLD_BAR[name])
        row(f"{name}: the median of an ask", statistics.median(took), "ms")
        if arguments.peer:
            peer(arguments.peer, name, arguments.peer_asks, took)
        growth(name)
    return min(differing, 1)


if __name__ == "__main__":
    sys.exit(main())
