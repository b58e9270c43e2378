"""Kinds about one update or several: settings, status, starvation, groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import evenhand as eh
from tests.conformance.ytsaurus.fair_share_input import RESOURCES
from tests.conformance.ytsaurus.preemption_input import Scene, given_shares, given_starvation, plain, runs
from tests.conformance.ytsaurus.preemption_question import POLICY, PRESET, Question

GROUPS = ("non_preemptible", "aggressively_preemptible", "preemptible")
LEAST = {"cpu": 0.01}
"""A demand as small as may be, for elements that must want something."""


def allocation_groups(question: Question) -> None:
    """Cut the list of one operation."""
    found = groups_of(question, question.action["operation"])
    _compare_groups(question, found, question.expect)
    question.answered |= {"groups_in_start_order", "preemptible_count"}


def groups_of(question: Question, operation: str) -> list[str]:
    """Return the groups of an operation's allocations in start order, from the given shares."""
    scene = Scene(question.case)
    for each in question.case["operations"]:
        scene.shares(each)
    answer = question.plan(scene, given={"fair_share": given_shares(question.case)})
    (described,) = (o for o in question.case["operations"] if o["id"] == operation)
    return [answer.plan["groups"].get(name, "no group") for name, *_ in runs(described)]


def _compare_groups(question: Question, found: list[str], expect: Mapping[str, Any], who: str = "") -> None:
    if "groups_in_start_order" in expect:
        for group, _ in expect["groups_in_start_order"]:  # also of runs of 0
            question.checker.equal(who, "group", True, group in GROUPS)
        wanted = [group for group, count in expect["groups_in_start_order"] for _ in range(count)]
        question.checker.equal(who, "groups_in_start_order", wanted, found)
    if "preemptible_count" in expect:
        count = found.count("preemptible")
        question.checker.equal(who, "preemptible_count", expect["preemptible_count"], count)


def groups_by_operation(question: Question) -> None:
    """Compare groups that are expected beside something else, by operation."""
    for key in ("groups_in_start_order", "preemptible_count"):
        question.answered.add(key)
        for operation, wanted in question.expect.get(key, {}).items():
            _compare_groups(question, groups_of(question, operation), {key: wanted}, operation)


def effective_settings(question: Question) -> None:
    """Inherit settings down the tree; some cases then cut a list with them."""
    scene = Scene(question.case)
    statuses = question.plan(scene).statuses
    for key, column in (
        ("pool_tolerance", "tolerance"),
        ("operation_tolerance", "tolerance"),
        ("operation_timeout_s", "timeout"),
        ("aggressive_starvation_enabled", "aggressive_starvation"),
        ("aggressive_preemption_allowed", "aggressive_preemption"),
    ):
        question.equal(key, {name: status[column] for name, status in statuses.items()})
    if "operation" in question.action:
        operation = question.action["operation"]
        snapshot = eh.Snapshot.from_dict(scene.data(), order="rows")
        threshold = question.planner.usage_threshold(snapshot, PRESET, question.settings, operation)
        name = "non_preemptible_resource_usage_threshold"
        if "operation_settings" in question.expect:
            wanted = question.expect["operation_settings"][name]
            question.checker.equal(operation, name, sorted(wanted), sorted(threshold))
        question.equal("operation_settings", {name: threshold}, operation)
        allocation_groups(question)


def scheduling_status(question: Question) -> None:
    """Tell who is below its fair share, and who may get something."""
    scene = Scene(question.case)
    scene.cluster_nodes(question.case)
    for operation in question.case["operations"]:
        scene.shares(operation)
    answer = question.plan(scene, given={"fair_share": given_shares(question.case)})
    question.equal("status", {name: status["status"] for name, status in answer.statuses.items()})
    started = {d["operation"] for d in answer.decisions("start")}
    question.equal("may_schedule", {o["id"]: o["id"] in started for o in question.case["operations"]})
    local_satisfaction(question)


def starvation_timeline(question: Question) -> None:
    """Walk the clocks through dated statuses: who is to be below gets a fair share, the rest none."""
    state: Any = None
    tree: dict[str, Any] = {}
    of_pools: dict[str, dict[str, Any]] = {}
    updates, wanted = question.action["updates"], question.expect["after"]
    question.checker.equal("", "number of updates", len(updates), len(wanted))
    for update, after in zip(updates, wanted, strict=False):
        for place, changes in update.get("set", {}).items():
            (tree if place == "tree" else of_pools.setdefault(place, {})).update(plain(changes))
        scene = Scene({**question.case, "cluster": {"nodes": [], "total": {"cpu": 1000}}}, now=update["t"])
        for pool in scene.pools:
            pool["settings"].update(of_pools.get(pool["name"], {}))
        for operation in question.case["operations"]:
            scene.request(operation["id"], LEAST, operation.get("pending_allocations", 1))
        below = [name for name, status in update["status"].items() if status == "below_fair_share"]
        elements = [*question.case["pools"], *question.case["operations"]]
        shares = {e["id"]: {"cpu": 0.1 * (e["id"] in below)} for e in elements}
        answer = question.plan(scene, state=state, given={"fair_share": shares}, **tree)
        state = answer.state
        for name, status in answer.statuses.items():
            known = update["status"].get(name, "normal")
            question.checker.equal(name, f"status given for {update['t']}", known, status["status"])
        for key, column in _TIMELINE.items():
            for name, value in after.get(key, {}).items():
                got = answer.statuses.get(name, {}).get(column, "no answer")
                question.same(f"{name} at {update['t']}", key, value, got)
        for key in set(after) - {"t", *_TIMELINE}:
            question.checker.fail("", key, after[key], None)
    question.answered.add("after")


