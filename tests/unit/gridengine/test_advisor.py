"""The advisor's choice among the gentle actions (U16 to U18), one resource after the other."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh


def chosen(has: dict[str, float], wants: dict[str, float], *, swap: float | None = None, **more: Any) -> str:
    """How a job of low priority gives way to one that wants this much."""
    snapshot = eh.Snapshot.from_dict(
        {
            "resources": {
                "slots": {"kind": "slots"},
                "memory": {"kind": "memory"},
                "gpu": {"kind": "other"},
                "lic": {"kind": "license", "scope": "cluster", "capacity": 2},
            },
            "nodes": [{"name": "h", "capacity": {"slots": 1, "memory": 8, "gpu": 2}, "swap_free": swap}],
            "operations": [{"name": "low", "priority": 1}, {"name": "high", "priority": 2}],
            "allocations": [{"name": "a", "operation": "low", "node": "h", "resources": has, **more}],
            "requests": [{"name": "r", "operation": "high", "resources": wants, "reserve": True}],
        }
    )
    policy = eh.policies.GridEngine(
        max_reservation=1, max_preemptees=1, automatic_preemption=True, lo_licenses=["lic"]
    )
    (victim,) = eh.plan(snapshot, policy).decisions.victims
    return str(victim.mode)


@pytest.mark.parametrize("lic", [0, 1])
def test_slots_and_managed_licences_alone_are_suspended(lic: int) -> None:
    """Neither has the job anything else, nor is anything else wanted."""
    assert chosen({"slots": 1, "lic": lic}, {"slots": 1, "lic": lic}) == "suspend"


@pytest.mark.parametrize(("more", "swap"), [({"memory": 1}, 0), ({"gpu": 1}, None)])
def test_what_else_the_job_has_speaks_against_suspending_only(more: dict[str, float], swap: float) -> None:
    assert chosen({"slots": 1, **more}, {"slots": 1}, swap=swap) == "enhanced_suspend"


def test_what_else_is_wanted_speaks_against_suspending_only() -> None:
    assert chosen({"slots": 1}, {"slots": 1, "memory": 1}) == "preempt"
    assert chosen({"slots": 1, "memory": 4}, {"slots": 1, "memory": 1}, swap=0) == "enhanced_suspend"


@pytest.mark.parametrize(("swap", "expected"), [(3, "enhanced_suspend"), (4, "preempt"), (5, "preempt")])
def test_swap_must_hold_the_memory(swap: float, expected: str) -> None:
    assert chosen({"slots": 1, "memory": 4}, {"slots": 1}, swap=swap) == expected


@pytest.mark.parametrize(("releases", "expected"), [(False, "enhanced_suspend"), (True, "preempt")])
def test_the_rest_must_be_released(releases: bool, expected: str) -> None:
    settings = {"releases_on_suspend": releases}
    assert chosen({"slots": 1, "gpu": 1}, {"slots": 1}, settings=settings) == expected


# Jobs of several parts


def gives_way(
    free: int, parts: int, *, rows: int = 1, other: dict[str, Any] | None = None, held: int = 0
) -> str | None:
    """How a job with a pin that stays with it gives way to one whose parts want a pin each; None: not at all.

    It has as many slots as there are parts, and `free` pins of its host are free. `other`: what another host
    has, of which a job of lower priority holds so many slots.
    """
    low = {"name": "a", "operation": "low", "node": "h", "resources": {"slots": parts, "pin": 1}}
    hosts = [{"name": "h", "capacity": {"slots": parts, "pin": 1 + free}}]
    runs = [low]
    if other is not None:
        hosts.append({"name": "i", "capacity": other})
    if held:
        runs.append({"name": "b", "operation": "lower", "node": "i", "resources": {"slots": held}})
    snapshot = eh.Snapshot.from_dict(
        {
            "resources": {
                "slots": {"kind": "slots"},
                "pin": {"kind": "other", "available_after_preemption": False},
            },
            "nodes": hosts,
            "operations": [
                {"name": "low", "priority": 1},
                {"name": "lower", "priority": 0},
                {"name": "high", "priority": 2},
            ],
            "allocations": runs,
            "requests": [
                {
                    "name": f"r{k}",
                    "operation": "high",
                    "resources": {"slots": 1, "pin": 1},
                    "reserve": True,
                    "count": parts // rows,
                }
                for k in range(rows)
            ],
        }
    )
    policy = eh.policies.GridEngine(max_reservation=1, max_preemptees=2, automatic_preemption=True)
    modes = {str(d.operation): str(d.mode) for d in eh.plan(snapshot, policy).decisions.victims}
    return modes.get("low")


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize(
    ("free", "expected"), [(1, "terminate"), (2, "enhanced_suspend"), (3, "enhanced_suspend")]
)
def test_all_parts_together_may_want_what_a_stopped_job_keeps(rows: int, free: int, expected: str) -> None:
    assert gives_way(free, 2, rows=rows) == expected


@pytest.mark.parametrize(
    ("pins", "slots", "expected"),
    [
        (0, 1, "terminate"),
        (1, 1, "enhanced_suspend"),  # one part of the two may go there
        (2, 1, "enhanced_suspend"),
        (1, 0, "terminate"),  # there is no slot for it
    ],
)
def test_what_other_hosts_have_room_for_is_not_wanted_there(pins: int, slots: int, expected: str) -> None:
    assert gives_way(1, 2, other={"slots": slots, "pin": pins}) == expected


def test_room_that_another_job_may_give_counts_elsewhere() -> None:
    assert gives_way(1, 2, other={"slots": 1, "pin": 1}, held=1) == "enhanced_suspend"
    assert gives_way(0, 2, other={"slots": 1, "pin": 1}, held=1) == "terminate"  # one part wants it there


@pytest.mark.parametrize(("pins", "expected"), [(1, "terminate"), (2, "terminate"), (3, "terminate")])
def test_that_room_counts_once(pins: int, expected: str) -> None:
    """Of three parts one may go where another job leaves a slot, and two pins are missing on the host."""
    assert gives_way(1, 3, other={"slots": 1, "pin": pins}, held=1) == expected
    assert gives_way(2, 3, other={"slots": 1, "pin": pins}, held=1) == "enhanced_suspend"
