"""A node before and after a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.accepted import checked
from evenhand.display.text import clean, fit, in_short, width
from evenhand.errors import NoSuchNameError, require, shorten
from evenhand.fields import TABLES
from evenhand.plot._axes import BEFORE, LEAVES, ROOM, STAYS, TAG, inked, marked, new_axes, tidy
from evenhand.reasons import ACTIONS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from evenhand.plans.plan import Plan

__all__ = ["node"]

_LOOKS: dict[str, dict[str, Any]] = {
    "stays": STAYS,
    "is preempted": LEAVES,
    "starts": ROOM,
    "was leaving already": BEFORE,
}
_STATES = TABLES["allocations"]["state"].words
_LABEL = 0.06  # of the axes: a narrower part carries no name
_CHARACTERS = 66  # across the axes
_SHORTEST = 7  # characters that still say a name that was cut


@inked
@checked("plot.node")
def node(plan: Plan, name: str | int, *, ax: Axes | None = None) -> Axes:
    """Draw what runs on a node before a plan and after it, two bars a resource.

    Bars are parts of the node's capacity, which a line marks: what stays, what is preempted (hatched, gone in
    the lower bar), what starts, what was leaving already.

    Parameters
    ----------
    plan
        Result of `evenhand.plan`.
    name
        Name of the node.
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
        If there is no such node.

    Notes
    -----
    O(allocations of the snapshot).
    """
    snapshot = plan.snapshot
    names = [str(known) for known in snapshot.names("nodes")]
    if str(name) not in names:
        said = f"there is no node {shorten(name)!r}"
        raise NoSuchNameError.about("plot.node", "name", "exists", said, shorten(name))
    row = names.index(str(name))
    capacity = np.asarray(snapshot._core.column("nodes", "capacity"))[row]
    shown = [r for r in range(len(capacity)) if capacity[r] > 0]
    ax = new_axes(ax, 1.6 + 0.75 * max(len(shown), 1))
    parts = _parts(plan, row)
    labels, places, bars = [], [], []
    for i, r in enumerate(shown):
        for when, kinds in (("before", _BEFORE), ("after", _AFTER)):
            places.append(2.3 * i + (when == "after"))
            bars.append([(k, label, held[r] / capacity[r]) for k, label, held in parts if k in kinds])
            resource = snapshot.resources[r]
            total = float(capacity[r]) * snapshot.quantum[resource]
            labels.append(f"{in_short({resource: total}, snapshot.units)}, {when}")
    reach = max([1.0, *(sum(part for _, _, part in bar) for bar in bars)])
    for y, bar in zip(places, bars, strict=True):
        _bar(ax, y, bar, reach)
    ax.axvline(100, linewidth=1.5, **marked(1.5))
    ax.set_yticks(places, labels, fontsize="small", parse_math=False)
    ax.set_ylim(max(places, default=1) + 0.6, -0.6)
    ax.set_xlim(0, 104 * reach)
    ax.set_xlabel("% of the node")
    ax.set_title(f"node {fit(clean(name), 48, name=True).rstrip()}", loc="left", pad=22, parse_math=False)
    tidy(ax, grid=False)
    _legend(ax, {kind for kind, _, _ in parts})
    return ax


_BEFORE = ("stays", "is preempted", "was leaving already")
_AFTER = ("stays", "starts")


def _parts(plan: Plan, node: int) -> list[tuple[str, str, NDArray[Any]]]:
    """Return what becomes of everything on a node: kind, name, quanta by resource; what stays first."""
    core = plan.snapshot._core
    here = np.flatnonzero(np.asarray(core.column("allocations", "node")) == node)
    c = plan.decisions.column
    mine = c("node") == node
    taken = set(c("allocation")[mine & (c("action") == ACTIONS.index("preempt"))].tolist())
    names, requests = plan.snapshot.names("allocations"), plan.snapshot.names("requests")
    states = np.asarray(core.column("allocations", "state"))
    parts: list[tuple[str, str, NDArray[Any]]] = []
    for row in here.tolist():
        state = _STATES[states[row]]
        held = core.column("allocations", "held" if state == "preempted" else "resources")[row]
        kind = "is preempted" if row in taken else "was leaving already" if state == "preempting" else "stays"
        parts.append((kind, clean(names[row]), np.asarray(held, np.float64)))
    started = np.flatnonzero(mine & (c("action") == ACTIONS.index("start"))).tolist()
    parts += [
        ("starts", clean(requests[c("request")[row]]), np.asarray(c("needed")[row], np.float64))
        for row in started
    ]
    order = list(_LOOKS)
    return sorted(parts, key=lambda part: order.index(part[0]))


def _bar(ax: Axes, y: float, parts: list[tuple[str, str, float]], reach: float) -> None:
    """Draw one bar, of axes that reach this far."""
    left = 0.0
    for kind, label, part in parts:
        if part <= 0:
            continue
        ax.barh(y, 100 * part, left=100 * left, height=0.78, **_LOOKS[kind])
        room = int(_CHARACTERS * part / reach)
        if part / reach >= _LABEL and room >= min(_SHORTEST, width(label)):
            ax.text(
                100 * (left + part / 2),
                y,
                fit(label, room, name=True).strip() if width(label) > room else label,
                ha="center",
                va="center",
                fontsize="x-small",
                parse_math=False,
                color="black",
                bbox=TAG,
            )
        left += part


def _legend(ax: Axes, kinds: set[str]) -> None:
    patches = require("matplotlib.patches", "plot")
    keys = [patches.Patch(**look, label=kind) for kind, look in _LOOKS.items() if kind in kinds]
    if keys:
        ax.legend(
            handles=keys,
            loc="lower left",
            bbox_to_anchor=(-0.01, 0.98),
            ncols=4,
            frameon=False,
            fontsize="small",
        )
