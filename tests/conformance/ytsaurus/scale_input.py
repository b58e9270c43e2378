"""Large deterministic trees whose check values are known.

The same arguments give the same tree everywhere: only ``random()`` is drawn, and only + - * / and rounding
are applied to what it gives. The trees are those of ``generate_trees.py scale`` in the collection of cases;
drawing in another order would make other trees.
"""

from __future__ import annotations

import random
from typing import Any

GIB = 1 << 30
TOTAL = {"user_slots": 2000000, "cpu": 1000000.0, "memory": 5000000 * GIB, "network": 400000, "gpu": 20000}

Row = dict[str, Any]


class Dice:
    """A seeded source of numbers."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)

    def uniform(self, low: float = 0.0, high: float = 1.0) -> float:
        return low + (high - low) * self._random.random()

    def integer(self, low: int, high: int) -> int:
        return low + int(self._random.random() * (high - low + 1))

    def chance(self, probability: float) -> bool:
        return self._random.random() < probability


def amount(resource: str, value: float) -> float:
    """Round to a legal amount: cpu has two decimals, the rest are integers."""
    value = max(value, 0)
    return round(value, 2) if resource == "cpu" else int(value + 0.5)


def tree(
    operations: int,
    pools: int,
    depth: int,
    variant: str,
    *,
    seed: int = 1,
    improved: bool = False,
    gang: float = 0.0,
) -> Row:
    """Make a balanced tree with its operations in the deepest pools.

    ``plain`` has weights, demands and five resources. ``full`` adds usage, strong guarantees on two levels,
    limits, FIFO pools and integral pools. `improved` and `gang` (the part of operations that are gangs)
    change nothing else.
    """
    dice = Dice(f"scale/{operations}/{pools}/{depth}/{variant}/{seed}")
    levels = _levels(dice, pools, depth)
    if variant == "full":
        _guarantee(dice, levels)
    rows = _operations(dice, levels[-1], operations, variant == "full")
    options: Row = {"main_resource": "cpu", "fast_fifo": True}
    if improved:
        options |= {"improved": True, "improved_gap": True}
    if gang:
        options["step_function_for_gang"] = True
        gang_dice = Dice(f"gang/{operations}/{seed}")
        for row in rows:
            if gang_dice.chance(gang):
                row["gang"] = True
    return {
        "options": options,
        "total": TOTAL,
        "now": 1700000060.0,
        "previous": 1700000000.0,
        "pools": [pool for level in levels for pool in level],
        "operations": rows,
    }


def _levels(dice: Dice, pools: int, depth: int) -> list[list[Row]]:
    """Level sizes grow by a constant factor b with b + b² + … + b^depth = pools."""
    low, high = 1.0, float(pools)
    for _ in range(200):
        middle = (low + high) / 2
        total, power = 0.0, 1.0
        for _ in range(depth):
            power *= middle
            total += power
        low, high = (middle, high) if total < pools else (low, middle)
    sizes, power = [], 1.0
    for _ in range(depth - 1):
        power *= low
        sizes.append(max(1, int(power + 0.5)))
    sizes.append(max(1, pools - sum(sizes)))
    levels: list[list[Row]] = []
    made = 0
    for size in sizes:
        row = []
        for k in range(size):
            parent = levels[-1][k * len(levels[-1]) // size]["id"] if levels else "root"
            weight = float(dice.integer(1, 4)) if dice.chance(0.5) else 1.0
            row.append({"id": f"p{made}", "parent": parent, "weight": weight})
            made += 1
        levels.append(row)
    return levels


def _guarantee(dice: Dice, levels: list[list[Row]]) -> None:
    cpu = TOTAL["cpu"]
    top, leaves = levels[0], levels[-1]
    for pool in top:
        pool["strong_guarantee"] = {"cpu": amount("cpu", cpu * (0.6 / len(top)) * dice.uniform(0.5, 1.2))}
    for pool in top if len(levels) > 1 else ():
        children = [child for child in levels[1] if child["parent"] == pool["id"]]
        for child in children:
            if dice.chance(0.7):
                guarantee = pool["strong_guarantee"]["cpu"] * dice.uniform(0.2, 0.95) / len(children)
                child["strong_guarantee"] = {"cpu": amount("cpu", guarantee)}
    made = [pool for level in levels for pool in level]
    for pool in made:
        if dice.chance(0.05):
            pool["limits"] = {"cpu": amount("cpu", cpu * 3.0 / len(made) * dice.uniform(0.5, 4.0))}
    flow = 0.2 / len(leaves)
    for pool in leaves:
        if dice.chance(0.1):
            pool["mode"] = "fifo"
        if dice.chance(0.025):
            kind = "burst" if dice.chance(0.5) else "relaxed"
            pool["integral"] = {
                "type": kind,
                "resource_flow": {"cpu": amount("cpu", cpu * flow)},
                "accumulated_volume": {
                    r: round(TOTAL[r] * flow * 3600 * dice.uniform(0.0, 10.0), 2) for r in TOTAL
                },
            }
            if kind == "burst":
                pool["integral"]["burst"] = {"cpu": amount("cpu", cpu * flow * 2)}


def _operations(dice: Dice, leaves: list[Row], count: int, full: bool) -> list[Row]:
    rows = []
    for n in range(count):
        size = 2.0 / count * dice.uniform(0.1, 1.0) * (8 if dice.chance(0.1) else 1)
        shares = {
            "cpu": size * dice.uniform(0.3, 1.0),
            "user_slots": size * dice.uniform(0.05, 0.6),
            "memory": size * dice.uniform(0.1, 1.0),
            "network": size * dice.uniform(0.1, 1.0) if dice.chance(0.3) else 0.0,
            "gpu": size * dice.uniform(0.5, 1.5) if dice.chance(0.15) else 0.0,
        }
        row: Row = {
            "id": f"o{n}",
            "pool": leaves[n * len(leaves) // count]["id"],
            "weight": round(dice.uniform(0.5, 4.0), 2) if dice.chance(0.3) else 1.0,
            "demand": {r: amount(r, shares[r] * TOTAL[r]) for r in TOTAL},
        }
        if full:
            _use_and_limit(dice, row)
            row["fifo_start_time"] = float(n)
        rows.append(row)
    return rows


def _use_and_limit(dice: Dice, row: Row) -> None:
    if dice.chance(0.5):
        part = dice.uniform(0.05, 1.0)
        row["usage"] = {
            r: min(v, amount(r, v * part * (1.0 if dice.chance(0.7) else dice.uniform(0.3, 1.0))))
            for r, v in row["demand"].items()
        }
    if dice.chance(0.05):
        row["limits"] = {"cpu": amount("cpu", row["demand"]["cpu"] * dice.uniform(0.2, 1.2))}
