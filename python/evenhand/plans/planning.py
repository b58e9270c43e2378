"""Plan: what a policy would do with a snapshot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

from evenhand.arguments import expect
from evenhand.building.problems import shorten
from evenhand.building.single import CellError, one_duration
from evenhand.config.kinds import LONGEST
from evenhand.errors import InputError, Problem, printable
from evenhand.plans.domains import check_domains
from evenhand.plans.own import expect_unchanged
from evenhand.state import State

if TYPE_CHECKING:
    from datetime import timedelta

    from evenhand.model import Snapshot
    from evenhand.plans.plan import Plan
    from evenhand.systems.base import Policy

__all__ = ["expect_policy", "plan", "waited_for"]


@overload
def plan(
    snapshot: Snapshot,
    policy: Policy,
    state: State | None = None,
    *,
    on: Any = None,
    given: Mapping[str, Any] | None = None,
    as_if_waiting: float | str | timedelta | None = None,
) -> Plan: ...
@overload
def plan(
    snapshot: Mapping[str, Snapshot],
    policy: Policy | Mapping[str, Policy],
    state: Mapping[str, State] | None = None,
    *,
    on: Any = None,
    given: Mapping[str, Any] | None = None,
    as_if_waiting: float | str | timedelta | None = None,
) -> dict[str, Plan]: ...
def plan(
    snapshot: Snapshot | Mapping[str, Snapshot],
    policy: Policy | Mapping[str, Policy],
    state: Any = None,
    *,
    on: Any = None,
    given: Mapping[str, Any] | None = None,
    as_if_waiting: float | str | timedelta | None = None,
) -> Plan | dict[str, Plan]:
    """Plan what a policy would do now, with a reason for everything.

    Parameters
    ----------
    snapshot : Snapshot or mapping of str to Snapshot
        What is. Several domains (partitions, resource groups) are a mapping by name; then the other
        arguments may be mappings by the same names, and so is the result.
    policy : policy
        One of `evenhand.policies`.
    state : State, optional
        What the plan before left (``plan.state``): clocks of starvation and of nodes, volumes. Without
        it nothing has waited yet, so the first plan of a cluster only starts the waiting clocks.
    on : trigger, optional
        What the policy acts on: ``eh.Round()``, ``eh.Heartbeat(node)`` or a list of heartbeats, each of
        which sees what those before it decided; by default the policy's own.
    given : mapping, optional
        ``fair_share`` (element → resource → share), ``starvation`` (element → state) and ``groups``
        (allocation → group) that stand in the place of what would be computed. Of YuniKorn: see
        `evenhand.systems.yunikorn.policy.YuniKorn.plan`.
    as_if_waiting : float, str or timedelta, optional
        Instead of a state: assume that nothing has changed for this long (seconds, or text such as "10m").
        What is below its fair share has waited for that time, and nothing was preempted in it.

    Returns
    -------
    Plan or dict of str to Plan
        Decisions in the order in which they are to be carried out, refusals, statuses, groups and the
        next state. The same input gives the same plan, whatever the order of rows.

    Raises
    ------
    InputError
        If the settings of a row are unknown or wrong, the snapshot is older than the state, a name in
        ``on`` or ``given`` is not in the snapshot, or an argument is of another kind; of several
        snapshots the message names the one that is meant, and a node may be in one of them only,
        nor may logical nodes of one ``physical`` machine together have more than it.

    Notes
    -----
    No clock is read and no file is touched. The interpreter lock is released. O(n log n) in pools,
    operations and allocations, and for each heartbeat O(candidates + allocations of the node).

    Examples
    --------
    >>> import evenhand as eh
    >>> snapshot = eh.Snapshot.from_dict({
    ...     "now": 100, "resources": {"cpu": {}},
    ...     "nodes": [{"name": "n1", "capacity": {"cpu": 2}}],
    ...     "operations": [{"name": "old"}, {"name": "new"}],
    ...     "allocations": [{"name": f"a{i}", "operation": "old", "node": "n1", "resources": {"cpu": 1},
    ...                      "start_time": i} for i in range(2)],
    ...     "requests": [{"name": "r", "operation": "new", "resources": {"cpu": 1}}]})
    >>> plan = eh.plan(snapshot, eh.policies.YTsaurus(), given={"starvation": {"new": "starving"}})
    >>> [(d.action, d.allocation or d.request, d.reason) for d in plan.decisions]
    [('preempt', 'a1', 'preemption'), ('start', 'r', 'fits_after_preemption')]
    >>> eh.plan(snapshot, eh.policies.YTsaurus(), as_if_waiting="10m").decisions == plan.decisions
    True
    """
    waited = None if as_if_waiting is None else waited_for("plan", as_if_waiting, state)
    if isinstance(snapshot, Mapping):
        return _several(snapshot, policy, state, on, given, waited)
    return _one(snapshot, policy, state, on, given, waited)


def _several(
    snapshots: Mapping[str, Snapshot], policy: Any, state: Any, on: Any, given: Any, waited: float | None
) -> dict[str, Plan]:
    if snapshots and not any(hasattr(one, "_core") for one in snapshots.values()):
        _must_be_snapshot(snapshots)
    known = [*snapshots]
    for name, one in snapshots.items():
        with _naming(name):
            _must_be_snapshot(one)
    for argument, value in (("policy", policy), ("state", state), ("on", on)):
        if isinstance(value, Mapping):
            _same_names(argument, value, known)
    check_domains(snapshots)
    _must_be_given(given)
    each = given is not None and set(given) <= set(known)

    def of(name: str, value: Any) -> Any:
        return value.get(name) if isinstance(value, Mapping) else value

    plans: dict[str, Plan] = {}
    together = _share(snapshots, {name: of(name, policy) for name in known})
    if together is not None:
        shared: dict[str, Plan] | None = together(
            snapshots,
            {
                name: (
                    *(of(name, policy), of(name, state), of(name, on)),
                    given.get(name) if each and given is not None else given,
                )
                for name in known
            },
        )
        if shared is not None:
            return shared
    for name, one in snapshots.items():
        with _naming(name):
            values = given.get(name) if each else given
            plans[name] = _one(one, of(name, policy), of(name, state), of(name, on), values, waited)
    return plans


def _share(snapshots: Mapping[str, Snapshot], policies: Mapping[str, Any]) -> Any:
    """Return what plans domains of one system that share something; None: each is planned for itself."""
    kinds = {type(policy) for policy in policies.values()}
    together = kinds.pop().together if len(kinds) == 1 and len(snapshots) > 1 else None
    if together is not None:
        for policy in policies.values():
            expect_unchanged("plan", policy, "a plan of several snapshots")
    return together


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Let problems say of which snapshot they are."""
    try:
        yield
    except InputError as error:
        found = [replace(p, message=f"snapshot {name!r}: {p.message}") for p in error.problems]
        raise InputError(found, error.omitted) from None


