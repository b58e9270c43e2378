"""Answers to Backend.AI's kinds of priority.json, in the shape of each case's ``expected``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import evenhand as eh

Answers = dict[str, Any]

NOT_ELIGIBLE = frozenset({"above_threshold", "not_lower_priority"})


def victims_shipped(case: Mapping[str, Any]) -> Answers:
    """The planner of release 26.8."""
    config = case["config"]
    policy = eh.policies.BackendAI(
        "upstream",
        enabled=config["enabled"],
        preemption_order=config["order"],
        victim_scope=config["victim_scope"],
        agent_selection=config["agent_selection"],
    )
    plan = eh.plan(snapshot_of(case), policy)
    placements = []
    for number in range(len(case["pending"]["requirements"])):
        request = f"r{number}"
        (placed,) = [d for d in plan.decisions if d.action != "preempt" and d.request == request] or [None]
        if placed is None:
            assert not plan.decisions, "a session starts as a whole or not at all"
            return {"placements": None, "failure": "stays_pending"}
        victims = [d.operation for d in plan.decisions.victims if d.beneficiary.request == request]
        placements.append({"agent": placed.node, "victims": list(dict.fromkeys(victims))})
    return {"placements": placements, "failure": None}


def victims_draft(case: Mapping[str, Any]) -> Answers:
    """The proposal."""
    plan = eh.plan(snapshot_of(case), eh.policies.BackendAI(**case["config"]))
    spared = {
        d["id"]: plan.why_not(f"{d['id']}@{agent}").code for d in case["running"] for agent in d["alloc"]
    }
    return {
        "victims": list(dict.fromkeys(d.operation for d in plan.decisions.victims)),
        "not_eligible": sorted(name for name, code in spared.items() if code in NOT_ELIGIBLE),
    }


def snapshot_of(case: Mapping[str, Any]) -> eh.Snapshot:
    """What is free and what runs, as a snapshot: a node has what is free and what its sessions hold."""
    capacity = {node["name"]: dict(node["free"]) for node in case["nodes"]}
    operations: list[dict[str, Any]] = [session("pending", case["pending"])]
    allocations = []
    for running in case["running"]:
        operations.append(session(running["id"], running))
        for agent, held in running["alloc"].items():
            for resource, amount in held.items():
                capacity[agent][resource] = capacity[agent].get(resource, 0) + amount
            allocations.append(
                {
                    "name": f"{running['id']}@{agent}",
                    "operation": running["id"],
                    "node": agent,
                    "resources": held,
                    "start_time": running["started"] or 0,
                }
            )
    resources = sorted({resource for amounts in capacity.values() for resource in amounts})
    return eh.Snapshot.from_dict(
        {
            "now": 10_000,
            "resources": {resource: {} for resource in resources},
            "nodes": [{"name": name, "capacity": amounts} for name, amounts in capacity.items()],
            "operations": operations,
            "allocations": allocations,
            "requests": [
                {"name": f"r{number}", "operation": "pending", "resources": need}
                for number, need in enumerate(case["pending"]["requirements"])
            ],
        },
        order="rows",
    )


def session(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """One row of the operations."""
    row: dict[str, Any] = {"name": name, "user": "ann", "settings": {}}
    if "priority" in given:
        row["priority"] = given["priority"]
    if "job_priority" in given:
        row["settings"]["job_priority"] = given["job_priority"]
    if given.get("started", 0) is None:
        row["settings"]["started"] = False
    return row


KINDS: Mapping[str, Callable[[Mapping[str, Any]], Answers]] = {
    function.__name__: function for function in (victims_shipped, victims_draft)
}
