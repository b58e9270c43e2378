"""The cluster that lives on: events in, snapshots and plans out."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from threading import RLock
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar
from weakref import WeakSet

import numpy as np

from evenhand.arguments import expect
from evenhand.building.readback import matrix, seconds
from evenhand.cluster.changes import carry_out
from evenhand.cluster.columns import given_events
from evenhand.cluster.events import Event
from evenhand.cluster.kept import Kept, read, text_of
from evenhand.cluster.stage import Stage
from evenhand.cluster.steps import events_of, whole_plan
from evenhand.errors import InputError, Problem
from evenhand.files import replace_file
from evenhand.plans.planning import expect_policy
from evenhand.state import State

if TYPE_CHECKING:
    from evenhand.model import Snapshot

__all__ = ["Cluster", "Mark"]

_Key = tuple[str, str]  # system and settings
_P = ParamSpec("_P")
_R = TypeVar("_R")
_C = TypeVar("_C", bound="Cluster")


def _one_at_a_time(
    call: Callable[Concatenate[Cluster, _P], _R],
) -> Callable[Concatenate[Cluster, _P], _R]:
    """Let calls from several threads on one cluster run one after the other."""

    @wraps(call)
    def locked(self: Cluster, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        with self._lock:
            return call(self, *args, **kwargs)

    return locked  # type: ignore[return-value]  # the name of its first argument is another


class Mark:
    """An instant of a cluster's history to which `Cluster.undo` goes back; opaque."""

    __slots__ = ("__weakref__", "_at", "_serial", "_stage", "_states")

    def __init__(self, serial: int, stage: Stage, states: dict[_Key, Any]) -> None:
        self._serial = serial
        self._stage = stage
        self._at = stage.mark()
        self._states = states


