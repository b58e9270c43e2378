"""What a plan's core said, kept as columns: of plans of another process, and of live clusters and runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from evenhand.quantities import KeptShares

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.plans.plan import Plan

__all__ = ["KeptCore"]

_COLUMNS = ("decisions", "elements", "groups", "counts", "refusals", "memory")


class KeptCore:
    """All that `evenhand.plans.columns.CorePlan` reports; what one met is asked of a function."""

    def __init__(
        self,
        columns: Mapping[str, Any],
        shares: KeptShares | None,
        next_due: int | None,
        trace: Callable[[str, int], Mapping[str, NDArray[Any]]],
    ) -> None:
        self._columns, self.shares, self.next_due, self.trace = columns, shares, next_due, trace

    @classmethod
    def of(cls, plan: Plan) -> Self:
        """Return what the core of a plan says; the plan is made again for what one met."""
        core = plan._core
        said = {name: getattr(core, name)() for name in _COLUMNS}
        columns = {name: dict(of) if isinstance(of, Mapping) else of for name, of in said.items()}
        columns["handed"] = dict(plan.handed)
        shares = KeptShares.of(core.shares) if plan._system.shares else None
        return cls(columns, shares, core.next_due, _Remade(*plan._inputs))

    def decisions(self) -> Mapping[str, NDArray[Any]]:
        """Return one row a decision, in the order in which they are to be carried out."""
        return self._said("decisions")

    def elements(self) -> Mapping[str, NDArray[Any]]:
        """Return one row an element; nothing without fair shares."""
        return self._said("elements")

    def groups(self) -> NDArray[Any]:
        """Return the group of every allocation; 255 is none."""
        groups: NDArray[Any] = self._columns["groups"]
        return groups

    def counts(self) -> Mapping[str, int]:
        """Return how often what came of a try, by ``"<stage>.<outcome>"``."""
        return self._said("counts")

    def refusals(self) -> Mapping[str, NDArray[Any]]:
        """Return one row a request that did not start."""
        return self._said("refusals")

    def memory(self) -> Mapping[str, NDArray[Any]]:
        """Return the clocks that the next plan starts from."""
        return self._said("memory")

    def handed(self) -> Mapping[str, NDArray[Any]]:
        """Return room of leaving allocations that was taken."""
        return self._said("handed")

    @property
    def taken(self) -> Any:
        """What returns what was recorded of all that is taken; not every core has such a function."""
        if not isinstance(self.trace, _Remade):
            raise AttributeError("what a live cluster decided is traced one by one")
        return self.trace.core.taken

    def _said(self, name: str) -> Mapping[str, Any]:
        columns: Mapping[str, Any] = self._columns[name]
        return columns


class _Remade:
    """A plan that is made again, once, when it is asked what one met."""

    def __init__(self, *inputs: Any) -> None:
        self._inputs = inputs

    @cached_property
    def core(self) -> Any:
        """The core of the plan that is made again."""
        snapshot, policy, state, on, given = self._inputs
        return policy.plan(snapshot, state, on, given)._core

    def __call__(self, kind: str, row: int) -> Mapping[str, NDArray[Any]]:
        events: Mapping[str, NDArray[Any]] = self.core.trace(kind, row)
        return events

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._inputs
