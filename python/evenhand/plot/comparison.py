"""Metrics of several runs side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.accepted import checked
from evenhand.arguments import expect
from evenhand.building.problems import shorten
from evenhand.display.text import amount, clean, fit
from evenhand.errors import InputError
from evenhand.plot._axes import COUNTS, ROW, inked, new_figure, tidy
from evenhand.simulate.metrics import unit_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["comparison"]

_NAME, _TITLE = 22, 36  # characters
_COLUMNS = 3
#: Drawn by default, as far as any run has them; of resources the first one.
_USUAL = (
    *("waiting.p50", "waiting.p95", "slowdown.p95", "starvation.total", "starvation.p95"),
    *("lost_share.fair_share", "preemptions_per_hour", "lost_work.", "utilisation."),
)


@inked
@checked("plot.comparison", runs="Mapping[str, Any]")
def comparison(
    runs: Mapping[str, Mapping[str, float]],
    *,
    names: Sequence[str] | None = None,
    figure: Figure | None = None,
) -> tuple[Axes, ...]:
    """Draw metrics of several runs, a panel a metric, a bar a run.

    Parameters
    ----------
    runs
        Metrics by the name of the run.
    names
        Metrics that are drawn; by default waits, slowdown, starvation, lost shares, preemptions, lost work
        and utilisation.
    figure
        Figure to draw into; by default a new one as high as it needs.

    Returns
    -------
    tuple of matplotlib.axes.Axes
        One a metric, each with a scale of its own that begins at 0.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    ValueError
        If there is no run, or no run has such a metric.

    Notes
    -----
    O(runs x metrics).
    """
    for name, run in runs.items():
        right = isinstance(run, Mapping)
        expect(right, "plot.comparison", f"run {shorten(name)}", run, "an object (metric: number)")
    known = list(dict.fromkeys(name for run in runs.values() for name in run))
    names = None if names is None else list(names)
    if names is None:
        found = (
            next((n for n in known if n == u or (u[-1] == "." and n.startswith(u))), None) for u in _USUAL
        )
        names = [name for name in found if name is not None]
    if unknown := [name for name in names if name not in known]:
        raise InputError.about("plot.comparison", None, "choice", f"no run has a metric {unknown[0]!r}")
    if not runs or not names:
        raise InputError.about(
            "plot.comparison", None, "choice", "there is nothing to compare: no run, or no metric"
        )
    width = min(_COLUMNS, len(names))
    height = -(-len(names) // width)
    if figure is None:
        figure = new_figure(2.0 + 2.6 * width, height * (0.75 + ROW * len(runs)) + 0.2)
    axes = np.atleast_1d(figure.subplots(height, width, squeeze=False)).ravel()
    labels = [fit(clean(run), _NAME, name=True).rstrip() for run in runs]
    for i, (ax, name) in enumerate(zip(axes, names, strict=False)):
        _panel(ax, [float(run.get(name, np.nan)) for run in runs.values()])
        unit = unit_of(name)
        unit = unit.replace("resource", name.rpartition(".")[2]).replace(" x ", "·")
        said = fit(clean(name if unit == "1" else f"{name} ({unit})"), _TITLE, name=True).rstrip()
        ax.set_title(said, loc="left", fontsize="small", parse_math=False)
        ax.set_yticks(range(len(labels)), labels if i % width == 0 else [""] * len(labels), fontsize="small")
        tidy(ax, grid=False)
    for ax in axes[len(names) :]:
        ax.set_visible(False)
    return tuple(axes[: len(names)])


def _panel(ax: Axes, values: list[float]) -> None:
    y = np.arange(len(values))
    drawn = np.nan_to_num(np.array(values), posinf=0, neginf=0)
    ax.barh(y, drawn, height=0.62, **COUNTS)
    top = float(drawn.max(initial=0))
    ax.set_xlim(0, 1.35 * top if top > 0 else 1)
    ax.set_ylim(len(values) - 0.4, -0.6)
    ax.set_xticks([])
    ax.spines["bottom"].set_visible(False)
    place: dict[str, Any] = {"xytext": (4, 0), "textcoords": "offset points", "va": "center"}
    for at, value, length in zip(y.tolist(), values, drawn.tolist(), strict=True):
        text = "none" if np.isnan(value) else amount(value)
        ax.annotate(text, (length, at), **place, fontsize="small")
