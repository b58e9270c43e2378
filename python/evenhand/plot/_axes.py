"""What all plots share: ink and ground, a figure as high as it needs, axes without ornament."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from evenhand.display.palette import ABOVE, AGGRESSIVE, INK, NEUTRAL, STARTS, STARVES, USED
from evenhand.errors import require

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "AGGRESSIVELY",
    "BEFORE",
    "BELOW",
    "COUNTS",
    "HELD",
    "LEAVES",
    "OWED",
    "ROOM",
    "ROW",
    "STAYS",
    "TAG",
    "inked",
    "marked",
    "new_axes",
    "new_figure",
    "tidy",
]

P = ParamSpec("P")
R = TypeVar("R")

# Looks of bars, a meaning each; colours are those of `evenhand.display.palette`.
HELD: dict[str, Any] = {"facecolor": USED.value, "edgecolor": USED.value}
STAYS: dict[str, Any] = {"facecolor": (USED.value, 0.55), "edgecolor": USED.value}
OWED: dict[str, Any] = {"facecolor": (USED.value, 0.25), "edgecolor": USED.value}
LEAVES: dict[str, Any] = {"facecolor": (ABOVE.value, 0.35), "edgecolor": ABOVE.value, "hatch": "////"}
AGGRESSIVELY: dict[str, Any] = {
    "facecolor": (AGGRESSIVE.value, 0.35),
    "edgecolor": AGGRESSIVE.value,
    "hatch": "\\\\\\\\",
}
ROOM: dict[str, Any] = {"facecolor": (STARTS.value, 0.35), "edgecolor": STARTS.value, "hatch": "...."}
BEFORE: dict[str, Any] = {
    "facecolor": (NEUTRAL.value, 0.15),
    "edgecolor": NEUTRAL.value,
    "hatch": "xxxx",
}
COUNTS: dict[str, Any] = {"facecolor": (NEUTRAL.value, 0.45), "edgecolor": NEUTRAL.value}
BELOW: dict[str, Any] = {"facecolor": STARVES.value, "edgecolor": STARVES.value}
TAG: dict[str, Any] = {"boxstyle": "round,pad=0.15", "facecolor": ("white", 0.85), "edgecolor": "none"}
"""Ground of a text that stands on bars; such a text is black."""
ROW = 0.24
"""Height of a row of bars, in inches."""

_PLAIN = {"figure.facecolor": ("white", "w", "1.0"), "text.color": ("black", "k", "0.0")}
_INKED = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color", "grid.color")


def inked(draw: Callable[P, R]) -> Callable[P, R]:
    """Let a plot draw a figure of its own without a ground, in ink that reads on white and on dark.

    A notebook's page then shows through, whatever its theme. Axes and figures that are given, and a style
    that is not matplotlib's own, stay as they are.
    """

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> R:
        params = require("matplotlib", "plot").rcParams
        given = kwargs.get("ax") is not None or kwargs.get("figure") is not None
        if given or any(params[key] not in plain for key, plain in _PLAIN.items()):
            return draw(*args, **kwargs)
        # Not rc_context: it would take back what a notebook's backend sets when the first figure is made.
        # Without a frame no ground is drawn. A transparent colour would do as much, but notebooks' backends
        # mark such a picture as one that needs a light ground, and JupyterLab's dark themes give it a white
        # box.
        own = {"figure.frameon": False, "axes.facecolor": "none"} | dict.fromkeys(_INKED, INK.value)
        before = {key: params[key] for key in own}
        params.update(own)
        try:
            return draw(*args, **kwargs)
        finally:
            params.update(before)

    return drawn


def marked(width: float) -> dict[str, Any]:
    """Return the look of a line or marker that must be seen on any ground and any bar: black, edged white."""
    effects = require("matplotlib.patheffects", "plot")
    halo = effects.withStroke(linewidth=width + 1.8, foreground="white")
    return {"color": "black", "path_effects": [halo]}


def new_axes(ax: Axes | None, height: float) -> Axes:
    """Return the axes that are given, or those of a new figure of this height in inches."""
    if ax is not None:
        return ax
    made: Axes = new_figure(8, height).subplots()
    return made


def new_figure(width: float, height: float, layout: Any = "constrained") -> Figure:
    """Return a figure of this size in inches, which `inked` leaves without a frame."""
    plt = require("matplotlib.pyplot", "plot")
    # pyplot asks for a frame, whatever the settings say.
    framed = plt.rcParams["figure.frameon"]
    made: Figure = plt.figure(figsize=(width, height), layout=layout, frameon=framed)
    return made


def above(ax: Axes, points: float) -> Any:
    """Return coordinates of the axes, this many points higher: for what stands above other text."""
    transforms = require("matplotlib.transforms", "plot")
    figure: Figure = ax.figure  # type: ignore[assignment]  # of axes that are drawn into
    return ax.transAxes + transforms.ScaledTranslation(0, points / 72, figure.dpi_scale_trans)


def tidy(ax: Axes, *, grid: bool) -> None:
    """Take away what says nothing; with a grid for reading off lengths."""
    if grid:
        ax.grid(visible=True, axis="x", alpha=0.25, linewidth=0.6)
        ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    colours = require("matplotlib", "plot").rcParams
    for axis in ("x", "y"):  # also of ticks that are made when the figure is drawn
        ax.tick_params(axis=axis, colors=colours[f"{axis}tick.color"], labelsize="small")
