"""When a plan may come out otherwise though nothing happens: a simulation that jumps there misses nothing."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh

STEP = 1e-6  # the clock's


def decided(plan: eh.Plan) -> list[tuple[str, Any]]:
    return [(d.action, d.allocation or d.request) for d in plan.decisions]


def decisions(workload: eh.simulate.Workload, start: eh.Snapshot, policy: Any, literal: bool) -> list[Any]:
    d = eh.simulate(start, policy, workload, until=2500, literal=literal).decisions
    return list(zip(d["time"], d["action"], d["request"], strict=True))


WITHIN = eh.policies.Slurm(
    PreemptType="preempt/qos",
    PreemptMode="REQUEUE,WITHIN",
    qos={"q": {}},
    PriorityType="priority/multifactor",
    PriorityWeightAge=1000,
    PriorityMaxAge=86400.0,
)


def contended(now: float) -> eh.Snapshot:
    """One job has the node since 60 s, and another one of its QOS waits since then."""
    tables: dict[str, Any] = {
        "nodes": [{"name": "n", "capacity": {"cpu": 3}}],
        "operations": [{"name": name, "qos": "q", "start_time": 60} for name in "ab"],
        "allocations": [
            {"name": "x", "operation": "a", "node": "n", "resources": {"cpu": 3}, "start_time": 60}
        ],
        "requests": [{"name": "r", "operation": "b", "resources": {"cpu": 3}, "submit_time": 60}],
    }
    return eh.Snapshot.from_dict({"now": now, "resources": {"cpu": {}}, **tables})


def test_a_plan_is_due_when_age_makes_the_next_whole_priority() -> None:
    """A thousand in a day: 2 is reached 172.8 s after submission, and is above the 1 of the other."""
    plan = eh.plan(contended(61), WITHIN)
    assert (decided(plan), plan.next_due) == ([], 232.8)
    for now, expected in ((232.8 - STEP, []), (232.8, [("preempt", "x"), ("reserve", "r")])):
        assert decided(eh.plan(contended(now), WITHIN, plan.state)) == expected


@pytest.mark.parametrize(("weight", "due"), [(0, None), (1, None), (2, 86460.0)])
def test_a_priority_that_never_gets_to_the_next_is_not_due(weight: int, due: float | None) -> None:
    """It is 1 at least, and grows until it is a day old."""
    assert eh.plan(contended(61), WITHIN.replace(PriorityWeightAge=weight)).next_due == due


def test_waiting_jobs_whose_order_age_does_not_change_are_not_due() -> None:
    """The older one stays before the other, unless that one is larger."""
    policy = eh.policies.Slurm(
        PriorityType="priority/multifactor", PriorityWeightAge=1000, PriorityMaxAge=1000.0,
        PriorityWeightJobSize=100,
    )  # fmt: skip

    def snapshot(first: int, second: int, now: float = 100) -> eh.Snapshot:
        tables: dict[str, Any] = {
            "nodes": [{"name": "n", "capacity": {"cpu": 10}}],
            "operations": [{"name": o, "start_time": t} for o, t in (("x", 0), ("a", 0), ("b", 50))],
            "allocations": [
                {"name": "x1", "operation": "x", "node": "n", "resources": {"cpu": 10}, "start_time": 0}
            ],
            "requests": [
                {"name": o, "operation": o, "resources": {"cpu": c}, "submit_time": t}
                for o, c, t in (("a", first, 0), ("b", second, 50))
            ],
        }
        return eh.Snapshot.from_dict({"now": now, "resources": {"cpu": {}}, **tables})

    assert eh.plan(snapshot(4, 4), policy).next_due is None
    assert eh.plan(snapshot(6, 4), policy).next_due is None
    # With 10 of 10 cpus it has 20 more than with 6, and 50 less by age until the other grows no older.
    for now, due in ((100, 131), (1005, 1031), (1031 - STEP, 1031), (1031, None)):
        assert eh.plan(snapshot(6, 10, now), policy).next_due == due


EXEMPT = eh.policies.Slurm(
    PreemptType="preempt/qos",
    PreemptMode="CANCEL",
    partitions={"high": {}},
    qos={"bronze": {"PreemptExemptTime": 20.0}, "silver": {"Preempt": ["bronze"]}},
    SchedulerType="sched/backfill",
    partition_job_depth=1,
)


def test_a_plan_is_due_when_what_backfill_alone_would_preempt_has_run_long_enough() -> None:
    """The main pass looks at one job of the partition, which is another one."""
    tables: dict[str, Any] = {
        "nodes": [{"name": "n", "capacity": {"cpu": 4}}],
        "operations": [
            {"name": "a", "partition": "high", "qos": "silver", "start_time": 300},
            {"name": "c", "partition": "high", "start_time": 31},
            {"name": "d", "qos": "bronze", "start_time": 60},
        ],
        "allocations": [
            {"name": "x", "operation": "d", "node": "n", "resources": {"cpu": 3}, "start_time": 405}
        ],
        "requests": [
            {"name": "ra", "operation": "a", "resources": {"cpu": 4}, "submit_time": 300},
            {"name": "rc", "operation": "c", "resources": {"cpu": 3}, "count": 2, "submit_time": 31},
        ],
    }
    snapshot = eh.Snapshot.from_dict({"now": 406, "resources": {"cpu": {}}, **tables})
    plan = eh.plan(snapshot, EXEMPT)
    assert (decided(plan), plan.next_due) == ([], 425)
    for now, expected in ((425 - STEP, []), (425, [("preempt", "x"), ("reserve", "ra")])):
        assert decided(eh.plan(snapshot.replace(now=now), EXEMPT, plan.state)) == expected


def test_a_pass_comes_as_soon_after_a_tick_that_was_left_out() -> None:
    """At 120 s backfill preempts; the main pass of that tick is over, and the next one 2 us later."""
    policy = eh.policies.Slurm(
        PreemptType="preempt/partition_prio",
        PreemptMode="CANCEL,GANG",
        partitions={"mid": {}, "high": {"PriorityTier": 10, "OverSubscribe": "EXCLUSIVE"}},
        SchedulerType="sched/backfill",
    )
    operations = [
        {"name": "j4", "partition": "high,mid", "start_time": 97},
        {"name": "j7", "start_time": 60, "settings": {"expedited": True}},
        {"name": "j12", "start_time": 60, "settings": {"expedited": True, "time_min": 60.0}},
    ]
    rows = [
        {"name": n, "operation": o, "resources.cpu": c, "resources.mem": m, "submit_time": t, "run_time": r}
        for n, o, c, m, t, r in (
            *(("r4", "j4", 1, 2, 97, 5), ("r7", "j7", 4, 4, 60, 400)),
            ("r12", "j12", 2, 3, 60, 200),
        )
    ]
    resources: dict[str, Any] = {"cpu": {}, "mem": {}}
    nodes = [{"name": "58", "capacity": {"cpu": 8, "mem": 6}}]
    start = eh.Snapshot.from_dict({"now": 0, "resources": resources, "nodes": nodes})
    work = eh.simulate.Workload(rows, operations=operations, resources=resources)
    skipped, literal = (decisions(work, start, policy, literal) for literal in (False, True))
    assert skipped == literal
    assert (120.000002, "start", "r7") in skipped


def test_a_simulation_comes_to_the_same_by_age_at_every_tick_or_only_when_due() -> None:
    work = eh.simulate.Workload(
        {"name": ["a", "b"], "operation": ["a", "b"], "resources.cpu": [3, 3], "submit_time": [0, 0],
         "run_time": [400, 60]},
        operations=[{"name": name, "qos": "q", "start_time": 0} for name in "ab"],
    )  # fmt: skip
    start = work.snapshot(nodes=1, cpu=3)
    skipped, literal = (decisions(work, start, WITHIN, literal) for literal in (False, True))
    assert skipped == literal
    assert (180.0, "preempt", None) in skipped


@pytest.mark.parametrize(
    ("listed", "passes"),
    [
        pytest.param({"q": {"Preempt": []}}, 6, id="within"),
        pytest.param({"q": {"Preempt": ["other"]}, "other": {}}, 6, id="lists-what-does-not-wait"),
    ],
)
def test_passes_by_age_are_as_many_as_decide_or_may(listed: dict[str, Any], passes: int) -> None:
    """The one that has the node is of priority 50, and 51 is reached 4,406.4 s after submission."""
    rows = {"name": ["a", "b"], "operation": ["a", "b"], "resources.cpu": [3, 3], "submit_time": [0, 1]}
    work = eh.simulate.Workload(
        rows | {"run_time": [9000, 9000]},
        operations=[
            {"name": "a", "qos": "q", "start_time": 0, "priority": 50},
            {"name": "b", "qos": "q", "start_time": 1},
        ],
    )
    result = eh.simulate(work.snapshot(nodes=1, cpu=3), WITHIN.replace(qos=listed), work, until=4500)
    d = result.decisions
    assert list(zip(d["time"], d["action"], d["operation"], strict=True))[:2] == [
        (0, "start", "a"),
        (4440, "preempt", "a"),
    ]
    assert result.counts["decided"] == passes


@pytest.mark.parametrize(
    ("settings", "nodes", "capacity", "rows", "first"),
    [
        pytest.param(  # planned starts become one with the beginning of the timeline, which has room for more
            {"bf_node_space_size": 4, "release": "23.11"},
            *(2, 8),
            [
                *(("a", 7, 1, 0, 357, "low"), ("b", 7, 1, 177, 30, "high")),
                *(("c", 5, 1, 0, 570, "high,low"), ("d", 1, 1, 181, 30, "low")),
                *(("e", 4, 1, 0, 30, "low"), ("f", 2, 2, 0, 30, "low")),
            ],
            (300.0, "start", "d"),
            id="spans",
        ),
        pytest.param(  # a planned start comes into the window
            {"bf_window": 600.0, "release": "24.05"},
            *(3, 4),
            [
                *(("a", 3, 3, 168, 30, "high,low"), ("b", 4, 1, 0, 567, "high")),
                *(("c", 4, 1, 0, 474, "high"), ("d", 2, 3, 0, 379, "high,low")),
                ("e", 2, 1, 0, 591, "low"),
            ],
            (810.0, "start", "e"),
            id="window",
        ),
        pytest.param(  # what is kept beyond the end of the timeline comes into it: no room for another span
            {"bf_window": 630.0, "bf_node_space_size": 3, "release": "24.05"},
            *(3, 4),
            [
                *(("a", 1, 3, 0, 672, "high"), ("b", 2, 1, 0, 199, "high"), ("e", 4, 1, 0, 541, "low")),
                *(("f", 2, 1, 0, 728, "low"), ("g", 1, 3, 0, 359, "low"), ("h", 2, 2, 0, 598, "high")),
            ],
            (90.0, "start", "g"),
            id="end-of-the-window",
        ),
    ],
)
def test_a_simulation_comes_to_the_same_where_planned_starts_are_rounded_or_out_of_sight(
    settings: dict[str, Any], nodes: int, capacity: int, rows: list[tuple[Any, ...]], first: Any
) -> None:
    partitions = {"low": {}, "high": {"PriorityTier": 10}}
    policy = eh.policies.Slurm(SchedulerType="sched/backfill", partitions=partitions, **settings)
    fields = ("name", "resources.cpu", "count", "submit_time", "run_time", "partition")
    given = [dict(zip(fields, row, strict=True)) for row in rows]
    high = {"priority": 5} if "bf_window" in settings else {}
    work = eh.simulate.Workload(
        [row | {"gang": True, "duration": row["run_time"]} | (high if row["name"] in "cd" else {})
         for row in given]
    )  # fmt: skip
    start = work.snapshot(nodes=nodes, now=0, cpu=capacity)
    skipped, literal = (decisions(work, start, policy, literal) for literal in (False, True))
    assert skipped == literal
    assert first in skipped
