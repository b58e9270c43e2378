"""Answers of the core's parts to each kind of case, in the shape of its ``expected``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from evenhand.systems.yunikorn.properties import inherited, properties_of
from tests.conformance.yunikorn.scenario import scenario
from tests.conformance.yunikorn.world import Types, World, added, flat, held_columns, parts, switches

Case = Mapping[str, Any]


def preempt(case: Case) -> Any:
    """One whole attempt, and where the case asks for it what it rests on."""
    world = World(case)
    world.begin(case["ask"])
    wants_all = "candidates" in case.get("_expected", {})
    before = _snapshots(world) if wants_all else {}
    out = _attempt(world, case["ask"], case) | before
    if wants_all:
        out["solutions"] = [
            {"node": world.node_ids[node], "start": start, "victims": world.keys(victims)}
            for node, start, victims in world.core.solutions(case["config"]["nodes_tried"])
            if out["guarantee_check"]
        ]
    return out


def _attempt(world: World, ask: Case, case: Case) -> dict[str, Any]:
    config = case["config"]
    released = [
        row for row, one in enumerate(world.rows) if one["key"] in config.get("release_after_snapshot", ())
    ]
    found = world.core.attempt(config["nodes_tried"], world.predicates(config, ask["key"]), released)
    victims = world.keys(found["victims"])
    asks = list(world.asks)
    return {
        "success": found["success"],
        "node": world.node_ids[found["node"]] if found["node"] >= 0 else None,
        "victims": victims,
        "victims_in_order": victims,
        "failure": found["failure"] or None,
        "guarantee_check": found["guarantee_check"],
        "cancelled_reservations": sorted(
            [world.node_ids[node], asks[row]] for node, row in found["cancelled"]
        ),
        "victim_event": f"Preempted by {ask['key']} from application {ask['app']} in {ask['queue']}",
    }


def _snapshots(world: World) -> dict[str, Any]:
    paths = [path for path, _, _ in world.queues]
    seen = world.core.snapshots().tolist()
    return {
        "candidates": sorted(world.keys(world.core.candidates())),
        "snapshots": sorted(paths[row] for row in seen),
        "remaining_guaranteed": {
            paths[row]: world.types.named(world.core.remaining_guaranteed(row)) for row in seen
        },
        "preemptable": {paths[row]: world.types.named(world.core.preemptible(row)) for row in seen},
    }


def preempt_round(case: Case) -> Any:
    """Asks in turn on one state."""
    world = World(case)
    out = []
    for ask in case["asks"]:
        world.begin(ask)
        found = _attempt(world, ask, case)
        if found["success"]:
            rows = [row for row, one in enumerate(world.rows) if one["key"] in found["victims"]]
            node = world.node_ids.index(found["node"])
            world.core.carry_out(rows, node, world.ask_row(ask["key"]), ask["priority"])
        out.append({"ask": ask["key"], **found})
    return out


def guarantee_check(case: Case) -> Any:
    """Step 2 alone, and the whole attempt where it fails."""
    return preempt(case)


def candidates(case: Case) -> Any:
    """The search alone."""
    world = World(case)
    world.begin(case["ask"])
    return {
        "fence_root": world.queues[world.core.fence_root][0],
        "candidates": sorted(world.keys(world.core.candidates())),
        "snapshot_count": len(world.core.snapshots()),
    }


def _quantity(case: Case, name: str) -> Any:
    world = World(case)
    row = -1 if case["ask_queue"] is None else world.place[case["ask_queue"]]
    world.core.begin(0, row, {}, 0)
    return {path: world.types.named(getattr(world.core, name)(place)) for path, place in world.place.items()}


def snapshot_preemptable(case: Case) -> Any:
    """What queues can give."""
    return _quantity(case, "preemptible")


def snapshot_remaining_guaranteed(case: Case) -> Any:
    """What queues are still owed."""
    return _quantity(case, "remaining_guaranteed")


def ask_under_guaranteed(case: Case) -> Any:
    """Whether an asker is within its guarantee."""
    types = Types()
    return parts.yunikorn_within(types.of(case["ask_resources"]), types.of(case["remaining"]))


def victim_over_guaranteed(case: Case) -> Any:
    """Whether a victim's queue is over its guarantee."""
    types = Types()
    return parts.yunikorn_over(types.of(case["ask_resources"]), types.of(case["remaining"]))


