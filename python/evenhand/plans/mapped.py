"""A live planner's answers by the rows of the snapshot that its cluster is frozen to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.building.readback import NO_TIME
from evenhand.plans.memory import nothing
from evenhand.plans.near import NAMED
from evenhand.quantities import KeptShares

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.systems.record import Column

__all__ = ["MappedCore", "answers"]

_REFERENCES: Mapping[str, str] = {
    **{field: table for table, fields in NAMED.items() for field in fields},
    **dict.fromkeys(("violated", "lowest_starving_ancestor", "lowest_aggressive_ancestor"), "elements"),
}
#: Tables of what a recorder names, by kind.
_RECORDED: Mapping[str, str] = {
    **{table: table for table in ("operations", "requests", "allocations", "nodes")},
    "pools": "queues",
    "hosts": "nodes",
    "slots": "allocations",
    "jobs": "operations",
}


def answers(planner: Any) -> dict[str, Any]:
    """Return what a planner says of its last decisions, by live rows; before they are taken back."""
    said = {
        name: getattr(planner, name)()
        for name in ("decisions", "elements", "counts", "refusals", "memory", "handed")
    }
    return {**said, "next_due": planner.next_due, "shares": planner.shares}


class MappedCore:
    """All that `evenhand.plans.columns.CorePlan` reports, of a planner of a live cluster."""

    def __init__(
        self,
        said: Mapping[str, Any],
        rows: Mapping[str, NDArray[Any]],
        pools: int,
        memory: Mapping[str, Column],
        trace: Callable[[str, int], Mapping[str, NDArray[Any]]],
    ) -> None:
        elements = np.concatenate([np.arange(pools), pools + np.asarray(rows["operations"], np.int64)])
        self._live = {
            **{table: np.asarray(of, np.int64) for table, of in rows.items()},
            "elements": elements,
            "queues": np.arange(pools),
        }
        self._trace = trace
        self.next_due = said["next_due"]
        self._decisions = self._named(said["decisions"])
        self._elements = self._by_row("elements", self._named(said["elements"]))
        self._groups = self._picked("allocations", said["groups"], 255)
        self._counts = said["counts"]
        self._refusals = self._sorted(self._named(said["refusals"]), "request")
        self._memory = self._remembered(said["memory"], memory)
        self._handed = self._sorted(self._named(said["handed"]), "allocation")
        self.shares = self._shares(said["shares"])

    @cached_property
    def _places(self) -> Mapping[str, NDArray[Any]]:
        """Table to the snapshot's row of each live row; the last, which -1 is, is -1."""
        out = {}
        for table, live in self._live.items():
            places = np.full(int(live.max(initial=-1)) + 2, -1, np.int64)
            places[live] = np.arange(len(live))
            out[table] = places
        return out

    def _named(self, columns: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Return columns whose references are rows of the snapshot."""
        out = dict(columns)
        for name in out.keys() & _REFERENCES.keys():
            places, rows = self._places[_REFERENCES[name]], np.asarray(out[name])
            out[name] = places[np.where(rows < len(places) - 1, rows, -1)].astype(rows.dtype)
        return out

    def _remembered(
        self, columns: Mapping[str, NDArray[Any]], declared: Mapping[str, Column]
    ) -> dict[str, NDArray[Any]]:
        """Return columns of a memory: one value a row, or as many instants as an element has."""
        out = {
            name: self._picked(declared[name].table, column, nothing(declared[name]))
            for name, column in columns.items()
            if name in declared and f"{name}_of" not in columns
        }
        for name in columns.keys() - out.keys():
            if name.endswith("_of"):
                out |= self._listed(columns, declared, name.removesuffix("_of"))
            if not name.endswith("_element"):
                continue
            places, live = self._places["elements"], np.asarray(columns[name])
            row = places[np.where(live < len(places) - 1, live, -1)].astype(live.dtype)
            order = np.argsort(row, kind="stable")
            order = order[row[order] >= 0]
            if len(order):
                times = name.removesuffix("element") + "time"
                out |= {name: row[order], times: np.asarray(columns[times])[order]}
        return out

    def _listed(
        self, columns: Mapping[str, NDArray[Any]], declared: Mapping[str, Column], name: str
    ) -> dict[str, Any]:
        """Return names, each of a row, without those of rows that have gone."""
        places, live = self._places[declared[name].table], np.asarray(columns[f"{name}_of"])
        rows = places[np.where(live < len(places) - 1, live, -1)].astype(live.dtype)
        there = np.flatnonzero(rows >= 0).tolist()
        return {name: [columns[name][row] for row in there], f"{name}_of": rows[there]}

    def _sorted(self, columns: dict[str, NDArray[Any]], by: str) -> dict[str, NDArray[Any]]:
        order = np.argsort(columns[by], kind="stable")
        return {name: np.asarray(column)[order] for name, column in columns.items()}

    def _by_row(self, table: str, columns: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        return {
            name: self._picked(
                table, column, -1 if name in _REFERENCES else NO_TIME if name == "since" else 0
            )
            for name, column in columns.items()
        }

    def _picked(self, table: str, column: Any, absent: Any) -> NDArray[Any]:
        """Return a column of live rows as one of the snapshot's."""
        column, live = np.asarray(column), self._live[table]
        out = np.full((len(live), *column.shape[1:]), absent, column.dtype)
        known = live < len(column)
        out[known] = column[live[known]]
        return out

    def _shares(self, core: Any) -> KeptShares | None:
        if core is None:
            return None
        kept = KeptShares.of(core)
        elements = len(core.column("fair_share"))
        for name, column in kept._columns.items():
            if name.endswith("parts"):
                found = [self._picked("elements", part, 0) if len(part) else part for part in column]
                kept._columns[name] = found
            elif len(column) == elements:
                kept._columns[name] = self._picked("elements", column, 0)
            elif name.endswith("fifo_index"):
                kept._columns[name] = self._picked("operations", column, -1)
        return kept

    def decisions(self) -> Mapping[str, NDArray[Any]]:
        """Return one row a decision, in the order in which they are to be carried out."""
        return self._decisions

    def elements(self) -> Mapping[str, NDArray[Any]]:
        """Return one row an element."""
        return self._elements

    def groups(self) -> NDArray[Any]:
        """Return the group of every allocation; 255 is none."""
        return self._groups

    def counts(self) -> Mapping[str, int]:
        """Return how often what came of a try."""
        counts: Mapping[str, int] = self._counts
        return counts

    def refusals(self) -> Mapping[str, NDArray[Any]]:
        """Return one row a request that did not start."""
        return self._refusals

    def memory(self) -> Mapping[str, NDArray[Any]]:
        """Return the clocks that the next plan starts from."""
        return self._memory

    def handed(self) -> Mapping[str, NDArray[Any]]:
        """Return room of leaving allocations that was taken."""
        return self._handed

    def trace(self, kind: str, row: int) -> Mapping[str, NDArray[Any]]:
        """Decide again with a recorder: all that was looked at for one allocation or request."""
        table = "requests" if kind == "request" else "allocations"
        found: dict[str, Any] = dict(self._named(self._trace(kind, int(self._live[table][row]))))
        found["facts"] = [self._facts(one) for one in found["facts"]]
        return found

    def _facts(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Return what was compared, by rows of the snapshot."""
        out = dict(facts)
        for kind, table in _RECORDED.items():
            places = self._places[table]

            def row(live: Any, places: NDArray[Any] = places) -> Any:
                live = np.asarray(live)
                return places[np.where(live < len(places) - 1, live, -1)]

            out[kind] = {name: row(live) for name, live in facts[kind].items()}
        return out
