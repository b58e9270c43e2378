"""The state of a plan: from names to the core's rows, and back."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.building.readback import NO_TIME
from evenhand.diagnostics import CODES, Diagnostic
from evenhand.plans.columns import Name, seconds_of
from evenhand.reasons import STARVATION
from evenhand.state import State

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from evenhand.model import Snapshot
    from evenhand.shares import Shares

__all__ = ["fingerprint", "next_state", "next_state_of_jobs", "read_job_memory", "read_memory"]

_CLOCKS = ("last_preemptive", "overcommitted_since")


def fingerprint(policy: Any) -> str:
    """Return a digest of a policy's settings.

    Parameters
    ----------
    policy : policy
        Anything with ``to_dict()``.

    Returns
    -------
    str
    """
    text = json.dumps(policy.to_dict(), sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def read_memory(
    snapshot: Snapshot, policy: Any, state: State | None
) -> tuple[dict[str, NDArray[Any]], tuple[Diagnostic, ...]]:
    """Return a state's clocks by the snapshot's rows, as the core takes them.

    Parameters
    ----------
    snapshot : Snapshot
        What is.
    policy : policy
        Whose settings go on from the state.
    state : State or None
        What the plan before left; None: nothing is remembered.

    Returns
    -------
    columns : dict of str to array
        ``since`` (int64 microseconds, E), ``starvation`` (uint8, E), ``last_preemptive`` and
        ``overcommitted_since`` (int64 microseconds, N). Elements are pools, the root first, then operations.
    diagnostics : tuple of Diagnostic
        Names that left; changed settings.

    Raises
    ------
    InputError
        If the snapshot is older than the state.

    Notes
    -----
    O(elements + nodes + rows of the state). Where a node of the snapshot has an ``overcommitted_since`` of
    its own, the core takes that in the place of the state's.
    """
    pools, elements = snapshot.pool_count, snapshot.pool_count + snapshot.operation_count
    since = np.full(elements, NO_TIME, np.int64)
    starvation = np.zeros(elements, np.uint8)
    clocks = {clock: np.full(snapshot.node_count, NO_TIME, np.int64) for clock in _CLOCKS}
    columns: dict[str, NDArray[Any]] = {"since": since, "starvation": starvation, **clocks}
    if state is None:
        return columns, ()
    state.check_clock(snapshot.now)
    found = []
    row_of = {("pool", name): row for row, name in enumerate(snapshot.names("pools"))}
    row_of |= {("operation", name): row for row, name in enumerate(snapshot.names("operations"), pools)}
    left: list[Name] = []
    for key, kept in state.elements.items():
        row = row_of.get(key)
        if row is None:
            left.append(key[1])
        else:
            since[row] = _micros(kept["since"])
            starvation[row] = STARVATION.index(kept["starvation"])
    found += _left("state_element_left", "pools and operations", left)
    nodes = {name: row for row, name in enumerate(snapshot.names("nodes"))}
    left = []
    for name, kept in state.nodes.items():
        row = nodes.get(name)
        if row is None:
            left.append(name)
            continue
        for clock in _CLOCKS:
            if kept[clock] is not None:
                clocks[clock][row] = _micros(kept[clock])
    found += _left("state_node_left", "nodes", left)
    return columns, (*found, *_changed(policy, state))


def read_job_memory(
    snapshot: Snapshot, policy: Any, state: State | None
) -> tuple[dict[str, NDArray[Any]], tuple[Diagnostic, ...]]:
    """Return what a state remembers of operations, where whole jobs or sessions are scheduled.

    Parameters
    ----------
    snapshot : Snapshot
        What is.
    policy : policy
        Whose settings go on from the state.
    state : State or None
        What the plan before left; None: nothing is remembered.

    Returns
    -------
    columns : dict of str to array
        ``last_preempt`` (int64 microseconds, one an operation).
    diagnostics : tuple of Diagnostic
        Names that left; changed settings.

    Raises
    ------
    InputError
        If the snapshot is older than the state.
    """
    last = np.full(snapshot.operation_count, NO_TIME, np.int64)
    if state is None:
        return {"last_preempt": last}, ()
    state.check_clock(snapshot.now)
    row_of = {name: row for row, name in enumerate(snapshot.names("operations"))}
    left = [name for name in state.operations if name not in row_of]
    for name, kept in state.operations.items():
        if name in row_of:
            last[row_of[name]] = _micros(kept["last_preempt"])
    found = _left("state_element_left", "pools and operations", left)
    return {"last_preempt": last}, (*found, *_changed(policy, state))


def _changed(policy: Any, state: State) -> list[Diagnostic]:
    if not state.policy or state.policy == fingerprint(policy):
        return []
    return [Diagnostic("state_settings_changed", (), CODES["state_settings_changed"])]


def _left(code: str, what: str, names: Sequence[Name]) -> list[Diagnostic]:
    if not names:
        return []
    shown = ", ".join(map(str, names[:5])) + (", ..." if len(names) > 5 else "")
    message = f"{len(names)} {what} of the state have left and are dropped: {shown}"
    return [Diagnostic(code, tuple(names), message, {"count": len(names)})]


def _micros(instant: float | None) -> int:
    return NO_TIME if instant is None else round(instant * 1e6)


def next_state(snapshot: Snapshot, policy: Any, shares: Shares, memory: Mapping[str, NDArray[Any]]) -> State:
    """Return what the next plan goes on from.

    Parameters
    ----------
    snapshot : Snapshot
    policy : policy
    shares : Shares
        Of the plan's update: volumes of integral pools.
    memory : mapping
        The core's clocks; as in `read_memory`.

    Returns
    -------
    State
    """
    names, pools = snapshot.element_names, snapshot.pool_count
    since, starvation = seconds_of(memory["since"]), memory["starvation"].tolist()
    kept = np.flatnonzero((memory["since"] != NO_TIME) | (memory["starvation"] != 0)).tolist()
    ticking = np.flatnonzero(np.any([memory[clock] != NO_TIME for clock in _CLOCKS], axis=0)).tolist()
    clocks = {clock: seconds_of(memory[clock]) for clock in _CLOCKS}
    nodes = snapshot.names("nodes")
    base = shares.state
    return State(
        base.time,
        base.pools,
        base.settings,
        fingerprint(policy),
        {
            ("pool" if row < pools else "operation", names[row]): {
                "since": since[row],
                "starvation": STARVATION[starvation[row]],
            }
            for row in kept
        },
        {nodes[row]: {clock: clocks[clock][row] for clock in _CLOCKS} for row in ticking},
    )


def next_state_of_jobs(snapshot: Snapshot, policy: Any, memory: Mapping[str, NDArray[Any]]) -> State:
    """Return what the next plan goes on from, where whole jobs or sessions are scheduled.

    Parameters
    ----------
    snapshot : Snapshot
    policy : policy
    memory : mapping
        The core's clocks; as in `read_job_memory`.

    Returns
    -------
    State
    """
    names, last = snapshot.names("operations"), seconds_of(memory["last_preempt"])
    operations = {names[row]: {"last_preempt": at} for row, at in enumerate(last) if at is not None}
    return State(snapshot.now, policy=fingerprint(policy), operations=operations)
