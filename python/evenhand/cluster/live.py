"""The cluster that lives on: events in, snapshots and plans out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self
from weakref import ref

import numpy as np

from evenhand.accepted import checked
from evenhand.arguments import expect
from evenhand.building.readback import matrix, seconds
from evenhand.cluster.attachment import Attachment, key_of
from evenhand.cluster.columns import Listed, given_events
from evenhand.cluster.events import Event
from evenhand.cluster.following import Following, one_at_a_time
from evenhand.cluster.log import Contents, Log, Planned, Updated, Written
from evenhand.cluster.replay import Past
from evenhand.cluster.saved import read, write
from evenhand.cluster.stage import Stage
from evenhand.cluster.steps import Done, done_by, events_of
from evenhand.config.triggers import Round
from evenhand.errors import InputError, NoSuchNameError, WrongKindError, shorten
from evenhand.frozen import freeze
from evenhand.plans.own import expect_unchanged
from evenhand.plans.past import NOTHING
from evenhand.plans.plan import Plan
from evenhand.plans.planning import expect_policy
from evenhand.state import State
from evenhand.systems.base import Policy
from evenhand.units.text import instant

if TYPE_CHECKING:
    from evenhand.model import Snapshot

__all__ = ["Cluster", "Mark"]


class Mark:
    """An instant of a cluster's history to which `Cluster.undo` goes back; opaque."""

    __slots__ = ("__weakref__", "_at", "_attachments", "_log", "_place", "_serial", "_stage")

    def __init__(self, serial: int, stage: Stage, log: Log, attachments: Iterable[Attachment]) -> None:
        self._serial = serial
        self._stage = stage
        self._at = stage.mark()
        self._log, self._place = log, len(log.entries)
        attachments = list(attachments)
        live = any(attachment.planner is not None for attachment in attachments)
        #: None: planners followed, which what had happened makes again.
        self._attachments = None if live else [attachment.written() for attachment in attachments]

    def __reduce__(self) -> tuple[Any, ...]:
        said = "a mark is of its cluster, in its process; copy or save the cluster itself"
        raise WrongKindError.about("mark", None, "type", said)


