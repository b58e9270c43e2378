"""YuniKorn: asks of queues, and preemption of what other queues have too much of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from evenhand.explain.facts import name_of
from evenhand.systems.base import Policy
from evenhand.systems.yunikorn import columns
from evenhand.systems.yunikorn.given import as_values, given_columns
from evenhand.systems.yunikorn.record import YUNIKORN
from evenhand.systems.yunikorn.settings import YuniKornSettings
from evenhand.systems.yunikorn.shares import shares_table
from evenhand.units.text import number

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenhand.model import Snapshot
    from evenhand.plans.memory import LiveRows
    from evenhand.table import Table

__all__ = ["YuniKorn"]


class YuniKorn(Policy):
    """Cycles of a partition as YuniKorn's design of cross-queue preemption has them, or as it does it today.

    Parameters
    ----------
    preset : {"documented", "upstream"}
        The design (the default), which no release works by: periodic cycles. Or release 1.9: each ask
        preempts by itself.
    **settings
        Fields of `evenhand.systems.yunikorn.settings.YuniKornSettings` that differ from the preset.

    Attributes
    ----------
    preset : str
    settings : YuniKornSettings

    Raises
    ------
    InputError
        If a setting is unknown or breaks a rule.

    Notes
    -----
    Immutable. Queues are pools (`strong_guarantee` is guaranteed, `limits` max), applications operations,
    asks requests; what is opted out is not preemptible. One snapshot is one partition; several are planned
    as a mapping. Source: YuniKorn, design page "cross queue preemption", and YuniKorn core 1.9.

    A plan is one cycle (`Cycle`, by default of preemption). Given may be ``cost``: for `cost` "own", a number
    for each allocation; and ``nodes``: where requests may stand, as a list of objects with ``requests`` and
    ``nodes``; others may stand anywhere. Either may be a function that is called once: of the rows of
    allocations (as ``snapshot.to_dict()`` has them), or of those of request classes and of nodes, and returns
    an array, of ``nodes`` a row a class. O(cells), and O(nodes × resources) for each ask.

    Examples
    --------
    >>> import evenhand as eh
    >>> policy = eh.policies.YuniKorn(limit={"cpu": 8})
    >>> policy.replace(policies=["inter_queue"])
    YuniKorn('documented', limit={'cpu': 8.0}, policies=('inter_queue',))
    """

    RECORD = YUNIKORN
    model = YuniKornSettings
    ROUNDS = "cycles"
    INSTEAD_OF_SHARES = "; policy.ideal_shares(snapshot) has those of queues"
    CLOCKS: ClassVar[Mapping[str, float]] = {"preemption_interval": 3.0}
    __slots__ = ()

    settings: YuniKornSettings

    def _given(self, snapshot: Any, given: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        return as_values(snapshot, given)

    def _columns(self, snapshot: Snapshot, given: Mapping[str, Any] | None) -> dict[str, Any]:
        rows = columns.row_columns(snapshot) | given_columns(snapshot, self.settings, given)
        return {"settings": columns.switches(snapshot, self.settings), "rows": rows}

    def _later(self, stage: LiveRows, table: str, rows: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
        return columns.later_columns(stage, table, rows)

    def drive(self, clocks: Mapping[str, int]) -> dict[str, Any]:
        """Return how a simulation asks it: all cycles at ticks."""
        return {"drive": 2, "period": clocks["preemption_interval"]}

    def coming(self, rows: Snapshot) -> dict[str, Any]:
        """Return nothing: what asks set is read where they stand in the start snapshot alone."""
        columns.row_columns(rows)
        return {}

    def decides(
        self,
        on: Any,
        find: Callable[[list[Any]], list[int]] | None = None,  # noqa: ARG002
    ) -> dict[str, Any]:
        """Return a cycle as arguments of a planner."""
        return {"cycle": on.name}

    def ideal_shares(self, snapshot: Snapshot) -> Table:
        """Return what each queue should have: its ideal share, and what that follows from.

        Parameters
        ----------
        snapshot : Snapshot
            One partition.

        Returns
        -------
        Table
            One row a queue, the root first: ``name``, ``parent``, and for each resource in its unit
            ``ideal.<resource>``, ``guaranteed.<resource>`` (of a queue without a figure what its children are
            guaranteed), ``used.<resource>`` (without what leaves) and ``pending.<resource>``.

        Raises
        ------
        InputError
            As `plan`.

        Notes
        -----
        As a preemption cycle starts from; each policy of a cycle computes them anew. A part of a quantum
        counts. With ``preemption`` "per_ask" nothing goes by them. O(queues × resources × log).

        Examples
        --------
        >>> import evenhand as eh
        >>> snapshot = eh.Snapshot.from_dict(
        ...     {
        ...         "resources": {"cpu": {}},
        ...         "nodes": [{"name": "n", "capacity": {"cpu": 9}}],
        ...         "pools": [{"name": "a", "strong_guarantee": {"cpu": 5}}, {"name": "b"}],
        ...         "operations": [{"name": "x", "pool": "a"}, {"name": "y", "pool": "b"}],
        ...         "requests": [
        ...             {"name": name, "operation": name, "resources": {"cpu": 1}, "count": 9}
        ...             for name in "xy"
        ...         ],
        ...     }
        ... )
        >>> eh.policies.YuniKorn().ideal_shares(snapshot)["ideal.cpu"]
        array([9., 7., 2.])
        """
        self._expect(snapshot)
        return shares_table(snapshot, self.settings)

    def standing(self, snapshot: Snapshot, row: int) -> str:
        """Say which queue and priority an application has.

        Parameters
        ----------
        snapshot : Snapshot
        row : int
            Among the operations.

        Returns
        -------
        str
        """
        name = name_of(snapshot.names("operations")[row])
        pool = snapshot.names("pools")[int(snapshot._core.column("operations", "pool")[row])]
        priorities = np.asarray(snapshot._core.column("operations", "priority"))
        priority = float(priorities[row]) if len(priorities) else 0.0
        return f"operation {name} is in the queue {name_of(pool)} and has priority {number(priority)}"
