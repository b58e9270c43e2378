"""Shapes of a snapshot that break careless engines, as changes of the drawn percentages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Raw = dict[str, Any]


def equal_keys(raw: Raw) -> None:
    """Leave nothing but names to decide an order: no weights, times or places."""
    for _, row in (*raw["pools"], *raw["operations"]):
        for key in ("weight", "order", "start_time", "fifo_start_time"):
            row.pop(key, None)


def zero_totals(raw: Raw) -> None:
    """Take away every other resource of the cluster, and leave what is wanted of it."""
    raw["totals"] = tuple(0 if i % 2 else t for i, t in enumerate(raw["totals"]))


def limits_below_guarantees(raw: Raw) -> None:
    """Limit every guaranteed pool to half its guarantee."""
    for _, row in raw["pools"]:
        if "strong_guarantee" in row:
            row["limits"] = tuple(None if g is None else g // 2 for g in row["strong_guarantee"])


def all_gangs(raw: Raw) -> None:
    """Make every operation all or nothing."""
    for _, row in raw["pools"]:
        row.pop("step_function_for_gang", None)
    for _, row in raw["operations"]:
        row["gang"] = True


def exact_ties(raw: Raw) -> None:
    """Let every operation want the same."""
    for _, row in raw["operations"]:
        row["demand"] = raw["operations"][0][1]["demand"]


def huge_weights(raw: Raw) -> None:
    """Spread weights over eighteen orders of magnitude."""
    for i, (_, row) in enumerate((*raw["pools"], *raw["operations"])):
        row["weight"] = (1e9, 1.0, 1e-9)[i % 3]


def knife_edges(raw: Raw) -> None:
    """Let the first operation want all of the first resource and the others none of it."""
    for i, (_, row) in enumerate(raw["operations"]):
        row["demand"] = (0 if i else 100, *row["demand"][1:])
    for _, row in raw["pools"]:
        row.pop("limits", None)


SHAPES: dict[str, Callable[[Raw], None]] = {
    shape.__name__: shape
    for shape in (
        equal_keys,
        zero_totals,
        limits_below_guarantees,
        all_gangs,
        exact_ties,
        huge_weights,
        knife_edges,
    )
}
