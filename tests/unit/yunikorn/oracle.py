"""Recorded cases of YuniKorn's own code as snapshots, and what a user's plans make of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import evenhand as eh

__all__ = ["ANSWERS", "fits_free", "has_headroom"]

NOW = 10_000
UPSTREAM = eh.policies.YuniKorn("upstream")
QUOTA = eh.policies.YuniKorn("upstream", quota_preemption=True)
Case = Mapping[str, Any]


def amounts(found: Mapping[str, int]) -> dict[str, Any]:
    """Return amounts as a row has them; zeros that are named are a setting."""
    zeros = {r: 0 for r, v in found.items() if v == 0}
    return {
        "resources": {r: v for r, v in found.items() if v},
        **({"settings": {"zeros": zeros}} if zeros else {}),
    }


def queues(tree: Case, path: str = "", parent: str | None = None) -> Iterator[dict[str, Any]]:
    """Yield the pools of a case; they are named by their paths."""
    own = f"{path}.{tree['name']}" if path else str(tree["name"])
    if path:
        row = {"name": own, "strong_guarantee": tree.get("guaranteed"), "limits": tree.get("max")}
        row |= {"parent": parent, "settings": {"properties": tree.get("properties")}}
        row["settings"] = {k: v for k, v in row["settings"].items() if v}
        yield {k: v for k, v in row.items() if v}
    for child in tree.get("children", ()):
        yield from queues(child, own, own if path else None)


def running(rows: Sequence[Case]) -> list[dict[str, Any]]:
    """Return allocations; of what is released only that it is no candidate counts."""
    return [
        {
            "name": row["key"],
            "operation": row["app"],
            "node": row["node"],
            **amounts(row["resources"]),
            "start_time": row["create_time_s"],
            "priority": row["priority"],
            "preemptible": row["allow_preempt_self"],
            "originator": row["originator"],
            **({"required_node": row["node"]} if row.get("required_node") or row.get("released") else {}),
            **({"state": "preempting"} if row.get("preempted") else {}),
        }
        for row in rows
    ]


def types_of(case: Case, asks: Sequence[Case]) -> list[str]:
    """Return all resources that a case names."""
    found = {r for row in (*case["allocations"], *asks) for r in row["resources"]}
    found |= {r for node in case.get("nodes", ()) for r in node["capacity"]}

    def below(tree: Case) -> None:
        found.update(tree.get("max") or (), tree.get("guaranteed") or ())
        for child in tree.get("children", ()):
            below(child)

    below(case["queues"])
    return sorted(found)


def data_of(case: Case, asks: Sequence[Case], **more: Any) -> dict[str, Any]:
    """Return a snapshot in which asks wait, and somebody else's fresh reservations keep their nodes."""
    apps = {(row["app"], row["queue"]) for row in case["allocations"]}
    apps |= {(ask["app"], ask["queue"]) for ask in asks}
    names = types_of(case, asks)
    others, kept = [], []
    for node in case["nodes"]:
        for place, _ in enumerate(node.get("reservations", ())):
            name = f"other-{node['id']}-{place}"
            others.append(  # more than there is: no headroom, so it waits
                {"name": name, "operation": "others", "resources": {names[0]: 10**9}, "submit_time": NOW}
            )
            kept.append({"name": name, "request": name, "node": node["id"], "resources": {}, "from": NOW})
    operations = [{"name": app, "pool": queue} for app, queue in sorted(apps)]
    pools = list(queues(case["queues"]))
    if others:
        pools.append({"name": "root.others"})
        operations.append({"name": "others", "pool": "root.others"})
    nodes = [
        {"name": n["id"], "capacity": n["capacity"], "schedulable": n.get("schedulable", True)}
        for n in case["nodes"]
    ]
    return {
        "now": NOW,
        "resources": {r: {"quantum": 1} for r in names},
        "nodes": nodes,
        "pools": pools,
        "operations": operations,
        "allocations": running(case["allocations"]),
        "requests": [
            {
                "name": ask["key"],
                "operation": ask["app"],
                **amounts(ask["resources"]),
                "priority": ask["priority"],
                "submit_time": 0,
            }
            for ask in asks
        ]
        + others,
        "reservations": kept,
        **more,
    }


def allowed(case: Case) -> list[str] | None:
    """Return the nodes for which a plug-in lets the ask in; None: there is none."""
    predicates = case["config"]["predicates"]
    if predicates["mode"] == "none":
        return None
    if predicates["mode"] == "all":
        return [node["id"] for node in case["nodes"]]
    return [call["node"] for call in predicates["preemption"]]


def has_headroom(case: Case, ask: Case) -> bool:
    """Whether an ask fits below all maxima, as things are."""
    tree, path = case["queues"], "root"
    for name in (*ask["queue"].split(".")[1:], None):
        used = Counter(ask["resources"])
        for row in case["allocations"]:
            if f"{row['queue']}.".startswith(f"{path}."):
                used.update(row["resources"])
        most = tree.get("max") or {}
        if any(v and used[r] > most[r] for r, v in ask["resources"].items() if most.get(r)):
            return False
        if name is not None:
            tree, path = next(c for c in tree["children"] if c["name"] == name), f"{path}.{name}"
    return True