def _one(snapshot: Any, policy: Any, state: Any, on: Any, given: Any, waited: float | None) -> Plan:
    _must_be_snapshot(snapshot)
    expect_policy("plan", policy)
    expect(state is None or isinstance(state, State), "plan", "state", state, "a State")
    _must_be_given(given)
    if waited is not None:
        began = snapshot.replace(previous_update=None)
        state = _waiting(policy.plan(began, None, on, given).state, waited)
    result: Plan = policy.plan(snapshot, state, on, given)
    return result


def waited_for(function: str, value: Any, state: Any) -> float:
    """Return for how many seconds all has been as it is."""
    expect(state is None, function, "as_if_waiting", value, "absent where a state is given")
    try:
        seconds = float(one_duration(value))
        if not 0 <= seconds <= LONGEST:
            raise CellError("range", f"is {shorten(value)}; it must be between 0 and a hundred years")
    except CellError as error:
        message = printable(f"as_if_waiting {error}")
        shown = printable(shorten(value))
        raise InputError(
            [Problem(function, None, None, "as_if_waiting", error.rule, shown, message)]
        ) from None
    return seconds


def _waiting(first: State, seconds: float) -> State:
    """Return what a first plan left, so much earlier, without what it remembers of its own decisions."""
    over = {
        name: {**clocks, "last_preemptive": None}
        for name, clocks in first.nodes.items()
        if clocks.get("overcommitted_since") is not None
    }
    undecided = replace(first, nodes=over, operations={}, victims={}, requests={})
    return undecided.set_back(first.time - seconds)


def expect_policy(function: str, policy: Any) -> None:
    """Refuse what is no policy."""
    from evenhand.systems.base import Policy

    expect(isinstance(policy, Policy), function, "policy", policy, "one of evenhand.policies")


def _must_be_snapshot(value: Any) -> None:
    from evenhand.model import Snapshot

    known = "a Snapshot, as Snapshot.from_dict makes of plain data, or a mapping of names to them"
    expect(isinstance(value, Snapshot), "plan", "snapshot", value, known)


def _must_be_given(value: Any) -> None:
    right = value is None or isinstance(value, Mapping)
    expect(right, "plan", "given", value, "an object (what: values by name)")


def _same_names(argument: str, values: Mapping[str, Any], known: list[str]) -> None:
    """Refuse names that no snapshot has, and a policy that is missing."""
    strange = [name for name in values if name not in known]
    missing = [name for name in known if argument == "policy" and name not in values]
    for name, said in (*((n, "names no snapshot") for n in strange), *((n, "is missing") for n in missing)):
        message = f"{argument} {name!r} {said}; there are {', '.join(map(str, known))}"
        raise InputError([Problem("plan", None, name, argument, "exists", None, message)])
