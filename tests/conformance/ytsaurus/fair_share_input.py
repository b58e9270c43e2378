"""From the tree of a YTsaurus fair-share case to a snapshot in the file format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

RESOURCES = ("user_slots", "cpu", "gpu", "memory", "network")
"""The order of the real library, in which results are listed; it decides ties."""

QUANTUM = {r: 0.01 if r == "cpu" else 1 for r in RESOURCES}

POOL_FIELDS = {
    "compute_promised_guarantee_fair_share": "compute_promised_guarantee",
    "priority_strong_guarantee_adjustment": "priority_strong_guarantee",
    "priority_strong_guarantee_adjustment_donorship": "priority_donor",
}
INTEGRAL_FIELDS = {"distribute_free_volume_among_children": "should_distribute_free_volume_among_children"}
SEPARATE = {"id", "name", "parent", "pool", "fifo_truncation"}


def snapshot(
    total: Mapping[str, float],
    pools: list[dict[str, Any]],
    operations: list[dict[str, Any]],
    *,
    now: float | None = None,
    previous: float | None = None,
    root: Mapping[str, Any] | None = None,
    root_name: str | None = None,
) -> dict[str, Any]:
    """Build the snapshot of a case; ``root_name`` is what the case calls the root as a parent."""
    data: dict[str, Any] = {
        "schema": "evenhand/snapshot/1",
        "resources": {r: {"quantum": QUANTUM[r]} for r in RESOURCES},
        "total": {r: total.get(r, 0) for r in RESOURCES},
        "pools": [_row(p, "parent", root_name) for p in pools],
        "operations": [_row(o, "pool", root_name) for o in operations],
    }
    if root:
        data["root"] = _fields(root)
    if now is not None:
        data["now"] = now
    if previous is not None:
        data["previous_update"] = previous
    return data


def _row(row: Mapping[str, Any], reference: str, root_name: str | None) -> dict[str, Any]:
    owner = row.get(reference)
    return {
        "name": row["id"] if "id" in row else row["name"],
        reference: None if owner == root_name else owner,
        **_fields(row),
    }


def _fields(row: Mapping[str, Any]) -> dict[str, Any]:
    fields = {POOL_FIELDS.get(k, k): v for k, v in row.items() if k not in SEPARATE}
    if "integral" in fields:
        fields["integral"] = {INTEGRAL_FIELDS.get(k, k): v for k, v in fields["integral"].items()}
    if "gang" in fields:
        fields["gang"] = bool(fields["gang"])
    return fields
