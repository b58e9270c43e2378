"""Statuses of elements and groups of allocations, by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.arguments import looked_up, row_number
from evenhand.frozen import Frozen, FrozenDict, read_only, same_columns
from evenhand.plans.columns import Name, amounts_of, element_keys, seconds_of
from evenhand.reasons import GROUPS, PRIORITIES, STARVATION, STATUSES
from evenhand.table import Table, Tabular

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.model import Snapshot

__all__ = ["Groups", "Status", "Statuses"]


@dataclass(frozen=True, slots=True)
class Status:
    """How an element stands to its fair share at the plan's update.

    Attributes
    ----------
    status : str
        ``"normal"`` or ``"below_fair_share"``.
    starvation : str
        ``"non_starving"``, ``"starving"`` or ``"aggressively_starving"``.
    since : float or None
        Since when it has been below, in the snapshot's seconds.
    satisfaction : float
        Usage over fair share; of a pool the smallest among what it holds. 1e9 is as good as infinite.
    tolerance : float
        Part of the fair share below which it counts as below.
    timeout : float or None
        Seconds below after which it starves.
    aggressive_starvation, aggressive_preemption : bool
        Whether it may starve aggressively, and whether aggressive preemption may touch what it runs.
    lowest_starving_ancestor, lowest_aggressive_ancestor : str, int or None
        The lowest element from it upwards, itself included, that starves (aggressively).
    priority : str
        On whose strength an operation may preempt: ``"none"``, ``"normal"`` or ``"aggressive"``.
    usage_threshold : mapping
        Usage below which its work is protected, by resource; resources that are not named do not matter.
    """

    status: str
    starvation: str
    since: float | None
    satisfaction: float
    tolerance: float
    timeout: float | None
    aggressive_starvation: bool
    aggressive_preemption: bool
    lowest_starving_ancestor: Name | None
    lowest_aggressive_ancestor: Name | None
    priority: str
    usage_threshold: Mapping[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the status, starvation and start of the deficit as plain values."""
        return {"status": self.status, "starvation": self.starvation, "since": self.since}


class Statuses(Frozen, Tabular, Mapping[str | int, Status]):
    """Status by name of pool or operation; an operation that has a pool's name is ``"<name> (operation)"``.

    Parameters
    ----------
    snapshot : Snapshot
    columns : mapping
        As the core gives them, one row an element.
    """

    __slots__ = ("_columns", "_keys", "_row_of", "_snapshot")

    _snapshot: Snapshot
    _columns: Mapping[str, NDArray[Any]]
    _keys: list[str]
    _row_of: dict[str, int]

    def __init__(self, snapshot: Snapshot, columns: Mapping[str, NDArray[Any]]) -> None:
        keys = element_keys(snapshot) if columns else []
        self._keep(
            _snapshot=snapshot,
            _columns=FrozenDict({name: read_only(values) for name, values in columns.items()}),
            _keys=keys,
            _row_of={key: row for row, key in enumerate(keys)},
        )

    def __eq__(self, other: object) -> bool:
        """Whether they say the same of equal snapshots."""
        if not isinstance(other, Statuses):
            return NotImplemented
        return self._snapshot == other._snapshot and same_columns(self._columns, other._columns)

    def __hash__(self) -> int:
        return hash((self._snapshot, len(self)))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._snapshot, dict(self._columns))

    def __getitem__(self, name: str | int) -> Status:
        return self.at(looked_up(self._row_of, str(name), "element"))

    def __iter__(self) -> Iterator[str | int]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, name: object) -> bool:
        return str(name) in self._row_of

    @property
    def snapshot(self) -> Snapshot:
        """What the statuses are of."""
        return self._snapshot

    def at(self, row: int) -> Status:
        """Return the status of an element by its row.

        Parameters
        ----------
        row : int
            Pools first, the root being 0, then operations.

        Returns
        -------
        Status
        """
        c, row = self._columns, row_number(row, len(self), "elements")

        def ancestor(column: str) -> Name | None:
            above = int(c[column][row])
            return None if above < 0 else self._keys[above]

        (since,) = seconds_of(c["since"][row : row + 1])
        (timeout,) = seconds_of(c["timeout"][row : row + 1])
        return Status(
            STATUSES[c["status"][row]],
            STARVATION[c["starvation"][row]],
            since,
            float(c["satisfaction"][row]),
            float(c["tolerance"][row]),
            timeout,
            bool(c["aggressive_starvation"][row]),
            bool(c["aggressive_preemption"][row]),
            ancestor("lowest_starving_ancestor"),
            ancestor("lowest_aggressive_ancestor"),
            PRIORITIES[c["priority"][row]],
            self._usage_threshold(row),
        )

    def _usage_threshold(self, row: int) -> dict[str, float]:
        quanta = self._columns.get("usage_threshold")
        if quanta is None:
            return {}
        named = np.flatnonzero(quanta[row] >= 0).tolist()
        values = amounts_of(self._snapshot, quanta[row][None, :])[0].tolist()
        return {self._snapshot.resources[r]: values[r] for r in named}

    def column(self, name: str) -> NDArray[Any]:
        """Return one of the core's columns, one row an element.

        Parameters
        ----------
        name : str
            See `evenhand.plans.columns.CorePlan`.

        Returns
        -------
        numpy.ndarray
        """
        values: NDArray[Any] = looked_up(self._columns, name, "column")
        return values

    def counts(self) -> dict[str, dict[str, int]]:
        """Return how many pools (but the root) and operations are in each state of starvation, and below."""
        pools = self._snapshot.pool_count
        result = {}
        for kind, rows in (("pool", slice(1, pools)), ("operation", slice(pools, None))):
            starvation = np.bincount(self._columns["starvation"][rows], minlength=len(STARVATION))
            below = int((self._columns["status"][rows] == STATUSES.index("below_fair_share")).sum())
            result[kind] = {
                "all": len(self._columns["status"][rows]),
                "below_fair_share": below,
                **dict(zip(STARVATION, starvation.tolist(), strict=True)),
            }
        return result

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Return one plain object an element, as the plan's JSON has them."""
        if not self._keys:
            return {}
        c = self._columns
        if not c:
            return {}
        rows = zip(
            self._keys,
            c["status"].tolist(),
            c["starvation"].tolist(),
            seconds_of(c["since"]),
            strict=True,
        )
        return {
            key: {"status": STATUSES[status], "starvation": STARVATION[starvation], "since": since}
            for key, status, starvation, since in rows
        }

    def table(self) -> Table:
        """Return one row an element, columns as the attributes of `Status`."""
        c, snapshot = self._columns, self._snapshot
        names = snapshot.element_names
        columns: dict[str, Any] = {
            "name": names,
            "kind": ["pool"] * snapshot.pool_count + ["operation"] * snapshot.operation_count,
            "status": [STATUSES[i] for i in c["status"].tolist()],
            "starvation": [STARVATION[i] for i in c["starvation"].tolist()],
            "since": seconds_of(c["since"]),
            "satisfaction": c["satisfaction"],
            "tolerance": c["tolerance"],
            "timeout": seconds_of(c["timeout"]),
            "aggressive_starvation": c["aggressive_starvation"].astype(np.bool_),
            "aggressive_preemption": c["aggressive_preemption"].astype(np.bool_),
        }
        for column in ("lowest_starving_ancestor", "lowest_aggressive_ancestor"):
            columns[column] = [None if row < 0 else self._keys[row] for row in c[column].tolist()]
        columns["priority"] = [PRIORITIES[i] for i in c["priority"].tolist()]
        return Table(columns, title="statuses")

    def __repr__(self) -> str:
        from evenhand.display.plans import statuses_text

        return statuses_text(self)

    def _repr_html_(self) -> str:
        from evenhand.display.plans import statuses_html

        return statuses_html(self)


