"""An operation's allocations along its cumulative share, and where its groups end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.display.terminal import counted
from evenhand.display.text import clean, fit
from evenhand.errors import require
from evenhand.plot._axes import BLUE, GREEN, LEAVES, ROW, new_axes, tidy
from evenhand.reasons import ACTIONS, GROUPS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from evenhand.plans.plan import Plan

__all__ = ["groups"]

_LOOKS: tuple[dict[str, Any], ...] = (
    {"facecolor": BLUE, "edgecolor": BLUE},
    {"facecolor": (GREEN, 0.45), "edgecolor": GREEN, "hatch": "...."},
    LEAVES,
)
_NAME = 28  # characters of a label


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
        raise ValueError(f"max_allocations is at least 1, not {max_allocations}")
    snapshot = plan.snapshot
    names = [str(name) for name in snapshot.names("operations")]
    if str(operation) not in names:
        raise KeyError(f"there is no operation {operation!r}")
    row = names.index(str(operation))
    element = snapshot.pool_count + row
    r = _resource(plan, element, resource)
    rows, ends = _staircase(plan, row, r)
    older = max(len(rows) - max_allocations, 0)
    ax = new_axes(ax, 1.5 + ROW * max(len(rows) - older + (older > 0), 2))
    _bars(ax, plan, rows, ends, older)
    _lines(ax, plan, element, r)
    ax.set_xlim(left=0)
    ax.set_xlabel(f"% of {clean(snapshot.resources[r])}, cumulative", parse_math=False)
    ax.set_title(
        f"operation {fit(clean(operation), _NAME, name=True).rstrip()}", loc="left", parse_math=False
    )
    tidy(ax, grid=True)
    return ax


def _resource(plan: Plan, element: int, resource: str | None) -> int:
    resources = plan.snapshot.resources
    if resource is None:
        return int(plan.shares["dominant_resource"][element])
    if resource not in resources:
        raise ValueError(f"no resource {resource!r}; there are {', '.join(map(repr, resources))}")
    return resources.index(resource)


def _staircase(plan: Plan, operation: int, r: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return the grouped allocations of an operation, safest and oldest first, and where each ends."""
    core = plan.snapshot._core
    codes = plan.groups.codes
    mine = np.flatnonzero((core.column("allocations", "operation") == operation) & (codes < len(GROUPS)))
    started = np.asarray(core.column("allocations", "last_job_start_time"))[mine]
    settings = getattr(plan.policy, "settings", None)
    if getattr(settings, "order_key", "") == "last_progress":
        started = np.maximum(started, np.asarray(core.column("allocations", "last_progress_time"))[mine])
    rows = mine[np.lexsort((mine, started, codes[mine]))]
    total = float(core.total[r])
    holds = np.asarray(core.column("allocations", "resources"))[rows, r]
    return rows, 100 * np.cumsum(holds) / total if total else np.zeros(len(rows))


def _bars(ax: Axes, plan: Plan, rows: NDArray[Any], ends: NDArray[np.float64], older: int) -> None:
    patches = require("matplotlib.patches", "plot")
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
    ground = ax.spines["left"].get_edgecolor()
    decisions = plan.decisions
    taken = set(
        decisions.column("allocation")[decisions.column("action") == ACTIONS.index("preempt")].tolist()
    )
    for place in range(older, len(rows)):
        labels.append(fit(clean(names[rows[place]]), _NAME, name=True).rstrip())
        if int(rows[place]) in taken:
            middle = (starts[place] + ends[place]) / 2
            ax.plot(middle, place - older + shift, "x", color=ground, markersize=9, markeredgewidth=2.5)
    ax.set_yticks(range(len(labels)), labels, fontsize="small", parse_math=False)
    counts = np.bincount(codes, minlength=len(GROUPS))
    keys = [
        patches.Patch(**look, label=f"{group.replace('_', ' ')} ({counts[code]:,})")
        for code, (group, look) in enumerate(zip(GROUPS, _LOOKS, strict=True))
    ]
    # The staircase leaves the lower right free.
    ax.legend(handles=keys, loc="lower right", frameon=False, fontsize="small")


def _lines(ax: Axes, plan: Plan, element: int, r: int) -> None:
    """Mark the fair share and its thresholds; of lines on one place the labels stand together."""
    fair = 100 * float(plan.shares["fair_share"][element, r])
    settings = getattr(plan.policy, "settings", None)
    marks: dict[float, list[str]] = {fair: ["fair share"]}
    for name, label in (
        ("aggressive_preemption_satisfaction_threshold", "aggressive threshold"),
        ("preemption_satisfaction_threshold", "threshold"),
    ):
        factor = getattr(settings, name, None)
        if factor is not None:
            marks.setdefault(fair * float(factor), []).append(f"{label} {float(factor):g}")
    ground = ax.spines["left"].get_edgecolor()
    lower = 0  # lines of text above: labels of marks side by side would run into each other
    for at, labels in sorted(marks.items()):
        ax.axvline(at, color=ground, linewidth=1.2, linestyle="-" if "fair share" in labels else "--")
        ax.annotate(
            "\n".join(labels),
            (at, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(3, -2 - 9 * lower),
            textcoords="offset points",
            va="top",
            fontsize="x-small",
            bbox={"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": 0.5},
            zorder=4,
        )
        lower += len(labels)
