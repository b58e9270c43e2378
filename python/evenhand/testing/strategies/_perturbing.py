"""Other values for the fields of a snapshot, whatever their kind."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any

from evenhand.fields import TABLES, Field

__all__ = ["FIELDS", "enriched", "perturbed"]

#: Fields that a policy may read or not; names, order and settings are read by all.
FIELDS: dict[tuple[str, str], Field] = {
    (table, field.name): field
    for table, spec in TABLES.items()
    if table != "commands"
    for field in spec.fields
    if field.name not in ("name", "order", "settings", "quantum") and field.kind != "name"
}


def perturbed(
    data: Mapping[str, Any],
    fields: Iterable[tuple[str, str]],
    rng: random.Random,
    words: Mapping[str, Sequence[str]],
) -> dict[str, Any]:
    """Return a snapshot in which about half of the rows have another value of some fields."""
    changed = list(fields)
    tables = {table for table, _ in changed}
    out = {name: deepcopy(value) if name in tables else value for name, value in data.items()}
    for table, name in changed:
        field = FIELDS[table, name]
        for row in _rows(out, table):
            if rng.random() < 0.6 and _can_have(out, table, name, row):
                _set(row, name, _value(out, field, row, rng, words))
                _settle(table, name, row)
    return out


def enriched(data: Mapping[str, Any], rng: random.Random) -> dict[str, Any]:
    """Return a snapshot with rows that strategies seldom draw: pools, reservations, an idle operation."""
    out = deepcopy(dict(data))
    if not out.get("pools"):
        out["pools"] = [{"name": "p"}, {"name": "q"}]
    out["operations"] = [*out["operations"], {"name": "idle"}]
    if rng.random() < 0.4:
        out["resources"] = {**out["resources"], "seat": {"scope": "cluster", "capacity": 3}}
        for table in ("requests", "allocations"):
            for row in out.get(table, []):
                if rng.random() < 0.4:
                    row["resources"] = {**row.get("resources", {}), "seat": 1}
    if rng.random() < 0.5 and not out.get("reservations"):
        nodes = _names(out, "nodes")
        out["reservations"] = [
            {"name": f"v{i}", "node": rng.choice(nodes), "resources": dict.fromkeys(out["resources"], 1)}
            | {"request": row["name"]}
            for i, row in enumerate(out.get("requests", [])[:2])
        ]
    return out


def _rows(data: dict[str, Any], table: str) -> list[dict[str, Any]]:
    if table == "root":
        return [data.setdefault("root", {})]
    if table == "resources":
        return list(data["resources"].values())
    return list(data.get(table, []))


def _can_have(data: Mapping[str, Any], table: str, name: str, row: Mapping[str, Any]) -> bool:
    """Tell whether a row may have a value there: what is itemised says what it uses itself."""
    if table != "operations" or name not in ("demand", "usage"):
        return True
    return all(
        item["operation"] != row["name"] for t in ("allocations", "requests") for item in data.get(t, [])
    )


def _settle(table: str, name: str, row: dict[str, Any]) -> None:
    """Let the rest of a row follow where only certain combinations are valid."""
    if table == "reservations" and name in ("request", "allocation"):
        row.pop("allocation" if name == "request" else "request", None)
    if table == "resources" and name == "scope":
        row["capacity"] = 50 if row["scope"] == "cluster" else None
    if table == "operations" and name == "usage":
        row["demand"] = {r: amount + 1 for r, amount in row["usage"].items()}


def _set(row: dict[str, Any], name: str, value: Any) -> None:
    *outer, last = name.split(".")
    for key in outer:
        row = row.setdefault(key, {})
        if not isinstance(row, dict):
            return
    row[last] = value


def _names(data: Mapping[str, Any], table: str) -> list[Any]:
    return [row["name"] for row in data.get(table, [])]


def _amounts(
    data: Mapping[str, Any], field: Field, row: Mapping[str, Any], rng: random.Random
) -> dict[str, float]:
    if field.name == "held":  # a part of what it had
        return {r: rng.randint(0, int(amount)) for r, amount in row.get("resources", {}).items()}
    old = row.get(field.name)
    old = old if isinstance(old, Mapping) else {}
    return {r: max(0, old.get(r, 1) + rng.randint(-2, 3)) for r in data["resources"]}


def _value(
    data: Mapping[str, Any],
    field: Field,
    row: Mapping[str, Any],
    rng: random.Random,
    words: Mapping[str, Any],
) -> Any:
    now = data.get("now", 0)
    match field.kind:
        case "reference":
            if "node" in row and "until" not in row and field.name in ("request", "allocation"):
                return rng.choice(_names(data, field.target) or [None])
            return rng.choice([*_names(data, field.target), *([] if field.required else [None])] or [None])
        case "label":
            table = "operations" if field.name.endswith("operation") else "requests"
            return rng.choice([*_names(data, table), "gone"])
        case "amounts":
            return _amounts(data, field, row, rng)
        case "shares":
            return {r: rng.choice([0.1, 0.3, 0.7]) for r in data["resources"]}
        case "number" | "amount":
            return rng.choice([1, 2, 3, 7, 12] if field.default_says else [0.5, 1, 2, 5])
        case "integer":
            return rng.randint(1, 4)
        case "time":
            late = field.name in ("planned_end", "deadline", "until")
            return now + (1 if late else -1) * rng.choice([0, 1, 5, 20, 60])
        case "duration":
            return rng.choice([1, 5, 20, 100])
        case "flag":
            return rng.random() < 0.5
        case "enum":
            return rng.choice(field.words)
        case "texts":
            known = sorted({tag for node in data.get("nodes", []) for tag in node.get("tags", [])})
            return rng.sample([*known, "odd"], rng.randint(0, 1))
        case "annotations":
            return {
                name: rng.choice(["night", 1, 2.5])
                for name in rng.sample(["team", "rack"], rng.randint(1, 2))
            }
    return rng.choice(words.get(field.name, ["x", "y", "n0"]))
