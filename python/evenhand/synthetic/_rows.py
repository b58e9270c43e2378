"""Tables of columns as rows of the snapshot's file format."""

from __future__ import annotations

from typing import Any

TABLES = ("pools", "operations", "nodes", "allocations", "requests")
REFERENCES = {"pool_index": "pools", "operation_index": "operations", "node_index": "nodes"}
PEOPLE = (
    "alice", "amir", "bao", "bruno", "carla", "chen", "dana", "diego", "elif", "emma", "farid", "fiona",
    "gita", "goran", "hana", "hugo", "ines", "ivan", "jana", "joao", "kaito", "kim", "lena", "luca",
    "maya", "mo", "nadia", "noah", "olga", "omar", "pia", "priya", "quinn", "rafa", "ravi", "sara",
    "sven", "tara", "tomas", "uma", "vera", "viktor", "wei", "xenia", "yara", "yusuf", "zoe", "zoran",
)  # fmt: skip


def person(number: int) -> str:
    """Return a user name; the first few dozen are given names, the rest numbered ones."""
    again, person = divmod(number, len(PEOPLE))
    return PEOPLE[person] + (str(again + 1) if again else "")


def from_columns(tables: dict[str, Any]) -> dict[str, Any]:
    """Turn tables of columns into lists of rows; absent values and zero amounts are left out."""
    names = {table: tables[table]["name"] for table in TABLES}
    data = {"schema": "evenhand/snapshot/1"} | {k: v for k, v in tables.items() if k not in TABLES}
    for table in TABLES:
        rows: list[dict[str, Any]] = [{} for _ in names[table]]
        for column, values in tables[table].items():
            _fill(rows, column, values.tolist() if hasattr(values, "tolist") else values, names)
        data[table] = rows
    return data


def _fill(rows: list[dict[str, Any]], column: str, values: list[Any], names: dict[str, list[str]]) -> None:
    if column in REFERENCES:
        target = names[REFERENCES[column]]
        field = column.removesuffix("_index")
        for row, value in zip(rows, values, strict=True):
            row[field] = target[value]
        return
    *path, field = column.split(".")
    for row, value in zip(rows, values, strict=True):
        # A guarantee of 0 differs from none; elsewhere a zero says nothing.
        if value is None or ((path in (["resources"], ["capacity"])) and value == 0):
            continue
        inner = row
        for step in path:
            inner = inner.setdefault(step, {})
        inner[field] = value
