"""What a stopped job keeps beyond its planned end may be in the way: then as few others as can be leave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

import evenhand as eh
from evenhand.systems.gridengine.settings import GridEngineSettings
from tests.properties.gridengine.test_reference import said
from tests.reference.explanations import check_explanations
from tests.reference.gridengine import Run, World, judge

SETTINGS = GridEngineSettings(
    max_reservation=10, max_preemptees=10, DURATION_OFFSET=0, automatic_preemption=True, preemption_action="S"
)


def cluster(
    *,
    free: int = 1,
    memory: int = 12,
    needs: int = 8,
    count: int = 1,
    ends: float = 1300,
    lasts: float = 8000,
) -> dict[str, Any]:
    """Job 12 keeps its memory when it stops; 32 is planned there from its end on, and 31 wants two slots."""
    return {
        "now": 1000,
        "resources": {"slots": {"kind": "slots"}, "mem": {"kind": "memory"}},
        "nodes": [{"name": "h", "capacity": {"slots": 3 + free, "mem": 16}}],
        "operations": [
            {"name": "12", "priority": 0.1, "user": "ann"},
            {"name": "14", "priority": 0.3, "user": "ann"},
            {"name": "31", "priority": 0.7, "user": "ann"},
            {"name": "32", "priority": 0.9, "user": "ann"},
        ],
        "allocations": [
            {
                "name": "12-a",
                "operation": "12",
                "node": "h",
                "start_time": 0,
                "planned_end": ends,
                "resources": {"slots": 1, "mem": memory},
            },
            {"name": "14-a", "operation": "14", "node": "h", "start_time": 0, "resources": {"slots": 2}},
        ],
        "requests": [
            {
                "name": "31-r",
                "operation": "31",
                "reserve": True,
                "duration": lasts,
                "count": count,
                "resources": {"slots": 2 // count, "mem": 4 // count},
            },
            {
                "name": "32-r",
                "operation": "32",
                "reserve": True,
                "duration": 8000,
                "resources": {"slots": 1, "mem": needs},
            },
        ],
    }


def victims(data: Mapping[str, Any], named: Sequence[str] = (), settings: Any = SETTINGS) -> list[str]:
    """Whom a run stops; by a request, if jobs are named. The readable rules say the same."""
    snapshot, policy = eh.Snapshot.from_dict(data), eh.policies.GridEngine(**settings.model_dump())
    state, accepted, world = None, {}, World(data, settings)
    if named:
        command = {"consumer": "31", "providers": list(named), "action": "S", "manager": True}
        state = eh.plan(snapshot, policy, on=eh.Commands((command,))).state
        accepted = dict([judge(world, command)])
    plan = eh.plan(snapshot, policy, state)
    run = Run(world, accepted)
    assert said(plan) == run.decisions
    assert {r.request: r.rule for r in plan.refusals} == run.rules
    check_explanations(plan)
    return list(dict.fromkeys(str(d.operation) for d in plan.decisions.victims))


@pytest.mark.parametrize("count", [1, 2])
def test_one_job_suffices_though_all_of_them_would_not(count: int) -> None:
    assert victims(cluster(count=count)) == ["14"]


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("named", [["12", "14"], ["14", "12"]])
def test_of_those_that_are_named_likewise(named: list[str], count: int) -> None:
    quiet = SETTINGS.model_copy(update={"automatic_preemption": False})
    assert victims(cluster(count=count), named, quiet) == ["14"]


@pytest.mark.parametrize(("memory", "found"), [(3, ["12"]), (4, ["12"]), (5, [])])
def test_what_is_kept_is_in_the_way_from_one_more_on(memory: int, found: list[str]) -> None:
    """Of 16, 8 are planned for one job and 4 wanted by the other: 4 are left for what is kept."""
    data = cluster(memory=memory, free=0)
    data["allocations"][0]["resources"]["slots"] = 2
    data["allocations"][1]["resources"]["slots"] = 1
    data["operations"][3]["priority"] = 0.05
    data["reservations"] = [
        {
            "name": "v",
            "request": "32-r",
            "node": "h",
            "resources": {"mem": 8},
            "from": 1300,
            "until": 5000,
        }
    ]
    assert victims(data, settings=SETTINGS.model_copy(update={"preemption_distance": 0.0})) == found


@pytest.mark.parametrize(("lasts", "found"), [(299, ["12"]), (300, ["12"]), (301, ["14"])])
def test_only_as_long_as_the_job_is_to_run(lasts: float, found: list[str]) -> None:
    """What job 12 keeps is not in the way before its planned end."""
    assert victims(cluster(lasts=lasts)) == found


def test_on_other_hosts_nothing_is_in_the_way() -> None:
    data = cluster()
    data["nodes"].append({"name": "i", "capacity": {"slots": 2, "mem": 4}})
    data["allocations"].append(
        {"name": "14-b", "operation": "14", "node": "i", "start_time": 0, "resources": {"slots": 2}}
    )
    assert victims(data) == ["14"]


def test_if_no_set_suffices_none_leaves() -> None:
    data = cluster(free=0)
    data["allocations"][1]["resources"]["mem"] = 4
    data["allocations"][1]["resources"]["slots"] = 2
    assert victims(data) == []


@pytest.mark.parametrize(("leaves", "rule"), [(False, "no_free_room"), (True, "waits_for_victims")])
def test_what_leaves_for_a_job_is_waited_for_where_nothing_is_reserved(leaves: bool, rule: str) -> None:
    """Its room is that of its job until it has gone, and free after that: for longer than the job runs."""
    running = {"name": "v-1", "operation": "v", "node": "h1", "resources": {"slots": 2}, "planned_end": 500.0}
    if leaves:
        running |= {"state": "preempting", "deadline": 10.0, "beneficiary": {"operation": "big"}}
    snapshot = eh.Snapshot.from_dict(
        {
            "now": 0,
            "resources": {"slots": {}},
            "nodes": [{"name": "h1", "capacity": {"slots": 2}}],
            "operations": [{"name": "v"}, {"name": "big"}],
            "allocations": [running],
            "requests": [
                {"name": "big-1", "operation": "big", "resources": {"slots": 2}, "duration": 1000.0}
            ],
        }
    )
    (refusal,) = eh.plan(snapshot, eh.policies.GridEngine()).refusals
    assert (refusal.request, refusal.rule) == ("big-1", rule)
