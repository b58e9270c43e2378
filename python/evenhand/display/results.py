"""What tables, snapshots and shares look like in notebooks and terminals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenhand.display import markup
from evenhand.display.overview import Overview, overview
from evenhand.display.snapshots import counts, snapshot_html, snapshot_text
from evenhand.display.terminal import (
    below_cells,
    below_lines,
    below_sentence,
    cell,
    counted,
    diagnostic_lines,
    left_out,
    paint,
    table_text,
    total_lines,
    tree_lines,
)
from evenhand.display.text import COLUMNS_MEAN, amount, clean, in_unit, percent, ratio, width

if TYPE_CHECKING:
    from evenhand.display.tree import Row
    from evenhand.shares import Shares
    from evenhand.simulate.result import Result
    from evenhand.table import Table

__all__ = [
    "PoolTree",
    "pool_tree",
    "result_html",
    "shares_html",
    "shares_text",
    "snapshot_html",
    "snapshot_text",
    "table_html",
    "table_text",
]

_TEXT_ROWS = 20
_HTML_ROWS = 150
_LISTED = 10


class PoolTree:
    """The pool tree with fair share, usage and guarantee: text in a terminal, foldable in a notebook.

    Made by `pool_tree`.
    """

    def __init__(self, view: Overview, *, depth: int | None, top: int | None, operations: bool) -> None:
        self._view = view
        self._depth = depth
        self._top = top
        self._operations = operations

    def _rows(self, most: int) -> list[Row]:
        return self._view.rows(depth=self._depth, top=self._top or most, operations=self._operations)

    def __repr__(self) -> str:
        return paint(tree_lines(self._view, self._rows(2 * _TEXT_ROWS)))

    def _repr_html_(self) -> str:
        return markup.wrap(repr(self), _tree_html(self._view, self._rows(_HTML_ROWS)))


def pool_tree(
    shares: Shares,
    *,
    resource: str | None = None,
    depth: int | None = None,
    top: int | None = None,
    operations: bool = False,
) -> PoolTree:
    """Show the pool tree of shares."""
    return PoolTree(overview(shares, resource), depth=depth, top=top, operations=operations)


def totals(shares: Shares) -> dict[str, np.ndarray]:
    """Return the root's usage, fair share and demand, one share a resource."""
    return {
        "usage": np.asarray(shares["usage_share"])[0],
        "fair share": np.asarray(shares["fair_share"])[0],
        "demand": np.asarray(shares["demand_share"])[0],
    }


def shares_text(shares: Shares) -> str:
    """Shares as text: totals, the largest pools, the operations that lack most, diagnostics."""
    return _shares_text(shares, overview(shares))


def _shares_text(shares: Shares, view: Overview) -> str:
    lines = [
        [("", f"Shares of {counts(shares.snapshot)}")],
        *total_lines(view, [shares.snapshot.total[r] for r in view.resources], totals(shares)),
        [],
        *tree_lines(view, view.rows(top=_TEXT_ROWS)),
        [],
        *below_lines(view, top=0),
        *diagnostic_lines(shares.diagnostics, _LISTED),
    ]
    return paint(lines)


def shares_html(shares: Shares) -> str:
    """Shares as HTML: totals, the foldable tree, the operations that lack most, diagnostics."""
    view = overview(shares)
    shown, total = totals(shares), shares.snapshot.total
    parts = [
        markup.header("Shares", f"of {counts(shares.snapshot)}"),
        markup.table(
            ["resource", "total", *shown],
            [
                [in_unit(r, unit), amount(total[r]), *(f"{100 * v[i]:.1f}%" for v in shown.values())]
                for i, (r, unit) in enumerate(shares.snapshot.units.items())
            ],
            numbers=range(1, 5),
        ),
        _tree_html(view, view.rows(top=_HTML_ROWS, operations=True)),
        _below_html(view),
    ]
    if shares.diagnostics:
        rows = [
            (d.code, d.message, ", ".join(map(str, d.elements[:_LISTED])))
            for d in shares.diagnostics[:_HTML_ROWS]
        ]
        parts.append(
            markup.fold(
                counted(len(shares.diagnostics), "diagnostic"),
                markup.table(["code", "message", "elements"], rows),
                opened=True,
            )
        )
    return markup.wrap(_shares_text(shares, view), *parts)


