"""What all plots share: colours, a figure as high as it needs, axes without ornament."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.errors import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["BLUE", "GREEN", "GREY", "LEAVES", "ORANGE", "ROW", "STARTS", "new_axes", "tidy"]

# Near Okabe and Ito's blue, green and orange: distinct under every common colour blindness, on light and on
# dark ground. Hatching and outline say the same without colour.
BLUE, GREEN, ORANGE, GREY = "#3b8fc4", "#2f9e77", "#d98200", "#8a8f98"
LEAVES: dict[str, Any] = {"facecolor": (ORANGE, 0.35), "edgecolor": ORANGE, "hatch": "////"}
STARTS: dict[str, Any] = {"facecolor": (GREEN, 0.35), "edgecolor": GREEN, "hatch": "...."}
ROW = 0.24
"""Height of a row of bars, in inches."""


def new_axes(ax: Axes | None, height: float) -> Axes:
    """Return the axes that are given, or those of a new figure of this height in inches."""
    if ax is not None:
        return ax
    made: Axes = require("matplotlib.pyplot", "plot").subplots(figsize=(8, height), layout="constrained")[1]
    return made


def tidy(ax: Axes, *, grid: bool) -> None:
    """Take away what says nothing; with a grid for reading off lengths."""
    if grid:
        ax.grid(visible=True, axis="x", alpha=0.25, linewidth=0.6)
        ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
