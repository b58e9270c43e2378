"""Playing the passes of a controller in the order that it wrote down."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.slurm.passes import Event, Passes, engine_plan
from tests.live.slurm.order import read

SETTINGS: dict[str, Any] = {
    "PreemptType": "preempt/partition_prio",
    "PreemptMode": "REQUEUE",
    "SchedulerType": "sched/backfill",
    "partitions": {"low": {"PriorityTier": 1}, "high": {"PriorityTier": 10}},
}
MAIN, BACKFILL = "main", "backfill"


def played(*events: Event, settings: dict[str, Any] = SETTINGS) -> Passes:
    """Two low jobs run on a node each; two high ones want one each."""
    names = {"a": "n1", "b": "n2"}
    tables = {
        "now": 0.0,
        "resources": {"cpu": {}},
        "nodes": [{"name": node, "capacity": {"cpu": 1}} for node in names.values()],
        "operations": [
            {"name": job, "partition": part, "start_time": 0, "order": order}
            for order, (job, part) in enumerate(zip("abxy", ("low", "low", "high", "high"), strict=True))
        ],
        "allocations": [
            {"name": f"{job}@{node}", "operation": job, "node": node, "resources": {"cpu": 1}}
            | {"start_time": 0, "planned_end": 3600}
            for job, node in names.items()
        ],
        "requests": [
            {"name": f"{job}?", "operation": job, "resources": {"cpu": 1}, "duration": 600} for job in "xy"
        ],
    }
    world = Passes(tables, settings, engine_plan)
    world.follow(events)
    return world


def end(at: float, job: str, node: str) -> Event:
    return Event(at, "end", job, node)


def test_a_main_pass_serves_one_job_and_the_next_pass_after_its_end_another() -> None:
    """The second victim is told by the pass that starts the first beneficiary."""
    assert played(Event(1, MAIN), end(2, "a", "n1")).started == {}
    world = played(Event(1, MAIN), end(2, "a", "n1"), Event(2, MAIN), end(3, "b", "n2"), Event(3, MAIN))
    assert world.started == {"x": ["n1"], "y": ["n2"]}
    assert world.preempted == {"a": "PENDING", "b": "PENDING"}


def test_victims_end_in_the_order_given() -> None:
    """The first job in the queue takes the node that is free first."""
    two = [end(2, "b", "n2"), Event(2, MAIN), end(3, "a", "n1"), Event(3, MAIN)]
    assert played(Event(1, BACKFILL), *two).started == {"x": ["n2"], "y": ["n1"]}
    two = [end(2, "a", "n1"), Event(2, MAIN), end(3, "b", "n2"), Event(3, MAIN)]
    assert played(Event(1, BACKFILL), *two).started == {"x": ["n1"], "y": ["n2"]}


@pytest.mark.parametrize(("then", "started"), [(MAIN, {"x": ["n1"]}), (BACKFILL, {})])
def test_what_the_controller_did_not_end_ends_before_the_next_main_pass(
    then: str, started: dict[str, list[str]]
) -> None:
    """An end that comes later is waited for."""
    assert played(Event(1, MAIN), Event(2, then)).started == started
    assert played(Event(1, MAIN), Event(2, then), end(3, "a", "n1")).started == {}


def test_an_end_of_another_job_or_node_ends_nothing() -> None:
    for other in (end(2, "b", "n1"), end(2, "a", "n2")):
        assert played(Event(1, MAIN), other, Event(2, BACKFILL)).started == {}


def test_after_a_grace_time_a_victim_ends_only_where_the_controller_ended_it() -> None:
    tiers = {"low": {"PriorityTier": 1, "GraceTime": 5}, "high": {"PriorityTier": 10}}
    settings = {**SETTINGS, "partitions": tiers}
    passes = [Event(1, MAIN), Event(10, MAIN)]
    assert played(*passes, settings=settings).started == {}
    assert played(*passes, end(11, "a", "n1"), Event(11, MAIN), settings=settings).started == {"x": ["n1"]}


def test_tasks_of_arrays_end_by_their_names() -> None:
    text = "[1970-01-02T00:00:01.250] debug2: _slurm_rpc_epilog_complete: JobId=17_2(19) Node=n3\n"
    assert [(e.job, e.node) for e in read(text, float("inf"))] == [("17_2", "n3")]


LOG = """\
[1970-01-02T00:00:01.250] debug:  sched: Running job scheduler for default depth.
[1970-01-02T00:00:02.000] sched/backfill: _attempt_backfill: beginning
[1970-01-02T00:00:02.001] debug:  sched/backfill: _attempt_backfill: 30 jobs to backfill
[1970-01-02T00:00:02.500] debug2: _slurm_rpc_epilog_complete: JobId=17 Node=n16
[1970-01-02T00:00:02.501] debug2: _slurm_rpc_complete_batch_script JobId=17 usec=31851
[1970-01-02T00:00:03.000] debug:  sched: Running job scheduler for full queue.
"""


@pytest.mark.parametrize(("until", "count"), [(-0.001, 3), (0, 4), (0.001, 4)])
def test_a_log_is_read(until: float, count: int) -> None:
    """Times are the host's local ones, as a controller writes them."""
    last = read(LOG, float("inf"))[-1].at
    found = read(LOG, last + until)
    expected = [(-1.75, MAIN, "", ""), (-1, BACKFILL, "", ""), (-0.5, "end", "17", "n16"), (0, MAIN, "", "")]
    assert [(e.at - last, e.what, e.job, e.node) for e in found] == expected[:count]
