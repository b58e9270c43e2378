"""Arrays that wait: their next tasks are jobs. Source: job arrays, Slurm documentation; squeue."""

from __future__ import annotations

from typing import Any

import pytest

from evenhand.systems.slurm.adapter.arrays import (
    MOST,
    begun_tasks,
    expanded,
    has_task,
    place_of,
    tasks_of,
)
from evenhand.systems.slurm.adapter.live import Slurm
from evenhand.systems.slurm.adapter.snapshot import build
from tests.unit.act.slurm.cluster import T0, Clock, FakeSlurm, job
from tests.unit.act.slurm.test_jobs import WAITING
from tests.unit.act.test_adapters import read

ARRAY = {"job_id": 7, "array_job_id": 7, "array_task_id": None}


def array(tasks: str, most: int = 0, **more: Any) -> Any:
    return read(**WAITING | ARRAY | {"array_task_string": tasks, "array_max_tasks": most} | more)


def running(task: int, number: int, state: str = "RUNNING") -> Any:
    return read(job_id=number, array_job_id=7, array_task_id=task, job_state=state)


@pytest.mark.parametrize(
    ("text", "tasks", "count"),
    [
        ("4", [4], 1),
        ("0-3", [0, 1, 2, 3], 4),
        ("1,5-6", [1, 5, 6], 3),
        ("0-6:3", [0, 3, 6], 3),
        ("0-5:3%2", [0, 3], 2),
        ("[2-3%2]", [2, 3], 2),
        ("0-18", list(range(19)), 19),
        ("0-19", list(range(20)), 20),
        ("0-20", list(range(20)), 21),
        ("1,3,...", [1, 3], 2),
        ("", [], 0),
        ("x", [], 0),
    ],
)
def test_tasks_as_slurm_prints_them(text: str, tasks: list[int], count: int) -> None:
    assert tasks_of(text) == (tasks, count)
    assert len(tasks_of(text)[0]) <= MOST == 20
    for task in range(25):
        assert has_task(text, task) == (task in tasks or (task == 20 and text == "0-20"))


@pytest.mark.parametrize(
    ("most", "run", "begin"), [(0, 3, 5), (4, 0, 4), (4, 3, 1), (4, 4, 0), (4, 5, 0), (1, 0, 1), (9, 0, 5)]
)
def test_as_many_as_may_run_at_once(most: int, run: int, begin: int) -> None:
    jobs = [*(running(task, 20 + task) for task in range(run)), array("10-14", most)]
    found, more = expanded(jobs)
    waiting = [one for one in found if one.state == "PENDING"]
    if begin:
        assert [one.name for one in waiting] == [f"7_{task}" for task in range(10, 10 + begin)]
        assert [(one.number, one.task) for one in waiting] == [(7, task) for task in range(10, 10 + begin)]
        assert more == ({"7": 5 - begin} if begin < 5 else {})
    else:
        assert [(one.name, one.reason) for one in waiting] == [("7", "JobArrayTaskLimit")]
        assert not more
    assert [one.name for one in found if one.state != "PENDING"] == [f"7_{task}" for task in range(run)]


def test_jobs_that_run_are_in_the_order_of_slurm_s_list() -> None:
    """A task that begins stays where its array stood; the rest comes to the end, the last keeps the number.

    As a real 22.05 preempts them: of two tasks on a node the first that began.
    """
    place = {"node_count": 1, "nodes": "n1"}
    tasks = [running(task, number) for task, number in ((1, 12), (2, 15), (3, 7))]
    others = [read(job_id=number, job_state="RUNNING", **place) for number in (6, 8, 13, 16)]
    ended = running(1, 12, "COMPLETED")
    waits = read(**WAITING | {"job_id": 14, "array_job_id": 0, "array_task_id": None})
    for jobs in ([*tasks, *others], [*others, *reversed(tasks)], [ended, *tasks[1:], *others]):
        begun = begun_tasks([*jobs, waits])
        found = sorted([*jobs, waits], key=lambda job: place_of(job, begun))
        assert [job.name for job in found] == ["6", "7_1", "8", "7_2", "13", "14", "7_3", "16"]
        rows = build([*jobs, waits], [], T0, "partition", None, {}).to_dict()["operations"]
        order = {row["name"]: row["order"] for row in rows}
        assert sorted(order, key=order.__getitem__) == [job.name for job in found if job.name in order]


