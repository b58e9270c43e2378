"""Points of a sweep that share runs come to what each of them comes to alone."""

from __future__ import annotations

import itertools
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import given

import evenhand as eh
from evenhand.errors import InputError
from evenhand.simulate import Simulation
from evenhand.sweep import workers
from evenhand.sweep.job import Job
from tests.properties.simulating import drawn, seeds

if TYPE_CHECKING:
    import pytest

SETTINGS: dict[str, list[float]] = {
    "fair_share_starvation_timeout": [1, 5, 12],
    "fair_share_aggressive_starvation_timeout": [12, 30],
    "fair_share_starvation_tolerance": [0.3, 0.8, 1.0],
    "preemption_satisfaction_threshold": [0.6, 1.0, 2.0],
    "aggressive_preemption_satisfaction_threshold": [0.1, 0.5],
}


def _job(seed: int) -> Job:
    of = drawn(seed, "ytsaurus")
    snapshot = of.workload.joined(of.snapshot)
    return Job(snapshot, (of.policy,), of.workload, until=400.0, clocks=of.clocks)


def _points(seed: int) -> list[dict[str, Any]]:
    """A drawn part of the grid: of some settings one value, of the others all."""
    rng = np.random.default_rng(seed)
    values = [[rng.choice(own)] if rng.random() < 0.4 else own for own in SETTINGS.values()]
    every = [dict(zip(SETTINGS, map(float, cells), strict=True)) for cells in itertools.product(*values)]
    return [every[i] for i in rng.permutation(len(every))[:12]]


def _alone(job: Job, point: dict[str, Any]) -> Any:
    try:
        return job.run(point)
    except InputError as error:
        return error.problems[0].message


@given(seed=seeds)
def test_points_that_share_runs_are_as_those_that_do_not(seed: int) -> None:
    job, points = _job(seed), _points(seed)
    found = dict(workers.outcomes(job, enumerate(points), None, 1))
    for number, point in enumerate(points):
        assert pickle.dumps(found[number]) == pickle.dumps(_alone(job, point)), point


def test_runs_are_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not all of them are run from the beginning, nor to the end."""
    asked, forked = [], 0
    plain = workers.together

    def counted(job: Job, points: Any, begun: Any, check: Any) -> Any:
        nonlocal forked
        forked += begun is not None
        asked.append(len(points))
        return plain(job, points, begun, check)

    monkeypatch.setattr(workers, "together", counted)
    points = 0
    for seed in range(40):
        several = _points(seed)
        points += len(several)
        assert len(dict(workers.outcomes(_job(seed), enumerate(several), None, 1))) == len(several)
    assert len(asked) < points * 0.7
    assert forked > 30
    assert workers._PAUSED == {}


def test_what_nothing_reads_tells_nothing_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = []
    plain = Simulation._share
    monkeypatch.setattr(Simulation, "_share", lambda *of: runs.append(of) or plain(*of))
    rows = {"name": ["a", "b"], "resources.cpu": [6, 6], "pool": ["x", "y"], "submit_time": [0, 5]}
    work = eh.simulate.Workload({**rows, "run_time": [100, 100]})
    space = {
        "fair_share_aggressive_starvation_timeout": [150, 200, 900],  # nothing starves aggressively
        "fair_share_starvation_tolerance": [0.9, 0.95, 1.0],  # it has nothing of its share
        "fair_share_starvation_timeout": [10, 101],  # it starts after 95 s
    }
    policy = eh.policies.YTsaurus(
        allocation_preemption_timeout=0,
        pace={"max_victims_per_hour": 1},
        consider_allocation_on_fair_share_bound_preemptible=True,  # the one allocation leaves
    )
    table = eh.sweep(work.snapshot(nodes=1, cpu=8), policy, work, space, workers=1)
    assert len(runs) == 1  # which 9 points left when the timeout of 10 s had passed
    by_timeout = [set(table["preemptions"][i::2]) for i in (0, 1)]
    assert by_timeout[1] == {0}
    assert by_timeout[0] == {1}
