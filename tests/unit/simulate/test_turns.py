"""Runs without an end: operations that preempt each other in turns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.simulate import Simulation, Workload, simulate

#: What is beyond a fair share as a whole may be preempted as soon as it has started.
CROSSING = "consider_allocation_on_fair_share_bound_preemptible"

#: Each of the two is owed half of the node, and needs more than that at once.
ROWS: dict[str, Any] = {
    "name": ["a", "b"],
    "pool": ["x", "y"],
    "resources.cpu": [6, 6],
    "submit_time": [0, 0],
    "run_time": [5000, 5000],
}


def made(work: Workload | None = None, **options: Any) -> Simulation:
    work = Workload(ROWS) if work is None else work
    settings = {CROSSING: True, **options.pop("settings", {})}
    policy = eh.policies.YTsaurus(
        fair_share_starvation_timeout=10, allocation_preemption_timeout=0, **settings
    )
    return Simulation(work.snapshot(nodes=1, now=0, cpu=8), policy, work, **options)


def turns(result: eh.simulate.Result, name: str) -> list[float]:
    """When an operation was preempted."""
    d = result.decisions
    rows = zip(d["time"], d["action"], d["operation"], strict=True)
    return [float(time) for time, action, of in rows if action == "preempt" and of == name]


@pytest.mark.parametrize("preset", ["documented", "upstream"])
def test_whole_jobs_run_one_after_the_other(preset: str) -> None:
    work = Workload(ROWS)
    result = simulate(work.snapshot(nodes=1, now=0, cpu=8), eh.policies.YTsaurus(preset), work)
    assert list(result.decisions["action"]) == ["start", "start"]
    assert list(result.operations["completed"]) == [1, 1]
    assert result.metrics["lost_work.cpu"] == 0


def test_a_run_without_an_end_is_an_error_that_names_who_takes_turns() -> None:
    run = made()
    with pytest.raises(eh.InputError) as caught:
        run.run()
    (problem,) = caught.value.problems
    assert (problem.rule, problem.field) == ("endless", "until")
    assert '"a" has been interrupted 1000 times' in problem.message
    assert 'the last time for "b", and nothing got done' in problem.message
    assert f"{CROSSING} is on" in problem.message
    found = turns(run.result(), "a")
    assert (len(found), found[-1]) == (1000, run.now)
    assert f"since {found[0]:.10g} s" in problem.message
    with pytest.raises(eh.InputError, match="in turns"):
        run.run()  # it stays so
    run.run(until=run.now + 1000)  # that can be asked for
    assert len(turns(run.result(), "a")) > 1000


@pytest.mark.parametrize("after", [2, 3, 10])
def test_it_ends_at_exactly_so_many_turns(after: int) -> None:
    run = made(give_up_after=after)
    with pytest.raises(eh.InputError, match=f"{after} times"):
        run.run()
    assert len(turns(run.result(), "a")) == after
    assert turns(run.result(), "a")[-1] == run.now
    for now in run.portions(until=run.now):
        assert now == run.now


@pytest.mark.parametrize(("after", "ends"), [(3, False), (4, True), (5, True)])
def test_turns_that_end_by_themselves_are_let_be(after: int, ends: bool) -> None:
    """With six victims an hour each of the two is preempted three times; then one of them is left alone."""
    pace = {"max_victims_per_hour": 6}
    work = Workload({**ROWS, "run_time": [3000, 3000]})
    run = made(work, give_up_after=after, settings={"pace": pace})
    if not ends:
        with pytest.raises(eh.InputError, match="3 times"):
            run.run()
        return
    run.run()
    result = run.result()
    runs = zip(result.allocations["end"], result.allocations["outcome"], strict=True)
    first = min(end for end, outcome in runs if outcome == "completed")
    assert max(sum(t < first for t in turns(result, name)) for name in "ab") == 3
    assert list(result.operations["completed"]) == [1, 1]


def test_what_ends_by_itself_is_waited_for() -> None:
    """Beside them a long job holds the other node; when it is done each of the two has a node."""
    rows = {**ROWS, "name": ["a", "b", "long"], "pool": ["x", "y", "z"], "resources.cpu": [6, 6, 8]}
    rows |= {"submit_time": [0, 0, 0], "run_time": [500, 500, 4000], "node_tags": [[], [], ["far"]]}
    work = Workload(rows)
    nodes = [{"name": "n1", "capacity": {"cpu": 8}}, {"name": "n2", "capacity": {"cpu": 8}, "tags": ["far"]}]
    pools = [{"name": "x"}, {"name": "y"}, {"name": "z", "strong_guarantee": {"cpu": 8}}]
    start = eh.Snapshot.from_dict({"now": 0, "resources": {"cpu": {}}, "nodes": nodes, "pools": pools})
    policy = eh.policies.YTsaurus(
        fair_share_starvation_timeout=10, allocation_preemption_timeout=0, **{CROSSING: True}
    )
    result = simulate(start, policy, work, give_up_after=10)
    assert len(turns(result, "a")) > 20
    assert list(result.operations["completed"]) == [1, 1, 1]
    assert turns(result, "long") == []


@pytest.mark.parametrize(("every", "ends"), [(None, False), (5, True)])
def test_work_that_is_saved_gets_done(every: float | None, ends: bool) -> None:
    work = Workload({**ROWS, "run_time": [300, 300], "checkpoint_every": [every, every]})
    run = made(work, give_up_after=5)
    if ends:
        run.run()
        assert run.done
    else:
        with pytest.raises(eh.InputError, match="in turns"):
            run.run()


@pytest.mark.parametrize("after", [4, 5, 6])
def test_saving_work_without_an_end_gets_nothing_done(after: int) -> None:
    work = Workload({**ROWS, "run_time": [None, None], "checkpoint_every": [5, 5]})
    run = made(work, give_up_after=after)
    assert run.advance(None, 2000)
    with pytest.raises(eh.InputError, match=f'"a" has been interrupted {after} times since 20 s'):
        run.run()
    found = turns(run.result(), "a")
    assert (len(found), found[-1]) == (after, run.now)


def test_copies_of_a_run_that_went_beyond_are_exact() -> None:
    run = made(give_up_after=3)
    run.run(until=2000)
    other = run.copy()
    assert other.now == 2000
    for table, columns in run.result().raw.items():
        for name, column in columns.items():
            assert np.array_equal(column, other.result().raw[table][name])
    with pytest.raises(eh.InputError, match="times"):
        other.run()


def test_a_sweep_says_which_points_have_no_end() -> None:
    work = Workload(ROWS)
    space = {"pace.victim_cooldown": [6000, 0]}
    policy = eh.policies.YTsaurus(
        fair_share_starvation_timeout=10, allocation_preemption_timeout=0, **{CROSSING: True}
    )
    table = eh.sweep(work.snapshot(nodes=1, now=0, cpu=8), policy, work, space, metrics=["preemptions"])
    assert table["error"][0] is None
    assert "in turns, without end" in table["error"][1]


@pytest.mark.parametrize("after", [1, 0, True, 2.5, None, 2**31])
def test_wrong_numbers_of_turns_are_named(after: Any) -> None:
    with pytest.raises(eh.InputError, match="give_up_after"):
        made(give_up_after=after)


@pytest.mark.parametrize("literal", [False, True])
def test_what_waits_in_vain_is_an_error_where_updates_have_no_end(literal: bool) -> None:
    """Volumes of integral pools move on from update to update, for ever."""
    rows = {"name": ["small", "wide"], "pool": ["x", "y"], "resources.cpu": [2, 9], "run_time": [50, 5]}
    work = Workload({**rows, "submit_time": [0, 10]})
    pools = [{"name": "x", "integral": {"type": "relaxed", "resource_flow": {"cpu": 1}}}, {"name": "y"}]
    rows = {"now": 0, "resources": {"cpu": {}}, "nodes": [{"name": "n", "capacity": {"cpu": 8}}]}
    start = eh.Snapshot.from_dict({**rows, "pools": pools})
    run = Simulation(start, eh.policies.YTsaurus(), work, give_up_after=7, literal=literal)
    with pytest.raises(eh.InputError) as caught:
        run.run()
    (problem,) = caught.value.problems
    assert (problem.rule, problem.field) == ("endless", "until")
    assert '"wide" waits, and nothing has been decided in 7 updates since' in problem.message
    assert 50 <= run.now < 100
    assert list(run.result().operations["completed"]) == [1, 0]
    run.run(until=run.now + 100)  # that can be asked for
    alone = Simulation(start, eh.policies.YTsaurus(), work.head(1), give_up_after=7, literal=literal)
    alone.run()
    assert list(alone.result().operations["completed"]) == [1]
