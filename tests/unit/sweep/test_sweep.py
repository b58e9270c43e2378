"""What comes of every point, whatever computes it."""

from __future__ import annotations

import multiprocessing
import pickle
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.sweep import workers
from tests.unit.sweep.small import POLICY, SPACE, START, STRICT, WORK


def test_a_row_is_a_simulation() -> None:
    table = eh.sweep(START, POLICY, WORK, SPACE)
    assert len(table) == 12
    assert list(table["fair_share_starvation_timeout"]) == [5] * 4 + [30] * 4 + [500] * 4
    assert len({*table["preemptions"].tolist()}) > 2  # the settings matter
    rows = [pool if pool["name"] != "y" else {**pool, "weight": 4} for pool in START.to_dict()["pools"]]
    policy = POLICY.replace(
        fair_share_starvation_timeout=30, pace={"victim_cooldown": 100, "max_victims_per_hour": 20}
    )
    alone = eh.simulate(START.replace(pools=rows), policy, WORK).metrics
    row = 4 + 2 + 1
    assert table["pools.y.weight"][row] == 4
    for name, value in alone.items():
        assert np.array_equal(table[name][row], value, equal_nan=True), name
    assert table["error"] == [None] * 12
    assert table.to_polars().shape == table.to_pandas().shape == (12, len(table.columns))


class Counting(ThreadPoolExecutor):
    """Threads that know nothing of the job, as processes; counts how often it is sent."""

    sent = 0

    def submit(self, fn: Any, *args: Any, **_: Any) -> Future[Any]:  # type: ignore[override]
        name, blob, point = pickle.loads(pickle.dumps(args))
        self.sent += blob is not None
        return super().submit(_away, fn, name, blob, point)


_FAR: dict[str, Any] = {}


def _away(fn: Any, name: str, blob: bytes | None, point: Any) -> Any:
    """Answer as a process does that has not started the sweep."""
    near, workers._KNOWN = workers._KNOWN, _FAR
    try:
        return fn(name, blob, point)
    finally:
        workers._KNOWN = near


def test_the_table_has_the_same_bytes_from_whatever_computes_it() -> None:
    expected = pickle.dumps(eh.sweep(START, POLICY, WORK, SPACE, workers=1).to_dict())
    with (
        ThreadPoolExecutor(3) as threads,
        ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as processes,
    ):
        for executor in (threads, processes, None):
            assert pickle.dumps(eh.sweep(START, POLICY, WORK, SPACE, executor=executor).to_dict()) == expected


def test_a_worker_is_sent_the_workload_once() -> None:
    with Counting(1) as executor:
        table = eh.sweep(START, POLICY, WORK, SPACE, executor=executor, workers=1)
        assert executor.sent <= 2  # two points were under way when the first was asked for
    assert pickle.dumps(table.to_dict()) == pickle.dumps(eh.sweep(START, POLICY, WORK, SPACE).to_dict())


def _executors() -> Any:
    def dask() -> Any:
        distributed = pytest.importorskip("distributed")
        client = distributed.Client(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        )
        return client.close, client.get_executor()

    def ray() -> Any:
        ray = pytest.importorskip("ray")
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
        return ray.shutdown, _Ray()

    return {"dask": dask, "ray": ray}


class _Ray(Executor):
    """Ray as an executor, as the page on sweeps has it."""

    def __init__(self) -> None:
        import ray

        self._call = ray.remote(lambda fn, args: fn(*args))

    def submit(self, fn: Any, /, *args: Any, **_: Any) -> Future[Any]:
        future: Future[Any] = self._call.remote(fn, args).future()
        return future


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["dask", "ray"])
def test_other_peoples_workers(kind: str) -> None:
    expected = pickle.dumps(eh.sweep(START, POLICY, WORK, SPACE).to_dict())
    end, executor = _executors()[kind]()
    try:
        found = eh.sweep(START, POLICY, WORK, SPACE, executor=executor, workers=2)
    finally:
        end()
    assert pickle.dumps(found.to_dict()) == expected


def test_refused_points_say_why() -> None:
    space = {"fair_share_starvation_timeout": [5, 600], "policy": {"a": STRICT, "b": eh.policies.Slurm()}}
    table = eh.sweep(START, None, WORK, space, metrics=["preemptions", "waiting.p95"])
    assert table["policy"] == ["a", "b", "a", "b"]
    errors = table["error"]
    assert errors[0] is None
    assert "must not be shorter" in errors[2]
    assert "fair_share_starvation_timeout is unknown" in errors[1]
    assert np.isnan(table["waiting.p95"]).tolist() == [False, True, True, True]


