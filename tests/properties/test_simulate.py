"""Laws of simulations: nothing is lost or doubled, and ticks that were passed over change nothing."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenhand as eh
from evenhand.building.readback import NO_TIME
from evenhand.reasons import STAGES
from evenhand.simulate.result import OUTCOMES
from tests.properties.simulating import SYSTEMS, Drawn, drawn, seeds, simulated
from tests.reference.simulate import reference

each_system = pytest.mark.parametrize("system", SYSTEMS)


@each_system
@given(seed=seeds)
def test_what_has_come_is_done_lost_or_still_there(system: str, seed: int) -> None:
    of = drawn(seed, system)
    result = simulated(of)
    runs, sums = result.raw["allocations"], result.raw["operations"]
    asked = np.bincount(
        np.asarray(result._parsed.rows._core.column("requests", "operation")),
        np.asarray(result._parsed.rows._core.column("requests", "count")),
        len(result.operation_names),
    )
    assert (sums["completed"] + sums["lost_count"] + sums["unfinished"] == asked).all()
    outcome = Counter(result.allocations["outcome"])
    assert sum(outcome.values()) == len(runs["start"])
    finished = runs["outcome"] != 0
    assert (runs["end"][finished] != NO_TIME).all()
    assert (runs["end"][~finished] == NO_TIME).all()
    assert (
        np.bincount(runs["operation"][runs["outcome"] == 1], minlength=len(asked)).tolist()
        == sums["completed"].tolist()
    )
    starts = result.raw["decisions"]["action"] == 0
    resumes = result.raw["decisions"]["action"] == 2
    assert starts.sum() + resumes.sum() == len(runs["start"])


@each_system
@given(seed=seeds)
def test_time_never_runs_back(system: str, seed: int) -> None:
    of = drawn(seed, system)
    result = simulated(of)
    runs, sums = result.raw["allocations"], result.raw["operations"]
    assert (np.diff(runs["start"]) >= 0).all()
    assert (np.diff(result.raw["decisions"]["time"]) >= 0).all()
    ended = runs["end"] != NO_TIME
    assert (runs["end"][ended] >= runs["start"][ended]).all()
    began = runs["began"] != NO_TIME
    assert (runs["began"][began] >= runs["start"][began]).all()
    submitted = sums["submit"][runs["operation"]]
    assert (runs["start"] >= submitted).all()


@each_system
@given(seed=seeds)
def test_no_node_holds_more_than_it_has(system: str, seed: int) -> None:
    of = drawn(seed, system)
    result = simulated(of)
    most = _most(of)
    runs = result.allocations
    need = _needs(result)
    for time in sorted({*_known(runs["began"])}):
        used: dict[str, np.ndarray[Any, Any]] = {}
        for i in range(len(runs)):
            began, end = runs["began"][i], runs["end"][i]
            if began is not None and began <= time and (end is None or end > time):
                used[runs["node"][i]] = used.get(runs["node"][i], 0) + need[runs["request"][i]]
        for node, amounts in used.items():
            assert (amounts <= most).all(), (time, node)


def _known(column: Any) -> list[float]:
    return [value for value in column if value is not None]


def _needs(result: eh.simulate.Result) -> dict[Any, np.ndarray[Any, Any]]:
    amounts = np.asarray(result._parsed.rows._core.column("requests", "resources"))
    return dict(zip(result.request_names, amounts.reshape(len(result.request_names), -1), strict=True))


def _most(of: Drawn) -> np.ndarray[Any, Any]:
    """The most that a node had at any instant: what is there when it is made smaller stays."""
    return np.asarray(of.snapshot._core.column("nodes", "capacity")).max(axis=0)


@each_system
@given(seed=seeds)
def test_work_is_done_once(system: str, seed: int) -> None:
    """Work goes on from what was kept of it; when it completes, its run time has been done."""
    of = drawn(seed, system)
    result = simulated(of)
    runs = result.raw["allocations"]
    work = result._parsed.run_time
    for i in np.flatnonzero(runs["outcome"] == 1).tolist():
        before, all_runs = 0, 0
        if (j := int(runs["resumed_from"][i])) >= 0:
            before = int(runs["kept"][j])
            assert runs["request"][j] == runs["request"][i]
        all_runs = before + int(runs["end"][i] - runs["began"][i])
        assert all_runs == max(work[runs["request"][i]], before)
    again = runs["resumed_from"][runs["resumed_from"] >= 0]
    assert len(again) == len(set(again.tolist()))


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


def test_all_stages_of_ytsaurus_are_drawn() -> None:
    stages: set[str | None] = set()
    for seed in range(80):
        result = simulated(drawn(seed, "ytsaurus"), 600.0)
        stages |= {STAGES[i] for i in np.unique(result.raw["decisions"]["stage"])}
    assert stages >= {"preemptive", "aggressive", "ssd_preemptive", "full_host", "graceful"}
    assert stages >= {"limit_repair", "overcommit"}


@each_system
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
