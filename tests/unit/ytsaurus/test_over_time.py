"""What counts over time: preemptions by reason, victims within their fair share, and how victims end."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import evenhand as eh
from evenhand.simulate import Workload, simulate

CPU: dict[str, Any] = {"cpu": {}}


def victims(result: eh.simulate.Result, column: str) -> list[Any]:
    """A column of the decisions that preempt."""
    of = zip(result.decisions["action"], result.decisions[column], strict=True)
    return [cell for action, cell in of if action == "preempt"]


@pytest.mark.parametrize("reports", [1, 5, 20])
def test_most_victims_leave_for_those_that_starve(reports: int) -> None:
    """A pool is over its limit at the beginning, a node loses two processors, and reports come all the time.

    Each report starves, and takes the two processors of its pool's guarantee from a job that fills the rest.
    """
    nodes = [{"name": f"n{i}", "capacity": {"cpu": 8}} for i in (1, 2, 3)]
    capped = [
        {"name": f"c{i}", "operation": "c", "node": "n1", "resources": {"cpu": 1}, "start_time": float(-i)}
        for i in range(8)
    ]
    start = {
        "now": 0,
        "resources": CPU,
        "nodes": nodes,
        "pools": [
            {"name": "batch"},
            {"name": "capped", "limits": {"cpu": 5}},
            {"name": "reports", "strong_guarantee": {"cpu": 2}},
        ],
        "operations": [{"name": "c", "pool": "capped"}],
        "allocations": capped,
    }
    asked = [{"name": "b", "pool": "batch", "count": 40, "submit_time": 0, "run_time": 1e5}]
    asked += [
        {"name": f"r{i}", "pool": "reports", "count": 2, "submit_time": 100.0 + 200 * i, "run_time": 100}
        for i in range(reports)
    ]
    work = Workload(
        [{**row, "resources": {"cpu": 1}} for row in asked],
        nodes={"time": [50], "node": ["n2"], "event": ["capacity"], "capacity.cpu": [6]},
        resources=CPU,
    )
    policy = eh.policies.YTsaurus(fair_share_starvation_timeout=10)
    end = 100.0 + 200 * reports
    result = simulate(eh.Snapshot.from_dict(start), policy, work, end, heartbeat_period=5)
    said = {"preemption": 2 * reports, "resource_limits_violated": 3, "resource_overcommit": 2}
    assert Counter(victims(result, "reason")) == said
    head = "preemptions.reason."
    counts = {name[len(head) :]: n for name, n in result.metrics.items() if name.startswith(head)}
    assert counts == said
    who = Counter(zip(victims(result, "operation"), victims(result, "reason"), strict=True))
    assert who["c", "resource_limits_violated"] == 3
    if reports == 20:
        assert counts["preemption"] / result.metrics["preemptions"] > 0.85


def scattered(nodes: int) -> Workload:
    """On each of so many pairs of nodes two jobs leave three of ten processors free; then one wants five."""
    asked: list[dict[str, Any]] = [
        {"name": f"s{i}", "count": 7, "required_node": f"n{i}", "resources": {"cpu": 1}}
        for i in range(1, nodes + 1)
    ]
    asked += [
        {"name": f"w{i}", "count": 1, "required_node": f"n{i}", "resources": {"cpu": 5}}
        for i in range(1, nodes + 1, 2)
    ]
    rows = [
        {**row, "submit_time": 0.0 if row["name"][0] == "s" else 10.0, "run_time": 1000.0} for row in asked
    ]
    return Workload(rows, resources=CPU)


@pytest.mark.parametrize("nodes", [2, 4, 8])
@pytest.mark.parametrize(
    ("threshold", "aggressive", "each"), [(0.5, True, 2), (0.5, False, 0), (1.0, True, 0)]
)
def test_victims_within_their_fair_share_are_counted(
    nodes: int, threshold: float, aggressive: bool, each: int
) -> None:
    """All get what they ask for, so none is above its share: whoever leaves was within it."""
    work = scattered(nodes)
    policy = eh.policies.YTsaurus(
        enable_aggressive_starvation=aggressive,
        fair_share_starvation_timeout=5,
        fair_share_aggressive_starvation_timeout=20,
        preemption_satisfaction_threshold=1.0,
        aggressive_preemption_satisfaction_threshold=threshold,
    )
    result = simulate(work.snapshot(nodes=nodes, now=0, cpu=10), policy, work, 80, heartbeat_period=5)
    count = each * nodes // 2
    assert victims(result, "within_fair_share") == [True] * count
    assert (result.metrics["victims.within_fair_share"], result.metrics["preemptions"]) == (count, count)


def test_victims_above_their_fair_share_are_not() -> None:
    rows = [
        {"name": "old", "count": 8, "resources": {"cpu": 1}, "submit_time": 0, "run_time": 1000},
        {"name": "new", "count": 8, "resources": {"cpu": 1}, "submit_time": 10, "run_time": 1000},
    ]
    work = Workload(rows, resources=CPU)
    policy = eh.policies.YTsaurus(fair_share_starvation_timeout=5, fair_share_starvation_tolerance=1.0)
    result = simulate(work.snapshot(nodes=1, now=0, cpu=8), policy, work, 300, heartbeat_period=5)
    assert victims(result, "within_fair_share") == [False] * 4
    assert (result.metrics["victims.within_fair_share"], result.metrics["preemptions"]) == (0, 4)


@pytest.mark.parametrize(
    ("grace", "completed"), [(0, 0), (19.999999, 0), (20, 1), (30, 1), (39.999999, 1), (40, 2), (60, 2)]
)
def test_victims_complete_if_they_need_no_more_than_their_grace(grace: float, completed: int) -> None:
    """Of eight victims four need 20 s more, and four need 40 s."""
    left = 56.0  # when they are asked to leave
    here: dict[str, Any] = {"count": 4, "resources": {"cpu": 1}, "submit_time": 0}
    rows = [
        {"name": "short", "pool": "batch", "run_time": left + 20, **here},
        {"name": "long", "pool": "batch", "run_time": left + 40, **here},
        {"name": "report", "pool": "reports", "submit_time": 50, "run_time": 10, "resources": {"cpu": 8}},
    ]
    pools = [{"name": "batch"}, {"name": "reports", "strong_guarantee": {"cpu": 8}}]
    work = Workload(rows, pools=pools, resources=CPU)
    policy = eh.policies.YTsaurus(
        fair_share_starvation_timeout=5,
        preemptive_scheduling_backoff=0,
        allocation_preemption_timeout=grace,
    )
    result = simulate(work.snapshot(nodes=1, now=0, cpu=8), policy, work, heartbeat_period=1)
    assert set(victims(result, "time")) == {left}
    assert set(victims(result, "grace")) == {grace}
    runs = result.allocations
    first = [i for i in range(len(runs)) if runs["start"][i] == 0]
    ends = Counter((runs["request"][i], runs["end"][i], runs["outcome"][i]) for i in first)
    other = "aborted" if grace else "preempted"
    assert ends == {
        ("short", left + min(grace, 20), "completed" if completed > 0 else other): 4,
        ("long", left + min(grace, 40), "completed" if completed > 1 else other): 4,
    }
    operations = result.operations
    done = dict(zip(operations["operation"], operations["completed"], strict=True))
    assert done == {"short": 4, "long": 4, "report": 1}
    assert result.metrics["preemptions"] == 8
