"""The pool tree: fair share against usage and guarantee."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.accepted import checked
from evenhand.arguments import expect
from evenhand.display.overview import Overview, overview
from evenhand.display.terminal import counted
from evenhand.display.text import clean, fit
from evenhand.errors import InputError, require
from evenhand.plot._axes import HELD, LEAVES, OWED, ROW, inked, marked, new_axes, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from evenhand.display.tree import Row
    from evenhand.shares import Shares

__all__ = ["pool_tree"]

_NAME, _RESOURCE = 34, 20  # characters of a label, and of the one beside a bar


@inked
@checked("plot.pool_tree", shares="Any")
def pool_tree(
    shares: Shares, *, resource: str | None = None, max_pools: int = 30, ax: Axes | None = None
) -> Axes:
    """Draw the pool tree as indented horizontal bars.

    A bar shows what a pool uses up to its fair share, what it uses above it (hatched) and what it is still
    owed below it (outlined); a vertical line marks its guarantee. The root is not drawn: it is the cluster.

    Parameters
    ----------
    shares
        Result of `evenhand.fair_share`.
    resource
        Shares of this resource; by default each pool shows its dominant resource, named beside its bar.
    max_pools
        Most pools drawn, the largest ones; a line says how many more there are.
    ax
        Axes to draw into; by default a new figure as high as it needs.

    Returns
    -------
    matplotlib.axes.Axes
        The axes, for titles and saving.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    ValueError
        If there is no such resource, or `max_pools` is below one.

    Notes
    -----
    O(elements).
    """
    if max_pools < 1:
        raise InputError.about("plot.pool_tree", None, "choice", f"max_pools is at least 1, not {max_pools}")
    known = all(hasattr(shares, name) for name in ("snapshot", "names", "resources"))
    expect(known and not isinstance(shares, type), "plot.pool_tree", "shares", shares, "Shares")
    view = overview(shares, resource)
    rows = [row for row in view.rows(top=max_pools + 1)[1:] if not row.is_rest]
    more = view.tree.pool_count - 1 - len(rows)
    ax = new_axes(ax, 1.3 + ROW * (len(rows) + (more > 0)))
    _bars(ax, view, rows)
    _labels(ax, view, rows, more)
    _legend(ax)
    ax.set_xlim(0, 100 * view.scale(rows) * (1.0 if view.chosen else 1.2))
    ax.set_ylim(len(rows) + (more > 0) - 0.4, -0.6)
    what = "each pool's dominant resource" if view.chosen is None else clean(view.chosen)
    ax.set_xlabel(f"% of {what}", parse_math=False)
    tidy(ax, grid=True)
    return ax


def _bars(ax: Axes, view: Overview, rows: list[Row]) -> None:
    y = np.arange(len(rows), dtype=float)
    elements = np.array([row.element for row in rows], dtype=np.int64)
    fair, usage, guarantee = (100 * a[elements] for a in (view.fair_share, view.usage, view.guarantee))
    within = np.minimum(usage, fair)
    for length, start, look in (
        (within, 0 * fair, HELD),
        (fair - within, within, OWED),
        (usage - fair, fair, LEAVES),
    ):
        some = length > 1e-9
        ax.barh(y[some], length[some], left=start[some], height=0.62, **look)
    some = guarantee > 0
    ax.vlines(guarantee[some], y[some] - 0.46, y[some] + 0.46, linewidth=2, zorder=3, **marked(2))
    if view.chosen is not None:
        return
    place: dict[str, Any] = {"xytext": (4, 0), "textcoords": "offset points", "va": "center"}
    for at, reach, element in zip(y, np.maximum(np.maximum(fair, usage), guarantee), elements, strict=True):
        name = fit(clean(view.resources[view.resource[element]]), _RESOURCE, name=True).rstrip()
        ax.annotate(name, (reach, at), **place, fontsize="x-small", parse_math=False)


def _labels(ax: Axes, view: Overview, rows: list[Row], more: int) -> None:
    """Name the pools in the tree's order, indented by depth and left-aligned, so that the indents show."""
    texts = []
    for row in rows:
        indent = "   " * min(row.depth - 1, _NAME // 6)
        texts.append(
            indent + fit(clean(view.tree.short_name(row.element)), _NAME - len(indent), name=True).rstrip()
        )
    if more:
        texts.append(f"… and {counted(more, 'more pool')}")
    ax.set_yticks(range(len(texts)), texts, ha="left", fontsize="small", parse_math=False)
    labels = ax.get_yticklabels()
    widest = max((label.get_window_extent().width for label in labels), default=0.0)
    ax.tick_params(axis="y", pad=widest * 72 / ax.figure.dpi + 6)


def _legend(ax: Axes) -> None:
    lines = require("matplotlib.lines", "plot")
    patches = require("matplotlib.patches", "plot")
    mark = {"marker": "|", "linestyle": "none", "markersize": 11, "markeredgewidth": 2}
    keys = [
        patches.Patch(**HELD, label="used"),
        patches.Patch(**LEAVES, label="above fair share"),
        patches.Patch(**OWED, label="owed"),
        lines.Line2D([], [], **marked(2), **mark, label="guarantee"),
    ]
    ax.legend(handles=keys, loc="lower left", bbox_to_anchor=(0, 1), ncols=4, frameon=False, fontsize="small")