def test_plans_of_a_snapshot() -> None:
    rows = {
        "now": 100,
        "resources": {"cpu": {}},
        "nodes": [{"name": "n1", "capacity": {"cpu": 4}}],
        "pools": [{"name": "x"}, {"name": "y"}],
        "operations": [{"name": "old", "pool": "x"}, {"name": "new", "pool": "y"}],
        "allocations": [
            {"name": f"a{i}", "operation": "old", "node": "n1", "resources": {"cpu": 1}, "start_time": i}
            for i in range(4)
        ],
        "requests": [{"name": "r", "operation": "new", "resources": {"cpu": 1}}],
    }
    early = eh.Snapshot.from_dict(rows)
    before = eh.plan(early, eh.policies.YTsaurus()).state
    late = early.replace(now=160)
    space = {"fair_share_starvation_timeout": [30, 90], "pools.y.weight": [1, 3]}
    table = eh.sweep(late, eh.policies.YTsaurus(), space=space, state=before)
    assert table["starving"].tolist() == [1, 1, 0, 0]
    assert table["victims"].tolist() == [1, 1, 0, 0]
    assert table["served"].tolist() == [1, 1, 0, 0]
    assert table["freed.cpu"].tolist() == [1, 1, 0, 0]
    assert table["victims.stage.preemptive"].tolist() == [1, 1, 0, 0]
    policy = eh.policies.YTsaurus(fair_share_starvation_timeout=30)
    assert len(eh.plan(late, policy, before).decisions.victims) == 1


def test_drawn_points_cover_the_space() -> None:
    space = {"fair_share_starvation_timeout": eh.sweep.between(1, 400), "pools.y.weight": [1, 4]}
    kept = ["preemptions"]
    table = eh.sweep(START, POLICY, WORK, space, lhs=8, seed=3, metrics=kept)
    parts = sorted(int((t - 0.5) / 50) for t in table["fair_share_starvation_timeout"])
    assert parts == list(range(8))  # each eighth of the range has one
    assert sorted(table["pools.y.weight"]) == [1] * 4 + [4] * 4
    assert eh.sweep(START, POLICY, WORK, space, lhs=8, seed=3, metrics=kept).to_dict() == table.to_dict()
    drawn = eh.sweep(START, POLICY, WORK, space, random=5, seed=3, metrics=kept)
    assert len(drawn) == 5
    assert drawn["fair_share_starvation_timeout"].min() >= 1
    points = [{"pools.y.weight": 4, "fair_share_starvation_timeout": 7}]
    assert len(eh.sweep(START, POLICY, WORK, space, points=points, metrics=kept)) == 1


def test_equal_points_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    plain = workers._answer
    monkeypatch.setattr(workers, "_answer", lambda *of: asked.append(of[2]) or plain(*of))
    table = eh.sweep(START, POLICY, WORK, {"pools.y.weight": [1, 2, 1]}, metrics=["preemptions"])
    assert len(table) == 3
    assert len(asked) == 2
    assert table["preemptions"][0] == table["preemptions"][2]


def test_heartbeats_are_drawn_alike_at_every_point() -> None:
    space = {"pace.victim_cooldown": [0, 0.5]}
    table = eh.sweep(START, POLICY, WORK, space, seed=4, metrics=["waiting.mean"])
    alone = eh.simulate(START, POLICY, WORK, rng=4).metrics["waiting.mean"]
    assert table["waiting.mean"][0] == alone