def fits_free(case: Case, ask: Case) -> str | None:
    """Return the first node, which nobody else has reserved, where an ask fits as things are."""
    may = allowed(case)
    for node in sorted(case["nodes"], key=lambda n: str(n["id"])):
        free = Counter(node["capacity"])
        for row in case["allocations"]:
            if row["node"] == node["id"]:
                free.subtract(row["resources"])
        fits = all(free[r] >= v for r, v in ask["resources"].items() if v)
        open_ = node.get("schedulable", True) and not node.get("reservations")
        if fits and open_ and (may is None or node["id"] in may):
            return str(node["id"])
    return None


def decided(plan: eh.Plan, ask: str) -> tuple[list[Any], list[Any], list[Any]]:
    """Return victims, where an ask starts, and where it has reserved a node."""
    mine = [d for d in plan.decisions if d.request == ask]
    return (
        [d.allocation for d in plan.decisions.victims],
        [d.node for d in mine if d.action == "start"],
        [d.node for d in mine if d.action == "reserve"],
    )


def preempt(case: Case, expected: Case) -> str:
    """One ask that waits, planned once; return what could be compared."""
    ask, predicates = case["ask"], case["config"]["predicates"]
    calls = predicates.get("preemption", ())
    if any(call["ok_index"] != call["start_index"] for call in calls):
        return "a plug-in wants more victims, which no plan can say"
    may = allowed(case)
    given = {} if may is None else {"given": {"nodes": [{"requests": [ask["key"]], "nodes": may}]}}
    plan = eh.plan(eh.Snapshot.from_dict(data_of(case, [ask])), UPSTREAM, **given)
    victims, starts, reserves = decided(plan, ask["key"])
    headroom, room = has_headroom(case, ask), fits_free(case, ask)
    if headroom and room is not None:
        assert (victims, starts, reserves) == ([], [room], []), case["name"]
        return "starts where there is room"
    if room is not None and case["config"]["nodes_tried"]:
        assert not starts, case["name"]  # below a maximum nodes are not tried
        return "a maximum is reached, and nodes are not tried first"
    assert not starts, case["name"]
    assert victims == expected["victims_in_order"], case["name"]
    if expected["success"]:
        assert reserves == [expected["node"]], case["name"]
        return "preempts"
    # It waits on a node if it is short of room alone.
    assert len(reserves) <= (1 if headroom else 0), case["name"]
    return "preempts nothing"


def preempt_round(case: Case, expected: Sequence[Case]) -> str:
    """Asks in turn, each planned with what became of those before it; not those for which there is room."""
    served: list[Case] = []
    kept: list[dict[str, Any]] = []
    rows = [dict(row) for row in case["allocations"]]
    leaves_for: dict[str, str] = {}
    for ask, step in zip(case["asks"], expected, strict=True):
        now = {**case, "allocations": rows}
        reserved = {row["node"] for row in kept}
        empty = {**now, "nodes": [n for n in case["nodes"] if n["id"] not in reserved]}
        room = fits_free(empty, ask) or any(fits_free(now, one) for one in served)
        if not room:
            data = data_of(now, [*served, ask], reservations=kept)
            for row in data["allocations"]:
                if row["name"] in leaves_for:
                    row["beneficiary"] = {"request": leaves_for[row["name"]]}
            plan = eh.plan(eh.Snapshot.from_dict(data), UPSTREAM)
            victims, starts, reserves = decided(plan, ask["key"])
            assert not starts, (case["name"], ask["key"])
            assert victims == step["victims_in_order"], (case["name"], ask["key"])
            if step["success"]:
                assert reserves == [step["node"]], (case["name"], ask["key"])
        if step["success"]:
            served.append(ask)
            kept.append({"name": ask["key"], "request": ask["key"], "node": step["node"], "resources": {}})
            for row in rows:
                if row["key"] in step["victims"]:
                    row["preempted"] = True
                    leaves_for[row["key"]] = ask["key"]
    return "rounds"


