"""A pace lets a simulation jump: the next instant at which it lets go of something is an event."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import evenhand as eh

#: The same jobs with numbers that a multiplication draws: a crowded day on twelve nodes of eight.
ROWS: dict[str, Any] = {
    "name": [f"j{i:03d}" for i in range(200)],
    "pool": [f"p{i % 5}" for i in range(200)],
    "resources.gpu": [(1, 1, 2, 4)[i * 7 % 4] for i in range(200)],
    "count": [(1, 2, 4)[i * 5 % 3] for i in range(200)],
    "submit_time": [i * 7919 % 86_400 for i in range(200)],
    "run_time": [600 + i * 6007 % 39_000 for i in range(200)],
}
WORK = eh.simulate.Workload(ROWS)
START = WORK.snapshot(nodes=12, now=0, gpu=8)
PACES: dict[str, dict[str, Any]] = {
    "cap": {"max_victims_per_hour": 5},
    "cooldown": {"victim_cooldown": 3600},
    "young": {"spare_if_ran_less_than": 1800},
    "several": {"max_victims_per_hour": 2, "victim_cooldown": 600, "spare_if_ends_within": 900},
}


@pytest.mark.parametrize("name", PACES)
def test_no_more_heartbeats_are_asked_than_without_a_pace(name: str) -> None:
    free = eh.simulate(START, eh.policies.YTsaurus(), WORK)
    paced = eh.simulate(START, eh.policies.YTsaurus(pace=PACES[name]), WORK)
    assert 0 < paced.metrics["preemptions"] < free.metrics["preemptions"]
    assert paced.counts["decided"] <= free.counts["decided"]
    assert paced.counts["decided"] < 10 * len(paced.decisions)


@pytest.mark.parametrize("backoff", [0.0, 15.0])
@pytest.mark.parametrize("name", PACES)
def test_what_is_passed_over_changes_nothing(name: str, backoff: float) -> None:
    policy = eh.policies.YTsaurus(
        pace=PACES[name], fair_share_update_period=7.0, preemptive_scheduling_backoff=backoff
    )
    work = WORK.head(60)
    start = work.snapshot(nodes=4, now=0, gpu=8)
    options = {"until": 40_000, "heartbeat_period": 30.0, "series_every": 900}
    jumped, literal = (
        eh.simulate(start, policy, work, literal=literal, **options).raw  # type: ignore[arg-type]
        for literal in (False, True)
    )
    for table, columns in jumped.items():
        for column, values in columns.items():
            same = np.array_equal(values, literal[table][column], equal_nan=values.dtype.kind == "f")
            assert same, (table, column)


def test_a_cooldown_that_ends_is_seen_at_the_first_heartbeat_after_it() -> None:
    """The node reports each 10 s. The one that was preempted at 40 s may be again from 440 s on."""
    rows = {"name": ["a", "b", "c"], "pool": ["x", "y", "y"], "resources.cpu": [1, 1, 1], "count": [4, 1, 1]}
    work = eh.simulate.Workload(rows | {"submit_time": [0, 1, 100], "run_time": [5000, 5000, 60]})
    for cooldown, at in ((400, 440), (400.000001, 450), (399.9, 440)):
        policy = eh.policies.YTsaurus(pace={"victim_cooldown": cooldown})
        result = eh.simulate(work.snapshot(nodes=1, now=0, cpu=4), policy, work, until=1000)
        d = result.decisions
        rows_of = [
            (t, o) for t, a, o in zip(d["time"], d["action"], d["operation"], strict=True) if a == "preempt"
        ]
        assert rows_of == [(40, "a"), (at, "a")]


@pytest.mark.parametrize("literal", [False, True])
@pytest.mark.parametrize(
    ("pace", "leave"),
    [
        ({"max_victims_per_hour": 1}, [102, 3702]),
        ({"victim_cooldown": 1000}, [102, 1104]),
        ({"spare_if_ran_less_than": 1000}, [1002, 1002]),
    ],
)
def test_yunikorn_preempts_at_the_cycle_in_which_a_pace_lets_go(
    pace: dict[str, Any], leave: list[int], literal: bool
) -> None:
    """Nothing else happens by then: two of "b" wait below their guarantee from 100 s on, and nothing ends."""
    rows = {"name": ["a", "b"], "pool": ["x", "y"], "resources.cpu": [1, 1], "count": [4, 2]}
    work = eh.simulate.Workload(rows | {"submit_time": [0, 100], "run_time": [5000, 5000]})
    data = work.snapshot(nodes=1, now=0, cpu=4).to_dict()
    data["pools"] = [{"name": name, "strong_guarantee": {"cpu": 2}} for name in "xy"]
    start = eh.Snapshot.from_dict(data)
    d = eh.simulate(
        start, eh.policies.YuniKorn(limit=1.0, pace=pace), work, until=4500, literal=literal
    ).decisions
    assert [t for t, action in zip(d["time"], d["action"], strict=True) if action == "preempt"] == leave
