"""Checks of room that is reserved for later: none is needed now, and what takes its place is said."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh

POLICY = eh.policies.GridEngine(max_reservation=10, DURATION_OFFSET=0)


def ahead(**changes: Any) -> eh.Snapshot:
    """A job waits for the room of one that is planned to end."""
    data: dict[str, Any] = {
        "now": 1000,
        "resources": {"slots": {"kind": "slots"}},
        "nodes": [{"name": "n", "capacity": {"slots": 4}}],
        "operations": [
            {"name": "low", "priority": 0.1},
            {"name": "runs", "priority": 0.2},
            {"name": "waits", "priority": 0.5},
        ],
        "allocations": [
            {
                "name": "a",
                "operation": "runs",
                "node": "n",
                "resources": {"slots": 2},
                "start_time": 900,
                "planned_end": 1100,
            }
        ],
        "requests": [
            {"name": "r", "operation": "waits", "resources": {"slots": 4}, "duration": 60, "reserve": True}
        ],
    }
    return eh.Snapshot.from_dict(data | changes)


def found(changes: dict[str, Any]) -> list[tuple[str, str]]:
    plan = eh.plan(ahead(), POLICY)
    assert [(d.action, d.request, d.at) for d in plan.decisions] == [("reserve", "r", 1100.0)]
    return [(f.code, f.message) for f in plan.check(ahead(**changes)).findings]


def test_it_holds_on_the_snapshot_that_it_was_made_from() -> None:
    plan = eh.plan(ahead(), POLICY)
    check = plan.check(ahead())
    assert check
    assert check.steps == [d.step for d in plan.decisions]


@pytest.mark.parametrize("now", [1000, 1001, 1099, 1100])
def test_it_holds_later_on_as_long_as_it_waits(now: int) -> None:
    assert found({"now": now}) == []


NOT_NEEDED = ("beneficiary_fits_without_victims", "waits would start in free room now, on n")


@pytest.mark.parametrize(
    ("changes", "code", "says"),
    [
        ({"allocations": []}, *NOT_NEEDED),
        ({"nodes": [{"name": "n", "capacity": {"slots": 6}}]}, *NOT_NEEDED),
        ({"requests": []}, "request_gone", "request r is gone"),
        (
            {"requests": [{"name": "r", "operation": "waits", "resources": {"slots": 4}}]},
            "beneficiary_not_served",
            "r would not be served now",
        ),
        (
            {"nodes": [{"name": "n", "capacity": {"slots": 3}}]},
            "beneficiary_not_served",
            "r would not be served now",
        ),
        ({"nodes": [], "allocations": []}, "node_gone", "node n is gone"),
    ],
)
def test_what_takes_its_place(changes: dict[str, Any], code: str, says: str) -> None:
    ((found_code, message),) = found(changes)
    assert found_code == code
    assert message.startswith(says)


def test_victims_that_are_needed_now() -> None:
    policy = POLICY.replace(automatic_preemption=True, max_preemptees=5, preemption_distance=200.0)
    plan = eh.plan(ahead(), policy)
    assert [d.action for d in plan.decisions] == ["reserve"]
    (finding,) = plan.check(
        ahead(allocations=[ahead().to_dict()["allocations"][0] | {"planned_end": 1300}])
    ).findings
    assert finding.code == "needs_victims"
    assert finding.message == "r would start only once others have left now: a"


@pytest.mark.parametrize("state", ["preempted", "running"])
def test_room_that_is_reserved_for_a_preempted_job(state: str) -> None:
    """It has no request: its allocation is named."""
    stopped = {
        "name": "p",
        "operation": "low",
        "node": "n",
        "resources": {"slots": 4},
        "state": "preempted",
        "held": {},
        "start_time": 800,
    }
    rows = [*ahead().to_dict()["allocations"], stopped]
    plan = eh.plan(ahead(allocations=rows, requests=[]), POLICY)
    assert [(d.action, d.allocation, d.at) for d in plan.decisions] == [("reserve", "p", 1100.0)]
    assert not plan.check(plan.snapshot).findings
    rows[1] = {k: v for k, v in stopped.items() if k != "held"} | {"state": state}
    gone = plan.check(ahead(allocations=[rows[1]], requests=[])).findings
    assert [f.code for f in gone] == [
        "not_suspended" if state == "running" else "beneficiary_fits_without_victims"
    ]
    assert [f.code for f in plan.check(ahead(requests=[])).findings] == ["victim_ended"]


def test_limits_that_the_policy_does_not_read_refuse_nothing() -> None:
    """Other systems hold operations and pools to limits; the plan is within them by chance only."""
    data = ahead(allocations=[], pools=[{"name": "p", "limits": {"slots": 1}}]).to_dict()
    data["operations"][2] |= {"limits": {"slots": 1}, "pool": "p"}
    snapshot = eh.Snapshot.from_dict(data | {"root": {"limits": {"slots": 1}}})
    plan = eh.plan(snapshot, POLICY)
    assert [(d.action, d.request) for d in plan.decisions] == [("start", "r")]
    assert not plan.check(snapshot).findings
