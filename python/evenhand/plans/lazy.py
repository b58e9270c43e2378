"""Plans of a live cluster: decisions at once, all else when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from evenhand.plans.near import LiveDecisions, Near
from evenhand.plans.plan import Plan

if TYPE_CHECKING:
    from evenhand.diagnostics import Diagnostic
    from evenhand.model import Snapshot
    from evenhand.plans.columns import CorePlan, Name
    from evenhand.plans.decisions import Decisions
    from evenhand.state import State

__all__ = ["LivePlan"]


class _Again(Protocol):
    def plan(self) -> Plan: ...
    def snapshot(self) -> Snapshot: ...


class LivePlan(Plan):
    """A plan that a live cluster made: its decisions are known, its snapshot and the rest are made again."""

    _near: Near | None
    _again: _Again

    def __init__(self, policy: Any, on: Any, near: Near | None, again: _Again) -> None:
        self.__dict__.update(policy=policy, on=on, given=None, _near=near, _again=again)

    @cached_property
    def frozen(self) -> Plan:
        """The equal plan of the frozen cluster."""
        return self._again.plan()

    @cached_property
    def snapshot(self) -> Snapshot:  # type: ignore[override]
        """What was."""
        return self._again.snapshot()

    @property
    def _now(self) -> float:
        return self.snapshot.now if self._near is None else self._near.now

    @property
    def state_before(self) -> State | None:  # type: ignore[override]
        """The state that the plan's update started from."""
        return self.frozen.state_before

    @property
    def _core(self) -> CorePlan:  # type: ignore[override]
        return self.frozen._core

    @property
    def _found(self) -> tuple[Diagnostic, ...]:  # type: ignore[override]
        return self.frozen._found

    @cached_property
    def decisions(self) -> Decisions:
        """What to do, in the order in which it is to be carried out."""
        if self._near is not None and self._near.repairs:
            return self.frozen.decisions  # the violated limits are the frozen cluster's
        return LiveDecisions(self._near, lambda: self.frozen.decisions)

    @property
    def taken(self) -> dict[Name, dict[str, Any]]:
        """Allocation to what its beneficiary has of its room by now, where this plan hands some over."""
        return {} if self._near is None else self._near.taken

    @property
    def state(self) -> State:
        """What the next plan starts from."""
        return self.frozen.state

    @property
    def handed(self) -> Mapping[str, Any]:
        """Room of leaving allocations that their beneficiaries take."""
        return self.frozen.handed

    def __reduce__(self) -> tuple[Any, ...]:
        return self.frozen.__reduce__()
