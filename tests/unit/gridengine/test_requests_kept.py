"""Requests that were accepted outlive a plan."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh


def test_what_is_accepted_is_kept_in_a_state_file() -> None:
    data = {
        "resources": {"slots": {"kind": "slots"}},
        "nodes": [{"name": "h", "capacity": {"slots": 1}}],
        "operations": [{"name": "1", "priority": 0.1}, {"name": "2", "priority": 0.9}],
        "allocations": [{"name": "a", "operation": "1", "node": "h", "resources": {"slots": 1}}],
        "requests": [{"name": "r", "operation": "2", "resources": {"slots": 1}, "reserve": True}],
    }
    policy = eh.policies.GridEngine(max_reservation=1, max_preemptees=1)
    snapshot = eh.Snapshot.from_dict(data)
    command = {"consumer": "2", "providers": ["1"], "action": "N", "manager": True}
    state = eh.plan(snapshot, policy, on=eh.Commands((command,))).state
    again = eh.State.from_dict(state.to_dict())
    assert again == state
    run = eh.plan(snapshot, policy, again)
    assert [d.mode for d in run.decisions.victims] == ["enhanced_suspend"]
    assert run.job_states["1"].status == "N"
    assert run.state.operations["1"]["preempted_as"] == "N"
    assert not run.state.operations.get("2")


def test_victims_count_as_of_the_commands_whatever_time_passes_after_them() -> None:
    data = {
        "now": 1000,
        "resources": {"slots": {}},
        "nodes": [{"name": "h", "capacity": {"slots": 1}}],
        "operations": [{"name": "1"}],
    }
    policy, on = eh.policies.GridEngine(pace={"victim_cooldown": 10.0}), eh.Commands([{"consumer": "1"}])
    before = eh.State(995.0, victims={("operation", "1"): {"taken": [991.0]}})
    snapshot = eh.Snapshot.from_dict(data)
    cluster = eh.Cluster(snapshot, policy, before)
    cluster.plan(on=on)
    cluster.apply([{"event": "time", "now": 1020}])
    assert cluster.state() == eh.plan(snapshot, policy, before, on=on).state


@pytest.mark.parametrize("action", [None, "T", "R"])
@pytest.mark.parametrize(
    ("changed", "victim"),
    [
        ({}, "4"),  # of equal priority and start the first in canonical order
        ({"6": {"start_time": 51}}, "6"),  # the latest start
        ({"5": {"start_time": 49}, "4": {"start_time": 49}}, "6"),
        ({"6": {"start_time": 51}, "5": {"priority": 0.1}}, "5"),  # before all the lowest priority
        ({"3": {"priority": 0.0}}, "4"),  # another user's
    ],
)
def test_a_user_who_names_no_jobs_has_the_own_ones_leave_in_the_usual_order(
    action: str | None, changed: dict[str, dict[str, Any]], victim: str
) -> None:
    """Job 3 is another user's, 4 to 6 are the consumer's own, and one slot is enough."""
    runs = {n: {"priority": 0.2, "start_time": 50} | changed.get(n, {}) for n in ("3", "4", "5", "6")}
    data = {
        "now": 100,
        "resources": {"slots": {"kind": "slots"}},
        "nodes": [{"name": "h", "capacity": {"slots": 4}}],
        "operations": [
            *({"name": n, "priority": runs[n]["priority"], "user": "u" if n > "3" else "v"} for n in runs),
            {"name": "9", "priority": 0.9, "user": "u"},
        ],
        "allocations": [
            {"name": n, "operation": n, "node": "h", "resources": {"slots": 1}, "rerunnable": True}
            | {"start_time": runs[n]["start_time"]}
            for n in runs
        ],
        "requests": [{"name": "r", "operation": "9", "resources": {"slots": 1}, "reserve": True}],
    }
    policy = eh.policies.GridEngine(max_reservation=1, max_preemptees=9, preemption_distance=0)
    snapshot = eh.Snapshot.from_dict(data)
    command = {"consumer": "9", "user": "u"} | ({"action": action} if action else {})
    state = eh.plan(snapshot, policy, on=eh.Commands([command])).state
    victims = eh.plan(snapshot, policy, state).decisions.victims
    assert [d.operation for d in victims] == [victim]
