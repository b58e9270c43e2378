"""Jobs of several parts among jobs of one host each: the planner and the readable rules decide the same."""

from __future__ import annotations

from typing import Any

from hypothesis import given

import evenhand as eh
from evenhand.testing import strategies as es
from evenhand.testing.strategies._picking import Pick, picks
from tests.properties.gridengine.test_reference import said
from tests.reference.gridengine import Run, World

NOW = 1000


def full_hosts(pick: Pick) -> dict[str, Any]:
    """Two to four hosts, full or nearly so; up to nine jobs on them; jobs of two to five parts wait."""
    hosts = [f"h{n}" for n in range(pick(range(2, 5)))]
    used = {host: {"slots": 0, "h_vmem": 0} for host in hosts}
    operations: list[dict[str, Any]] = []
    allocations, requests, reservations = [], [], []
    for j in range(pick(range(3, 10))):
        name, host = f"1{j}", pick(hosts)
        needs = {"slots": pick((1, 2, 3)), "h_vmem": pick((0, 1, 2, 4))}
        row: dict[str, Any] = {"name": f"{name}-a", "operation": name, "node": host, "resources": needs}
        row |= {"start_time": pick((100, 500)), "rerunnable": pick((True, False))}
        row |= {"checkpointable": pick((False, False, True))}
        if pick(range(4)):
            row["planned_end"] = pick((1050, 1200, 1250, 1500, 4000))
        operations.append({"name": name, "priority": pick((0.1, 0.2, 0.3, 0.7))})
        allocations.append(row)
        for r, amount in needs.items():
            used[host][r] += amount
    for j in range(pick(range(1, 4))):
        name = f"2{j}"
        operations.append({"name": name, "priority": pick((0.8, 0.6, 0.25))})
        needs = {"slots": pick((1, 2, 3)), "h_vmem": pick((0, 1, 2))}
        row = {"name": f"{name}-r", "operation": name, "resources": needs, "count": pick((2, 3, 4, 5, 1))}
        row |= {"submit_time": j, "reserve": True}
        if pick(range(4)):
            row["duration"] = pick((50, 100, 400))
        requests.append(row)
    for j in range(pick((0, 0, 1, 2))):
        start = pick((1000, 1100, 1300))
        row = {"name": f"v{j}", "node": pick(hosts), "resources": {"slots": pick((1, 2))}}
        row |= {"request": pick(requests)["name"], "from": start, "until": start + pick((100, 700))}
        reservations.append(row)
    nodes = [
        {"name": host, "capacity": {r: amount + pick((0, 0, 0, 1, 2)) for r, amount in used[host].items()}}
        for host in hosts
    ]
    return {
        "now": NOW,
        "resources": {
            "slots": {"kind": "slots"},
            "h_vmem": {"kind": "memory", "available_after_preemption": pick((False, True))},
        },
        "nodes": nodes,
        "operations": operations,
        "allocations": allocations,
        "requests": requests,
        "reservations": reservations,
    }


@given(pick=picks(128), settings=es.gridengine_settings(licences=False))
def test_parts_find_hosts_as_the_rules_say(pick: Pick, settings: Any) -> None:
    data = full_hosts(pick)
    plan = eh.plan(eh.Snapshot.from_dict(data), eh.policies.GridEngine(**settings.model_dump()))
    run = Run(World(data, settings))
    assert said(plan) == run.decisions
    assert {r.request: r.rule for r in plan.refusals} == run.rules
