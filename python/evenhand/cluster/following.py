"""Rows, log and planners of a cluster: what stands behind its public methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from threading import RLock
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar
from weakref import WeakSet

from evenhand.cluster.attachment import Attachment, Key, key_of
from evenhand.cluster.changes import carry_out
from evenhand.cluster.log import Contents, Happened, Log, Remembered
from evenhand.cluster.stage import Stage
from evenhand.errors import InputError

if TYPE_CHECKING:
    from evenhand.cluster.columns import Columns, Listed
    from evenhand.model import Snapshot

__all__ = ["Following", "one_at_a_time"]

_KNOWN = 64  # policies whose settings are remembered
_LONG = 4  # a log so many times longer than what it stands for ends, whatever is still in force
_P = ParamSpec("_P")
_R = TypeVar("_R")


def one_at_a_time(
    call: Callable[Concatenate[Any, _P], _R],
) -> Callable[Concatenate[Any, _P], _R]:
    """Let calls from several threads on one cluster run one after the other."""

    @wraps(call)
    def locked(self: Any, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        with self._lock:
            return call(self, *args, **kwargs)

    return locked  # type: ignore[return-value]  # the name of its first argument is another


class Following:
    """What `evenhand.cluster.Cluster` works on."""

    @classmethod
    def _made_of(cls, contents: Contents) -> Self:
        """Return a cluster of what was kept of one."""
        cluster = cls.__new__(cls)
        cluster._begin(contents)
        return cluster

    def _begin(self, contents: Contents) -> None:
        self._policy = contents.policy
        self._stage = Stage(contents.snapshot, contents.total_stated)
        self._attachments = {
            attachment.key: attachment for attachment in map(Attachment.read, contents.attachments)
        }
        self._log = Log(replace(contents, total_stated=self._stage.total_stated, entries=()))
        self._now: Snapshot | None = None  # the snapshot, if nothing has happened since
        self._known: dict[int, tuple[Any, Key]] = {}  # policies by their identity, with their keys
        self._marks: WeakSet[Any] = WeakSet()
        self._serial = 0
        self._lock = RLock()
        for entry in contents.entries:
            entry.again(self)

    def _happen(self, events: Listed | Columns) -> None:
        """Let events happen, all or none."""
        before, recorded = self._stage, bool(self._serial and self._marks)
        mark = before.mark() if recorded else (0, len(before.notes), before.changed)
        before.first_gone = before.core.gone_count() if recorded else 0
        try:
            done = events.happen(before, recorded=recorded)
            if isinstance(done, int):
                self._happen_from(done, before, events)
                done = events.own()
            elif not before.changed:
                before.changed = len(done) > 0
        except BaseException:
            followed = any(attachment.planner is not None for attachment in self._attachments.values())
            if before.happened_since(mark):
                before.undo(mark)
                if followed:  # planners follow no way back
                    self._do_again(self._log)
            raise
        self._now = None
        if any(attachment.has_state for attachment in self._attachments.values()):
            gone = done.removed.union(("requests", name) for name in self._stage.gone_requests())
            for attachment in self._attachments.values():
                if attachment.has_state and gone:
                    attachment.forget(gone)
        self._stage.went = []
        log = self._log
        log.add(Happened(done))
        if log.cost > _LONG * log.limit:
            self._cut()

    def _happen_from(self, at: int, before: Stage, events: Listed | Columns) -> None:
        """Let events happen of which the one at a position is not plain, or removes a node."""
        before.changed = before.changed or at > 0
        followed = any(attachment.planner is not None for attachment in self._attachments.values())
        if followed and at == 0 and events.removes_nodes:  # states name what there was when they were left
            for attachment in self._attachments.values():
                _ = attachment.state
        stage = carry_out(before, events, at)
        if stage is not before:
            self._settle()
            self._stage = stage

    @one_at_a_time
    def _snapshot_of(self, log: Log, place: int) -> Snapshot | None:
        """Return the snapshot, if no rows have changed since a place in a log; else None."""
        same = log is self._log and not any(type(entry) is Happened for entry in log.entries[place:])
        return self.snapshot() if same else None

    def _plan_frozen(self, attachment: Attachment, on: Any, given: Mapping[str, Any] | None) -> Any:
        """Plan on a snapshot."""
        plan = attachment.policy.plan(self.snapshot(), self._state_before(attachment), on, given)
        self._remember(attachment, plan.state)
        return plan

    def _remember(self, attachment: Attachment, state: Any) -> None:
        attachment.remember(state)
        self._stand(attachment)
        self._log.add(Remembered(attachment.policy, state))
        if self._log.cost > self._log.limit and not self._others_in_force(attachment):
            self._cut()

    def _find(self, nodes: list[Any]) -> list[int]:
        rows: list[int] = self._stage.core.nodes(nodes)
        return rows

    def _attachment(self, policy: Any) -> Attachment:
        """Return what is kept of a policy; something new if it has not planned yet."""
        known = self._known.get(id(policy))
        if known is None:
            if len(self._known) >= _KNOWN:
                self._known.clear()
            known = self._known[id(policy)] = (policy, key_of(policy))
        attachment = self._attachments.get(known[1]) or Attachment(known[1])
        attachment.policy = policy
        return attachment

    def _stand(self, attachment: Attachment) -> None:
        """Keep what a policy remembers; the newest is last."""
        if len(self._attachments) != 1 or attachment.key not in self._attachments:
            self._attachments.pop(attachment.key, None)
            self._attachments[attachment.key] = attachment

    def _state_before(self, attachment: Attachment) -> Any:
        """Return the state of a policy or, where its settings are new, the newest of its system."""
        if attachment.key in self._attachments:
            return attachment.state
        others = reversed(self._attachments.values())
        return next((other.state for other in others if other.key[0] == attachment.key[0]), None)

    def _follow(
        self, attachment: Attachment, *, updates: bool, given: Mapping[str, Any] | None = None
    ) -> bool:
        """Let a policy's planner follow the stage; False: it cannot, as others still use what was before."""
        if not updates and attachment.follows_all:
            return True
        anew = updates and not (given is None and attachment.given is None)
        if anew or (updates and self._log.cost > self._log.limit and not self._others_in_force(attachment)):
            self._cut()
        if updates:
            attachment.given = given
        if attachment.planner is None:
            state = self._state_before(attachment)
            if self._stage.changed:
                if self._others_in_force(attachment):
                    return False
                self._cut()
            attachment.follow(self._stage, state)
        try:
            attachment.hand_over()
        except InputError:
            self._remember(attachment, attachment.state)  # the snapshot's rows are as wrong
            return False
        return True

    def _others_in_force(self, attachment: Attachment) -> bool:
        now = self._stage.core.now
        return any(other is not attachment and other.in_force(now) for other in self._attachments.values())

    def _settle(self) -> None:
        """Let all planners go; their states are kept."""
        for attachment in self._attachments.values():
            attachment.settle()

    def _cut(self) -> None:
        """Begin anew from what is now."""
        self._settle()
        self._now = self._stage.freeze() if self._now is None else self._now
        if self._stage.changed:
            self._stage = Stage(self._now, self._stage.total_stated)
        self._log = Log(self._as_contents())

    def _as_contents(self) -> Contents:
        attachments = tuple(attachment.written() for attachment in self._attachments.values())
        return Contents(self.snapshot(), self._stage.total_stated, self._policy, attachments)

    def _do_again(self, log: Log) -> None:
        """Become what a log leads to."""
        again = self._made_of(replace(log.contents, entries=tuple(log.entries)))
        self._stage, self._attachments, self._log, self._now = (
            again._stage,
            again._attachments,
            again._log,
            None,
        )

    def _contents(self) -> Contents:
        now = self._stage.core.now
        if any(attachment.in_force(now) for attachment in self._attachments.values()):
            return replace(self._log.contents, entries=tuple(self._log.entries))
        return self._as_contents()

    def snapshot(self) -> Snapshot:
        """Return the cluster as it is now."""
        raise NotImplementedError
