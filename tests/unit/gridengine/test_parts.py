"""When all parts of a job find hosts, and which jobs leave for them."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh


def running(job: str, host: str, slots: int, **more: Any) -> dict[str, Any]:
    row = {"name": f"{job}-a", "operation": job, "node": host, "resources": {"slots": slots}}
    return row | {"start_time": 500, **more}


def cluster(hosts: dict[str, int], jobs: list[dict[str, Any]], request: dict[str, Any]) -> eh.Snapshot:
    """Full hosts; job 99 waits. Of the others each has a higher priority than the one before."""
    names = list(dict.fromkeys(job["operation"] for job in jobs))
    priorities = [{"name": name, "priority": 0.1 + n / 1000} for n, name in enumerate(names)]
    return eh.Snapshot.from_dict(
        {
            "now": 1000,
            "resources": {"slots": {"kind": "slots"}},
            "nodes": [{"name": name, "capacity": {"slots": slots}} for name, slots in hosts.items()],
            "operations": [*priorities, {"name": "99", "priority": 0.9}],
            "allocations": jobs,
            "requests": [{"name": "99-r", "operation": "99", "reserve": True, **request}],
        }
    )


def fewest(most: int = 1000) -> eh.policies.GridEngine:
    return eh.policies.GridEngine(
        automatic_preemption=True, max_reservation=1, max_preemptees=most, preemption_action="T"
    )


@pytest.mark.parametrize(("ends", "starts"), [(1199, 1199), (1200, 1200), (1201, 2000)])
def test_parts_start_together_while_each_host_has_room(ends: float, starts: float) -> None:
    """From 1300 until 2000 the first host is reserved: a job of 100 seconds fits there until 1200."""
    data = cluster(
        {"h0": 1, "h1": 1},
        [running("10", "h0", 1, planned_end=1100), running("11", "h1", 1, planned_end=ends)],
        {"resources": {"slots": 1}, "count": 2, "duration": 100},
    ).to_dict()
    data["operations"].append({"name": "98", "priority": 0.05})
    data["requests"].append({"name": "98-r", "operation": "98", "resources": {"slots": 9}})
    kept = {"name": "v", "node": "h0", "request": "98-r", "resources": {"slots": 1}}
    data["reservations"] = [kept | {"from": 1300, "until": 2000}]
    snapshot = eh.Snapshot.from_dict(data)
    plan = eh.plan(snapshot, eh.policies.GridEngine(max_reservation=1, DURATION_OFFSET=0.0))
    assert [(d.node, d.at) for d in plan.decisions] == [("h0", starts), ("h1", starts)]


def test_of_the_smallest_sets_the_first_in_order() -> None:
    """Not the set that is left of the first three, which suffice."""
    snapshot = cluster(
        {"h0": 4, "h1": 4},
        [running("10", "h0", 1), running("11", "h1", 1), running("12", "h1", 3), running("13", "h0", 3)],
        {"resources": {"slots": 2}, "count": 2, "duration": 100},
    )
    assert [d.operation for d in eh.plan(snapshot, fewest()).decisions.victims] == ["10", "13"]


@pytest.mark.parametrize("parts", [63, 64, 65, 150])
def test_jobs_of_many_parts(parts: int) -> None:
    """A job of more than 64 parts is weighed in another way, with the same answer."""
    names = [f"{n + 100}" for n in range(200)]
    snapshot = cluster(
        {"h0": 180, "h1": 20},
        [running(name, "h1" if n % 10 == 3 else "h0", 1) for n, name in enumerate(names)],
        {"resources": {"slots": 1}, "count": parts, "duration": 100},
    )
    assert [d.operation for d in eh.plan(snapshot, fewest()).decisions.victims] == names[:parts]


@pytest.mark.parametrize(("slots", "leave"), [(3, ["13"]), (4, ["10", "13"]), (5, ["11", "13"])])
def test_one_part_is_freed_by_the_first_pair_that_is_enough(slots: int, leave: list[str]) -> None:
    jobs = [running(name, "h0", has) for name, has in (("10", 1), ("11", 2), ("12", 2), ("13", 3))]
    snapshot = cluster({"h0": 8}, jobs, {"resources": {"slots": slots}, "duration": 100})
    assert [d.operation for d in eh.plan(snapshot, fewest()).decisions.victims] == leave


@pytest.mark.parametrize(("most", "leave"), [(1, 0), (2, 2), (3, 2)])
def test_the_cap_of_preemptees_counts_those_of_all_hosts(most: int, leave: int) -> None:
    snapshot = cluster(
        {"h0": 2, "h1": 2},
        [running("10", "h0", 2), running("11", "h1", 2)],
        {"resources": {"slots": 2}, "count": 2, "duration": 100},
    )
    assert len(eh.plan(snapshot, fewest(most)).decisions.victims) == leave


def test_free_room_on_many_hosts_is_used_first() -> None:
    """Ten hosts hold a part each as they are; two more parts need a victim each."""
    jobs = [running(f"1{n}", f"h{n}", 1) for n in range(10)] + [
        running("20", "i0", 4),
        running("21", "i1", 3),
    ]
    snapshot = cluster(
        {f"h{n}": 3 for n in range(10)} | {"i0": 4, "i1": 3},
        jobs,
        {"resources": {"slots": 2}, "count": 12, "duration": 100},
    )
    assert [d.operation for d in eh.plan(snapshot, fewest()).decisions.victims] == ["20"]


def test_free_room_of_a_host_counts_once() -> None:
    """Two hosts hold a part each as they are, and one more without their jobs: three, not four."""
    snapshot = cluster(
        {"h0": 4, "h1": 4, "h2": 4},
        [running("10", "h0", 2), running("11", "h1", 4), running("12", "h2", 2)],
        {"resources": {"slots": 2}, "count": 4, "duration": 100},
    )
    assert [d.operation for d in eh.plan(snapshot, fewest()).decisions.victims] == ["11"]


def test_a_job_on_several_hosts_leaves_all_of_them() -> None:
    """One that frees both parts is fewer than two that free one each."""
    snapshot = cluster(
        {"h0": 4, "h1": 4},
        [
            running("10", "h0", 2),
            running("11", "h1", 2),
            running("12", "h0", 2),
            running("12", "h1", 2, name="12-b"),
        ],
        {"resources": {"slots": 2}, "count": 2, "duration": 100},
    )
    assert [d.allocation for d in eh.plan(snapshot, fewest()).decisions.victims] == ["12-a", "12-b"]


def test_what_is_done_with_a_job_depends_on_what_is_missing_before_any_has_gone() -> None:
    """Stopped jobs would keep memory that is missing: both end, also once the first has freed some."""
    data = cluster(
        {"h0": 4},
        [running("10", "h0", 2), running("11", "h0", 2)],
        {"resources": {"slots": 1}, "count": 2, "duration": 100},
    ).to_dict()
    data["resources"]["h_vmem"] = {"kind": "memory", "available_after_preemption": False}
    for job in data["allocations"]:
        job["resources"]["h_vmem"] = 2
    data["nodes"][0]["capacity"]["h_vmem"] = 4
    data["requests"][0]["resources"]["h_vmem"] = 2
    policy = eh.policies.GridEngine(automatic_preemption=True, max_reservation=1, max_preemptees=2)
    plan = eh.plan(eh.Snapshot.from_dict(data), policy)
    assert [(d.operation, d.mode) for d in plan.decisions.victims] == [
        ("10", "terminate"),
        ("11", "terminate"),
    ]
