"""Drawn partitions in which nearly every ask is owed what it asks for, and others have too much."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

__all__ = ["tight"]

#: Of victims, where there are two resources: small ones that are alike, and those that lack one.
SHAPES = st.sampled_from([{"cpu": 1}, {"cpu": 3}, {"memory": 2}, {"cpu": 1, "memory": 1}])
POLICIES = st.sampled_from(["default", "default", "default", "fence", "disabled"])


@st.composite
def tight(draw: st.DrawFn) -> dict[str, Any]:
    """Draw one or two full nodes; root.ab asks, root.a (perhaps with children) and root.c have."""
    resources = ["cpu", "memory"][: draw(st.integers(1, 2))]

    def amounts(most: int, least: int = 0) -> dict[str, int]:
        found = {r: draw(st.integers(least, most)) for r in resources}
        return {r: amount for r, amount in found.items() if amount}

    def properties() -> dict[str, Any]:
        texts = {
            "preemption.policy": draw(POLICIES),
            "priority.offset": draw(st.sampled_from(["0", "0", "2", "-2"])),
            "priority.policy": draw(st.sampled_from(["default", "default", "fence"])),
        }
        return {"settings": {"properties": texts}} if draw(st.integers(0, 2)) == 2 else {}

    nested = draw(st.booleans())
    asker = "root.top.ab" if nested else "root.ab"
    other = "root.top.a" if nested else "root.a"
    owed = st.sampled_from([dict.fromkeys(resources, 6), dict.fromkeys(resources, 3), {"cpu": 6}])
    pools: list[dict[str, Any]] = [{"name": "root.top", **properties()}] if nested else []
    above = {"parent": "root.top"} if nested else {}
    pools += [
        {"name": other, **above, "strong_guarantee": amounts(2), **properties()},
        {"name": asker, **above, "strong_guarantee": draw(owed), **properties()},
        {"name": "root.c", "strong_guarantee": amounts(2), **properties()},
    ]
    operations = [
        {"name": name, "pool": pool, "priority": draw(st.integers(0, 2))}
        for name, pool in (("ask", asker), ("one", other), ("two", "root.c"))
    ]
    nodes = [f"n{i}" for i in range(draw(st.sampled_from([1, 1, 2])))]
    allocations = [
        {
            "name": f"x{i}",
            "operation": draw(st.sampled_from(["one", "one", "two"])),
            "node": draw(st.sampled_from(nodes)),
            "resources": draw(SHAPES) if len(resources) > 1 else amounts(4, 1),
            "start_time": draw(st.integers(900, 903)),
            "priority": draw(st.integers(0, 2)),
            **({"preemptible": False} if draw(st.integers(0, 4)) == 0 else {}),
        }
        for i in range(draw(st.integers(2, 6)))
    ]
    capacity: dict[str, dict[str, int]] = {n: dict.fromkeys(resources, 0) for n in nodes}
    for row in allocations:
        for r, amount in row["resources"].items():
            capacity[row["node"]][r] += amount
    free = {n: draw(st.integers(0, 2)) for n in nodes}
    # Nothing starts there, but it adds to what all queues together may have.
    off = {"name": "off", "capacity": dict.fromkeys(resources, 9), "schedulable": False}
    return {
        "now": 1000,
        "resources": {r: {} for r in resources},
        "nodes": [
            {"name": n, "capacity": {r: amount + free[n] for r, amount in capacity[n].items()}} for n in nodes
        ]
        + ([off] if draw(st.booleans()) else []),
        "pools": pools,
        "operations": operations,
        "allocations": allocations,
        "requests": [
            {
                "name": "r",
                "operation": "ask",
                "resources": amounts(3, 1),
                "submit_time": 900,
                **({"required_node": draw(st.sampled_from(nodes))} if draw(st.integers(0, 4)) == 4 else {}),
            }
        ],
    }