class Cluster:
    """A scheduling domain that lives on and changes by events.

    Parameters
    ----------
    snapshot : Snapshot
        What is at the beginning.
    policy : policy, optional
        One of `evenhand.policies`, which plans where `plan` names no other.
    state : State, optional
        What the policy remembers, as the last plan before left it; only with a policy.

    Raises
    ------
    InputError
        If an argument is of another kind, or the state is of a later instant than the snapshot.

    Notes
    -----
    Calls from several threads run one after the other. A cluster can be copied, pickled and saved; marks stay
    with the original.

    An event costs O(resources × depth of the pool tree), beside the check of its own cells; one that puts or
    removes a row, the cells of the row. A pool that is put or removed costs O(cells), once for any number of
    rows that are put and removed one after the other; so does a row that is removed while others of the same
    call still refer to it, and a row with another `order` than the one before it while others refer to it.

    Examples
    --------
    >>> import evenhand as eh
    >>> cluster = eh.Cluster(eh.Snapshot.from_dict({
    ...     "resources": {"cpu": {}}, "nodes": [{"name": "n1", "capacity": {"cpu": 8}}],
    ...     "operations": [{"name": "etl"}]}))
    >>> cluster.apply([
    ...     {"event": "time", "now": 10},
    ...     {"event": "start",
    ...      "row": {"name": "a", "operation": "etl", "node": "n1", "resources": {"cpu": 2}}},
    ... ])
    >>> cluster.usage("n1")
    {'cpu': 2}
    >>> cluster.snapshot().allocation_count
    1
    """

    def __init__(self, snapshot: Snapshot, policy: Any = None, state: State | None = None) -> None:
        from evenhand.model import Snapshot

        expect(isinstance(snapshot, Snapshot), "cluster", "snapshot", snapshot, "a Snapshot")
        if policy is not None:
            expect_policy("cluster", policy)
        right = state is None or (isinstance(state, State) and policy is not None)
        expect(right, "cluster", "state", state, "a State, beside a policy")
        if state is not None:
            state.check_clock(snapshot.now)
        self._begin((snapshot, None, policy, {} if state is None else {_key(policy): state}))

    def _begin(self, kept: tuple[Snapshot, bool | None, Any, dict[_Key, Any]]) -> None:
        snapshot, total_stated, self._policy, self._states = kept
        self._stage = Stage(snapshot, total_stated)
        self._marks: WeakSet[Mark] = WeakSet()
        self._serial = 0
        self._lock = RLock()

    @_one_at_a_time
    def apply(self, events: Iterable[Event | Mapping[str, Any]] | Mapping[str, Any] | Any) -> None:
        """Carry out events in their order, all of them or none.

        Parameters
        ----------
        events : iterable, or columns
            Objects of the classes in `evenhand.cluster.events`, or dicts: ``event`` (the class's name in
            lower case) and the fields. Or columns, as a mapping of names to arrays or a frame: one row an
            event, ``event`` and a column a field, amounts and fields of rows dotted (``resources.cpu``,
            ``row.name``, ``row.resources.cpu``); null is absent.

        Raises
        ------
        InputError
            If an event is wrong; nothing has changed then. Problems have the table "events", the position of
            the event as row, the field and the rule.
        """
        if not self._marks:
            self._stage.forget()
        before = self._stage
        mark = before.mark()
        try:
            self._stage = carry_out(before, given_events(events, before.base.resources))
        except BaseException:
            self._stage = before
            before.undo(mark)
            raise

    @_one_at_a_time
    def snapshot(self) -> Snapshot:
        """Return the cluster as it is now.

        Returns
        -------
        Snapshot
            The same object as before if nothing has happened since.

        Notes
        -----
        O(cells), by columns; O(1) if nothing has happened.
        """
        frozen = self._stage.freeze()
        if frozen is not self._stage.base:
            self._stage = Stage(frozen, self._stage.total_stated)
        return frozen

    @_one_at_a_time
    def plan(self, policy: Any = None, *, on: Any = None, given: Mapping[str, Any] | None = None) -> Any:
        """Plan what a policy would do now, and keep its state for the next time.

        Parameters
        ----------
        policy : policy, optional
            One of `evenhand.policies`; by default the cluster's own. One state is kept for each policy,
            by its settings. The first plan with other settings starts from the newest state of the same
            system: clocks and volumes are taken over, all else is computed anew, and the plan has the
            diagnostic ``state_settings_changed``.
        on : trigger, optional
            As of `evenhand.plan`.
        given : mapping, optional
            As of `evenhand.plan`.

        Returns
        -------
        Plan
            Of `snapshot`. Nothing of it is carried out: see `carry_out`.

        Raises
        ------
        InputError
            As of `evenhand.plan`.

        Notes
        -----
        As `evenhand.plan`, and O(cells) for the snapshot.
        """
        policy = self._own(policy)
        key = _key(policy)
        plan = policy.plan(self.snapshot(), self._state_before(key), on, given)
        self._states.pop(key, None)
        self._states[key] = plan.state  # the newest is last
        return plan

    def _state_before(self, key: _Key) -> Any:
        """Return the state of a policy or, where its settings are new, the newest of its system."""
        if key in self._states:
            return self._states[key]
        return next((state for other, state in reversed(self._states.items()) if other[0] == key[0]), None)

    def _own(self, policy: Any) -> Any:
        """Return a policy, by default the cluster's own."""
        if policy is None:
            policy = self._policy
        expect_policy("plan", policy)
        return policy

    @_one_at_a_time
    def state(self, policy: Any = None) -> Any:
        """Return what the last plan of a policy left.

        Parameters
        ----------
        policy : policy, optional
            By default the cluster's own.

        Returns
        -------
        State or None
            None: it has not planned yet with these settings.
        """
        return self._states.get(_key(self._own(policy)))

    @_one_at_a_time
    def carry_out(self, plan: Any) -> None:
        """Carry out a plan's decisions, all of them or none.

        Victims are leaving, with deadline and beneficiary; what starts runs and is called
        ``"<request>/<number>"``; counts of requests fall.

        Parameters
        ----------
        plan : Plan
            Of this cluster; of an earlier instant too, as long as its decisions can still be carried out.

        Raises
        ------
        InputError
            If a victim or a request has gone meanwhile; nothing has changed then.

        Notes
        -----
        O(decisions × depth); O(cells) where something is resumed, reserved or kept in part. Whether decisions
        still make sense tells ``plan.check(cluster.snapshot())``.
        """
        expect(hasattr(plan, "decisions"), "carry_out", "plan", plan, "a Plan")
        if whole_plan(plan):
            self.apply(events_of(plan, self._stage))
        elif plan.snapshot == self.snapshot():
            self._stage = Stage(plan.snapshot.after(plan), self._stage.total_stated)
        else:
            message = "the plan resumes, reserves or keeps a part: it needs the snapshot it was made of"
            raise InputError([Problem("events", None, None, None, "snapshot", None, message)])

    @_one_at_a_time
    def usage(self, name: str | int, *, table: str | None = None) -> dict[str, float]:
        """Return what an operation, a pool or a node's allocations hold now.

        Parameters
        ----------
        name : str or int
        table : {"operations", "pools", "nodes"}, optional
            Where to look for it; by default in that order.

        Returns
        -------
        dict
            Resource to amount, in its units. What is leaving holds nothing.

        Raises
        ------
        KeyError
            If there is no such name.
        """
        for where in ("operations", "pools", "nodes") if table is None else (table,):
            row = self._stage.find(where, name)
            if row >= 0:
                quanta = self._stage.core.usage(where, row)[None, :]
                amounts = matrix(quanta, np.asarray(self._stage.base._head["quantum"]))[0].tolist()
                named = zip(self._stage.base.resources, amounts, strict=True)
                return {name: int(a) if float(a).is_integer() else a for name, a in named}
        raise KeyError(f"there is no {name!r}")

    @property
    def now(self) -> float:
        """The instant, in seconds."""
        return float(seconds(np.array([self._stage.core.now]))[0])

    @_one_at_a_time
    def mark(self) -> Mark:
        """Return a mark to which `undo` goes back; keep it as long as it is wanted.

        Returns
        -------
        Mark
            While one is alive, what happens is recorded: O(1) an event.
        """
        mark = Mark(self._serial, self._stage, dict(self._states))
        self._serial += 1
        self._marks.add(mark)
        return mark

    @_one_at_a_time
    def undo(self, mark: Mark) -> None:
        """Go back to a mark: rows, instant and the policies' states are what they were.

        Parameters
        ----------
        mark : Mark
            It stays good; marks that were taken after it are void.

        Raises
        ------
        ValueError
            If the mark is of another cluster, or void.

        Notes
        -----
        O(resources × depth) for each event since.
        """
        expect(isinstance(mark, Mark), "undo", "mark", mark, "a Mark")
        if mark not in self._marks:
            raise ValueError("the mark is of another cluster, or of what has been undone already")
        for later in [m for m in self._marks if m._serial > mark._serial]:
            self._marks.discard(later)
        mark._stage.undo(mark._at)
        self._stage = mark._stage
        self._states = dict(mark._states)

    @_one_at_a_time
    def copy(self) -> Self:
        """Return a cluster that is the same and changes on its own; marks stay with this one.

        Returns
        -------
        Cluster
            Made in O(rows).
        """
        other = type(self).__new__(type(self))
        other._stage = self._stage.copy()
        other._policy = self._policy
        other._states = dict(self._states)
        other._marks = WeakSet()
        other._serial = 0
        other._lock = RLock()
        return other

    __copy__ = copy

    def __deepcopy__(self, _: Any) -> Cluster:
        return self.copy()

    @_one_at_a_time
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the cluster, its policy and all states; the file is replaced at once or not at all.

        Parameters
        ----------
        path : str or path-like
            A JSON file; its folder must exist.

        Raises
        ------
        InputError
            If the cluster's own policy is of a class that is not of this package.
        OSError
            If it is a link or no regular file, or cannot be written; the old file is then as it was.

        Notes
        -----
        O(cells).
        """
        replace_file(path, text_of(self._kept()) + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a cluster that `save` wrote: its plans are what they would have been without that.

        Parameters
        ----------
        path : str or path-like

        Returns
        -------
        Cluster

        Raises
        ------
        InputError
            If the file is no complete cluster of this version; the message names the version that wrote it.
        OSError
            If it cannot be read.
        """
        return _restored(cls, read(path))

    def _kept(self) -> Kept:
        return self.snapshot(), self._stage.total_stated, self._policy, dict(self._states)

    @_one_at_a_time
    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self._kept())

    def __repr__(self) -> str:
        names = self._stage.core.names
        rows = f"{len(names('allocations')):,} allocations, {len(names('nodes')):,} nodes"
        return f"<Cluster at {self.now:g} s: {rows}>"


def _restored(cls: type[_C], kept: Kept) -> _C:
    cluster = cls.__new__(cls)
    cluster._begin(kept)
    return cluster


def _key(policy: Any) -> _Key:
    settings = json.dumps(policy.to_dict(), sort_keys=True, default=str)
    return getattr(policy, "system", type(policy).__qualname__), settings
