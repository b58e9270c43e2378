"""Drawn partitions whose queues have names as YuniKorn's: paths, one of which begins with another's text.

Also those in the middle of something: asks have nodes reserved, and work leaves for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from evenhand.testing import strategies as es
from evenhand.testing.strategies._picking import Pick, picks

__all__ = ["named", "partitions", "reserving"]

_AGES = (0, 10, 7202, 7203)  # a reservation without headroom is given up after 7,202 seconds


def named(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a partition with paths for names: a and b become root.a and root.ab."""
    new: dict[Any, str] = {}
    pools = []
    for row in data["pools"]:
        own = {"b": "ab"}.get(row["name"], row["name"])
        new[row["name"]] = f"{new.get(row.get('parent'), 'root')}.{own}"
        above = {} if row.get("parent") is None else {"parent": new[row["parent"]]}
        pools.append({**row, "name": new[row["name"]], **above})
    operations = [{**row, "pool": new[row["pool"]]} for row in data["operations"]]
    return {**data, "pools": pools, "operations": operations}


def partitions(**sizes: int) -> st.SearchStrategy[dict[str, Any]]:
    """Draw one; see `evenhand.testing.strategies.queue_partitions`."""
    return es.queue_partitions(**sizes).map(named)


def reserving() -> st.SearchStrategy[dict[str, Any]]:
    """Draw one in which as many as there are of an ask, or fewer, have reserved nodes."""
    return st.builds(_reserved, partitions(), picks(60))


def _reserved(data: Mapping[str, Any], pick: Pick) -> dict[str, Any]:
    nodes, asks = [row["name"] for row in data["nodes"]], data["requests"]
    rows = [
        {
            "request": row["name"],
            "node": row.get("required_node") or pick(nodes),
            "resources": row["resources"],
            "from": data["now"] - pick(_AGES),
        }
        for row in asks
        for _ in range(pick(range(row["count"] + 1)))
    ]
    named = [{"name": f"k{pick(range(9))}{i}", **row} for i, row in enumerate(rows)]
    held = []
    for row in data["allocations"]:
        leaves = {"state": "preempting"} if pick(range(5)) == 0 else {}
        if leaves and pick(range(4)):
            leaves["beneficiary"] = {"request": pick(asks)["name"]}
        held.append(row | leaves)
    return {**data, "allocations": held, "reservations": named}
