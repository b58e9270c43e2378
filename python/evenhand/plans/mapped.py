"""A live planner's answers by the rows of the snapshot that its cluster is frozen to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.building.readback import NO_TIME
from evenhand.plans.kept import KeptCore
from evenhand.plans.memory import nothing
from evenhand.quantities import KeptShares

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.model import Snapshot
    from evenhand.systems.record import Column

__all__ = ["frozen_answers"]

#: Tables of rows that columns name.
_REFERENCES: Mapping[str, str] = {
    "allocation": "allocations",
    **dict.fromkeys(("request", "beneficiary_request"), "requests"),
    **dict.fromkeys(("operation", "beneficiary_operation"), "operations"),
    "node": "nodes",
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


def frozen_answers(
    planner: Any,
    freeze: Callable[[], tuple[Snapshot, Mapping[str, NDArray[Any]]]],
    memory: Iterable[Column],
    traced: Callable[[str, int], Mapping[str, Any]],
) -> tuple[Snapshot, KeptCore]:
    """Return the cluster in which a live planner has decided, and all that it says, by that one's rows.

    Parameters
    ----------
    planner : object
        As the core has it; what it has decided is taken back.
    freeze : callable
        Returns a snapshot of the cluster, and by table the live row of each of its rows.
    memory : iterable of Column
        What the system remembers.
    traced : callable
        Returns what a "request" or an "allocation" met, by its live row.
    """
    # Of the state that the decisions have led to.
    decisions, elements, handed = planner.decisions(), planner.elements(), planner.handed()
    counts, refusals, remembered = planner.counts(), planner.refusals(), planner.memory()
    shares, next_due = planner.shares, planner.next_due
    planner.take_back()
    snapshot, live = freeze()
    rows = _Rows(live, snapshot.pool_count)
    columns = {
        "decisions": rows.named(decisions),
        "elements": {
            name: rows.picked(
                "elements", column, -1 if name in _REFERENCES else NO_TIME if name == "since" else 0
            )
            for name, column in rows.named(elements).items()
        },
        "groups": rows.picked("allocations", planner.groups(), 255),
        "counts": counts,
        "refusals": _sorted(rows.named(refusals), "request"),
        "memory": rows.remembered(remembered, {column.name: column for column in memory}),
        "handed": _sorted(rows.named(handed), "allocation"),
    }

    def trace(kind: str, row: int) -> Mapping[str, Any]:
        return rows.recorded(
            traced(kind, int(rows.live["requests" if kind == "request" else "allocations"][row]))
        )

    return snapshot, KeptCore(columns, rows.shares(shares), next_due, trace)


def _sorted(columns: dict[str, NDArray[Any]], by: str) -> dict[str, NDArray[Any]]:
    order = np.argsort(columns[by], kind="stable")
    return {name: np.asarray(column)[order] for name, column in columns.items()}


class _Rows:
    """Rows of a live cluster beside those of a snapshot of it."""

    def __init__(self, live: Mapping[str, NDArray[Any]], pools: int) -> None:
        elements = np.concatenate([np.arange(pools), pools + np.asarray(live["operations"], np.int64)])
        tables = {table: np.asarray(rows, np.int64) for table, rows in live.items()}
        self.live = {**tables, "elements": elements, "queues": np.arange(pools)}
        #: Table to the snapshot's row of each live row; the last, which -1 is, is -1.
        self._places = {}
        for table, of in self.live.items():
            places = self._places[table] = np.full(int(of.max(initial=-1)) + 2, -1, np.int64)
            places[of] = np.arange(len(of))

    def _row(self, table: str, live: Any) -> NDArray[Any]:
        """Return rows of the snapshot; -1 of what has gone."""
        places, live = self._places[table], np.asarray(live)
        found: NDArray[Any] = places[np.where(live < len(places) - 1, live, -1)]
        return found

    def named(self, columns: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Return columns whose references are rows of the snapshot."""
        out = dict(columns)
        for name in out.keys() & _REFERENCES.keys():
            out[name] = self._row(_REFERENCES[name], out[name]).astype(np.asarray(out[name]).dtype)
        return out

    def picked(self, table: str, column: Any, absent: Any) -> NDArray[Any]:
        """Return a column of live rows as one of the snapshot's."""
        column, live = np.asarray(column), self.live[table]
        out = np.full((len(live), *column.shape[1:]), absent, column.dtype)
        known = live < len(column)
        out[known] = column[live[known]]
        return out

    def remembered(
        self, columns: Mapping[str, NDArray[Any]], declared: Mapping[str, Column]
    ) -> dict[str, NDArray[Any]]:
        """Return columns of a memory: one value a row, or as many instants as an element has."""
        out = {
            name: self.picked(declared[name].table, column, nothing(declared[name]))
            for name, column in columns.items()
            if name in declared and f"{name}_of" not in columns
        }
        for name in columns.keys() - out.keys():
            if name.endswith("_of"):  # names, each of a row; those of rows that have gone are left out
                listed = name.removesuffix("_of")
                rows = self._row(declared[listed].table, columns[name]).astype(
                    np.asarray(columns[name]).dtype
                )
                there = np.flatnonzero(rows >= 0)
                names: Any = [columns[listed][row] for row in there.tolist()]
                out |= {listed: names, name: rows[there]}
            if name.endswith("_element"):
                row = self._row("elements", columns[name]).astype(np.asarray(columns[name]).dtype)
                order = np.argsort(row, kind="stable")
                order = order[row[order] >= 0]
                if len(order):
                    times = name.removesuffix("element") + "time"
                    out |= {name: row[order], times: np.asarray(columns[times])[order]}
        return out

    def shares(self, core: Any) -> KeptShares | None:
        """Return shares of the snapshot's elements; None: the planner computes none."""
        if core is None:
            return None
        kept = KeptShares.of(core)
        elements = len(core.column("fair_share"))
        for name, column in kept._columns.items():
            if name.endswith("parts"):
                found = [self.picked("elements", part, 0) if len(part) else part for part in column]
                kept._columns[name] = found
            elif len(column) == elements:
                kept._columns[name] = self.picked("elements", column, 0)
            elif name.endswith("fifo_index"):
                kept._columns[name] = self.picked("operations", column, -1)
        return kept

    def recorded(self, found: Mapping[str, Any]) -> dict[str, Any]:
        """Return what one met, and what was compared, by rows of the snapshot."""
        facts = [
            {
                **one,
                **{
                    kind: {name: self._row(table, live) for name, live in one[kind].items()}
                    for kind, table in _RECORDED.items()
                },
            }
            for one in found["facts"]
        ]
        return {**self.named(found), "facts": facts}
