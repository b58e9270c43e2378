"""One update and its heartbeats: the whole plan as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.config.triggers import Heartbeat, Round
from evenhand.shares import Shares, fair_share
from evenhand.state import State
from evenhand.systems.ytsaurus.settings import YTsaurusSettings
from tests.reference.ytsaurus.effective import resolve
from tests.reference.ytsaurus.groups import cut
from tests.reference.ytsaurus.heartbeat import Planner
from tests.reference.ytsaurus.reading import read_world
from tests.reference.ytsaurus.status import (
    find_ancestors,
    find_statuses,
    pool_satisfaction,
    priority,
    satisfaction,
    starve,
    timeouts,
)
from tests.reference.ytsaurus.vectors import micros
from tests.reference.ytsaurus.world import Element, World

if TYPE_CHECKING:
    from evenhand.model import Snapshot

__all__ = ["reference_plan", "update"]

_SEVERAL = "{} (operation)"

# Parts of a state that fair shares go on from.
_OF_SHARES = ("schema", "time", "settings", "pools")


def reference_plan(
    snapshot: Snapshot,
    settings: YTsaurusSettings | None = None,
    state: Mapping[str, Any] | None = None,
    *,
    on: Round | Heartbeat | None = None,
    given: Mapping[str, Any] | None = None,
    shares: Shares | None = None,
) -> dict[str, Any]:
    """Plan by the published rules, slowly.

    Parameters
    ----------
    snapshot : Snapshot
        What is.
    settings : YTsaurusSettings, optional
        Default: the preset "documented".
    state : mapping, optional
        "state" of the last plan.
    on : Round or Heartbeat, optional
        Default: a round.
    given : mapping, optional
        "fair_share", "starvation" and "groups" by name, in the place of computed ones.
    shares : Shares, optional
        Fair shares of the snapshot, if they are known already.

    Returns
    -------
    dict
        Plan in the form of the results' JSON, with "next_due": the next instant at which a clock
        runs out, None if none does.

    Raises
    ------
    InputError
        If settings of a row are wrong, or the state's clock is ahead.
    KeyError
        If there is no such node.

    Notes
    -----
    Source: YTsaurus preemption specification, sections 1 to 3.
    """
    settings = settings or YTsaurusSettings()
    before, given = dict(state or {}), dict(given or {})
    world = read_world(snapshot, settings, before)
    _read_nodes(world, before)
    if shares is None:
        volumes: dict[str, Any] = {key: before[key] for key in _OF_SHARES if key in before}
        kept = State.from_dict(volumes) if volumes else None
        shares = fair_share(snapshot, settings.fair_share, state=kept)
    update(world, shares, before, given)
    result: dict[str, Any] = {
        "statuses": {key: _status(world, element) for key, element in _by_key(world).items()},
        "groups": {str(a.name): a.group for a in world.allocations if a.running},
    }
    planner = Planner(world, given.get("groups", {}))
    match on or Round():
        case Heartbeat(name):
            planner.heartbeat({node.name: node for node in world.nodes}[name])
        case Round():
            for node in world.nodes:
                planner.heartbeat(node)
    return {
        "decisions": planner.decisions,
        "refusals": planner.refusals(),
        **result,
        "state": _state(world, shares),
        "diagnostics": [diagnostic.to_dict() for diagnostic in shares.diagnostics],
        "next_due": _next_due(world),
    }


def update(world: World, shares: Shares, before: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Compute settings in effect, statuses, starvation and groups."""
    resolve(world.pools, world.settings)
    columns = [shares[name].tolist() for name in ("fair_share", "demand_share", "usage_share")]
    effective, plain = shares["effective_fifo_index"], shares["fifo_index"]
    places = np.where(effective < 0, plain, effective).tolist()
    named = given.get("fair_share", {})
    for element, key in zip(world.elements, _by_key(world), strict=True):
        row = element.index
        element.fair_share, element.demand, element.used_at_update = (column[row] for column in columns)
        element.place_in_fifo = places[row]
        if key in named:
            element.fair_share = [float(named[key].get(r, 0.0)) for r in world.resources]
    find_statuses(world)
    starve(world, _clocks(before))
    for element, key in zip(world.elements, _by_key(world), strict=True):
        element.starvation = given.get("starvation", {}).get(key, element.starvation)
    find_ancestors(world.elements)
    cut(world, given.get("groups", {}))


