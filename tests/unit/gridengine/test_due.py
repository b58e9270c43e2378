"""When a scheduling run may decide otherwise though nothing happens."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh

JOBS = 5
ROWS: dict[str, Any] = {
    "name": [f"j{i}" for i in range(JOBS)],
    "resources.cpu": [4] * JOBS,
    "submit_time": [0] * JOBS,
    "run_time": [1000] * JOBS,
    "duration": [1200] * JOBS,
    "reserve": [True] * JOBS,
}


def contended(**more: Any) -> eh.Snapshot:
    tables: dict[str, Any] = {
        "nodes": [{"name": "n", "capacity": {"cpu": 4}}],
        "operations": [{"name": name, "start_time": 0} for name in "ab"],
        "allocations": [{"name": "x", "operation": "a", "node": "n", "resources": {"cpu": 3}, "start_time": 0,
                         "planned_end": 500}],
        "requests": [{"name": "r", "operation": "b", "resources": {"cpu": 2}, "submit_time": 0}],
    }  # fmt: skip
    return eh.Snapshot.from_dict({"now": 100, "resources": {"cpu": {}}, **tables, **more})


@pytest.mark.parametrize(
    ("settings", "due"),
    [
        ({}, None),
        ({"max_reservation": 1}, 100),
        ({"automatic_preemption": True}, 100),
        ({"automatic_preemption": True, "max_reservation": 1}, 100),
    ],
)
def test_what_runs_is_looked_ahead_to_only_for_reservations_and_preemption(
    settings: dict[str, Any], due: float | None
) -> None:
    plan = eh.plan(contended(), eh.policies.GridEngine(**settings))
    assert not len(plan.decisions)
    assert plan.next_due == due


@pytest.mark.parametrize(("begin", "end", "due"), [(50, 300, 300), (200, 300, 200), (None, None, None)])
def test_reservations_of_others_begin_and_end_by_themselves(
    begin: float | None, end: float | None, due: float | None
) -> None:
    one = {"name": "v", "allocation": "x", "node": "n", "resources": {"cpu": 1}, "from": begin, "until": end}
    plan = eh.plan(contended(reservations=[one]), eh.policies.GridEngine())
    assert plan.next_due == due


@pytest.mark.parametrize("literal", [False, True])
def test_there_are_runs_where_something_has_happened(literal: bool) -> None:
    """One job after the other has the node: a run starts it, one looks again, and one follows its end."""
    work = eh.simulate.Workload(ROWS)
    result = eh.simulate(
        work.snapshot(nodes=1, now=0, cpu=4), eh.policies.GridEngine(), work, literal=literal
    )
    assert result.operations["first_start"].tolist() == [0, 1005, 2010, 3015, 4020]
    assert result.counts["decided"] == (5025 // 15 + 1 if literal else 2 * JOBS + 1)
