"""Parses a snapshot's cells into raw columns, table by table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from functools import partial
from itertools import compress, count, islice, repeat
from operator import is_
from typing import Any

import numpy as np

from evenhand import _core, fields
from evenhand.building import columns, single
from evenhand.building.cells import as_list
from evenhand.building.dicts import TableCells, read_rows
from evenhand.building.problems import COUNTED, STAND_IN, Report, kind_of
from evenhand.building.settings import labels_of
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
    """By table or `labels_of` it, and by row."""
    commands: list[dict[str, Any]] = field(default_factory=list)


class Parser:
    """Parses the parts of one snapshot; every problem goes to `report`."""

    def __init__(self, report: Report, zone: tzinfo | None = None, *, iso: bool = False) -> None:
        self.report = report
        self.zone = zone
        self.iso = iso
        self.resources: list[str] = []
        self.units: dict[str, str | None] = {}
        self.raw = Raw()

    def keep_head(self, head: Mapping[str, Any]) -> None:
        """Take the head of a snapshot: its resources, and what stands beside the tables."""
        self.raw.head = dict(head)
        self.resources = head["resources"]
        self.units = dict(zip(self.resources, head.get("unit") or [], strict=False))

    def _amount(self, resource: str) -> Callable[[Any], Any]:
        return single.one_amount(self.units.get(resource))

    def read_resources(self, given: Any) -> None:
        """Parse the object of resources; without a usable one nothing else can be built."""
        report = self.report
        if given is None or (isinstance(given, Mapping) and not given):
            report.fail(
                "snapshot", "resources", "required", "is missing; at least one resource must be named"
            )
        elif not isinstance(given, Mapping):
            predicate = f"is {kind_of(given)}; it must be an object (name: description)"
            report.fail("snapshot", "resources", "type", predicate, given)
        elif len(given) > MAX_RESOURCES:
            predicate = f"names {len(given)} resources; at most {MAX_RESOURCES} can be shared"
            report.fail("snapshot", "resources", "range", predicate)
        else:
            self.resources = names = list(given)
            report.names["resources"] = names
            self._check_resource_names(names)
            rows = [{} if entry is None else entry for entry in given.values()]
            self._resource_columns(
                read_rows(TABLES["resources"], rows, report, named=False).cells, len(names)
            )

    def _check_resource_names(self, names: list[Any]) -> None:
        for row, name in enumerate(names):
            try:
                if not isinstance(name, str):
                    raise single.CellError("type", f"is {kind_of(name)}; it must be text")
                single.one_name(name)
            except single.CellError as error:
                self.report.unusable = True
                self.report.add("resources", row, "name", error.rule, str(error), name)
                self.resources[row] = f"{STAND_IN}{row}"

    def _resource_columns(self, cells: Mapping[str, Any], count: int) -> None:
        spec, kinds = TABLES["resources"], TABLES["resources"]["kind"].words
        absent = [None] * count

        def column(name: str, parse: Callable[..., Any], *more: Any) -> Any:
            return parse(cells.get(name, absent), *more, self.report.column("resources", name))

        def amounts(name: str) -> Any:
            """Parse one amount a resource, each in its own unit."""
            found = list(as_list(cells.get(name, absent)))
            for row, (resource, cell) in enumerate(zip(self.resources, found, strict=True)):
                if isinstance(cell, str):
                    report = self.report.column("resources", name)
                    one = columns.convert([cell], self._amount(resource), _at(row, report))
                    found[row] = one[0]
            return columns.number(found, self.report.column("resources", name))

        given = as_list(cells.get("unit", absent))
        unit = columns.convert(given, single.one_unit, self.report.column("resources", "unit"))
        # A unit that is wrong is none, and no reason to call the texts in it wrong too.
        self.units = {
            name: "" if said is None and cell is not None else said
            for name, said, cell in zip(self.resources, unit, given, strict=True)
        }
        if any(unit):
            self.raw.head["unit"] = unit
        given = as_list(cells.get("kind", absent))
        usual = [fields.resource_kind(name) for name in self.resources]
        kind = columns.word(
            [u if g is None else g for u, g in zip(usual, given, strict=True)],
            spec["kind"],
            self.report.column("resources", "kind"),
        )
        quantum = _or(amounts("quantum"), [fields.usual_quantum(kinds[k]) for k in kind])
        free = _or(column("available_after_preemption", columns.flag), True)
        capacity = amounts("capacity")
        self.raw.head |= {
            "resources": self.resources,
            "quantum": np.asarray(quantum, np.float64),
            "kind": kind,
            "scope": column("scope", columns.word, spec["scope"]),
            "capacity": capacity if isinstance(capacity, tuple) else (capacity, np.ones(count, np.bool_)),
            "available_after_preemption": free,
        }

    def read_head(self, given: Mapping[str, Any]) -> None:
        """Parse those fields beside the tables that are given; None stands for the default."""
        head, report = self.raw.head, self.report
        for name in ("now", "previous_update"):
            if name in given:
                column = columns.instant([given[name]], self.zone, self.iso, report.column("snapshot", name))
                head[name] = None if isinstance(column, tuple) else float(column[0])
        if "total" in given:
            head["total"] = None
            if given["total"] is not None and self.resources:
                reporter = self._amount_reporter("snapshot", "total")
                values, cells = columns.amounts([given["total"]], 1, self.resources, reporter, self._amount)
                head["total"] = (
                    values[0],
                    np.ones(len(self.resources), np.bool_) if cells is None else cells[0],
                )

    def read_table(self, name: str, table: TableCells) -> None:
        """Parse one table of the core."""
        spec, raw = TABLES[name], {}
        for column, cells in table.cells.items():
            base = column.removesuffix("_index")
            if spec[base].kind in ("amounts", "shares") and not self.resources:
                continue  # of which resources is not known: that is reported already
            if base != column:
                raw[column] = columns.row_index(cells, self.report.column(name, column))
            else:
                raw[column] = self._column(spec, spec[column], cells, table.rows)
        if "name" in table.cells:
            raw["name"], usable = raw["name"]
            known = raw["name"]
            if isinstance(known, list) and len(known) < table.rows:  # it was left
                self.report.unusable = True
            self.report.names[name] = known if isinstance(known, list) else table.cells["name"]
            if not usable:
                self.report.unsure.add(name)
        self.raw.tables[name] = raw
        self.raw.rows[name] = table.rows
        if table.settings:
            self.raw.settings[name] = table.settings
        if table.labels:
            self.raw.settings[labels_of(name)] = table.labels

    def _column(self, spec: TableSpec, of: Field, cells: Any, rows: int) -> Any:
        report = self.report.column(spec.name, of.name)
        match of.kind:
            case "name":
                return columns.names(cells, report)
            case "reference":
                return columns.reference(cells, report)
            case "label":
                return columns.labels(cells, report)
            case "amounts":
                reporter = self._amount_reporter(spec.name, of.name)
                return columns.amounts(cells, rows, self.resources, reporter, self._amount)
            case "shares":
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
        kinds: dict[str, Callable[[Any, columns.Reporter], list[Any]]] = {
            "label": columns.given_names,
            "labels": partial(columns.given_lists, own=table.own),
            "text": columns.given_texts,
            "flag": columns.given_flags,
        }
        found: dict[str, list[Any]] = {}
        for of in spec.fields:
            report = self.report.column("commands", of.name)
            if of.name in table.cells:
                given = table.cells[of.name]
                if of.kind == "enum":
                    found[of.name] = columns.given_words(given, of, report)
                else:
                    found[of.name] = kinds[of.kind](given, report)
            if of.required and not self.report.unusable:
                cells = found.get(of.name)
                missing: Iterable[int] = range(table.rows)
                if cells is not None:
                    missing = compress(count(), map(is_, cells, repeat(None)))
                for i in islice(missing, COUNTED):
                    if not self.report.has_row("commands", i):
                        report(i, "required", "is missing; every command needs one", None)
        if not self.report:
            self.raw.commands = _core.dicts_of(list(found), list(found.values()))

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

    def _amount_reporter(self, table: str, name: str) -> Callable[[str], columns.Reporter]:
        return lambda resource: self.report.column(table, f"{name}.{resource}" if resource else name)


def _at(row: int, report: columns.Reporter) -> columns.Reporter:
    """Return the reporter of a single cell of a column."""
    return lambda _, rule, predicate, value: report(row, rule, predicate, value)


def _or(column: Any, default: Any) -> Any:
    """Fill the absent cells of a raw column."""
    return np.where(column[1], column[0], default) if isinstance(column, tuple) else column
