"""What happens to a cluster, drawn by small numbers: single events, and rows that are put."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evenhand.cluster.events import (
    Count,
    End,
    Event,
    Job,
    Leave,
    Node,
    Put,
    Remove,
    Resize,
    Resume,
    Start,
    Suspend,
    Take,
    Time,
)
from evenhand.fields import TABLES as SPECS
from evenhand.testing.living.rows import HOLDING, TABLES, Row, Rows
from evenhand.testing.strategies._picking import Pick

__all__ = ["KINDS", "LEAST", "Single", "running"]

#: Names that sort before, between and after those of drawn clusters, and integers.
_NAMES: tuple[str | int, ...] = ("!", "A", "a1", "n0a", "n0/1", "zz", "\u00e9", 0, 2, 10, "10", "p0a")
_WORDS = ("a", "b", "ann", "low", "high", "ssd", "fast", "all.q")
_STEPS = (0, 1e-6, 1, 1, 5, 10, 20, 60, 600, 7200)
_REFERS = {"operation": "operations", "node": "nodes", "pool": "pools", "required_node": "nodes"}
#: Cells that make what others say of a row wrong in most cases; drawn less often.
_RISKY = {"usage", "demand", "physical", "held", "state", "parent", "mode"}
_LEAVING = ("state", "held", "deadline", "beneficiary")
#: Tables of which something is to be left in most cases.
LEAST = {"nodes": 2, "operations": 3}


def _fits(value: Any, unknown: frozenset[str]) -> Any:
    """Return a cell without amounts of resources that there are not."""
    if not isinstance(value, Mapping):
        return value
    return {key: _fits(cell, unknown) for key, cell in value.items() if key not in unknown}


def running(row: Row) -> Row:
    """Return an allocation as one that runs."""
    return {cell: value for cell, value in row.items() if cell not in _LEAVING}


def _has_rows(rows: Rows, operation: Any) -> bool:
    of = (row["operation"] for table in ("allocations", "requests") for row in rows.all(table))
    return any(str(name) == str(operation) for name in of)


class Single:
    """Draws single events."""

    def __init__(self, stock: Mapping[str, Any], resources: Mapping[str, Any]) -> None:
        unknown = frozenset(stock["resources"]) - set(resources)
        self._quanta = {name: (fields or {}).get("quantum", 1) for name, fields in resources.items()}
        self._wide = {n for n, fields in resources.items() if (fields or {}).get("scope") == "cluster"}
        self._stock = {t: [_fits(row, unknown) for row in stock.get(t) or ()] for t in TABLES}

    def event(self, rows: Rows, pick: Pick, kinds: Sequence[str] = ()) -> Event | None:
        """Return an event that may happen next; None: what was drawn cannot."""
        make: Callable[[Single, Rows, Pick], Event | None] = KINDS[pick(kinds or _WEIGHTED)]
        return make(self, rows, pick)

    # Single events.

    def _time(self, rows: Rows, pick: Pick) -> Event:
        return Time(rows.now + pick(_STEPS))

    def _start(self, rows: Rows, pick: Pick) -> Event | None:
        asked = [row for row in rows.all("requests") if row.get("count", 1)]
        name, node = self._new_name(rows, "allocations", pick), self._some(rows, "nodes", pick)
        where = {} if node is None else {"node": node}
        if asked and pick(range(4)) > 0:
            request = pick(asked)
            cells = {c: request[c] for c in ("operation", "resources", "priority") if c in request}
            return Start({"name": name, **where, **cells}, request["name"])
        row = {**self._like(rows, "allocations", pick), "name": name, **where}
        row = dict(running(row))
        if pick((False, True)):
            row.pop("start_time", None)
        return Start(row) if row.get("operation") is not None else None

    def _end(self, rows: Rows, pick: Pick) -> Event | None:
        row = self._any(rows, pick)
        return None if row is None else End(row["name"])

    def _leave(self, rows: Rows, pick: Pick) -> Event | None:
        row = self._any(rows, pick, *HOLDING)
        if row is None:
            return None
        deadline = pick((None, rows.now, rows.now + 10, rows.now + 600))
        held = pick((None, None, self._part(row, pick)))
        return Leave(row["name"], deadline, self._beneficiary(rows, pick), held)

    def _beneficiary(self, rows: Rows, pick: Pick) -> Any:
        operation = self._some(rows, "operations", pick)
        request = self._some(rows, "requests", pick)
        both = {"operation": operation, "request": request}
        told = {field: name for field, name in both.items() if name is not None}
        return pick((None, request, told, {c: told[c] for c in list(told)[:1]}, {"request": "gone"})) or None

    def _take(self, rows: Rows, pick: Pick) -> Event | None:
        row = self._any(rows, pick, "preempting")
        return None if row is None else Take(row["name"], self._part(row, pick))

    def _suspend(self, rows: Rows, pick: Pick) -> Event | None:
        row = self._any(rows, pick, *HOLDING, "preempting")
        return None if row is None else Suspend(row["name"], pick((None, self._part(row, pick))))

    def _resume(self, rows: Rows, pick: Pick) -> Event | None:
        row = self._any(rows, pick, "preempted")
        if row is None:
            return None
        node, started = self._some(rows, "nodes", pick), rows.now - pick((0, 1, 20))
        return Resume(row["name"], pick((None, node)), pick((None, None, started)))

    def _job(self, rows: Rows, pick: Pick) -> Event | None:
        row = self._any(rows, pick)
        times = pick((None, rows.now - pick(range(16)))), pick((None, rows.now - pick(range(16))))
        return None if row is None else Job(row["name"], *times)

    def _resize(self, rows: Rows, pick: Pick) -> Event | None:
        row = self._any(rows, pick, *HOLDING)
        return None if row is None else Resize(row["name"], self._amounts(pick, 4, on_nodes=False))

    def _count(self, rows: Rows, pick: Pick) -> Event | None:
        name = self._some(rows, "requests", pick)
        return None if name is None else Count(name, pick((0, 1, 1, 2, 3)))

    def _node(self, rows: Rows, pick: Pick) -> Event | None:
        name = self._some(rows, "nodes", pick)
        size = pick((None, self._amounts(pick, 12)))
        return None if name is None else Node(name, size, pick((None, True, False, True)))

    def _put(self, rows: Rows, pick: Pick) -> Event | None:
        table = pick(_PUT)
        row = self.row(rows, table, pick)
        return None if row is None else Put(table, row)

    def _remove(self, rows: Rows, pick: Pick) -> Event | None:
        table = pick(TABLES)
        if len(rows.tables[table]) < LEAST.get(table, 1) and pick(range(8)):
            return None
        return Remove(table, self._some(rows, table, pick)) if rows.tables[table] else None

    # Rows that are put.

    def row(self, rows: Rows, table: str, pick: Pick) -> Row | None:
        """Return a row to be put: a new one, one that went, or a present one changed or in another place."""
        way = pick(("new", "new", "again", "again", "again", "moved", "other", "back"))
        present, went = rows.all(table), list(rows.went[table].values())
        row: Row
        if way == "again" and present:
            row = self._changed(rows, table, pick(present), pick)
        elif way == "moved" and present and "order" in SPECS[table].names:
            return {**pick(present), "order": pick(range(5))}
        elif way == "back" and went:
            row = self._pointed(rows, table, pick(went), pick)
        elif way == "other" and present:
            row = {**self._like(rows, table, pick), "name": pick(present)["name"]}
        else:
            row = {**self._like(rows, table, pick), "name": self._new_name(rows, table, pick)}
        while pick(range(4)) == 3:
            row = self._changed(rows, table, row, pick)
        if table == "operations" and _has_rows(rows, row["name"]):  # what agrees with them is not stated
            row = {cell: value for cell, value in row.items() if cell not in ("usage", "demand")}
        return row if table != "reservations" or "node" in row else None

    def _like(self, rows: Rows, table: str, pick: Pick) -> Row:
        """Return a row as those of the stock are, which refers to rows that there are."""
        stock = self._stock[table] or rows.all(table)
        return self._pointed(rows, table, pick(stock), pick) if stock else self._bare(rows, table, pick)

    def _bare(self, rows: Rows, table: str, pick: Pick) -> Row:
        row: dict[str, Any] = {"name": "", "resources": self._amounts(pick, 4)}
        match table:
            case "nodes":
                row = {"name": "", "capacity": self._amounts(pick, 12)}
            case "pools" | "operations":
                row = {"name": ""}
            case "allocations" | "requests":
                row["operation"] = None
            case "reservations":
                row["node"] = None
        return self._pointed(rows, table, row, pick)

    def _pointed(self, rows: Rows, table: str, row: Row, pick: Pick) -> Row:
        """Return a row that refers to rows that there are; most often."""
        if pick(range(32)) == 31:
            return row
        found = {c: v for c, v in row.items() if c not in ("parent", "request", "allocation", "physical")}
        for cell in [cell for cell in row if cell in _REFERS]:
            name = self._some(rows, _REFERS[cell], pick)
            if cell == "pool":
                name = self._leaf(rows, pick)
            if str(row[cell]) not in rows.tables[_REFERS[cell]] or cell == "pool" or pick(range(3)) == 0:
                found[cell] = name
        if table == "pools" and pick(range(3)) == 2:
            found["parent"] = self._some(rows, "pools", pick)
        if table == "reservations":
            field = pick(("request", "allocation"))
            found[field] = self._some(rows, f"{field}s", pick)
        if "beneficiary" in row:
            found["beneficiary"] = self._beneficiary(rows, pick)
        return {cell: value for cell, value in found.items() if value is not None}

    def _changed(self, rows: Rows, table: str, row: Row, pick: Pick) -> Row:
        """Return a row without one of its cells, or with another one."""
        fields = [f for f in SPECS[table].fields if f.kind != "name"]
        if pick((False, True)):
            absent = [f for f in fields if not f.required and f.name.split(".")[0] in row]
            gone = pick(absent).name.split(".")[0] if absent else None
            return {cell: value for cell, value in row.items() if cell != gone}
        field = pick(fields)
        if field.name in _RISKY and pick(range(4)):
            field = SPECS[table]["labels"]
        value = self._cell(rows, table, field, pick)
        outer, _, inner = field.name.partition(".")
        if inner:
            before = row.get(outer)
            value = {**(before if isinstance(before, Mapping) else {}), inner: value}
        return {cell: v for cell, v in {**row, outer: value}.items() if v is not None}

    def _cell(self, rows: Rows, table: str, field: Any, pick: Pick) -> Any:
        match field.kind:
            case "reference" if field.name == "pool":
                return self._leaf(rows, pick)
            case "reference":
                return self._some(rows, field.target, pick)
            case "label":
                return self._some(rows, f"{field.name.rpartition('.')[2]}s", pick)
            case "amounts":
                return self._amounts(pick, 9 if field.name in ("capacity", "limits") else 3)
            case "shares":
                return {pick(list(self._quanta)): pick((0.25, 0.5, 1.0))}
            case "flag":
                return pick((False, True))
            case "enum":
                return pick(field.words)
            case "time":
                return rows.now - pick((0, 0, 1, 5, 100, -5, -60))
            case "duration":
                return pick((1, 10, 60, 600))
            case "integer":
                return pick((0, 1, 2, 3))
            case "texts":
                return [pick(_WORDS)]
            case "text":
                return None if field.name == "physical" else pick(_WORDS)
            case "annotations":
                return {"team": pick(("a", 1, 2.5))}
            case "settings":
                have = [row["settings"] for row in self._stock[table] if row.get("settings")]
                return pick(have) if have else None
        return pick((0, 1, 2, 0.5, 3))

    # Names and amounts.

    def _any(self, rows: Rows, pick: Pick, *states: str) -> Row | None:
        found = rows.all("allocations", *states)
        return pick(found) if found else None

    def _some(self, rows: Rows, table: str, pick: Pick) -> Any:
        found = rows.all(table)
        return pick(found)["name"] if found else None

    def _leaf(self, rows: Rows, pick: Pick) -> Any:
        above = {str(row.get("parent")) for row in rows.all("pools")}
        found = [row["name"] for row in rows.all("pools") if str(row["name"]) not in above]
        return pick((*found, None))

    def _new_name(self, rows: Rows, table: str, pick: Pick) -> Any:
        free = [name for name in _NAMES if str(name) not in rows.tables[table]]
        return pick(free) if free else f"more{len(rows.tables[table])}"

    def _amounts(self, pick: Pick, most: int, *, on_nodes: bool = True) -> dict[str, Any]:
        drawn = {r: pick(range(most + 1)) * quantum for r, quantum in self._quanta.items()}
        return {r: a for r, a in drawn.items() if a and not (on_nodes and r in self._wide)}

    def _part(self, row: Row, pick: Pick) -> dict[str, Any]:
        whole = row.get("resources") or {}
        counts = {r: round(a / self._quanta[r]) for r, a in whole.items()}
        part = pick((0, 1, 2))
        return {r: n * part // 2 * self._quanta[r] for r, n in counts.items() if n * part // 2}


#: What draws each kind of event.
KINDS: Mapping[str, Callable[[Single, Rows, Pick], Event | None]] = {
    "time": Single._time,
    "start": Single._start,
    "end": Single._end,
    "leave": Single._leave,
    "take": Single._take,
    "suspend": Single._suspend,
    "resume": Single._resume,
    "job": Single._job,
    "resize": Single._resize,
    "count": Single._count,
    "node": Single._node,
    "put": Single._put,
    "remove": Single._remove,
}
_WEIGHTED = (*KINDS, "put", "put", "put", "put", "put", "start", "take", "resume", "time")
#: Requests keep others asking: they come most often.
_PUT = (*TABLES, "requests", "requests", "operations", "allocations")
