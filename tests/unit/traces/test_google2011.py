"""Google's task and machine events of 2011."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from tests.unit.traces.files import problems, write

SUBMIT, SCHEDULE, EVICT, FAIL, FINISH, KILL, LOST, PENDING, RUNNING = range(9)
S = 1_000_000
BEGIN = 600 * S


def event(second: float, task: int, kind: int, *, job: int = 9, priority: int = 0, **other: Any) -> str:
    """One line of task events; seconds count from the trace's begin, None is before it."""
    fields = {
        "time": int(BEGIN + second * S) if second is not None else 0,
        "missing": "",
        "job": job,
        "task": task,
        "machine": 5,
        "event": kind,
        "user": "a/b+c=",
        "class": 1,
        "priority": priority,
        "cpu": 0.25,
        "memory": 0.0001554,
        "disk": "",
        "different": 0,
    }
    return ",".join(str(value) for value in (fields | other).values())


def read(
    folder: Path, *lines: str, machines: list[str] | None = None, **options: Any
) -> eh.simulate.Workload:
    tasks = write(folder, lines, "tasks.csv")
    nodes = None if machines is None else write(folder, machines, "machines.csv")
    return eh.traces.google2011(tasks, nodes, **options)


def rows(w: eh.simulate.Workload) -> list[tuple[Any, ...]]:
    """Name, submission and run time in seconds since the begin, and whether it was cut off."""
    t = w.table().to_dict()
    return [
        (name, submit - 600, run, cut)
        for name, submit, run, cut in zip(
            t["name"], t["submit_time"], t["run_time"], t["cut_off"], strict=True
        )
    ]


END = event(1000, 99, SUBMIT)  # when the trace ends


def test_an_attempt_that_finishes(tmp_path: Path) -> None:
    w = read(tmp_path, event(1, 0, SUBMIT), event(3, 0, SCHEDULE), event(10.5, 0, FINISH), END)
    assert rows(w) == [("9/0", 1, 7.5, False)]
    assert w.notes["still_waiting"] == 1
    assert w.operations().to_dict() == {
        "name": [9],
        "user": ["a_b+c="],
        "priority": [0],
        "start_time": [601],
        "pool": ["free/a_b+c="],
    }
    assert w.table().to_dict()["resources.memory"] == [pytest.approx(0.0001554, abs=1e-12)]


def test_an_evicted_task_goes_on_as_the_same_request(tmp_path: Path) -> None:
    events = (event(0, 0, SUBMIT), event(1, 0, SCHEDULE), event(50, 0, EVICT), event(50, 0, SUBMIT))
    finished = read(tmp_path, *events, event(60, 0, SCHEDULE), event(70, 0, FINISH), END)
    # It finished in 10 s, although it ran longer before.
    assert rows(finished) == [("9/0", 0, 10, False)]
    killed = read(tmp_path, *events, event(60, 0, SCHEDULE), event(70, 0, KILL), END)
    assert rows(killed) == [("9/0", 0, 49, False)]
    assert killed.notes["censored"] == 1
    cut = read(tmp_path, *events, event(60, 0, SCHEDULE), END)
    assert rows(cut) == [("9/0", 0, 940, True)]
    waiting = read(tmp_path, *events, END)
    assert rows(waiting) == [("9/0", 0, 49, True)]
    for_good = read(tmp_path, *events[:3], END)
    assert rows(for_good) == [("9/0", 0, 49, False)]


@pytest.mark.parametrize("end", [FAIL, FINISH, KILL, LOST])
def test_a_new_submission_is_another_request(tmp_path: Path, end: int) -> None:
    first = (event(0, 0, SUBMIT), event(1, 0, SCHEDULE), event(5, 0, end))
    again = (event(6, 0, SUBMIT), event(7, 0, SCHEDULE), event(17, 0, FINISH))
    w = read(tmp_path, *first, *again, END)
    assert rows(w) == [("9/0", 0, 4, False), ("9/0#2", 6, 10, False)]
    assert (w.notes["tasks"], w.notes["resubmitted"]) == (2, 1)


def test_what_never_ran_is_left_out(tmp_path: Path) -> None:
    killed = (event(0, 0, SUBMIT), event(1, 0, KILL))
    evicted = (event(0, 1, SUBMIT), event(1, 1, EVICT), event(1, 1, SUBMIT))
    w = read(tmp_path, *killed, *evicted, event(2, 2, SUBMIT), event(2, 2, SCHEDULE), END)
    assert rows(w) == [("9/2", 2, 998, True)]
    assert (w.notes["never_started"], w.notes["still_waiting"]) == (1, 2)


def test_what_ran_before_the_trace_begins_with_it(tmp_path: Path) -> None:
    before = {"time": 0}
    w = read(
        tmp_path, event(0, 0, SUBMIT, **before), event(0, 0, SCHEDULE, **before), event(8, 0, FINISH), END
    )
    assert rows(w) == [("9/0", 0, 8, False)]


def test_what_happens_behind_the_trace_is_not_read(tmp_path: Path) -> None:
    late = event(0, 0, FINISH, time=2**63 - 1)
    w = read(tmp_path, event(0, 0, SUBMIT), event(0, 0, SCHEDULE), late, END)
    assert rows(w) == [("9/0", 0, 1000, True)]
    assert w.notes["events"] == 3


