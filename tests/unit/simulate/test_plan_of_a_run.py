"""A plan at an instant of a run begins with what the run's policy remembers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import evenhand as eh
from evenhand.simulate import Simulation, Workload
from evenhand.simulate.memory import remembered
from evenhand.simulate.moment import _poised, moment
from tests.properties.simulating import SYSTEMS, drawn, seeds, simulated

TWO = {"name": ["a", "b"], "pool": ["x", "y"], "resources.cpu": [4, 4], "submit_time": [0, 1]}


def started(policy: Any, until: float, **options: Any) -> Simulation:
    work = Workload({**TWO, "run_time": [5000, 100]})
    run = Simulation(work.snapshot(nodes=1, cpu=4), policy, work, **options)
    run.run(until)
    return run


@pytest.mark.parametrize(("until", "waited"), [(30, None), (31, None), (32, "31 s"), (600, "9 min 59 s")])
def test_what_has_starved_is_said_to_starve(until: float, waited: str | None) -> None:
    """b is below its share from 1 s on, and starves when that is longer than 30 s ago."""
    plan = started(eh.policies.YTsaurus("upstream"), until).plan()
    text = str(plan.why_not("b"))
    assert ("is starving" in text) == (waited is not None)
    assert ("is not starving" in text) == (waited is None)
    if waited is not None:
        assert f"for {waited}, longer than fair_share_starvation_timeout" in text
    assert plan.state_before is not None
    assert plan.state_before.time == until


def test_work_that_has_gone_moves_nobodys_clock() -> None:
    """The first operation is done and has left, so that rows of the run are not those of its snapshot."""
    rows = {"name": ["0", "a", "b"], "pool": ["x", "x", "y"], "resources.cpu": [4] * 3}
    work = Workload({**rows, "submit_time": [0, 1, 2], "run_time": [5, 5000, 5000]})
    run = Simulation(work.snapshot(nodes=1, cpu=4), eh.policies.YTsaurus("upstream"), work)
    run.run(600)
    now = run.snapshot().to_dict()
    assert [row["name"] for row in now["operations"]] == ["a", "b"]
    running = {row["operation"] for row in now["allocations"]}
    (waits,) = {"a", "b"} - running
    assert "is starving" in str(run.plan().why_not(waits))


def test_before_its_first_step_a_run_remembers_nothing() -> None:
    work = Workload({**TWO, "run_time": [5000, 100]})
    run = Simulation(work.snapshot(nodes=1, cpu=4), eh.policies.YTsaurus(), work)
    assert run.plan().state_before is None


def test_yunikorn_counts_the_cycles_of_the_run() -> None:
    run = started(eh.policies.YuniKorn(), 60)
    (row,) = run.plan().state_before.to_dict()["requests"]
    assert row["name"] == "b"
    run.run(until=600)
    (later,) = run.plan().state_before.to_dict()["requests"]
    assert later != row


def decided(plan: eh.Plan) -> list[tuple[Any, ...]]:
    return [(d.action, str(d.allocation or d.request), d.node, d.mode, d.reason) for d in plan.decisions]


@pytest.mark.parametrize("system", [s for s in SYSTEMS if s not in ("ytsaurus", "yunikorn")])
@given(seed=seeds, which=st.floats(0, 1, exclude_max=True))
def test_a_plan_with_what_is_remembered_decides_as_the_run_did(system: str, seed: int, which: float) -> None:
    of = drawn(seed, system)
    result = simulated(of, 600.0)
    times = result.raw["decisions"]["time"]
    assume(len(times) > 0)
    row = int(which * len(times))
    made = moment(result, row).plan
    run = Simulation._of(result._made)
    if int(times[row]) > run._core.now:
        run._core.run(int(times[row]) - 1)
    steps = 0
    while True:
        other = run.copy()
        other._core.run(int(times[row]), steps + 1)
        if other._core.decided > row:
            break
        steps += 1
    poised, on, _ = _poised(result, run, steps)

    snapshot, here = poised._frozen()
    state = remembered(of.policy, poised._core.planner, poised._snapshot, snapshot, here)
    assert decided(of.policy.plan(snapshot, state, on)) == decided(made)