@pytest.mark.parametrize(
    ("space", "said"),
    [
        ({"fair_share_starvation_timout": [1]}, "did you mean"),
        ({"pools.z.weight": [1]}, "names no row of pools"),
        ({"pace.nothing": [1]}, "pace.nothing is unknown"),
        ({"fair_share_starvation_timeout.x": [1]}, "no parts"),
        ({"pools.y.weight": []}, "has no values"),
        ({"pools.y.weight": 3}, "a list of values"),
        ({"pools.y.weight": eh.sweep.between(1, 2)}, "is a range"),
        ({}, "space is an object"),
        ({"policy": [3]}, "policy"),
    ],
)
def test_wrong_spaces_are_named(space: Any, said: str) -> None:
    with pytest.raises(eh.InputError) as caught:
        eh.sweep(START, POLICY, WORK, space)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"random": 2, "lhs": 2}, "one of random, lhs, points"),
        ({"random": 0}, "random"),
        ({"points": [{"x": 1}]}, "points"),
        ({"metrics": ["waiting.p59"]}, 'did you mean "waiting.p'),
        ({"metrics": "waiting.p95"}, "a list of texts"),
        ({"workers": 0}, "workers"),
        ({"heartbeat": 5}, "has no clock"),
    ],
)
def test_wrong_options_are_named(options: Any, said: str) -> None:
    with pytest.raises(eh.InputError) as caught:
        eh.sweep(START, POLICY, WORK, {"pools.y.weight": [1]}, **{"metrics": ["preemptions"], **options})
    assert said in str(caught.value)
    with pytest.raises(eh.InputError):
        eh.sweep(START, POLICY, space={"pools.y.weight": [1]}, until=5)


def test_a_bar_is_shown_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tqdm")
    space = {"pools.y.weight": [1, 2]}
    eh.sweep(START, POLICY, WORK, space)
    assert capsys.readouterr() == ("", "")
    eh.sweep(START, POLICY, WORK, space, progress=True)
    assert "2/2" in capsys.readouterr().err


def test_what_is_thrown_ends_the_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("evenhand.sweep.job.compute", broken)
    with pytest.raises(ZeroDivisionError):
        eh.sweep(START, POLICY, WORK, SPACE)
    assert not workers._KNOWN
    assert not workers._ENDING


PLANNED: dict[str, Any] = {
    "now": 1000,
    "resources": {"gpu": {}},
    "nodes": [{"name": "n1", "capacity": {"gpu": 8}}],
    "pools": [{"name": "v"}, {"name": "s"}],
    "operations": [{"name": "v", "pool": "v"}, {"name": "s", "pool": "s"}],
    "allocations": [
        {"name": f"v{i}", "operation": "v", "node": "n1", "resources": {"gpu": 1}, "start_time": i}
        for i in range(8)
    ],
    "requests": [{"name": "sr", "operation": "s", "resources": {"gpu": 2}}],
}


def test_plans_are_swept_as_if_all_had_waited() -> None:
    snapshot, policy = eh.Snapshot.from_dict(PLANNED), eh.policies.YTsaurus()
    space = {"fair_share_starvation_timeout": [1, 30, 599, 600, 601]}
    table = eh.sweep(snapshot, policy, None, space, as_if_waiting="10m", metrics=["victims"])
    assert list(table["victims"]) == [2, 2, 2, 0, 0]
    assert list(table["error"]) == [None] * 5
    assert list(eh.sweep(snapshot, policy, None, space, metrics=["victims"])["victims"]) == [0] * 5
    state = eh.plan(snapshot, policy, as_if_waiting=600).state_before
    with_state = eh.sweep(snapshot, policy, None, space, state=state, metrics=["victims"])
    assert with_state.to_dict() == table.to_dict()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"as_if_waiting": "soon"}, "as_if_waiting"),
        ({"as_if_waiting": -1}, "as_if_waiting"),
        ({"as_if_waiting": 1, "state": eh.State(0.0)}, "absent where a state is given"),
        ({"as_if_waiting": 1, "workload": WORK}, "left out beside a workload"),
    ],
)
def test_wrong_waits_are_named(options: dict[str, Any], said: str) -> None:
    snapshot = START if "workload" in options else eh.Snapshot.from_dict(PLANNED)
    with pytest.raises(eh.InputError, match=said):
        eh.sweep(snapshot, POLICY, space={"fair_share_starvation_timeout": [5]}, **options)


@pytest.mark.parametrize(("part", "number"), [(0, 1), (0.33, 1), (0.34, 2), (0.66, 2), (0.67, 3), (0.999, 3)])
def test_each_whole_number_of_a_range_has_an_equal_part_of_the_way(part: float, number: int) -> None:
    assert repr(eh.sweep.between(1, 3).at(part)) == repr(number)


@pytest.mark.parametrize(("low", "high"), [(1, 2.5), (0.5, 3)])
def test_a_range_with_one_end_that_is_not_whole_has_any_number(low: float, high: float) -> None:
    assert eh.sweep.between(low, high).at(0.5) == 1.75
