"""What has happened in a cluster since a snapshot: plans, copies and files are made of it again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenhand.cluster.columns import Columns, Listed
    from evenhand.model import Snapshot
    from evenhand.state import State

__all__ = ["Contents", "Entry", "Happened", "Log", "Planned", "Remembered", "Updated", "Written"]


# Entries are never changed; they are not frozen, as that takes longer to make than the rest of an event.
@dataclass(slots=True)
class Happened:
    """Events were applied."""

    events: Listed | Columns

    @property
    def cost(self) -> int:
        """How long it takes to do it again, in events."""
        return len(self.events)

    def again(self, cluster: Any) -> None:
        """Do the same in another cluster."""
        cluster._happen(self.events.again())


@dataclass(slots=True)
class Updated:
    """The planner of a policy was updated, perhaps with given values."""

    policy: Any
    given: Mapping[str, Any] | None = None

    @property
    def cost(self) -> int:
        """How long it takes to do it again, in events."""
        return 64

    def again(self, cluster: Any) -> None:
        """Do the same in another cluster."""
        cluster.update(self.policy, given=self.given)


@dataclass(slots=True)
class Planned:
    """A policy's planner decided."""

    policy: Any
    on: Any
    updates: bool

    @property
    def cost(self) -> int:
        """How long it takes to do it again, in events."""
        return (64 if self.updates else 0) + 2 * (len(self.on) if isinstance(self.on, tuple) else 1)

    def again(self, cluster: Any) -> None:
        """Do the same in another cluster."""
        cluster.plan(self.policy, on=self.on)


@dataclass(frozen=True, slots=True)
class Remembered:
    """A policy planned on a snapshot, and left a state."""

    policy: Any
    state: State

    @property
    def cost(self) -> int:
        """How long it takes to do it again, in events."""
        return 1

    def again(self, cluster: Any) -> None:
        """Do the same in another cluster."""
        cluster._remember(cluster._attachment(self.policy), self.state)


Entry = Happened | Updated | Planned | Remembered


@dataclass(frozen=True, slots=True)
class Written:
    """What is kept of a policy, by its system and settings; see `evenhand.cluster.attachment.Attachment`."""

    key: tuple[str, str]
    state: State | None
    by_period: bool = False


@dataclass(frozen=True, slots=True)
class Contents:
    """What a cluster is made of."""

    snapshot: Snapshot
    total_stated: bool | None = None
    policy: Any = None
    attachments: tuple[Written, ...] = ()
    entries: tuple[Entry, ...] = ()


@dataclass(slots=True)
class Log:
    """What has happened since a beginning; it only grows."""

    contents: Contents
    entries: list[Entry] = field(default_factory=list)
    cost: int = 0
    limit: int = 0

    def __post_init__(self) -> None:
        base = self.contents.snapshot
        rows = base.allocation_count + base.node_count + base.operation_count + base.request_count
        self.limit = 1000 + rows // 4

    def add(self, entry: Entry) -> None:
        """Add what has happened last."""
        self.entries.append(entry)
        self.cost += entry.cost

    def until(self, place: int) -> Log:
        """Return what had happened before an entry."""
        entries = self.entries[:place]
        return Log(self.contents, entries, sum(entry.cost for entry in entries))
