"""Plans of a live cluster: what was decided is known, all else is made again when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from evenhand import _core
from evenhand.frozen import Frozen

if TYPE_CHECKING:
    from evenhand.diagnostics import Diagnostic
    from evenhand.model import Snapshot
    from evenhand.plans.columns import CorePlan
    from evenhand.plans.plan import Plan
    from evenhand.state import State

__all__ = ["NOTHING", "OfLive", "Past"]

#: No decisions, of a planner that follows.
NOTHING = _core.DecisionRows()


class Past(Protocol):
    """Where in a live cluster's past a plan was made."""

    base: Snapshot

    @property
    def now(self) -> float:
        """The instant in seconds."""

    def snapshot(self) -> Snapshot:
        """Return the cluster as it was."""

    def plan(self) -> Plan:
        """Return the equal plan of the frozen cluster."""


class OfLive(Frozen):
    """What a plan is made of: given, or that of the equal plan of a live cluster that is frozen."""

    policy: Any
    on: Any
    given: Mapping[str, Any] | None
    _rows: _core.DecisionRows | None  # by name, of a live cluster's plan
    _past: Past

    @cached_property
    def _again(self) -> Plan:
        return self._past.plan()

    @cached_property
    def snapshot(self) -> Snapshot:
        """What was."""
        return self._past.snapshot()

    @cached_property
    def state_before(self) -> State | None:
        """The state that went in."""
        return self._again.state_before

    @cached_property
    def _core(self) -> CorePlan:
        return self._again._core

    @cached_property
    def _found(self) -> tuple[Diagnostic, ...]:
        return self._again._found

    @cached_property
    def _updated(self) -> float | None:
        """When the update was, if not at this plan's instant."""
        return self._again._updated

    @cached_property
    def _now(self) -> float:
        return self.snapshot.now if self._rows is None else self._past.now
