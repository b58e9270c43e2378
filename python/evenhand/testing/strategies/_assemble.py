"""From drawn percentages to a snapshot in the file format: plain functions, nothing is drawn here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any

from evenhand.testing.strategies._nasty import SHAPES
from evenhand.testing.strategies._rows import Row, settle_tree
from evenhand.testing.strategies._scale import Scale, excess

NOW = 1_000_000_000
GENERIC_TOTAL = 1_000_000_007  # quanta; large, so that an excess is small and yet far above rounding errors
EXACT_TOTALS = (100, 20, 8, 1000, 3)  # quanta; small, so that ties and truncation show


def snapshot(
    raw: Mapping[str, Any], resources: Mapping[str, Mapping[str, Any]], max_depth: int | None, *, exact: bool
) -> dict[str, Any]:
    """Write a drawn snapshot in the file format.

    With nodes, demand and usage are what allocations and requests add up to;
    without, they are stated, and so is the total.
    """
    drawn = deepcopy(dict(raw))
    for shape in drawn.get("nasty", ()):
        SHAPES[shape](drawn)
    quanta = {name: resource["quantum"] for name, resource in resources.items()}
    scale = Scale(quanta, _total(drawn["totals"], exact=exact), exact)
    pools, operations = drawn["pools"], drawn["operations"]
    tree = settle_tree(pools, max_depth)
    pool_name, operation_name = NAMING[drawn["naming"]]
    names = [operation_name(i) for i in range(len(operations))]
    stated = not drawn["nodes"]
    data: dict[str, Any] = {
        "schema": "evenhand/snapshot/1",
        "now": NOW,
        "resources": {name: dict(resource) for name, resource in resources.items()},
        "root": drawn["root"],
        "pools": [
            {"name": pool_name(i), "parent": None if parent is None else pool_name(parent)}
            | scale.pool(row, f"pools.{i}")
            for i, (parent, row) in enumerate(tree)
        ],
        "operations": [
            {
                "name": names[i],
                "pool": None if (home := choice % (len(tree) + 1)) == 0 else pool_name(home - 1),
            }
            | scale.operation(row, f"operations.{i}", stated=stated)
            for i, (choice, row) in enumerate(operations)
        ],
    }
    if drawn["elapsed"] is not None:
        data["previous_update"] = NOW - drawn["elapsed"]
    if stated:
        data["total"] = scale.units(scale.total)
    else:
        data["nodes"] = _nodes(drawn["nodes"], scale)
        data["allocations"] = place(drawn["allocations"], scale, data["nodes"], names)
        data["requests"] = [
            {"name": f"r{i}"} | request(row, scale, names, f"requests.{i}")
            for i, row in enumerate(drawn["requests"] if names else ())
        ]
    return data


NAMING: dict[str, tuple[Callable[[int], str | int], Callable[[int], str | int]]] = {
    "plain": (lambda i: f"p{i}", lambda i: f"o{i}"),
    "integers": (lambda i: i, lambda i: 1000 - i),
    "awkward": (lambda i: f"π/{'é' * i} ", lambda i: f"操作 {i}\t\"'<&>"),
}


def _total(choices: Sequence[int], *, exact: bool) -> tuple[int, ...]:
    if exact:
        return tuple(EXACT_TOTALS[c % len(EXACT_TOTALS)] if c else 0 for c in choices)
    return tuple(
        c * GENERIC_TOTAL + excess(f"total.{r}", GENERIC_TOTAL) if c else 0 for r, c in enumerate(choices)
    )


def _nodes(rows: Sequence[Row], scale: Scale) -> list[Row]:
    """Split the cluster over its nodes."""
    whole = sum(row["part"] for row in rows)
    return [
        {"name": f"n{i}", "capacity": scale.units([t * row["part"] // whole for t in scale.total])}
        | {k: v for k, v in row.items() if k != "part"}
        for i, row in enumerate(rows)
    ]


def place(
    rows: Sequence[Row], scale: Scale, nodes: Sequence[Mapping[str, Any]], operations: Sequence[str | int]
) -> list[Row]:
    """Put allocations on their nodes, each cut to what the earlier ones left; empty ones are not made."""
    capacity = [
        [round(node["capacity"].get(name, 0) / quantum) for name, quantum in scale.quanta.items()]
        for node in nodes
    ]
    free = [list(counts) for counts in capacity]
    table: list[Row] = []
    for row in rows if operations else ():
        node = row["node"] % len(nodes)
        asked = scale.counts(row["resources"], f"allocations.{len(table)}", capacity[node])
        taken = [min(a or 0, f) for a, f in zip(asked, free[node], strict=True)]
        if not any(taken):
            continue
        free[node] = [f - t for f, t in zip(free[node], taken, strict=True)]
        table.append(
            {
                "name": f"a{len(table)}",
                "operation": operations[row["operation"] % len(operations)],
                "node": nodes[node]["name"],
                "resources": scale.units(taken),
                "start_time": NOW - row.get("age", 0),
            }
            | {k: v for k, v in row.items() if k not in {"node", "operation", "resources", "age"}}
        )
    return table


def request(row: Row, scale: Scale, operations: Sequence[str | int], at: str) -> Row:
    """Write a request."""
    return {
        "operation": operations[row["operation"] % len(operations)],
        "resources": scale.amounts(row["resources"], at),
        "submit_time": NOW - row.get("age", 0),
    } | {k: v for k, v in row.items() if k not in {"operation", "resources", "age"}}
