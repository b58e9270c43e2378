"""Drawn partitions whose queues have names as YuniKorn's: paths, one of which begins with another's text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from evenhand.testing import strategies as es

if TYPE_CHECKING:
    from hypothesis import strategies as st

__all__ = ["named", "partitions"]


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
