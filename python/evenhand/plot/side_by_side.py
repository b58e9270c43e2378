"""What is preempted, and for which operation, under several policies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.accepted import checked
from evenhand.display.text import amount, clean, fit
from evenhand.errors import InputError, NoSuchNameError, require
from evenhand.plot._axes import LEAVES, ROOM, ROW, STAYS, inked, new_figure, tidy
from evenhand.reasons import ACTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from evenhand.plans.plan import Plan

    Floats = NDArray[np.float64]

__all__ = ["side_by_side"]

_NAME, _TITLE = 22, 18  # characters of a label
_LOOKS: dict[str, dict[str, Any]] = {
    "stays": STAYS,
    "is preempted": LEAVES,
    "room made for it": ROOM,
}


@inked
@checked("plot.side_by_side")
def side_by_side(
    plans: Mapping[str, Plan],
    *,
    resource: str | None = None,
    max_operations: int = 18,
    figure: Figure | None = None,
) -> tuple[Axes, ...]:
    """Draw what becomes of operations under several policies, a panel a plan, a row an operation.

    A bar is what an operation holds of a resource: what stays, what is preempted (hatched), and, behind it,
    what others give back for it (dotted). Each row has its own scale, its full length being the most that
    the operation holds or gets by any of the plans.

    Parameters
    ----------
    plans
        By name, all of one snapshot; also what `evenhand.plans.side_by_side` returns, as ``.plans``.
    resource
        By default the first one of the snapshot.
    max_operations
        Most rows drawn: in turn for each plan the operation that loses most and the one that most is made
        room for.
    figure
        Figure to draw into; by default a new one as high as it needs.

    Returns
    -------
    tuple of matplotlib.axes.Axes
        One a plan, in their order.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    ValueError
        If there is no such resource, `max_operations` is below one, or the plans do not belong together.

    Notes
    -----
    O(operations + decisions) a plan.
    """
    from evenhand.plans.comparison import side_by_side as checked

    if max_operations < 1:
        raise InputError.about(
            "plot.side_by_side", None, "choice", f"max_operations is at least 1, not {max_operations}"
        )
    plans = checked(plans).plans
    snapshot = next(iter(plans.values())).snapshot
    resources = snapshot.resources
    resource = resources[0] if resource is None else resource
    if resource not in resources:
        said = f"no resource {resource!r}; there are {', '.join(map(repr, resources))}"
        raise NoSuchNameError.about("plot.side_by_side", "resource", "exists", said)
    r = resources.index(resource)
    holds = _sums(snapshot, r)
    moved = [_moved(plan, r) for plan in plans.values()]
    rows = _chosen(moved, max_operations)
    whole = np.max([holds[rows] + gets[rows] for _, gets in moved], axis=0, initial=0.0)
    names = snapshot.names("operations")
    labels = [
        f"{fit(clean(names[row]), _NAME, name=True).rstrip()} ({amount(float(most))})"
        for row, most in zip(rows.tolist(), (whole * snapshot.quantum[resource]).tolist(), strict=True)
    ]
    if figure is None:
        engines = require("matplotlib.layout_engine", "plot")
        apart = engines.ConstrainedLayoutEngine(wspace=0.08)  # 100 of one panel stands beside 0 of the next
        figure = new_figure(2.6 + 2.0 * len(plans), 1.4 + ROW * max(len(rows), 2), apart)
    axes = np.atleast_1d(figure.subplots(1, len(plans), sharey=True))
    for ax, name, (loses, gets) in zip(axes, plans, moved, strict=True):
        _bars(ax, holds[rows], loses[rows], gets[rows], whole)
        ax.set_title(
            fit(clean(name), _TITLE, name=True).rstrip(), loc="left", fontsize="medium", parse_math=False
        )
        ax.set_xlim(0, 100)
        tidy(ax, grid=True)
    axes[0].set_yticks(range(len(labels)), labels, fontsize="small", parse_math=False)
    axes[0].set_ylim(len(labels) - 0.4, -0.6)
    figure.supxlabel(f"% of the operation's {clean(resource)} (in brackets)", fontsize="small")
    patches = require("matplotlib.patches", "plot")
    keys = [patches.Patch(**look, label=kind) for kind, look in _LOOKS.items()]
    figure.legend(handles=keys, loc="outside upper center", ncols=3, frameon=False, fontsize="small")
    return tuple(axes)


def _sums(snapshot: Any, r: int) -> Floats:
    """Return what operations hold of a resource, in quanta."""
    return np.asarray(snapshot._core.column("operations", "usage"), np.float64)[:, r]


def _moved(plan: Plan, r: int) -> tuple[Floats, Floats]:
    """Return what operations lose, and what others give back for them, in quanta of a resource."""
    c = plan.decisions.column
    preempts = c("action") == ACTIONS.index("preempt")
    freed = np.asarray(c("freed"), np.float64)[preempts, r]
    count = plan.snapshot.operation_count
    beneficiary = c("beneficiary_operation")[preempts]

    def sums(rows: NDArray[Any]) -> Floats:
        return np.bincount(rows[rows >= 0], freed[rows >= 0], count).astype(np.float64)

    return sums(c("operation")[preempts]), sums(beneficiary)


def _chosen(moved: list[tuple[Floats, Floats]], most: int) -> NDArray[np.int64]:
    """Return the operations that are drawn: those that lose first, then those that only get."""
    orders = []
    for column in (column for pair in moved for column in pair):
        some = np.flatnonzero(column > 0)
        orders.append(some[np.argsort(-column[some], kind="stable")].tolist())
    chosen: dict[int, None] = {}
    for place in range(max(map(len, orders), default=0)):
        for order in orders:
            if place < len(order) and len(chosen) < most:
                chosen[order[place]] = None
    rows = np.array(list(chosen), np.int64)
    lost = np.sum([loses[rows] for loses, _ in moved], axis=0)
    return rows[np.argsort(lost == 0, kind="stable")]


def _bars(ax: Axes, holds: Floats, loses: Floats, gets: Floats, whole: Floats) -> None:
    y = np.arange(len(holds), dtype=float)
    left = np.zeros(len(holds))
    scale = 100 / np.where(whole > 0, whole, 1.0)
    for length, look in zip((holds - loses, loses, gets), _LOOKS.values(), strict=True):
        some = length > 0
        ax.barh(y[some], (length * scale)[some], left=left[some], height=0.7, **look)
        left = left + length * scale
