"""What happens to a cluster between a plan and the look before its steps."""

from __future__ import annotations

import random
from collections.abc import Callable
from copy import deepcopy
from typing import Any

__all__ = ["changed"]

Data = dict[str, Any]


def changed(data: Data, rng: random.Random, most: int = 3) -> Data:
    """Return a snapshot some time later, in which up to `most` things have happened."""
    data = deepcopy(data)
    data["now"] = data.get("now", 0) + rng.choice([0, 0, 1, 5, 30, 400])
    for operation in data.get("operations", ()):
        if _itemised(data, operation["name"]):
            operation.pop("usage", None)
            operation.pop("demand", None)
    for _ in range(rng.randint(0, most)):
        happens = rng.choice(_HAPPENS)
        happens(data, rng)
    return data


def _itemised(data: Data, name: Any) -> bool:
    return any(row["operation"] == name for t in ("allocations", "requests") for row in data.get(t, ()))


def _row(data: Data, table: str, rng: random.Random) -> Data | None:
    rows: list[Data] = data.get(table) or []
    return rng.choice(rows) if rows else None


def _sets(table: str, **fields: Callable[[Data, Data, random.Random], Any]) -> Callable[..., None]:
    def happens(data: Data, rng: random.Random) -> None:
        row = _row(data, table, rng)
        if row is not None:
            for name, value in fields.items():
                row[name] = value(data, row, rng)

    return happens


def _amounts(data: Data, row: Data, rng: random.Random) -> Data:
    del data
    return {
        r: max(0, amount + rng.choice([-1, 0, 1, 2, 20])) for r, amount in row.get("resources", {}).items()
    }


def _setting(name: str, *values: Any) -> Callable[..., None]:
    return _sets(
        "operations", settings=lambda _, row, rng: row.get("settings", {}) | {name: rng.choice(values)}
    )


def _leaves(table: str) -> Callable[[Data, random.Random], None]:
    def happens(data: Data, rng: random.Random) -> None:
        row = _row(data, table, rng)
        if row is not None:
            _drop(data, table, row)

    return happens


def _drop(data: Data, table: str, row: Data) -> None:
    data[table].remove(row)
    name = row["name"]
    below = {"operations": "operation", "nodes": "node", "requests": "request", "allocations": "allocation"}
    for other in ("allocations", "requests", "reservations"):
        for lower in list(data.get(other, ())):
            if lower.get(below[table]) == name:
                _drop(data, other, lower) if other in below else data[other].remove(lower)
    for lower in data.get("requests", ()) if table == "nodes" else ():
        if lower.get("required_node") == name:
            del lower["required_node"]
    for lower in data.get("allocations", ()) if table == "nodes" else ():
        if lower.get("required_node") == name:
            del lower["required_node"]


def _again(table: str) -> Callable[[Data, random.Random], None]:
    """Another row like one of a table."""

    def happens(data: Data, rng: random.Random) -> None:
        row = _row(data, table, rng)
        if row is None:
            return
        more = {**deepcopy(row), "name": f"more{len(data[table])}"}
        if table == "nodes":
            more.pop("physical", None)
        data[table].append(more)

    return happens


def _part(data: Data, row: Data, rng: random.Random) -> Any:
    others = [other["partition"] for other in data["operations"] if other.get("partition")]
    return rng.choice(others) if others else row.get("partition")


def _node(data: Data, row: Data, rng: random.Random) -> Any:
    return rng.choice(data["nodes"])["name"] if data.get("nodes") else row.get("node")


def _then(data: Data, row: Data, rng: random.Random) -> float:
    del row
    return float(data["now"]) - rng.choice([0, 1, 10, 100])


def _priority(data: Data, row: Data, rng: random.Random) -> int:
    del data, row
    return rng.choice([0, 1, 2, 5, 8, 10, 20])


def _renamed(table: str, field: str) -> Callable[[Data, random.Random], None]:
    """A row by another name, and all that refers to it."""

    def happens(data: Data, rng: random.Random) -> None:
        row = _row(data, table, rng)
        if row is None:
            return
        old, row["name"] = row["name"], f"new{len(data[table])}"
        if any(other is not row and other["name"] == row["name"] for other in data[table]):
            row["name"] = old
        for other in ("allocations", "requests", "reservations"):
            for lower in data.get(other, ()):
                for name in (field, f"required_{field}"):
                    if lower.get(name) == old:
                        lower[name] = row["name"]

    return happens


def _operation(data: Data, row: Data, rng: random.Random) -> Any:
    return rng.choice(data["operations"])["name"] if data.get("operations") else row["operation"]


_HAPPENS: list[Callable[..., None]] = [
    *(_leaves(table) for table in ("allocations", "requests", "operations", "nodes")),
    _leaves("allocations"),
    *(_again(table) for table in ("allocations", "requests", "nodes")),
    _renamed("operations", "operation"),
    _renamed("nodes", "node"),
    _sets("allocations", operation=_operation),
    _sets("allocations", preemptible=lambda *_: False),
    _sets("allocations", start_time=_then),
    _sets("allocations", last_progress_time=_then),
    _sets("allocations", node=_node),
    _sets("allocations", resources=_amounts),
    _sets("allocations", state=lambda _, row, rng: rng.choice(["running", "preempting", "suspended"])),
    _sets("allocations", priority=_priority),
    _sets("operations", priority=_priority),
    _sets("operations", kind=lambda _, row, rng: rng.choice(["batch", "system", "interactive"])),
    _sets("operations", partition=_part),
    _sets("operations", user=lambda _, row, rng: rng.choice(["a", "b", "x"])),
    _sets("requests", resources=_amounts),
    _sets("requests", count=lambda _, row, rng: rng.choice([1, 1, 2, 3])),
    _sets("requests", priority=_priority),
    _sets("requests", submit_time=_then),
    _sets("nodes", schedulable=lambda *_: False),
    _sets("nodes", schedulable=lambda *_: True),
    _setting("job_priority", -2, 0, 1, 3, 9),
    _setting("is_preemptible", False, True),
    _setting("requeue", False),
]
