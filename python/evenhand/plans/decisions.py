"""Decisions: what is to be done, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Self, overload

import numpy as np

from evenhand import _core
from evenhand.arguments import expect, looked_up, row_number
from evenhand.frozen import Frozen, FrozenDict, freeze, read_only, same_columns, thaw
from evenhand.plans.columns import Name, amounts_of, element_keys, objects
from evenhand.reasons import ACTIONS, GROUPS, MODES, REASONS, STAGES
from evenhand.table import Table, Tabular

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.model import Snapshot

__all__ = ["Beneficiary", "Decision", "Decisions", "asked_cells"]


@dataclass(frozen=True, slots=True)
class Beneficiary:
    """What a decision serves: an operation, and its request."""

    operation: Name | None
    request: Name | None

    def to_dict(self) -> dict[str, Name | None]:
        """Return it as plain values."""
        return {"operation": self.operation, "request": self.request}


@dataclass(frozen=True, slots=True)
class Decision:
    """One thing to do.

    Attributes
    ----------
    action : str
        ``"preempt"``, ``"start"``, ``"resume"`` (a suspended one resumes), ``"reserve"`` (room is kept for
        a request that starts later) or ``"release"``.
    allocation : str, int or None
        The victim, or what resumes; None for a start.
    operation : str, int or None
        The victim's operation, or the one that starts.
    node : str, int or None
        Where.
    request : str, int or None
        What starts, or what room is kept for; None of a preemption.
    mode : str or None
        How a victim leaves; see `evenhand.reasons.MODES`.
    grace : float or None
        Seconds that a victim has to leave.
    at, until : float or None
        When it is done, and by when the victim must have left, in the snapshot's seconds.
    reason : str
        Code of the reason; see `evenhand.reasons`.
    numbers : mapping
        What was compared: amounts by resource. ``minimum`` says how far the victims of the step were proved
        to be the fewest, where that is asked for: ``cost``, ``lower_bound``, ``proved``, and ``first`` if
        they are the first of their cost. ``queue``, ``count``, ``most``, ``level`` and ``seq_no``: what was
        counted in a queue where something stops or resumes by that count.
    stage : str
        Where in the node's heartbeat it was decided.
    step : int
        Decisions of one step are carried out together or not at all.
    beneficiary : Beneficiary or None
        What it serves; None where it repairs a limit.
    victim_within_fair_share : bool or None
        Whether the victim's operation used at most its fair share just before.
    victim_pool_within_guarantee : bool or None
        Whether the victim's pool, or one above it, used at most its strong guarantee just before, in all
        resources that it is guaranteed. None: no pool above the victim has a strong guarantee, it is not a
        preemption, or the policy knows no fair shares.
    freed, kept : mapping
        What the victim gives back and what it keeps, by resource.
    """

    action: str
    allocation: Name | None
    operation: Name | None
    node: Name | None
    request: Name | None
    mode: str | None
    grace: float | None
    at: float | None
    until: float | None
    reason: str
    numbers: Mapping[str, Any]
    stage: str
    step: int
    beneficiary: Beneficiary | None
    victim_within_fair_share: bool | None
    victim_pool_within_guarantee: bool | None = None
    freed: Mapping[str, float] = field(default_factory=dict)
    kept: Mapping[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the decision as plain values."""
        served = self.beneficiary
        return {
            "action": self.action,
            "allocation": self.allocation,
            "operation": self.operation,
            "node": self.node,
            "request": self.request,
            "mode": self.mode,
            "grace": self.grace,
            "at": self.at,
            "until": self.until,
            "reason": self.reason,
            "numbers": dict(self.numbers),
            "stage": self.stage,
            "step": self.step,
            "beneficiary": served and served.to_dict(),
            "victim_within_fair_share": self.victim_within_fair_share,
            "victim_pool_within_guarantee": self.victim_pool_within_guarantee,
            "freed": dict(self.freed),
            "kept": dict(self.kept),
        }


#: What the core makes decisions of: classes with their attributes, and the words of its codes.
_WORDS = (
    *(Decision, tuple(attribute.name for attribute in fields(Decision))),
    *(Beneficiary, tuple(attribute.name for attribute in fields(Beneficiary))),
    *(ACTIONS, MODES, REASONS, STAGES, GROUPS),
)
#: Attributes that are columns of a table as they are.
_PLAIN = (
    *("action", "allocation", "operation", "node", "request", "mode", "grace", "at", "until", "reason"),
    *("stage", "step", "victim_within_fair_share", "victim_pool_within_guarantee"),
)
#: Tables whose rows decisions name.
_NAMED = ("allocations", "requests", "operations", "nodes")


