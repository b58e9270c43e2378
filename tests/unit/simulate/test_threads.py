"""Threads on one run take turns: what comes of it is what comes of one thread."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import evenhand as eh
from evenhand.simulate import Simulation

WORK = eh.simulate.Workload(
    {
        "name": list(range(200)),
        "resources.cpu": [4] * 200,
        "run_time": [70] * 200,
        "submit_time": list(range(0, 2000, 10)),
        "pool": ["x", "y"] * 100,
    }
)
STEPS = 300


def begun() -> Simulation:
    return Simulation(WORK.snapshot(nodes=2, cpu=8), eh.policies.YTsaurus(), WORK)


def content(run: Simulation) -> bytes:
    result = run.result()
    tables = {t: {n: c.tolist() for n, c in columns.items()} for t, columns in result.raw.items()}
    return pickle.dumps((result.span, tables))


def test_two_threads_that_run_one_simulation() -> None:
    alone, shared = begun(), begun()
    alone.run(10.0 * STEPS)
    together = Barrier(2)

    def go(_: int) -> list[float]:
        together.wait(timeout=120)
        seen = []
        for i in range(STEPS + 1):
            shared.run(10.0 * i)
            seen.append(shared.now)
        return seen

    with ThreadPoolExecutor(2) as pool:
        for seen in pool.map(go, range(2)):
            assert seen == sorted(seen)
    assert content(shared) == content(alone)


def test_threads_that_look_at_a_run_while_another_runs_it() -> None:
    run = begun()
    together = Barrier(4)

    def runs() -> None:
        together.wait(timeout=120)
        for i in range(STEPS + 1):
            run.run(10.0 * i)

    def copies() -> list[bytes]:
        together.wait(timeout=120)
        found = []
        for _ in range(5):
            copied = run.copy()
            copied.run(10.0 * STEPS)
            found.append(content(copied))
        return found

    def looks() -> None:
        together.wait(timeout=120)
        for _ in range(20):
            assert run.snapshot().now <= run.now
            assert run.result().span[1] <= run.now
            assert run.preemptions >= 0
            assert run.done in (True, False)

    def travels() -> None:
        together.wait(timeout=120)
        for _ in range(5):
            assert pickle.loads(pickle.dumps(run)).now <= run.now

    with ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(runs), pool.submit(copies), pool.submit(looks), pool.submit(travels)]
        for one in waiting:
            one.result()
    assert set(waiting[1].result()) == {content(run)}
