"""Guarantees of queues that cannot all be met: YuniKorn plans with them as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.implausible import finding, given, over

if TYPE_CHECKING:
    from evenhand.diagnostics import Diagnostic
    from evenhand.model import Snapshot

__all__ = ["overcommitted"]

_UNLIMITED = np.iinfo(np.int64).max


def overcommitted(snapshot: Snapshot, _: Any) -> tuple[Diagnostic, ...]:
    """Return a diagnostic if guarantees of children do not fit in what is above them."""
    core = snapshot._core
    parent = np.asarray(core.column("pools", "parent")).tolist()
    width = len(snapshot.resources)
    own = np.asarray(core.column("pools", "strong_guarantee"), np.int64).reshape(len(parent), width)
    if not own.any():
        return ()
    limits = np.asarray(core.column("pools", "limits"), np.int64).reshape(len(parent), width)
    total = np.asarray(core.total, np.int64)
    most = np.where(given(snapshot, "limits"), limits, _UNLIMITED)
    most[0] = np.minimum(
        most[0], np.where(total > 0, total, _UNLIMITED) if snapshot.node_count else _UNLIMITED
    )
    order = _from_the_root(parent)
    for row in order[1:]:
        most[row] = np.minimum(most[row], most[parent[row]])
    below = np.zeros_like(own)
    for row in reversed(order[1:]):
        below[parent[row]] += own[row] if own[row].any() else below[row]
    wrong = np.flatnonzero(((below > most) | ((own > 0) & (below > own))).any(axis=1)).tolist()
    if not wrong:
        return ()
    names = snapshot.names("pools")
    first = wrong[0]
    bound = np.minimum(most[first], np.where(own[first] > 0, own[first], _UNLIMITED))
    said = f"Those in {names[first]} add up to {over(snapshot, below[first], bound)}; queues above"
    return (finding("queue_guarantees_overcommit", said, [names[row] for row in wrong]),)


def _from_the_root(parent: list[int]) -> list[int]:
    """Return rows of a tree, each behind the one above it."""
    children: dict[int, list[int]] = {}
    for row, above in enumerate(parent):
        children.setdefault(above, []).append(row)
    order = [0]
    for row in order:
        order += children.get(row, [])
    return order
