"""What happens to a cluster, drawn by small numbers: batches, groups of puts and removes, returns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from evenhand.cluster.events import Count, End, Event, Leave, Node, Put, Remove, Resize, Take, Time
from evenhand.testing.living.events import LEAST, Single, running
from evenhand.testing.living.rows import HOLDING, TABLES, Refused, Row, Rows
from evenhand.testing.strategies._picking import Pick

__all__ = ["Happening"]

_WRONG: tuple[Any, ...] = (
    Time(-1e9),
    End("nobody"),
    Leave("nobody"),
    Count("nobody", 1),
    Remove("nodes", "nowhere"),
    Remove("chairs", "a"),
    Put("pools", {"name": "q", "parent": "nowhere"}),
    Put("requests", {"name": "q", "operation": "nobody"}),
    {"event": "start", "row": {"name": "x", "operation": "nobody"}},
    {"event": "resize", "allocation": "nobody", "resources": {"cpu": 1}},
    {"event": "nothing"},
    7,
)


def _in_another_form(event: Any) -> Any:
    """Return an event whose amounts are no plain dict, which few callers have."""
    match event:
        case Take(name, amounts) | Resize(name, amounts):
            return type(event)(name, MappingProxyType(dict(amounts)))
    return event


class Happening(Single):
    """Draws what happens to rows."""

    def batch(self, rows: Rows, pick: Pick) -> list[Any]:
        """Return events for one call of `Cluster.apply`; now and then one of them is wrong."""
        trial = rows.copied()
        events: list[Any] = []
        for _ in range(pick((1, 1, 2, 2, 3, 5))):
            made = self._several(trial, pick)
            for event in made:
                if event is None:
                    continue
                events.append(event)
                try:
                    trial.happen(event)
                except (Refused, KeyError):
                    return events
        if not events:
            events.append(self._time(rows, pick))
        if pick(range(4)) == 3:
            events = [_in_another_form(event) for event in events]
        if pick(range(16)) == 15:
            events.insert(pick(range(len(events) + 1)), pick(_WRONG))
        return events

    def _several(self, rows: Rows, pick: Pick) -> list[Event | None]:
        """Return one event; or somebody who asks; or puts and removes that are right only together."""
        way = pick(range(15))
        if way < 7:
            return [self.event(rows, pick)]
        asks, placed = (self._asks,), (self._moved, self._moved, self._handed, self._again)
        whole = (self._again, self._with_its_rows, self._below_a_new_one, self._row_by_row, self._opened)
        groups = (asks, asks, asks, whole, whole, (self._served, self._kept), placed, placed)
        make = pick(groups[way - 7])
        return list(make(rows, pick))

    def _asks(self, rows: Rows, pick: Pick) -> Iterator[Event]:
        """Put an operation as one that waits in the stock, and what it asks for."""
        waiting = {str(row["operation"]) for row in self._stock["requests"]}
        some = [row for row in self._stock["operations"] if str(row["name"]) in waiting]
        if not some:
            return
        row = pick(some)
        name = self._new_name(rows, "operations", pick)
        yield Put("operations", {**self._pointed(rows, "operations", row, pick), "name": name})
        for request in self._stock["requests"]:
            if str(request["operation"]) == str(row["name"]):
                asked = {**self._pointed(rows, "requests", request, pick), "operation": name}
                yield Put("requests", {**asked, "name": f"{name}{request['name']}"})

    def _again(self, rows: Rows, pick: Pick) -> Iterator[Event]:
        """Remove a row that others refer to, and put it again."""
        table = pick(("pools", "operations", "nodes"))
        if present := rows.all(table):
            row = pick(present)
            yield Remove(table, row["name"])
            if pick((False, True)) and (other := self.row(rows, "requests", pick)) is not None:
                yield Put("requests", other)
            yield Put(table, self._changed(rows, table, row, pick) if pick((False, True)) else row)

    def _moved(self, rows: Rows, pick: Pick) -> Iterator[Event]:
        """Put rows in other places of their orders, without settings, of others, or with another clock."""
        for _ in range(pick((1, 2))):
            table = pick(("operations", "operations", "nodes", "nodes", "requests", "allocations"))
            if present := rows.all(table):
                yield Put(table, self._otherwise(rows, table, pick(present), pick))

    def _handed(self, rows: Rows, pick: Pick) -> Iterator[Event]:
        """Hand a request to another operation, one of several of its own if there is such."""
        owners = [str(row["operation"]) for row in rows.all("requests")]
        several = [row for row in rows.all("requests") if owners.count(str(row["operation"])) > 1]
        if some := several or rows.all("requests"):
            yield Put("requests", {**pick(some), "operation": self._some(rows, "operations", pick)})

    def _otherwise(self, rows: Rows, table: str, row: Row, pick: Pick) -> Row:
        """Return a row in another place of its order, without settings, of another one, or with a clock."""
        match pick(("place", "settings", "owner", "clock")):
            case "settings":
                return {cell: value for cell, value in row.items() if cell != "settings"}
            case "owner" if "operation" in row:
                return {**row, "operation": self._some(rows, "operations", pick)}
            case "clock" if table == "nodes":
                return {**row, "overcommitted_since": rows.now + pick((-60, 0, 5, 60, 600))}
        place = pick((None, 0, 1, 2, 9))
        bare = {cell: value for cell, value in row.items() if cell != "order"}
        return bare if place is None else {**bare, "order": place}

    def returning(self, rows: Rows, known: Sequence[tuple[str, str]], pick: Pick) -> list[Event]:
        """Put rows of which something is remembered in other places, and what refers to them again.

        Nodes may have another clock.
        """
        events: list[Event] = []
        there = [(table, name) for table, name in known if name in rows.tables[table]]
        for table, name in pick.some(there, 2, 1) if there else ():
            field = table.removesuffix("s")
            left = [
                (other, row)
                for other in ("reservations", "requests", "allocations")
                for row in rows.all(other)
                if name in (str(row.get(field)), str(row.get(f"required_{field}")))
            ]
            place: dict[str, Any] = {"order": pick((0, 1, 2, 9))}
            if table == "nodes" and pick(range(2)) == 1:
                place["overcommitted_since"] = rows.now + pick((-60, 5, 600))
            events += [Remove(other, row["name"]) for other, row in left]
            events.append(Put(table, {**rows.find(table, name), **place}))
            events += [Put(other, row) for other, row in reversed(left)]
        return events

    def successors(
        self, rows: Rows, chosen: Sequence[str], pick: Pick
    ) -> tuple[list[Event], list[Event], list[Event]]:
        """Return rows with settings to put, what removes them, and ones without that take their numbers."""
        table = pick(("allocations", "allocations", "allocations", "requests", "operations"))
        settings = [row["settings"] for row in self._stock[table] if row.get("settings")]
        own = rows.tables["allocations"] if table == "allocations" else {}
        victims = [running(own[name]) for name in chosen if name in own]
        names = [f"s{number}" for number in range(pick((1, 3, 4)))]
        put: list[Event] = []
        again: list[Event] = [Time(rows.now + pick((0, 20, 60)))]
        for name in names:
            as_victim = len(victims) > 0 and pick(range(3)) < 2
            first = {**(pick(victims) if as_victim else self._like(rows, table, pick)), "name": name}
            put.append(Put(table, {**first, "settings": pick(settings)} if settings else first))
            again.append(Put(table, {cell: value for cell, value in first.items() if cell != "settings"}))
        if table != "operations" and (nodes := rows.all("nodes")) and pick((True, False)):
            kept = {"name": "of-s", "node": pick(nodes)["name"], table.removesuffix("s"): names[0]}
            put.append(Put("reservations", {**kept, "resources": self._amounts(pick, 1)}))
        return put, [Remove(table, name) for name in names], again

    def kept_twice(self, rows: Rows, request: Any, node: Any) -> list[Event]:
        """Return what keeps room twice for a request on a node, the later name first."""
        kept = {"node": node, "request": request, "resources": {}}
        number = len(rows.tables["reservations"])
        return [Put("reservations", {"name": f"twice{number}{place}", **kept}) for place in (1, 0)]

    def _with_its_rows(self, rows: Rows, pick: Pick) -> Iterator[Event]:
        """Remove an operation or a node first, then what refers to it."""
        table, field = pick((("operations", "operation"), ("nodes", "node")))
        present = rows.all(table)
        if len(present) < LEAST[table]:
            return
        name = pick(present)["name"]
        yield Remove(table, name)
        for other in ("requests", "allocations", "reservations"):
            for row in rows.all(other):
                if str(name) in (str(row.get(field)), str(row.get(f"required_{field}"))):
                    yield Remove(other, row["name"])

    def _served(self, rows: Rows, pick: Pick) -> Iterator[Event]:
        """Remove what an allocation leaves for, or put it; or let one leave for what is yet to come."""
        table, field = pick((("operations", "operation"), ("requests", "request"), ("requests", "request")))
        served = [
            row["beneficiary"] if isinstance(row["beneficiary"], Mapping) else {"request": row["beneficiary"]}
            for row in rows.all("allocations", "preempting")
            if row.get("beneficiary") is not None
        ]
        names = [one[field] for one in served if one.get(field) is not None]
        gone = [name for name in names if str(name) not in rows.tables[table]]
        if not gone and (not names or table == "operations"):
            if (row := self._any(rows, pick, *HOLDING)) is not None:
                name = self._new_name(rows, table, pick)
                yield Leave(row["name"], rows.now + 600, {field: name}, None)
                if pick(range(2)) == 1:
                    yield Put(table, {**self._like(rows, table, pick), "name": name})
            return
        name = pick(gone or names)
        if gone:
            yield Put(table, {**self._like(rows, table, pick), "name": name})
        else:
            yield Remove(table, name)

    def _kept(self, rows: Rows, pick: Pick) -> Iterator[Event]:
        """Keep room for an allocation or a request, of which one may go; or remove the node below."""
        table, field = pick((("allocations", "allocation"), ("requests", "request")))
        numbers = [row["name"] for row in rows.all(table) if isinstance(row["name"], int)]
        name = pick(numbers) if numbers else self._some(rows, table, pick)
        node = self._some(rows, "nodes", pick)
        if name is None or node is None:
            return
        for place in pick(((0,), (1, 0))):
            kept = {"node": node, field: name, "resources": self._amounts(pick, 3)}
            yield Put("reservations", {"name": f"kept{len(rows.tables['reservations'])}{place}", **kept})
        goes = pick(("none", "none", "it", "it", "node"))
        if goes == "it":
            if (pools := rows.all("pools")) and pick(range(2)) == 1:  # what follows is made anew
                yield Put("pools", pick(pools))
            yield Remove(table, pick((name, str(name))))
        elif goes == "node":
            yield from self._kept_on_a_bare_one(rows, {field: name}, pick)

    def _kept_on_a_bare_one(self, rows: Rows, whose: Row, pick: Pick) -> Iterator[Event]:
        """Remove a node to which nothing refers but room that was kept once it had moved."""
        node = {**self._like(rows, "nodes", pick), "name": self._new_name(rows, "nodes", pick)}
        kept = {"name": "on-bare", "node": node["name"], **whose, "resources": {}}
        yield from (Put("nodes", {**node, "order": place}) for place in (1, 2))
        yield Put("reservations", kept)
        yield Remove("nodes", node["name"])

    def _opened(self, rows: Rows, pick: Pick) -> Iterator[Event]:
        """Close a node by an event, or open one by a row that says nothing of it."""
        if present := rows.all("nodes"):
            closed = [row for row in present if not row.get("schedulable", True)]
            if not closed:
                row = pick(present)
                yield Node(row["name"], row.get("capacity"), False)
            else:
                yield Put("nodes", {c: v for c, v in pick(closed).items() if c != "schedulable"})

    def _below_a_new_one(self, rows: Rows, pick: Pick) -> Iterator[Event]:
        """Put a pool and what is in it, in either order."""
        name = self._new_name(rows, "pools", pick)
        pool = Put("pools", {**self._like(rows, "pools", pick), "name": name})
        inner = self.row(rows, "operations", pick) or {"name": "in"}
        below = [Put("operations", {**inner, "pool": name})]
        if pick((False, True)):
            below = [Put("pools", {"name": f"{name}.1", "parent": name})]
        yield from pick(([pool, *below], [*below, pool]))

    def _row_by_row(self, rows: Rows, pick: Pick) -> Iterator[Event]:
        """Put several rows of several tables, pools among them."""
        for _ in range(pick((2, 3, 4))):
            table = pick(TABLES)
            if (row := self.row(rows, table, pick)) is not None:
                yield Put(table, row)