def test_what_runs_again_keeps_its_place() -> None:
    """Of jobs that run, none counts as submitted later than those behind it: Slurm goes by its list."""

    def submitted(*times: float, state: str = "RUNNING") -> list[float]:
        jobs = [
            read(job_id=number, job_state=state, submit_time=T0 - 100 + t, node_count=1, nodes="n1")
            for number, t in enumerate(times, 5)
        ]
        rows = build(jobs, [], T0, "partition", None, {}).to_dict()["operations"]
        return [row["start_time"] - T0 + 100 for row in sorted(rows, key=lambda row: int(row["name"]))]

    assert submitted(1, 2, 3) == [1, 2, 3]
    assert submitted(1, 9, 3, 3, 4) == [1, 3, 3, 3, 4], "the second was requeued"
    assert submitted(1, 150) == [1, 100], "not later than now"
    tasks = [running(1, 12), running(2, 7)]
    rows = build([*tasks, read(job_id=8)], [], T0, "partition", None, {}).to_dict()["operations"]
    assert len({row["start_time"] for row in rows}) == 1, "all as the first of them, in their order"


def test_what_counts_as_running() -> None:
    """Tasks that are suspended or ending have begun; those of another array do not count."""
    other = read(job_id=30, array_job_id=8, array_task_id=1)
    for state, begin in (("SUSPENDED", 1), ("COMPLETING", 1), ("COMPLETED", 2)):
        found, _ = expanded([running(0, 20, state), other, array("1-2", 2)])
        assert sum(one.state == "PENDING" for one in found) == begin


def test_tasks_that_cannot_be_read_are_not_planned_for() -> None:
    (found,), _ = expanded([array("none of them")])
    assert (found.name, found.reason) == ("7", "ArrayTasksUnknown")


def test_many_tasks_are_said_to_wait() -> None:
    clock = Clock()
    cluster = FakeSlurm(clock, {"n1": 4}, [job(1, 4, node="n1"), job(9, 1)])
    cluster.schedule = lambda: None  # type: ignore[method-assign]
    plain = cluster._json
    own = {"array_job_id": 9, "array_task_id": None, "array_task_string": "1-500%30"}
    cluster._json = lambda j: plain(j) | (own if j["id"] == 9 else {})  # type: ignore[method-assign]
    adapter = Slurm(runner=cluster, clock=clock)
    snapshot = adapter.snapshot()
    assert list(snapshot.names("operations")) == ["1", *(f"9_{task}" for task in range(1, 21))]
    names = [row["name"] for row in snapshot.to_dict()["requests"]]
    assert len(names) == 20
    assert adapter.notices == ("of array 9 20 tasks are planned for at once; 480 more of its tasks wait",)
    assert [r["name"] for r in adapter.snapshot(released=["9"]).to_dict()["requests"]] == names


def test_a_task_that_waits_stands_as_its_array_does() -> None:
    clock = Clock()
    cluster = FakeSlurm(clock, {"n1": 4}, [job(1, 4, node="n1"), job(9, 1)])
    cluster.schedule = lambda: None  # type: ignore[method-assign]
    plain = cluster._cells
    own = {"arraytaskid": "3-5%2"}
    cluster._cells = lambda j: plain(j) | (own if j["id"] == 9 else {})  # type: ignore[method-assign]
    squeue = cluster.squeue

    def tasks(rest: list[str]) -> Any:
        """A task that waits is shown as the row of its array."""
        return squeue([r.replace("9_4", "9").replace("9_7", "9") for r in rest])

    cluster.squeue = tasks  # type: ignore[method-assign]
    found = Slurm(runner=cluster, clock=clock).look(["9_4"])
    assert (found["9_4"].state, found["9_4"].started) == ("pending", False)
    assert Slurm(runner=cluster, clock=clock).look(["9_7"])["9_7"].state == "gone"
