"""What a plan needs of a core that schedules whole sessions or jobs and knows no fair shares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from evenhand.model import Snapshot

__all__ = ["JobCore"]

_NO_GROUP = 255


class JobCore:
    """A core's plan with what it does not have: no shares, no elements, no groups.

    Parameters
    ----------
    snapshot : Snapshot
    core : object
        It has ``decisions()``, ``refusals()``, ``counts()`` and ``trace(kind, row)`` as
        `evenhand.plans.columns.CorePlan`.
    memory : mapping
        What the next plan goes on from: ``last_preempt`` of the operations.
    """

    shares = None

    def __init__(self, snapshot: Snapshot, core: Any, memory: Mapping[str, NDArray[Any]]) -> None:
        self._snapshot = snapshot
        self._core = core
        self._memory = dict(memory)

    def decisions(self) -> Mapping[str, NDArray[Any]]:
        """Return one row a decision, in the order in which they are to be carried out."""
        decided: Mapping[str, NDArray[Any]] = self._core.decisions()
        return decided

    def elements(self) -> Mapping[str, NDArray[Any]]:
        """Return nothing: there are no fair shares to stand to."""
        return {}

    def groups(self) -> NDArray[Any]:
        """Return that no allocation is in any group."""
        return np.full(self._snapshot.allocation_count, _NO_GROUP, np.uint8)

    def counts(self) -> Mapping[str, int]:
        """Return how often what came of a try, by ``"<stage>.<outcome>"``."""
        return dict(self._core.counts())

    def refusals(self) -> Mapping[str, NDArray[Any]]:
        """Return one row a request that did not start."""
        refused: Mapping[str, NDArray[Any]] = self._core.refusals()
        return refused

    @property
    def next_due(self) -> None:
        """Nothing is known of when the next plan is due."""
        return None

    def memory(self) -> Mapping[str, NDArray[Any]]:
        """Return the clocks that the next plan goes on from."""
        return self._memory

    def trace(self, kind: str, row: int) -> Mapping[str, NDArray[Any]]:
        """Decide again with a recorder: all that was looked at for one allocation or request."""
        events: Mapping[str, NDArray[Any]] = self._core.trace(kind, row)
        return events
