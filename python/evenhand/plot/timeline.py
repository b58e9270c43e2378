"""Pools as time goes by: what they used, what they were owed, and when they starved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.accepted import checked
from evenhand.arguments import expect
from evenhand.building.readback import NO_TIME
from evenhand.display.text import clean, fit
from evenhand.errors import InputError, require
from evenhand.plot._axes import BELOW, STAYS, inked, marked, new_figure, tidy
from evenhand.plot._time import clock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from evenhand.simulate.result import Result

__all__ = ["timeline"]

_PANEL = 1.15  # inches
_NAME = 40  # characters


@inked
@checked("plot.timeline", result="Any")
def timeline(
    result: Result,
    *,
    pools: Sequence[str | int] | None = None,
    max_pools: int = 6,
    figure: Figure | None = None,
) -> tuple[Axes, ...]:
    """Draw shares of pools over time, a panel a pool.

    The filled area is the usage, the line the fair share as far as the pool wanted it, the dotted line the
    strong guarantee; all as dominant shares. The bar at the top shows when the pool starved.

    Parameters
    ----------
    result
        What `evenhand.simulate` returns, with samples of pools.
    pools
        Names of the pools; by default those that were owed most, or that used most where nothing is owed, in
        the tree's order.
    max_pools
        Most panels drawn by default.
    figure
        Figure to draw into; by default a new one.

    Returns
    -------
    tuple of matplotlib.axes.Axes
        One a pool.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    ValueError
        If there is no such pool, `max_pools` is below one, or the run has no samples.

    Notes
    -----
    O(samples).
    """
    expect(hasattr(result, "raw"), "plot.timeline", "result", result, "a Result of a simulation")
    if max_pools < 1:
        raise InputError.about("plot.timeline", None, "choice", f"max_pools is at least 1, not {max_pools}")
    series = result.raw["series"]
    if not len(series["time"]):
        raise InputError.about(
            "plot.timeline",
            None,
            "choice",
            "the run has no samples of pools; series_every is 0, or it had no length",
        )
    names = list(result.snapshot.names("pools"))
    rows = _chosen(result, names, pools, max_pools)
    expect(len(rows) > 0, "plot.timeline", "pools", pools, "names of pools, one at least")
    when = clock(result)
    if figure is None:
        figure = new_figure(9, 0.9 + _PANEL * len(rows))
    axes = np.atleast_1d(figure.subplots(len(rows), 1, sharex=True))
    for ax, row in zip(axes, rows, strict=True):
        own = series["pool"] == row
        time = when(series["time"][own])
        _panel(
            ax,
            time,
            {name: 100 * column[own] for name, column in series.items() if name in _SHARES},
            when.end,
        )
        _starved(ax, result.raw["spells"], row, when)
        ax.set_title(
            fit(clean(names[row]), _NAME, name=True).rstrip(), loc="left", fontsize="medium", parse_math=False
        )
        tidy(ax, grid=False)
    when.axis(axes[-1])
    figure.supylabel("% of the cluster", fontsize="small")
    _legend(figure)
    return tuple(axes)


_SHARES = ("usage", "fair_share", "demand", "guarantee")


def _chosen(
    result: Result, names: list[Any], pools: Sequence[str | int] | None, most: int
) -> NDArray[np.int64]:
    if pools is not None:
        known = {str(name): row for row, name in enumerate(names)}
        if unknown := [pool for pool in pools if str(pool) not in known]:
            raise InputError.about("plot.timeline", None, "choice", f"no pool {unknown[0]!r}")
        return np.array([known[str(pool)] for pool in pools], np.int64)
    series = result.raw["series"]
    owed = np.bincount(series["pool"], np.minimum(series["fair_share"], series["demand"]), len(names))
    if not owed.any():  # as under a policy without fair shares
        owed = np.bincount(series["pool"], series["usage"], len(names))
    below = np.arange(1, len(names)) if len(names) > 1 else np.arange(1)  # the root is the whole cluster
    first = below[np.argsort(-owed[below], kind="stable")][:most]
    return np.sort(first)


def _panel(ax: Axes, time: NDArray[np.float64], shares: dict[str, NDArray[np.float64]], end: float) -> None:
    time = np.append(time, end)
    usage, fair, demand, guarantee = (np.append(shares[name], shares[name][-1:]) for name in _SHARES)
    ax.fill_between(time, usage, step="post", facecolor=STAYS["facecolor"], edgecolor="none")
    ax.step(time, np.minimum(fair, demand), where="post", linewidth=1.2, **marked(1.2))
    if (guarantee > 0).any():
        ax.step(time, guarantee, where="post", linewidth=1.0, linestyle=":", **marked(1.0))
    top = float(max(usage.max(), np.minimum(fair, demand).max(), guarantee.max()))
    ax.set_ylim(0, 1.25 * top if top > 0 else 1)


def _starved(ax: Axes, spells: Any, row: int, when: Any) -> None:
    own = spells["pool"] == row
    begin, until = when(spells["from"][own]), spells["until"][own]
    end = np.where(until == NO_TIME, when.end, when(until))
    bars = list(zip(begin.tolist(), (end - begin).tolist(), strict=True))
    ax.broken_barh(bars, (0.92, 0.08), transform=ax.get_xaxis_transform(), **BELOW)


def _legend(figure: Figure) -> None:
    patches = require("matplotlib.patches", "plot")
    lines = require("matplotlib.lines", "plot")
    keys = [
        patches.Patch(facecolor=STAYS["facecolor"], label="used"),
        lines.Line2D([], [], linewidth=1.2, **marked(1.2), label="fair share, as far as wanted"),
        lines.Line2D([], [], linewidth=1.0, linestyle=":", **marked(1.0), label="guarantee"),
        patches.Patch(**BELOW, label="starved"),
    ]
    figure.legend(handles=keys, loc="outside upper center", ncols=4, frameon=False, fontsize="small")
