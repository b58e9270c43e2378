"""Strategies for partitions whose queues ask others to give: full nodes, guarantees, fences, priorities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from evenhand.testing.strategies._picking import Pick, picks

if TYPE_CHECKING:
    from hypothesis import strategies as st

    from evenhand.systems.yunikorn.settings import YuniKornSettings

__all__ = ["queue_partitions", "yunikorn_settings"]

NOW = 1000
_CHOICES: Mapping[str, tuple[Any, ...]] = {
    "preemption": ("cycles", "per_ask"),
    "n_alloc": (1, 3, 100),
    "ask_candidates": (1, 2, 100),
    "limit": (0.1, 0.5, 1.0),
    "policies": (("inter_queue",), ("intra_queue",), ("intra_queue", "inter_queue")),
    "cost": ("live_time", "priority", "kind", ("lost_work", "priority")),
    "dead_zone": (0.0, 0.1),
    "mode": ("sniper", "sniper", "shotgun"),
    "grace": (0.0, 30.0),
    "quota_preemption": (False, True),
    "asks_once": (False, True),
}


def yunikorn_settings(*, most_changes: int = 4) -> st.SearchStrategy[YuniKornSettings]:
    """Draw settings of either preset with some of them, or of the switches, the other way.

    Parameters
    ----------
    most_changes : int
        How many settings differ from the preset at most.

    Returns
    -------
    strategy of YuniKornSettings
    """
    return picks(16).map(lambda pick: made_settings(pick, most_changes))


def made_settings(pick: Pick, most_changes: int) -> YuniKornSettings:
    """Return the settings that are picked."""
    from evenhand.systems.yunikorn.settings import SWITCHES, YuniKornSettings

    choices = {**_CHOICES, **dict.fromkeys(SWITCHES, (False, True))}
    names = pick.some(sorted(choices), most_changes)
    return YuniKornSettings.preset(
        pick(("documented", "documented", "upstream")), **{name: pick(choices[name]) for name in names}
    )


def queue_partitions(*, max_nodes: int = 3, max_allocations: int = 12) -> st.SearchStrategy[dict[str, Any]]:
    """Draw valid snapshots in the file format of partitions whose nodes are nearly full.

    Parameters
    ----------
    max_nodes, max_allocations : int
        How many rows at most.

    Returns
    -------
    SearchStrategy[dict]
        Amounts are small whole numbers, so equal sums and equal times are common.
    """
    return picks(160).map(lambda pick: made_partition(pick, max_nodes, max_allocations))


def _amounts(pick: Pick, resources: list[str], most: int) -> dict[str, int]:
    sizes = {r: pick(range(0 if i else 1, most + 1)) for i, r in enumerate(resources)}
    return {r: size for r, size in sizes.items() if size}


def _pool(pick: Pick, name: str, parent: str | None, resources: list[str]) -> dict[str, Any]:
    row: dict[str, Any] = {"name": name} if parent is None else {"name": name, "parent": parent}
    if pick((True, True, False)):
        row["strong_guarantee"] = _amounts(pick, resources, 3)
    if pick(range(5)) == 0:
        row["limits"] = _amounts(pick, resources, 9)
    row["weight"] = pick((1, 1, 2))
    properties = {
        "preemption.policy": pick(("default", "default", "default", "fence", "disabled")),
        "priority.offset": pick(("0", "0", "5", "-5")),
        "priority.policy": pick(("default", "default", "fence")),
        "quota.preemption.delay": pick(("0", "1s")),
    }
    if pick((True, False)):
        row["settings"] = {"properties": properties}
    return row


def made_partition(pick: Pick, max_nodes: int, max_allocations: int) -> dict[str, Any]:
    """Return the cluster that is picked."""
    resources = ["cpu", "memory"][: pick((1, 2))]
    nodes = [f"n{i}" for i in range(pick(range(1, max_nodes + 1)))]
    pools = [_pool(pick, name, None, resources) for name in ("a", "b", "c")[: pick((2, 3))]]
    leaves = [row["name"] for row in pools]
    if pick((True, False)):
        below = [_pool(pick, name, "a", resources) for name in ("a1", "a2")]
        pools, leaves = pools + below, [*leaves[1:], "a1", "a2"]
    operations = [
        {"name": f"o{i}", "pool": pick(leaves), "priority": pick((0, 0, 1, 5)), "start_time": pick(range(5))}
        for i in range(pick(range(2, 6)))
    ]
    names = [row["name"] for row in operations]
    allocations = [
        {
            "name": f"x{i}",
            "operation": pick(names),
            "node": pick(nodes),
            "resources": _amounts(pick, resources, 3),
            "start_time": pick(range(900, 910)),
            **({"preemptible": False} if pick(range(6)) == 0 else {}),
            **({"originator": True} if pick(range(6)) == 0 else {}),
            **({"priority": pick((0, 3, 9))} if pick(range(3)) == 0 else {}),
        }
        for i in range(pick(range(1, max_allocations + 1)))
    ]
    used = {n: dict.fromkeys(resources, 0) for n in nodes}
    for row in allocations:
        for r, amount in row["resources"].items():
            used[row["node"]][r] += amount
    asks = [
        {
            "name": f"r{i}",
            "operation": pick(names),
            "resources": _amounts(pick, resources, 4),
            "count": pick((1, 1, 2)),
            "submit_time": pick((900, 905, 990)),
            **({"required_node": pick(nodes)} if pick(range(8)) == 0 else {}),
            **({"node_tags": ["ssd"]} if pick(range(5)) == 0 else {}),
        }
        for i in range(pick(range(1, 5)))
    ]
    return {
        "now": NOW,
        "resources": {r: {} for r in resources},
        "nodes": [
            {
                "name": n,
                "capacity": {r: amount + pick((0, 0, 1, 2)) for r, amount in used[n].items()},
                "tags": pick(([], ["ssd"])),
            }
            for n in nodes
        ],
        "pools": pools,
        "operations": operations,
        "allocations": allocations,
        "requests": asks,
    }