def asked_cells(resources: Any, node: Name | None, priority: Any, preemptible: Any) -> dict[str, Any]:
    """Return cells of an allocation's row that its request has set."""
    cells: dict[str, Any] = {"resources": resources}
    if node is not None:
        cells["required_node"] = node
    if priority is not None:
        cells["priority"] = float(priority)
    if not preemptible:
        cells["preemptible"] = False
    return cells


class Decisions(Frozen, Tabular, Sequence[Decision]):
    """A table of decisions in the order in which they are to be carried out.

    Indexing and iteration give `Decision` objects; `to_pandas` and its like give columns.

    Parameters
    ----------
    snapshot : Snapshot
    columns : mapping
        As the core gives them (`evenhand.plans.columns.CorePlan`).
    repairs : mapping, optional
        Row → what else was compared there: a violated limit.

    Notes
    -----
    Names and amounts are looked up when they are asked for: O(rows) each time.
    """

    __slots__ = ("_base", "_chosen", "_columns", "_count", "_later", "_repairs", "_rows", "_snapshot")

    _base: Snapshot  # its resources are those of the decisions
    _chosen: NDArray[Any] | None
    _later: Callable[[], Decisions] | None
    _snapshot: Snapshot
    _columns: Mapping[str, NDArray[Any]]
    _repairs: Mapping[int, Mapping[str, Any]]
    _rows: _core.DecisionRows

    def __init__(
        self,
        snapshot: Snapshot,
        columns: Mapping[str, NDArray[Any]],
        repairs: Mapping[int, Mapping[str, Any]] | None = None,
    ) -> None:
        frozen = FrozenDict({name: read_only(values) for name, values in columns.items()})
        self._keep(_base=snapshot, _snapshot=snapshot, _columns=frozen, _repairs=freeze(repairs or {}))
        self._keep(_chosen=None, _later=None, _count=len(columns["action"]))

    @classmethod
    def _of_live(
        cls,
        base: Snapshot,
        rows: _core.DecisionRows,
        later: Callable[[], Decisions],
        chosen: NDArray[Any] | None = None,
    ) -> Self:
        """Return decisions that are known by name; their columns are made later, of the frozen cluster."""
        made = cls.__new__(cls)
        count = len(rows) if chosen is None else len(chosen)
        made._keep(_base=base, _rows=rows, _later=later, _chosen=chosen, _count=count)
        return made

    def __getattr__(self, name: str) -> Any:
        """Make what was not at hand: columns by rows of a snapshot, or rows by name."""
        if name == "_rows":
            names = {table: self._snapshot.names(table) for table in _NAMED}
            self._keep(_rows=_core.DecisionRows(dict(self._columns), names))
        elif name in ("_snapshot", "_columns", "_repairs") and self._later is not None:
            made = self._later()
            made = made if self._chosen is None else made.take(self._chosen)
            self._keep(_snapshot=made._snapshot, _columns=made._columns, _repairs=made._repairs)
        else:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return object.__getattribute__(self, name)

    def __eq__(self, other: object) -> bool:
        """Whether they decide the same on equal snapshots."""
        if not isinstance(other, Decisions):
            return NotImplemented
        same = self._snapshot == other._snapshot and self._repairs == other._repairs
        return same and same_columns(self._columns, other._columns)

    def __hash__(self) -> int:
        return hash((self._snapshot, len(self)))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._snapshot, dict(self._columns), thaw(self._repairs))

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Decision]:
        return iter(self._objects())

    @overload
    def __getitem__(self, index: int) -> Decision: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> Decision | Self:
        if isinstance(index, slice):
            return self.take(np.arange(len(self))[index])
        return self.take(np.array([row_number(index, len(self), "decisions")]))._objects()[0]

    def take(self, rows: NDArray[Any]) -> Self:
        """Return some of the decisions.

        Parameters
        ----------
        rows : array of int or of bool
            Which, by row number or as a mask.

        Returns
        -------
        Decisions

        Raises
        ------
        InputError
            If they are no such rows.
        """
        rows = self._row_numbers(rows)
        if self._later is not None:
            chosen = rows if self._chosen is None else self._chosen[rows]
            return self._of_live(self._base, self._rows, self._later, chosen)
        place = {row: i for i, row in enumerate(rows.tolist())}
        repairs = {place[row]: numbers for row, numbers in self._repairs.items() if row in place}
        return type(self)(self._snapshot, {n: c[rows] for n, c in self._columns.items()}, repairs)

    def asked(self) -> list[dict[str, Any] | None]:
        """Return by decision what a start asks for, as cells of the row of its allocation; else None."""
        if self._later is not None:
            found = self._rows.asked(self._base.resources, self._base._head["quantum"])
            wanted = [None if cells is None else asked_cells(*cells) for cells in found]
            return wanted if self._chosen is None else [wanted[row] for row in self._chosen.tolist()]
        snapshot, core = self._snapshot, self._snapshot._core
        starts = (self._columns["action"] == ACTIONS.index("start")).tolist()

        def cells(request: int) -> dict[str, Any]:
            node = int(core.column("requests", "required_node")[request])
            given = core.column("requests", "priority_given")[request]
            return asked_cells(
                objects(snapshot, core.column("requests", "resources")[request][None, :])[0],
                None if node < 0 else snapshot.names("nodes")[node],
                core.column("requests", "priority")[request] if given else None,
                core.column("requests", "preemptible")[request],
            )

        rows = self._columns["request"].tolist()
        return [cells(row) if start else None for row, start in zip(rows, starts, strict=True)]

    def _row_numbers(self, wanted: Any) -> NDArray[np.int64]:
        rows = np.asarray(wanted)
        if rows.dtype == np.bool_ and rows.shape == (len(self),):
            return np.flatnonzero(rows)
        whole = rows.ndim == 1 and (rows.dtype.kind in "iu" or not rows.size)
        right = whole and bool(((rows >= 0) & (rows < len(self))).all() if rows.size else True)
        expect(right, "decisions", "rows", wanted, "an array of row numbers, or a flag a row")
        return rows.astype(np.int64)

    @property
    def victims(self) -> Self:
        """The preemptions."""
        return self.take(self._cells("action") == ACTIONS.index("preempt"))

    @property
    def starts(self) -> Self:
        """The starts."""
        return self.take(self._cells("action") == ACTIONS.index("start"))

    @property
    def soft(self) -> list[bool]:
        """Whether others may use the room that is reserved, a flag a decision."""
        return [bool(soft) for soft in self._cells("soft").tolist()]

    def _cells(self, name: str) -> NDArray[Any]:
        """Return a column that refers to no row, of what is at hand."""
        if self._later is None:
            return self._columns[name]
        cells: NDArray[Any] = getattr(self._rows, name)()
        return cells if self._chosen is None else cells[self._chosen]

    @property
    def columns(self) -> Mapping[str, NDArray[Any]]:
        """All of the core's columns by name; read-only."""
        return self._columns

    def column(self, name: str) -> NDArray[Any]:
        """Return one of the core's columns: row numbers, quanta, microseconds.

        Parameters
        ----------
        name : str
            See `evenhand.plans.columns.CorePlan`.

        Returns
        -------
        numpy.ndarray

        Raises
        ------
        KeyError
            If there is no such column.
        """
        values: NDArray[Any] = looked_up(self._columns, name, "column")
        return values

    def to_list(self) -> list[dict[str, Any]]:
        """Return one plain object a decision, as the plan's JSON has them."""
        return [decision.to_dict() for decision in self]

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns of `table` as lists."""
        return self.table().to_dict()

    def table(self) -> Table:
        """Return one row a decision; amounts are one column a resource (``freed.cpu``)."""
        decisions = self._objects()
        columns: dict[str, Any] = {name: [getattr(d, name) for d in decisions] for name in _PLAIN}
        served = [d.beneficiary for d in decisions]
        columns["beneficiary.operation"] = [b and b.operation for b in served]
        columns["beneficiary.request"] = [b and b.request for b in served]
        for name in ("freed", "kept", "free_before", "needed"):
            values = amounts_of(self._snapshot, self._columns[name]) if len(self) else None
            for r, resource in enumerate(self._snapshot.resources):
                columns[f"{name}.{resource}"] = [] if values is None else values[:, r]
        return Table(columns, title="decisions")

    def __repr__(self) -> str:
        from evenhand.display import table_text
        from evenhand.display.plans import decision_table

        return table_text(decision_table(self))

    def _repr_html_(self) -> str:
        from evenhand.display import table_html
        from evenhand.display.plans import decision_table

        return table_html(decision_table(self))

    def _objects(self) -> list[Decision]:
        if not self._count:
            return []
        base, keys, repairs = self._base, [], None
        if self._later is None:
            repairs = self._repairs or None
            keys = element_keys(base) if (self._columns["violated"] >= 0).any() else []
        made: list[Decision] = self._rows.objects(
            _WORDS, base.resources, base._head["quantum"], keys, repairs, self._chosen
        )
        return made
