"""What sentences say of sessions: names, priorities, kinds, scopes."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.explain.facts import name_of, number
from evenhand.fields import TABLES
from evenhand.systems.backendai import columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.explain.facts import Facts
    from evenhand.systems.backendai.settings import BackendAISettings

__all__ = ["Sessions"]

_KINDS = TABLES["operations"]["kind"].words
_STATES = TABLES["allocations"]["state"].words


class Sessions:
    """Sessions of a plan's snapshot, by row."""

    def __init__(self, facts: Facts) -> None:
        self.facts, self.snapshot = facts, facts.snapshot
        self.s: BackendAISettings = facts.plan.policy.settings
        #: The number that decides what may preempt what, in words.
        self.key = self.s.preemption_key.replace("_", " ")

    @cached_property
    def names(self) -> list[str | int]:
        """Names of the operations."""
        return self.snapshot.names("operations")

    @cached_property
    def ranks(self) -> NDArray[np.float64]:
        """The number that decides what may preempt what."""
        return columns.ranks(self.snapshot, self.s)

    @cached_property
    def priorities(self) -> NDArray[np.float64]:
        """The number that orders the queue."""
        return columns.effective_priorities(self.snapshot, self.s)[0]

    def name(self, row: int) -> str:
        """Return what a session is called in a sentence."""
        return f"operation {name_of(self.names[row])}"

    def rank(self, row: int) -> float:
        """Return the number that decides what it may preempt, and what may preempt it."""
        return float(self.ranks[row])

    def priority(self, row: int) -> float:
        """Return the number that orders the queue."""
        return float(self.priorities[row])

    def of(self, name: str, *rows: int, **values: Any) -> dict[str, Any]:
        """Return values by name and session, as `numbers` have them: ``priority_of_a``."""
        tell = {"rank": self.rank, "priority": self.priority, "scope": self.scope, "kind": self.kind}[name]
        word = {"rank": self.s.preemption_key, "scope": self.s.victim_scope}.get(name, name)
        return {f"{word}_of_{self.names[row]}": tell(row) for row in rows} | values

    def kind(self, row: int) -> str:
        """Return the kind of a session."""
        kinds = np.asarray(self.snapshot._core.column("operations", "kind"))
        return _KINDS[int(kinds[row]) if len(kinds) else 0]

    def own(self, row: int) -> dict[str, Any]:
        """Return what a session's row sets."""
        return dict(self.snapshot.settings("operations").get(row, {}))

    def text(self, field: str, row: int) -> str | None:
        """Return a text of a session's row; None: it has none."""
        words, codes = self.snapshot._core.text("operations", field)
        return None if not len(codes) or codes[row] < 0 else str(words[codes[row]])

    def scope(self, row: int) -> str | None:
        """Return the user, project or domain of a session; None: it names none."""
        if self.s.victim_scope == "domain":
            return self.own(row).get("domain")
        return self.text(self.s.victim_scope, row)

    def allocations(self, row: int) -> list[int]:
        """Return rows of its allocations."""
        mine = np.asarray(self.snapshot._core.column("allocations", "operation")) == row
        return np.flatnonzero(mine).tolist()

    def state(self, allocation: int) -> str:
        """Return the state of an allocation."""
        return _STATES[int(self.snapshot._core.column("allocations", "state")[allocation])]

    def running(self, row: int) -> list[int]:
        """Return rows of what of it runs."""
        return [one for one in self.allocations(row) if self.state(one) == "running"]

    def began(self, row: int) -> float | None:
        """Return when the first of what of it runs began; None: nothing of it does."""
        starts = np.asarray(self.snapshot._core.column("allocations", "start_time"))
        mine = [float(starts[one]) / 1e6 if len(starts) else 0.0 for one in self.running(row)]
        return min(mine, default=None)

    def ranked(self, row: int) -> str:
        """Return the number of a session that decides, in words: ``priority 7``."""
        return f"{self.key} {number(self.rank(row))}"
