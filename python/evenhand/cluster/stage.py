"""The rows of one snapshot as they change: in the core, beside the settings of rows that came or changed."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand import _core
from evenhand.building.assemble import Built
from evenhand.building.readback import derived_total
from evenhand.building.settings import labels_of, one_labels, one_settings
from evenhand.plans.columns import rows_by_name

if TYPE_CHECKING:
    from evenhand.model import Snapshot

__all__ = ["Stage"]

_OF_SNAPSHOT = -1  # note of a row whose settings are those of the snapshot
_NONE = -2


class _Names:
    """The names of a table's rows as they are now."""

    __slots__ = ("_stage", "_table")

    def __init__(self, stage: Stage, table: str) -> None:
        self._stage, self._table = stage, table

    def __contains__(self, name: object) -> bool:
        return self._stage.find(self._table, name) >= 0


class Stage:
    """A snapshot and what has changed since: rows and journal are the core's."""

    def __init__(self, base: Snapshot, total_stated: bool | None = None) -> None:
        self.base = base
        self.core = _core.ClusterState(base._core)
        if total_stated is None:
            total_stated = not np.array_equal(base._core.total, derived_total(base._core))
        self.total_stated = total_stated
        self.notes: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self.changed = False
        self.came: list[tuple[str, Any]] = []
        settings = base._settings.get("allocations", {})
        self.room_was_taken = any("room_taken" in own for own in settings.values())
        self.first_gone = 0
        self.went: list[str] = []

    def mark(self) -> tuple[int, int, bool]:
        """Return where the journal stands."""
        return self.core.mark(), len(self.notes), self.changed

    def undo(self, mark: tuple[int, int, bool]) -> None:
        """Go back to a mark."""
        self.core.undo(mark[0])
        del self.notes[mark[1] :]
        self.changed = mark[2]

    def happened_since(self, mark: tuple[int, int, bool]) -> bool:
        """Return whether anything has happened since a mark."""
        return bool(self.core.mark() != mark[0])

    def forget(self) -> None:
        """Drop the journal; numbers of rows that have gone are free."""
        self.core.reclaim()

    def gone_requests(self) -> list[str]:
        """Return names of requests that went in the events of now, be it that they have come back."""
        return self.went + self.core.gone_requests(self.first_gone)

    def named(self, table: str) -> Container[str]:
        """Return what tells whether a table has a row of a name."""
        return _Names(self, table)

    def reserved_for(self, request: Any) -> list[tuple[str | int, str | int | None]]:
        """Return the reservations for a request in canonical order, each by its name and its node's."""
        row = self.find("requests", request)
        return [] if row < 0 else self.core.reserved_for(row)

    def find(self, table: str, name: Any) -> int:
        """Return the row of a name; -1: there is none."""
        if table == "pools":
            return rows_by_name(self.base, "pools").get(str(name), -1)
        text = str(name)
        try:
            text.encode()
        except UnicodeEncodeError:  # half a character: no row has it
            return -1
        return self.core.find(table, text)

    def noted(self, settings: dict[str, Any] | None, labels: dict[str, Any] | None) -> int:
        """Return the number of a row's settings and labels."""
        if not settings and not labels:
            return _NONE
        self.notes.append((settings or {}, labels or {}))
        return len(self.notes) - 1

    def in_order(self, table: str, rows: Sequence[int]) -> list[int]:
        """Return those of some rows that are there, in canonical order."""
        there: list[int] = self.core.in_order(table, rows)
        return there

    def settings_by_row(self, rows: Iterable[tuple[str, Any]]) -> dict[str, dict[int, Mapping[str, Any]]]:
        """Return by table and row the settings of rows by name, as far as they are there."""
        found: dict[str, dict[int, Mapping[str, Any]]] = {}
        for table, name in rows:
            of_table = found.setdefault(table, {})
            if (row := self.find(table, name)) >= 0:
                of_table[row] = self._beside(table, row, self.core.note_of(table, row), 0)
        return found

    def name(self, table: str, row: int) -> str | int:
        """Return the name of a row."""
        name: str | int = self.core.name(table, row)
        return name

    def settings_of(self, slot: int) -> dict[str, Any]:
        """Return the settings of an allocation."""
        return self._beside("allocations", slot, self.core.note(slot), 0)

    def noted_cells(self, settings: Any, labels: Any) -> int:
        """Return the number of settings and labels that are not checked yet; None: there are none."""
        own = None if settings is None else one_settings(settings)
        return self.noted(own, None if labels is None else one_labels(labels))

    def take(self, slot: int, taken: Mapping[str, Any] | None) -> None:
        """Note the room of an allocation that has been taken; None: it is none of what leaves."""
        note = self.core.note(slot)
        before = self._beside("allocations", slot, note, 0)
        if taken is None and "room_taken" not in before:
            return
        settings = {name: value for name, value in before.items() if name != "room_taken"}
        if taken is not None:
            settings["room_taken"] = dict(taken)
        self.core.set_note(slot, self.noted(settings, self._beside("allocations", slot, note, 1)))

    def _beside(self, table: str, row: int, note: int, which: int) -> dict[str, Any]:
        """Return the settings (0) or the labels (1) of a row."""
        if note == _OF_SNAPSHOT:
            return self.base._settings.get(labels_of(table) if which else table, {}).get(row, {})
        return {} if note == _NONE else self.notes[note][which]

    def freeze(self) -> Snapshot:
        """Return a snapshot of the rows as they are; O(cells), by columns."""
        return self.freeze_with_rows()[0] if self.changed else self.base

    def freeze_with_rows(self) -> tuple[Snapshot, dict[str, Any]]:
        """Return a snapshot, and by table the row here of each of its rows; O(cells), by columns."""
        core, sources = self.core.frozen(self.total_stated)
        beside = {key: self.base._settings.get(key, {}) for key in ("pools", labels_of("pools"))}
        for table, (rows, notes) in sources.items():
            for which, key in enumerate((table, labels_of(table))):
                old = np.fromiter(self.base._settings.get(key, ()), np.int64)
                places = np.flatnonzero((notes >= 0) | ((notes == _OF_SNAPSHOT) & np.isin(rows, old)))
                beside[key] = {
                    place: own
                    for place in places.tolist()
                    if (own := self._beside(table, int(rows[place]), int(notes[place]), which))
                }
        settings = {key: by_row for key, by_row in sorted(beside.items()) if by_row}
        snapshot = self.base._of(Built(core, settings, self.base._commands), self.base._head)
        return snapshot, {table: rows for table, (rows, _) in sources.items()}
