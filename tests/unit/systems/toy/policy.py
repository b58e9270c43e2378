"""The toy's policy and its settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.config.checked import CheckedSettings
from evenhand.config.kinds import Duration
from evenhand.plans.memory import read_memory
from evenhand.plans.plan import Plan
from evenhand.systems.base import Policy
from tests.unit.systems.toy.core import ToyCore
from tests.unit.systems.toy.record import TOY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenhand.model import Snapshot
    from evenhand.state import State

__all__ = ["Toy", "ToySettings"]


class ToySettings(CheckedSettings):
    """Settings of the toy."""

    preempts: bool = True
    rest: Duration = 60.0


class Toy(Policy):
    """Requests in their order; one victim for each that finds no room."""

    RECORD = TOY
    model = ToySettings
    __slots__ = ()

    def plan(
        self,
        snapshot: Snapshot,
        state: State | None = None,
        on: Any = None,
        given: Mapping[str, Any] | None = None,
    ) -> Plan:
        self._expect(snapshot, state, given)
        on = self._trigger(on)
        self._given(snapshot, given)
        memory, found = read_memory(snapshot, self, state)
        return Plan(snapshot, self, ToyCore(snapshot, self.settings, memory), state, on, given, found)

    def standing(self, snapshot: Snapshot, row: int) -> str:
        priority = snapshot._core.column("operations", "priority")[row]
        return f"operation {snapshot.names('operations')[row]} has priority {priority:g}"
