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
