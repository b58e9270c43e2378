"""A managed licence that several clusters share is given once, whatever each of them is asked to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import evenhand as eh

POLICY = eh.policies.GridEngine(max_reservation=10, max_preemptees=10, lo_licenses=["lic"], DURATION_OFFSET=0)
RUN = eh.SchedulingRun()
ASKS = eh.Commands(({"consumer": "a9", "providers": ["a1"], "action": "P", "manager": True},))


def cluster(name: str, *, holds: int, wants: int, there: int, priority: float) -> eh.Snapshot:
    """Its job 1 has so many licences of those that there are; its job 9 wants some."""
    jobs: list[dict[str, Any]] = [
        {
            "name": f"{name}1-a",
            "operation": f"{name}1",
            "node": name,
            "start_time": 0,
            "planned_end": 5000,
            "resources": {"slots": 1, "lic": holds},
        }
    ]
    asks: list[dict[str, Any]] = [
        {
            "name": f"{name}9-r",
            "operation": f"{name}9",
            "resources": {"slots": 1, "lic": wants},
            "reserve": True,
            "duration": 6000,
        }
    ]
    return eh.Snapshot.from_dict(
        {
            "now": 1000,
            "resources": {
                "slots": {"kind": "slots"},
                "lic": {"kind": "license", "scope": "cluster", "capacity": there},
            },
            "nodes": [{"name": name, "capacity": {"slots": 2}}],
            "operations": [{"name": f"{name}1", "priority": 0.1}, {"name": f"{name}9", "priority": priority}],
            "allocations": jobs,
            "requests": asks,
        }
    )


def both(there: int, *, of_a: int = 1, of_b: int = 1) -> dict[str, eh.Snapshot]:
    return {
        "A": cluster("a", holds=of_a, wants=1, there=there, priority=0.5),
        "B": cluster("b", holds=of_b, wants=1, there=there, priority=0.9),
    }


def starts(plans: Mapping[str, eh.Plan]) -> list[str]:
    return [str(d.operation) for plan in plans.values() for d in plan.decisions.starts]


@pytest.mark.parametrize(("there", "found"), [(2, []), (3, ["b9"]), (4, ["a9", "b9"])])
def test_both_run(there: int, found: list[str]) -> None:
    plans = eh.plan(both(there), POLICY, on=RUN)
    assert starts(plans) == found


@pytest.mark.parametrize(("there", "found"), [(2, []), (3, ["b9"]), (4, ["b9"])])
def test_one_runs_and_the_other_is_asked(there: int, found: list[str]) -> None:
    plans = eh.plan(both(there), POLICY, on={"A": ASKS, "B": RUN})
    assert starts(plans) == found
    assert [d.code for d in plans["A"].diagnostics] == ["preemption_request_accepted"]
    later = eh.plan(both(there), POLICY, {name: plan.state for name, plan in plans.items()}, on=RUN)
    left = {str(d.operation) for d in later["A"].decisions.victims}
    assert left == ({"a1"} if there < 4 else set())


@pytest.mark.parametrize("on", [ASKS, {"A": ASKS, "B": RUN}])
def test_a_command_is_judged_by_its_own_cluster(on: Any) -> None:
    plans = eh.plan(both(2), POLICY, on=on)
    assert [r.rule for r in plans["A"].refusals if r.command == 0] == []


def test_of_three_clusters_two_that_run_share_what_the_third_leaves() -> None:
    """None gets what another one has, whichever of them runs."""
    three = {**both(4), "C": cluster("c", holds=1, wants=1, there=4, priority=0.7)}
    for idle, found in (("A", ["b9"]), ("B", ["c9"]), ("C", ["b9"])):
        on = {name: eh.Commands(()) if name == idle else RUN for name in three}
        assert starts(eh.plan(three, POLICY, on=on)) == found


def test_what_is_said_of_one_cluster_counts_what_others_have() -> None:
    """By itself it would have found the licence free."""
    plans = eh.plan(both(2, of_a=1, of_b=0), POLICY, on={"A": RUN, "B": RUN})
    assert starts(plans) == ["b9"]
    told = plans["A"].why_not("a9-r")
    assert told.numbers["missing"] == {"lic": 1}
    assert [(met["outcome"], met["missing"]) for met in told.looked_at] == [
        ("waits_for_reservation", {"lic": 1})
    ]
    assert starts({"A": eh.plan(both(2, of_a=1)["A"], POLICY)}) == ["a9"]