def preconditions(case: Case) -> Any:
    """Whether an ask may try now."""
    ask, config = case["ask"], case["config"]
    since = ask["since_last_check_s"]
    return parts.yunikorn_may_try(
        ask["allow_preempt_other"],
        ask["already_triggered"],
        bool(ask["required_node"]),
        round(ask["age_s"] * 1e6),
        None if since is None else round(since * 1e6),
        round(config["preemption_delay_s"] * 1e6),
        round(config["retry_interval_s"] * 1e6),
    )


def solution_score(case: Case) -> Any:
    """Score of a plug-in's answer."""
    result = case["result"]
    rows = case["node_allocations"].get(result["node"])
    held = held_columns([{**row, "resources": {}} for row in rows or ()], Types())
    return parts.yunikorn_score(held, rows is not None, result["success"], result["index"])


def _order(case: Case, rows: Any) -> list[str]:
    return [case["allocations"][row]["key"] for row in rows.tolist()]


def sort_by_type(case: Case) -> Any:
    """Order of the required-node preemptor."""
    return _order(case, parts.yunikorn_sort_by_type(held_columns(case["allocations"], Types())))


def sort_by_target(case: Case) -> Any:
    """Order of the quota preemptor."""
    types = Types()
    held = held_columns(case["allocations"], types)
    upstream = switches()["quota_takes_opted_out_first"]
    return _order(
        case,
        parts.yunikorn_sort_by_target(held, types.of(case["target"]), types.of(case["total"]), upstream),
    )


def required_node(case: Case) -> Any:
    """Victims of an ask that needs its node."""
    types, rows, ask = Types(), case["allocations"], case["ask"]
    held = held_columns(rows, types)
    need = types.of(ask["resources"])
    types.of(case["node"]["capacity"])
    used = added(row["resources"] for row in rows)
    free = [case["node"]["capacity"].get(name, 0) - used.get(name, 0) for name in types.names]
    found = parts.yunikorn_required_node(
        *(held, free, need, ask["priority"]),
        not switches()["required_node_ignores_free_room"],
        [bool(row.get("required_node")) for row in rows],
        [bool(row.get("released")) for row in rows],
    )
    counters = (
        "total",
        "required_node",
        "no_common_type",
        "higher_priority",
        "already_preempted",
        "released",
    )
    victims = [rows[row]["key"] for row in found["victims"]]
    return {
        "filter": {name: found[name] for name in counters},
        "candidate_count": len(found["candidates"]),
        "victims": victims,
    }


def quota_target(case: Case) -> Any:
    """What is to be taken from a queue above its max."""
    world = World(case)
    found = world.types.named(world.core.quota_target(world.place[case["queue"]]))
    return found or None


def quota_candidates(case: Case) -> Any:
    """How many allocations of a leaf may be taken."""
    world = World({**case, "queues": {**case["queues"]}})
    target = world.types.of(case["target"])
    return {"candidate_count": len(world.core.quota_candidates(0, target)) if target else 0}


def quota_preempt(case: Case) -> Any:
    """A whole quota preemption."""
    world = World(case)
    victims, order = world.core.quota_victims(world.place[case["queue"]])
    taken = world.keys(victims)
    return {
        "preempted": sorted(taken),
        "claimed": added(row["resources"] for row in world.rows if row["key"] in taken),
        "candidate_count": len(order),
        "order": world.keys(order),
    }


def quota_distribution(case: Case) -> Any:
    """Parts of a target, by leaf."""
    world = World(case)
    target = world.types.of(case["target"])
    found = world.core.quota_distribution(world.place[case["queue"]], target)
    return {world.queues[leaf][0]: world.types.named(part) for leaf, part in found.items()}


def quota_timer(case: Case) -> Any:
    """Whether the start time changes."""
    types, now = Types(), 1_000_000_000
    start = now if case["start_time_was_set"] else None
    amounts = [types.of(case[name]) for name in ("old_max", "max", "allocated")]
    delays = [round(case[name] * 1e6) for name in ("old_delay", "delay")]
    after = parts.yunikorn_quota_start(*amounts, *delays, start, bool(case.get("already_running")), now)
    return {"start_time_changed": after != start}


def quota_acquire(case: Case) -> Any:
    """Whether it may begin now."""
    types, now = Types(), 1_000_000_000
    offset = case["start_time_offset_s"]
    return parts.yunikorn_quota_may_begin(
        *(types.of(case["max"]), types.of(case["allocated"]), case["managed"], case["already_running"]),
        *(None if offset is None else now + round(offset * 1e6), now),
    )