def quota_preempt(case: Case, expected: Case) -> str:
    """A queue above its max, planned when its delay begins and when it is over."""
    pools = list(queues(case["queues"]))
    for row in pools:
        if row["name"] == case["queue"]:
            row["settings"] = {"properties": {"quota.preemption.delay": "10s"}}
    names = types_of(case, ())
    node = {"name": "n", "capacity": dict.fromkeys(names, 10**6)}
    apps = {(row["app"], row["queue"]) for row in case["allocations"]}
    snapshot = eh.Snapshot.from_dict(
        {
            "now": 10**7,
            "resources": {r: {"quantum": 1} for r in names},
            "nodes": [node],
            "pools": pools,
            "operations": [{"name": app, "pool": queue} for app, queue in sorted(apps)],
            "allocations": running(case["allocations"]),
        }
    )
    first = eh.plan(snapshot, QUOTA, on=eh.Cycle("quota"))
    assert not first.decisions
    plan = eh.plan(snapshot.replace(now=10**7 + 10), QUOTA, first.state, on=eh.Cycle("quota"))
    victims = [d.allocation for d in plan.decisions.victims]
    assert sorted(victims) == sorted(expected["preempted"]), case["name"]
    claimed: Counter[str] = Counter()
    for row in case["allocations"]:
        if row["key"] in victims:
            claimed.update(row["resources"])
    assert {r: v for r, v in claimed.items() if v} == {r: v for r, v in expected["claimed"].items() if v}
    return "a queue gives"


def first_starts(data: dict[str, Any], names: Sequence[str]) -> list[str]:
    """Return whose ask starts first, then of the others, and so on."""
    order: list[str] = []
    left = list(names)
    while left:
        asks = [row for row in data["requests"] if row["operation"] in left]
        plan = eh.plan(eh.Snapshot.from_dict({**data, "requests": asks}), UPSTREAM)
        first = next((d.operation for d in plan.decisions if d.action == "start"), None)
        assert first is not None
        order.append(str(first))
        left.remove(str(first))
    return order


def app_order(case: Case, expected: Sequence[str]) -> str:
    """Applications of one queue, each with one ask."""
    priority_first = "enabled" if case["consider_priority"] else "disabled"
    properties = {
        "application.sort.policy": case["policy"],
        "application.sort.priority": priority_first,
    }
    names = sorted(
        {r for app in case["apps"] for r in app["allocated"]} | {"one", *(case["queue_guaranteed"] or ())}
    )
    data = {
        "now": NOW,
        "resources": {r: {"quantum": 1} for r in names},
        "nodes": [{"name": "n", "capacity": dict.fromkeys(names, 10**9)}],
        "pools": [
            {
                "name": "root.q",
                "strong_guarantee": case["queue_guaranteed"] or {},
                "settings": {"properties": properties},
            }
        ],
        "operations": [
            {"name": app["id"], "pool": "root.q", "start_time": app["submit_time_s"]} for app in case["apps"]
        ],
        "allocations": [
            {"name": f"a-{app['id']}", "operation": app["id"], "node": "n", **amounts(app["allocated"])}
            for app in case["apps"]
        ],
        "requests": [
            {
                "name": f"r-{app['id']}",
                "operation": app["id"],
                "resources": {"one": 1},
                "priority": app["priority"],
            }
            for app in case["apps"]
        ],
    }
    order = first_starts(data, [app["id"] for app in case["apps"]])
    assert order == list(expected), case["name"]
    return "applications in order"


def queue_order(case: Case, expected: Sequence[str]) -> str:
    """Queues below the root, each with one ask of what waits in it."""
    maxima = [queue["fair_max"] for queue in case["queues"]]
    if any(most != maxima[0] for most in maxima):
        return "siblings of one root have one fair max"
    used: Counter[str] = Counter()
    for queue in case["queues"]:
        used.update(queue["allocated"] or {})
    if any(
        used[r] + v > maxima[0].get(r, used[r] + v)
        for queue in case["queues"]
        for r, v in queue["pending"].items()
    ):
        return "the root is full"
    names = sorted(
        {
            r
            for q in case["queues"]
            for of in ("allocated", "pending", "guaranteed", "fair_max")
            for r in q[of] or ()
        }
    )
    first = "enabled" if case["consider_priority"] else "disabled"
    data = {
        "now": NOW,
        "resources": {r: {"quantum": 1} for r in names},
        "root": {"settings": {"properties": {"application.sort.priority": first}}},
        "nodes": [{"name": "n", "capacity": {r: maxima[0].get(r, 0) for r in names}}],
        "pools": [
            {
                "name": queue["name"],
                **({"strong_guarantee": queue["guaranteed"]} if queue["guaranteed"] else {}),
            }
            for queue in case["queues"]
        ],
        "operations": [{"name": queue["name"], "pool": queue["name"]} for queue in case["queues"]],
        "allocations": [
            {"name": f"a-{q['name']}", "operation": q["name"], "node": "n", **amounts(q["allocated"] or {})}
            for q in case["queues"]
        ],
        "requests": [
            {
                "name": f"r-{q['name']}",
                "operation": q["name"],
                **amounts(q["pending"]),
                "priority": q["priority"],
            }
            for q in case["queues"]
        ],
    }
    order = first_starts(data, [queue["name"] for queue in case["queues"]])
    assert order == list(expected), case["name"]
    return "queues in order"


#: Kind of case to what compares it.
ANSWERS: Mapping[str, Any] = {
    "preempt": preempt,
    "preempt_round": preempt_round,
    "quota_preempt": quota_preempt,
    "app_order": app_order,
    "queue_order": queue_order,
}
