"""Laws of simulations: nothing is lost or doubled, and ticks that were passed over change nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import evenhand as eh
from evenhand.building.readback import NO_TIME
from evenhand.reasons import STAGES
from evenhand.simulate.result import OUTCOMES
from tests.drawing import fewer
from tests.properties import ending
from tests.properties.laws_of_runs import check_all
from tests.properties.simulating import SYSTEMS, drawn, seeds, simulated
from tests.reference.simulate import reference

each_system = pytest.mark.parametrize("system", SYSTEMS)


@each_system
@given(seed=seeds)
def test_laws_of_conservation(system: str, seed: int) -> None:
    check_all(simulated(drawn(seed, system)))


@each_system
@given(seed=seeds)
def test_ticks_that_are_passed_over_change_nothing(system: str, seed: int) -> None:
    of = drawn(seed, system)
    jumped, literal = simulated(of, 600.0), simulated(of, 600.0, literal=True)
    for table, columns in jumped.raw.items():
        for name, column in columns.items():
            assert np.array_equal(column, literal.raw[table][name], equal_nan=column.dtype.kind == "f"), (
                table,
                name,
            )


@each_system
@given(seed=seeds)
@example(1557)  # ytsaurus: limits are repaired within the stage, where the node's back-off has passed
def test_every_drawn_run_has_an_end_that_ticks_passed_over_do_not_change(system: str, seed: int) -> None:
    assert ending.wrong(seed, system) is None


def test_all_stages_of_ytsaurus_are_drawn() -> None:
    stages: set[str | None] = set()
    for seed in range(80):
        result = simulated(drawn(seed, "ytsaurus"), 600.0)
        stages |= {STAGES[i] for i in np.unique(result.raw["decisions"]["stage"])}
    assert stages >= {"preemptive", "aggressive", "ssd_preemptive", "full_host", "graceful"}
    assert stages >= {"limit_repair", "overcommit"}


@each_system
@fewer(0.3)
@given(seed=seeds, stops=st.lists(st.integers(1, 60), min_size=1, max_size=4), paused=st.floats(0, 200))
def test_copies_continue_as_the_run_does(system: str, seed: int, stops: list[int], paused: float) -> None:
    of = drawn(seed, system)
    whole = simulated(of, 600.0)
    run = eh.simulate.Simulation(of.snapshot, of.policy, of.workload, **of.clocks)
    runs = [run]
    for steps in stops:
        runs[-1]._core.run(600_000_000, steps)  # also in the middle of an instant
        runs.append(runs[-1].copy())
    runs[0].run(max(paused, runs[0].now))  # what the one does is nothing to the others
    runs.append(runs[0].copy())
    for one in reversed(runs):
        one.run(600.0)
        found = one.result()
        assert dict(found.counts) == dict(whole.counts)
        for table, columns in whole.raw.items():
            for name, column in columns.items():
                same = np.array_equal(column, found.raw[table][name], equal_nan=column.dtype.kind == "f")
                assert same, (table, name)


@each_system
@given(seed=seeds)
def test_a_run_that_stops_goes_on_as_if_it_had_not(system: str, seed: int) -> None:
    of = drawn(seed, system)
    whole = simulated(of, 600.0)
    run = eh.simulate.Simulation(of.snapshot, of.policy, of.workload, **of.clocks)
    for until in (0.0, 17.5, 60.0, 61.0, 600.0):
        run.run(until)
        assert run.now == until
    stopped = run.result()
    for table, columns in whole.raw.items():
        for name, column in columns.items():
            assert np.array_equal(column, stopped.raw[table][name], equal_nan=column.dtype.kind == "f")


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("seed", [*range(8), 61, 108, 328])  # 108, 328: preempted jobs of a known limit
def test_a_live_cluster_that_is_asked_at_every_tick_comes_to_the_same(system: str, seed: int) -> None:
    of = drawn(seed, system)
    if system == "ytsaurus":  # fewer ticks
        of = replace(
            of, policy=of.policy.replace(fair_share_update_period=1.0), clocks={"heartbeat_period": 5.0}
        )
    result = simulated(of, 320.0)
    raw = result.raw["allocations"]
    requests, nodes = result.request_names, result.snapshot.names("nodes")
    times = [[None if t == NO_TIME else t for t in raw[name].tolist()] for name in ("start", "began", "end")]
    said = [
        (requests[q], nodes[n], *at, OUTCOMES[outcome], kept)
        for q, n, *at, outcome, kept in zip(
            raw["request"].tolist(),
            raw["node"].tolist(),
            *times,
            raw["outcome"].tolist(),
            raw["kept"].tolist(),
            strict=True,
        )
    ]
    runs = reference(of.snapshot, of.policy, of.workload, 320.0, of.clocks)
    assert said == [run.said() for run in runs]
