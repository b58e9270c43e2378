"""Plans obey their laws, and the engine plans what the reference plans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hypothesis import event, given

import evenhand as eh
from evenhand.testing import strategies as es
from evenhand.testing._plan_ledger import carried_out
from evenhand.testing.plan_laws import STAGES, Planned, check_plan
from tests.properties.pace import keeps_its_pace
from tests.properties.planning import Compute, engine, reference

SAME = ("action", "allocation", "request", "operation", "node", "stage", "reason", "beneficiary", "grace")


@given(drawn=es.plan_inputs())
def test_laws(drawn: es.PlanInput) -> None:
    plans = {compute: compute(drawn) for compute in (engine, reference)}
    for decision in plans[engine]["decisions"]:
        event(f"{decision['action']} in {decision['stage']}")
    assert essence(plans[engine]) == essence(plans[reference])
    data = eh.Snapshot.from_dict(drawn.snapshot).to_dict()
    heard = frozenset([drawn.on.node]) if isinstance(drawn.on, eh.Heartbeat) else None
    for compute, plan in plans.items():
        check_plan(Planned(data, plan, drawn.settings, drawn.state, heard))
        keeps_its_pace(data, plan, drawn.settings.pace, drawn.state)
        planning_again_is_quiet(compute, drawn, plan)
        only_differences_of_times_matter(compute, drawn, plan)


def planning_again_is_quiet(compute: Compute, drawn: es.PlanInput, plan: Mapping[str, Any]) -> None:
    """At the same instant no other is taken for room: what leaves counts as gone, and so do starts."""
    data = eh.Snapshot.from_dict(drawn.snapshot).to_dict()
    again = compute(replace(drawn, snapshot=carried_out(data, plan), state=plan["state"]))
    # Usage has changed, and with it fair shares and groups: graceful work and limits may see that.
    taken = [d for d in again["decisions"] if d["action"] == "preempt"]
    assert [d for d in taken if d["stage"] in (*STAGES, "overcommit")] == []


def only_differences_of_times_matter(compute: Compute, drawn: es.PlanInput, plan: Mapping[str, Any]) -> None:
    """All instants a day later: the same plan a day later (6)."""
    later = replace(drawn, snapshot=_later(drawn.snapshot), state=_later(drawn.state))
    assert essence(compute(later)) == essence(_later(plan))


INSTANTS = {
    *("now", "time", "since", "start_time", "last_job_start_time", "last_progress_time", "deadline"),
    *("overcommitted_since", "last_preemptive", "at", "until"),
    *("planned_end", "taken"),
}
DAY = 86_400.0


def _later(value: Any, key: str = "") -> Any:
    if isinstance(value, Mapping):
        moved = {k: _later(v, k) for k, v in value.items()}
        if isinstance(moved.get("operations"), list):  # a default, which has to move too
            moved["operations"] = [{"start_time": DAY, **row} for row in moved["operations"]]
        return moved
    if isinstance(value, list):
        return [_later(item, key) for item in value]
    return value + DAY if key in INSTANTS and value is not None else value


def essence(plan: Mapping[str, Any]) -> Mapping[str, Any]:
    """What two implementations must agree on."""
    elements = {
        (e["kind"], e["name"]): (e["since"], e["starvation"]) for e in plan["state"].get("elements", ())
    }
    nodes = {
        n["name"]: (n["last_preemptive"], n["overcommitted_since"]) for n in plan["state"].get("nodes", ())
    }
    statuses = plan["statuses"]
    return {
        "decisions": [
            {
                **{key: decision.get(key) or None for key in SAME},
                "within": decision.get("victim_within_fair_share"),
                "pool_within": decision.get("victim_pool_within_guarantee"),
            }
            for decision in plan["decisions"]
        ],
        "groups": dict(plan["groups"]),
        "statuses": {n: {k: s[k] for k in ("status", "starvation", "since")} for n, s in statuses.items()},
        "elements": elements,
        "nodes": nodes,
        "victims": {(v["kind"], v["name"]): tuple(v["taken"]) for v in plan["state"].get("victims", ())},
    }
