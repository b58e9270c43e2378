"""Whether the reference answers a case of YuniKorn as it is written there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

from tests.reference.yunikorn.attempt import Attempt, attempt_round, may_try, score
from tests.reference.yunikorn.ordering import (
    app_order,
    fair_max,
    fair_share,
    fairness_ratio,
    priorities,
    queue_order,
)
from tests.reference.yunikorn.quota import (
    may_begin,
    ordered,
    quota_candidates,
    quota_victims,
    spread,
    start_time,
    target_of,
)
from tests.reference.yunikorn.required import by_type, counted_out, required_victims
from tests.reference.yunikorn.resources import add, sub
from tests.reference.yunikorn.scenario import Scenario
from tests.reference.yunikorn.snapshots import over_guaranteed, snapshots_of, under_guaranteed
from tests.reference.yunikorn.world import Allocation, Ask, inherited, properties_of, world_of

Case = Mapping[str, Any]

#: The core does not say from outside which of the two it was.
_EITHER = {
    "no_victims": "no_victims_or_additional",
    "additional_victims_over_guarantee": "no_victims_or_additional",
}


def _ask(row: Case) -> Ask:
    return Ask(row["key"], row["app"], row.get("queue", ""), row["resources"], row.get("priority", 0))


def _config(case: Case) -> dict[str, Any]:
    given = case.get("config") or {}
    return {
        "nodes_tried": given.get("nodes_tried", False),
        "predicates": given.get("predicates"),
        "released_meanwhile": given.get("release_after_snapshot", ()),
        "reservation_timeout": given.get("reservation_wait_timeout_s", 3600),
    }


def _attempt(case: Case) -> Attempt:
    return Attempt(world_of(case), _ask(case["ask"]), **_config(case))


def _allocations(case: Case) -> list[Allocation]:
    rows = [{"queue": "q", **row} for row in case["allocations"]]
    return world_of({"queues": case.get("queues") or {"name": "q"}, "allocations": rows}).allocations


def _nonzero(amounts: Mapping[str, int] | None) -> dict[str, int]:
    return {t: v for t, v in (amounts or {}).items() if v}


def _keys(allocations: list[Allocation]) -> list[str]:
    return [a.key for a in allocations]


def preempt(case: Case, expected: Any) -> bool:
    attempt = _attempt(case)
    outcome = attempt.run()
    if "victims_in_order" not in expected:
        found: dict[str, Any] = {
            "success": outcome.success,
            "node": outcome.node,
            "victims": outcome.victims,
            "failure": outcome.failure,
        }
        if "cancelled_reservations" in expected:
            found["cancelled_reservations"] = sorted(map(list, attempt.cancelled))
        return all(
            value == (sorted(expected[k]) if k[0] == "c" else expected[k]) for k, value in found.items()
        )
    snapshots = attempt.snapshots
    passed = _attempt(case).guarantee_check()
    found = {
        "success": outcome.success,
        "node": outcome.node,
        "victims_in_order": outcome.victims,
        "failure": _EITHER.get(outcome.failure or "", outcome.failure),
        "candidates": sorted(_keys(attempt.candidates)),
        "snapshots": sorted(snapshots),
        "remaining_guaranteed": {path: s.remaining_guaranteed() for path, s in snapshots.items()},
        "preemptable": {path: s.preemptable() for path, s in snapshots.items()},
        "guarantee_check": passed,
    }
    if passed:
        found["solutions"] = [
            {"node": s.node.name, "start": s.start, "victims": _keys(s.victims)} for s in attempt.solutions()
        ]
    return all(value == expected[key] for key, value in found.items())


def preempt_round(case: Case, expected: Any) -> bool:
    config = _config(case)
    found = attempt_round(world_of(case), [_ask(row) for row in case["asks"]], **config)
    return [(o.success, o.node, o.victims) for o in found] == [
        (row["success"], row["node"], row["victims_in_order"]) for row in expected
    ]


def candidates(case: Case, expected: Any) -> bool:
    attempt = _attempt(case)
    return (
        attempt.fence_root.path == expected["fence_root"]
        and sorted(_keys(attempt.candidates)) == sorted(expected["candidates"])
        and expected.get("snapshot_count", len(attempt.snapshots)) == len(attempt.snapshots)
    )


def snapshot_preemptable(case: Case, expected: Any) -> bool:
    world = world_of(case)
    found = snapshots_of(world.queues.values(), None)
    return all(_nonzero(found[path].preemptable()) == _nonzero(value) for path, value in expected.items())


def snapshot_remaining_guaranteed(case: Case, expected: Any) -> bool:
    world = world_of(case)
    found = snapshots_of(world.queues.values(), world.queues[case["ask_queue"]])
    return all(found[path].remaining_guaranteed() == value for path, value in expected.items())


def preconditions(case: Case, expected: Any) -> bool:
    config = case["config"]
    return may_try(case["ask"], config["preemption_delay_s"], config["retry_interval_s"]) is expected


def solution_score(case: Case, expected: Any) -> bool:
    said = case["result"]
    there: Any = case["node_allocations"].get(said["node"])
    if there is not None:
        there = [
            SimpleNamespace(allow_self=a["allow_preempt_self"], originator=a["originator"]) for a in there
        ]
    return score(there, said["index"], success=said["success"]) == expected


def required_node(case: Case, expected: Any) -> bool:
    there, ask = _allocations(case), Ask("ask", "", "", case["ask"]["resources"], case["ask"]["priority"])
    used: Any = {}
    for a in there:
        used = add(used, a.resources)
    counts, left = counted_out(ask, there)
    victims = _keys(required_victims(ask, there, sub(case["node"]["capacity"], used)))
    if "count only" in (expected.get("test_asserts") or ""):
        same = len(victims) == len(expected.get("victims", victims))
    else:
        same = victims == expected.get("victims", victims)
    return (
        same
        and counts == expected.get("filter", counts)
        and len(left) == expected.get("candidate_count", len(left))
    )


def quota_target(case: Case, expected: Any) -> bool:
    return target_of(world_of(case).queues[case["queue"]]) == expected


def quota_candidate_count(case: Case, expected: Any) -> bool:
    world = world_of(case)
    return len(quota_candidates(world, world.root, case["target"])) == expected["candidate_count"]


def quota_preempt(case: Case, expected: Any) -> bool:
    world = world_of(case)
    queue = world.queues[case["queue"]]
    victims, there = quota_victims(world, queue, target_of(queue))
    claimed: Any = {}
    for a in victims:
        claimed = add(claimed, a.resources)
    return (
        sorted(_keys(victims)) == sorted(expected["preempted"])
        and claimed == expected["claimed"]
        and len(there) == expected.get("candidate_count", len(there))
        and _keys(there) == expected.get("order", _keys(there))
    )


def quota_timer(case: Case, expected: Any) -> bool:
    start = 100.0 if case["start_time_was_set"] else None
    found = start_time(
        case["old_max"], case["max"], case["allocated"], case["old_delay"], case["delay"], start
    )
    return (found != start) is expected["start_time_changed"]


def quota_acquire(case: Case, expected: Any) -> bool:
    found = may_begin(
        case["max"],
        case["allocated"],
        case["start_time_offset_s"],
        managed=case["managed"],
        running=case["already_running"],
    )
    return found is expected


def fair_share_compare(case: Case, expected: Any) -> bool:
    left, right = (
        fair_share(side["allocated"], side["guaranteed"], side["fair_max"])
        for side in (case["left"], case["right"])
    )
    return (left > right) - (left < right) == expected


def ratio(case: Case, expected: Any) -> bool:
    found, wanted = fairness_ratio(case["left"], case["right"], case["total"]), float(expected)
    return found == wanted or abs(found - wanted) < 1e-12


def most(case: Case, expected: Any) -> bool:
    world = world_of(case)
    return all(
        _nonzero(fair_max(world.queues[path])) == _nonzero(value)
        for path, value in expected.items()
        if value is not None
    )


def queue_priority(case: Case, expected: Any) -> bool:
    found = priorities(world_of(case).root, [(a["queue"], a["priority"]) for a in case["pending_asks"]])
    return all(found[path] == value for path, value in expected.items())


def scenario(case: Case, expected: Any) -> bool:
    run = Scenario(world_of(case))
    for step in case["steps"]:
        preempted, wanted = run.submit(step["submit"]), step["expected_computed"]
        if preempted != wanted["preempted_total"] or run.usage(list(wanted["usage"])) != wanted["usage"]:
            return False
    return run.usage(list(expected["final_usage"])) == expected["final_usage"]


AGREES: Mapping[str, Callable[[Case, Any], bool]] = {
    "preempt": preempt,
    "preempt_round": preempt_round,
    "candidates": candidates,
    "guarantee_check": lambda c, e: _attempt(c).guarantee_check() is e["guarantee_check"],
    "snapshot_preemptable": snapshot_preemptable,
    "snapshot_remaining_guaranteed": snapshot_remaining_guaranteed,
    "ask_under_guaranteed": lambda c, e: under_guaranteed(c["ask_resources"], c["remaining"]) is e,
    "victim_over_guaranteed": lambda c, e: over_guaranteed(c["ask_resources"], c["remaining"]) is e,
    "preconditions": preconditions,
    "solution_score": solution_score,
    "sort_by_type": lambda c, e: _keys(by_type(_allocations(c))) == e,
    "sort_by_target": lambda c, e: _keys(ordered(_allocations(c), c["target"], c["total"])) == e,
    "required_node": required_node,
    "quota_target": quota_target,
    "quota_candidates": quota_candidate_count,
    "quota_preempt": quota_preempt,
    "quota_distribution": lambda c, e: spread(world_of(c).queues[c["queue"]], c["target"]) == e,
    "quota_timer": quota_timer,
    "quota_acquire": quota_acquire,
    "queue_order": lambda c, e: (
        queue_order(c["queues"], c["policy"], priority_first=c["consider_priority"]) == e
    ),
    "app_order": lambda c, e: (
        app_order(c["apps"], c["policy"], c["queue_guaranteed"], priority_first=c["consider_priority"]) == e
    ),
    "fair_share": lambda c, e: abs(fair_share(c["allocated"], c["guaranteed"], c["fair_max"]) - e) < 1e-12,
    "fair_share_compare": fair_share_compare,
    "fairness_ratio": ratio,
    "fair_max": most,
    "queue_priority": queue_priority,
    "scenario": scenario,
    "queue_properties": lambda c, e: (
        properties_of(inherited(c["parent_properties"], c["leaf_properties"])).items() >= e.items()
    ),
}
