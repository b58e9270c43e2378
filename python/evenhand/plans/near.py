"""Decisions of a live cluster by name, before anything is frozen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from evenhand.building.readback import seconds
from evenhand.frozen import thaw
from evenhand.plans.columns import Name, objects
from evenhand.plans.decisions import Decision, Decisions, asked_cells
from evenhand.plans.handed import taken_in_all

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.model import Snapshot

__all__ = ["NAMED", "LiveDecisions", "Near", "Rows"]

#: Columns of decisions by the table whose rows they name.
NAMED: Mapping[str, tuple[str, ...]] = {
    "allocations": ("allocation",),
    "requests": ("request", "beneficiary_request"),
    "operations": ("operation", "beneficiary_operation"),
    "nodes": ("node",),
}


class Rows(Protocol):
    """Rows of a live cluster."""

    base: Snapshot

    def settings_of(self, slot: int) -> Mapping[str, Any]:
        """Return the settings of an allocation."""

    def name(self, table: str, row: int) -> Name:
        """Return the name of a row."""


class Near:
    """What decisions refer to, by name; it stands in the place of a snapshot."""

    def __init__(self, rows: Rows, planner: Any, named: Any, now: int) -> None:
        self._base, self._named, self._at = rows.base, named, now
        self.taken: dict[Name, dict[str, Any]] = {}
        if named.hands_over:
            handed = planner.handed()
            self._settings = {row: rows.settings_of(row) for row in handed["allocation"].tolist()}
            self.taken = {
                rows.name("allocations", row): amounts
                for row, amounts in taken_in_all(self, handed).items()  # type: ignore[arg-type]
            }

    @property
    def now(self) -> float:
        """As of a snapshot."""
        return float(seconds(np.array([self._at]))[0])

    @property
    def repairs(self) -> bool:
        """Whether a violated limit is repaired: what was compared there is not known here."""
        return bool(self._named.repairs)

    @property
    def resources(self) -> Sequence[str]:
        """As of a snapshot."""
        return self._base.resources

    @property
    def quantum(self) -> Mapping[str, float]:
        """As of a snapshot."""
        return self._base.quantum

    @property
    def _head(self) -> Mapping[str, Any]:
        return self._base._head

    @cached_property
    def decisions(self) -> Decisions:
        """The decisions, by rows of this."""
        return Decisions(self, self._named.columns())  # type: ignore[arg-type]  # all that it asks a snapshot for

    @cached_property
    def asked(self) -> list[dict[str, Any] | None]:
        """As `Decisions.asked`."""
        return [
            None if cells is None else asked_cells(objects(self, cells[0][None, :])[0], *cells[1:])  # type: ignore[arg-type]
            for cells in self._named.asked()
        ]

    def names(self, table: str) -> Sequence[Name]:
        """Return the names of a table's rows that decisions refer to."""
        return self._named_by[table]

    @cached_property
    def _named_by(self) -> Mapping[str, Sequence[Name]]:
        return {table: self._named.names(table) for table in NAMED}

    def settings(self, _: str) -> Mapping[int, Mapping[str, Any]]:
        """Return the settings of allocations of which room was taken, by live row."""
        return self._settings


class LiveDecisions(Decisions):
    """Decisions of a live cluster: what they say costs O(decisions), their columns a snapshot."""

    __slots__ = ("_chosen", "_entire", "_near")

    _chosen: NDArray[Any] | None
    _entire: Callable[[], Decisions]
    _near: Near | None

    def __init__(
        self, near: Near | None, entire: Callable[[], Decisions], chosen: NDArray[Any] | None = None
    ) -> None:
        self._keep(_near=near, _entire=entire, _chosen=chosen)

    @property
    def _frozen(self) -> Decisions:
        entire = self._entire()
        return entire if self._chosen is None else entire.take(self._chosen)

    @property
    def _said(self) -> Decisions | None:
        """The decisions by rows of `Near`; None: there are none."""
        near = self._near
        if near is None:
            return None
        return near.decisions if self._chosen is None else near.decisions.take(self._chosen)

    _snapshot = property(lambda self: self._frozen._snapshot)
    _columns = property(lambda self: self._frozen._columns)
    _repairs = property(lambda self: self._frozen._repairs)

    def __reduce__(self) -> tuple[Any, ...]:
        return Decisions, (self._snapshot, dict(self._columns), thaw(self._repairs))

    def __len__(self) -> int:
        return 0 if self._near is None else len(self._said or ())

    def __iter__(self) -> Iterator[Decision]:
        return iter(self._said or ())

    def take(self, rows: NDArray[Any]) -> Self:
        """Return some of the decisions."""
        rows = self._rows(rows)
        chosen = rows if self._chosen is None else self._chosen[rows]
        return type(self)(self._near, self._entire, chosen)

    def asked(self) -> list[dict[str, Any] | None]:
        """Return by decision what a start asks for, as cells of the row of its allocation; else None."""
        near = self._near
        if near is None:
            return []
        return near.asked if self._chosen is None else [near.asked[row] for row in self._chosen.tolist()]

    def to_list(self) -> list[dict[str, Any]]:
        """Return one plain object a decision, as the plan's JSON has them."""
        return [] if self._said is None else self._said.to_list()

    def _cells(self, name: str) -> NDArray[Any]:
        said = self._said
        return np.zeros(0, np.uint8) if said is None else said._columns[name]

    def _plain(self) -> dict[str, list[Any]]:
        return self._frozen._plain() if self._said is None else self._said._plain()

    def _objects(self) -> list[Decision]:
        return [] if self._said is None else self._said._objects()
