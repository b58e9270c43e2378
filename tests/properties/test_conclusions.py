"""What plans conclude of what would have been holds when it is tried."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

import evenhand as eh
from tests.properties.concluding import look_at
from tests.properties.conclusions import Tried, tried
from tests.unit.why.sessions import group
from tests.unit.yunikorn.test_cycles import cluster, policy

PLANS = 160

#: Of the systems whose sentences are held to it: kinds that so many drawn plans conclude.
KINDS = {
    "ytsaurus": {
        "aggressive_preemption: the only one",
        "aggressive_preemption: within the threshold",
        "limits_of_operation_or_pool: limits",
        "not_considered: no stage",
        "preemption: the only one",
        "preemption: within the threshold",
        "resource_limits_violated: within its limits",
    },
    "yunikorn": {
        "below_ideal_share: a queue within gives nothing",
        "below_ideal_share: its place",
        "cycle_full: limit",
        "higher_priority_in_queue: nothing else",
        "higher_priority_in_queue: one below that priority it may be",
        "higher_priority_in_queue: priority",
        "limits_of_operation_or_pool: its max",
        "limits_of_operation_or_pool: the least max",
        "may_not_preempt_yet: until",
        "no_room_even_with_victims: whatever the limit",
        "not_considered: no ask looked there",
    },
    "backendai": {
        "above_threshold: only where that is as much",
        "behind_first_waiting: in the queue",
        "lower_priority: in that order",
        "lower_priority: not for this session",
        "lower_priority: not for this session: one below it may be",
        "lower_priority: for no session",
        "lower_priority: for no session: one below it may be",
        "no_lower_priority: nothing may be",
        "no_room_even_with_victims: if all left",
        "not_considered: no session looked",
        "waits_for_victims: it fits once they have left",
    },
    "slurm": {
        "higher_partition_tier: is cancelled beside REQUEUE",
        "higher_partition_tier: one below that tier it may be",
        "higher_partition_tier: tier",
        "higher_priority_in_qos: priority",
        "no_room_even_with_victims: if all gave way",
        "qos_preempts: if that did not list it",
        "tier_not_lower: below T",
        "not_considered: no stage",
        "waits_for_victims: it fits once they have left",
    },
    "gridengine": {
        "automatic_preemption: a microsecond farther",
        "automatic_preemption: it would start then",
        "automatic_preemption: one below that priority it may be",
        "automatic_preemption: priority",
        "automatic_preemption: within that distance",
        "not_considered: no stage",
        "waits_for_victims: it fits once they have left",
    },
}


@cache
def conclusions(system: str) -> list[Tried]:
    """Try what some drawn plans conclude; the same every time."""
    found: list[Tried] = []
    look_at(system, PLANS, 0, lambda plan: found.extend(tried(plan)))
    return found


@pytest.mark.parametrize("system", KINDS)
def test_no_conclusion_is_false(system: str) -> None:
    assert not [(one.kind, one.sentence) for one in conclusions(system) if not one.holds]


@pytest.mark.parametrize("system", KINDS)
def test_every_kind_is_tried(system: str) -> None:
    assert {one.kind for one in conclusions(system)} >= KINDS[system]


NODES = [{"name": name, "capacity": {"cpu": 4}} for name in "mn"]
ASK: dict[str, Any] = {"name": "ask", "operation": "p", "resources": {"cpu": 1}}


@pytest.mark.parametrize(
    ("kind", "rows", "settings"),
    [
        ("below_guarantee: a queue within gives nothing", {}, {"preemption": "per_ask"}),
        ("surplus_of_queue: a queue within gives nothing", {}, {"mode": "shotgun"}),
        (
            "for_required_node: priority",
            {"requests": [{**ASK, "required_node": "n"}], "nodes": NODES},
            {"preemption": "per_ask"},
        ),
        ("waits_for_victims: it fits once they have left", {}, {"preemption": "per_ask"}),
        (
            "may_not_preempt_yet: again_from",
            {"requests": [{**ASK, "resources": {"cpu": 2}}, {**ASK, "name": "more"}]},
            {"preemption": "per_ask"},
        ),
    ],
)
def test_what_is_drawn_seldom_holds(kind: str, rows: dict[str, Any], settings: dict[str, Any]) -> None:
    first = eh.plan(cluster(**rows), policy(**settings))
    plans = [first, eh.plan(cluster(**rows), policy(**settings), first.state)]
    found = [one for plan in plans for one in tried(plan) if one.kind == kind]
    assert found
    assert all(one.holds for one in found)


def test_an_ask_that_found_no_room_is_left_out_of_as_many_cycles_as_is_said() -> None:
    state = None
    for cycle in range(8):
        plan = eh.plan(cluster(), policy(), state, on=eh.Cycle("allocation"))
        found = [one for one in tried(plan) if one.kind == "missed_opportunity: so many cycles more"]
        assert len(found) == (cycle not in (0, 3))
        assert all(one.holds for one in found)
        state = plan.state


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("ran_too_short: until", {"preemption_min_runtime": 90}),
        ("spared_run_time: until", {"pace": {"spare_if_ran_less_than": 90}}),
        ("victims_spared: without the pace", {"pace": {"spare_if_ran_less_than": 90}}),
    ],
)
def test_sessions_are_spared_until_when_it_is_said(kind: str, settings: dict[str, Any]) -> None:
    plan = eh.plan(eh.Snapshot.from_dict(group()), eh.policies.BackendAI(**settings))
    found = [one for one in tried(plan) if one.kind == kind]
    assert found
    assert all(one.holds for one in found)
