"""Answers of YuniKorn's own code through `eh.plan`, where a plan's pass comes to the same attempt."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import evenhand as eh
from tests.shared import DATA, SHARED

PART = DATA / "conformance" / "yunikorn-oracle.jsonl.gz"
NOW = 10_000


def lines() -> Iterator[Mapping[str, Any]]:
    """Attempts of all recorded answers or, without these, of the part that is kept here."""
    whole = SHARED / "cases" / "yunikorn-oracle.jsonl.gz"
    with gzip.open(whole if whole.exists() else PART, "rt") as file:
        yield from (line for line in map(json.loads, file) if line["case"]["kind"] == "preempt")


def queues(tree: Mapping[str, Any], path: str = "", parent: str | None = None) -> Iterator[dict[str, Any]]:
    own = f"{path}.{tree['name']}" if path else str(tree["name"])
    if path:
        row = {"name": own, "strong_guarantee": tree.get("guaranteed"), "limits": tree.get("max")}
        row |= {"parent": parent, "settings": {"properties": tree.get("properties")}}
        row["settings"] = {k: v for k, v in row["settings"].items() if v}
        yield {k: v for k, v in row.items() if v}
    for child in tree.get("children", ()):
        yield from queues(child, own, own if path else None)


def snapshot_of(case: Mapping[str, Any]) -> eh.Snapshot | None:
    """Return what a plan is made of; None: no snapshot says the same."""
    rows, ask = case["allocations"], case["ask"]
    text = json.dumps(case["queues"])
    overridden = '"allocated"' in text or '"preempting"' in text
    if overridden or case["config"]["predicates"]["mode"] != "none" or ask.get("required_node"):
        return None
    if any(not row.get("in_app", True) or row.get("released") for row in rows):
        return None
    if any(node.get("reservations") for node in case["nodes"]) or case["queues"].get("properties"):
        return None
    if not all(node.get("schedulable", True) for node in case["nodes"]):
        return None
    if any(0 in row["resources"].values() for row in (*rows, ask)):
        return None  # an amount of 0 is not what no amount is, and a snapshot cannot say it
    names = sorted({r for node in case["nodes"] for r in node["capacity"]})
    if any(r not in names for row in (*rows, ask) for r in row["resources"]):
        return None
    apps = {(row["app"], row["queue"]) for row in (*rows, ask)}
    if len({app for app, _ in apps}) < len(apps):
        return None
    allocations = [
        {
            "name": row["key"],
            "operation": row["app"],
            "node": row["node"],
            "resources": row["resources"],
            "start_time": row["create_time_s"],
            "priority": row["priority"],
            "preemptible": row["allow_preempt_self"],
            "originator": row["originator"],
            **({"required_node": row["required_node"]} if row.get("required_node") else {}),
            **({"state": "preempting"} if row.get("preempted") else {}),
        }
        for row in rows
    ]
    return eh.Snapshot.from_dict(
        {
            "now": NOW,
            "resources": {r: {} for r in names},
            "nodes": [{"name": node["id"], "capacity": node["capacity"]} for node in case["nodes"]],
            "pools": list(queues(case["queues"])),
            "operations": [{"name": app, "pool": queue} for app, queue in sorted(apps)],
            "allocations": allocations,
            "requests": [
                {
                    "name": ask["key"],
                    "operation": ask["app"],
                    "resources": ask["resources"],
                    "priority": ask["priority"],
                    "submit_time": 0,
                }
            ],
        }
    )


def nodes_tried(case: Mapping[str, Any], snapshot: eh.Snapshot) -> bool | None:
    """Whether a pass has tried all nodes when it preempts; None: it finds room without that."""
    data, ask = snapshot.to_dict(), case["ask"]
    pools = {row["name"]: row for row in data["pools"]}
    path = ask["queue"].split(".")
    above = [".".join(path[:i]) for i in range(2, len(path) + 1)]
    for pool in above:
        most = pools[pool].get("limits", {})
        used = Counter(ask["resources"])
        for row in case["allocations"]:
            if f"{row['queue']}.".startswith(f"{pool}."):
                used.update(row["resources"])
        if any(used[r] > most[r] for r in ask["resources"] if r in most and ask["resources"][r]):
            return False
    for node in case["nodes"]:
        free = Counter(node["capacity"])
        for row in case["allocations"]:
            if row["node"] == node["id"]:
                free.subtract(row["resources"])
        if all(free[r] >= amount for r, amount in ask["resources"].items() if amount):
            return None
    return True


def test_recorded_attempts_through_plans() -> None:
    found: Counter[str] = Counter()
    upstream = eh.policies.YuniKorn("upstream")
    for line in lines():
        case, expected = line["case"], line["expected"]
        snapshot = snapshot_of(case)
        if snapshot is None or nodes_tried(case, snapshot) is not case["config"]["nodes_tried"]:
            found["no plan"] += 1
            continue
        plan = eh.plan(snapshot, upstream)
        victims = [d.allocation for d in plan.decisions.victims]
        node = [d.node for d in plan.decisions if d.action == "reserve"]
        assert victims == expected.get("victims_in_order", expected.get("victims", [])), case["name"]
        assert node == ([expected["node"]] if expected["success"] else []), case["name"]
        found["success" if expected["success"] else "failure"] += 1
    assert min(found["success"], found["failure"]) >= 5, found