def _by_key(world: World) -> dict[str, Element]:
    """Return elements by the name that they have in results."""
    keys: dict[str, Element] = {}
    for element in world.elements:
        keys[_SEVERAL.format(element.key) if element.key in keys else element.key] = element
    return keys


def _clocks(before: Mapping[str, Any]) -> dict[tuple[str, Any], tuple[int | None, str]]:
    return {
        (row["kind"], row["name"]): (
            None if row.get("since") is None else micros(row["since"]),
            row.get("starvation", "non_starving"),
        )
        for row in before.get("elements", ())
    }


def _read_nodes(world: World, before: Mapping[str, Any]) -> None:
    rows = {row["name"]: row for row in before.get("nodes", ())}
    for node in world.nodes:
        row = rows.get(node.name, {})
        if row.get("last_preemptive") is not None:
            node.last_preemptive = micros(row["last_preemptive"])
        if node.over_since is None and row.get("overcommitted_since") is not None:
            node.over_since = micros(row["overcommitted_since"])


def _status(world: World, element: Element) -> dict[str, Any]:
    wanting = {
        operation: satisfaction(operation.fair_share, operation.used_at_update, operation.demand)
        for operation in world.operations
        if operation.schedulable
    }
    effective = element.effective
    ancestors = (element.lowest_starving, element.lowest_aggressive)
    return {
        "status": element.status,
        "starvation": element.starvation,
        "since": _seconds(element.since),
        "satisfaction": pool_satisfaction(element, wanting)
        if element.is_pool
        else satisfaction(element.fair_share, element.used_at_update, element.demand),
        "tolerance": effective.tolerance,
        "timeout": effective.timeout,
        "aggressive_starvation": effective.enable_aggressive_starvation,
        "aggressive_preemption": effective.allow_aggressive_preemption,
        "lowest_starving_ancestor": None if ancestors[0] is None else ancestors[0].name,
        "lowest_aggressive_ancestor": None if ancestors[1] is None else ancestors[1].name,
        "priority": "none"
        if element.is_pool
        else priority(element, world.settings.scheduling_preemption_priority_scope),
    }


def _state(world: World, shares: Shares) -> dict[str, Any]:
    """Return what the next plan goes on from; elements and nodes that are as new are left out."""
    return {
        **shares.state.to_dict(),
        "elements": [
            {
                "name": element.name,
                "kind": "pool" if element.is_pool else "operation",
                "since": _seconds(element.since),
                "starvation": element.starvation,
            }
            for element in world.elements
            if element.since is not None or element.starvation != "non_starving"
        ],
        "nodes": [
            {
                "name": node.name,
                "last_preemptive": _seconds(node.last_preemptive),
                "overcommitted_since": _seconds(node.over_since),
            }
            for node in world.nodes
            if node.last_preemptive is not None or node.over_since is not None
        ],
        "victims": world.pace.victims(),
    }


def _next_due(world: World) -> float | None:
    """Return the next instant after which some clock says something else, with all else as it is."""
    tree = world.settings
    due: list[int] = []
    for element in world.elements:
        if element.since is None:
            continue
        plain, aggressive = timeouts(element, tree)
        if element.starvation == "non_starving":
            due.append(element.since + plain)
        if element.starvation != "aggressively_starving" and element.effective.enable_aggressive_starvation:
            due.append(element.since + aggressive)
    for node in world.nodes:
        if node.last_preemptive is not None:
            due.append(node.last_preemptive + micros(tree.preemptive_scheduling_backoff))
        if node.over_since is not None:
            due.append(node.over_since + micros(tree.node_overcommit_delay))
    due += [a.deadline for a in world.allocations if a.state == "preempting" and a.deadline is not None]
    return _seconds(min((instant for instant in due if instant >= world.now), default=None))


def _seconds(instant: int | None) -> float | None:
    return None if instant is None else instant / 1e6
