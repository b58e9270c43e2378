"""What YTsaurus' policy says of requests, allocations and victims, with the settings that decided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.explain.facts import name_of
from evenhand.explain.recorded import recorded_of_victim
from evenhand.explain.told import NOTHING, Told
from evenhand.plans.live import limits
from evenhand.reasons import ACTIONS, reason
from evenhand.units.text import duration as seconds
from evenhand.units.text import number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenhand.explain.facts import Facts
    from evenhand.plans.decisions import Decision

__all__ = ["told", "victim"]

_Told = tuple[str, dict[str, Any]]


def told(facts: Facts, what: str, row: int, met: Mapping[str, Any], recorded: Mapping[str, Any]) -> Told:
    """Return what is said of an outcome and the numbers of it; of most what their code says is all."""
    tell = (_REQUESTS if what == "request" else _ALLOCATIONS).get(met["outcome"])
    found: _Told | None = None if tell is None or not recorded else tell(facts, row, met, recorded)
    if found is None:
        return NOTHING
    return Told(found[1], f"{reason(met['stage'], 'stage').sentence}, {found[0]}")


def _limits(facts: Facts, _row: int, event: Mapping[str, Any], recorded: Mapping[str, Any]) -> _Told | None:
    pools, operations = recorded["pools"], recorded["operations"]
    if "element" in pools:
        element = int(pools["element"])
    elif "element" in operations:
        element = facts.pools + int(operations["element"])
    else:
        return None
    most = facts.object(recorded["amounts"]["limit"], zeros=True)
    used = facts.object(recorded["amounts"]["used"], zeros=True)
    # Nothing is recorded of what is within its limit; of a limit of nothing that is not used neither.
    values, given = (column[element] for column in limits(facts.snapshot))
    none = (given & (values == 0)).tolist()
    lacks = event["missing"]
    shown = [
        r for r, nothing in zip(most, none, strict=True) if used[r] or most[r] or (nothing and lacks.get(r))
    ]
    limit, uses = {r: most[r] for r in shown}, {r: used[r] for r in shown}
    numbers = {"element": facts.keys[element], "used": uses, "limit": limit}
    has = facts.amounts_of(uses, limit)
    return f"{facts.element(element)} would be over its limits with it: it uses {has}", numbers


def _backoff(facts: Facts, _row: int, event: Mapping[str, Any], recorded: Mapping[str, Any]) -> _Told | None:
    if "until" not in recorded["times"]:
        return None
    last, until = (float(recorded["times"][name]) / 1e6 for name in ("last_attempt", "until"))
    span = facts.setting("preemptive_scheduling_backoff")
    text = (
        f"the last attempt to preempt on {facts.of_node(event['node'], 'the node')} was {facts.when(last)},"
        f" and the next is after {facts.when(until)}: preemptive_scheduling_backoff is {seconds(span)}"
    )
    return text, {"last_attempt": last, "until": until}


def _unschedulable(
    facts: Facts, row: int, _event: Mapping[str, Any], _recorded: Mapping[str, Any]
) -> _Told | None:
    operation = int(facts.snapshot._core.column("requests", "operation")[row])
    given = facts.snapshot.settings("operations").get(operation, {}).get("unschedulable_reason")
    if given is None:
        return None
    owner = name_of(facts.name("operations", operation))
    return f"operation {owner} cannot be scheduled: {name_of(given)}", {"unschedulable_reason": given}


def _stage_taken(
    facts: Facts, _row: int, event: Mapping[str, Any], _recorded: Mapping[str, Any]
) -> _Told | None:
    """Name what the stages that take victims have started on the node."""
    decisions = facts.plan.decisions
    starts = np.flatnonzero(decisions.column("action") == ACTIONS.index("start"))
    for place in starts.tolist():
        one = decisions[place]
        if one.stage != "regular" and str(one.node) == str(event["node"]) and one.request is not None:
            where = facts.of_node(event["node"], "the node")
            whose = f"request {name_of(one.request)} of operation {name_of(one.operation)}"
            return f"{whose} was started on {where} instead", {
                "started": one.request,
                "operation": one.operation,
            }
    return None


def _starving(
    facts: Facts, row: int, _event: Mapping[str, Any], _recorded: Mapping[str, Any]
) -> _Told | None:
    core = facts.snapshot._core
    operation = int(core.column("allocations", "operation")[row])
    owner = name_of(facts.name("operations", operation))
    starves = facts.plan.statuses.at(facts.pools + operation).starvation != "non_starving"
    if starves and not facts.setting("allow_preemption_from_starving_operations"):
        text = f"operation {owner} is starving itself, and allow_preemption_from_starving_operations is off"
        return text, {"allow_preemption_from_starving_operations": False}
    rows, parents = facts.snapshot.settings("pools"), core.column("pools", "parent")
    pool = int(core.column("operations", "pool")[operation])
    while pool >= 0 and rows.get(pool, {}).get("allow_normal_preemption", True):
        pool = int(parents[pool])
    if pool < 0:
        return None
    text = f"allow_normal_preemption of {facts.element(pool)} is off, so this stage takes nothing of it"
    return text, {"allow_normal_preemption": False, "pool": facts.keys[pool]}


def _others(facts: Facts, _row: int, event: Mapping[str, Any], _recorded: Mapping[str, Any]) -> _Told | None:
    """Say of the fewest victims that others make room: none was chosen before and given back."""
    if facts.setting("victim_selection") != "minimum" or event["request"] is None:
        return None
    cost = facts.setting("victim_cost")
    text = (
        f"on {facts.of_node(event['node'], 'its node')} other victims make room for request"
        f" {name_of(event['request'])}, the least by victim_cost {name_of(cost)}"
    )
    return text, {"victim_selection": "minimum", "victim_cost": cost}


_REQUESTS: Any = {
    "limits_of_operation_or_pool": _limits,
    "backoff": _backoff,
    "unschedulable": _unschedulable,
    "stage_taken": _stage_taken,
}
_ALLOCATIONS: Any = {
    "operation_starving": _starving,
    "spared_fits_without": _others,
    "given_back": _others,
}


def victim(facts: Facts, row: int) -> Told:
    """Return what would have spared a victim, what chose it, and the numbers of both."""
    decision = facts.plan.decisions[row]
    numbers: dict[str, Any] = {}
    spared = _spared_by(facts, decision, numbers)
    text = f"; {spared}" if spared else ""
    allocation = int(facts.plan.decisions.column("allocation")[row])
    seen = recorded_of_victim(facts, allocation)["numbers"]
    if "place" not in seen:
        return Told(numbers, text)
    core, key = facts.snapshot._core, str(facts.setting("order_key"))
    began = float(core.column("allocations", "last_job_start_time")[allocation]) / 1e6
    place, of = int(seen["place"]), int(seen["candidates"])
    numbers |= {"place": place, "candidates": of, "order_key": key, "began": began}
    saved = ", or with the latest saved progress" if key == "last_progress" else ""
    order = (
        f"of {number(of)} that the stage might take there it was number {number(place)}: the most preemptible"
        f" first, of those the newest{saved} (its last job began {facts.when(began)})"
    )
    alone = "it is the only one that the stage might take there"
    return Told(numbers, text, (alone if of == 1 else order,))


def _spared_by(facts: Facts, decision: Decision, numbers: dict[str, Any]) -> str:
    """Return the one comparison or property that would have spared a victim; empty: there is none."""
    if decision.reason == "resource_limits_violated":
        return "within these limits it would have been spared"
    if decision.reason == "resource_overcommit":
        return "on a node with that much more it would have been spared"
    if decision.reason == "graceful_preemption":
        numbers["preemption_mode"] = "graceful"
        return "with preemption_mode normal it would have been spared unless its room is needed"
    group = decision.numbers.get("group")
    setting = {
        "preemptible": "preemption_satisfaction_threshold",
        "aggressively_preemptible": "aggressive_preemption_satisfaction_threshold",
    }.get(str(group))
    factor = 0.0 if setting is None else facts.setting(setting)
    if setting is None or not factor or (facts.plan.given or {}).get("groups"):
        return ""
    numbers[setting] = factor
    share = "its operation's fair share" if factor == 1 else f"{number(factor)} of its operation's fair share"
    return f"within {share} ({setting}) it would have been spared"
