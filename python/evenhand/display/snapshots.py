"""What a snapshot looks like: how much there is, of what, and the tree of pools."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenhand.display import markup
from evenhand.display.terminal import cell, counted, left_out
from evenhand.display.text import amount, clean, fit, in_short, in_unit, width
from evenhand.display.tree import Row, Tree
from evenhand.units.text import instant, number

if TYPE_CHECKING:
    from evenhand.model import Snapshot
    from evenhand.table import Table

__all__ = ["counts", "snapshot_html", "snapshot_text"]

_TEXT_ROWS = 20
_HTML_ROWS = 150
_TABLE_ROWS = 5
_LARGE = 10_000  # rows of a table that is only counted: building its columns would be felt


def counts(snapshot: Snapshot) -> str:
    """``1,500 nodes, 300 pools, 4,000 operations, 40,000 allocations``."""
    numbers = {
        "node": snapshot.node_count,
        "pool": snapshot.pool_count - 1,  # the root is implicit
        "operation": snapshot.operation_count,
        "allocation": snapshot.allocation_count,
    }
    return ", ".join(counted(number, noun) for noun, number in numbers.items())


class _Pools:
    """What a snapshot says of its pools, one entry a pool, the root first."""

    def __init__(self, snapshot: Snapshot) -> None:
        pools = snapshot.table("pools")
        operations = snapshot.table("operations")
        names = ["<Root>", *pools.get("name")]
        row: dict[object, int] = {None: 0} | {name: i for i, name in enumerate(names) if i}
        above = [*pools.get("parent"), *operations.get("pool")]
        parents = [-1, *(row[name] for name in above)]
        self.tree = Tree(names, parents, len(names))
        self.mode = ["fair", *("fifo" if mode == "fifo" else "fair" for mode in pools.get("mode"))]
        self.weight = ["", *(number(weight) for weight in pools.get("weight", 1.0))]
        self.guarantee = ["", *_amounts(pools, "strong_guarantee", snapshot)]
        self.limits = ["", *_amounts(pools, "limits", snapshot)]

    def rows(self, most: int) -> list[Row]:
        """Return the pools with the most operations below them."""
        return self.tree.rows(self.tree.select(self.tree.operations_below, top=most))

    def cells(self, row: Row) -> list[str]:
        """Name and what there is to say of it, as clean text."""
        e = row.element
        if row.is_rest:
            return [f"… {left_out(row)}", "", "", "", "", ""]
        name = clean(self.tree.short_name(e)) + (f" +{row.pools:,}" if row.pools else "")
        below = f"{self.tree.operations_below[e]:,}"
        return [name, self.mode[e], self.weight[e], below, self.guarantee[e], self.limits[e]]


_HEADS = ("pool", "mode", "weight", "operations", "strong guarantee", "limits")


def _amounts(table: Table, field: str, snapshot: Snapshot) -> list[str]:
    """Return a cell a row: ``6,131 cpu, 204 gpu``."""
    cells: list[dict[str, float]] = [{} for _ in range(len(table))]
    for resource in snapshot.resources:
        if f"{field}.{resource}" in table:
            for cell, value in zip(cells, table[f"{field}.{resource}"], strict=True):
                if value is not None and np.isfinite(value):
                    cell[resource] = value
    return [in_short(cell, snapshot.units) for cell in cells]


def _resources(snapshot: Snapshot) -> list[tuple[str, str, str]]:
    total, quantum = snapshot.total, snapshot.quantum
    return [(in_unit(r, unit), amount(total[r]), number(quantum[r])) for r, unit in snapshot.units.items()]


def snapshot_text(snapshot: Snapshot) -> str:
    """Return a snapshot as text: sizes, resources, the pools with the most operations."""
    return _text(snapshot, _Pools(snapshot))


def _text(snapshot: Snapshot, pools: _Pools) -> str:
    cells = [list(_HEADS)]
    for row in pools.rows(_TEXT_ROWS):
        cells.append(pools.cells(row))
        cells[-1][0] = "  " * row.depth + cells[-1][0]
    widths = [min(30, max(width(line[i]) for line in cells)) for i in range(len(_HEADS))]
    totals = in_short(snapshot.total, snapshot.units)
    lines = [f"Snapshot at {instant(snapshot.now, snapshot.now)}: {counts(snapshot)}", f"total: {totals}"]
    for line in cells:
        parts = (fit(text, widths[i], right=i in (2, 3), name=True) for i, text in enumerate(line))
        lines.append("  ".join(parts).rstrip())
    return "\n".join(lines)


def snapshot_html(snapshot: Snapshot) -> str:
    """Return a snapshot as HTML: sizes, resources, the foldable tree of pools, the tables' first rows."""
    pools = _Pools(snapshot)
    rows = pools.rows(_HTML_ROWS)
    few = len(rows) <= 2 * _TEXT_ROWS
    sizes = ("minmax(8em,1fr)", "3em", "3.5em", "5.5em", "minmax(9em,18em)", "minmax(6em,14em)")
    roles = ("eh-left", "eh-left", "", "", "eh-left", "eh-left")
    parts = [
        markup.header("Snapshot", counts(snapshot)),
        markup.table(["resource", "total", "quantum"], _resources(snapshot), numbers=(1, 2)),
        markup.tree(
            list(zip(_HEADS, sizes, roles, strict=True)),
            rows,
            lambda row: [markup.name(cell) for cell in pools.cells(row)],
            opened=lambda row: few or row.depth == 0,
        ),
    ]
    for name in ("nodes", "operations", "allocations", "requests", "reservations"):
        if not (count := getattr(snapshot, f"{name[:-1]}_count")):
            continue
        if count > _LARGE:
            parts.append(f"<div>{name} <span class='eh-quiet'>{count:,}</span></div>")
        else:
            table = snapshot.table(name)
            first = [[cell(value) for value in row] for row in table.rows(_TABLE_ROWS)]
            more = f", the first {_TABLE_ROWS}" if len(table) > _TABLE_ROWS else ""
            label = f"{name} <span class='eh-quiet'>{len(table):,}{more}</span>"
            parts.append(markup.fold(label, markup.table(table.columns, first)))
    return markup.wrap(_text(snapshot, pools), *parts)