_TIMELINE = {
    "starvation": "starvation",
    "below_fair_share_since": "since",
    "lowest_starving_ancestor": "lowest_starving_ancestor",
    "lowest_aggressively_starving_ancestor": "lowest_aggressive_ancestor",
}


def preemption_priority(question: Question) -> None:
    """Tell who may preempt, under both scopes."""
    counts = {}
    for scope in ("operation_only", "operation_and_ancestors"):
        scene = Scene(question.case)
        for operation in question.case["operations"]:
            scene.request(operation["id"], LEAST)
        given = {"starvation": given_starvation(question.case)}
        statuses = question.plan(scene, given=given, scheduling_preemption_priority_scope=scope).statuses
        found = {o["id"]: statuses[o["id"]]["priority"] for o in question.case["operations"]}
        question.equal(scope, found)
        counts[scope] = {p: list(found.values()).count(p) for p in ("none", "normal", "aggressive")}
        for key in ("lowest_starving_ancestor", "lowest_aggressively_starving_ancestor"):
            question.equal(key, {name: status[_TIMELINE[key]] for name, status in statuses.items()})
    question.equal("counts", counts)


def satisfaction(question: Question) -> None:
    """Tell how satisfied everybody is, pools by what they hold."""
    scene = Scene(question.case)
    for operation in question.case["operations"]:
        scene.shares(operation)
    answer = question.plan(scene, given={"fair_share": given_shares(question.case)})
    question.equal("satisfaction", {name: s["satisfaction"] for name, s in answer.statuses.items()})


def local_satisfaction(question: Question) -> None:
    """Tell how satisfied elements are by their own vectors."""
    found = {
        element["id"]: question.planner.satisfaction(*_vectors(element)) for element in _elements(question)
    }
    question.equal("local_satisfaction", found)


def _elements(question: Question) -> list[Mapping[str, Any]]:
    elements = [*question.case["pools"], *question.case["operations"]]
    return [e for e in elements if {"fair_share", "usage_share", "demand_share"} <= set(e)]


def _vectors(element: Mapping[str, Any]) -> Iterator[list[float]]:
    for key in ("fair_share", "usage_share", "demand_share"):
        yield [element[key].get(r, 0.0) for r in RESOURCES]


def config_validation(question: Question) -> None:
    """Tell whether settings are acceptable."""
    try:
        question.planner.settings(POLICY, PRESET, question.settings)
    except eh.InputError as error:
        question.equal("valid", False)
        question.checker.equal("", "table", {"settings"}, {p.table for p in error.problems})
    else:
        question.equal("valid", True)


def config_normalization(question: Question) -> None:
    """Bring the removed count of protected allocations into the threshold."""
    name = "non_preemptible_resource_usage_threshold"
    got = question.planner.settings(POLICY, PRESET, question.settings)[name]
    question.checker.equal("", "resources", sorted(question.expect[name]), sorted(got))
    question.equal(name, got)


def conditional_preemption(question: Question) -> None:
    """Tell what the removed rule blocked, and for whom it did not."""
    case, action = question.case, question.action
    rows = [
        {
            "name": e["id"],
            "parent": None if e.get("parent", "root") == "root" else e["parent"],
            "is_pool": e in case["pools"],
            **dict(zip(("fair_share", "usage", "demand"), _vectors(e), strict=True)),
            "starving": action["given_starvation"].get(e["id"], "non_starving") != "non_starving",
        }
        for e in (*case["pools"], *case["operations"])
    ]
    amounts = {name: resources for o in case["operations"] for name, _, resources in runs(o)}
    blocked = {
        pool: {r: sum(amounts[name].get(r, 0) for name in names) for r in RESOURCES}
        for pool, names in action["given_conditionally_preemptible"].items()
    }
    threshold = question.settings["preemption_satisfaction_threshold"]
    blocking, discounts = question.planner.conditional(rows, threshold, blocked)
    question.equal("blocking_ancestor", blocking)
    expected = question.expect["conditional_discount"]
    found = {name: {r: amount for r, amount in d.items() if amount} for name, d in discounts.items()}
    for name, amounts_ in expected.items():
        question.checker.equal(name, "resources", sorted(amounts_), sorted(found.get(name, ("no answer",))))
    question.equal("conditional_discount", found)
    most = {r: max(d.get(r, 0) for d in found.values()) for r in RESOURCES}
    question.equal("max_conditional_discount", most)