def queue_order(case: Case) -> Any:
    """Siblings in the order in which they are served."""
    types, queues = Types(), case["queues"]
    columns = [
        [types.of(queue[name]) for queue in queues]
        for name in ("allocated", "guaranteed", "pending", "fair_max")
    ]
    found = parts.yunikorn_queue_order(
        *columns,
        [queue["priority"] for queue in queues],
        case["policy"] == "fair",
        case["consider_priority"],
        switches()["fair_max_by_position"],
    )
    return [queues[place]["name"] for place in found]


def app_order(case: Case) -> Any:
    """Applications of a leaf in the order in which they are served."""
    types, apps = Types(), case["apps"]
    found = parts.yunikorn_app_order(
        [types.of(app["allocated"]) for app in apps],
        [round(app["submit_time_s"] * 1e6) for app in apps],
        [app["priority"] for app in apps],
        types.of(case["queue_guaranteed"]),
        case["policy"] == "fair",
        case["consider_priority"],
    )
    return [apps[place]["id"] for place in found]


def _share(of: Case, types: Types) -> float:
    return parts.yunikorn_fair_share(*(types.of(of[n]) for n in ("allocated", "guaranteed", "fair_max")))


def fair_share(case: Case) -> Any:
    """The largest usage ratio."""
    return _share(case, Types())


def fair_share_compare(case: Case) -> Any:
    """Which of two is larger."""
    types = Types()
    left, right = _share(case["left"], types), _share(case["right"], types)
    return (left > right) - (left < right)


def fairness_ratio(case: Case) -> Any:
    """Ratio of the largest shares."""
    types = Types()
    found = parts.yunikorn_fairness_ratio(*(types.of(case[n]) for n in ("left", "right", "total")))
    return {float("inf"): "+inf", float("-inf"): "-inf"}.get(found, found)


def fair_max(case: Case) -> Any:
    """What leaves may use at most, for their share."""
    types = Types()
    queues = flat(case["queues"])
    found: list[Any] = []
    for _, parent, queue in queues:
        most = types.of(queue.get("max"))
        found.append(most if parent < 0 else parts.yunikorn_fair_max(found[parent], most))
    return {
        path: types.named(most)
        for (path, _, queue), most in zip(queues, found, strict=True)
        if queue.get("leaf")
    }


def queue_priority(case: Case) -> Any:
    """Priority of queues by their pending asks."""
    queues = flat(case["queues"])
    nothing = -(2**31)
    handed: dict[str, int] = {}
    texts: list[dict[str, str]] = []
    for _, parent, queue in queues:
        texts.append(inherited(texts[parent] if parent >= 0 else {}, queue.get("properties", {})))
    for row, (path, _, _) in reversed(list(enumerate(queues))):
        own = [ask["priority"] for ask in case["pending_asks"] if ask["queue"] == path]
        own += [handed[child] for child, parent, _ in queues if parent == row]
        properties = properties_of(texts[row])
        handed[path] = parts.yunikorn_queue_priority(
            max(own, default=nothing), properties.priority_offset, properties.priority_policy == "fence"
        )
    return handed


def queue_properties(case: Case) -> Any:
    """What texts of properties say."""
    found = properties_of(inherited(case["parent_properties"], case["leaf_properties"]))
    return {
        "preemption.policy": found.preemption_policy,
        "preemption.delay_s": found.preemption_delay,
        "priority.policy": found.priority_policy,
        "priority.offset": found.priority_offset,
        "sort.priority": found.application_sort_priority,
        "quota.preemption.delay_s": found.quota_preemption_delay,
    }


ANSWERS: Mapping[str, Callable[[Case], Any]] = {
    function.__name__: function
    for function in (
        *(preempt, preempt_round, guarantee_check, candidates, snapshot_preemptable),
        *(snapshot_remaining_guaranteed, ask_under_guaranteed, victim_over_guaranteed, preconditions),
        *(solution_score, sort_by_type, sort_by_target, required_node, quota_target, quota_candidates),
        *(quota_preempt, quota_distribution, quota_timer, quota_acquire, queue_order, app_order),
        *(fair_share, fair_share_compare, fairness_ratio, fair_max, queue_priority, queue_properties),
        scenario,
    )
}
