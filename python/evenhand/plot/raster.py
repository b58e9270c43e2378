"""Preemptions over time: which pool or operation was hit when, at which stage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from evenhand.accepted import checked
from evenhand.arguments import expect
from evenhand.display.palette import ABOVE, AGGRESSIVE
from evenhand.display.terminal import counted
from evenhand.display.text import clean, fit
from evenhand.errors import InputError
from evenhand.plot._axes import ROW, inked, new_axes, tidy
from evenhand.plot._time import clock
from evenhand.reasons import ACTIONS, STAGES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from evenhand.simulate.result import Result

__all__ = ["raster"]

_NAME = 34
_MARKERS = "|x+1."  # of the stages with most preemptions
_LEGEND = 90  # characters beside each other, a key being as wide as five


@inked
@checked("plot.raster", result="Any")
def raster(
    result: Result,
    *,
    by: Literal["pool", "operation"] = "pool",
    max_rows: int = 30,
    ax: Axes | None = None,
) -> Axes:
    """Draw each preemption as a mark at its time, in the row of the pool or operation that was hit.

    Parameters
    ----------
    result
        What `evenhand.simulate` returns.
    by
        What a row is.
    max_rows
        Most rows drawn, those that were hit most; a line says how many more there are.
    ax
        Axes to draw into; by default a new figure as high as it needs.

    Returns
    -------
    matplotlib.axes.Axes
        The axes; labels have the number of preemptions.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    ValueError
        If `by` is something else, or `max_rows` is below one.

    Notes
    -----
    O(decisions).
    """
    if by not in ("pool", "operation"):
        raise InputError.about("plot.raster", None, "choice", f'by is "pool" or "operation", not {by!r}')
    if max_rows < 1:
        raise InputError.about("plot.raster", None, "choice", f"max_rows is at least 1, not {max_rows}")
    expect(hasattr(result, "raw"), "plot.raster", "result", result, "a Result of a simulation")
    decided = result.raw["decisions"]
    of = (decided["action"] == ACTIONS.index("preempt")) & (decided["operation"] >= 0)
    hit = decided["operation"][of].astype(np.int64)
    names: list[Any] = result.operation_names
    if by == "pool":
        hit, names = result.operation_pools[hit].astype(np.int64), list(result.snapshot.names("pools"))
    often = np.bincount(hit, minlength=len(names))
    every = np.flatnonzero(often)
    rows = every[np.argsort(-often[every], kind="stable")][:max_rows]
    more = len(every) - len(rows)
    ax = new_axes(ax, 1.3 + ROW * max(len(rows) + (more > 0), 2))
    when = clock(result)
    _marks(ax, when(decided["time"][of]), hit, decided["stage"][of].astype(np.int64), rows)
    labels = [
        f"{fit(clean(names[row]), _NAME, name=True).rstrip()} ({often[row]:,})" for row in rows.tolist()
    ]
    if more:
        labels.append(f"… and {counted(more, f'more {by}')}")
    ax.set_yticks(range(len(labels)), labels, fontsize="small", parse_math=False)
    ax.set_ylim(max(len(labels), 1) - 0.4, -0.6)
    when.axis(ax)
    tidy(ax, grid=True)
    if not len(rows):
        ax.set_yticks([])
        ax.text(0.5, 0.5, "nothing was preempted", transform=ax.transAxes, ha="center", va="center")
    return ax


def _marks(
    ax: Axes,
    time: NDArray[np.float64],
    hit: NDArray[np.int64],
    stage: NDArray[np.int64],
    rows: NDArray[np.int64],
) -> None:
    place = np.full(int(max(hit.max(initial=0), rows.max(initial=0))) + 1, -1)
    place[rows] = np.arange(len(rows))
    y = place[hit]
    codes, counts = np.unique(stage[y >= 0], return_counts=True)
    codes = codes[np.argsort(-counts, kind="stable")]
    for i, code in enumerate(codes.tolist()):
        own = (y >= 0) & (stage == code)
        label = STAGES[code].replace("_", " ")
        ax.plot(
            time[own],
            y[own],
            _MARKERS[min(i, len(_MARKERS) - 1)],
            color=(AGGRESSIVE if "aggressive" in label else ABOVE).value,
            markersize=7,
            markeredgewidth=1.0,
            alpha=0.8,
            label=label,
            clip_on=False,
            zorder=3,  # also in front of the axis
        )
    if len(codes):
        longest = max(len(STAGES[code]) for code in codes.tolist())
        place_of: dict[str, Any] = {
            "loc": "lower left",
            "bbox_to_anchor": (0, 1),
            "ncols": _LEGEND // (longest + 5),
        }
        ax.legend(**place_of, frameon=False, fontsize="small")
