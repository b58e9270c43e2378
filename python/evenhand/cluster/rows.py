"""A few rows on their own, checked by the rules of entire snapshots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.building.dicts import read_rows
from evenhand.building.parse import Parser
from evenhand.building.problems import Report
from evenhand.fields import TABLES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenhand.cluster.stage import Stage
    from evenhand.model import Snapshot

__all__ = ["few_rows"]

_REFERENCES = {"operations": ("operation",), "nodes": ("node", "required_node"), "pools": ("pool",)}


def few_rows(stage: Stage, tables: Mapping[str, Sequence[Any]]) -> tuple[Snapshot, dict[str, dict[int, int]]]:
    """Build a snapshot of some rows, beside the bare pools, operations and nodes that they name."""
    base, report = stage.base, Report()
    parser = Parser(report)
    parser.keep_head({**base._head, "now": stage.core.now, "previous_update": None, "total": None})
    rows = [row for table in tables.values() for row in table if isinstance(row, dict)]
    given: dict[str, list[Any]] = {table: list(rows) for table, rows in tables.items()}
    for table, fields in _REFERENCES.items():
        have = {str(row.get("name")) for row in given.get(table, ()) if isinstance(row, dict)}
        named = [row[field] for row in rows for field in fields if row.get(field) is not None]
        for text, name in {str(name): name for name in named}.items():
            if text in have or (row := stage.find(table, text)) < 0 or (table == "pools" and row == 0):
                continue
            stub = {"name": name}
            if table == "operations" and stage.core.gang(row):
                stub["gang"] = True
            given.setdefault(table, []).append(stub)
    for table in ("pools", "operations", "nodes", "allocations", "requests"):
        if given.get(table):
            parser.read_table(table, read_rows(TABLES[table], given[table], report))
    snapshot = base._build(parser.raw, report)
    order = {table: snapshot._core.permutation(table).tolist() for table in tables}
    return snapshot, {t: {i: row for row, i in enumerate(inputs)} for t, inputs in order.items()}
