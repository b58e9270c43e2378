"""What the policy of a run remembers at an instant, by name: the state that a plan begins with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.model import Snapshot
    from evenhand.plans.columns import Name
    from evenhand.plans.memory import LiveRows
    from evenhand.state import State

__all__ = ["remembered"]


class _Rows:
    """Rows of a run's core by the names that they have in a snapshot of it."""

    core: Any = None
    total_stated = True

    def __init__(self, base: Snapshot, now: Snapshot, here: Mapping[str, NDArray[Any]]) -> None:
        self.base, self._now, self._here = base, now, here

    @cached_property
    def _names(self) -> dict[str, dict[int, Name]]:
        return {
            table: dict(zip(rows.tolist(), self._now.names(table), strict=True))
            for table, rows in self._here.items()
        }

    def name(self, table: str, row: int) -> Name:
        """Return the name of a row."""
        if table == "nodes" and table not in self._names:
            return self.base.names("nodes")[row]
        return self._names[table][row]

    def in_order(self, table: str, rows: Sequence[int]) -> list[int]:
        """Return those of some rows that are there, as the snapshot has them."""
        if table == "nodes" and table not in self._names:
            return sorted(rows)
        wanted = frozenset(rows)
        return [row for row in self._names[table] if row in wanted]

    def settings_by_row(self, rows: Iterable[tuple[str, Any]]) -> dict[str, dict[int, Mapping[str, Any]]]:
        """Return no settings: nothing comes."""
        del rows
        return {}

    def freeze(self) -> Snapshot:
        """Return the snapshot."""
        return self._now


def remembered(
    policy: Any, planner: Any, base: Snapshot, now: Snapshot, here: Mapping[str, NDArray[Any]]
) -> State | None:
    """Return what a run's planner remembers; None: it has not been asked yet."""
    if planner.updated is None:
        return None
    rows: LiveRows = _Rows(base, now, here)
    state: State = policy.remembered(planner, rows, round(now.now * 1e6))
    return state
