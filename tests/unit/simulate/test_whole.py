"""Jobs of several allocations that are of use only as a whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.simulate import Simulation, Workload

ROWS: dict[str, Any] = {
    "name": ["a", "b"],
    "pool": ["x", "y"],
    "resources.cpu": [2, 2],
    "count": [4, 1],
    "submit_time": [0, 20],
    "run_time": [300, 60],
}
POLICY = eh.policies.YTsaurus(fair_share_starvation_timeout=10, allocation_preemption_timeout=0)


def simulated(policy: Any = POLICY, rows: dict[str, Any] | None = None, **options: Any) -> eh.simulate.Result:
    """Two nodes; the first job has all of both, and is owed three of its four allocations."""
    work = Workload(ROWS | (rows or {}), **options)
    return eh.simulate(work.snapshot(nodes=2, now=0, cpu=4), policy, work)


def runs(result: eh.simulate.Result, name: str) -> list[tuple[float, float, str, float, float]]:
    a = result.allocations
    columns = (a["operation"], a["start"], a["end"], a["outcome"], a["kept"], a["lost"])
    return [tuple(row) for of, *row in zip(*columns, strict=True) if of == name]


def test_what_is_of_use_only_as_a_whole_is_interrupted_as_a_whole() -> None:
    apart, whole = simulated(), simulated(whole=True)
    (at,) = {end for _, end, outcome, *_ in runs(apart, "a") if outcome == "preempted"}
    assert [row[2] for row in runs(apart, "a")[:4]].count("completed") == 3
    first = runs(whole, "a")[:4]
    assert sorted(row[1:4] for row in first) == [*[(at, "lost_part", 0)] * 3, (at, "preempted", 0)]
    assert [row[4] for row in first] == [at - row[0] for row in first]
    assert whole.metrics["lost_work.cpu"] == pytest.approx(sum(row[4] for row in first) * 2 / 3600)
    # There is room for three of them at once, and for the fourth when b is done.
    again = runs(whole, "a")[4:]
    assert [row[2] for row in again] == ["completed"] * 4
    assert all(at <= row[0] <= at + 15 for row in again[:3])
    assert at + 60 <= again[3][0] <= at + 75
    assert (whole.metrics["preemptions"], whole.metrics["preempted.max"]) == (1, 1)
    assert list(whole.operations["preempted"]) == [1, 0]


def test_what_leaves_with_another_part_says_why() -> None:
    result = simulated(whole=True)
    a = result.allocations
    rows = [i for i, outcome in enumerate(a["outcome"]) if outcome in ("preempted", "lost_part")]
    assert len({a["decision"][i] for i in rows}) == 1
    assert [bool(a["requeued"][i]) for i in rows] == [True] * 4


@pytest.mark.parametrize("every", [7, 20, None])
def test_each_part_keeps_what_it_has_saved(every: float | None) -> None:
    result = simulated(rows={"checkpoint_every": [every, None]}, whole=True)
    first = runs(result, "a")[:4]
    for start, end, _, kept, lost in first:
        assert kept == ((end - start) // every * every if every else 0)
        assert kept + lost == end - start


@pytest.mark.parametrize("whole", [False, True])
def test_a_node_that_goes_down_takes_all_parts(whole: bool) -> None:
    rows = {key: values[:1] for key, values in ROWS.items()}
    work = Workload(rows, nodes={"time": [50], "node": ["n1"], "event": ["down"]}, whole=whole)
    run = Simulation(work.snapshot(nodes=2, now=0, cpu=4), POLICY, work)
    run.run(50)
    outcomes = sorted(row[2] for row in runs(run.result(), "a"))
    assert outcomes == (["lost_node"] * 4 if whole else ["lost_node", "lost_node", "running", "running"])


def test_of_several_requests_of_a_job_each_is_a_whole_by_itself() -> None:
    rows = {key: [*values[:1], *values] for key, values in ROWS.items()}
    rows |= {"name": ["a", "a2", "b"], "operation": ["a", "a", "b"], "count": [2, 2, 1]}
    result = simulated(rows=rows, whole=True)
    assert sorted(row[2] for row in runs(result, "a")[:4]) == ["completed"] * 2 + ["lost_part", "preempted"]


@pytest.mark.parametrize(
    "policy",
    [
        eh.policies.Slurm(
            PreemptType="preempt/partition_prio",
            PreemptMode="REQUEUE",
            partitions={"low": {}, "high": {"PriorityTier": 2}},
        ),
        eh.policies.BackendAI(),
        eh.policies.GridEngine(),
    ],
    ids=lambda policy: policy.system,
)
def test_systems_that_preempt_whole_jobs_ignore_it(policy: Any) -> None:
    rows = {"partition": ["low", "high"], "priority": [1, 9], "gang": [True, False]}
    nodes = {"time": [20, 30], "node": ["n1", "n1"], "event": ["down", "up"]}
    raw = []
    for whole in (False, True):
        work = Workload(ROWS | rows, nodes=nodes, whole=whole)
        raw.append(eh.simulate(work.snapshot(nodes=2, now=0, cpu=4), policy, work).raw)
    for table, columns in raw[0].items():
        for name, column in columns.items():
            same = np.array_equal(column, raw[1][table][name], equal_nan=column.dtype.kind == "f")
            assert same, (table, name)


def test_terminated_parts_are_gone_together() -> None:
    """YuniKorn's victims do not come back."""
    pools = [{"name": "x"}, {"name": "y", "strong_guarantee": {"cpu": 2}}]
    outcomes = {}
    for whole in (False, True):
        work = Workload(ROWS, pools=pools, whole=whole)
        policy = eh.policies.YuniKorn(grace=0.0)
        result = eh.simulate(work.snapshot(nodes=2, now=0, cpu=4), policy, work, until=1000)
        outcomes[whole] = sorted(row[2] for row in runs(result, "a"))
        assert list(result.operations["lost_count"]) == [4 if whole else 1, 0]
        assert list(result.operations["unfinished"]) == [0, 0]
    assert outcomes == {
        False: ["completed", "completed", "completed", "preempted"],
        True: ["lost_part", "lost_part", "lost_part", "preempted"],
    }


def test_rows_say_it_themselves_and_the_argument_says_it_for_all_others() -> None:
    assert Workload(ROWS).table()["whole"].tolist() == [False, False]
    assert Workload(ROWS, whole=True).table()["whole"].tolist() == [True, True]
    mine = Workload(ROWS | {"whole": [False, True]}, whole=True)
    assert mine.table()["whole"].tolist() == [False, True]
    assert mine.head(1).table()["whole"].tolist() == [False]
    assert mine.fingerprint != Workload(ROWS).fingerprint
    with pytest.raises(eh.InputError, match="whole"):
        Workload(ROWS, whole="yes")  # type: ignore[arg-type]
    with pytest.raises(eh.InputError, match="whole"):
        Workload(ROWS | {"whole": ["yes", 1]})


def test_jobs_of_a_log_that_need_several_nodes_are_whole(tmp_path: Any) -> None:
    lines = [f"{i} {i} 0 10 {cpus} -1 -1 {cpus} 20 -1 1 1 1 -1 1 -1 -1 -1" for i, cpus in ((1, 4), (2, 5))]
    path = tmp_path / "log.swf"
    path.write_text("\n".join(["; MaxNodes: 2", "; MaxProcs: 8", *lines]) + "\n")
    work = eh.traces.swf(path)
    assert work.table()["whole"].tolist() == [False, True]
    assert work.notes["whole"] == 1
