"""Cells exactly at the largest values that they may have, and one step beyond."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import evenhand as eh
from tests.unit.plans.fake import CLUSTER, make, start, victim


def named(name: Any) -> eh.Snapshot:
    return eh.Snapshot.from_dict({"resources": {"cpu": {}}, "operations": [{"name": name}]})


@pytest.mark.parametrize("name", [-(2**63), -(2**63) + 1, 0, 2**63 - 2, 2**63 - 1])
def test_names_are_integers_of_64_bits(name: int) -> None:
    assert list(named(name).names("operations")) == [name]


@pytest.mark.parametrize("name", [-(2**63) - 1, 2**63])
def test_longer_names_are_refused(name: int) -> None:
    with pytest.raises(eh.InputError, match="does not fit in 64 bits"):
        named(name)


@pytest.mark.parametrize("name", [-(2**63), 2**63 - 1])
def test_the_longest_names_beside_a_wrong_one(name: int) -> None:
    """Then cells are looked at one by one."""
    with pytest.raises(eh.InputError) as raised:
        eh.Snapshot.from_dict({"resources": {"cpu": {}}, "operations": [{"name": name}, {"name": 1.5}]})
    assert [(p.row, p.field, p.rule) for p in raised.value.problems] == [(1, "name", "type")]


@pytest.mark.parametrize("before", [{}, {"cpu": 1}])
def test_room_that_was_taken_adds_up(before: dict[str, int]) -> None:
    """Of what leaves for a request, one cpu has been taken, or none; two starts take one each."""
    leaving = {"state": "preempting", "deadline": 1010.0, "beneficiary": {"operation": "w"}}
    settings = {"settings": {"room_taken": before}} if before else {}
    data = {
        "now": 1000.0,
        "resources": {"cpu": {}},
        "nodes": [{"name": "n", "capacity": {"cpu": 4}}],
        "operations": [{"name": "v"}, {"name": "w"}],
        "allocations": [
            {"name": "a", "operation": "v", "node": "n", "resources": {"cpu": 4}} | leaving | settings
        ],
        "requests": [{"name": "r", "operation": "w", "resources": {"cpu": 1}, "count": 2}],
    }
    snapshot = eh.Snapshot.from_dict(data)
    after = snapshot.after(eh.plan(snapshot, eh.policies.YTsaurus()))
    rows = {row["name"]: row for row in after.to_dict()["allocations"]}
    assert set(rows) == {"a", "r/1", "r/2"}
    assert rows["a"]["settings"]["room_taken"] == {"cpu": 2 + before.get("cpu", 0)}


@pytest.mark.parametrize("served", ["b", "c"])
def test_reservations_for_allocations_stay_when_a_request_is_served(served: str) -> None:
    """Also if the request is the last of all."""
    data = copy.deepcopy(CLUSTER)
    data["requests"][0]["count"] = 1
    data["reservations"] = [
        {"name": "for b", "request": "b", "node": "n1"},
        {"name": "for c", "request": "c", "node": "n1"},
        {"name": "for c1", "allocation": "c1", "node": "n3"},
    ]
    snapshot = eh.Snapshot.from_dict(data)
    operation = {"b": "B", "c": "C"}[served]
    after = snapshot.after(make([start(served, operation, "n1", 0)], snapshot))
    left = {row["name"] for row in after.to_dict()["reservations"]}
    assert left == {"for b", "for c", "for c1"} - {f"for {served}"}


@pytest.mark.parametrize(
    ("until", "state"), [(100, "preempted"), (100.000001, "preempting"), (130, "preempting")]
)
@pytest.mark.parametrize("mode", ["suspend", "requeue"])
def test_who_is_suspended_at_once_is_so_at_once(until: float, state: str, mode: str) -> None:
    plan = make([victim("a09", "n1", 0, mode=mode, until=until)])
    rows = {row["name"]: row for row in plan.snapshot.after(plan).to_dict()["allocations"]}
    assert rows["a09"]["state"] == (state if mode == "suspend" else "preempting")
