"""An operation's allocations along its cumulative share, and where its groups end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.accepted import checked
from evenhand.display.terminal import counted
from evenhand.display.text import clean, fit
from evenhand.errors import InputError, NoSuchNameError, require, shorten
from evenhand.plot._axes import AGGRESSIVELY, HELD, LEAVES, ROW, above, inked, marked, new_axes, tidy
from evenhand.reasons import ACTIONS, GROUPS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from evenhand.plans.plan import Plan

__all__ = ["groups"]

_LOOKS: tuple[dict[str, Any], ...] = (HELD, AGGRESSIVELY, LEAVES)
_LINE = 9  # points: a line of the labels above the axes
_NAME = 28  # characters of a label


@inked
@checked("plot.groups")
def groups(
    plan: Plan,
    operation: str | int,
    *,
    resource: str | None = None,
    max_allocations: int = 40,
    ax: Axes | None = None,
) -> Axes:
    """Draw an operation's allocations as a staircase of its cumulative share.

    The oldest work is at the bottom. Colour and hatching show the groups; lines mark the fair share and the
    thresholds that cut them; a cross marks what the plan preempts.

    Parameters
    ----------
    plan
        Result of `evenhand.plan`.
    operation
        Name of the operation.
    resource
        Shares of this resource; by default the operation's dominant one.
    max_allocations
        Most allocations drawn, the newest; older ones are drawn as one bar.
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
    KeyError
        If there is no such operation.
    ValueError
        If there is no such resource, or `max_allocations` is below one.

    Notes
    -----
    O(allocations of the snapshot).
    """
    if max_allocations < 1:
        raise InputError.about(
            "plot.groups", None, "choice", f"max_allocations is at least 1, not {max_allocations}"
        )
    snapshot = plan.snapshot
    names = [str(name) for name in snapshot.names("operations")]
    if str(operation) not in names:
        said = f"there is no operation {shorten(operation)!r}"
        raise NoSuchNameError.about("plot.groups", "operation", "exists", said, shorten(operation))
    row = names.index(str(operation))
    element = snapshot.pool_count + row
    r = _resource(plan, element, resource)
    rows, ends = _staircase(plan, row, r)
    older = max(len(rows) - max_allocations, 0)
    ax = new_axes(ax, 1.7 + ROW * max(len(rows) - older + (older > 0), 2))
    _bars(ax, plan, rows, ends, older)
    marks = _marks(plan, element, r)
    ax.set_xlim(0, 1.05 * max([*ends[-1:], *marks, 1e-9]))
    lines = _lines(ax, marks)
    _legend(ax, plan.groups.codes[rows], 4 + _LINE * lines)
    ax.set_xlabel(f"% of {clean(snapshot.resources[r])}, cumulative", parse_math=False)
    name = fit(clean(operation), _NAME, name=True).rstrip()
    ax.set_title(f"operation {name}", loc="left", pad=_LINE * lines + 24, parse_math=False)
    tidy(ax, grid=True)
    return ax


def _resource(plan: Plan, element: int, resource: str | None) -> int:
    resources = plan.snapshot.resources
    if resource is None:
        return int(plan.shares["dominant_resource"][element])
    if resource not in resources:
        said = f"no resource {resource!r}; there are {', '.join(map(repr, resources))}"
        raise NoSuchNameError.about("plot.groups", "resource", "exists", said)
    return resources.index(resource)


def _staircase(plan: Plan, operation: int, r: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return the grouped allocations of an operation, safest and oldest first, and where each ends."""
    core = plan.snapshot._core
    codes = plan.groups.codes
    mine = np.flatnonzero((core.column("allocations", "operation") == operation) & (codes < len(GROUPS)))
    started = np.asarray(core.column("allocations", "last_job_start_time"))[mine]
    if plan.policy.setting("order_key") == "last_progress":
        started = np.maximum(started, np.asarray(core.column("allocations", "last_progress_time"))[mine])
    rows = mine[np.lexsort((mine, started, codes[mine]))]
    total = float(core.total[r])
    holds = np.asarray(core.column("allocations", "resources"))[rows, r]
    return rows, 100 * np.cumsum(holds) / total if total else np.zeros(len(rows))


def _bars(ax: Axes, plan: Plan, rows: NDArray[Any], ends: NDArray[np.float64], older: int) -> None:
    names = plan.snapshot.names("allocations")
    codes = plan.groups.codes[rows]
    starts = np.concatenate([[0.0], ends[:-1]])
    shift = int(older > 0)
    labels = [f"{counted(older, 'older allocation')}"] if older else []
    for code, look in enumerate(_LOOKS):
        some = np.flatnonzero(codes == code)
        shown = some[some >= older]
        ax.barh(shown - older + shift, (ends - starts)[shown], left=starts[shown], height=0.62, **look)
        hidden = some[some < older]
        if len(hidden):
            left = starts[hidden[0]]
            ax.barh(0, ends[hidden[-1]] - left, left=left, height=0.62, **look)
    decisions = plan.decisions
    taken = set(
        decisions.column("allocation")[decisions.column("action") == ACTIONS.index("preempt")].tolist()
    )
    for place in range(older, len(rows)):
        labels.append(fit(clean(names[rows[place]]), _NAME, name=True).rstrip())
        if int(rows[place]) in taken:
            middle = (starts[place] + ends[place]) / 2
            ax.plot(middle, place - older + shift, "x", markersize=8, markeredgewidth=2, **marked(2))
    ax.set_yticks(range(len(labels)), labels, fontsize="small", parse_math=False)
    ax.set_ylim(-0.6, max(len(labels), 1) - 0.4)


def _legend(ax: Axes, codes: NDArray[Any], height: float) -> None:
    """Name the groups, with how many are in each, this many points above the axes."""
    patches = require("matplotlib.patches", "plot")
    counts = np.bincount(codes, minlength=len(GROUPS))
    keys = [
        patches.Patch(**look, label=f"{group.replace('_', ' ')} ({counts[code]:,})")
        for code, (group, look) in enumerate(zip(GROUPS, _LOOKS, strict=True))
    ]
    place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0, 1), "borderaxespad": 0}
    ax.legend(
        handles=keys, **place, bbox_transform=above(ax, height), ncols=3, frameon=False, fontsize="small"
    )


def _marks(plan: Plan, element: int, r: int) -> dict[float, list[str]]:
    """Return the fair share and its thresholds, in percent; what is on one place stands together."""
    fair = 100 * float(plan.shares["fair_share"][element, r])
    marks: dict[float, list[str]] = {fair: ["fair share"]}
    for name, label in (
        ("aggressive_preemption_satisfaction_threshold", "aggressive threshold"),
        ("preemption_satisfaction_threshold", "threshold"),
    ):
        factor = plan.policy.setting(name)
        if factor is not None:
            marks.setdefault(fair * float(factor), []).append(f"{label} {float(factor):g}")
    return marks


def _lines(ax: Axes, marks: dict[float, list[str]]) -> int:
    """Draw marks as lines, their labels above the axes, each on a line of its own; return how many."""
    middle = sum(ax.get_xlim()) / 2
    for line, (at, labels) in enumerate(sorted(marks.items())):
        style = "-" if "fair share" in labels else "--"
        ax.axvline(at, linewidth=1.2, linestyle=style, **marked(1.2))
        ax.annotate(
            ", ".join(labels),
            (at, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 2 + _LINE * line),
            textcoords="offset points",
            ha="left" if at <= middle else "right",
            va="bottom",
            fontsize="x-small",
        )
    return len(marks)
