"""Parses a snapshot's cells into raw columns, table by table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from functools import partial
from typing import Any

import numpy as np

from evenhand import fields
from evenhand.building import columns
from evenhand.building.dicts import TableCells
from evenhand.building.problems import Report, kind_of, nearest
from evenhand.fields import TABLES, Field, TableSpec

MAX_RESOURCES = 16

#: The tables that the core builds, in the order in which they are parsed.
CORE_TABLES = ("root", "pools", "operations", "nodes", "allocations", "requests", "reservations")


@dataclass(slots=True)
class Raw:
    """What the core takes, and what stays on this side of it."""

    head: dict[str, Any] = field(default_factory=dict)
    tables: dict[str, dict[str, Any]] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    settings: dict[str, dict[int, dict[str, Any]]] = field(default_factory=dict)
    commands: list[dict[str, Any]] = field(default_factory=list)


class Parser:
    """Parses the parts of one snapshot; every problem goes to `report`.

    Parameters
    ----------
    report : Report
    zone : tzinfo, optional
        Time zone of instants that have none; without it they are refused.
    iso : bool
        Whether instants may be ISO 8601 text.
    """

    def __init__(self, report: Report, zone: tzinfo | None = None, *, iso: bool = False) -> None:
        self.report = report
        self.zone = zone
        self.iso = iso
        self.resources: list[str] = []
        self.raw = Raw()

    def read_resources(self, given: Any) -> None:
        """Parse the object of resources; without a usable one nothing else can be built."""
        report = self.report
        if given is None or (isinstance(given, Mapping) and not given):
            report.fail("resources", "required", "at least one resource must be named")
            return
        if not isinstance(given, Mapping):
            message = f"{kind_of(given)} stands where an object (name: its description) is expected"
            report.fail("resources", "type", message, given)
            return
        if len(given) > MAX_RESOURCES:
            message = f"there are {len(given)} resources; at most {MAX_RESOURCES} can be shared"
            report.fail("resources", "range", message)
            return
        rows = []
        for name, entry in given.items():
            try:
                if not isinstance(name, str):
                    raise columns.CellError("type", f"{kind_of(name)} stands where a resource's name is expected")
                columns.one_name(name)
            except columns.CellError as error:
                report.unusable = True
                report.add("resources", None, "name", error.rule, str(error), name)
                continue
            rows.append((name, self._resource(name, {} if entry is None else entry)))
        self.resources = [name for name, _ in rows]
        self._resource_columns([entry for _, entry in rows])

    def _resource(self, name: str, entry: Any) -> dict[str, Any]:
        report, spec = self.report, TABLES["resources"]
        if not isinstance(entry, Mapping):
            message = f"{kind_of(entry)} stands where an object is expected"
            report.add("resources", None, None, "type", message, entry, name=name)
            return {}
        for key in sorted(set(entry).difference(spec.names), key=str):
            message = "there is no such field" + nearest(key, spec.names)
            report.add("resources", None, str(key)[:100], "unknown_field", message, name=name)
        return dict(entry)

    def _resource_columns(self, entries: list[dict[str, Any]]) -> None:
        names, spec, count = self.resources, TABLES["resources"], len(entries)

        def column(parse: Callable[..., Any], name: str, *more: Any, default: Any = None) -> Any:
            def report(row: int | None, rule: str, message: str, value: object) -> None:
                of = None if row is None else names[row]
                self.report.add("resources", None, name, rule, message, value, name=of)

            cells = [e.get(name) for e in entries]
            if default is not None:
                cells = [default(i) if c is None else c for i, c in enumerate(cells)]
            return parse(cells, *more, report)

        usual = {name: fields.resource_kind(name) for name in names}
        kind = column(columns.word, "kind", spec["kind"], default=lambda i: usual[names[i]])
        words = spec["kind"].words
        quantum = column(
            columns.number, "quantum", default=lambda i: fields.usual_quantum(words[int(kind[i])])
        )
        capacity = column(columns.number, "capacity")
        if not isinstance(capacity, tuple):
            capacity = (capacity, np.ones(count, np.bool_))
        if isinstance(quantum, tuple):  # a reported cell
            quantum = np.where(quantum[1], quantum[0], 1.0)
        free = column(columns.flag, "available_after_preemption", default=lambda i: True)
        self.raw.head |= {
            "resources": names,
            "quantum": np.asarray(quantum, np.float64),
            "kind": kind,
            "scope": column(columns.word, "scope", spec["scope"]),
            "capacity": capacity,
            "available_after_preemption": free[0] | ~free[1] if isinstance(free, tuple) else free,
        }

    def read_head(self, now: Any, previous_update: Any, total: Any) -> None:
        """Parse what stands beside the tables."""
        head = self.raw.head
        for name, cell in (("now", now), ("previous_update", previous_update)):
            column = columns.instant([cell], self.zone, self.iso, self.report.column("snapshot", name))
            head[name] = None if isinstance(column, tuple) else float(column[0])
        head["total"] = None
        if total is not None:
            values, given = columns.amounts([total], 1, self.resources, self._amount_reporter("snapshot", "total"))
            head["total"] = (values[0], np.ones(len(self.resources), np.bool_) if given is None else given[0])

    def read_table(self, name: str, table: TableCells, rows: Mapping[str, int]) -> None:
        """Parse one table of the core; `rows` says how many rows each table has."""
        spec, raw = TABLES[name], {}
        for column, cells in table.cells.items():
            base = column.removesuffix("_index")
            if base != column:
                target = spec[base].target
                raw[column] = columns.row_index(cells, rows.get(target, 0), target, self._reporter(name, column))
            else:
                raw[column] = self._column(spec, spec[column], cells, table.rows)
        if "name" in table.cells:
            raw["name"], usable = raw["name"]
            self.report.names[name] = table.cells["name"]
            if not usable:
                self.report.unsure.add(name)
        self.raw.tables[name] = raw
        self.raw.rows[name] = table.rows
        if table.settings:
            self.raw.settings[name] = table.settings

    def _column(self, spec: TableSpec, of: Field, cells: Any, rows: int) -> Any:
        report = self._reporter(spec.name, of.name)
        match of.kind:
            case "name":
                return columns.names(cells, report)
            case "reference":
                return columns.reference(cells, report)
            case "label":
                return columns.labels(cells, report)
            case "amounts" | "shares":
                return columns.amounts(cells, rows, self.resources, self._amount_reporter(spec.name, of.name))
            case "number":
                return columns.number(cells, report)
            case "integer":
                return columns.integer(cells, report)
            case "time":
                return columns.instant(cells, self.zone, self.iso, report)
            case "duration":
                return columns.duration(cells, report)
            case "flag":
                return columns.flag(cells, report)
            case "enum":
                return columns.word(cells, of, report)
            case "text":
                return columns.text(cells, report)
            case "texts":
                return columns.texts(cells, report)
            case _:
                raise AssertionError(f"no column is made of {of.kind}")

    def read_commands(self, table: TableCells) -> None:
        """Parse the commands; they stay on this side of the core."""
        spec = TABLES["commands"]
        one: dict[str, Callable[[Any], Any]] = {
            "label": columns.one_name,
            "labels": columns.one_list(columns.one_name, "names"),
            "text": columns.one_text,
            "flag": columns.one_flag,
            "enum": columns.one_word(spec["kind"].words),
        }
        rows: list[dict[str, Any]] = [{} for _ in range(table.rows)]
        for of in spec.fields:
            report = self._reporter("commands", of.name)
            cells = columns.convert(columns.as_list(table.cells.get(of.name, [None] * table.rows)), one[of.kind], report)
            for i, (row, cell) in enumerate(zip(rows, cells, strict=True)):
                if cell is not None:
                    row[of.name] = cell
                elif of.required and not self.report.has_cell("commands", i):
                    report(i, "required", f"a command needs a {of.name}", None)
        self.raw.commands = rows

    def fill_order(self) -> None:
        """Give every row without an order its position; operations come after all pools."""
        for name, spec in TABLES.items():
            if name not in self.raw.tables or name == "root" or "order" not in spec.names:
                continue
            first = self.raw.rows.get("pools", 0) if name == "operations" else 0
            place = np.arange(first, first + self.raw.rows[name], dtype=np.float64)
            given = self.raw.tables[name].get("order")
            if isinstance(given, tuple):
                self.raw.tables[name]["order"] = np.where(given[1], given[0], place)
            elif given is None:
                self.raw.tables[name]["order"] = place

    def _reporter(self, table: str, field_name: str) -> columns.Reporter:
        return self.report.column(table, field_name)

    def _amount_reporter(self, table: str, field_name: str) -> Callable[[str], columns.Reporter]:
        return partial(self._one_amount, table, field_name)

    def _one_amount(self, table: str, field_name: str, resource: str) -> columns.Reporter:
        of_head = table == "snapshot"
        report = self.report.column(table, f"{field_name}.{resource}" if resource else field_name)
        return (lambda _row, *rest: report(None, *rest)) if of_head else report
