"""What a plan's core said, kept as arrays: plans that were made in another process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.quantities import KeptShares

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from evenhand.plans.plan import Plan

__all__ = ["KeptPlan"]


class KeptPlan:
    """All that `evenhand.plans.columns.CorePlan` reports, read off another one."""

    def __init__(self, plan: Plan) -> None:
        core = plan._core
        self._columns: dict[str, Any] = {
            "decisions": dict(core.decisions()),
            "elements": dict(core.elements()),
            "groups": core.groups(),
            "counts": dict(core.counts()),
            "refusals": dict(core.refusals()),
            "memory": dict(core.memory()),
            "handed": dict(plan.handed),
        }
        self.shares = KeptShares.of(core.shares) if plan._system.shares else None
        self.next_due = core.next_due
        self._inputs = (plan.policy, plan.snapshot, plan.state_before, plan.on, plan.given)
        self._again: Any = None

    def decisions(self) -> Mapping[str, NDArray[Any]]:
        """Return one row a decision, in the order in which they are to be carried out."""
        return self._mapping("decisions")

    def elements(self) -> Mapping[str, NDArray[Any]]:
        """Return one row an element; nothing without fair shares."""
        return self._mapping("elements")

    def groups(self) -> NDArray[Any]:
        """Return the group of every allocation; 255 is none."""
        groups: NDArray[Any] = self._columns["groups"]
        return groups

    def counts(self) -> Mapping[str, int]:
        """Return how often what came of a try, by ``"<stage>.<outcome>"``."""
        return self._mapping("counts")

    def refusals(self) -> Mapping[str, NDArray[Any]]:
        """Return one row a request that did not start."""
        return self._mapping("refusals")

    def memory(self) -> Mapping[str, NDArray[Any]]:
        """Return the clocks that the next plan starts from."""
        return self._mapping("memory")

    def handed(self) -> Mapping[str, NDArray[Any]]:
        """Return room of leaving allocations that was taken."""
        return self._mapping("handed")

    def trace(self, kind: str, row: int) -> Mapping[str, NDArray[Any]]:
        """Plan again, and return all that was looked at for one allocation or request."""
        events: Mapping[str, NDArray[Any]] = self._once_more().trace(kind, row)
        return events

    @property
    def taken(self) -> Any:
        """Plan again, and return what was recorded of all that is taken; a core may have no such function."""
        return self._once_more().taken

    def _once_more(self) -> Any:
        if self._again is None:
            policy, snapshot, state, on, given = self._inputs
            self._again = policy.plan(snapshot, state, on, given)._core
        return self._again

    def _mapping(self, name: str) -> Mapping[str, Any]:
        columns: Mapping[str, Any] = self._columns[name]
        return columns

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_again": None}