class Cluster(Following):
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

    The policies of this package have planners that follow the cluster: a plan costs what has changed and what
    it decides. With a policy of one's own `plan` takes a snapshot, O(cells).

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

    def __init__(self, snapshot: Snapshot, policy: Policy | None = None, state: State | None = None) -> None:
        from evenhand.model import Snapshot

        expect(isinstance(snapshot, Snapshot), "cluster", "snapshot", snapshot, "a Snapshot")
        if policy is not None:
            expect_policy("cluster", policy)
            expect_unchanged("cluster", policy, "a Cluster")
        right = state is None or (isinstance(state, State) and policy is not None)
        expect(right, "cluster", "state", state, "a State, beside a policy")
        if state is not None:
            state.check_clock(snapshot.now)
        known = () if state is None else (Written(key_of(policy), state),)
        self._begin(Contents(snapshot, policy=policy, attachments=known))

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
        with self._lock:
            listed = type(events) is list
            self._happen(Listed(events) if listed else given_events(events, self._stage.base.resources))

    @one_at_a_time
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
        if self._now is None:
            self._now = self._stage.freeze()
            if not any(attachment.planner is not None for attachment in self._attachments.values()):
                self._cut()
        return self._now

    @checked("update", policy="Any", state="Any")
    @one_at_a_time
    def update(self, policy: Policy | None = None, *, given: Mapping[str, Any] | None = None) -> None:
        """Update a policy's shares, statuses and queues; heartbeats use them from here on.

        Without any update, each plan has its own. After one, heartbeats use it until the policy's own period
        has passed (`fair_share_update_period` of YTsaurus); the plan after that updates first, and so does a
        round. Policies that compute everything anew in each plan have nothing to update.

        Parameters
        ----------
        policy : policy, optional
            By default the cluster's own.
        given : mapping, optional
            As of `evenhand.plan`: for this update, and the heartbeats that use it.

        Raises
        ------
        InputError
            As `plan`.

        Notes
        -----
        O(operations + requests); what the cluster's allocations add up to is known already. With given values
        O(cells).
        """
        policy, given = self._own(policy), None if given is None else freeze(given)
        if policy.period is None:
            return
        attachment = self._attachment(policy)
        now = self._stage.core.now
        if not self._follow(attachment, updates=True, given=given):
            self._cut()  # what others would still use has passed
            self._follow(attachment, updates=True, given=given)
        attachment.by_period = True
        try:
            attachment.update(now)
        except BaseException:
            self._do_again(self._log)
            raise
        self._stand(attachment)
        self._log.add(Updated(policy, given))

    def plan(
        self, policy: Policy | None = None, *, on: Any = None, given: Mapping[str, Any] | None = None
    ) -> Plan:
        """Plan what a policy would do now, and keep its state for the next time.

        Parameters
        ----------
        policy : policy, optional
            One of `evenhand.policies`; by default the cluster's own. One state is kept for each policy,
            by its settings. The first plan with other settings starts from the newest state of the same
            system: clocks and volumes are taken over, all else is computed anew, and the plan has the
            diagnostic ``state_settings_changed``.
        on : trigger or list of Heartbeat, optional
            As of `evenhand.plan`. Heartbeats use the last `update` as long as it is in force.
        given : mapping, optional
            As of `evenhand.plan`; then the plan is one of a snapshot, and the next one updates.

        Returns
        -------
        Plan
            Of `snapshot`. Nothing of it is carried out: see `carry_out`. Of a live planner its decisions are
            there; all else is made when it is first asked for, from what had happened until then.

        Raises
        ------
        InputError
            As of `evenhand.plan`.

        Notes
        -----
        With a live planner what its heartbeats or its run over the queue cost, and O(operations + requests)
        where it updates. Else as `evenhand.plan`, and O(cells) for the snapshot.
        """
        with self._lock:
            policy = self._own(policy)
            attachment = self._attachment(policy)
            follows = isinstance(policy, Policy) and (attachment.planner is not None or policy.follows())
            if given is not None or not follows:
                return self._plan_frozen(attachment, on, given)
            on = policy._trigger(on)
            now = self._stage.core.now
            updates = isinstance(on, Round) or not attachment.in_force(now)
            if not self._follow(attachment, updates=updates):
                return self._plan_frozen(attachment, on, None)
            arguments = policy.decides(on, self._find)  # by rows as the planner now has them
            log = self._log
            place = len(log.entries)
            try:
                decided = attachment.decide(now, arguments, updates=updates)
            except BaseException:
                self._do_again(log)
                raise
            self._stand(attachment)
            log.add(Planned(policy, on, updates))
            rows, taken = decided
            plan = Plan.__new__(Plan)  # what else it is made of is made again when it is asked for
            past = Past(log, place, self._stage.base, now, ref(self))
            plan.__dict__.update(
                policy=policy,
                on=on,
                given=None,
                taken=taken,
                _past=past,
                _rows=NOTHING if rows is None else rows,
            )
            return plan

    def _own(self, policy: Any) -> Any:
        """Return a policy, by default the cluster's own."""
        policy = self._policy if policy is None else policy
        if id(policy) not in self._known:
            expect_policy("plan", policy)
            expect_unchanged("plan", policy, "a Cluster")
        return policy

    @one_at_a_time
    def state(self, policy: Policy | None = None) -> State | None:
        """Return what the last plan of a policy left, without operations that were removed since.

        Parameters
        ----------
        policy : policy, optional
            By default the cluster's own.

        Returns
        -------
        State or None
            None: it has not planned yet with these settings.
        """
        return self._attachment(self._own(policy)).state

    @one_at_a_time
    def carry_out(self, plan: Plan) -> Done:
        """Carry out a plan's decisions, all of them or none.

        Victims are leaving, with deadline and beneficiary; what starts runs and is called
        ``"<request>/<number>"``; counts of requests fall.

        Parameters
        ----------
        plan : Plan
            Of this cluster; of an earlier instant too, as long as its decisions can still be carried out.

        Returns
        -------
        Done
            Names of allocations that started, ended and are requeued.

        Raises
        ------
        InputError
            If a victim or a request has gone meanwhile; nothing has changed then.

        Notes
        -----
        O(decisions × depth). Whether decisions still make sense tells ``plan.check(cluster.snapshot())``.
        """
        expect(hasattr(plan, "decisions"), "carry_out", "plan", plan, "a Plan")
        done = done_by(list(plan.decisions), self._stage.named("allocations"))
        self.apply(events_of(plan, self._stage))
        return done

    @one_at_a_time
    @checked("Cluster.usage", table='Literal["operations", "pools", "nodes"] | None')
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
        said = f"there is no {shorten(name)!r}"
        raise NoSuchNameError.about("usage", "name", "exists", said, shorten(name))

    @property
    def now(self) -> float:
        """The instant, in seconds."""
        return float(seconds(np.array([self._stage.core.now]))[0])

    @one_at_a_time
    def mark(self) -> Mark:
        """Return a mark to which `undo` goes back; keep it as long as it is wanted.

        Returns
        -------
        Mark
            While one is alive, what happens is recorded: O(1) an event.
        """
        mark = Mark(self._serial, self._stage, self._log, self._attachments.values())
        self._serial += 1
        self._marks.add(mark)
        return mark

    @one_at_a_time
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
        O(resources × depth) for each event since; O(cells), once, where a planner followed.
        """
        expect(isinstance(mark, Mark), "undo", "mark", mark, "a Mark")
        if mark not in self._marks:
            said = "the mark is of another cluster, or of what has been undone already"
            raise InputError.about("undo", "mark", "void", said)
        for later in [m for m in self._marks if m._serial > mark._serial]:
            self._marks.discard(later)
        mark._stage.undo(mark._at)
        self._stage, self._log, self._now = mark._stage, mark._log.until(mark._place), None
        if mark._attachments is None:
            self._do_again(self._log)
        else:
            self._attachments = {written.key: Attachment.read(written) for written in mark._attachments}

    @one_at_a_time
    def copy(self) -> Self:
        """Return a cluster that is the same and changes on its own; marks stay with this one.

        Returns
        -------
        Cluster
            Made in O(cells); while an `update` is in force, in what has happened since the log began too.
        """
        return self._made_of(self._contents())

    __copy__ = copy

    def __deepcopy__(self, _: Any) -> Cluster:
        return self.copy()

    @one_at_a_time
    @checked("Cluster.save")
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
        write(path, self._contents())

    @classmethod
    @checked("Cluster.load")
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
        return cls._made_of(read(path))

    @one_at_a_time
    def __reduce__(self) -> tuple[Any, ...]:
        return type(self)._made_of, (self._contents(),)

    def __repr__(self) -> str:
        names = self._stage.core.names
        rows = f"{len(names('allocations')):,} allocations, {len(names('nodes')):,} nodes"
        return f"<Cluster at {instant(self.now, self.now)}: {rows}>"