class Groups(Frozen, Tabular, Mapping[str | int, str]):
    """Group by name of allocation; those that are in none (leaving, suspended) are left out.

    Parameters
    ----------
    snapshot : Snapshot
    codes : array of int
        One an allocation, in canonical order.
    """

    __slots__ = ("_codes", "_row_of", "_snapshot")

    _snapshot: Snapshot
    _codes: NDArray[Any]
    _row_of: dict[str, int] | None

    def __init__(self, snapshot: Snapshot, codes: NDArray[Any]) -> None:
        self._keep(_snapshot=snapshot, _codes=read_only(codes), _row_of=None)

    def __eq__(self, other: object) -> bool:
        """Whether they say the same of equal snapshots."""
        if not isinstance(other, Groups):
            return NotImplemented
        return self._snapshot == other._snapshot and np.array_equal(self._codes, other._codes)

    def __hash__(self) -> int:
        return hash((self._snapshot, len(self)))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._snapshot, self._codes)

    @property
    def codes(self) -> NDArray[Any]:
        """One code an allocation in canonical order: its place in `evenhand.reasons.GROUPS`, 255 for none."""
        return self._codes

    def _rows(self) -> dict[str, int]:
        if self._row_of is None:
            names = self._snapshot.names("allocations")
            grouped = np.flatnonzero(self._codes < len(GROUPS)).tolist()
            self._keep(_row_of={str(names[row]): row for row in grouped})
        return self._row_of or {}

    def __getitem__(self, name: str | int) -> str:
        return GROUPS[self._codes[looked_up(self._rows(), str(name), "allocation in a group")]]

    def __iter__(self) -> Iterator[str | int]:
        return iter(self._rows())

    def __len__(self) -> int:
        return int((self._codes < len(GROUPS)).sum())

    def __contains__(self, name: object) -> bool:
        return str(name) in self._rows()

    def to_dict(self) -> dict[str, str]:
        """Return the group of every allocation that has one."""
        codes = self._codes.tolist()
        return {name: GROUPS[codes[row]] for name, row in self._rows().items()}

    def counts(self) -> dict[str, int]:
        """Return how many allocations each group has."""
        found = np.bincount(self._codes[self._codes < len(GROUPS)], minlength=len(GROUPS))
        return dict(zip(GROUPS, found.tolist(), strict=True))

    def table(self) -> Table:
        """Return one row an allocation: ``name, operation, node, group``."""
        from evenhand.plans.columns import picked

        snapshot, core = self._snapshot, self._snapshot._core
        columns: dict[str, Any] = {
            "name": snapshot.names("allocations"),
            "operation": picked(snapshot.names("operations"), core.column("allocations", "operation")),
            "node": picked(snapshot.names("nodes"), core.column("allocations", "node")),
            "group": [GROUPS[code] if code < len(GROUPS) else None for code in self._codes.tolist()],
        }
        return Table(columns, title="groups")

    def __repr__(self) -> str:
        counts = ", ".join(f"{count:,} {group}" for group, count in self.counts().items())
        return f"<Groups of {len(self):,} allocations: {counts}>"
