"""Rows of clusters by wish: every row is a tuple of small numbers, which then get their meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["NOW", "Row", "Wishes", "snapshot"]

NOW = 1000.0
HOW_MANY = ("none", "some", "all")
HowMany = Literal["none", "some", "all"]

Row = dict[str, Any]
Numbers = tuple[int, ...]


@dataclass(frozen=True)
class Wishes:
    """What the rows are to be like; see `cluster_dicts`."""

    max_quanta: int
    guarantees: HowMany
    priorities: HowMany
    overfull: bool
    suspended: bool


def _chosen(how_many: HowMany, number: int) -> bool:
    """Whether a row has an optional field, by a number of 0 to 15."""
    return how_many == "all" or (how_many == "some" and number > 7)


class _Amounts:
    """Amounts in units, of numbers of 0 to 15."""

    def __init__(self, spaces: Mapping[str, Mapping[str, Any]], most: int) -> None:
        self.quanta = {name: (fields or {}).get("quantum", 1) for name, fields in spaces.items()}
        self.most = most

    def counts(self, numbers: Sequence[int], part: int) -> list[int]:
        """Return quanta of each resource, up to a `part` of the largest amount; of the first at least 1."""
        most = max(self.most // part, 1)
        width = len(self.quanta)
        made = [numbers[i % len(numbers)] * most // 15 for i in range(width)]
        return [max(made[0], 1), *made[1:]] if made else []

    def units(self, counts: Sequence[int]) -> Row:
        """Return amounts without zeros."""
        pairs = zip(self.quanta.items(), counts, strict=True)
        return {name: count * quantum for (name, quantum), count in pairs if count}


def snapshot(
    wishes: Wishes,
    spaces: Mapping[str, Mapping[str, Any]],
    own_pools: Sequence[Mapping[str, Any]] | None,
    drawn: tuple[list[Numbers], ...],
) -> Row:
    """Build a snapshot in the file format of drawn numbers."""
    nodes, pools, operations, allocations, requests = drawn
    amounts = _Amounts({name: f for name, f in spaces.items() if _on_nodes(f)}, wishes.max_quanta)
    tree = _tree(wishes, amounts, pools) if own_pools is None else [dict(row) for row in own_pools]
    homes = _leaves(tree)
    running, used = _allocations(wishes, amounts, allocations, len(nodes), len(operations))
    return {
        "now": NOW,
        "resources": {name: dict(fields or {}) for name, fields in spaces.items()},
        "nodes": [_node(wishes, amounts, i, row, used[i]) for i, row in enumerate(nodes)],
        "pools": tree,
        "operations": [_operation(wishes, i, row, homes) for i, row in enumerate(operations)],
        "allocations": running,
        "requests": [
            {
                "name": f"r{i}",
                "operation": f"o{row[3] % len(operations)}",
                "resources": amounts.units(amounts.counts(row[:3], 2)),
                "count": 1 + row[4] // 6,
                "submit_time": NOW - 30 * row[5],
            }
            for i, row in enumerate(requests)
        ],
    }


def _on_nodes(fields: Mapping[str, Any] | None) -> bool:
    return (fields or {}).get("scope") != "cluster"


def _leaves(tree: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Return where operations may be: pools without pools below them."""
    above = {row.get("parent") for row in tree}
    return [row["name"] for row in tree if row["name"] not in above]


def _tree(wishes: Wishes, amounts: _Amounts, pools: Sequence[Numbers]) -> list[Row]:
    tree: list[Row] = []
    for i, row in enumerate(pools):
        pool: Row = {"name": f"p{i}"}
        if row[0] > 10 and i:
            pool["parent"] = f"p{row[0] % i}"
        if _chosen(wishes.guarantees, row[1]):
            pool["strong_guarantee"] = amounts.units(amounts.counts(row[2:5], 1))
        if row[5] > 12:
            pool["weight"] = row[5] - 10
        tree.append(pool)
    return tree


def _operation(wishes: Wishes, i: int, row: Numbers, homes: Sequence[Any]) -> Row:
    operation: Row = {"name": f"o{i}"}
    if homes:
        operation["pool"] = homes[row[0] % len(homes)]
    if _chosen(wishes.priorities, row[1]):
        operation["priority"] = row[2]
    if row[3] > 12:
        operation["weight"] = row[3] - 10
    return operation


def _allocations(
    wishes: Wishes, amounts: _Amounts, rows: Sequence[Numbers], nodes: int, operations: int
) -> tuple[list[Row], list[list[int]]]:
    """Return allocations, and what they hold of each node in quanta."""
    used = [[0] * len(amounts.quanta) for _ in range(nodes)]
    table = []
    for i, row in enumerate(rows):
        counts, node = amounts.counts(row[:3], 3), row[4] % nodes
        allocation: Row = {
            "name": f"a{i}",
            "operation": f"o{row[3] % operations}",
            "node": f"n{node}",
            "resources": amounts.units(counts),
            "start_time": NOW - 1 - 10 * row[5],
        }
        held = counts
        if wishes.suspended and row[6] > 9:
            if row[6] > 13:
                allocation["state"] = "suspended"  # by a person: it keeps all
            elif row[6] > 11:
                held = [count // 2 if row[7] % 2 else 0 for count in counts]
                allocation |= {"state": "preempted", "held": amounts.units(held)}
            else:  # it resumed a while ago: what ran before does not count
                allocation["last_job_start_time"] = NOW - row[5]
        used[node] = [u + h for u, h in zip(used[node], held, strict=True)]
        table.append(allocation)
    return table, used


def _node(wishes: Wishes, amounts: _Amounts, i: int, row: Numbers, used: Sequence[int]) -> Row:
    """Make a node with little room beside what is there; if allowed, now and then too little."""
    most = max(wishes.max_quanta // 6, 1)
    spare = [row[r % len(row)] * most // 15 for r in range(len(used))]
    if wishes.overfull and row[7] > 11:
        spare = [-(s + 1) for s in spare]
    capacity = [max(u + s, 0) for u, s in zip(used, spare, strict=True)]
    return {"name": f"n{i}", "capacity": amounts.units(capacity)}
