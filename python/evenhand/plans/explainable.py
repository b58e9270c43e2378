"""What a plan says of a name."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from evenhand.reasons import OUTCOMES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenhand.explain import Explanation
    from evenhand.plans.plan import Plan

__all__ = ["Explainable", "first_facts"]


def first_facts(trace: Mapping[str, Any]) -> dict[int, Mapping[str, Any]]:
    """Return what was recorded of each allocation when it was taken first, of a recorder's columns."""
    taken = trace["outcome"] == OUTCOMES.index("taken")
    rows = reversed(np.flatnonzero(taken).tolist())
    return {int(trace["allocation"][row]): trace["facts"][row] for row in rows}


class Explainable:
    """Explains itself, and keeps what it has traced for that."""

    __slots__ = ()

    _core: Any

    @cached_property
    def _traces(self) -> dict[tuple[str, int], Mapping[str, Any]]:
        return {}

    def _trace(self, kind: str, row: int) -> Mapping[str, Any]:
        """Return what a request or an allocation met; the plan is made again once for each."""
        if (kind, row) not in self._traces:
            self._traces[kind, row] = self._core.trace(kind, row)
        return self._traces[kind, row]

    @cached_property
    def _taken(self) -> Mapping[int, Mapping[str, Any]]:
        """What was recorded of each victim when it was taken; the plan is made again once for all.

        By allocation; where operations are preempted as a whole, perhaps of one of its allocations alone.
        """
        return first_facts(self._core.taken())

    def why(self, name: str | int, *, table: str | None = None) -> Explanation:
        """Explain what the plan says of a name.

        Parameters
        ----------
        name : str or int
            Of an allocation, a request, an operation, a pool or a node.
        table : str, optional
            Where to look for it; by default in that order.

        Returns
        -------
        Explanation
            Of a victim and of a start the reasons; of what was left alone, why; of an operation or a pool
            how it stands; of a node what happens there.

        Raises
        ------
        KeyError
            If there is no such name.
        """
        from evenhand.explain.dispatch import why

        return why(cast("Plan", self), name, table)

    def why_not(self, name: str | int, *, table: str | None = None) -> Explanation:
        """Explain why an allocation was not preempted, or a request not started.

        The plan is made again with a recorder switched on.

        Parameters
        ----------
        name : str or int
            Of an allocation or a request, or of an operation that has one request.
        table : str, optional
            ``"allocations"`` or ``"requests"``, where both have the name.

        Returns
        -------
        Explanation
            If it was preempted or did start after all, that, with its reasons.

        Raises
        ------
        KeyError
            If there is no such name.
        """
        from evenhand.explain.dispatch import why_not

        return why_not(cast("Plan", self), name, table)

    def letter(self, name: str | int) -> Explanation:
        """Say in three sentences at most, in the words of the system's users, what becomes of someone's work.

        Parameters
        ----------
        name : str or int
            Of an operation (a job, a session, an application), an allocation or a request; looked for in that
            order.

        Returns
        -------
        Explanation
            Of work that leaves: for whom, by which rule, and whether it is lost, starts again or resumes. Of
            what waits or stays: why. Of an operation what leaves of it, else what waits, starts or runs.

        Raises
        ------
        KeyError
            If there is no such name.

        Notes
        -----
        All of it is what `why` says, too, from the same records.
        """
        from evenhand.explain.letter import letter

        return letter(cast("Plan", self), name)
