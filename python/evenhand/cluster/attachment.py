"""What a cluster keeps of a policy: a state, or a planner that follows the cluster."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.building.readback import seconds
from evenhand.cluster.log import Written
from evenhand.plans.handed import taken_in_all

if TYPE_CHECKING:
    from evenhand._core import DecisionRows
    from evenhand.cluster.stage import Stage
    from evenhand.state import State

__all__ = ["Attachment", "Key", "key_of"]

Key = tuple[str, str]


def key_of(policy: Any) -> Key:
    """Return by what a policy is known: system and settings."""
    settings = json.dumps(policy.to_dict(), sort_keys=True, default=str)
    return policy.system, settings


class Attachment:
    """What a cluster keeps of a policy."""

    __slots__ = (
        "_gone",
        "_state",
        "by_period",
        "decided",
        "ends",
        "given",
        "handed",
        "key",
        "planner",
        "policy",
        "stage",
        "updated",
    )

    def __init__(self, key: Key) -> None:
        self.key = key
        self.policy: Any = None
        self.by_period = False
        self.updated: int | None = None
        self.ends: int | None = None
        self.decided = self.handed = 0
        self.given: Mapping[str, Any] | None = None
        self.planner: Any = None
        self.stage: Stage | None = None
        self._state: State | None = None
        self._gone: set[tuple[str, str]] = set()  # rows that were removed since the state was left

    def in_force(self, now: int) -> bool:
        """Return whether heartbeats may use the last update."""
        return self.by_period and self.ends is not None and now < self.ends

    @property
    def follows_all(self) -> bool:
        """Whether a planner follows that knows all rows which came."""
        return self.planner is not None and self.stage is not None and self.handed == len(self.stage.came)

    @property
    def instant(self) -> float:
        """The update's instant in seconds."""
        return float(seconds(np.array([self.updated]))[0])

    @property
    def has_state(self) -> bool:
        """Whether a state is kept, be it beside a planner."""
        return self._state is not None

    @property
    def state(self) -> State | None:
        """What the next plan starts from."""
        if self.planner is not None and self._state is None:
            self._state = self.policy.remembered(self.planner, self.stage, self.decided)
        elif self._gone and self._state is not None:
            self._state = self._state.without(self._gone)
        self._gone.clear()
        return self._state

    def forget(self, removed: Iterable[tuple[str, str]]) -> None:
        """Let the state name rows no longer, by table and name, as a planner does that follows."""
        self._gone.update(removed)

    def follow(self, stage: Stage, state: State | None) -> None:
        """Let a planner follow a stage on which nothing has happened yet."""
        self.planner, self.stage = self.policy.live(stage, state, self.given), stage
        self._state, self.handed = state, len(stage.came)

    def hand_over(self) -> None:
        """Tell the planner the settings of rows that came since."""
        if self.stage is not None and (came := self.stage.came[self.handed :]):
            self.policy.came(self.planner, self.stage, came)
            self.handed += len(came)

    def update(self, now: int) -> None:
        """Update the planner."""
        self.planner.update(now)
        self.updated = self.decided = now
        period = self.policy.period
        self.ends = None if period is None else now + period
        self._state = None

    def decide(
        self, now: int, arguments: Mapping[str, Any], *, updates: bool
    ) -> tuple[DecisionRows | None, Mapping[str | int, Any]]:
        """Let the planner decide; return what, and what is taken of leaving room. Nothing of it stays."""
        if updates:
            self.update(now)
        rows = self.planner.answer(**arguments)
        self.decided, self._state = now, None
        return rows, {} if rows is None or not rows.hands_over else self._taken()

    def _taken(self) -> dict[str | int, dict[str, Any]]:
        """Return by name the room of leaving allocations that their beneficiaries have by now."""
        assert self.stage is not None  # noqa: S101 - its planner has decided
        stage, handed = self.stage, self.planner.handed()
        settings = {row: stage.settings_of(row) for row in handed["allocation"].tolist()}
        found = taken_in_all(stage.base, settings, handed)
        return {stage.name("allocations", row): amounts for row, amounts in found.items()}

    def settle(self) -> None:
        """Keep a state in the place of the planner."""
        if self.planner is not None:
            self.remember(self.state)

    def remember(self, state: State | None) -> None:
        """Start the next plan from a state."""
        self.planner = self.stage = self.updated = self.ends = None
        self._state = state
        self._gone.clear()

    def written(self) -> Written:
        """Return what is kept of it elsewhere."""
        return Written(self.key, self.state, self.by_period)

    @classmethod
    def read(cls, written: Written) -> Attachment:
        """Return what was kept."""
        attachment = cls(written.key)
        attachment._state, attachment.by_period = written.state, written.by_period
        return attachment