def _tree_html(view: Overview, rows: list[Row]) -> str:
    end = view.scale(rows)
    scale = f'<span style="float:left">0</span>{percent(end).removesuffix(".0")}%'
    shown = {view.resources[view.resource[row.element]] for row in rows if not row.is_rest}
    widest = min(12, max([5, *(0.6 * width(clean(name)) for name in shown)]))
    columns = [
        ("pool or operation", "minmax(8em,1fr)", "eh-left"),
        ("mode", "3em", "eh-left"),
        *([("resource", f"{widest:.3g}em", "eh-left")] if view.chosen is None else []),
        ("fair share", "5em", ""),
        ("usage", "4em", ""),
        ("guarantee", "5em", ""),
        (scale, "minmax(4em,14em)", ""),
        ("satisfied", "4.5em", ""),
        ("pending", "4.5em", ""),
    ]

    def cells(row: Row) -> list[str]:
        if row.is_rest:
            return [f'<span class="eh-quiet">… {markup.safe(left_out(row))}</span>'] + [""] * (
                len(columns) - 1
            )
        e = row.element
        name = markup.name(view.tree.short_name(e))
        full = markup.safe(view.tree.names[e])
        if row.pools or row.operations:
            more = f"+{row.pools + row.operations:,}"
            name += f' <span class="eh-quiet" title="{markup.safe(left_out(row))}">{more}</span>'
        fair, usage, guarantee = float(view.fair_share[e]), float(view.usage[e]), float(view.guarantee[e])
        label = f"fair share {percent(fair)}%, usage {percent(usage)}%, guarantee {percent(guarantee)}%"
        return [
            f'<span title="{full}">{name}</span>',
            view.modes[e],
            *([markup.name(view.resources[view.resource[e]])] if view.chosen is None else []),
            percent(fair),
            percent(usage),
            percent(guarantee),
            markup.bar(usage, fair, guarantee, end=end, label=label) if row.depth else "",
            ratio(float(view.satisfaction[e])),
            percent(float(view.pending[e])),
        ]

    what = "the row’s resource" if view.chosen is None else markup.safe(view.chosen)
    few = len(rows) <= 2 * _TEXT_ROWS
    tree = markup.tree(columns, rows, cells, opened=lambda row: few or row.depth == 0)
    return f'{tree}<div class="eh-quiet">% of {what}{markup.legend()}<br>{COLUMNS_MEAN}</div>'


def _below_html(view: Overview) -> str:
    heads, *rows = below_cells(view, _LISTED)
    if not rows:
        return f"<div>{below_sentence(view)}</div>"
    caption = "those that lack the largest part of the cluster"
    return markup.fold(below_sentence(view), markup.table(heads, rows, numbers=range(3, 7), caption=caption))


def table_html(table: Table, *, head: str = "", max_rows: int = 20, max_columns: int = 40) -> str:
    """Return a table as HTML, below a sentence: the first rows and columns, and how many more there are."""
    names = table.columns[:max_columns]
    columns = [table[name][:max_rows] for name in names]
    numeric = [
        i for i, column in enumerate(columns) if isinstance(column, np.ndarray) and column.dtype.kind in "fi"
    ]
    plain = [column.tolist() if isinstance(column, np.ndarray) else column for column in columns]
    rows = [[cell(value) for value in row] for row in zip(*plain, strict=True)]
    more = [
        counted(number, noun)
        for number, noun in (
            (len(table) - len(rows), "more row"),
            (len(table.columns) - len(names), "more column"),
        )
        if number
    ]
    note = f'<div class="eh-quiet">… {", ".join(more)}</div>' if more else ""
    body = markup.table(names, rows, numbers=numeric, caption=table.title)
    if not head:
        return markup.wrap(table_text(table), body, note)
    return markup.wrap(f"{head}\n{table_text(table)}", f"<div>{markup.safe(head)}</div>", body, note)


def result_html(result: Result, done: str) -> str:
    """Return what came of a simulation, its diagnostics, and the metrics folded."""
    begin, end = result.span
    notes = "".join(f"<p>{markup.safe(line)}</p>" for line in repr(result).splitlines()[1:])
    rows = [(name, amount(value), unit) for name, value, unit in result.metrics.table().rows()]
    body = markup.fold("metrics", markup.table(("name", "value", "unit"), rows, numbers=[1]))
    return markup.wrap(repr(result), markup.header(f"Result of {end - begin:,.0f} s", done), notes, body)