def test_updates_change_amounts_only(tmp_path: Path) -> None:
    lines = (
        event(0, 0, SUBMIT, cpu="", memory=""),
        event(1, 0, PENDING, cpu=0.5),
        event(2, 0, SCHEDULE, cpu="", memory=""),
        event(3, 0, RUNNING, cpu=0.125),
        event(9, 0, FINISH, cpu="", memory=""),
    )
    w = read(tmp_path, *lines, END)
    assert rows(w) == [("9/0", 0, 7, False)]
    assert w.table().to_dict()["resources.cpu"] == [0.125]


def test_without_any_amount_a_task_is_left_out(tmp_path: Path) -> None:
    lines = [event(i, 0, kind, cpu="", memory="") for i, kind in enumerate((SUBMIT, SCHEDULE, FINISH))]
    w = read(tmp_path, *lines, event(0, 1, SUBMIT), event(1, 1, SCHEDULE), END)
    assert (len(w), w.notes["no_request"]) == (1, 1)


def test_recorded_events_by_band(tmp_path: Path) -> None:
    lines = [event(0, p, SUBMIT, priority=p) for p in range(12)]
    lines += [event(1, p, SCHEDULE, priority=p) for p in range(12)]
    lines += [event(2, p, EVICT, priority=p) for p in (0, 1, 5, 11)]
    w = read(tmp_path, *lines)
    assert w.recorded is not None
    assert w.recorded.to_dict() == {
        "band": ["free", "middle", "production"],
        "submitted": [2, 7, 3],
        "scheduled": [2, 7, 3],
        "evicted": [2, 1, 1],
        "failed": [0, 0, 0],
        "finished": [0, 0, 0],
        "killed": [0, 0, 0],
        "lost": [0, 0, 0],
    }


@pytest.mark.parametrize(
    ("pools", "expected"),
    [
        ("band", ["middle", "production"]),
        ("band/user/job", ["middle/a_b+c=/1", "production/a_b+c=/2"]),
        (None, None),
    ],
)
def test_pools(tmp_path: Path, pools: str | None, expected: list[str] | None) -> None:
    lines = [event(i, 0, k, job=j, priority=6 * j) for j in (1, 2) for i, k in enumerate((SUBMIT, SCHEDULE))]
    w = read(tmp_path, *lines, pools=pools)
    assert w.operations().to_dict().get("pool") == expected


@pytest.mark.parametrize("options", [{"pools": "x"}, {"sample": 0}, {"overcommit": 0}, {"sample": 1.5}])
def test_other_options_are_refused(tmp_path: Path, options: dict[str, Any]) -> None:
    ((line, field, rule),) = problems(lambda: read(tmp_path, END, **options))
    wanted = "range" if 0 in options.values() else "type"
    assert (line, [field], rule) == (None, list(options), wanted)


def test_machines(tmp_path: Path) -> None:
    machines = [
        "0,1,0,p,0.5,0.25",
        "0,2,0,p,0.5,",
        f"{700 * S},1,1,p,0.5,0.25",
        f"{800 * S},1,0,p,0.5,0.25",
        f"{900 * S},3,0,p,1,1",
        f"{950 * S},2,2,p,0.25,0.5",
        f"{5000 * S},2,1,p,0.25,0.5",
    ]
    w = read(tmp_path, event(0, 0, SUBMIT), event(0, 0, SCHEDULE), END, machines=machines, overcommit=2)
    assert w.node_events().to_dict()["node"] == [1, 1, 3, 2]
    assert w.node_events().to_dict()["event"] == ["down", "up", "up", "capacity"]
    assert w.node_events().to_dict()["time"] == [700, 800, 900, 950]
    assert w.node_events().to_dict()["capacity.cpu"][1:] == [1, 2, 0.5]
    s = w.snapshot()
    assert s.total == {"cpu": 2, "memory": 0.5}
    assert [bool(n.get("schedulable", True)) for n in s.to_dict()["nodes"]] == [True, True, False]


def test_a_sample_keeps_jobs_whole(tmp_path: Path) -> None:
    lines = [event(0, t, k, job=j) for j in range(400) for k in (SUBMIT, SCHEDULE) for t in (0, 1)]
    machines = [f"0,{m},0,p,0.5,0.5" for m in range(400)]
    w = read(tmp_path, *lines, machines=machines, sample=0.25)
    kept = w.operations().to_dict()["name"]
    assert 60 <= len(kept) <= 140
    assert len(w) == 2 * len(kept)
    assert 60 <= w.notes["machines"] <= 140
    more = read(tmp_path, *lines, sample=0.5).operations().to_dict()["name"]
    assert set(kept) < set(more)


def test_parts_are_joined(tmp_path: Path) -> None:
    a = write(tmp_path, [event(0, 0, SUBMIT), event(1, 0, SCHEDULE)], "a.csv")
    b = write(tmp_path, [event(9, 0, FINISH)], "b.csv")
    assert rows(eh.traces.google2011([a, b])) == [("9/0", 0, 8, False)]


def test_broken_lines_are_named(tmp_path: Path) -> None:
    lines = [event(0, 0, SUBMIT), "1,2", event(0, 0, 9), event(0, -1, 0), event(0, 0, 0, cpu="half"), "",
             event(0, 0, 0, priority=400), event(0, 0, 0, memory=-1), event(0, 0, 0, job="")]  # fmt: skip
    assert problems(lambda: read(tmp_path, *lines)) == [
        (2, None, "width"),
        (3, "event", "range"),
        (4, "task", "range"),
        (5, "cpu", "number"),
        (7, "priority", "range"),
        (8, "memory", "range"),
        (9, "job", "required"),
    ]
    assert problems(lambda: read(tmp_path)) == [(1, None, "empty")]
    assert problems(lambda: read(tmp_path, END, machines=["0,1,7,p,1,1"])) == [(1, "event", "range")]
