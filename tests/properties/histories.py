"""Drawn histories of a live cluster: any event, and put and remove of every table, in batches."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import strategies as st

from evenhand.cluster.events import Event, Put, Remove, Resume, Suspend, Take
from tests.properties.living import Rows

__all__ = ["History", "histories"]

TABLES = ("requests", "nodes", "pools", "operations", "allocations", "reservations")
NAMES = 3  # of new rows in a table: the same name is put again and again


def _batches(drawn: bytes) -> list[list[bytes]]:
    """Return five bytes an event, in batches of one to four."""
    codes = [drawn[i : i + 5] for i in range(0, len(drawn) - 4, 5)]
    batches: list[list[bytes]] = []
    for code in codes:
        if not batches or len(batches[-1]) > (batches[-1][0][4] >> 5) % 4:
            batches.append([])
        batches[-1].append(code)
    return batches


# Of stated length: else most are short.
histories = st.integers(1, 40).flatmap(lambda n: st.binary(min_size=5 * n, max_size=5 * n)).map(_batches)


class History(Rows):
    """Rows that are edited by hand, and events that are drawn for them; an event may be wrong."""

    def copied(self) -> History:
        other = History(self.data)
        other.started = self.started
        return other

    def event(self, code: bytes) -> Event | None:
        if code[0] < 110:
            empty = not self.table("nodes") or not self.table("operations")
            return None if empty and code[0] % 11 in (1, 2, 8, 9) else super().event(code)
        kind, which, a, b, c = code
        if kind < 140:
            return self.standing(kind, which, a, c)
        table = TABLES[which % len(TABLES)]
        present = self.table(table)
        if kind < 190 and present:
            return Remove(table, present[a % len(present)]["name"])
        return Put(table, self.put(table, a, b, c))

    def standing(self, kind: int, which: int, a: int, c: int) -> Event | None:
        """Suspend something, let it run again, or let some of its room be taken."""
        present = self.table("allocations")
        leaves = [row for row in present if row.get("state") == "preempting"]
        if kind > 130 and leaves:
            row = leaves[which % len(leaves)]
            return Take(row["name"], {r: amount // 2 for r, amount in row.get("resources", {}).items()})
        away = [row for row in present if row.get("state") == "preempted"]
        if kind % 2 and away:
            nodes = self.table("nodes")
            node = nodes[a % len(nodes)]["name"] if nodes and c % 2 else None
            return Resume(away[which % len(away)]["name"], node, self.data["now"] - a if c % 3 else None)
        there = [row for row in present if row.get("state") != "preempted"]
        if not there:
            return None
        row = there[which % len(there)]
        some = {r: amount // 2 if a % 2 else amount for r, amount in row.get("resources", {}).items()}
        return Suspend(row["name"], some if c % 3 else None)

    def put(self, table: str, a: int, b: int, c: int) -> dict[str, Any]:
        """Return a row that is new, or an old one with other cells."""
        present = self.table(table)
        fresh = not present or a % 3 == 0
        row: dict[str, Any] = {} if not present else copy.deepcopy(present[a % len(present)])
        if fresh:
            row["name"] = f"{table[:3]}{b % NAMES}"

        def some(of: str) -> Any:
            rows = self.table(of)
            return rows[c % len(rows)]["name"] if rows else "nowhere"

        if table in ("requests", "allocations"):
            row["operation"] = some("operations")
            row["resources"] = {next(iter(self.data["resources"])): b % 5}
        match table:
            case "requests":
                row["count"] = b % 3
            case "nodes":
                row["capacity"] = {next(iter(self.data["resources"])): b % 9}
                row.pop("physical", None)
            case "pools":
                row |= {"parent": some("pools") if c % 3 else None, "weight": 1 + b % 3}
                if row["parent"] == "nowhere":
                    row["parent"] = None
            case "operations" if not present:
                row = {"name": "ope0"}
            case "operations" if b % 16 == 0:
                row["demand"] = {next(iter(self.data["resources"])): 99999}
            case "allocations":
                row.pop("held", None)
                row |= {"state": ("running", "suspended", "preempting", "preempted")[b % 4]}
                if c % 4:
                    row["node"] = some("nodes")
            case "reservations":
                row = {"name": row["name"], "node": some("nodes"), "resources": {}}
                field = ("request", "allocation")[a % 2]
                row[field] = some(f"{field}s")
        if c % 5 == 0 and table != "pools":
            row["labels"] = {"team": f"t{a % 3}", "floor": b}
        if c % 7 == 0 and table != "reservations":
            row["order"] = a % 4
        return row

    def happens(self, event: Event) -> None:
        match event:
            case Suspend(name, held):
                row = self.named("allocations", name)
                row["state"] = "preempted"
                if held is not None:
                    row["held"] = dict(held)
            case Resume(name, node, started):
                row = self.named("allocations", name)
                for cell in ("state", "held", "deadline", "beneficiary", "last_job_start_time"):
                    row.pop(cell, None)
                row.get("settings", {}).pop("room_taken", None)
                row["start_time"] = self.data["now"] if started is None else started
                if node is not None:
                    row["node"] = node
            case Put(table, row):
                self.data[table] = [r for r in self.table(table) if str(r["name"]) != str(row["name"])]
                self.table(table).append(copy.deepcopy(dict(row)))
            case Remove(table, name):
                self.table(table).remove(self.named(table, name))
                if table in ("requests", "allocations"):
                    self.drop_reservations(table[:-1], name)
            case _:
                gone = self.names("requests"), self.names("allocations")
                super().happens(event)
                for field, before in zip(("request", "allocation"), gone, strict=True):
                    for name in before - self.names(f"{field}s"):
                        self.drop_reservations(field, name)

    def names(self, table: str) -> set[Any]:
        return {row["name"] for row in self.table(table)}

    def drop_reservations(self, field: str, name: Any) -> None:
        self.data["reservations"] = [
            row for row in self.table("reservations") if row.get(field) is None or row[field] != name
        ]
